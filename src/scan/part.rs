//! The work of one thread on a file: it reads runs and cuts off pieces for other threads.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::find_files::SourceFile;
use super::order::Batch;
use super::record::{Progress, ScanEvent, TraceRecord};
use super::run_detectors::{Kept, Sink};
use super::threads::{Job, Work};
use crate::read::{Piece, Pieces, ReadSummary, Window, read_or_cut};

/// One thread's part of a file, and the pieces cut off for others.
pub(super) struct Part<'w, 's, T, M, F, P> {
    work: &'w Work<'s, T, M, F, P>,
    file: usize,
    source: &'s SourceFile,
    kept: Rc<RefCell<Kept>>,
    /// The index of the next batch.
    next: u64,
    /// The index of the first batch since the last piece.
    since: u64,
    /// The number of positions since the last piece that are already counted.
    handed_on: u64,
    /// The number of positions in the file up to the last piece, once known.
    base: Option<u64>,
}

impl<'w, 's, T, M, F, P> Part<'w, 's, T, M, F, P>
where
    T: Send,
    M: Fn(TraceRecord) -> T + Sync,
    F: FnMut(ScanEvent<T>) + Send,
    P: Fn(Progress) + Sync,
{
    /// Begins a file. `kept` is the list that the sink of the file fills.
    pub(super) fn new(
        work: &'w Work<'s, T, M, F, P>,
        file: usize,
        source: &'s SourceFile,
        kept: Rc<RefCell<Kept>>,
    ) -> Self {
        Self { work, file, source, kept, next: 0, since: 0, handed_on: 0, base: None }
    }

    /// Reads the file, and cuts it into pieces if it is large and other threads can share it.
    pub(super) fn read(&mut self, window: &mut Window<'_>, sink: Sink<'_>) -> ReadSummary {
        let (work, source) = (self.work, self.source);
        let options = &work.scanner.options.read;
        let again = |offset| source.open_at(offset);
        let context = source.context(&again, options, work.scanner.options.join);
        let cut = work.threads > 1 && !window.is_whole();
        // The sink emits full batches. Everything read before a piece is emitted before it.
        let shared = RefCell::new(self);
        let hand_on = |positions: u64| shared.borrow_mut().hand_on(positions);
        let mut sink = sink.handing_on(&hand_on);
        let mut pieces = &shared;
        let pieces: Option<&mut dyn Pieces> = if cut { Some(&mut pieces) } else { None };
        read_or_cut(window, &context, options, &mut sink, pieces)
    }

    /// Emits everything read so far. `positions` is a lower bound on the positions since the last piece.
    fn hand_on(&mut self, positions: u64) {
        let positions = positions.max(self.handed_on);
        let key = (self.file, self.next);
        self.next += 1;
        self.work.order.count(key, positions - self.handed_on);
        self.handed_on = positions;
        let base = self.base();
        let items = self.work.finished(&mut self.kept.borrow_mut(), base, &self.source.path);
        let batch =
            Batch { path: Arc::clone(&self.source.path), items, reading: ReadSummary::default(), last: None };
        self.work.order.deliver(key, batch);
        self.make_room();
    }

    /// Returns the number of positions in the file up to the last piece. The first call must come before any
    /// batch after that piece is emitted.
    fn base(&mut self) -> u64 {
        let (work, key) = (self.work, (self.file, self.since));
        *self.base.get_or_insert_with(|| work.base(key, 0))
    }

    /// Reads pieces, or waits, while too many batches wait for earlier ones. Returns at once if they wait for
    /// this file's next batch.
    fn make_room(&self) {
        let next = (self.file, self.next);
        while self.work.threads > 1 && self.work.order.is_too_early(next) {
            match self.work.take_job(|_| true) {
                Some(job) => self.work.read_job(job, 0),
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
        if let Some(job) = self.work.queue_job(Job { key, piece, file: self.file }) {
            self.work.read_job(job, 0);
        }
        self.make_room();
    }

    /// Emits the rest and ends the file.
    pub(super) fn end(mut self, reading: ReadSummary) {
        let base = self.base();
        let items = self.work.finished(&mut self.kept.borrow_mut(), base, &self.source.path);
        let key = (self.file, self.next);
        self.next += 1;
        let path = Arc::clone(&self.source.path);
        self.work.order.deliver(key, Batch { path, items, reading, last: Some(self.source.size) });
    }
}

/// Queues the pieces of a file for free threads.
impl<T, M, F, P> Pieces for &RefCell<&mut Part<'_, '_, T, M, F, P>>
where
    T: Send,
    M: Fn(TraceRecord) -> T + Sync,
    F: FnMut(ScanEvent<T>) + Send,
    P: Fn(Progress) + Sync,
{
    fn bytes(&self) -> usize {
        self.borrow().work.scanner.options.piece_bytes
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.borrow().work.take_buffer()
    }

    fn piece(&mut self, piece: Piece, positions: u64) {
        self.borrow_mut().cut(piece, positions);
    }
}
