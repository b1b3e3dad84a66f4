//! Tables as files, and figures as JSON.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wrongturn::report::Table;

use super::Failure;
use super::output::{Output, is_stdout, write_json};

/// Where tables and figures go beside the terminal.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct TableFiles {
    /// Write the figures as JSON to this file (`-`: to standard output, instead of the tables)
    #[arg(long, alias = "summary", value_name = "OUT.json")]
    pub(crate) json: Option<PathBuf>,
    /// Write each table as CSV into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "OUT.md")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the tables as LaTeX (booktabs) to this file
    #[arg(long, value_name = "OUT.tex")]
    pub(crate) latex: Option<PathBuf>,
    /// Write tables and charts to one HTML file
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
    /// The printed text goes to this file as well.
    #[arg(skip)]
    pub(crate) text: Option<PathBuf>,
}

impl TableFiles {
    /// Prints what a reader sees, unless the JSON takes its place.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        if self.is_json_printed() { Ok(()) } else { super::print(text) }
    }

    /// Returns true if the JSON goes to standard output.
    pub(crate) fn is_json_printed(&self) -> bool {
        self.json.as_deref().is_some_and(is_stdout)
    }

    /// Writes figures as JSON to where they were asked for, which is none of the inputs.
    pub(crate) fn write_json(&self, inputs: &[PathBuf], figures: &impl Serialize) -> Result<(), Failure> {
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, inputs, figures))
    }

    /// Whether figures are asked for as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.json.is_some()
    }

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
            write_text(path, inputs, &format!("% needs \\usepackage{{booktabs}}\n{}", joined(Table::latex)))?;
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
