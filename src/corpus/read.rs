//! Reads files as traces, one after the other.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::companion::{Companion, result_of_trial};
use super::open::open;
use super::record::{FileSummary, ScanEvent};
use super::source::{Role, SourceFile, discover};
use crate::error::Error;
use crate::input::{Beside, Format, ReadOptions, Window, read_window};
use crate::trace::{Ending, Routing, Step, StepSink, Trace, TraceCollector};

/// Reads the runs of files and directories as [`Trace`]s, in the order in which a scan takes them. `each` may end the
/// reading by an error of its own.
///
/// ```no_run
/// use tracelint::{ReadOptions, ScanEvent, read_files};
///
/// read_files(["results"], &ReadOptions::default(), |event| {
///     if let ScanEvent::Record(trace) = event {
///         println!("{} steps", trace.steps().len());
///     }
///     Ok::<(), tracelint::Error>(())
/// })?;
/// # Ok::<(), tracelint::Error>(())
/// ```
///
/// # Errors
/// Those of `each`. What cannot be read is an event.
pub fn read_files<I, E>(
    paths: I,
    options: &ReadOptions,
    mut each: impl FnMut(ScanEvent<Trace>) -> Result<(), E>,
) -> Result<(), E>
where
    I: IntoIterator<Item: AsRef<Path>>,
{
    let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
    let (files, unreachable) = discover(paths.collect::<Vec<PathBuf>>());
    for file in &files {
        read_file(file, options, &mut each)?;
    }
    for error in unreachable {
        let path: Arc<Path> = error.path().unwrap_or(Path::new("")).into();
        let summary = FileSummary::unreachable(Arc::clone(&path));
        each(ScanEvent::Begin(path))?;
        each(ScanEvent::Error(error))?;
        each(ScanEvent::End(summary))?;
    }
    Ok(())
}

fn read_file<E>(
    file: &SourceFile,
    options: &ReadOptions,
    each: &mut impl FnMut(ScanEvent<Trace>) -> Result<(), E>,
) -> Result<(), E> {
    each(ScanEvent::Begin(Arc::clone(&file.path)))?;
    let mut sink = Emitter {
        collector: TraceCollector::default(),
        path: &file.path,
        summary: FileSummary::new(Arc::clone(&file.path)),
        each,
        failed: None,
        companion: file.companion.as_deref(),
    };
    if let Some(reading) = result_of_trial(&file.path) {
        sink.summary.add(reading);
        let Emitter { summary, each, .. } = sink;
        return each(ScanEvent::End(summary));
    }
    let again = || open(&file.path).ok();
    match open(&file.path) {
        Ok(input) => {
            let beside = Beside {
                header: match &file.role {
                    Role::RunOf(shared) => Some(shared.get(options)),
                    Role::Runs | Role::Header => None,
                },
                again: file.is_regular.then_some(&again as &dyn Fn() -> Option<Box<dyn Read>>),
                format: matches!(file.role, Role::Header | Role::RunOf(_)).then_some(Format::Tau2),
                is_header: matches!(file.role, Role::Header),
            };
            let mut window = Window::over_stream(input, options.most_held);
            let reading = read_window(&mut window, &beside, options, &mut sink);
            sink.summary.add(reading);
        }
        Err(error) => {
            sink.error(error);
        }
    }
    let Emitter { summary, failed, .. } = sink;
    match failed {
        Some(failed) => Err(failed),
        None => each(ScanEvent::End(summary)),
    }
}

/// Hands every trace on as soon as it is complete.
struct Emitter<'e, F, E> {
    collector: TraceCollector,
    path: &'e Path,
    summary: FileSummary,
    each: &'e mut F,
    failed: Option<E>,
    companion: Option<&'e Companion>,
}

impl<F: FnMut(ScanEvent<Trace>) -> Result<(), E>, E> Emitter<'_, F, E> {
    fn emit(&mut self, event: ScanEvent<Trace>) {
        if self.failed.is_none() {
            self.failed = (self.each)(event).err();
        }
    }
}

impl<F: FnMut(ScanEvent<Trace>) -> Result<(), E>, E> StepSink for Emitter<'_, F, E> {
    fn begin(&mut self, position: u64, routing: &Routing) {
        self.collector.begin(position, routing);
    }

    fn step(&mut self, step: &Step<'_>) {
        self.collector.step(step);
    }

    fn end(&mut self, mut ending: Ending) {
        if let Some(companion) = self.companion {
            companion.complete(&mut ending);
        }
        self.collector.end(ending);
        while let Some(trace) = self.collector.traces.pop() {
            self.emit(ScanEvent::Record(trace));
        }
    }

    fn abandon(&mut self) {
        self.collector.abandon();
    }

    fn error(&mut self, error: Error) -> Option<Error> {
        self.summary.errors += 1;
        self.summary.runs_lost += u64::from(error.run().is_some());
        self.emit(ScanEvent::Error(error.in_file(self.path)));
        None
    }
}
