//! Tables that render as text, Markdown, LaTeX and CSV.
//!
//! Cells hold values: CSV has every digit, and the other forms are rounded.

use std::io::Write;

use super::cell::Cell;
use super::markup::is_unprintable;
use super::wrap::{padded, shortened, width, wrapped};
use crate::error::{Error, ErrorKind, Result};

/// The width of a terminal for text tables.
pub const TEXT_WIDTH: usize = 80;

/// The width of a LaTeX page and of a label, in characters of footnote size, and the most rows on one page.
const LATEX_WIDTH: usize = 76;
const LATEX_LABEL: usize = 24;
const LATEX_LONG: usize = 30;

/// Whether a column is text, a number, or an interval, which takes two columns in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Interval,
}

#[derive(Debug, Clone, PartialEq)]
struct Column {
    /// The name in CSV.
    key: String,
    /// The heading in other forms.
    heading: String,
    kind: Kind,
    /// Whether the short text leaves it out.
    full: bool,
}

/// A table of results, which renders as text, Markdown, LaTeX and CSV.
///
/// ```
/// use wrongturn::{replicate::{ReplicationAnalysis, ReplicationOptions}, report::{ReplicationView, replication_document}};
///
/// let analysis = ReplicationAnalysis::of(&[], &ReplicationOptions::default())?;
/// for table in replication_document(&analysis, &ReplicationView::default()).tables() {
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
    /// Creates a table without rows. `name` becomes a file name. Columns are separated by ` | `: `n #` is a number, `ci
    /// ~` an interval, and `errors=failed calls #` a number whose heading differs from its name in CSV. A column that
    /// ends in ` +` is left out of the short text.
    pub(super) fn new<S: AsRef<str>>(name: &'static str, title: impl Into<String>, columns: &[S]) -> Self {
        let column = |text: &str| {
            let (text, full) = text.strip_suffix(" +").map_or((text, false), |text| (text, true));
            let (text, kind) = match (text.strip_suffix(" #"), text.strip_suffix(" ~")) {
                (Some(text), _) => (text, Kind::Number),
                (None, Some(text)) => (text, Kind::Interval),
                (None, None) => (text, Kind::Text),
            };
            let (key, heading) = text.split_once('=').unwrap_or((text, text));
            Column { key: key.to_owned(), heading: heading.to_owned(), kind, full }
        };
        let columns = columns.iter().flat_map(|columns| columns.as_ref().split(" | ")).map(column);
        Self {
            name,
            title: title.into(),
            columns: columns.collect(),
            rows: Vec::new(),
            notes: Vec::new(),
            grouped: false,
        }
    }

    /// In text, each new value of the first column becomes a line of its own, and the column is dropped.
    #[must_use]
    pub(super) fn grouped(mut self) -> Self {
        self.grouped = true;
        self
    }

    /// Adds a row. Cells not given are missing.
    pub(super) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let mut cells = cells.into();
        cells.resize(self.columns.len(), Cell::Missing);
        self.rows.push(cells);
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Returns the name, which is a valid file name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the table without the columns of the full text.
    pub(super) fn short(&self) -> Self {
        let kept = |place: &usize| self.columns.get(*place).is_some_and(|column| !column.full);
        let places: Vec<usize> = (0..self.columns.len()).filter(kept).collect();
        let row = |row: &Vec<Cell>| places.iter().filter_map(|place| row.get(*place)).cloned().collect();
        Self {
            columns: places.iter().filter_map(|place| self.columns.get(*place)).cloned().collect(),
            rows: self.rows.iter().map(row).collect(),
            ..self.clone()
        }
    }

    /// Keeps the first rows.
    pub(super) fn keep_first(&mut self, rows: usize) {
        self.rows.truncate(rows);
    }

    /// Returns true if the first column names groups.
    pub(super) fn is_grouped(&self) -> bool {
        self.grouped
    }

    pub(super) fn headings(&self) -> impl Iterator<Item = (&str, bool)> {
        self.columns.iter().map(|column| (column.heading.as_str(), column.kind != Kind::Text))
    }

    /// Returns true if a column is empty in every row. Only CSV shows such columns.
    pub(super) fn is_blank(&self, column: usize) -> bool {
        let is_blank = |row: &Vec<Cell>| match row.get(column) {
            Some(Cell::Text(text)) => text.is_empty(),
            cell => matches!(cell, Some(Cell::Missing) | None),
        };
        !self.rows.is_empty() && self.rows.iter().all(is_blank)
    }

    pub(super) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Renders the table as text of at most `columns` characters per line, but at least 40. Columns that do not fit
    /// follow below, with the first columns repeated.
    #[must_use]
    pub fn text(&self, columns: usize) -> String {
        let columns = columns.max(40);
        let mut text = String::new();
        for line in wrapped(&self.title, columns) {
            text += &format!("{line}\n");
        }
        text += &self.body(columns);
        for note in &self.notes {
            for line in wrapped(note, columns - 2) {
                text += &format!("  {line}\n");
            }
        }
        text
    }

    /// Returns the columns and rows as text.
    fn body(&self, columns: usize) -> String {
        let room = columns.saturating_sub(2);
        let most_of_label = if columns < usize::MAX { (room / 2).max(16) } else { room };
        let cells = self.shown();
        let widths = self.widths(&cells, |kind| if kind == Kind::Text { most_of_label } else { room });
        let blocks: Vec<String> = self
            .blocks(&widths, columns, usize::from(self.grouped))
            .iter()
            .map(|block| self.block(block, &widths, &cells))
            .collect();
        blocks.join("\n")
    }

    /// Returns the formatted cells.
    fn shown(&self) -> Vec<Vec<String>> {
        self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect()
    }

    /// Returns the widths of the columns, limited by kind.
    fn widths(&self, cells: &[Vec<String>], most: impl Fn(Kind) -> usize) -> Vec<usize> {
        let of_column = |(place, column): (usize, &Column)| {
            let cells = cells.iter().filter_map(|row| row.get(place)).map(|cell| width(cell));
            cells.chain([width(&column.heading)]).max().unwrap_or(0).min(most(column.kind))
        };
        self.columns.iter().enumerate().map(of_column).collect()
    }

    /// Splits the columns into blocks that fit. Each block begins with the labels.
    fn blocks(&self, widths: &[usize], room: usize, skip: usize) -> Vec<Vec<usize>> {
        let labels = self.columns.iter().take_while(|column| column.kind == Kind::Text).count().max(skip + 1);
        let wide = |places: &[usize]| -> usize {
            places.iter().filter_map(|place| widths.get(*place)).map(|width| width + 2).sum()
        };
        let first: Vec<usize> = (skip..labels).filter(|place| !self.is_blank(*place)).collect();
        let mut blocks: Vec<Vec<usize>> = vec![first.clone()];
        for place in (labels..self.columns.len()).filter(|place| !self.is_blank(*place)) {
            match blocks.last_mut() {
                Some(block) if block.len() == first.len() || wide(block) + wide(&[place]) <= room => {
                    block.push(place);
                }
                _ => blocks.push(first.iter().copied().chain([place]).collect()),
            }
        }
        blocks
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
                    padded(&shortened(cell, *width), *width, column.kind != Kind::Text)
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

    /// Returns the table as GitHub's Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let seen: Vec<usize> = (0..self.columns.len()).filter(|column| !self.is_blank(*column)).collect();
        let columns = || seen.iter().filter_map(|place| self.columns.get(*place));
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {}\n\n", markdown_text(&self.title));
        text += &line(columns().map(|column| markdown_text(&column.heading)).collect());
        let rule = |column: &Column| if column.kind == Kind::Text { "---" } else { "--:" }.to_owned();
        text += &line(columns().map(rule).collect());
        for row in &self.rows {
            let cells = seen.iter().filter_map(|place| row.get(*place));
            text += &line(cells.map(|cell| markdown_text(&cell.shown())).collect());
        }
        for note in &self.notes {
            text += &format!("\n{}\n", markdown_text(note));
        }
        text
    }

    /// Returns the table as LaTeX, for the packages `booktabs`, `longtable` and `array`. It fits a page of the class
    /// `article`: texts are wrapped, columns that do not fit follow in another table, and long tables continue on
    /// further pages.
    #[must_use]
    pub fn latex(&self) -> String {
        let cells = self.shown();
        let widths = self.widths(&cells, |kind| if kind == Kind::Text { LATEX_LABEL } else { usize::MAX });
        let blocks = self.blocks(&widths, LATEX_WIDTH, 0);
        let label = self.name.replace('_', "-");
        let mut text = String::new();
        for (number, block) in blocks.iter().enumerate() {
            let (more, label) = match number {
                0 => ("", label.clone()),
                _ => (" (continued)", format!("{label}-{}", number + 1)),
            };
            let caption = format!("\\caption{{{}{more}}}\\label{{tab:{label}}}", latex_text(&self.title));
            text += &self.latex_block(block, &widths, &caption, number + 1 == blocks.len());
        }
        text
    }

    fn latex_block(&self, places: &[usize], widths: &[usize], caption: &str, is_last: bool) -> String {
        let columns: Vec<(usize, &Column)> =
            places.iter().filter_map(|place| Some((*place, self.columns.get(*place)?))).collect();
        let align = |(place, column): &(usize, &Column)| match column.kind {
            Kind::Text => {
                let width = widths.get(*place).map_or(1, |width| (*width).max(2));
                format!(">{{\\raggedright\\arraybackslash}}p{{{}em}}", tenths(width * 5))
            }
            _ => "r".to_owned(),
        };
        let align: String = columns.iter().map(align).collect();
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let cell = |cell: &Cell| match cell {
            Cell::Missing => "--".to_owned(),
            Cell::Share(_) | Cell::Count(_) => latex_text(&cell.shown()),
            Cell::Text(text) => latex_breakable(text),
            number => format!("${}$", number.shown()),
        };
        let head = format!(
            "\\toprule\n{}\\midrule\n",
            line(columns.iter().map(|(_, column)| latex_text(&column.heading)).collect())
        );
        let rows: String = self
            .rows
            .iter()
            .map(|row| line(places.iter().filter_map(|place| row.get(*place)).map(cell).collect()))
            .collect();
        let mut notes = String::new();
        for note in self.notes.iter().filter(|_| is_last) {
            notes += &format!("\n\\smallskip {{\\footnotesize {}\\par}}\n", latex_text(note));
        }
        let size = "\\footnotesize\\setlength{\\tabcolsep}{4pt}";
        if self.rows.len() > LATEX_LONG {
            format!(
                "{{{size}\n\\begin{{longtable}}{{{align}}}\n{caption}\\\\\n{head}\\endfirsthead\n{head}\\endhead\n\
                 {rows}\\bottomrule\n\\end{{longtable}}}}\n{notes}"
            )
        } else {
            format!(
                "\\begin{{table}}[htbp]\n{caption}\n{{{size}\\centering\n\\begin{{tabular}}{{{align}}}\n{head}{rows}\
                 \\bottomrule\n\\end{{tabular}}\\par}}\n{notes}\\end{{table}}\n"
            )
        }
    }

    /// Writes the table as CSV, with every digit, intervals in two columns, and missing values empty.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if `out` cannot be written.
    pub fn write_csv(&self, out: impl Write) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let mut header = Vec::new();
        for column in &self.columns {
            if column.kind == Kind::Interval {
                header.extend([format!("{}_low", column.key), format!("{}_high", column.key)]);
            } else {
                header.push(column.key.clone());
            }
        }
        writer.write_record(&header).map_err(|error| not_written(&error))?;
        for row in &self.rows {
            let mut record = Vec::new();
            for (cell, column) in row.iter().zip(&self.columns) {
                let interval = column.kind == Kind::Interval;
                match cell {
                    Cell::Text(text) => record.push(csv_text(text)),
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

    /// Returns the table as CSV.
    ///
    /// # Errors
    /// None at present.
    pub fn csv(&self) -> Result<String> {
        let mut bytes = Vec::new();
        self.write_csv(&mut bytes)?;
        String::from_utf8(bytes).map_err(|error| not_written(&error))
    }
}

fn not_written(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

/// Escapes a recorded text for a cell of CSV. Spreadsheets evaluate cells that begin like a formula, so these get an
/// apostrophe.
#[must_use]
pub fn csv_text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

/// Escapes a text for Markdown, so recorded text cannot add links.
pub(super) fn markdown_text(text: &str) -> String {
    let text: String =
        text.chars().map(|letter| if is_unprintable(letter) { '\u{fffd}' } else { letter }).collect();
    let text = text.replace('\\', "\\\\").replace('|', "\\|").replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace("](", "]\\(");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats tenths as a decimal number.
fn tenths(count: usize) -> String {
    format!("{}.{}", count / 10, count % 10)
}

/// Escapes a text that may be broken after punctuation and within long words.
fn latex_breakable(text: &str) -> String {
    let mut broken = String::new();
    let mut letters = 0;
    for letter in text.chars() {
        broken += &latex_text(letter.encode_utf8(&mut [0; 4]));
        letters = if letter.is_whitespace() { 0 } else { letters + 1 };
        if letters == 8 || matches!(letter, '_' | '/' | '.' | ':' | '-') {
            broken += "\\allowbreak{}";
            letters = 0;
        }
    }
    broken
}

/// Escapes a text for LaTeX, and lets words that are as long as a path break.
pub(super) fn latex_paragraph(text: &str) -> String {
    let is_long = |word: &str| word.chars().count() > LATEX_LABEL;
    let word = |word| if is_long(word) { latex_breakable(word) } else { latex_text(word) };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Escapes a text for LaTeX.
fn latex_text(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', letter]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            letter if is_unprintable(letter) || letter.is_control() => escaped.push(' '),
            letter => match latex_symbol(letter) {
                Some(symbol) => escaped += symbol,
                None => escaped.push(letter),
            },
        }
    }
    escaped
}

/// Returns the command for a letter that pdfLaTeX rejects or draws as another.
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
