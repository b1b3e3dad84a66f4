//! The start of an input, checked before its format is known: keys and first records.

use super::framing::{is_in_lines, is_truncated_line, lines};
use super::members::Members;
use super::signature::Look;
use crate::json::{Json, Kind, Read, SkipIndex};

/// Maximum number of records of a list that are checked.
const RECORDS: usize = 64;

/// Maximum number of lines that are checked, counting only objects.
pub(super) const LINES: usize = 4096;

/// The first value of an input, or its first lines.
#[derive(Debug, Clone)]
pub(super) enum Sample<'a> {
    /// One object.
    Object(Members<'a>),
    /// A list, with the members of its first items that are objects; the last one may be incomplete.
    List(Vec<Members<'a>>),
    /// Lines, with the members of those that are objects.
    Lines(Vec<Members<'a>>),
    /// A line that may be truncated. More of the next line is needed to decide.
    TruncatedLine,
    /// Any other JSON value, or no JSON.
    Other,
}

impl<'a> Sample<'a> {
    /// Samples the first bytes of an input, or with `whole` all of them. The ends of valid values are
    /// remembered in `index`, so larger samples and the reader skip these values at once.
    pub(super) fn of(bytes: &'a [u8], whole: bool, index: &'a SkipIndex) -> Self {
        let mut json = Json::with_index(bytes, Some(index));
        json.space();
        let checked = json.clone().check();
        let start = json.offset();
        let (first, read) = first_value(&mut json);
        let truncated = is_truncated_line(bytes, whole, start, &checked);
        // Text that is valid up to its end is one truncated document, not lines.
        let is_open = matches!(&checked, Err(fault) if fault.is_end());
        if truncated == Some(true) || !is_open && is_in_lines(bytes, whole, start, &json, &read) {
            let objects = lines(bytes, whole, 0).filter(|line| line.kind() == Kind::Object).take(LINES);
            let objects = objects.map(|line| Members::of_line(line.with_index(Some(index)).json()));
            return Self::Lines(objects.collect());
        }
        if truncated.is_none() && !whole { Self::TruncatedLine } else { first }
    }

    /// Returns the objects by which formats with separate runs are recognised, if there are any.
    pub(super) fn look(&self) -> Option<Look<'_, 'a>> {
        match self {
            Self::Object(members) => Some(Look::of(members)),
            Self::List(objects) => Some(Look::List(objects)),
            Self::Lines(objects) => Some(Look::Lines(objects)),
            Self::TruncatedLine | Self::Other => None,
        }
    }
}

/// Returns the first value, and the fault if it is incomplete or invalid.
fn first_value<'a>(json: &mut Json<'a>) -> (Sample<'a>, Read<()>) {
    match json.peek_byte() {
        Some(b'{') => {
            let (members, read) = Members::read(json);
            (Sample::Object(members), read)
        }
        Some(b'[') => {
            let first = Sample::List(first_items(json.clone()));
            (first, json.skip())
        }
        _ => (Sample::Other, json.skip()),
    }
}

/// Returns the first items of a list that are objects. Items after a damaged one are checked as well.
fn first_items(mut json: Json<'_>) -> Vec<Members<'_>> {
    let mut objects = Vec::new();
    json.advance();
    while objects.len() < RECORDS {
        match json.peek_byte() {
            None | Some(b']') => break,
            Some(b',') => json.advance(),
            Some(b'{') => {
                let mut item = json.clone();
                let (members, read) = Members::read(&mut item);
                objects.push(members);
                match read {
                    Ok(()) => json = item,
                    Err(_) if json.skip_unsound().is_none() => break,
                    Err(_) => {}
                }
            }
            Some(_) => {
                let before = json.offset();
                if json.skip_unsound().is_none() || json.offset() == before {
                    break;
                }
            }
        }
    }
    objects
}
