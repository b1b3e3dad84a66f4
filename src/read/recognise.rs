//! Recognises the format of an input by its content.
//!
//! Samples of fixed sizes are checked, the smallest first, until one decides. This way, a slice and a stream are
//! recognised alike. Records and lines are recognised in any sample, because they are streamed. A document is
//! checked as a whole. A specific format takes precedence over a generic one (chats). It is an error if two
//! specific formats match.

use std::slice;

use super::Format;
use super::document::Document;
use super::envelope::{wrapped_list, wrapping_key};
use super::format::{Reader, RecordReader};
use super::formats::{chat, events_lists, unread};
use super::framing::{self, Framing};
use super::inside::{ByWhom, DEPTH, inside};
use super::members::Members;
use super::not_text::{SQLITE, TAR, USTAR, not_text};
use super::sample::Sample;
use super::session::{self, Finder, SessionReader};
use super::signature::{self, Look};
use super::snapshots;
use super::window::Window;
use crate::error::{Error, ErrorKind, Result, echo};
use crate::json::{Json, Kind, Raw, SkipIndex};

/// The sizes of the samples, in bytes. If the last does not decide, the whole input is checked.
const SAMPLES: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Numbers of lines that are checked: if none of the first 16 decides, the first 256 are checked, and so on.
const LINES: [usize; 3] = [16, 256, super::sample::LINES];

pub(super) enum Recognised {
    Records(Format, &'static RecordReader, Framing),
    /// As a whole. The ends of its first values are known.
    Whole(SkipIndex),
    /// Line by line, each in its own format.
    Each,
    /// Line by line, as a session in this format.
    Session(Format, &'static SessionReader),
    Archive,
}

/// Finds the format of an input. Consumes a byte order mark and leading white space.
pub(super) fn recognise(window: &mut Window<'_>, wanted: Option<Format>) -> Result<Recognised> {
    window.fill_once(START)?;
    if window.unread().starts_with(b"PK") && wanted.is_none_or(|wanted| wanted == Format::Inspect) {
        return Ok(Recognised::Archive);
    }
    if window.unread().starts_with(SQLITE) {
        window.fill(SAMPLES[0])?;
    } else if !matches!(window.unread().first(), Some(b'{' | b'[')) {
        window.fill(TAR + USTAR.len())?;
    }
    if let Some(what) = not_text(window.unread()) {
        return Err(Error::new(ErrorKind::Format, what));
    }
    window.skip_byte_order_mark();
    skip_space(window)?;
    // A recorded response or a history as text may hold lines of events, which are not a run.
    if wanted.is_none() && matches!(window.unread().first(), Some(b'h' | b'i' | b'v' | b'w' | b'-' | b'<')) {
        window.fill(HEAD)?;
        if let Some(name) = unread::of_text(window.unread()) {
            return Err(unread::error(name));
        }
    }
    let mut finder = Finder::default();
    loop {
        // In a slice, only as much is checked as a stream would hold at this point.
        let bytes = window.unread();
        let start = bytes.get(..SAMPLES[0]).unwrap_or(bytes);
        match finder.look(start, window.is_whole() && start.len() == bytes.len(), wanted) {
            session::Found::Session(format) => {
                if let Reader::Session(reader) = format.reader() {
                    return Ok(Recognised::Session(format, reader));
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
        window.fill(most + 1)?;
        let bytes = window.unread();
        let whole = bytes.len() <= most;
        let bytes = bytes.get(..most).unwrap_or(bytes);
        index.cover(bytes.len());
        let sample = Sample::of(bytes, whole, &index);
        let is_lines = matches!(sample, Sample::Lines(_));
        if !matches!(sample, Sample::TruncatedLine)
            && let Some((format, reader)) = claimed_records(&sample, wanted)?
        {
            let framing = match is_lines {
                true => Framing::Lines,
                false if whole => Framing::Values,
                false => framing::of_first(window, most)?,
            };
            return Ok(Recognised::Records(format, reader, framing));
        }
        if let Sample::Lines(objects) = sample {
            let lines: Vec<Raw<'_>> = objects.iter().filter_map(Members::whole).collect();
            match lines_of(&lines, whole, wanted)? {
                // Lines that repeat each other must be seen together.
                Some(Claimed::Each)
                    if !lines.iter().take(LINES[1]).any(|line| snapshots::is_snapshot(*line)) =>
                {
                    return Ok(Recognised::Each);
                }
                Some(_) => return Ok(Recognised::Whole(index)),
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

fn records(format: Format) -> Option<(Format, &'static RecordReader)> {
    match format.reader() {
        Reader::Records(reader) => Some((format, reader)),
        _ => None,
    }
}

/// Returns the record format that claims the sample. With `wanted`, returns that format if it is a record
/// format.
fn claimed_records(
    sample: &Sample<'_>,
    wanted: Option<Format>,
) -> Result<Option<(Format, &'static RecordReader)>> {
    if let Some(format) = wanted {
        return Ok(records(format));
    }
    let Some(look) = sample.look() else { return Ok(None) };
    let all = Format::VARIANTS.iter().copied().filter(|format| records(*format).is_some());
    Ok(sole(all.filter(|format| format.claims(&look, None)))?.and_then(records))
}

/// Returns the only claim, if any. Several claims are an error that names the first two.
fn sole(mut claims: impl Iterator<Item = Format>) -> Result<Option<Format>> {
    let first = claims.next();
    let (Some(one), Some(other)) = (first, claims.next()) else { return Ok(first) };
    let what = format!("the content of the input matches both {one} and {other}; choose one with `--format`");
    Err(Error::new(ErrorKind::Format, what))
}

/// Skips white space of any length. An input that holds nothing else is an error.
fn skip_space(window: &mut Window<'_>) -> Result<()> {
    loop {
        let space = window.unread().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        window.consume(space);
        if !window.unread().is_empty() {
            return Ok(());
        }
        if !window.grow()? {
            let what =
                if window.offset() == 0 { "the input is empty" } else { "the input holds only white space" };
            return Err(window.take_fault().unwrap_or_else(|| Error::new(ErrorKind::Empty, what)));
        }
    }
}

/// Number of first bytes that tell texts and binary files apart.
const START: usize = 24;

/// Number of first bytes that tell texts apart.
const HEAD: usize = 64;

/// Returns the error for an input that does not begin with a JSON value; `None` if it does.
pub(super) fn no_json(window: &Window<'_>) -> Option<Error> {
    let fault = Json::new(window.unread()).check().err()?;
    let location = window.place(fault.at()).location();
    if let Some(name) = unread::of_text(window.unread()) {
        return Some(unread::error(name).at(location));
    }
    let error = fault.into_error();
    let error = match error.kind() {
        ErrorKind::Truncated => error,
        kind if unread::is_csv(window.unread()) => {
            Error::new(kind, "the input is CSV, not JSON: convert it to JSON lines, an object for each row")
        }
        kind => Error::new(kind, format!("the input is not JSON: {}", error.message())),
    };
    Some(error.at(location))
}

pub(super) enum Claimed<'a> {
    /// All of it, in this format.
    By(Format),
    /// The documents inside it, each in its own format.
    Inside(Vec<Raw<'a>>),
    /// The lines of a recording, under this key of the items of the list, or else of the items of the document.
    Wrapped(Option<Raw<'a>>, String),
    /// Its lines, each in its own format.
    Each,
}

/// Decides how to read these lines. Returns `None` if the first 4,096 do not decide, or if there are too few of
/// them and they are not `all` the lines of the input.
pub(super) fn lines_of(
    lines: &[Raw<'_>],
    all: bool,
    wanted: Option<Format>,
) -> Result<Option<Claimed<'static>>> {
    for most in LINES {
        let first = Document::Lines(lines.get(..most).unwrap_or(lines).to_vec());
        let objects = signature::shown(&first);
        let events = Asked { document: &first, look: Look::Lines(&objects), wanted };
        if let Some(format) = events.specific()? {
            return Ok(Some(Claimed::By(format)));
        }
        for object in &objects {
            let document = Document::Object(object.clone());
            let line = Asked { document: &document, look: Look::of(object), wanted };
            if line.decisive()?.or_else(|| line.last()).is_some() {
                return Ok(Some(Claimed::Each));
            }
        }
        if lines.len() < most && !all {
            return Ok(None);
        }
        if let Some(key) = wrapping_key(first.items(), wanted) {
            return Ok(Some(Claimed::Wrapped(None, key)));
        }
        if let Some(format) = events.generic().or_else(|| events.last()) {
            return Ok(Some(Claimed::By(format)));
        }
        if lines.len() <= most {
            break;
        }
    }
    // Documents inside lines.
    let is_generic = |wanted: Format| matches!(wanted.reader(), Reader::Generic(_) | Reader::Last(_));
    let is_asked = wanted.is_none_or(is_generic);
    let lines = if is_asked { lines } else { &[] };
    for line in lines.iter().take(LINES[1]).filter_map(|line| Document::of_value(*line)) {
        let members = line.members();
        // Lines without a name of their own may be copies of one growing run. A `task` may be that of all lines.
        let is_own = |task: String| members.name("task").is_none_or(|all| all != task);
        let is_named =
            chat::metadata(&members).task.is_some_and(is_own) || members.is("messages", Kind::String);
        let claimed = if is_named { claimed(&line, wanted)?.is_some() } else { false };
        if claimed || inside(&line, wanted, DEPTH, ByWhom::Any)?.is_some() {
            return Ok(Some(Claimed::Each));
        }
    }
    Ok(None)
}

pub(super) fn claimed<'a>(document: &Document<'a>, wanted: Option<Format>) -> Result<Option<Claimed<'a>>> {
    let shown = signature::shown(document);
    let asked = Asked { document, look: Look::at(document, &shown), wanted };
    if let Some(format) = asked.specific()? {
        return Ok(Some(Claimed::By(format)));
    }
    if let Some((list, key)) = wrapped_list(document, wanted) {
        return Ok(Some(Claimed::Wrapped(list, key)));
    }
    if let Some(format) = asked.decisive_if_not_specific() {
        return Ok(Some(Claimed::By(format)));
    }
    if unread::of_document(document).is_some() {
        return Ok(asked.last().map(Claimed::By));
    }
    if let Some(values) = inside(document, wanted, DEPTH, ByWhom::Decisive)? {
        return Ok(Some(Claimed::Inside(values)));
    }
    if let Some(format) = asked.last() {
        return Ok(Some(Claimed::By(format)));
    }
    Ok(inside(document, wanted, DEPTH, ByWhom::Any)?.map(Claimed::Inside))
}

/// A document whose format is to be determined.
pub(super) struct Asked<'d, 'a> {
    pub(super) document: &'d Document<'a>,
    pub(super) look: Look<'d, 'a>,
    pub(super) wanted: Option<Format>,
}

impl Asked<'_, '_> {
    fn claiming(&self, is_asked: fn(&Reader) -> bool) -> impl Iterator<Item = Format> {
        let asked = self.wanted.as_ref().map_or(Format::VARIANTS, slice::from_ref).iter().copied();
        asked
            .filter(move |format| is_asked(format.reader()))
            .filter(|format| format.claims(&self.look, Some(self.document)))
    }

    /// Returns the specific format that claims the document. It is an error if two do.
    pub(super) fn specific(&self) -> Result<Option<Format>> {
        let is_specific =
            |reader: &Reader| !matches!(reader, Reader::Records(_) | Reader::Generic(_) | Reader::Last(_));
        sole(self.claiming(is_specific))
    }

    /// Returns the first generic format that claims the document. Chat formats share a reader, which names
    /// the format that it finds.
    pub(super) fn generic(&self) -> Option<Format> {
        self.claiming(|reader| matches!(reader, Reader::Generic(_))).next()
    }

    /// Returns the specific format that claims the document, or else the first generic one. If the document lists
    /// calls, the formats that are tried last are considered, too.
    fn decisive(&self) -> Result<Option<Format>> {
        Ok(self.specific()?.or_else(|| self.decisive_if_not_specific()))
    }

    /// Like [`Asked::decisive`], if no specific format claims the document.
    fn decisive_if_not_specific(&self) -> Option<Format> {
        let listed = || self.last().filter(|_| events_lists::lists_calls(self.document));
        self.generic().or_else(listed)
    }

    /// Among the formats that are tried last, returns the first that claims the document.
    pub(super) fn last(&self) -> Option<Format> {
        self.claiming(|reader| matches!(reader, Reader::Last(_))).next()
    }
}

/// Returns the error for a document that no format claims: what it holds, and what the wanted format expects.
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
    let what = match wanted {
        Some(format) => format!("the input is not {format}: found {seen}, expected {}", format.signature()),
        None => format!("unknown input format: found {seen}"),
    };
    Error::new(ErrorKind::Format, what)
}
