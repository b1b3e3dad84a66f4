//! `wrongturn doctor`: reports how much of the inputs was understood, and what to do about the rest.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use wrongturn::{
    ErrorKind, Status, Trace,
    read::Format,
    scan::{ScanEvent, path_text},
    trace::{Content, Event, UnknownReason},
};

use crate::common::arguments::Reading;
use crate::common::findings::{counted, percent};
use crate::common::{self, terminal};

/// Maximum number of files named for each problem.
const NAMED: usize = 3;

/// Reports what was read and what was not, with remedies.
#[derive(Parser)]
#[command(after_help = common::notes(
    "runs of any format; directories are searched.",
    "formats, problems and remedies on standard output.",
    "wrongturn doctor golden/tau2",
))]
pub(crate) struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// The remedy for missing metadata.
const GROUPING: &str = "Needed only to group, compare and correlate.";

#[derive(Default)]
struct Problem {
    count: u64,
    files: u64,
    named: Vec<String>,
    last: Option<Arc<Path>>,
}

impl Problem {
    fn add(&mut self, file: &Arc<Path>, count: u64, detail: Option<String>) {
        self.count += count;
        if self.last.as_ref() != Some(file) {
            self.last = Some(Arc::clone(file));
            self.files += 1;
            if self.named.len() < NAMED {
                self.named.push(detail.unwrap_or_else(|| path_text(file.as_os_str()).into_owned()));
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unreadable,
    UnknownFormat,
    Damaged,
    NoRuns,
    NoActions,
    UnansweredCalls,
    UnpairedAnswers,
    NoArguments,
    NoObservations,
    UnknownStatus(UnknownReason),
    StatusOfText,
    Skipped,
    NoModel,
    NoTask,
    NoReward,
}

impl Kind {
    /// Returns the name of the problem, and its remedy or consequence.
    fn texts(&self) -> (Cow<'_, str>, &'static str) {
        let (title, remedy) = match self {
            Self::Unreadable => (
                "paths that could not be read",
                "Check the path, its permissions and the extensions of its files.",
            ),
            Self::UnknownFormat => (
                "files of unknown or unsupported format",
                "Compare with `wrongturn formats`, or name the format with --format. A file of your own becomes readable \
                 as chat messages, or in the native form (guide: formats).",
            ),
            Self::Damaged => (
                "errors in the content of files",
                "What can be read is judged. Check that the file is a recorded run, and write it again if it was cut off.",
            ),
            Self::NoRuns => {
                ("files without a run", "Nothing in the file is a run. Check that it is the right file.")
            }
            Self::NoActions => (
                "runs without an action",
                "No detector has anything to judge. Check that the recorder writes tool calls.",
            ),
            Self::UnansweredCalls => (
                "calls without an answer",
                "They are judged as calls without an outcome. Check that the recorder writes results.",
            ),
            Self::UnpairedAnswers => (
                "answers without a call",
                "They are not judged. Check that answers carry the id of their call.",
            ),
            Self::NoArguments => (
                "calls without recorded arguments",
                "Rules that compare calls do not apply. Turn on the recording of content in the tracer.",
            ),
            Self::NoObservations => (
                "calls without recorded answers",
                "Rules that compare answers miss findings. Turn on the recording of content.",
            ),
            Self::UnknownStatus(UnknownReason::Unspecified) => (
                "calls whose status is not recorded",
                "They count neither as successes nor as failures. Check that the recorder writes the outcome of calls.",
            ),
            Self::UnknownStatus(reason) => {
                let title = format!("calls without an outcome ({reason})");
                return (title.into(), "They count neither as successes nor as failures.");
            }
            Self::StatusOfText => (
                "failures known only by their text",
                "The source records no status. Findings that rest on them alone are likely, not certain.",
            ),
            Self::Skipped => (
                "skipped records",
                "They are not judged. Most are bookkeeping; look for kinds that you need.",
            ),
            Self::NoModel => ("runs without a model", GROUPING),
            Self::NoTask => ("runs without a task", GROUPING),
            Self::NoReward => ("runs without a reward", GROUPING),
        };
        (title.into(), remedy)
    }
}

#[derive(Default)]
struct Diagnosis {
    formats: BTreeMap<&'static str, [u64; 3]>,
    problems: BTreeMap<Kind, Problem>,
    /// The skipped records by kind.
    skipped: BTreeMap<String, u64>,
    runs: u64,
    calls: u64,
}

impl Diagnosis {
    /// Adds a problem of a file. `detail` replaces the path of the file.
    fn problem(&mut self, kind: Kind, file: &Arc<Path>, count: u64, detail: Option<String>) {
        if count > 0 {
            self.problems.entry(kind).or_default().add(file, count, detail);
        }
    }

    fn run(&mut self, file: &Arc<Path>, trace: &Trace) -> u64 {
        let (mut calls, mut no_arguments, mut no_observations, mut by_text) = (0, 0, 0, 0);
        let mut unknown: BTreeMap<UnknownReason, u64> = BTreeMap::new();
        for step in trace.steps() {
            let Event::Action(action) = step.event() else { continue };
            calls += 1;
            no_arguments += u64::from(matches!(action.arguments, Content::NotRecorded));
            no_observations += u64::from(matches!(action.observation, Content::NotRecorded));
            match (action.status, action.reason) {
                (Status::Unknown, Some(reason)) => *unknown.entry(reason).or_default() += 1,
                (Status::Error, _) => {
                    by_text += u64::from(action.provenance == wrongturn::trace::Provenance::Text);
                }
                _ => {}
            }
        }
        let unpaired = trace.unpaired();
        let metadata = trace.metadata();
        let is_missing = |missing: bool| u64::from(missing);
        for (kind, count) in [
            (Kind::NoActions, is_missing(calls == 0)),
            (Kind::UnansweredCalls, unpaired.calls),
            (Kind::UnpairedAnswers, unpaired.messages),
            (Kind::NoArguments, no_arguments),
            (Kind::NoObservations, no_observations),
            (Kind::StatusOfText, by_text),
            (Kind::NoModel, is_missing(metadata.model.is_none())),
            (Kind::NoTask, is_missing(metadata.task.is_none())),
            (Kind::NoReward, is_missing(trace.reward().is_none())),
        ] {
            self.problem(kind, file, count, None);
        }
        // Calls without an answer are a problem of their own, so do not count them twice.
        if unpaired.calls > 0 {
            unknown.remove(&UnknownReason::Unanswered);
        }
        for (reason, count) in unknown {
            self.problem(Kind::UnknownStatus(reason), file, count, None);
        }
        self.runs += 1;
        self.calls += calls;
        calls
    }

    fn render(&self, width: usize) -> String {
        let mut text = format!("{} with {} read.\n", counted(self.runs, "run"), counted(self.calls, "call"));
        let mut formats = Some(self.formats()).filter(|formats| !formats.is_empty());
        for (kind, problem) in &self.problems {
            // The formats come after the problems of files, and before those of runs and calls.
            if *kind > Kind::NoRuns {
                text += &formats.take().unwrap_or_default();
            }
            let all = match kind {
                Kind::NoActions | Kind::NoModel | Kind::NoTask | Kind::NoReward => self.runs,
                Kind::UnansweredCalls | Kind::NoArguments | Kind::NoObservations | Kind::UnknownStatus(_) => {
                    self.calls
                }
                _ => 0,
            };
            let share = if all > 0 { format!(" ({})", percent(problem.count, all)) } else { String::new() };
            let (title, remedy) = kind.texts();
            let is_of_metadata = *kind >= Kind::NoModel;
            let files = match kind {
                Kind::Unreadable | Kind::UnknownFormat | Kind::NoRuns => String::new(),
                _ if is_of_metadata => String::new(),
                _ => format!(", in {}", counted(problem.files, "file")),
            };
            let line = format!("{title}: {}{share}{files}", problem.count);
            text += &format!("\n{}\n", terminal::wrapped(&line, width, 2));
            text += &format!("  {}\n", terminal::wrapped(remedy, width - 2, 2));
            if *kind == Kind::Skipped {
                let mut kinds: Vec<_> =
                    self.skipped.iter().map(|(kind, count)| (Reverse(count), kind)).collect();
                kinds.sort();
                for (Reverse(count), kind) in kinds {
                    text +=
                        &format!("    {}\n", terminal::wrapped(&format!("{count:>7} {kind}"), width - 4, 8));
                }
                continue;
            }
            if is_of_metadata {
                continue;
            }
            for file in &problem.named {
                text += &format!("    {}\n", terminal::wrapped(file, width - 4, 6));
            }
            let more = problem.files - problem.named.len() as u64;
            if more > 0 {
                text += &format!("    … and {}\n", counted(more, "more file"));
            }
        }
        text + &formats.unwrap_or_default()
    }

    fn formats(&self) -> String {
        let mut text = String::new();
        for (format, [files, runs, calls]) in &self.formats {
            let counts = [counted(*files, "file"), counted(*runs, "run"), counted(*calls, "call")].join(", ");
            let before = if text.is_empty() { "\n" } else { "" };
            text += &format!("{before}  {format:20} {counts}\n");
        }
        text
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    if arguments.reading.join {
        return Err("`doctor` reads each file on its own; omit --join".into());
    }
    let mut diagnosis = Diagnosis::default();
    let mut file: Arc<Path> = Arc::from(Path::new(""));
    let (mut calls, mut empty) = (0, None);
    let inputs = arguments.reading.read(&arguments.paths, |event| {
        match event {
            ScanEvent::Begin(begun) => (file, calls, empty) = (begun, 0, None),
            ScanEvent::Record(trace) => calls += diagnosis.run(&file, &trace),
            ScanEvent::Error(error) => {
                let message = error.to_string();
                let kind = match error.kind() {
                    ErrorKind::Io => Kind::Unreadable,
                    ErrorKind::Empty if error.path().is_some_and(Path::is_dir) => Kind::Unreadable,
                    // Other errors of the file say more, so this one is reported only if it is alone.
                    ErrorKind::Empty => {
                        empty = Some(message);
                        return Ok(());
                    }
                    ErrorKind::Format => Kind::UnknownFormat,
                    _ => Kind::Damaged,
                };
                diagnosis.problem(kind, &file, 1, Some(message));
            }
            ScanEvent::End(summary) => {
                if let Some(format) = summary.format {
                    let counts = diagnosis.formats.entry(Format::name(format)).or_default();
                    *counts = [counts[0] + 1, counts[1] + summary.counts.runs, counts[2] + calls];
                }
                for (reason, count) in &summary.counts.passed_over {
                    *diagnosis.skipped.entry(reason.to_string()).or_default() += count;
                    diagnosis.problem(Kind::Skipped, &file, *count, None);
                }
                let is_empty =
                    summary.counts.runs == 0 && summary.counts.errors == u64::from(empty.is_some());
                diagnosis.problem(Kind::NoRuns, &file, u64::from(is_empty), empty.take());
            }
            _ => {}
        }
        Ok(())
    })?;
    common::print(&diagnosis.render(common::width()))?;
    inputs.tell_skipped();
    Ok(inputs.status())
}
