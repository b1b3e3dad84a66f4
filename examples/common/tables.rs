//! What the examples with tables share: results first and errors last, tables as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use tracelint::{ErrorKind, FileReport, FileSums, Files, Progress, ScanEvent, Scanner, Table, TraceRecord};

use super::{Failure, Output};

/// Scans, keeping what could not be read for [`tell_errors`].
pub(crate) fn scan<T: Send>(
    scanner: &Scanner,
    paths: &[PathBuf],
    map: impl Fn(TraceRecord) -> Option<T> + Sync,
    mut each: impl FnMut(T) + Send,
) -> Result<Files, Failure> {
    let mut files = Files::default();
    let mut errors = Vec::new();
    let mut foreign = 0;
    let event = |event: ScanEvent<Option<T>>| match event {
        ScanEvent::Record(row) => row.map_or((), &mut each),
        ScanEvent::Error(error) => {
            foreign += u64::from(error.kind() == ErrorKind::Format);
            if errors.len() < super::TOLD {
                errors.push(error.to_string());
            }
        }
        ScanEvent::End(summary) => {
            let report = FileReport::of(&summary, &std::mem::take(&mut errors), std::mem::take(&mut foreign));
            files.add(&summary.path, summary.is_reachable, &report);
        }
        _ => {}
    };
    scanner.scan_map(paths, |_: Progress| {}, map, event)?;
    Ok(files)
}

/// One line per file that could not be read whole: the first error, and how many more there are.
pub(crate) fn tell_errors(files: &Files) {
    let tell = |first: Option<&str>, errors: u64| {
        if let Some(first) = first {
            let more = match errors.saturating_sub(1) {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let _ = writeln!(std::io::stderr(), "error: {first}{more}");
        }
    };
    for (_, report) in files.listed().unwrap_or_default() {
        tell(report.first_errors().next(), report.errors);
    }
    for (_, errors, first) in files.sums().into_iter().flat_map(FileSums::faults) {
        tell(first, errors);
    }
}

/// Where tables go beside the terminal.
#[derive(clap::Args)]
pub(crate) struct TableFiles {
    /// Write each table as CSV into this directory
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "OUT.md")]
    markdown: Option<PathBuf>,
    /// Write the tables as LaTeX (booktabs) to this file
    #[arg(long, value_name = "OUT.tex")]
    latex: Option<PathBuf>,
    /// Write tables and charts to one HTML file
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
}

impl TableFiles {
    /// Writes the tables to where they were asked for, which is none of the inputs.
    pub(crate) fn write(&self, inputs: &[PathBuf], tables: &[Table]) -> Result<(), Failure> {
        if let Some(folder) = &self.csv {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            for table in tables {
                let mut out = Output::create(&folder.join(format!("{}.csv", table.name())), inputs)?;
                table.write_csv(&mut out)?;
                out.finish()?;
            }
        }
        let joined = |form: fn(&Table) -> String| {
            tables.iter().filter(|table| !table.is_empty()).map(form).collect::<Vec<_>>().join("\n")
        };
        if let Some(path) = &self.markdown {
            write_text(path, inputs, &joined(Table::markdown))?;
        }
        if let Some(path) = &self.latex {
            write_text(path, inputs, &joined(Table::latex))?;
        }
        Ok(())
    }
}

/// Writes a text to a file.
pub(crate) fn write_text(path: &Path, inputs: &[PathBuf], text: &str) -> Result<(), Failure> {
    let mut out = Output::create(path, inputs)?;
    out.write_all(text.as_bytes())?;
    out.finish()
}
