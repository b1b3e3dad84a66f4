//! Aligned columns of text, as wide as they are.

/// A table whose first columns are text and whose other columns are figures.
#[derive(Debug)]
pub(super) struct Wide {
    text_columns: usize,
    rows: Vec<Vec<String>>,
}

impl Wide {
    pub(super) fn new<const N: usize>(text_columns: usize, header: [&str; N]) -> Self {
        Self { text_columns, rows: vec![header.iter().map(ToString::to_string).collect()] }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(super) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let line: Vec<String> = cells.collect();
            format!("  {}\n", line.join("  ").trim_end())
        };
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            text += &line(&mut row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column < self.text_columns { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            }));
            if number == 0 {
                text += &line(&mut widths.iter().map(|width| "-".repeat(*width)));
            }
        }
        text
    }
}
