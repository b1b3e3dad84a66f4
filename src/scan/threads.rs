//! The threads of a scan: each takes files, reads or cuts them, and reads pieces.

use std::any::Any;
use std::collections::VecDeque;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::find_files::SourceFile;
use super::open::Compression;
use super::order::{Batch, Item, Key, Order};
use super::part::Part;
use super::record::{Progress, ScanEvent, TraceRecord};
use super::run_detectors::{Kept, Sink};
use super::scanner::Scanner;
use super::sidecar::without_run;
use crate::error::Result;
use crate::read::{InputContext, Piece, ReadSummary, Window, read_piece};

/// Maximum number of later pieces that a thread reads, nested, while it waits for earlier ones.
const MOST_AHEAD: usize = 4;

/// Maximum number of piece buffers kept for reuse, per thread. Fresh memory is slower, as the system clears it.
const BUFFERS_KEPT: usize = 4;

pub(super) struct Job {
    pub(super) key: Key,
    pub(super) piece: Piece,
    pub(super) file: usize,
}

/// A scan in progress, shared by its threads.
pub(super) struct Work<'s, T, M, F, P> {
    pub(super) scanner: &'s Scanner,
    files: &'s [SourceFile],
    pub(super) order: Order<T, F, P>,
    map: M,
    pub(super) threads: usize,
    next_file: AtomicUsize,
    queue: Mutex<Queue>,
    /// Signals that a piece was queued, a thread finished a file, or a thread panicked.
    queued: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// The number of threads that may still cut a file.
    cutting: usize,
    /// The number of threads that wait for a piece.
    waiters: usize,
    /// Buffers of finished pieces, for reuse.
    buffers: Vec<Vec<u8>>,
    /// The payload of the first panic of a detector or callback. Once it is set, all threads stop.
    panic: Option<Box<dyn Any + Send>>,
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

    /// Like [`Work::run`], but if it panics, keeps the panic for [`Work::resume_panic`] and stops all threads.
    pub(super) fn run_beside_others(&self) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run())) {
            self.lock().panic.get_or_insert(panic);
            self.queued.notify_all();
        }
    }

    /// Resumes the panic of a thread, if there was one.
    pub(super) fn resume_panic(&self) {
        let panic = self.lock().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Reads files and pieces until none are left.
    pub(super) fn run(&self) {
        let mut buffer = Vec::new();
        loop {
            if let Some(job) = self.take_job(|_| true) {
                self.read_job(job, 0);
                continue;
            }
            if self.threads > 1 && self.order.is_crowded() {
                self.order.wait();
                continue;
            }
            // Counted before a file is taken: other threads must not leave while it may still be cut.
            self.lock().cutting += 1;
            let file = self.next_file.fetch_add(1, Ordering::Relaxed);
            if let Some(source) = self.files.get(file) {
                self.read_file(file, source, &mut buffer);
            }
            let mut queue = self.lock();
            queue.cutting -= 1;
            let has_waiters = queue.waiters > 0;
            drop(queue);
            if has_waiters {
                self.queued.notify_all();
            }
            if file >= self.files.len() && !self.wait_for_job() {
                return;
            }
        }
    }

    /// Reads the runs of joined spans, after all files.
    pub(super) fn join(&self) {
        self.order.join(|file, positions, pool| {
            let Some(source) = self.files.get(file) else { return (Vec::new(), ReadSummary::default()) };
            let mut sink = Sink::new(self.scanner, &source.path, source.companion.as_ref());
            let reading = pool.give(file, positions, &self.scanner.options.read, &mut sink);
            (self.finished(&mut sink.kept.borrow_mut(), 0, &source.path), reading)
        });
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a piece. If more pieces wait than there are threads, returns the oldest, for the caller to
    /// read.
    pub(super) fn queue_job(&self, job: Job) -> Option<Job> {
        let mut queue = self.lock();
        queue.jobs.push_back(job);
        let oldest = if queue.jobs.len() > self.threads { queue.jobs.pop_front() } else { None };
        drop(queue);
        self.queued.notify_one();
        oldest
    }

    /// Takes the oldest queued piece that meets a condition, if any. If another thread has panicked, panics
    /// to end this thread too.
    pub(super) fn take_job(&self, is_wanted: impl Fn(&Job) -> bool) -> Option<Job> {
        let mut queue = self.lock();
        if queue.panic.is_some() {
            drop(queue);
            resume_unwind(Box::new("another thread has panicked"));
        }
        let place = queue.jobs.iter().position(is_wanted)?;
        queue.jobs.remove(place)
    }

    /// Waits until a piece is queued. Returns false if none will be, or if a thread has panicked.
    fn wait_for_job(&self) -> bool {
        let mut queue = self.lock();
        while queue.jobs.is_empty() {
            if queue.cutting == 0 || queue.panic.is_some() {
                return false;
            }
            queue.waiters += 1;
            queue = self.queued.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.waiters -= 1;
        }
        true
    }

    /// Reads a file, or cuts it into pieces.
    fn read_file(&self, file: usize, source: &'s SourceFile, buffer: &mut Vec<u8>) {
        let mut sink = Sink::new(self.scanner, &source.path, source.companion.as_ref());
        let mut part = Part::new(self, file, source, Rc::clone(&sink.kept));
        if let Some(reading) = without_run(&source.path) {
            return part.end(reading);
        }
        let reading = match self.open(source, buffer) {
            Ok(mut window) => part.read(&mut window, sink),
            Err(error) => {
                let mut reading = ReadSummary::default();
                reading.fail(error, &mut sink);
                reading
            }
        };
        part.end(reading);
    }

    /// Reads a small uncompressed file into the buffer. Opens any other as a stream.
    fn open<'b>(&self, source: &SourceFile, buffer: &'b mut Vec<u8>) -> Result<Window<'b>> {
        let mut input = source.open()?;
        let small = source.is_regular
            && source.size <= self.scanner.options.whole_file_limit
            && Compression::of(&source.path) == Compression::None;
        if !small {
            return Ok(Window::over_stream(input, self.scanner.options.read.most_held));
        }
        let size = usize::try_from(source.size).unwrap_or(0);
        Ok(Window::over_slice(read_all(&mut *input, size, buffer)?))
    }

    /// Returns the number of positions in the file before this batch, and reads other pieces until it is
    /// known. `depth` is the number of pieces that the thread was already reading when it began this one.
    pub(super) fn base(&self, key: Key, depth: usize) -> u64 {
        loop {
            if let Some(base) = self.order.base(key) {
                return base;
            }
            // Earlier pieces are read at any depth: this one waits for them.
            match self.take_job(|job| depth < MOST_AHEAD || job.key < key) {
                Some(job) => self.read_job(job, depth + 1),
                None => self.order.wait(),
            }
        }
    }

    /// Reads a piece, at this depth of nesting.
    pub(super) fn read_job(&self, Job { key, piece, file }: Job, depth: usize) {
        let Some(source) = self.files.get(file) else { return };
        let mut sink = Sink::new(self.scanner, &source.path, source.companion.as_ref());
        let options = &self.scanner.options;
        let context = InputContext {
            header: source.header(&options.read),
            joins: options.join,
            ..InputContext::default()
        };
        let reading = read_piece(&piece, &context, &options.read, &mut sink);
        self.keep_buffer(piece.bytes);
        let positions = reading.positions;
        self.order.count(key, positions);
        let base = self.base(key, depth);
        let items = self.finished(&mut sink.kept.borrow_mut(), base, &source.path);
        self.order.deliver(key, Batch { path: Arc::clone(&source.path), items, reading, last: None });
    }

    /// Returns a kept buffer for a piece, or a new one.
    pub(super) fn take_buffer(&self) -> Vec<u8> {
        self.lock().buffers.pop().unwrap_or_default()
    }

    /// Keeps a buffer for reuse, unless enough are kept or it is more than twice the size of a piece.
    fn keep_buffer(&self, buffer: Vec<u8>) {
        let mut queue = self.lock();
        if queue.buffers.len() < BUFFERS_KEPT * self.threads
            && buffer.capacity() <= 2 * self.scanner.options.piece_bytes
        {
            queue.buffers.push(buffer);
        }
    }

    /// Shifts the positions of results by `base`, maps records, and adds the path to errors.
    pub(super) fn finished(&self, kept: &mut Kept, base: u64, path: &Arc<Path>) -> Vec<Item<T>> {
        let finish = |item: Result<TraceRecord>| match item {
            Ok(mut record) => {
                record.position += base;
                let position = record.position;
                for place in record.places.values_mut() {
                    place.settle(position);
                }
                let name = record.without_action();
                Item::Record { mapped: (self.map)(record), name }
            }
            Err(error) => Item::Error(error.with_runs_from(base).in_file(path)),
        };
        kept.drain(..).map(finish).collect()
    }
}

/// Reads a whole input into the start of a buffer. `size` is the size found earlier: asking the system again
/// takes as long as reading a small file.
fn read_all<'b>(input: &mut dyn Read, size: usize, buffer: &'b mut Vec<u8>) -> std::io::Result<&'b [u8]> {
    let mut filled = 0;
    loop {
        // One byte more than expected, to detect the end.
        let wanted = filled.max(size) + 1;
        if buffer.len() < wanted {
            let length = (wanted + filled / 2).max(8 << 10);
            buffer.reserve_exact(length - buffer.len());
            buffer.resize(length, 0);
        }
        match input.read(buffer.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => return Ok(buffer.get(..filled).unwrap_or_default()),
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
