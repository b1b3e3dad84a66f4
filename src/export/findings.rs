//! Writes findings in the formats of other systems, and renders GitHub Actions annotations.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use super::{rows, sarif};
use crate::detect::{Confidence, Finding};
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
        /// GitHub Actions annotations, one per line.
        Github = "github",
    }
}

impl FindingsFormat {
    /// Renders the findings of a run for [`FindingsWriter::add`], on any thread.
    #[must_use]
    pub fn render(self, record: &TraceRecord) -> String {
        match self {
            Self::Csv => record.findings().map(|finding| rows::of_finding(record, finding)).collect(),
            Self::RunsCsv => rows::of_run(record),
            Self::Sarif => {
                let results: Vec<String> =
                    record.findings().map(|finding| sarif::result(record, finding)).collect();
                results.join(",")
            }
            Self::Github => record.findings().map(|finding| github_annotation(record, finding)).collect(),
        }
    }

    fn head(self) -> String {
        match self {
            Self::Csv => rows::findings_head(),
            Self::RunsCsv => rows::runs_head(),
            Self::Sarif => sarif::head(),
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
    /// The notifications of a SARIF log.
    notifications: Vec<Value>,
}

impl<W: Write> FindingsWriter<W> {
    /// Starts a document: writes the header row of a table, or the rules of a SARIF log.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn new(format: FindingsFormat, mut out: W) -> io::Result<Self> {
        out.write_all(format.head().as_bytes())?;
        Ok(Self { format, out, has_results: false, notifications: Vec::new() })
    }

    /// Writes the findings of a run.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn write(&mut self, record: &TraceRecord) -> io::Result<()> {
        self.add(&self.format.render(record))
    }

    /// Writes the findings of a run, as rendered by [`FindingsFormat::render`] for the same format.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn add(&mut self, rendered: &str) -> io::Result<()> {
        let is_result = self.format == FindingsFormat::Sarif && !rendered.is_empty();
        if is_result && std::mem::replace(&mut self.has_results, true) {
            self.out.write_all(b",")?;
        }
        self.out.write_all(rendered.as_bytes())
    }

    /// Records an error in a file that could not be read in full. Only a SARIF log has it.
    pub fn unread(&mut self, file: &Path, error: &str) {
        if self.format == FindingsFormat::Sarif {
            self.notifications.push(sarif::notification(file, error));
        }
    }

    /// Ends the document and returns the output.
    ///
    /// # Errors
    /// If writing to the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        if self.format == FindingsFormat::Sarif {
            self.out.write_all(sarif::end(&self.notifications).as_bytes())?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

fn github_annotation(record: &TraceRecord, finding: &Finding) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let kind = if finding.confidence == Confidence::Certain { "warning" } else { "notice" };
    let line = record.places.get(&finding.last).map(|place| format!(",line={}", place.line));
    let text = format!("{}, {}: {}", echo(&record.trace_id()), finding.steps(), finding.message);
    format!(
        "::{kind} file={}{},title={}::{}\n",
        property(&path_text(record.file.as_os_str())),
        line.unwrap_or_default(),
        property(&finding.detector),
        data(&text)
    )
}
