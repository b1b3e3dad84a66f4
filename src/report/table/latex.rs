//! Tables as LaTeX.

use super::{Column, Kind, Table};
use crate::report::cell::Cell;
use crate::report::markup::is_unprintable;

/// The width of a page, in characters of footnote size.
const LATEX_WIDTH: usize = 76;
/// Maximum width of a text column, in the same characters.
const LATEX_LABEL: usize = 24;
/// Maximum number of rows of a `table`. One with more rows becomes a `longtable`, which continues on further pages.
const LATEX_LONG: usize = 30;

impl Table {
    /// Returns the table as LaTeX, which needs the packages `booktabs`, `longtable` and `array`. It fits a page
    /// of the class `article`: texts are wrapped, columns that do not fit follow in another table, and long
    /// tables continue on further pages.
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
                format!(">{{\\raggedright\\arraybackslash}}p{{{}em}}", hundredths(width * 48))
            }
            _ => "r".to_owned(),
        };
        let align: String = columns.iter().map(align).collect();
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let cell = |cell: &Cell| match cell {
            Cell::Missing => "--".to_owned(),
            Cell::Share(_) | Cell::Count(_) | Cell::Points(_) => latex_text(&cell.shown()),
            Cell::Text(text) => latex_breakable(text),
            number => format!("${}$", number.shown().replace('%', "\\%")),
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
}

fn hundredths(count: usize) -> String {
    format!("{}.{:02}", count / 100, count % 100)
}

/// Escapes a text and lets it break after punctuation and within long words.
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

/// Escapes a text for LaTeX and lets long words, paths and names break.
pub(in crate::report) fn latex_paragraph(text: &str) -> String {
    let is_long = |word: &str| word.chars().count() > LATEX_LABEL || word.contains(['/', '_']);
    let word = |word| if is_long(word) { latex_breakable(word) } else { latex_text(word) };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

pub(super) fn latex_text(text: &str) -> String {
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

/// Returns the command for a character that pdfLaTeX rejects or draws as another.
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
