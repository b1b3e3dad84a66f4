//! Reading an input in one walk that checks all of it, instead of taking it apart before it is read. Where anything is
//! not as it should be, nothing has been handed on, and it is taken apart: a walk that is refused at the end of an
//! input has cost its time for nothing, once.

use super::Format;
use super::document::{Document, concatenated, is_sound};
use super::framing::lines;
use super::recognise;
use super::runs::Runs;
use super::sample::{Members, Sample};
use crate::json::{Json, Kind, Read};

/// How an input is read in one walk, without having been taken apart before.
pub(super) struct AtOnce {
    /// Whether an input that begins like this seems to be of this format. A format that comes before it in the list,
    /// and would claim all of the input, may show only when it is read.
    pub(super) begins: fn(&Sample<'_>) -> bool,
    /// Whether what `begins` knows is one document. It is read only where nothing behind its first part can make it records.
    /// Lines that are messages are known without `begins`.
    pub(super) is_document: bool,
    /// Reads all of it. `false`: it is not sound, or not what it seemed to be, and nothing was handed on.
    pub(super) read: for<'a> fn(&'a [u8], &mut Runs<'_>) -> bool,
}

/// Whether a document is of a format, as far as its reader does not know it after having read all of it.
type Claims = fn(&Document<'_>) -> bool;

/// Reads an input that is one object around a list under one of `keys`, the first of which is read where it stands,
/// with its key and what stands before it. `None`: it is not sound, or the list stands there twice, or it is not of
/// this format.
pub(super) fn read_around<'a>(
    bytes: &'a [u8],
    (format, claims): (Format, Claims),
    keys: &[&str],
    read: impl FnMut(&Members<'a>, &str, &mut Json<'a>) -> Read<()>,
) -> Option<Members<'a>> {
    let mut json = Json::new(bytes).checking();
    let members = Members::around(&mut json, keys, read)?;
    if json.peek_byte().is_some() {
        return None;
    }
    match Document::Object(members) {
        document if !claims(&document) || !recognise::is_of_none_before(&document, format) => None,
        Document::Object(members) => Some(members),
        Document::List(_) | Document::Lines(_) => None,
    }
}

/// Reads an input that is one list, item by item. `false`: it is not sound, or not of this format.
pub(super) fn read_items<'a>(
    bytes: &'a [u8],
    (format, claims): (Format, Claims),
    mut read: impl FnMut(&mut Json<'a>) -> Read<()>,
) -> bool {
    let mut json = Json::new(bytes).checking();
    let mut items = Vec::new();
    let walked = json.list(|item| {
        let start = item.offset();
        read(item)?;
        items.push(item.raw_since(start));
        Ok(())
    });
    let list = Document::List(items);
    let is_read = walked.is_ok() && json.peek_byte().is_none();
    is_read && claims(&list) && recognise::is_of_none_before(&list, format)
}

/// How many lines were read as nothing, being no JSON or no object.
#[derive(Debug, Default)]
pub(super) struct Others {
    no_json: u64,
    no_object: u64,
}

impl Others {
    /// Passes over them.
    pub(super) fn pass_over(&self, runs: &mut Runs<'_>) {
        runs.pass_over("lines that are no JSON", self.no_json);
        runs.pass_over("lines that are no object", self.no_object);
    }
}

/// What a line is to the format that reads it.
pub(super) enum Taken {
    /// A line that makes the input one of the format.
    Own,
    /// One that may stand beside such lines.
    Beside,
    /// One that may be of a format that comes before this one in the list.
    Foreign,
}

/// Reads the lines of an input one after the other, and checks all of them, without taking the input apart first.
/// `take` is given what was read. `None`: no line is the format's own, or one is foreign, or the first is no object, or
/// there are objects wherever lines end.
pub(super) fn read_lines<'a, L>(
    bytes: &'a [u8],
    read: impl Fn(&mut Json<'a>) -> Read<L>,
    mut take: impl FnMut(L) -> Taken,
) -> Option<Others> {
    let mut others = Others::default();
    let (mut is_own, mut first_other) = (false, None);
    for (number, line) in lines(bytes, true, 0).enumerate() {
        let mut json = line.json().checking();
        match read(&mut json) {
            Ok(read) if json.peek_byte().is_none() => {
                match take(read) {
                    Taken::Own => is_own = true,
                    Taken::Beside => {}
                    Taken::Foreign => return None,
                }
                continue;
            }
            _ if number == 0 => return None,
            _ if line.kind() != Kind::Object && is_sound(line) => others.no_object += 1,
            _ => others.no_json += 1,
        }
        first_other.get_or_insert(line.offset());
    }
    let values = first_other.and_then(|at| concatenated(bytes.get(at..)?, None));
    (is_own && values.is_none()).then_some(others)
}
