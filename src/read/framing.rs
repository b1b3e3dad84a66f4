//! Line framing: whether an input has one value in each line, and where a truncated first line ends.

use super::window::Window;
use crate::error::Result;
use crate::json::{Fault, Json, Raw, Read};

/// The maximum length, in bytes, of a first line that extends beyond the sample. An input with a longer first line
/// is not read as lines.
const LONGEST_LINE: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// One value, or several concatenated.
    Values,
    /// One value in each line.
    Lines,
}

/// Returns true if an input has one value in each line. A single value was tried first: `read` is the result
/// of reading it from `start` on, which left the reader at `json`.
pub(super) fn is_in_lines(bytes: &[u8], whole: bool, start: usize, json: &Json<'_>, read: &Read<()>) -> bool {
    let first = bytes.get(start);
    match read {
        Ok(()) => {
            let one_line = memchr::memchr(b'\n', json.since(start)).is_none();
            let behind = bytes.get(json.offset()..).unwrap_or_default();
            let line_end = memchr::memchr(b'\n', behind);
            let line_over = line_end.map_or(behind, |end| behind.get(..end).unwrap_or_default());
            let more = line_end.is_some_and(|end| !blank(behind.get(end..).unwrap_or_default()));
            let is_opened = matches!(first, Some(b'{' | b'['));
            one_line && more && (blank(line_over) || !is_opened && has_an_object(bytes, whole, first))
        }
        Err(fault) if fault.is_end() && !whole => false,
        // A malformed document may be lines, the first of them damaged or not JSON.
        Err(_) => !begins_as_a_list(bytes, start) && has_an_object(bytes, whole, first),
    }
}

/// Returns true if the first byte opens a list that is empty or begins with a list or an object. The bracket alone
/// does not decide, because text may begin with one as well.
fn begins_as_a_list(bytes: &[u8], start: usize) -> bool {
    let Some((b'[', rest)) = bytes.get(start..).and_then(<[u8]>::split_first) else { return false };
    rest.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| matches!(byte, b'{' | b'[' | b']'))
}

/// Returns true if a line is an object. If the input begins with an object, only lines in the first column
/// count: a truncated document may hold indented lines that are objects.
fn has_an_object(bytes: &[u8], whole: bool, first: Option<&u8>) -> bool {
    let in_first_column = |line: &Raw<'_>| {
        let at = line.offset();
        first != Some(&b'{') || at == 0 || bytes.get(at - 1) == Some(&b'\n')
    };
    let object = |line: &Raw<'_>| line.bytes().first() == Some(&b'{') && is_value(*line);
    lines(bytes, whole, 0).filter(object).any(|line| in_first_column(&line))
}

/// Returns true if the first value ends with its line or is truncated there. `None` if more input is needed.
fn begins_with_a_line(bytes: &[u8], whole: bool) -> Option<bool> {
    let mut json = Json::new(bytes);
    json.space();
    let start = json.offset();
    // An object that closes at the end of its line is a line, valid or not.
    let mut extent = json.clone().skimming();
    if !begins_as_a_list(bytes, start)
        && extent.skip().is_ok()
        && extent.is_at_end_of_line()
        && memchr::memchr(b'\n', extent.since(start)).is_none()
    {
        return Some(true);
    }
    match json.check() {
        Ok(()) => Some(memchr::memchr(b'\n', json.since(start)).is_none()),
        checked => is_truncated_line(bytes, whole, start, &checked),
    }
}

/// Returns true if the first line is truncated: its value is still invalid at the end of the line, and the next
/// line is an object. A bracket alone on its line opens a document. `None` if more of the next line is needed.
pub(super) fn is_truncated_line(bytes: &[u8], whole: bool, start: usize, checked: &Read<()>) -> Option<bool> {
    let rest = bytes.get(start..).unwrap_or_default();
    let (Err(fault), Some(length)) = (checked, memchr::memchr(b'\n', rest)) else { return Some(false) };
    let first = rest.get(..length).unwrap_or_default().trim_ascii();
    let blank = rest.iter().skip(length).take_while(|byte| byte.is_ascii_whitespace()).count();
    let (end, next) = (start + first.len(), start + length + blank);
    if next >= bytes.len() && !whole {
        return None;
    }
    if fault.is_end()
        || first.len() < 2
        || first.first() == Some(&b'[')
        || !(end..=next).contains(&fault.at())
        || bytes.get(next - 1..=next) != Some(b"\n{")
    {
        return Some(false);
    }
    lines(bytes, whole, next).next().map(is_value)
}

/// Returns the framing of an input if only its first `seen` bytes were checked: lines only if the first line
/// is not too long, and the bytes after it do not belong to its value.
pub(super) fn of_first(window: &mut Window<'_>, seen: usize) -> Result<Framing> {
    let first = window.unread().get(..seen).unwrap_or_default().trim_ascii_start();
    if memchr::memchr(b'\n', first).is_some() {
        return Ok(Framing::Values);
    }
    let Some(end) = end_of_line(window, seen, LONGEST_LINE)? else { return Ok(Framing::Values) };
    let mut looked = end + seen;
    loop {
        let bytes = window.unread();
        let whole = bytes.len() <= looked && !window.may_grow();
        match begins_with_a_line(bytes.get(..looked).unwrap_or(bytes), whole) {
            Some(true) => return Ok(Framing::Lines),
            None if !whole && looked < 2 * LONGEST_LINE => looked *= 2,
            Some(false) | None => return Ok(Framing::Values),
        }
        while window.unread().len() < looked && window.may_grow() && window.grow()? {}
    }
}

/// Returns the end of the first unread line, whose first `seen` bytes hold no line feed. `None` if it is
/// longer than `longest` or the last.
fn end_of_line(window: &mut Window<'_>, seen: usize, longest: usize) -> Result<Option<usize>> {
    let (mut looked, mut end) = (seen, None);
    loop {
        let bytes = window.unread();
        if end.is_none() {
            let rest = bytes.get(looked..bytes.len().min(longest)).unwrap_or_default();
            end = memchr::memchr(b'\n', rest).map(|more| looked + more);
            looked = end.unwrap_or(bytes.len());
        }
        if end.is_some() {
            if !bytes.get(looked..).unwrap_or_default().trim_ascii().is_empty() {
                return Ok(end);
            }
            looked = bytes.len();
        } else if looked >= longest {
            return Ok(None);
        }
        // An input that is too large is reported when it is read.
        if !window.may_grow() || !window.grow()? {
            return Ok(None);
        }
    }
}

fn blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Returns true if a line is one JSON value and nothing more.
fn is_value(line: Raw<'_>) -> bool {
    let mut json = line.json();
    json.skip().is_ok() && json.peek_byte().is_none()
}

/// Returns the non-blank unread lines that are complete, and the offset after them.
pub(super) fn complete_lines<'w>(window: &'w Window<'_>) -> (impl Iterator<Item = Raw<'w>>, usize) {
    let bytes = window.unread();
    let end = if window.is_whole() {
        bytes.len()
    } else {
        memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1)
    };
    (lines(bytes.get(..end).unwrap_or_default(), true, 0), end)
}

/// Returns the object of a line behind what logs put before it, or else the line. A level in brackets may follow the
/// time in brackets, or the container.
fn behind_prefix(line: &[u8]) -> &[u8] {
    if !line.starts_with(b"{") {
        let is_word = line.get(1).is_some_and(u8::is_ascii_alphabetic) && line.starts_with(b"[");
        let mut rest = line;
        for _ in 0..if is_word { 1 } else { 2 } {
            rest = behind_one(rest).unwrap_or_default().trim_ascii_start();
            if rest.starts_with(b"{") {
                return rest;
            }
        }
    }
    line.strip_prefix(b"data:").map_or(line, <[u8]>::trim_ascii_start)
}

/// Returns what follows one prefix: a word, the container of Kubernetes or the time in brackets, as in `[stdout] {`, the
/// time, as in the logs of GitHub Actions, the job and the step before it, the stream after it, as containerd writes it,
/// or the numbered container, as in `agent-1  | {`.
fn behind_one(line: &[u8]) -> Option<&[u8]> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:+".contains(byte);
    let of_word = |line: &[u8]| line.iter().take_while(|byte| is_of_word(byte)).count();
    match line {
        [b'[', word @ ..] if word.first().is_some_and(u8::is_ascii_alphabetic) => {
            let length = word.iter().take_while(|byte| is_of_word(byte) || **byte == b'/').count();
            word.get(length..)?.strip_prefix(b"]")
        }
        // No number has a space there.
        [b'[', time @ ..] if time.get(4) == Some(&b'-') && time.get(10) == Some(&b' ') => {
            let length = time.iter().take_while(|byte| is_of_word(byte) || b" ,".contains(byte)).count();
            time.get(length..)?.strip_prefix(b"]")
        }
        // Neither a word nor a number is JSON if it has a `T` and a `Z`.
        [b'0'..=b'9', ..] if line.get(10) == Some(&b'T') => {
            let (time, rest) = line.split_at_checked(of_word(line))?;
            let streams = [b" stdout F ", b" stderr F "];
            let behind = streams.iter().find_map(|stream| rest.strip_prefix(*stream));
            time.ends_with(b"Z").then_some(behind.unwrap_or(rest))
        }
        [first, ..] if is_of_word(first) => {
            let time = line.splitn(3, |byte| *byte == b'\t').nth(2);
            let time = time.map(|time| time.strip_prefix(b"\xef\xbb\xbf").unwrap_or(time));
            let of_container = || {
                let (name, rest) = line.split_at_checked(of_word(line))?;
                let is_numbered = name.rsplit(|byte| *byte == b'-').next()?.iter().all(u8::is_ascii_digit);
                rest.trim_ascii_start().strip_prefix(b"| ").filter(|_| is_numbered && name.contains(&b'-'))
            };
            time.filter(|time| time.get(10) == Some(&b'T')).or_else(of_container)
        }
        _ => None,
    }
}

/// Returns the fault of a line that begins as an object and is not valid: it may have held calls.
pub(super) fn damage(line: Raw<'_>) -> Option<Fault> {
    let mut json = line.json();
    let fault = match json.check() {
        Err(fault) if fault.is_end() => Fault::syntax(fault.at(), "the line ends in the middle of a value"),
        Err(fault) => fault,
        Ok(()) => Fault::syntax(json.offset(), "expected the end of the line"),
    };
    line.bytes().starts_with(b"{\"").then_some(fault)
}

/// Returns the non-blank lines from an offset on, without indentation and without the prefix of a log.
/// A last line without a line feed is included only if the input is `whole`.
pub(super) fn lines(bytes: &[u8], whole: bool, from: usize) -> impl Iterator<Item = Raw<'_>> {
    let ends = memchr::memchr_iter(b'\n', bytes.get(from..).unwrap_or_default());
    let ends = ends.map(move |end| from + end).chain(whole.then_some(bytes.len()));
    let mut start = from;
    ends.filter_map(move |end| {
        let line = behind_prefix(bytes.get(start..end).unwrap_or_default().trim_ascii_start());
        start = end + 1;
        (!line.is_empty()).then(|| Raw::over(bytes.get(..end).unwrap_or_default(), end - line.len()))
    })
}
