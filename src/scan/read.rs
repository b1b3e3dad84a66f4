//! Reads files as traces, one after the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::companion::{Companion, result_of_trial};
use super::joined::Joined;
use super::record::{FileSummary, ScanEvent};
use super::source::{Discovered, SourceFile, discover};
use crate::error::Error;
use crate::read::{ReadOptions, ReadSummary, Window, read_window};
use crate::trace::{RouteStatus, RunSummary, Step, StepSink, Trace, TraceCollector};

/// Reads the runs of files and directories as [`Trace`]s, in the order of a scan. `each` can stop the reading with an
/// error.
///
/// ```no_run
/// use wrongturn::{ReadOptions, scan::{ScanEvent, read_files}};
///
/// read_files(["results"], &ReadOptions::default(), |event| {
///     if let ScanEvent::Record(trace) = event {
///         println!("{} steps", trace.steps().len());
///     }
///     Ok::<(), wrongturn::Error>(())
/// })?;
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// # Errors
/// Errors of `each`. Unreadable input is an event.
pub fn read_files<I, E>(
    paths: I,
    options: &ReadOptions,
    mut each: impl FnMut(ScanEvent<Trace>) -> Result<(), E>,
) -> Result<(), E>
where
    I: IntoIterator<Item: AsRef<Path>>,
{
    read_paths(paths, options, false, &mut each)
}

/// Like [`read_files`], with all files as one source of spans and log records: parts of a trace are joined across
/// files. A trace belongs to the first file that has a part of it, and files of spans come last, as in a scan with
/// [`ScanOptions::join`](crate::scan::ScanOptions::join).
///
/// # Errors
/// See [`read_files`].
pub fn read_joined<I, E>(
    paths: I,
    options: &ReadOptions,
    mut each: impl FnMut(ScanEvent<Trace>) -> Result<(), E>,
) -> Result<(), E>
where
    I: IntoIterator<Item: AsRef<Path>>,
{
    read_paths(paths, options, true, &mut each)
}

fn read_paths<I, E>(
    paths: I,
    options: &ReadOptions,
    joins: bool,
    each: &mut impl FnMut(ScanEvent<Trace>) -> Result<(), E>,
) -> Result<(), E>
where
    I: IntoIterator<Item: AsRef<Path>>,
{
    let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
    let Discovered { files, unread, .. } = discover(paths.collect::<Vec<PathBuf>>());
    let mut joined = Joined::default();
    for (number, file) in files.iter().enumerate() {
        let mut sink = Emitter::new(file, each);
        if !joins {
            sink.begin();
        }
        let mut reading = read_file(file, options, joins, &mut sink);
        joined.take(number, reading.set_aside.take());
        sink.summary.add(reading);
        let unreported = (joined.holds_spans() && !sink.begun).then(|| std::mem::take(&mut sink.unreported));
        if unreported.is_none() {
            sink.begin();
        }
        let summary = sink.finish()?;
        if let Some(summary) = joined.end(number, summary, unreported) {
            each(ScanEvent::End(summary))?;
        }
    }
    let Joined { mut pool, files: all_waiting, .. } = joined;
    for waiting in all_waiting {
        let Some(file) = files.get(waiting.file) else { continue };
        let mut sink = Emitter::new(file, each);
        (sink.summary, sink.unreported) = (waiting.summary, waiting.unreported);
        sink.begin();
        let reading = pool.give(waiting.file, waiting.positions, options, &mut sink);
        sink.summary.add(reading);
        let summary = sink.finish()?;
        each(ScanEvent::End(summary))?;
    }
    unread.into_events().try_for_each(each)
}

fn read_file(file: &SourceFile, options: &ReadOptions, joins: bool, sink: &mut dyn StepSink) -> ReadSummary {
    if let Some(reading) = result_of_trial(&file.path) {
        return reading;
    }
    let again = |offset| file.open_at(offset);
    match file.open() {
        Ok(input) => {
            let context = file.context(&again, options, joins);
            let mut window = Window::over_stream(input, options.most_held);
            read_window(&mut window, &context, options, sink)
        }
        Err(error) => {
            sink.error(error);
            ReadSummary::default()
        }
    }
}

/// Emits each complete trace.
struct Emitter<'e, F, E> {
    collector: TraceCollector,
    path: &'e Arc<Path>,
    summary: FileSummary,
    each: &'e mut F,
    failed: Option<E>,
    companion: Option<&'e Companion>,
    /// True if the beginning of the file was reported. Errors before its first run wait for that.
    begun: bool,
    unreported: Vec<Error>,
}

impl<'e, F: FnMut(ScanEvent<Trace>) -> Result<(), E>, E> Emitter<'e, F, E> {
    fn new(file: &'e SourceFile, each: &'e mut F) -> Self {
        Self {
            collector: TraceCollector::default(),
            path: &file.path,
            summary: FileSummary::new(Arc::clone(&file.path)),
            each,
            failed: None,
            companion: file.companion.as_deref(),
            begun: false,
            unreported: Vec::new(),
        }
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            self.emit(ScanEvent::Begin(Arc::clone(self.path)));
            for error in std::mem::take(&mut self.unreported) {
                self.emit(ScanEvent::Error(error));
            }
        }
    }

    fn emit(&mut self, event: ScanEvent<Trace>) {
        if self.failed.is_none() {
            self.failed = (self.each)(event).err();
        }
    }

    fn finish(self) -> Result<FileSummary, E> {
        match self.failed {
            Some(failed) => Err(failed),
            None => Ok(self.summary),
        }
    }
}

impl<F: FnMut(ScanEvent<Trace>) -> Result<(), E>, E> StepSink for Emitter<'_, F, E> {
    fn begin(&mut self, position: u64, routing: &RouteStatus) {
        self.collector.begin(position, routing);
    }

    fn step(&mut self, step: &Step<'_>) {
        self.collector.step(step);
    }

    fn end(&mut self, mut ending: RunSummary) {
        if let Some(companion) = self.companion {
            companion.complete(&mut ending);
        }
        self.collector.end(ending);
        while let Some(trace) = self.collector.traces.pop() {
            self.begin();
            self.emit(ScanEvent::Record(trace));
        }
    }

    fn abandon(&mut self) {
        self.collector.abandon();
    }

    fn error(&mut self, error: Error) -> Option<Error> {
        self.summary.count(&error);
        let error = error.in_file(self.path);
        if self.begun {
            self.emit(ScanEvent::Error(error));
        } else {
            self.unreported.push(error);
        }
        None
    }
}
