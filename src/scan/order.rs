//! Puts the results of threads into source order, and limits how far threads run ahead. Spans to be joined
//! wait until all files have been read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::record::{FileSummary, Progress, ScanEvent};
use crate::error::Error;
use crate::read::{ReadSummary, SpanBatch, SpanPool};

/// The place of a batch: the index of its file, and its index within the file.
pub(super) type Key = (usize, u64);

/// A run or an error of a batch. `name` is the id of a run without actions, for the summary; `None` for other runs.
#[derive(Debug)]
pub(super) enum Item<T> {
    Record { mapped: T, name: Option<String> },
    Error(Error),
}

/// The results of a part of a file.
#[derive(Debug)]
pub(super) struct Batch<T> {
    pub(super) path: Arc<Path>,
    pub(super) items: Vec<Item<T>>,
    pub(super) reading: ReadSummary,
    /// The size of the file in bytes, set in its last batch.
    pub(super) last: Option<u64>,
}

/// Takes batches in any order and emits their events in source order.
pub(super) struct Order<T, F, P> {
    state: Mutex<State<T, F>>,
    changed: Condvar,
    progress: P,
    /// The number of waiting batches above which threads hold back.
    most_waiting: usize,
}

struct State<T, F> {
    /// The number of threads that wait for a change.
    waiters: usize,
    /// The key of the next batch to emit.
    front: Key,
    waiting: BTreeMap<Key, Batch<T>>,
    /// The number of run positions in the emitted batches of the file at the front.
    before: u64,
    /// The number of run positions in each batch that is counted but not emitted.
    counts: BTreeMap<Key, u64>,
    each: F,
    summary: Option<FileSummary>,
    joined: Joined<Item<T>>,
    progress: Progress,
}

impl<T, F: FnMut(ScanEvent<T>), P: Fn(Progress)> Order<T, F, P> {
    pub(super) fn new(each: F, progress: P, bytes_total: u64, most_waiting: usize) -> Self {
        Self {
            state: Mutex::new(State {
                waiters: 0,
                front: (0, 0),
                waiting: BTreeMap::new(),
                before: 0,
                counts: BTreeMap::new(),
                each,
                summary: None,
                joined: Joined::default(),
                progress: Progress { bytes_total, ..Progress::default() },
            }),
            changed: Condvar::new(),
            progress,
            most_waiting,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T, F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the number of positions in a batch: one for each run, readable or not.
    pub(super) fn count(&self, key: Key, positions: u64) {
        let mut state = self.lock();
        state.counts.insert(key, positions);
        self.wake(state);
    }

    /// Returns the number of positions in the file before this batch, or `None` if an earlier batch is not
    /// counted yet. Must be called before this batch is delivered.
    pub(super) fn base(&self, (file, part): Key) -> Option<u64> {
        let state = self.lock();
        let (from, before) = if file == state.front.0 { (state.front.1, state.before) } else { (0, 0) };
        let counted = state.counts.range((file, from.min(part))..(file, part));
        let (parts, sum) =
            counted.fold((from, before), |(parts, sum), (_, positions)| (parts + 1, sum + positions));
        (parts == part).then_some(sum)
    }

    /// Returns true if threads should not begin another file, because too many batches wait for earlier ones.
    pub(super) fn is_crowded(&self) -> bool {
        self.lock().waiting.len() > self.most_waiting
    }

    /// Returns true if the thread that makes this batch should pause, because too many batches wait for an
    /// earlier one.
    pub(super) fn is_too_early(&self, key: Key) -> bool {
        let state = self.lock();
        state.waiting.len() > self.most_waiting && state.front != key
    }

    /// Waits for a change, but only for a short time.
    pub(super) fn wait(&self) {
        /// Long enough that polling costs almost nothing, and short enough that newly queued pieces are noticed
        /// soon.
        const MOMENT: std::time::Duration = std::time::Duration::from_millis(2);
        let mut state = self.lock();
        state.waiters += 1;
        (state, _) = self.changed.wait_timeout(state, MOMENT).unwrap_or_else(PoisonError::into_inner);
        state.waiters -= 1;
    }

    /// Wakes waiting threads. Skips the system call if none waits.
    fn wake(&self, state: MutexGuard<'_, State<T, F>>) {
        let has_waiters = state.waiters > 0;
        drop(state);
        if has_waiters {
            self.changed.notify_all();
        }
    }

    /// Takes a batch, and emits all batches that are next in order.
    pub(super) fn deliver(&self, key: Key, batch: Batch<T>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        if key == state.front {
            state.hand_on(batch);
            while let Some(batch) = state.waiting.remove(&state.front) {
                state.hand_on(batch);
            }
            (self.progress)(state.progress);
        } else {
            state.waiting.insert(key, batch);
        }
        self.wake(guard);
    }

    /// Emits the runs of joined spans, file by file. `read` takes the index of a file and the position of its
    /// first joined run.
    pub(super) fn join(
        &self,
        mut read: impl FnMut(usize, u64, &mut SpanPool) -> (Vec<Item<T>>, ReadSummary),
    ) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let Joined { mut pool, files, .. } = std::mem::take(&mut state.joined);
        for file in files {
            let (items, reading) = read(file.file, file.positions, &mut pool);
            let (mut summary, each) = (file.summary, &mut state.each);
            each(ScanEvent::Begin(Arc::clone(&summary.path)));
            state.progress.traces += reading.counts.runs;
            summary.add(&reading);
            for item in file.unreported.into_iter().chain(items) {
                item.report(&mut summary, each);
            }
            each(ScanEvent::End(summary));
            (self.progress)(state.progress);
        }
    }

    pub(super) fn into_each(self) -> F {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).each
    }
}

impl<T, F: FnMut(ScanEvent<T>)> State<T, F> {
    fn hand_on(&mut self, mut batch: Batch<T>) {
        let (file, part) = self.front;
        self.joined.take(file, batch.reading.set_aside.take());
        // A file that holds only spans is reported later, with its runs.
        let waits = part == 0 && batch.last.is_some() && self.joined.holds_spans && batch.is_without_runs();
        let each = &mut self.each;
        let summary = self.summary.get_or_insert_with(|| FileSummary::new(Arc::clone(&batch.path)));
        if part == 0 && !waits {
            each(ScanEvent::Begin(Arc::clone(&batch.path)));
        }
        self.progress.traces += batch.reading.counts.runs;
        summary.add(&batch.reading);
        let mut unreported = waits.then(Vec::new);
        for item in batch.items {
            match &mut unreported {
                Some(unreported) => unreported.push(item),
                None => item.report(summary, each),
            }
        }
        let Some(bytes) = batch.last else {
            self.before += self.counts.remove(&self.front).unwrap_or(0);
            self.front = (file, part + 1);
            return;
        };
        if let Some(error) = summary.lacks_document() {
            summary.counts.errors += 1;
            each(ScanEvent::Error(error.in_file(&batch.path)));
        }
        self.front = (file + 1, 0);
        self.before = 0;
        if !self.counts.is_empty() {
            self.counts = self.counts.split_off(&self.front);
        }
        self.progress.bytes += bytes;
        self.progress.files += 1;
        if let Some(summary) = self.summary.take()
            && let Some(summary) = self.joined.end(file, summary, unreported)
        {
            each(ScanEvent::End(summary));
        }
    }
}

impl<T> Batch<T> {
    fn is_without_runs(&self) -> bool {
        self.items.iter().all(|item| matches!(item, Item::Error(_)))
    }
}

impl<T> Item<T> {
    fn report(self, summary: &mut FileSummary, each: &mut impl FnMut(ScanEvent<T>)) {
        match self {
            Self::Record { mapped, name } => {
                summary.name_without_action(name);
                each(ScanEvent::Record(mapped));
            }
            Self::Error(error) => each(ScanEvent::Error(error)),
        }
    }
}

/// The spans that are joined once all files have been read, and their files.
#[derive(Debug)]
struct Joined<T> {
    pool: SpanPool,
    files: Vec<JoinedFile<T>>,
    /// True if the file at the front has spans to join.
    holds_spans: bool,
}

/// A file with spans to join. It is reported once their runs are known.
#[derive(Debug)]
struct JoinedFile<T> {
    /// The index of the file in the scan.
    file: usize,
    summary: FileSummary,
    /// Number of its other runs, readable or not: the position of the first joined run.
    positions: u64,
    /// Its items that were not reported yet.
    unreported: Vec<T>,
}

impl<T> Default for Joined<T> {
    fn default() -> Self {
        Self { pool: SpanPool::default(), files: Vec::new(), holds_spans: false }
    }
}

impl<T> Joined<T> {
    /// Adds the spans of a file. Files must come in order.
    fn take(&mut self, file: usize, spans: Option<SpanBatch>) {
        if let Some(spans) = spans {
            self.pool.add(file, spans);
            self.holds_spans = true;
        }
    }

    /// Ends a file. `unreported` is `None` if its beginning was reported. Returns the summary if it is final,
    /// that is, if the file holds no spans or its spans get a summary of their own.
    fn end(&mut self, file: usize, summary: FileSummary, unreported: Option<Vec<T>>) -> Option<FileSummary> {
        if !std::mem::take(&mut self.holds_spans) {
            return Some(summary);
        }
        let positions = summary.counts.runs + summary.counts.runs_lost;
        let (summary, finished) = match &unreported {
            Some(_) => (summary, None),
            None => (FileSummary::new(Arc::clone(&summary.path)), Some(summary)),
        };
        self.files.push(JoinedFile { file, summary, positions, unreported: unreported.unwrap_or_default() });
        finished
    }
}
