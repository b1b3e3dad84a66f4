//! Findings as CSV, SARIF and annotations of GitHub Actions.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::detect::{ALL, Confidence, Finding, Verdict};
use crate::error::echo;
use crate::names::named;
use crate::scan::{TraceRecord, path_text};

named! {
    /// A format of findings that [`FindingsWriter`] writes.
    #[non_exhaustive]
    pub enum FindingsFormat: "format of findings" {
        /// CSV with a row for each finding.
        Csv = "csv",
        /// CSV with a row for each run, with or without findings.
        RunsCsv = "runs-csv",
        /// SARIF 2.1.0, for code scanning.
        Sarif = "sarif",
        /// Annotations of GitHub Actions, one per line.
        Github = "github",
    }
}

impl FindingsFormat {
    /// Renders the findings of a run, for [`FindingsWriter::add`]. Other threads than that of the writer can do this.
    #[must_use]
    pub fn render(self, record: &TraceRecord) -> String {
        match self {
            Self::Csv => record.findings().map(|finding| finding_row(record, finding)).collect(),
            Self::RunsCsv => run_row(record),
            Self::Sarif => {
                let results: Vec<String> =
                    record.findings().map(|finding| sarif_result(record, finding)).collect();
                results.join(",")
            }
            Self::Github => record.findings().map(|finding| github_annotation(record, finding)).collect(),
        }
    }

    fn head(self) -> String {
        match self {
            Self::Csv => {
                csv_line(of_both().map(|(name, _)| *name).chain(FINDING.iter().map(|(name, _)| *name)))
            }
            Self::RunsCsv => {
                let of_detectors =
                    ALL.iter().flat_map(|info| [info.id.to_owned(), format!("{}_score", info.id)]);
                csv_line(RUN.iter().map(|(name, _)| (*name).to_owned()).chain(of_detectors))
            }
            Self::Sarif => sarif_head(),
            Self::Github => String::new(),
        }
    }
}

/// Writes the findings of runs in a format.
///
/// ```
/// use std::path::Path;
/// use wrongturn::export::{FindingsFormat, FindingsWriter};
/// use wrongturn::{Scanner, default_detectors, scan::ScanOptions};
///
/// let run = br#"{"version": 1, "steps": [{"name": "look", "status": "error", "observation": "no door"},
///     {"name": "look", "status": "error", "observation": "no door"}]}"#;
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let mut findings = FindingsWriter::new(FindingsFormat::Github, Vec::new())?;
/// for record in scanner.scan_slice(Path::new("run.json"), run).traces {
///     findings.write(&record)?;
/// }
/// assert!(String::from_utf8(findings.finish()?)?.contains("file=run.json,title=feedback_blindness"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FindingsWriter<W> {
    format: FindingsFormat,
    out: W,
    has_results: bool,
}

impl<W: Write> FindingsWriter<W> {
    /// Starts a document: writes the heading of a table, or the rules of a SARIF log.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(format: FindingsFormat, mut out: W) -> io::Result<Self> {
        out.write_all(format.head().as_bytes())?;
        Ok(Self { format, out, has_results: false })
    }

    /// Writes the findings of a run.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, record: &TraceRecord) -> io::Result<()> {
        self.add(&self.format.render(record))
    }

    /// Writes the rendered findings of a run.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, rendered: &str) -> io::Result<()> {
        let is_result = self.format == FindingsFormat::Sarif && !rendered.is_empty();
        if is_result && std::mem::replace(&mut self.has_results, true) {
            self.out.write_all(b",")?;
        }
        self.out.write_all(rendered.as_bytes())
    }

    /// Ends the document and returns the output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.format == FindingsFormat::Sarif {
            self.out.write_all(b"\n]}]}\n")?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

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
    // Runs with the same content have the same.
    ("digest", |record| optional(record.digest)),
];

/// The columns of a run that rows of findings have, too.
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

fn finding_row(record: &TraceRecord, finding: &Finding) -> String {
    csv_line(of_both().map(|(_, cell)| cell(record)).chain(FINDING.iter().map(|(_, cell)| cell(finding))))
}

fn run_row(record: &TraceRecord) -> String {
    let of_detectors = ALL.iter().flat_map(|info| {
        let verdict = record.verdict(info.id);
        let score = verdict.and_then(Verdict::judgement).and_then(|judgement| judgement.score);
        [optional(verdict.and_then(Verdict::detected).map(u8::from)), optional(score)]
    });
    csv_line(RUN.iter().map(|(_, cell)| cell(record)).chain(of_detectors))
}

/// Escapes a recorded text for a cell of CSV. Spreadsheets evaluate cells that begin like a formula, so these get an
/// apostrophe.
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

/// Returns a row. Writing to memory cannot fail.
fn csv_line<T: AsRef<[u8]>>(cells: impl Iterator<Item = T>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(cells);
    let line = written.ok().and_then(|()| writer.into_inner().ok());
    line.and_then(|line| String::from_utf8(line).ok()).unwrap_or_default()
}

/// Returns the start of a SARIF log, up to the list of results.
fn sarif_head() -> String {
    let rule = |info: &crate::detect::DetectorInfo| {
        json!({
            "id": info.id,
            "shortDescription": {"text": info.summary},
            "properties": {"mode": info.mode},
        })
    };
    let driver = json!({
        "name": env!("CARGO_PKG_NAME"),
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": ALL.iter().map(rule).collect::<Vec<Value>>(),
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
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' => uri.push('/'),
            byte if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) => uri.push(char::from(*byte)),
            byte => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}

fn github_annotation(record: &TraceRecord, finding: &Finding) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let kind = if finding.confidence == Confidence::Certain { "warning" } else { "notice" };
    let line = record.places.get(&finding.last).map(|place| format!(",line={}", place.line));
    let (first, last) = (finding.first, finding.last);
    let text = format!("{}, steps {first}-{last}: {}", echo(&record.trace_id()), finding.message);
    format!(
        "::{kind} file={}{},title={}::{}\n",
        property(&path_text(record.file.as_os_str())),
        line.unwrap_or_default(),
        property(&finding.detector),
        data(&text)
    )
}
