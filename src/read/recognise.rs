//! Which format an input is of: the first of the list whose decisive keys it has.

use super::Format;
use super::document::{Document, Lines, Parsed};
use super::format::{DocumentReader, Entry, Reader, RecordReader};
use super::formats::unread;
use super::framing::{self, Framing};
use super::sample::{Members, RECORDS, Sample, Seen};
use super::window::Window;
use crate::error::{Error, ErrorKind, Result, echo};
use crate::json::{Ends, Json, Kind, Raw};

/// How much of an input is looked at, from little to much; behind the last, all of it.
const LOOKED_AT: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20];

/// So much of an input of foreign lines is looked at line by line; behind it, as many of them as of any other.
const MOST_OF_FOREIGN_LINES: usize = 1 << 20;

/// So many lines, none of which is an event or a document, show whether they are messages.
const ENOUGH_LINES: usize = 16;

/// How an input is to be read.
pub(super) enum Recognised {
    /// Run by run.
    Records(Format, &'static RecordReader, Framing),
    /// As a whole, of which this is known.
    Whole(Ends),
    /// Line by line, each by its own format.
    Each,
    /// As a zip archive.
    Archive,
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    Format::VARIANTS.iter().map(|format| format.entry())
}

/// Finds the format of an input. The window stays where it is, behind a byte order mark.
pub(super) fn recognise(window: &mut Window<'_>, wanted: Option<Format>) -> Result<Recognised> {
    fill(window, 4)?;
    if window.unread().starts_with(b"PK") && wanted.is_none_or(|wanted| wanted == Format::Inspect) {
        return Ok(Recognised::Archive);
    }
    if let Some(what) = no_text(window.unread()) {
        return Err(Error::new(ErrorKind::Format, what));
    }
    window.skip_byte_order_mark();
    let (mut looked, mut seen_lines) = (0, 0);
    let mut ends = Ends::default();
    let mut samples = LOOKED_AT.into_iter();
    let mut next = samples.next();
    while let Some(most) = next {
        fill(window, most + 1)?;
        let bytes = window.unread();
        let whole = bytes.len() <= most;
        let bytes = bytes.get(..most).unwrap_or(bytes);
        ends.cover(bytes.len());
        if whole && bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(window
                .take_fault()
                .unwrap_or_else(|| Error::new(ErrorKind::Empty, "the input is empty")));
        }
        let sample = Sample::of(bytes, whole, &mut looked, &ends);
        if !matches!(sample.seen, Seen::HalfALine)
            && let Some((format, reader)) = claimed_records(&sample, wanted)
        {
            let seen_framing = sample.framing;
            drop(sample);
            let framing = match seen_framing {
                Framing::Values if !whole => framing::of_first(window, most)?,
                known => known,
            };
            return Ok(Recognised::Records(format, reader, framing));
        }
        let lines_are = match sample.seen {
            Seen::Lines { objects, full } => {
                seen_lines += objects.len();
                let enough = full || seen_lines >= ENOUGH_LINES;
                Some((lines_of(objects, enough, wanted), full))
            }
            _ => None,
        };
        match lines_are {
            Some((LinesAre::Documents, _)) => return Ok(Recognised::Each),
            Some((LinesAre::Events | LinesAre::Messages, _)) => return Ok(Recognised::Whole(ends)),
            // Those behind them are looked at.
            Some((LinesAre::Foreign, true)) if looked > 0 && most <= MOST_OF_FOREIGN_LINES => continue,
            Some((LinesAre::Foreign, _)) | None => {}
        }
        if whole {
            return Ok(Recognised::Whole(ends));
        }
        next = samples.next();
    }
    Ok(match wanted.and_then(records) {
        Some((format, reader)) => Recognised::Records(format, reader, Framing::Values),
        None => Recognised::Whole(ends),
    })
}

/// A format whose runs are records, with its reader.
fn records(format: Format) -> Option<(Format, &'static RecordReader)> {
    match &format.entry().reader {
        Reader::Records(reader) => Some((format, reader)),
        Reader::Document(_) => None,
    }
}

/// The format with runs of their own that is wanted, or else the first that claims the sample.
fn claimed_records(sample: &Sample<'_>, wanted: Option<Format>) -> Option<(Format, &'static RecordReader)> {
    match wanted {
        Some(format) => records(format),
        None => Format::VARIANTS
            .iter()
            .filter_map(|format| records(*format))
            .find(|(_, reader)| (reader.claims)(sample)),
    }
}

fn fill(window: &mut Window<'_>, wanted: usize) -> Result<()> {
    while window.unread().len() < wanted && window.grow()? {}
    Ok(())
}

/// What an input is that is no text in UTF-8.
fn no_text(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x1f, 0x8b, ..] => "the input is compressed (gzip); name it `.gz`",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "the input is compressed (zstd); name it `.zst`",
        [b'P', b'K', 3 | 5, ..] => "the input is a zip archive",
        [b'B', b'Z', b'h', ..] => "the input is compressed (bzip2)",
        [0xfd, b'7', b'z', b'X', ..] => "the input is compressed (xz)",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..] => {
            "the input is no UTF-8, but perhaps UTF-16"
        }
        _ => return None,
    })
}

/// What is wrong with an input that is no JSON.
pub(super) fn no_json(window: &Window<'_>) -> Option<Error> {
    let fault = Json::new(window.unread()).check().err()?;
    let location = window.place(fault.at()).location();
    if let Some(name) = unread::of_text(window.unread()) {
        return Some(unread::error(name).at(location));
    }
    let error = fault.into_error();
    let error = match error.kind() {
        ErrorKind::Truncated => error,
        kind => Error::new(kind, format!("the input is not JSON: {}", error.message())),
    };
    Some(error.at(location))
}

/// Whether one of the first of these lines at least is a document of its own.
pub(super) fn are_documents(lines: &[Raw<'_>], wanted: Option<Format>) -> bool {
    lines.chunks(RECORDS).take(RECORDS).any(|lines| {
        let lines = lines.iter().map(|line| Members::of(&mut line.json())).collect();
        matches!(lines_of(lines, false, wanted), LinesAre::Documents)
    })
}

/// What lines are.
enum LinesAre {
    /// One of them at least is a document of its own.
    Documents,
    /// Events of one session, or of several.
    Events,
    /// Messages or items of one conversation.
    Messages,
    /// Of no format that is known by its lines, as far as they are seen.
    Foreign,
}

/// What these lines are. Where they are `enough`, the first of them show whether they are messages.
fn lines_of(objects: Vec<Members<'_>>, enough: bool, wanted: Option<Format>) -> LinesAre {
    const FIRST: usize = 8;
    let lines = objects.into_iter().filter_map(|members| Some((members.whole()?, members)));
    let (mut parsed, mut objects) = (Vec::new(), Vec::new());
    for (line, members) in lines {
        if is_event(line, &members) {
            return LinesAre::Events;
        }
        objects.push(line);
        parsed.push(Parsed::of_members(line, members));
    }
    if parsed.iter().any(|parsed| claimed(&parsed.document, wanted).is_some()) {
        return LinesAre::Documents;
    }
    objects.truncate(FIRST);
    let lines = Document::Lines(Lines::of(objects));
    let mut of_messages = documents(wanted).filter(|(_, reader)| enough && reader.lines_last);
    match of_messages.find(|(_, reader)| (reader.claims)(&lines)) {
        Some(_) => LinesAre::Messages,
        None => LinesAre::Foreign,
    }
}

/// Whether a line is one of those that only formats of lines have.
fn is_event(line: Raw<'_>, members: &Members<'_>) -> bool {
    let line = Document::Lines(Lines::of_one(line, members));
    documents(None).any(|(_, reader)| !reader.lines_last && (reader.claims)(&line))
}

/// The formats of whole documents, or the one of them that is wanted.
fn documents(wanted: Option<Format>) -> impl Iterator<Item = (&'static Entry, &'static DocumentReader)> {
    entries().filter(move |entry| wanted.is_none_or(|wanted| wanted == entry.format)).filter_map(|entry| {
        match &entry.reader {
            Reader::Document(reader) => Some((entry, reader)),
            Reader::Records(_) => None,
        }
    })
}

/// The formats of whole documents in the order in which they are asked whether this is one of theirs.
fn in_order(
    document: &Document<'_>,
    wanted: Option<Format>,
) -> impl Iterator<Item = (&'static Entry, &'static DocumentReader)> {
    let is_lines = matches!(document, Document::Lines(_));
    let asked = move |last: bool| {
        documents(wanted).filter(move |(_, reader)| (is_lines && reader.lines_last) == last)
    };
    asked(false).chain(asked(true))
}

/// The format of a whole document; `None`: it is of none.
pub(super) fn claimed(document: &Document<'_>, wanted: Option<Format>) -> Option<&'static Entry> {
    in_order(document, wanted).find(|(_, reader)| (reader.claims)(document)).map(|(entry, _)| entry)
}

/// Says what was seen, and what each format would have wanted.
pub(super) fn unrecognised(document: &Document<'_>, wanted: Option<Format>) -> Error {
    if let Some(name) = unread::of_document(document).filter(|_| wanted.is_none()) {
        return unread::error(name);
    }
    let keys = |members: &Members<'_>| {
        let keys: Vec<String> = members.keys().take(12).map(|key| format!("`{}`", echo(key))).collect();
        let more = if members.keys().count() > 12 { ", …" } else { "" };
        if keys.is_empty() { "no keys".to_owned() } else { format!("the keys {}{more}", keys.join(", ")) }
    };
    let first = |items: &[Raw<'_>]| match items.first() {
        None => "nothing in it".to_owned(),
        Some(item) if item.kind() == Kind::Object => {
            let members = Members::of(&mut item.json());
            format!("an object with {} first", keys(&members))
        }
        Some(item) => format!("{} first", item.kind().name()),
    };
    let seen = match document {
        Document::Object(members) => format!("an object with {}", keys(members)),
        Document::List(items) => format!("a list with {}", first(items)),
        Document::Lines(lines) if lines.is_empty() => {
            "neither an object nor a list nor lines of objects".to_owned()
        }
        Document::Lines(lines) => format!("lines with {}", first(lines)),
    };
    let wants: Vec<String> = entries()
        .filter(|entry| wanted.is_none_or(|wanted| wanted == entry.format))
        .map(|entry| format!("{} wants {}", entry.format, entry.decisive))
        .collect();
    let what = format!("the input is of no known format: it is {seen}; {}", wants.join("; "));
    Error::new(ErrorKind::Format, what)
}
