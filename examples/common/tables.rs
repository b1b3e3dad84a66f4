//! What the examples with tables share: results first and errors last, tables as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use tracelint::{Progress, ScanEvent, Scanner, Table, TraceRecord};

use super::{Failure, Input, Output};

/// Scans, keeping what could not be read for [`tell_errors`].
pub(crate) fn scan<T: Send>(
    scanner: &Scanner,
    paths: &[PathBuf],
    map: impl Fn(TraceRecord) -> Option<T> + Sync,
) -> Result<(Vec<Input>, Vec<T>), Failure> {
    let (mut inputs, mut rows) = (Vec::new(), Vec::new());
    let mut errors = Vec::new();
    let event = |event| match event {
        ScanEvent::Record(row) => rows.extend(row),
        ScanEvent::Error(error) if errors.len() < super::TOLD => errors.push(error.to_string()),
        ScanEvent::End(summary) => inputs.push(Input::of(summary, std::mem::take(&mut errors))),
        _ => {}
    };
    scanner.scan_map(paths, |_: Progress| {}, map, event)?;
    Ok((inputs, rows))
}

/// One line per file that could not be read whole: the first error, and how many more there are.
pub(crate) fn tell_errors(inputs: &[Input]) {
    for input in inputs {
        if let Some(first) = input.errors.first() {
            let more = match input.faults.saturating_sub(1) {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let _ = writeln!(std::io::stderr(), "error: {first}{more}");
        }
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
