//! Inputs and outputs of the subcommands of `bench`: records in, JSON, tables and a page out.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wrongturn::benchmarks::{Lines, Record, read_lines};
use wrongturn::report::{Chart, HtmlReport, Table, render_tables};

use super::inputs::Faults;
use super::tables::{TableFiles, write_text};
use super::{Failure, Unread};

/// The bytes of a file; an error tells which.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Unread(format!("{}: {error}", path.display())).into())
}

/// The records of a file, one per line.
pub(crate) fn lines<T: Record>(path: &Path) -> Result<Lines<T>, Failure> {
    Ok(read_lines(&bytes(path)?))
}

/// The sound records, of which there has to be one; what is wrong with others is told later.
pub(crate) fn sound<T>(path: &Path, lines: Lines<T>, faults: &mut Faults) -> Result<Vec<T>, Failure> {
    faults.of(path, &lines.errors);
    if lines.lines.is_empty() {
        return Err(Unread(format!("{}: no record could be read", path.display())).into());
    }
    Ok(lines.into_records())
}

/// The path that was given, or that of a bundled file.
pub(crate) fn input(path: Option<&PathBuf>, bundled: &str) -> PathBuf {
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/golden"));
    path.map_or_else(|| golden.join(bundled), Clone::clone)
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

impl TableFiles {
    /// Writes a result to wherever it was asked for, which is none of the inputs.
    pub(crate) fn write_result(
        &self,
        inputs: &[PathBuf],
        value: &impl Serialize,
        shown: Shown,
    ) -> Result<(), Failure> {
        let text = render_tables(&shown.tables);
        self.write(inputs, &shown.tables)?;
        if let Some(path) = &self.html {
            write_text(path, inputs, &shown.page())?;
        }
        self.write_json(inputs, value)?;
        self.print(&text)
    }
}
