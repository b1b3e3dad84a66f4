//! What the threads of a scan do: take files, cut the large ones into pieces, read pieces.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::companion::{Companion, result_of_trial};
use super::open::{Compression, open};
use super::order::{Batch, Item, Key, Order};
use super::record::{Progress, ScanEvent, TraceRecord};
use super::scan::{Folding, Scanner};
use super::source::{Role, SourceFile};
use crate::error::{Error, Result};
use crate::input::{Beside, Format, Header, Piece, Pieces, Reading, Window, read_or_cut, read_piece};
use crate::trace::{Ending, Routing, Step, StepSink};

/// How many runs of one part are kept back before they are handed on.
const KEPT: usize = 1024;

/// A piece of a file that waits for a thread.
struct Job {
    key: Key,
    piece: Piece,
    file: usize,
}

/// One scan under way, shared by its threads.
pub(super) struct Work<'s, T, M, F, P> {
    pub(super) scanner: &'s Scanner,
    pub(super) files: &'s [SourceFile],
    pub(super) order: Order<T, F, P>,
    pub(super) map: M,
    pub(super) threads: usize,
    next_file: AtomicUsize,
    queue: Mutex<Queue>,
    /// Something has come into the queue, or nothing will any more.
    queued: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that may still cut something.
    cutting: usize,
    /// The memory of pieces that were read.
    buffers: Vec<Vec<u8>>,
}

impl<'s, T, M, F, P> Work<'s, T, M, F, P>
where
    T: Send,
    M: Fn(TraceRecord) -> T + Sync,
    F: FnMut(ScanEvent<T>) + Send,
    P: Fn(Progress) + Sync,
{
    pub(super) fn new(
        scanner: &'s Scanner,
        files: &'s [SourceFile],
        order: Order<T, F, P>,
        map: M,
        threads: usize,
    ) -> Self {
        Self {
            scanner,
            files,
            order,
            map,
            threads,
            next_file: AtomicUsize::new(0),
            queue: Mutex::new(Queue::default()),
            queued: Condvar::new(),
        }
    }

    /// Works until nothing is left to do.
    pub(super) fn run(&self) {
        let mut buffer = Vec::new();
        loop {
            if let Some(job) = self.take_job() {
                self.read_job(job);
                continue;
            }
            if self.threads > 1 && self.order.is_crowded() && !self.is_front_untaken() {
                self.order.wait();
                continue;
            }
            // Counted before a file is taken, so that nobody goes while it may yet be cut.
            self.lock().cutting += 1;
            let file = self.next_file.fetch_add(1, Ordering::Relaxed);
            if let Some(source) = self.files.get(file) {
                self.read_file(file, source, &mut buffer);
            }
            self.lock().cutting -= 1;
            self.queued.notify_all();
            if file >= self.files.len() && !self.wait_for_job() {
                return;
            }
        }
    }

    /// Reads the runs of the files whose spans were set aside, when all others are done.
    pub(super) fn join(&self) {
        self.order.join(|file, positions, pool| {
            let Some(source) = self.files.get(file) else { return (Vec::new(), Reading::default()) };
            let mut sink = Sink::new(self.scanner, &source.path, source.companion.as_ref());
            sink.hands_on = false;
            let kept = Rc::clone(&sink.kept);
            let reading = pool.give(file, positions, &self.scanner.options.read, &mut sink);
            (self.finished(kept.take(), 0, &source.path), reading)
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_job(&self) -> Option<Job> {
        self.lock().jobs.pop_front()
    }

    /// Whether no file has been taken yet.
    fn is_front_untaken(&self) -> bool {
        self.next_file.load(Ordering::Relaxed) == 0
    }

    /// Waits for a piece; `false`: there will be none.
    fn wait_for_job(&self) -> bool {
        let mut queue = self.lock();
        while queue.jobs.is_empty() {
            if queue.cutting == 0 {
                return false;
            }
            queue = self.queued.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn header(&self, source: &'s SourceFile) -> Option<&'s Header> {
        match &source.role {
            Role::RunOf(shared) => Some(shared.get(&self.scanner.options.read)),
            Role::Runs | Role::Header => None,
        }
    }

    /// Reads a file, or cuts it.
    fn read_file(&self, file: usize, source: &'s SourceFile, buffer: &mut Vec<u8>) {
        let sink = Sink::new(self.scanner, &source.path, source.companion.as_ref());
        let kept = Rc::clone(&sink.kept);
        let mut part = Part { work: self, file, source, kept, next: 0, since: 0, handed_on: 0, base: None };
        if let Some(reading) = result_of_trial(&source.path) {
            return part.end(reading);
        }
        let reading = match self.fill(source, buffer) {
            Ok(None) => part.read(&mut Window::over_slice(buffer), sink),
            Ok(Some(input)) => {
                let limit = self.scanner.options.read.most_held;
                part.read(&mut Window::over_stream(input, limit), sink)
            }
            Err(error) => {
                let mut reading = Reading::default();
                reading.errors.push(error);
                reading
            }
        };
        part.end(reading);
    }

    /// Reads a file that is small into the buffer, or opens it.
    fn fill(&self, source: &SourceFile, buffer: &mut Vec<u8>) -> Result<Option<Box<dyn Read>>> {
        let mut input = open(&source.path)?;
        let small = source.is_regular
            && source.size <= self.scanner.options.whole_file_limit
            && Compression::of(&source.path) == Compression::None;
        if !small {
            return Ok(Some(input));
        }
        buffer.clear();
        buffer.reserve_exact(usize::try_from(source.size).unwrap_or(0));
        input.read_to_end(buffer)?;
        Ok(None)
    }

    /// How many positions the parts of the file before this one have given out. Reads pieces until that is known.
    fn base(&self, key: Key) -> u64 {
        loop {
            if let Some(base) = self.order.base(key) {
                return base;
            }
            match self.take_job() {
                Some(job) => self.read_job(job),
                None => self.order.wait(),
            }
        }
    }

    fn read_job(&self, Job { key, piece, file }: Job) {
        let Some(source) = self.files.get(file) else { return };
        let mut sink = Sink::new(self.scanner, &source.path, source.companion.as_ref());
        sink.hands_on = false;
        let kept = Rc::clone(&sink.kept);
        let options = &self.scanner.options;
        let beside = Beside { header: self.header(source), joins: options.join, ..Beside::default() };
        let reading = read_piece(&piece, &beside, &options.read, &mut sink);
        self.keep_buffer(piece.into_buffer());
        let positions = reading.positions;
        self.order.count(key, positions);
        let base = self.base(key);
        let items = self.finished(kept.take(), base, &source.path);
        self.order.deliver(key, Batch { path: Arc::clone(&source.path), items, reading, last: None });
    }

    /// Keeps the memory of a piece for the next, unless it was unusually large.
    fn keep_buffer(&self, buffer: Vec<u8>) {
        let mut queue = self.lock();
        if queue.buffers.len() < self.threads && buffer.capacity() <= 2 * self.scanner.options.piece_bytes {
            queue.buffers.push(buffer);
        }
    }

    /// Puts the numbers and paths into what was read, and makes of it what was asked for.
    fn finished(&self, kept: Vec<Kept>, base: u64, path: &Arc<Path>) -> Vec<Item<T>> {
        let finish = |kept| match kept {
            Kept::Record(mut record) => {
                record.position += base;
                let name = (record.actions == 0).then(|| record.trace_id());
                Item::Record { mapped: (self.map)(*record), name }
            }
            Kept::Error(error) => Item::Error(error.with_runs_from(base).in_file(path)),
        };
        kept.into_iter().map(finish).collect()
    }
}

/// What one thread reads of a file by itself, and what it cuts off for others.
struct Part<'w, 's, T, M, F, P> {
    work: &'w Work<'s, T, M, F, P>,
    file: usize,
    source: &'s SourceFile,
    kept: Rc<RefCell<Vec<Kept>>>,
    /// The number of the next batch.
    next: u64,
    /// The first batch whose runs are numbered as those that are read now.
    since: u64,
    /// How many of their positions have been handed on.
    handed_on: u64,
    /// How many positions there are before them, once that is known.
    base: Option<u64>,
}

impl<T, M, F, P> Part<'_, '_, T, M, F, P>
where
    T: Send,
    M: Fn(TraceRecord) -> T + Sync,
    F: FnMut(ScanEvent<T>) + Send,
    P: Fn(Progress) + Sync,
{
    fn read(&mut self, window: &mut Window<'_>, sink: Sink<'_>) -> Reading {
        let work = self.work;
        let path = Arc::clone(&self.source.path);
        let again = move || open(&path).ok();
        let beside = Beside {
            header: work.header(self.source),
            again: self.source.is_regular.then_some(&again as &dyn Fn() -> Option<Box<dyn Read>>),
            format: matches!(self.source.role, Role::Header | Role::RunOf(_)).then_some(Format::Tau2),
            is_header: matches!(self.source.role, Role::Header),
            joins: work.scanner.options.join,
        };
        let options = &work.scanner.options.read;
        let cut = work.threads > 1 && !window.is_whole();
        // The sink hands on what it has when that becomes much; the pieces, before each of them.
        let shared = RefCell::new(self);
        let mut sink = sink;
        let hand_on = |positions: u64| shared.borrow_mut().hand_on(positions);
        sink.hand_on = Some(&hand_on);
        if cut {
            let mut cutter = Cutter { part: &shared };
            read_or_cut(window, &beside, options, &mut sink, Some(&mut cutter))
        } else {
            read_or_cut(window, &beside, options, &mut sink, None)
        }
    }

    /// Hands on the runs that were read so far, with this many positions since the last piece.
    fn hand_on(&mut self, positions: u64) {
        let kept = self.kept.take();
        let key = (self.file, self.next);
        self.next += 1;
        self.work.order.count(key, positions - self.handed_on);
        self.handed_on = positions;
        let base = self.base();
        let items = self.work.finished(kept, base, &self.source.path);
        let batch =
            Batch { path: Arc::clone(&self.source.path), items, reading: Reading::default(), last: None };
        self.work.order.deliver(key, batch);
        self.make_room();
    }

    /// How many positions there are before the runs that are read now. Asked before the first of them is handed on.
    fn base(&mut self) -> u64 {
        let (work, key) = (self.work, (self.file, self.since));
        *self.base.get_or_insert_with(|| work.base(key))
    }

    /// Waits, or reads pieces, while too much waits for what comes before it.
    fn make_room(&self) {
        while self.work.threads > 1 && self.work.order.is_crowded() {
            match self.work.take_job() {
                Some(job) => self.work.read_job(job),
                None => self.work.order.wait(),
            }
        }
    }

    fn cut(&mut self, piece: Piece, positions: u64) {
        if positions > self.handed_on || !self.kept.borrow().is_empty() {
            self.hand_on(positions);
        }
        let key = (self.file, self.next);
        self.next += 1;
        self.since = self.next;
        self.handed_on = 0;
        self.base = None;
        let mut queue = self.work.lock();
        queue.jobs.push_back(Job { key, piece, file: self.file });
        // Whoever cuts reads as well, where the others do not keep up: the oldest first.
        let own = if queue.jobs.len() > self.work.threads { queue.jobs.pop_front() } else { None };
        drop(queue);
        self.work.queued.notify_one();
        if let Some(job) = own {
            self.work.read_job(job);
        }
        self.make_room();
    }

    /// Hands on the rest, and ends the file.
    fn end(mut self, mut reading: Reading) {
        let mut kept = self.kept.take();
        kept.extend(std::mem::take(&mut reading.errors).into_iter().map(Kept::Error));
        let base = self.base();
        let items = self.work.finished(kept, base, &self.source.path);
        let key = (self.file, self.next);
        self.next += 1;
        let path = Arc::clone(&self.source.path);
        self.work.order.deliver(key, Batch { path, items, reading, last: Some(self.source.size) });
    }
}

/// Gives the pieces of a file to whoever is free.
struct Cutter<'c, 'p, 'w, 's, T, M, F, P> {
    part: &'c RefCell<&'p mut Part<'w, 's, T, M, F, P>>,
}

impl<T, M, F, P> Pieces for Cutter<'_, '_, '_, '_, T, M, F, P>
where
    T: Send,
    M: Fn(TraceRecord) -> T + Sync,
    F: FnMut(ScanEvent<T>) + Send,
    P: Fn(Progress) + Sync,
{
    fn bytes(&self) -> usize {
        self.part.borrow().work.scanner.options.piece_bytes
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.part.borrow().work.lock().buffers.pop().unwrap_or_default()
    }

    fn piece(&mut self, piece: Piece, positions: u64) {
        self.part.borrow_mut().cut(piece, positions);
    }
}

/// What was read and is not handed on yet.
pub(super) enum Kept {
    Record(Box<TraceRecord>),
    Error(Error),
}

/// Folds the detectors over runs, and keeps what they say.
pub(super) struct Sink<'s> {
    folding: Folding<'s>,
    pub(super) kept: Rc<RefCell<Vec<Kept>>>,
    hands_on: bool,
    /// Takes what is kept; it is told how many positions there were so far.
    hand_on: Option<&'s dyn Fn(u64)>,
}

impl<'s> Sink<'s> {
    pub(super) fn new(scanner: &'s Scanner, path: &Arc<Path>, companion: Option<&Arc<Companion>>) -> Self {
        Self {
            folding: Folding::new(scanner, path, companion),
            kept: Rc::default(),
            hands_on: true,
            hand_on: None,
        }
    }
}

impl StepSink for Sink<'_> {
    fn begin(&mut self, position: u64, routing: &Routing) {
        self.folding.begin(position, routing);
    }

    fn step(&mut self, step: &Step<'_>) {
        self.folding.step(step);
    }

    fn end(&mut self, ending: Ending) {
        let Some(record) = self.folding.end(ending) else { return };
        let positions = record.position + 1;
        let many = {
            let mut kept = self.kept.borrow_mut();
            kept.push(Kept::Record(Box::new(record)));
            kept.len() >= KEPT
        };
        if many
            && self.hands_on
            && let Some(hand_on) = self.hand_on
        {
            hand_on(positions);
        }
    }

    fn abandon(&mut self) {
        self.folding.abandon();
    }

    fn error(&mut self, error: Error) -> Option<Error> {
        self.kept.borrow_mut().push(Kept::Error(error));
        None
    }
}
