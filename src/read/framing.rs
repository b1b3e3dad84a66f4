//! How the values of an input follow one another: which are lines, and where a first line that is cut off ends.

use super::window::Window;
use crate::error::Result;
use crate::json::{Json, Raw, Read};

/// A run in a line that is longer is taken for the only one of its input.
const LONGEST_LINE: usize = 1 << 20;

/// How the values of an input follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// One value, or several concatenated.
    Values,
    /// One value in each line.
    Lines,
}

/// Whether an input has one value in each line. One document is tried first: `read` is what became of that, from
/// `start` on.
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
        // An unsound document may be lines, the first of them damaged or not JSON.
        Err(_) => !begins_as_a_list(bytes, start) && has_an_object(bytes, whole, first),
    }
}

/// Whether a bracket opens a list rather than a text.
fn begins_as_a_list(bytes: &[u8], start: usize) -> bool {
    let Some((b'[', rest)) = bytes.get(start..).and_then(<[u8]>::split_first) else { return false };
    rest.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| matches!(byte, b'{' | b'[' | b']'))
}

/// Whether a line is an object. Within a document that is cut off, one may be by chance, but hardly from its first
/// column on.
fn has_an_object(bytes: &[u8], whole: bool, first: Option<&u8>) -> bool {
    let in_first_column = |line: &Raw<'_>| {
        let at = line.offset();
        first != Some(&b'{') || at == 0 || bytes.get(at - 1) == Some(&b'\n')
    };
    let object = |line: &Raw<'_>| line.bytes().first() == Some(&b'{') && is_value(*line);
    lines(bytes, whole, 0).filter(object).any(|line| in_first_column(&line))
}

/// Whether the first value is a line: it ends with its line, or is cut off there. `None`: more has to be seen.
fn begins_with_a_line(bytes: &[u8], whole: bool) -> Option<bool> {
    let mut json = Json::new(bytes);
    json.space();
    let start = json.offset();
    // An object that is closed where its line is over is a line, sound or not.
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

/// Whether the first value is wrong where its first line is over, and the next line is an object: a line that is cut
/// off. A bracket alone in its line opens a document. `None`: more has to be seen of the next line.
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

/// How values follow one another of which the first is seen, but not all of it: in lines only where its own line is
/// over before long, and what stands behind does not belong to it.
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

/// Where the line ends of which the first bytes are seen, if it is no longer than this and anything stands behind it.
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

/// Whether a line is one JSON value and nothing else.
fn is_value(line: Raw<'_>) -> bool {
    let mut json = line.json();
    json.skip().is_ok() && json.peek_byte().is_none()
}

/// The lines from an offset on that are not blank, from their first character on; the last one where it is whole.
pub(super) fn lines(bytes: &[u8], whole: bool, from: usize) -> impl Iterator<Item = Raw<'_>> {
    let ends = memchr::memchr_iter(b'\n', bytes.get(from..).unwrap_or_default());
    let ends = ends.map(move |end| from + end).chain(whole.then_some(bytes.len()));
    let mut start = from;
    ends.filter_map(move |end| {
        let line = bytes.get(start..end).unwrap_or_default();
        let indent = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let at = start + indent;
        start = end + 1;
        (indent < line.len()).then(|| Raw::over(bytes.get(..end).unwrap_or_default(), at))
    })
}
