//! Recognises the format of an input by its content.
//!
//! Samples of fixed sizes are checked, the smallest first, until one decides: a slice, a stream and their pieces are
//! recognised alike. Records and lines are recognised in any sample, because they are streamed. A document is checked
//! as a whole. A specific format comes before a generic one (chats), and two matches of one rank are an error.

use std::borrow::Cow;

use super::Format;
use super::document::Document;
use super::format::{Entry, Reader, RecordReader};
use super::formats::unread;
use super::framing::{self, Framing};
use super::members::Members;
use super::sample::{Sample, Seen};
use super::session::{self, Finder, SessionReader};
use super::signature::{self, Look};
use super::window::Window;
use crate::error::{Error, ErrorKind, Result, echo};
use crate::json::{Json, Kind, Raw, SkipIndex};

/// The sizes of the samples. If the last does not decide, the whole input is checked.
const SAMPLES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Numbers of lines that are checked: if none of the first 16 decides, the first 256 are, and so on.
const LINES: [usize; 3] = [16, 256, super::sample::LINES];

/// How to read an input.
pub(super) enum Recognised {
    /// Run by run.
    Records(Format, &'static RecordReader, Framing),
    /// As a whole. The ends of its first values are known.
    Whole(SkipIndex),
    /// Line by line, each by its own format.
    Each,
    /// Line by line, as the session of this format.
    Session(&'static Entry, &'static SessionReader),
    /// As a zip archive.
    Archive,
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    Format::VARIANTS.iter().map(|format| format.entry())
}

/// Finds the format of an input. Consumes nothing but a byte order mark.
pub(super) fn recognise(window: &mut Window<'_>, wanted: Option<Format>) -> Result<Recognised> {
    fill_once(window, 4)?;
    if window.unread().starts_with(b"PK") && wanted.is_none_or(|wanted| wanted == Format::Inspect) {
        return Ok(Recognised::Archive);
    }
    if let Some(what) = no_text(window.unread()) {
        return Err(Error::new(ErrorKind::Format, what));
    }
    window.skip_byte_order_mark();
    skip_space(window)?;
    let mut finder = Finder::default();
    loop {
        match finder.look(window.unread(), window.is_whole(), wanted) {
            session::Found::Session(entry) => {
                if let Reader::Session(reader) = &entry.reader {
                    return Ok(Recognised::Session(entry, reader));
                }
            }
            session::Found::More if window.unread().len() < SAMPLES[0] => {
                window.grow_once()?;
                continue;
            }
            session::Found::More | session::Found::Other => {}
        }
        break;
    }
    let mut index = SkipIndex::default();
    for most in SAMPLES {
        fill(window, most + 1)?;
        let bytes = window.unread();
        let whole = bytes.len() <= most;
        let bytes = bytes.get(..most).unwrap_or(bytes);
        index.cover(bytes.len());
        let sample = Sample::of(bytes, whole, &index);
        if !matches!(sample.seen, Seen::TruncatedLine)
            && let Some((format, reader)) = claimed_records(&sample, wanted)?
        {
            let framing = match sample.framing {
                Framing::Values if !whole => framing::of_first(window, most)?,
                known => known,
            };
            return Ok(Recognised::Records(format, reader, framing));
        }
        if let Seen::Lines { objects } = sample.seen {
            let lines: Vec<Raw<'_>> = objects.iter().filter_map(Members::whole).collect();
            match lines_of(&lines, whole, wanted)? {
                Some(LinesAre::Each) => return Ok(Recognised::Each),
                Some(LinesAre::Of(_)) => return Ok(Recognised::Whole(index)),
                None => {}
            }
        }
        if whole {
            return Ok(Recognised::Whole(index));
        }
    }
    Ok(match wanted.and_then(records) {
        Some((format, reader)) => Recognised::Records(format, reader, Framing::Values),
        None => Recognised::Whole(index),
    })
}

/// Returns the reader of a format whose runs are records.
fn records(format: Format) -> Option<(Format, &'static RecordReader)> {
    match &format.entry().reader {
        Reader::Records(reader) => Some((format, reader)),
        _ => None,
    }
}

/// Returns the record format that claims the sample, or the wanted one.
fn claimed_records(
    sample: &Sample<'_>,
    wanted: Option<Format>,
) -> Result<Option<(Format, &'static RecordReader)>> {
    if let Some(format) = wanted {
        return Ok(records(format));
    }
    let Some(look) = sample.look() else { return Ok(None) };
    let claims = Format::VARIANTS.iter().filter_map(|format| records(*format));
    sole(claims.filter(|(format, _)| format.entry().claims(&look, None)), |(format, _)| *format)
}

/// Returns the only one of these, or an error that names the first two.
fn sole<T>(mut claims: impl Iterator<Item = T>, format: impl Fn(&T) -> Format) -> Result<Option<T>> {
    let Some(first) = claims.next() else { return Ok(None) };
    match claims.next() {
        None => Ok(Some(first)),
        Some(second) => {
            let (first, second) = (format(&first), format(&second));
            let what =
                format!("the input is both {first} and {second} by its content; choose one with `--format`");
            Err(Error::new(ErrorKind::Format, what))
        }
    }
}

/// Skips white space, however much it is. An input of nothing else is an error.
fn skip_space(window: &mut Window<'_>) -> Result<()> {
    loop {
        let space = window.unread().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if space < window.unread().len() {
            return Ok(());
        }
        window.consume(space);
        if !window.grow()? {
            let what =
                if window.offset() == 0 { "the input is empty" } else { "the input holds only white space" };
            return Err(window.take_fault().unwrap_or_else(|| Error::new(ErrorKind::Empty, what)));
        }
    }
}

fn fill(window: &mut Window<'_>, wanted: usize) -> Result<()> {
    while window.unread().len() < wanted && window.grow()? {}
    Ok(())
}

/// Reads the first bytes, without waiting for more.
fn fill_once(window: &mut Window<'_>, wanted: usize) -> Result<()> {
    while window.unread().len() < wanted && window.grow_once()? {}
    Ok(())
}

/// Describes an input that is not text in UTF-8.
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

/// Returns the error of an input that is not JSON.
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

/// How lines are read.
pub(super) enum LinesAre {
    /// Documents, each of its own format.
    Each,
    /// Events or messages of this format.
    Of(&'static Entry),
}

/// Returns what lines are. `None`: the first 4,096 of them do not say, or (unless they are `all`) there are too few.
pub(super) fn lines_of(lines: &[Raw<'_>], all: bool, wanted: Option<Format>) -> Result<Option<LinesAre>> {
    for most in LINES {
        let first = Document::Lines(lines.get(..most).unwrap_or(lines).to_vec());
        let objects = signature::shown(&first);
        let events = Asked { document: &first, shown: Cow::Borrowed(&objects), wanted };
        if let Some(entry) = events.sole(Rank::Specific, false)? {
            return Ok(Some(LinesAre::Of(entry)));
        }
        for object in &objects {
            if !claimed_line(&Document::Object(object.clone()), wanted)?.parts.is_empty() {
                return Ok(Some(LinesAre::Each));
            }
        }
        if lines.len() < most && !all {
            return Ok(None);
        }
        if let Some(entry) = events.sole(Rank::Generic, false)? {
            return Ok(Some(LinesAre::Of(entry)));
        }
        if lines.len() <= most {
            break;
        }
    }
    Ok(None)
}

/// What is read of an input: a document, or documents inside it.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// Number of other items of lists that hold documents.
    pub(super) others: u64,
}

/// A document, or one inside it, with the format that claims it.
pub(super) struct Part<'a> {
    pub(super) document: Document<'a>,
    pub(super) value: Option<Raw<'a>>,
    pub(super) entry: &'static Entry,
}

/// Returns what is read of an object or a list: what is read of one of several lines, or else documents of generic
/// formats inside it.
pub(super) fn claimed<'a>(document: &Document<'a>, wanted: Option<Format>) -> Result<Parts<'a>> {
    let mut parts = claimed_line(document, wanted)?;
    if parts.parts.is_empty() && unread::of_document(document).is_none() {
        find_parts(document, None, wanted, Rank::Generic, DEPTH, &mut parts)?;
    }
    Ok(parts)
}

/// Returns what is read of an object in one of several lines: a document of a specific format, documents inside it, or
/// else one of a generic format.
pub(super) fn claimed_line<'a>(document: &Document<'a>, wanted: Option<Format>) -> Result<Parts<'a>> {
    let mut parts = Parts::default();
    find_parts(document, None, wanted, Rank::Specific, DEPTH, &mut parts)?;
    if parts.parts.is_empty() {
        let entry = Asked::of(document, wanted).sole(Rank::Generic, false)?;
        parts.parts.extend(entry.map(|entry| Part { document: document.clone(), value: None, entry }));
    }
    Ok(parts)
}

/// The formats that are asked together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    Specific,
    Generic,
}

/// Depth to which documents inside a document are searched.
const DEPTH: usize = 2;

/// Keys of definitions, and of parts of messages and responses, which are not runs.
const NO_RUNS: [&str; 10] = [
    "candidates",
    "choices",
    "content",
    "functions",
    "input",
    "output",
    "tool_calls",
    "tool_uses",
    "toolCalls",
    "tools",
];

/// Keys that name runs, under which generic formats are searched.
const RUNS: [&str; 14] = [
    "conversation",
    "conversations",
    "data",
    "records",
    "result",
    "results",
    "rows",
    "run",
    "runs",
    "session",
    "sessions",
    "trajectories",
    "trajectory",
    "transcript",
];

/// Finds the documents in an object or a list. A list may hold what its format writes as lines, and so may the only line
/// of an input.
fn find_parts<'a>(
    document: &Document<'a>,
    value: Option<Raw<'a>>,
    wanted: Option<Format>,
    rank: Rank,
    depth: usize,
    parts: &mut Parts<'a>,
) -> Result<()> {
    let lines = match document {
        Document::Object(members) => members.whole().into_iter().filter(|_| value.is_none()).collect(),
        document => document.items().to_vec(),
    };
    let lines = Document::Lines(lines);
    for (document, records) in [(document, value.is_some()), (&lines, false)] {
        if let Some(entry) = Asked::of(document, wanted).sole(rank, records)? {
            parts.parts.push(Part { document: document.clone(), value, entry });
            return Ok(());
        }
    }
    let is_run = |key: &str| match rank {
        Rank::Specific => !NO_RUNS.contains(&key),
        Rank::Generic => RUNS.contains(&key),
    };
    let inside: Vec<Raw<'a>> = match document {
        _ if depth == 0 => return Ok(()),
        Document::Object(members) => {
            members.iter().filter(|(key, _)| is_run(key)).map(|(_, value)| value).collect()
        }
        document => document.items().to_vec(),
    };
    let found = parts.parts.len();
    let mut others = 0;
    for (place, value) in inside.into_iter().enumerate() {
        if place == signature::SHOWN && parts.parts.len() == found {
            return Ok(());
        }
        let before = parts.parts.len();
        if let Some(inner) = Document::of_value(value) {
            find_parts(&inner, Some(value), wanted, rank, depth - 1, parts)?;
        }
        others += u64::from(parts.parts.len() == before);
    }
    if parts.parts.len() > found && matches!(document, Document::List(_)) {
        parts.others += others;
    }
    Ok(())
}

/// A document whose format is asked for.
struct Asked<'d, 'a> {
    document: &'d Document<'a>,
    /// Its first objects.
    shown: Cow<'d, [Members<'a>]>,
    wanted: Option<Format>,
}

impl<'d, 'a> Asked<'d, 'a> {
    fn of(document: &'d Document<'a>, wanted: Option<Format>) -> Self {
        Self { document, shown: Cow::Owned(signature::shown(document)), wanted }
    }

    /// Returns the specific format that claims the document, or the first generic one: those share a reader, which names
    /// the format of what it reads. Formats whose runs are records are asked only if the document is a value.
    fn sole(&self, rank: Rank, records: bool) -> Result<Option<&'static Entry>> {
        let is_wanted = |entry: &&Entry| self.wanted.is_none_or(|wanted| wanted == entry.format);
        let mut claiming = entries()
            .filter(|entry| matches!(entry.reader, Reader::Generic(_)) == matches!(rank, Rank::Generic))
            .filter(|entry| records || !matches!(entry.reader, Reader::Records(_)))
            .filter(is_wanted)
            .filter(|entry| entry.claims(&Look::at(self.document, &self.shown), Some(self.document)));
        match rank {
            Rank::Specific => sole(claiming, |entry| entry.format),
            Rank::Generic => Ok(claiming.next()),
        }
    }
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
        .map(|entry| format!("{} wants {}", entry.format, entry.decisive()))
        .collect();
    let what = format!("the input is of no known format: it is {seen}; {}", wants.join("; "));
    Error::new(ErrorKind::Format, what)
}
