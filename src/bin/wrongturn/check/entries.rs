//! Renders a run in each output format: records, rows, SARIF results, test cases, annotations.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use wrongturn::{
    Confidence, Finding, Verdict,
    detect::ALL,
    export::{EventContext, otlp_json},
    report::{TestSuite, csv_text as text},
    scan::{TraceRecord, path_text},
};

use super::streams::OutputFormat;
use crate::common::{self, config::findings_of as findings, terminal::name};

/// A run in an output.
pub(crate) enum Entry {
    Bytes(Vec<u8>),
    Case(TestSuite),
}

/// Renders a run for a stream, on the reading threads.
pub(crate) fn entry(format: OutputFormat, record: &TraceRecord) -> Result<Entry, String> {
    let bytes = match format {
        OutputFormat::Jsonl => common::json_line(record)?,
        OutputFormat::Otlp => {
            let context = EventContext::new(&record.trace_id(), &record.metadata);
            (otlp_json(&context.of_verdicts(&record.verdicts)) + "\n").into_bytes()
        }
        OutputFormat::Csv => findings(record)
            .map(|finding| finding_row(record, finding))
            .collect::<Result<String, _>>()?
            .into_bytes(),
        OutputFormat::RunsCsv => run_row(record)?.into_bytes(),
        OutputFormat::Sarif => {
            let results: Vec<String> =
                findings(record).map(|finding| sarif_result(record, finding)).collect();
            results.join(",").into_bytes()
        }
        OutputFormat::Junit => return Ok(Entry::Case(junit_case(record))),
        OutputFormat::Github => findings(record)
            .map(|finding| github_annotation(record, finding))
            .collect::<String>()
            .into_bytes(),
        _ => Vec::new(),
    };
    Ok(Entry::Bytes(bytes))
}

/// A column: its name, and its cell for a `T`.
type Column<T> = (&'static str, fn(&T) -> String);

const RUN: [Column<TraceRecord>; 16] = [
    ("run", |record| text(&record.trace_id())),
    ("file", |record| text(&path_text(record.file.as_os_str()))),
    ("position", |record| record.position.to_string()),
    ("agent", |record| optional_text(record.metadata.agent.as_deref())),
    ("model", |record| optional_text(record.metadata.model.as_deref())),
    ("domain", |record| optional_text(record.metadata.domain.as_deref())),
    ("task", |record| optional_text(record.metadata.task.as_deref())),
    ("trial", |record| optional(record.metadata.trial)),
    ("reward", |record| optional(record.reward)),
    ("termination", |record| optional_text(record.metadata.termination.as_deref())),
    ("steps", |record| record.cost.steps.to_string()),
    ("actions", |record| record.actions.to_string()),
    ("unanswered_calls", |record| record.unpaired.calls.to_string()),
    ("tokens", |record| optional(record.cost.tokens())),
    ("seconds", |record| seconds(record.cost.duration_ns)),
    ("findings", |record| findings(record).count().to_string()),
];

/// The columns of a run that rows of findings have, too.
const OF_BOTH: [&str; 6] = ["run", "file", "agent", "model", "domain", "task"];

fn of_both() -> impl Iterator<Item = &'static Column<TraceRecord>> {
    RUN.iter().filter(|(name, _)| OF_BOTH.contains(name))
}

const FINDING: [Column<Finding>; 10] = [
    ("detector", |finding| finding.detector.to_string()),
    ("tool", |finding| optional_text(finding.tool.as_deref())),
    ("first", |finding| finding.first.to_string()),
    ("last", |finding| finding.last.to_string()),
    ("confidence", |finding| finding.confidence.to_string()),
    ("message", |finding| text(&finding.message)),
    ("evidence", |finding| serde_json::to_string(&finding.evidence).unwrap_or_default()),
    ("steps", |finding| optional(finding.cost.map(|cost| cost.steps))),
    ("tokens", |finding| optional(finding.cost.and_then(|cost| cost.tokens()))),
    ("seconds", |finding| seconds(finding.cost.and_then(|cost| cost.duration_ns))),
];

pub(super) fn finding_columns() -> impl Iterator<Item = String> {
    of_both().map(|(name, _)| *name).chain(FINDING.iter().map(|(name, _)| *name)).map(str::to_owned)
}

pub(super) fn run_columns() -> impl Iterator<Item = String> {
    let of_detectors = ALL.iter().flat_map(|info| [info.id.to_owned(), format!("{}_score", info.id)]);
    RUN.iter().map(|(name, _)| (*name).to_owned()).chain(of_detectors)
}

fn finding_row(record: &TraceRecord, finding: &Finding) -> Result<String, String> {
    let of_run = of_both().map(|(_, cell)| cell(record));
    csv_line(of_run.chain(FINDING.iter().map(|(_, cell)| cell(finding))))
}

fn run_row(record: &TraceRecord) -> Result<String, String> {
    let of_detectors = ALL.iter().flat_map(|info| {
        let verdict = record.verdict(info.id);
        let score = verdict.and_then(Verdict::judgement).and_then(|judgement| judgement.score);
        [optional(verdict.and_then(Verdict::detected).map(u8::from)), optional(score)]
    });
    csv_line(RUN.iter().map(|(_, cell)| cell(record)).chain(of_detectors))
}

fn optional_text(value: Option<&str>) -> String {
    text(value.unwrap_or_default())
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn seconds(nanoseconds: Option<u64>) -> String {
    optional(
        nanoseconds
            .map(|nanoseconds| format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)),
    )
}

pub(super) fn csv_line(cells: impl Iterator<Item = String>) -> Result<String, String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells.map(String::into_bytes)).map_err(|error| error.to_string())?;
    let line = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(line).map_err(|error| error.to_string())
}

/// Returns the head of a SARIF log, up to the list of results.
pub(super) fn sarif_head() -> String {
    let rules: Vec<Value> = ALL
        .iter()
        .map(|info| {
            json!({
                "id": info.id,
                "shortDescription": {"text": info.summary},
                "properties": {"mode": info.mode},
            })
        })
        .collect();
    let driver = json!({
        "name": env!("CARGO_PKG_NAME"),
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    format!(
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{{\
         \"tool\":{{\"driver\":{driver}}},\"results\":[\n"
    )
}

fn sarif_result(record: &TraceRecord, finding: &Finding) -> String {
    let run = record.trace_id();
    // The last step decides.
    let place = record.places.get(&finding.last);
    let artifact = json!({"uri": uri(&record.file)});
    let location = json!({
        "physicalLocation": match place {
            Some(place) => json!({"artifactLocation": artifact, "region": {"startLine": place.line}}),
            None => json!({"artifactLocation": artifact}),
        },
        "logicalLocations": [{
            "name": format!("step {}", finding.last),
            "fullyQualifiedName": place
                .and_then(|place| place.pointer.clone())
                .unwrap_or_else(|| format!("{run}/{}", finding.last)),
            "kind": "element",
        }],
    });
    let level = if finding.confidence == Confidence::Certain { "warning" } else { "note" };
    json!({
        "ruleId": finding.detector,
        "ruleIndex": ALL.iter().position(|info| info.id == finding.detector),
        "level": level,
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {"findingId/v1": format!("{run}/{}", finding.id)},
        "properties": {
            "run": run,
            "first": finding.first,
            "last": finding.last,
            "confidence": finding.confidence,
            "model": record.metadata.model,
            "task": record.metadata.task,
        },
    })
    .to_string()
}

/// Returns a path as a relative or absolute URI reference.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    for byte in
        path.as_os_str().as_encoded_bytes().iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte })
    {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

fn junit_case(record: &TraceRecord) -> TestSuite {
    let steps: Vec<String> =
        findings(record).map(|finding| format!("steps {}-{}", finding.first, finding.last)).collect();
    let failures: Vec<_> = findings(record)
        .zip(&steps)
        .map(|(finding, steps)| (Some(&*finding.detector), finding.message.as_str(), steps.as_str()))
        .collect();
    let mut case = TestSuite::default();
    case.case(&path_text(record.file.as_os_str()), &record.trace_id(), &failures);
    case
}

fn github_annotation(record: &TraceRecord, finding: &Finding) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let kind = if finding.confidence == Confidence::Certain { "warning" } else { "notice" };
    let line = record.places.get(&finding.last).map(|place| format!(",line={}", place.line));
    format!(
        "::{kind} file={}{},title={}::{}\n",
        property(&path_text(record.file.as_os_str())),
        line.unwrap_or_default(),
        property(&finding.detector),
        data(&format!(
            "{}, steps {}-{}: {}",
            name(&record.trace_id()),
            finding.first,
            finding.last,
            finding.message
        ))
    )
}
