//! Outputs with an entry for each run or finding, written during the scan in source order.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use wrongturn::report::TestSuite;

use super::entries::{self, Entry};
use crate::common::Failure;
use crate::common::output::Output;

/// A format of output.
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

/// Endings of file names with their formats. The first match decides.
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

/// A file and its format.
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
    /// Derives the format from the name of a file.
    fn of_path(path: &Path) -> Result<Self, String> {
        if path == Path::new("-") {
            return Err("`-` is not a file: --output-format sets what standard output gets".to_owned());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let fits = |(ending, _): &&(&str, Self)| name.ends_with(ending);
        ENDINGS.iter().find(fits).map(|(_, format)| *format).ok_or_else(|| {
            let known: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
            format!("expected a name that ends in {}, or FORMAT=FILE", known.join(", "))
        })
    }
}

/// An output that is written run by run.
pub(crate) struct Stream {
    format: OutputFormat,
    out: Output,
    has_entries: bool,
    /// The test cases, whose number comes first in the file.
    cases: TestSuite,
}

impl Stream {
    /// Creates an output; `-` is standard output.
    pub(crate) fn begin(format: OutputFormat, path: &Path) -> Result<Self, Failure> {
        let out = Output::create(path)?;
        let mut stream = Self { format, out, has_entries: false, cases: TestSuite::new("wrongturn") };
        match format {
            OutputFormat::Csv => stream.write(entries::csv_line(entries::finding_columns())?.as_bytes())?,
            OutputFormat::RunsCsv => stream.write(entries::csv_line(entries::run_columns())?.as_bytes())?,
            OutputFormat::Sarif => stream.write(entries::sarif_head().as_bytes())?,
            _ => {}
        }
        Ok(stream)
    }

    /// Adds the result of [`entry`](entries::entry) for a run.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), Failure> {
        match entry {
            Entry::Case(case) => self.cases.append(case),
            Entry::Bytes(bytes) => {
                let is_next = self.format == OutputFormat::Sarif && !bytes.is_empty();
                if is_next && std::mem::replace(&mut self.has_entries, true) {
                    self.write(b",")?;
                }
                self.write(bytes)?;
            }
        }
        Ok(())
    }

    /// Writes the end, and moves a file to its path.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Sarif => self.write(b"\n]}]}\n")?,
            OutputFormat::Junit => TestSuite::write("", &[self.cases], &mut self.out)?,
            _ => {}
        }
        self.out.finish()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.out.write_all(bytes)?)
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
