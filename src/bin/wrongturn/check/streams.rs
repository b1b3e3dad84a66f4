//! Outputs with an entry for each run or finding, in source order.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use wrongturn::{
    Finding,
    export::{EventContext, FindingsFormat, FindingsWriter, otlp_json},
    merge::Files,
    report::TestSuite,
    scan::{TraceRecord, path_text},
};

use crate::common::output::Output;
use crate::common::{Failure, json_line};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// The worst runs with their findings, and totals
    Text,
    /// The figures of the tables
    Json,
    /// A record for each run, with all verdicts
    Jsonl,
    /// A row for each finding
    Csv,
    /// A row for each run
    RunsCsv,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML: a test case for each run
    Junit,
    /// Annotations of GitHub Actions
    Github,
    /// Evaluation events: OTLP/JSON log records
    Otlp,
    /// Tables in Markdown
    Markdown,
    /// Tables in LaTeX
    Latex,
    /// A page with tables, charts and the worst runs
    Html,
}

/// The endings of file names and their formats. The first match decides.
const ENDINGS: [(&str, OutputFormat); 12] = [
    ("runs.csv", OutputFormat::RunsCsv),
    (".csv", OutputFormat::Csv),
    (".otlp.jsonl", OutputFormat::Otlp),
    (".jsonl", OutputFormat::Jsonl),
    (".sarif", OutputFormat::Sarif),
    (".sarif.json", OutputFormat::Sarif),
    (".json", OutputFormat::Json),
    (".xml", OutputFormat::Junit),
    (".md", OutputFormat::Markdown),
    (".tex", OutputFormat::Latex),
    (".html", OutputFormat::Html),
    (".txt", OutputFormat::Text),
];

#[derive(Debug, Clone)]
pub(crate) struct FormattedFile {
    pub(crate) format: OutputFormat,
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for FormattedFile {
    type Err = String;

    /// Parses `FILE`, or `FORMAT=FILE` if the ending does not determine the format.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=');
        let named =
            named.and_then(|(format, path)| Some((OutputFormat::from_str(format, false).ok()?, path)));
        let (format, path) = match named {
            Some((format, path)) => (format, PathBuf::from(path)),
            None => (OutputFormat::of_path(Path::new(text))?, PathBuf::from(text)),
        };
        Ok(Self { format, path })
    }
}

impl OutputFormat {
    /// Returns the matching format of [`FindingsWriter`], or `None` if it does not write this one.
    pub(crate) fn of_findings(self) -> Option<FindingsFormat> {
        Some(match self {
            Self::Csv => FindingsFormat::Csv,
            Self::RunsCsv => FindingsFormat::RunsCsv,
            Self::Sarif => FindingsFormat::Sarif,
            Self::Github => FindingsFormat::Github,
            _ => return None,
        })
    }

    fn of_path(path: &Path) -> Result<Self, String> {
        if path == Path::new("-") {
            return Err("`-` is standard output: set its format with --output-format".to_owned());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let fits = |(ending, _): &&(&str, Self)| name.ends_with(ending);
        ENDINGS.iter().find(fits).map(|(_, format)| *format).ok_or_else(|| {
            let known: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
            format!("expected a name that ends in {}, or FORMAT=FILE", known.join(", "))
        })
    }
}

pub(crate) enum Entry {
    Text(String),
    Case(TestSuite),
}

impl Entry {
    /// Renders a run for a stream. This runs on the reading threads.
    pub(crate) fn of(record: &TraceRecord, format: OutputFormat) -> Result<Self, String> {
        Ok(Self::Text(match (format, format.of_findings()) {
            (_, Some(findings)) => findings.render(record),
            (OutputFormat::Otlp, _) => {
                let context = EventContext::new(&record.trace_id(), &record.metadata);
                otlp_json(&context.of_verdicts(&record.verdicts)) + "\n"
            }
            (OutputFormat::Junit, _) => return Ok(Self::Case(junit_case(record))),
            _ => json_line(record)?,
        }))
    }
}

fn junit_case(record: &TraceRecord) -> TestSuite {
    let steps: Vec<String> = record.findings().map(Finding::steps).collect();
    let failures: Vec<_> = record
        .findings()
        .zip(&steps)
        .map(|(finding, steps)| (Some(&*finding.detector), finding.message.as_str(), steps.as_str()))
        .collect();
    let mut case = TestSuite::default();
    case.case(&path_text(record.file.as_os_str()), &record.trace_id(), &failures);
    case
}

/// An output that receives entries run by run.
pub(crate) struct Stream {
    format: OutputFormat,
    target: Target,
}

enum Target {
    Findings(FindingsWriter<Output>),
    Lines(Output),
    /// Test cases. The file begins with their number, so all of it is written at the end.
    Cases(TestSuite, Output),
}

impl Stream {
    /// Creates an output; `-` is standard output.
    pub(crate) fn begin(format: OutputFormat, path: &Path) -> Result<Self, Failure> {
        let out = Output::create(path)?;
        let target = match format.of_findings() {
            Some(findings) => Target::Findings(FindingsWriter::new(findings, out)?),
            None if format == OutputFormat::Junit => Target::Cases(TestSuite::new("wrongturn"), out),
            None => Target::Lines(out),
        };
        Ok(Self { format, target })
    }

    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), Failure> {
        match (&mut self.target, entry) {
            (Target::Findings(out), Entry::Text(text)) => out.add(text)?,
            (Target::Lines(out), Entry::Text(text)) => out.write_all(text.as_bytes())?,
            (Target::Cases(cases, _), Entry::Case(case)) => cases.append(case),
            _ => {}
        }
        Ok(())
    }

    /// Adds the files that could not be read in full, completes the output, and moves a file to its path.
    pub(crate) fn finish(self, files: &Files) -> Result<(), Failure> {
        let faults = files.faults().into_iter();
        let faults = faults.filter_map(|(path, _, errors)| Some((path, errors.into_iter().next()?)));
        let out = match self.target {
            Target::Findings(mut out) => {
                faults.for_each(|(path, error)| out.unread(path, &error));
                out.finish()?
            }
            Target::Lines(out) => out,
            Target::Cases(mut cases, mut out) => {
                faults.for_each(|(path, error)| cases.error(&path_text(path.as_os_str()), "read", &error));
                TestSuite::write("", &[cases], &mut out)?;
                out
            }
        };
        out.finish()
    }

    pub(crate) fn format(&self) -> OutputFormat {
        self.format
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_decide_the_format() {
        let of = |name: &str| OutputFormat::of_path(Path::new(name)).ok();
        assert_eq!(of("out/runs.csv"), Some(OutputFormat::RunsCsv));
        assert_eq!(of("findings.CSV"), Some(OutputFormat::Csv));
        assert_eq!(of("a.otlp.jsonl"), Some(OutputFormat::Otlp));
        assert_eq!(of("a.jsonl"), Some(OutputFormat::Jsonl));
        assert_eq!(of("report"), None);
    }
}
