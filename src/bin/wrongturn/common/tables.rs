//! Tables as files, and figures as JSON.

use std::path::PathBuf;

use serde::Serialize;
use wrongturn::report::{Detail, Document};

use super::Failure;
use super::findings::counted;
use super::output::{Output, create_folder, write_json, write_text};
use super::terminal::printable;

/// Outputs for tables and figures, in addition to the terminal.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct TableFiles {
    /// Write the figures as JSON to this file (`-`: to standard output, instead of the tables)
    #[arg(long, alias = "summary", value_name = "OUT.json")]
    pub(crate) json: Option<PathBuf>,
    /// Write each table as CSV into this directory
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) csv: Option<PathBuf>,
    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "OUT.md", hide_short_help = true)]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the tables as LaTeX (booktabs) to this file
    #[arg(long, value_name = "OUT.tex", hide_short_help = true)]
    pub(crate) latex: Option<PathBuf>,
    /// Write tables and charts to one HTML file
    #[arg(long, value_name = "OUT.html")]
    pub(crate) html: Option<PathBuf>,
    /// A file for the printed text, set by `check --output`.
    #[arg(skip)]
    pub(crate) text: Option<PathBuf>,
}

impl TableFiles {
    pub(crate) fn write_json(&self, figures: &impl Serialize) -> Result<(), Failure> {
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, figures))
    }

    /// Writes a document to the requested files.
    pub(crate) fn write(&self, document: &Document) -> Result<(), Failure> {
        self.write_tables(document)?;
        self.write_page(|| document.html())
    }

    /// Writes the tables of a document to the requested files other than the HTML page.
    pub(crate) fn write_tables(&self, document: &Document) -> Result<(), Failure> {
        if let Some(folder) = &self.csv {
            create_folder(folder)?;
            for table in document.tables() {
                let mut out = Output::create(&folder.join(format!("{}.csv", table.name())))?;
                table.write_csv(&mut out)?;
                out.finish()?;
            }
        }
        let form = |path: &Option<PathBuf>, form: fn(&Document) -> String| match path {
            Some(path) => write_text(path, &form(document)),
            None => Ok(()),
        };
        form(&self.markdown, Document::markdown)?;
        form(&self.latex, Document::latex)
    }

    pub(crate) fn write_page(&self, page: impl FnOnce() -> String) -> Result<(), Failure> {
        self.html.as_deref().map_or(Ok(()), |path| write_text(path, &page()))
    }

    /// Writes a document and its figures to the requested files, and prints the document.
    pub(crate) fn report(
        &self,
        document: &Document,
        figures: &impl Serialize,
        full: bool,
    ) -> Result<(), Failure> {
        self.write(document)?;
        self.write_json(figures)?;
        super::report(&printable(&text(document, full)))
    }
}

/// Renders the text of a document. The short text ends with the number of tables that it omits.
pub(crate) fn text(document: &Document, full: bool) -> String {
    let hidden = document.hidden_tables();
    if full || hidden == 0 {
        return document.text(if full { Detail::Full } else { Detail::Short });
    }
    let tables = counted(hidden as u64, "more table");
    format!("{}\n{tables} with --full; --html has the charts.\n", document.text(Detail::Short))
}
