//! Tables as files, and figures as JSON.

use std::path::PathBuf;

use serde::Serialize;
use wrongturn::report::{Chart, HtmlReport, Table, render_tables};

use super::Failure;
use super::output::{Output, is_stdout, write_json, write_text};

/// Where tables and figures go in addition to the terminal.
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
    /// A file for the printed text.
    #[arg(skip)]
    pub(crate) text: Option<PathBuf>,
}

/// The parts of a result that people read.
pub(crate) struct Shown {
    pub(crate) title: &'static str,
    pub(crate) charts: Vec<Chart>,
    pub(crate) tables: Vec<Table>,
}

impl TableFiles {
    /// Prints the text, unless a file replaces standard output.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        if self.is_printed() { Ok(()) } else { super::print(text) }
    }

    /// Returns true if one of the files is standard output.
    pub(crate) fn is_printed(&self) -> bool {
        let files = [&self.json, &self.markdown, &self.latex, &self.html, &self.text];
        files.into_iter().flatten().any(|path| is_stdout(path))
    }

    /// Writes the figures as JSON if they were asked for.
    pub(crate) fn write_json(&self, figures: &impl Serialize) -> Result<(), Failure> {
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, figures))
    }

    /// Writes the tables in all forms that were asked for.
    pub(crate) fn write(&self, tables: &[Table]) -> Result<(), Failure> {
        if let Some(folder) = &self.csv {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            for table in tables {
                let mut out = Output::create(&folder.join(format!("{}.csv", table.name())))?;
                table.write_csv(&mut out)?;
                out.finish()?;
            }
        }
        let joined = |form: fn(&Table) -> String| {
            tables.iter().filter(|table| !table.is_empty()).map(form).collect::<Vec<_>>().join("\n")
        };
        if let Some(path) = &self.markdown {
            write_text(path, &joined(Table::markdown))?;
        }
        if let Some(path) = &self.latex {
            write_text(path, &format!("% needs \\usepackage{{booktabs}}\n{}", joined(Table::latex)))?;
        }
        Ok(())
    }

    /// Writes the page if it was asked for.
    pub(crate) fn write_page(&self, page: impl FnOnce() -> String) -> Result<(), Failure> {
        self.html.as_deref().map_or(Ok(()), |path| write_text(path, &page()))
    }

    /// Writes and prints a result in all forms.
    pub(crate) fn write_result(&self, figures: &impl Serialize, shown: Shown) -> Result<(), Failure> {
        let text = render_tables(&shown.tables);
        self.write(&shown.tables)?;
        self.write_page(|| {
            let mut page = HtmlReport::new(shown.title);
            for chart in shown.charts {
                page.chart(chart);
            }
            for table in shown.tables {
                page.table(table);
            }
            page.render()
        })?;
        self.write_json(figures)?;
        self.print(&text)
    }
}
