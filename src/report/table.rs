//! Tables that render as text, Markdown, LaTeX and CSV.
//!
//! Cells hold values: CSV has every digit, and the other forms round.

mod csv;
mod latex;

pub(super) use latex::latex_paragraph;

use super::cell::Cell;
use super::markup::is_unprintable;
use super::wrap::{padded, shortened, width, wrapped};

pub(super) const TEXT_WIDTH: usize = 80;

/// Minimum width to which text columns are narrowed to make a table fit.
const MIN_TEXT_WIDTH: usize = 24;

/// The kind of a column. An interval takes two columns in CSV.
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
    /// Whether the short text omits it.
    full: bool,
}

impl Column {
    fn of(text: &str) -> Self {
        let (text, full) = text.strip_suffix(" +").map_or((text, false), |text| (text, true));
        let (text, kind) = match (text.strip_suffix(" #"), text.strip_suffix(" ~")) {
            (Some(text), _) => (text, Kind::Number),
            (None, Some(text)) => (text, Kind::Interval),
            (None, None) => (text, Kind::Text),
        };
        let (key, heading) = text.split_once('=').unwrap_or((text, text));
        Self { key: key.to_owned(), heading: heading.to_owned(), kind, full }
    }
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
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) notes: Vec<String>,
    /// Whether the first column names groups.
    pub(super) grouped: bool,
}

impl Table {
    /// Creates a table without rows. `name` becomes a file name. Columns are separated by ` | `: `n #` is a
    /// number, `ci ~` an interval, and `errors=failed calls #` a number whose heading differs from its name
    /// in CSV. The short text omits a column that ends in ` +`.
    pub(super) fn new<S: AsRef<str>>(name: &'static str, title: impl Into<String>, columns: &[S]) -> Self {
        let columns = columns.iter().flat_map(|columns| columns.as_ref().split(" | ")).map(Column::of);
        Self {
            name,
            title: title.into(),
            columns: columns.collect(),
            rows: Vec::new(),
            notes: Vec::new(),
            grouped: false,
        }
    }

    /// Creates a table with a row for each record, to which [`Records::column`] adds columns.
    pub(super) fn of<T>(
        name: &'static str,
        title: impl Into<String>,
        records: impl IntoIterator<Item = T>,
    ) -> Records<T> {
        let records: Vec<T> = records.into_iter().collect();
        let mut table = Self::new::<&str>(name, title, &[]);
        table.rows = vec![Vec::new(); records.len()];
        Records { table, records }
    }

    /// In text and HTML, gives each new value of the first column a line of its own, and drops the column.
    #[must_use]
    pub(super) fn grouped(mut self) -> Self {
        self.grouped = true;
        self
    }

    /// Adds a row. Cells that are not given become [`Cell::Missing`].
    pub(super) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let mut cells = cells.into();
        cells.resize(self.columns.len(), Cell::Missing);
        self.rows.push(cells);
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    #[must_use]
    pub(super) fn noted(mut self, note: impl Into<String>) -> Self {
        self.note(note);
        self
    }

    /// Returns the name, which is a valid file name without an extension.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns true if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

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

    /// Renders the table as text that fits a terminal with this many columns, but at least 40. Table columns that do
    /// not fit continue in blocks below, each of which repeats the leading text columns.
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

    fn body(&self, columns: usize) -> String {
        let room = columns.saturating_sub(2);
        let max_text_width = if columns < usize::MAX { (room / 2).max(16) } else { room };
        let cells = self.shown();
        let mut widths = self.widths(&cells, |kind| if kind == Kind::Text { max_text_width } else { room });
        self.narrow(&mut widths, columns);
        let blocks: Vec<String> = self
            .blocks(&widths, columns, usize::from(self.grouped))
            .iter()
            .map(|block| self.block(block, &widths, &cells))
            .collect();
        blocks.join("\n")
    }

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

    /// Narrows text columns, the widest first, unless the table would not fit even then.
    fn narrow(&self, widths: &mut [usize], room: usize) {
        let shown = (usize::from(self.grouped)..widths.len()).filter(|place| !self.is_blank(*place));
        let shown: Vec<usize> = shown.collect();
        let is_text = |place: &usize| self.columns.get(*place).is_some_and(|one| one.kind == Kind::Text);
        let mut narrowed = widths.to_vec();
        loop {
            let of = |place: &usize| narrowed.get(*place).copied().unwrap_or(0);
            if shown.iter().map(|place| of(place) + 2).sum::<usize>() <= room {
                return widths.copy_from_slice(&narrowed);
            }
            let wide = shown.iter().copied().filter(|place| is_text(place) && of(place) > MIN_TEXT_WIDTH);
            let Some(widest) = wide.max_by_key(of).and_then(|place| narrowed.get_mut(place)) else { return };
            *widest -= 1;
        }
    }

    /// Splits the columns into blocks that fit. Each block begins with the leading text columns.
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

    /// Returns the table as GitHub Flavored Markdown.
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
}

/// A table that has a row for each record and gets its columns one by one.
pub(super) struct Records<T> {
    table: Table,
    records: Vec<T>,
}

impl<T> Records<T> {
    /// Adds a column, with a heading as in [`Table::new`].
    #[must_use]
    pub(super) fn column(mut self, heading: &str, cell: impl Fn(&T) -> Cell) -> Self {
        self.table.columns.push(Column::of(heading));
        for (row, record) in self.table.rows.iter_mut().zip(&self.records) {
            row.push(cell(record));
        }
        self
    }

    /// Adds several columns, with headings as in [`Table::new`].
    #[must_use]
    pub(super) fn columns<const N: usize>(mut self, headings: &str, cells: impl Fn(&T) -> [Cell; N]) -> Self {
        self.table.columns.extend(headings.split(" | ").map(Column::of));
        for (row, record) in self.table.rows.iter_mut().zip(&self.records) {
            row.extend(cells(record));
        }
        self
    }

    pub(super) fn table(self) -> Table {
        self.table
    }

    pub(super) fn grouped(self) -> Table {
        self.table.grouped()
    }

    pub(super) fn noted(self, note: impl Into<String>) -> Table {
        self.table.noted(note)
    }
}

/// Escapes a text for Markdown, so recorded text cannot add cells, HTML or links with a label.
pub(super) fn markdown_text(text: &str) -> String {
    let text: String =
        text.chars().map(|letter| if is_unprintable(letter) { '\u{fffd}' } else { letter }).collect();
    let text = text.replace('\\', "\\\\").replace('|', "\\|").replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace("](", "]\\(");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
