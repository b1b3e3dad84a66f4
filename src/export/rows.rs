//! CSV with a row for each finding or for each run.

use crate::detect::{ALL, Finding, Verdict};
use crate::scan::{TraceRecord, path_text};

/// A column: its name, and its cell for a `T`.
type Column<T> = (&'static str, fn(&T) -> String);

const RUN: [Column<TraceRecord>; 19] = [
    ("run", |record| csv_text(&record.trace_id())),
    ("file", |record| csv_text(&path_text(record.file.as_os_str()))),
    ("position", |record| record.position.to_string()),
    ("format", |record| optional(record.format)),
    ("agent", |record| text(record.metadata.agent.as_deref())),
    ("model", |record| text(record.metadata.model.as_deref())),
    ("domain", |record| text(record.metadata.domain.as_deref())),
    ("task", |record| text(record.metadata.task.as_deref())),
    ("trial", |record| optional(record.metadata.trial)),
    ("reward", |record| optional(record.reward)),
    ("termination", |record| text(record.metadata.termination.as_deref())),
    ("steps", |record| record.cost.steps.to_string()),
    ("actions", |record| record.actions.to_string()),
    ("errors", |record| record.errors.to_string()),
    ("unanswered_calls", |record| record.unpaired.calls.to_string()),
    ("tokens", |record| optional(record.cost.tokens())),
    ("seconds", |record| seconds(record.cost.duration_ns)),
    ("findings", |record| record.findings().count().to_string()),
    // Runs with the same content have the same digest, so readers can find copies.
    ("digest", |record| optional(record.digest)),
];

/// The columns of a run that rows of findings have too.
const OF_BOTH: [&str; 6] = ["run", "file", "agent", "model", "domain", "task"];

fn of_both() -> impl Iterator<Item = &'static Column<TraceRecord>> {
    RUN.iter().filter(|(name, _)| OF_BOTH.contains(name))
}

const FINDING: [Column<Finding>; 10] = [
    ("detector", |finding| finding.detector.to_string()),
    ("tool", |finding| text(finding.tool.as_deref())),
    ("first", |finding| finding.first.to_string()),
    ("last", |finding| finding.last.to_string()),
    ("confidence", |finding| finding.confidence.to_string()),
    ("message", |finding| csv_text(&finding.message)),
    ("evidence", |finding| serde_json::to_string(&finding.evidence).unwrap_or_default()),
    ("steps", |finding| optional(finding.cost.map(|cost| cost.steps))),
    ("tokens", |finding| optional(finding.cost.and_then(|cost| cost.tokens()))),
    ("seconds", |finding| seconds(finding.cost.and_then(|cost| cost.duration_ns))),
];

/// Returns the heading of the rows of findings.
pub(super) fn findings_head() -> String {
    csv_line(of_both().map(|(name, _)| *name).chain(FINDING.iter().map(|(name, _)| *name)))
}

/// Returns the heading of the rows of runs.
pub(super) fn runs_head() -> String {
    let of_detectors = ALL.iter().flat_map(|info| [info.id.to_owned(), format!("{}_score", info.id)]);
    csv_line(RUN.iter().map(|(name, _)| (*name).to_owned()).chain(of_detectors))
}

/// Returns the row of a finding.
pub(super) fn of_finding(record: &TraceRecord, finding: &Finding) -> String {
    csv_line(of_both().map(|(_, cell)| cell(record)).chain(FINDING.iter().map(|(_, cell)| cell(finding))))
}

/// Returns the row of a run.
pub(super) fn of_run(record: &TraceRecord) -> String {
    let of_detectors = ALL.iter().flat_map(|info| {
        let verdict = record.verdict(info.id);
        let score = verdict.and_then(Verdict::judgement).and_then(|judgement| judgement.score);
        [optional(verdict.and_then(Verdict::detected).map(u8::from)), optional(score)]
    });
    csv_line(RUN.iter().map(|(_, cell)| cell(record)).chain(of_detectors))
}

/// Protects a recorded text for a cell of CSV. Spreadsheets evaluate cells that begin like a formula, so
/// these get an apostrophe in front.
pub(crate) fn csv_text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

fn text(value: Option<&str>) -> String {
    csv_text(value.unwrap_or_default())
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn seconds(nanoseconds: Option<u64>) -> String {
    const SECOND: u64 = 1_000_000_000;
    optional(nanoseconds.map(|nanoseconds| format!("{}.{:09}", nanoseconds / SECOND, nanoseconds % SECOND)))
}

/// Returns a row as a line. Writing to memory cannot fail, so errors are ignored.
fn csv_line<T: AsRef<[u8]>>(cells: impl Iterator<Item = T>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(cells);
    let line = written.ok().and_then(|()| writer.into_inner().ok());
    line.and_then(|line| String::from_utf8(line).ok()).unwrap_or_default()
}
