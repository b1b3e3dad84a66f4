//! Fits texts into a number of terminal columns. Ideographs and emoji take two columns each.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Pads a text to a width, on the left if `at_left`, else on the right.
pub(super) fn padded(text: &str, columns: usize, at_left: bool) -> String {
    let space = " ".repeat(columns.saturating_sub(width(text)));
    if at_left { space + text } else { format!("{text}{space}") }
}

pub(super) fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let end = columns.saturating_sub(1) / 2;
    let head = fitting(text.chars(), columns.saturating_sub(1) - end);
    let tail: String = fitting(text.chars().rev(), end).chars().rev().collect();
    format!("{head}…{tail}")
}

/// Returns the first characters that fit into a width.
fn fitting(text: impl Iterator<Item = char>, columns: usize) -> String {
    let mut left = columns;
    text.map_while(|letter| {
        left = left.checked_sub(letter.width().unwrap_or(0))?;
        Some(letter)
    })
    .collect()
}

/// Breaks a text into lines of at most `columns` columns, between words if possible.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => *line += &format!(" {word}"),
            _ => {
                let mut rest = word;
                while !rest.is_empty() {
                    // Takes at least one letter, even if it is wider than the line.
                    let letters = fitting(rest.chars(), columns).chars().count().max(1);
                    let end = rest.char_indices().nth(letters).map_or(rest.len(), |(end, _)| end);
                    let (line, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                    lines.push(line.to_owned());
                    rest = after;
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_columns() {
        assert_eq!(wrapped("ab cde fghijkl", 5), ["ab", "cde", "fghij", "kl"]);
        assert_eq!(wrapped("漢字漢字 a", 5), ["漢字", "漢字", "a"]);
        assert_eq!(wrapped("漢", 1), ["漢"]);
        assert_eq!(shortened("abcdefgh", 5), "ab…gh");
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("漢字漢字", 6), "漢…字");
        assert_eq!((padded("漢", 4, true), padded("ab", 3, false)), ("  漢".to_owned(), "ab ".to_owned()));
    }
}
