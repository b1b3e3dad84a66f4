//! What the examples with tables share: results first and errors last, tables as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use tracelint::{FileScan, Progress, Result, Scanner, Table};

use super::{Failure, Input, create};

/// Scans, keeping what could not be read for [`tell_errors`].
pub(crate) fn scan(
    scanner: &Scanner,
    paths: &[PathBuf],
    mut each: impl FnMut(FileScan) + Send,
) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    scanner.scan(
        paths,
        |_: Progress| {},
        |file| {
            inputs.push(Input::of(&file));
            each(file);
        },
    )?;
    Ok(inputs)
}

/// One line per file that could not be read whole: the first error, and how many more there are.
pub(crate) fn tell_errors(inputs: &[Input]) {
    for input in inputs {
        if let [first, rest @ ..] = input.errors.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            eprintln!("error: {first}{more}");
        }
    }
}

/// Where tables go beside the terminal.
#[derive(clap::Args)]
pub(crate) struct TableFiles {
    /// Write each table as CSV, with every digit, into this directory
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "OUT.md")]
    markdown: Option<PathBuf>,
    /// Write the tables as LaTeX (booktabs) to this file
    #[arg(long, value_name = "OUT.tex")]
    latex: Option<PathBuf>,
    /// Write a report with tables and charts, one HTML file that needs nothing else
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
}

impl TableFiles {
    /// Writes the tables to where they were asked for.
    pub(crate) fn write(&self, tables: &[Table]) -> std::result::Result<(), Failure> {
        if let Some(folder) = &self.csv {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            for table in tables {
                let mut out = create(&folder.join(format!("{}.csv", table.name())))?;
                table.write_csv(&mut out)?;
                out.flush()?;
            }
        }
        let joined = |form: fn(&Table) -> String| {
            tables.iter().filter(|table| !table.is_empty()).map(form).collect::<Vec<_>>().join("\n")
        };
        if let Some(path) = &self.markdown {
            write_text(path, &joined(Table::markdown))?;
        }
        if let Some(path) = &self.latex {
            write_text(path, &joined(Table::latex))?;
        }
        Ok(())
    }
}

/// Writes a text to a file.
pub(crate) fn write_text(path: &Path, text: &str) -> std::result::Result<(), Failure> {
    let mut out = create(path)?;
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
