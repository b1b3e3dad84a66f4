//! Text for terminals: escapes control characters, wraps lines, and adds colours only on a terminal.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Failure, is_closed_pipe, output};

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether the program prints only errors: no reports, notes or progress.
pub(crate) fn set_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Maximum length of a message on standard error, in characters.
const LONGEST_MESSAGE: usize = 1000;

/// Writes text to standard output, escaped with [`printable`], since recorded text may hold control
/// characters.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_raw(&printable(text))
}

/// Writes text to standard output unchanged.
pub(crate) fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints a report, which must be [`printable`], at the end of a command. Prints nothing if the program is quiet, or if
/// standard output belongs to an output or is closed.
pub(crate) fn report(text: &str) -> Result<(), Failure> {
    if is_quiet() || output::has_stdout() {
        return Ok(());
    }
    print_raw(text).or_else(|error| if is_closed_pipe(&*error) { Ok(()) } else { Err(error) })
}

/// Writes a message to standard error, escaped and cut to 1,000 characters. Further lines are indented. A quiet
/// program writes only errors. Ignores failures to write, such as a closed pipe.
pub(crate) fn note(text: &str) {
    if is_quiet() && !text.starts_with("error: ") {
        return;
    }
    let text = printable(&cut(text.trim_end(), LONGEST_MESSAGE)).replace('\n', "\n  ");
    let _ = writeln!(io::stderr(), "{}", cut(&text, LONGEST_MESSAGE));
}

/// Returns true for control characters other than line feeds, and characters that change the direction of
/// text.
fn is_raw(letter: char) -> bool {
    letter.is_control() && letter != '\n'
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes characters that change the direction of text, and control characters other than line feeds.
/// Replaces a tab with a space.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => printable.push(' '),
            letter if is_raw(letter) => printable.extend(letter.escape_default()),
            letter => printable.push(letter),
        }
    }
    printable
}

/// Like [`printable`], for JSON, where such characters occur only inside strings.
pub(crate) fn printable_json(json: String) -> String {
    if !json.contains(is_raw) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if is_raw(letter) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Maximum length of a name within other text, in characters.
const LONGEST_NAME: usize = 200;

/// Cuts a recorded name that is longer than [`LONGEST_NAME`].
pub(crate) fn name(name: &str) -> String {
    cut(name, LONGEST_NAME)
}

/// Cuts a text after `most` characters and adds an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Breaks a text at spaces into lines of at most `width` columns, unless a word is longer. All lines but the
/// first are indented.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.trim_start().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines += &std::mem::replace(&mut line, " ".repeat(indent));
            lines.push('\n');
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line
}

/// Returns the width of the terminal, or 80 if standard output is not one.
pub(crate) fn width() -> usize {
    console::Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns))
}

/// Escapes text and, if standard output is a terminal with colours (`TERM`) and neither `NO_COLOR` nor `CLICOLOR=0`
/// forbids them, adds colour.
pub(crate) fn styled(text: &str, style: &console::Style) -> String {
    style.apply_to(printable(text)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\u{7}\u{9b}\0\r\nc"), "a\\u{1b}[31mb\\u{7}\\u{9b}\\u{0}\\r\nc");
        assert_eq!(printable("\u{202e}x"), "\\u{202e}x");
        assert_eq!(printable("größer → ok"), "größer → ok");
    }
}
