//! Texts that have to fit.

/// The text in so many characters, its middle left out.
pub(super) fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let end = width.saturating_sub(1) / 2;
    let start = width.saturating_sub(1) - end;
    let head: String = text.chars().take(start).collect();
    let tail: String = text.chars().skip(length - end).collect();
    format!("{head}…{tail}")
}

/// The text in lines of at most `width` characters, broken between words where it can be.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + length <= width => *line += &format!(" {word}"),
            _ => {
                let letters: Vec<char> = word.chars().collect();
                lines.extend(letters.chunks(width.max(1)).map(|part| part.iter().collect::<String>()));
            }
        }
    }
    lines
}
