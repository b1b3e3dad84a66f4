//! A table, and its forms: text, Markdown, LaTeX, CSV.
//!
//! Cells hold values, not their spelling: CSV gets every digit, the other forms what a reader needs.

use std::io::Write;

use super::cell::Cell;
use super::wrap::{shortened, wrapped};
use crate::error::{Error, ErrorKind, Result};

/// The width of a terminal that every text table fits.
pub const TEXT_WIDTH: usize = 80;

/// Whether a column is text, a number, or an interval, which takes two columns in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Interval,
}

#[derive(Debug, Clone, PartialEq)]
struct Column {
    /// The name in CSV.
    key: &'static str,
    /// The heading for a reader.
    heading: String,
    kind: Kind,
}

/// A table of results, with its forms as text, Markdown, LaTeX and CSV.
///
/// ```
/// use wrongturn::{replicate::{Inference, InferenceOptions}, report::replication_tables};
///
/// let inference = Inference::of(&[], &InferenceOptions::default())?;
/// for table in replication_tables(&inference) {
///     assert!(table.text(80).lines().all(|line| line.chars().count() <= 80));
///     assert!(table.csv()?.contains(','));
/// }
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    name: &'static str,
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
    grouped: bool,
}

impl Table {
    /// A table without rows; `name` becomes the name of a file.
    pub(super) fn new(
        name: &'static str,
        title: impl Into<String>,
        columns: &[(&'static str, &str, Kind)],
    ) -> Self {
        let column = |(key, heading, kind): &(&'static str, &str, Kind)| Column {
            key,
            heading: (*heading).to_owned(),
            kind: *kind,
        };
        Self {
            name,
            title: title.into(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
            grouped: false,
        }
    }

    /// In text, a change in the first column becomes a line of its own, and the column goes.
    #[must_use]
    pub(super) fn grouped(mut self) -> Self {
        self.grouped = true;
        self
    }

    pub(super) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The name, fit for a file.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Keeps the first rows.
    pub(super) fn keep_first(&mut self, rows: usize) {
        self.rows.truncate(rows);
    }

    /// Whether the first column names groups.
    #[cfg(feature = "html")]
    pub(super) fn is_grouped(&self) -> bool {
        self.grouped
    }

    #[cfg(feature = "html")]
    pub(super) fn headings(&self) -> impl Iterator<Item = (&str, bool)> {
        self.columns.iter().map(|column| (column.heading.as_str(), column.kind != Kind::Text))
    }

    /// Whether a column says nothing in any row. A reader need not see it.
    pub(super) fn is_blank(&self, column: usize) -> bool {
        let is_blank = |row: &Vec<Cell>| matches!(row.get(column), Some(Cell::Text(text)) if text.is_empty());
        !self.rows.is_empty() && self.rows.iter().all(is_blank)
    }

    pub(super) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    #[cfg(feature = "html")]
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The table as text of at most `width` columns, down to 40. Columns that do not fit follow below, with the
    /// first columns again.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let width = width.max(40);
        let mut text = String::new();
        for line in wrapped(&self.title, width) {
            text += &format!("{line}\n");
        }
        text += &self.body(width);
        for note in &self.notes {
            for line in wrapped(note, width - 2) {
                text += &format!("  {line}\n");
            }
        }
        text
    }

    /// The columns and rows as text.
    pub(super) fn body(&self, width: usize) -> String {
        let skip = usize::from(self.grouped);
        let labels = self.columns.iter().take_while(|column| column.kind == Kind::Text).count().max(skip + 1);
        let room = width.saturating_sub(2);
        let most_of_label = (room / 2).max(16);
        let cells: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| {
                let cells = cells.iter().filter_map(|row| row.get(place)).map(|cell| cell.chars().count());
                let widest = cells.chain([column.heading.chars().count()]).max().unwrap_or(0);
                if column.kind == Kind::Text && width < usize::MAX {
                    widest.min(most_of_label)
                } else {
                    widest.min(room)
                }
            })
            .collect();
        let wide = |places: &[usize]| -> usize {
            places.iter().filter_map(|place| widths.get(*place)).map(|width| width + 2).sum()
        };
        let first: Vec<usize> = (skip..labels).filter(|place| !self.is_blank(*place)).collect();
        let mut blocks: Vec<Vec<usize>> = vec![first.clone()];
        for place in (labels..self.columns.len()).filter(|place| !self.is_blank(*place)) {
            match blocks.last_mut() {
                Some(block) if block.len() == first.len() || wide(block) + wide(&[place]) <= width => {
                    block.push(place);
                }
                _ => blocks.push(first.iter().copied().chain([place]).collect()),
            }
        }
        let blocks: Vec<String> = blocks.iter().map(|block| self.block(block, &widths, &cells)).collect();
        blocks.join("\n")
    }

    fn block(&self, places: &[usize], widths: &[usize], cells: &[Vec<String>]) -> String {
        let headings: Vec<String> = self.columns.iter().map(|column| column.heading.clone()).collect();
        let line = |cells: &[String]| {
            let cells: Vec<String> = places
                .iter()
                .filter_map(|place| {
                    Some((self.columns.get(*place)?, widths.get(*place)?, cells.get(*place)?))
                })
                .map(|(column, width, cell)| {
                    let cell = shortened(cell, *width);
                    if column.kind == Kind::Text {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                })
                .collect();
            format!("  {}\n", cells.join("  ").trim_end())
        };
        let mut text = line(&headings);
        text += &line(&widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>());
        let mut group = None;
        for row in cells {
            if self.grouped && group != row.first() {
                group = row.first();
                let all = widths.iter().sum::<usize>().clamp(36, TEXT_WIDTH - 2);
                text += &format!("{}\n", shortened(group.map_or("", String::as_str), all));
            }
            text += &line(row);
        }
        text
    }

    /// The table as GitHub's Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let escape = |text: &str| {
            let text =
                text.replace('\\', "\\\\").replace('|', "\\|").replace('&', "&amp;").replace('<', "&lt;");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {}\n\n", escape(&self.title));
        text += &line(self.columns.iter().map(|column| escape(&column.heading)).collect());
        let rule = |column: &Column| if column.kind == Kind::Text { "---" } else { "--:" }.to_owned();
        text += &line(self.columns.iter().map(rule).collect());
        for row in &self.rows {
            text += &line(row.iter().map(|cell| escape(&cell.shown())).collect());
        }
        for note in &self.notes {
            text += &format!("\n{}\n", escape(note));
        }
        text
    }

    /// The table as LaTeX, which needs the package `booktabs`. Its own texts are of letters that pdfLaTeX takes.
    #[must_use]
    pub fn latex(&self) -> String {
        let cell = |cell: &Cell| match cell {
            Cell::Missing => "--".to_owned(),
            Cell::Share(_) | Cell::Text(_) | Cell::Count(_) => latex_text(&cell.shown()),
            number => format!("${}$", number.shown()),
        };
        let align: String =
            self.columns.iter().map(|column| if column.kind == Kind::Text { 'l' } else { 'r' }).collect();
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let mut text = format!(
            "\\begin{{table}}\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\centering\n\\begin{{tabular}}{{{align}}}\n\\toprule\n",
            latex_text(&self.title),
            self.name.replace('_', "-"),
        );
        text += &line(self.columns.iter().map(|column| latex_text(&column.heading)).collect());
        text += "\\midrule\n";
        for row in &self.rows {
            text += &line(row.iter().map(cell).collect());
        }
        text += "\\bottomrule\n\\end{tabular}\n";
        for note in &self.notes {
            text += &format!("\n\\smallskip {{\\footnotesize {}}}\n", latex_text(note));
        }
        text + "\\end{table}\n"
    }

    /// Writes the table as CSV: every digit, an interval in two columns, nothing where nothing is known.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where `out` does not take it.
    pub fn write_csv(&self, out: impl Write) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let mut header = Vec::new();
        for column in &self.columns {
            if column.kind == Kind::Interval {
                header.extend([format!("{}_low", column.key), format!("{}_high", column.key)]);
            } else {
                header.push(column.key.to_owned());
            }
        }
        writer.write_record(&header).map_err(|error| not_written(&error))?;
        for row in &self.rows {
            let mut record = Vec::new();
            for (cell, column) in row.iter().zip(&self.columns) {
                let interval = column.kind == Kind::Interval;
                match cell {
                    Cell::Text(text) => record.push(text.clone()),
                    Cell::Count(count) => record.push(count.to_string()),
                    Cell::Real(value, _) | Cell::Signed(value, _) | Cell::Share(value) | Cell::P(value) => {
                        record.push(value.to_string());
                    }
                    Cell::Interval(i, _) | Cell::SignedInterval(i, _) => {
                        record.extend([i.low.to_string(), i.high.to_string()]);
                    }
                    Cell::Missing if interval => record.extend([String::new(), String::new()]),
                    Cell::Missing => record.push(String::new()),
                }
            }
            writer.write_record(&record).map_err(|error| not_written(&error))?;
        }
        writer.flush()?;
        Ok(())
    }

    /// The table as CSV, in memory.
    ///
    /// # Errors
    /// As [`Table::write_csv`]; memory takes everything.
    pub fn csv(&self) -> Result<String> {
        let mut bytes = Vec::new();
        self.write_csv(&mut bytes)?;
        String::from_utf8(bytes).map_err(|error| not_written(&error))
    }
}

/// Tables as text that fits 80 columns, an empty line between them; those without rows are left out.
#[must_use]
pub fn render_tables(tables: &[Table]) -> String {
    let shown = tables.iter().filter(|table| !table.is_empty());
    shown.map(|table| table.text(TEXT_WIDTH)).collect::<Vec<_>>().join("\n")
}

fn not_written(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

fn latex_text(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', letter]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            letter if letter.is_control() => escaped.push(' '),
            letter => match latex_symbol(letter) {
                Some(symbol) => escaped += symbol,
                None => escaped.push(letter),
            },
        }
    }
    escaped
}

/// What stands for letters that pdfLaTeX does not take, or draws as others.
fn latex_symbol(letter: char) -> Option<&'static str> {
    Some(match letter {
        '|' => "\\textbar{}",
        '<' => "\\textless{}",
        '>' => "\\textgreater{}",
        '…' => "\\ldots{}",
        '–' => "--",
        '—' => "---",
        '’' => "'",
        '−' => "$-$",
        '±' => "$\\pm$",
        '×' => "$\\times$",
        '·' => "$\\cdot$",
        '→' => "$\\rightarrow$",
        '≤' => "$\\leq$",
        '≥' => "$\\geq$",
        '≠' => "$\\neq$",
        '√' => "$\\surd$",
        '∞' => "$\\infty$",
        '²' => "$^2$",
        '³' => "$^3$",
        'α' => "$\\alpha$",
        'κ' => "$\\kappa$",
        'μ' => "$\\mu$",
        'ρ' => "$\\rho$",
        'τ' => "$\\tau$",
        'φ' => "$\\varphi$",
        'Σ' => "$\\Sigma$",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
