//! What the examples on evaluations share: files of records in, JSON, tables and a page out.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tracelint::evaluation::{Lines, Record, read_lines};
use tracelint::{Chart, HtmlReport, Table, render_tables};

use super::Failure;
use super::tables::{TableFiles, write_text};

/// The bytes of a file; an error tells which.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The records of a file, one per line.
pub(crate) fn lines<T: Record>(path: &Path) -> Result<Lines<T>, Failure> {
    Ok(read_lines(&bytes(path)?))
}

/// Tells what is wrong with lines; the sound records, of which there has to be one, and the exit status so far.
pub(crate) fn sound<T>(path: &Path, lines: Lines<T>) -> Result<(Vec<T>, u8), Failure> {
    let status = super::told(path, &lines.errors);
    if lines.lines.is_empty() {
        return Err(format!("{}: no record could be read", path.display()).into());
    }
    Ok((lines.into_records(), status))
}

/// The path that was given, or that of a bundled file.
pub(crate) fn input(path: Option<&PathBuf>, bundled: &str) -> PathBuf {
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/golden"));
    path.map_or_else(|| golden.join(bundled), Clone::clone)
}

/// Where results go.
#[derive(clap::Args)]
pub(crate) struct Out {
    /// Write JSON to this file (`-`: to stdout, no table)
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
    #[command(flatten)]
    files: TableFiles,
}

/// What a reader sees of a result.
pub(crate) struct Shown {
    pub(crate) title: &'static str,
    pub(crate) charts: Vec<Chart>,
    pub(crate) tables: Vec<Table>,
}

impl Shown {
    fn page(self) -> String {
        let mut page = HtmlReport::new(self.title);
        for chart in self.charts {
            page.chart(chart);
        }
        for table in self.tables {
            page.table(table);
        }
        page.render()
    }
}

impl Out {
    /// Writes a result to wherever it was asked for, which is none of the inputs.
    pub(crate) fn write(
        &self,
        inputs: &[PathBuf],
        value: &impl Serialize,
        shown: Shown,
    ) -> Result<(), Failure> {
        self.files.write(inputs, &shown.tables)?;
        let text = match self.json.as_deref() {
            Some(path) if path.as_os_str() == "-" => serde_json::to_string_pretty(value)? + "\n",
            path => {
                if let Some(path) = path {
                    super::write_json(path, inputs, value)?;
                }
                render_tables(&shown.tables)
            }
        };
        if let Some(path) = &self.files.html {
            write_text(path, inputs, &shown.page())?;
        }
        super::print(&text)
    }
}
