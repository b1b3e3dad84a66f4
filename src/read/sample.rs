//! The start of an input, checked before its format is known: keys and first records.

use super::framing::{Framing, is_in_lines, is_truncated_line, lines};
use super::members::Members;
use super::signature::Look;
use crate::json::{Json, Kind, Read, SkipIndex};

/// Number of records of a list that are checked.
const RECORDS: usize = 64;

/// Number of lines with objects that are checked.
pub(super) const LINES: usize = 4096;

/// The first value of an input, or its first lines.
#[derive(Debug, Clone)]
pub(super) enum Seen<'a> {
    /// One object.
    Object(Members<'a>),
    /// A list, with the members of its first items that are objects; the last one may be incomplete.
    List { objects: Vec<Members<'a>> },
    /// Lines, with the members of those that are objects.
    Lines { objects: Vec<Members<'a>> },
    /// A line that may be truncated, before a line that is incomplete.
    TruncatedLine,
    /// Any other JSON value.
    Scalar,
    /// Not JSON.
    Invalid,
}

/// A bounded part of an input.
#[derive(Debug, Clone)]
pub(super) struct Sample<'a> {
    pub(super) framing: Framing,
    pub(super) seen: Seen<'a>,
}

impl<'a> Sample<'a> {
    /// Samples the first bytes of an input, or with `whole` all of them. Valid values are remembered in `index`, and
    /// skipped at once by larger samples and by the reader.
    pub(super) fn of(bytes: &'a [u8], whole: bool, index: &'a SkipIndex) -> Self {
        let mut json = Json::with_index(bytes, Some(index));
        json.space();
        let checked = json.clone().check();
        let start = json.offset();
        let (seen, read) = first_value(&mut json);
        let truncated = is_truncated_line(bytes, whole, start, &checked);
        // Text that is valid up to its end is one truncated document, not lines.
        let is_open = matches!(&checked, Err(fault) if fault.is_end());
        if truncated == Some(true) || !is_open && is_in_lines(bytes, whole, start, &json, &read) {
            return Self::of_lines(bytes, whole, index);
        }
        let seen = if truncated.is_none() && !whole { Seen::TruncatedLine } else { seen };
        Self { framing: Framing::Values, seen }
    }

    fn of_lines(bytes: &'a [u8], whole: bool, index: &'a SkipIndex) -> Self {
        let objects = lines(bytes, whole, 0).filter(|line| line.kind() == Kind::Object).take(LINES);
        let objects = objects.map(|line| Members::of_line(line.with_index(Some(index)).json())).collect();
        Self { framing: Framing::Lines, seen: Seen::Lines { objects } }
    }

    /// Returns the objects by which formats with separate runs are recognised.
    pub(super) fn look(&self) -> Option<Look<'_, 'a>> {
        match &self.seen {
            Seen::Object(members) => Some(Look::of(members)),
            Seen::List { objects } => Some(Look::List(objects)),
            Seen::Lines { objects } => Some(Look::Lines(objects)),
            Seen::TruncatedLine | Seen::Scalar | Seen::Invalid => None,
        }
    }
}

/// Returns the first value, and whether it is complete, or its fault.
fn first_value<'a>(json: &mut Json<'a>) -> (Seen<'a>, Read<()>) {
    match json.peek_byte() {
        Some(b'{') => {
            let (members, read) = Members::read(json);
            (Seen::Object(members), read)
        }
        Some(b'[') => {
            let seen = first_items(json.clone());
            (seen, json.skip())
        }
        _ => match json.skip() {
            Ok(()) => (Seen::Scalar, Ok(())),
            Err(fault) => (Seen::Invalid, Err(fault)),
        },
    }
}

/// Returns the first items of a list. Items after a damaged one are checked as well.
fn first_items(mut json: Json<'_>) -> Seen<'_> {
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
    Seen::List { objects }
}
