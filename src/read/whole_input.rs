//! Inputs that are held as a whole: one document, an archive, or lines.

use std::collections::BTreeSet;

use super::document::{Document, Parsed, closed};
use super::envelope;
use super::format::Reader;
use super::formats::{chat, events_lists, otel, unread};
use super::lossy::LossyUtf8;
use super::members::Members;
use super::recognise::{self, Claimed};
use super::runs::Runs;
use super::session;
use super::window::Window;
use super::{Format, framing, snapshots};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Json, Kind, Raw, SkipIndex};
use crate::trace::RunSummary;

/// Reads an input that must be seen whole. `index` holds the known ends of its first values.
pub(super) fn read(
    window: &mut Window<'_>,
    mut index: SkipIndex,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) {
    hold_all(window, runs);
    let tally = runs.tally();
    let bytes = window.unread();
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        index.cover(bytes.len());
        read_document(&Parsed::of(bytes, Some(&index)), window, wanted, runs);
        return tally.report(bytes, runs);
    }
    runs.pass_over("inputs with bytes that are not UTF-8, read as U+FFFD", 1);
    let lossy = LossyUtf8::of(bytes);
    let text = lossy.text.as_bytes();
    let index = SkipIndex::of_length(text.len());
    let window = Window::over_lossy(&lossy, bytes, window.place(0));
    read_document(&Parsed::of(text, Some(&index)), &window, wanted, runs);
}

pub(super) fn read_archive(window: &mut Window<'_>, runs: &mut Runs<'_>) {
    hold_all(window, runs);
    #[cfg(feature = "inspect")]
    let read = super::formats::inspect_archive::read(window.unread(), runs);
    #[cfg(not(feature = "inspect"))]
    let read: Result<()> = Err(Error::new(
        ErrorKind::Format,
        "the input is a zip archive, which this build cannot read: enable the feature `inspect`",
    ));
    if let Err(error) = read {
        runs.fail(error);
    }
}

fn hold_all(window: &mut Window<'_>, runs: &mut Runs<'_>) {
    loop {
        match window.grow() {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => runs.fail(error),
        }
    }
}

pub(super) fn read_document(
    parsed: &Parsed<'_>,
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) {
    let line = parsed.as_line();
    match find(parsed, line.as_ref(), wanted) {
        Ok(Some((parsed, Claimed::By(format)))) => read_or_fail(format, parsed, window, runs),
        Ok(Some((parsed, Claimed::Inside(values)))) => {
            parsed.pass_over_others(window, runs);
            read_inside(&parsed.document, &values, window, wanted, runs);
        }
        Ok(Some((parsed, Claimed::Wrapped(list, key)))) => {
            parsed.pass_over_others(window, runs);
            envelope::read_wrapped(&parsed.document, list, &key, window, wanted, runs);
        }
        Ok(Some((parsed, Claimed::Each))) => {
            parsed.pass_over_others(window, runs);
            runs.reading.wants_document = true;
            // Lines may be read in pieces, so each is judged by itself.
            runs.keys = match &parsed.document {
                Document::Lines(_) => BTreeSet::new(),
                list => events_lists::keys_of_runs(list.items()),
            };
            for line in latest(parsed.document.items(), runs) {
                read_sound_line(line, window, wanted, runs);
            }
        }
        Ok(None) => {
            let is_empty = matches!(&parsed.document, Document::Lines(lines) if lines.is_empty());
            if read_after_text(window, wanted, runs) || envelope::read_spelled(parsed, window, wanted, runs) {
                return;
            }
            if !is_empty || !read_damaged(window, wanted, runs) && !read_first(window, wanted, runs) {
                fail_at_start(recognise::unrecognised(&parsed.document, wanted), window, runs);
            }
        }
        Err(error) => fail_at_start(error, window, runs),
    }
}

/// Maximum number of lines of text that may precede a document.
const LINES_OF_TEXT: u64 = 8;

/// Reads a document after lines of text, as a command prints them before its output. Returns false if there
/// is no document that a format claims.
fn read_after_text(window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) -> bool {
    let bytes = window.unread();
    let is_json = |text: &[u8]| Json::new(text).is_sound();
    let mut start = 0;
    for count in 1..=LINES_OF_TEXT {
        let rest = bytes.get(start..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', rest) else { return false };
        let (line, rest) = rest.split_at(end + 1);
        start += end + 1;
        if is_json(line) {
            return false;
        }
        if is_json(rest) {
            let index = SkipIndex::of_length(rest.len());
            let parsed = Parsed::of(rest, Some(&index));
            let is_read =
                parsed.value.is_some() && matches!(recognise::claimed(&parsed.document, wanted), Ok(Some(_)));
            if is_read {
                runs.pass_over("lines of text before the document", count);
                read_document(&parsed, &Window::over_part(rest, window.place(start)), wanted, runs);
            }
            return is_read;
        }
    }
    false
}

/// Finds the format or the nested documents of a whole input, or else the format of its only line.
fn find<'p, 'a>(
    parsed: &'p Parsed<'a>,
    line: Option<&'p Parsed<'a>>,
    wanted: Option<Format>,
) -> Result<Option<(&'p Parsed<'a>, Claimed<'a>)>> {
    let found = match &parsed.document {
        Document::Lines(lines) => recognise::lines_of(lines, true, wanted)?,
        document => recognise::claimed(document, wanted)?,
    };
    let Some(line) = line.filter(|_| found.is_none()) else { return Ok(found.map(|found| (parsed, found))) };
    let found = recognise::claimed(&line.document, wanted)?;
    Ok(found.filter(|found| matches!(found, Claimed::By(_))).map(|found| (line, found)))
}

/// Returns the format of a whole input that is one document, or lines of one format.
pub(super) fn format_of(parsed: &Parsed<'_>, wanted: Option<Format>) -> Result<Option<Format>> {
    let line = parsed.as_line();
    Ok(match find(parsed, line.as_ref(), wanted)? {
        Some((found, Claimed::By(format))) if std::ptr::eq(found, parsed) => Some(format),
        _ => None,
    })
}

/// Reports an error at the first byte that is not white space.
fn fail_at_start(error: Error, window: &Window<'_>, runs: &mut Runs<'_>) {
    let start = window.unread().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    runs.fail(error.at(window.place(start).location()));
}

/// Reads the undamaged part of an input without a valid document or line, and reports why it is not JSON.
/// Returns false if it begins with a JSON value.
fn read_damaged(window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) -> bool {
    // The spans before the damage are still read.
    if otel::read_damaged(window.unread(), window, runs) {
        return true;
    }
    let Some(error) = recognise::no_json(window) else { return false };
    if error.kind() == ErrorKind::Truncated
        && let Some(text) = closed(window.unread())
    {
        // If the repaired text is not recognised, only the truncation is reported.
        let parsed = Parsed::of(&text, None);
        match recognise::claimed(&parsed.document, wanted) {
            Ok(Some(Claimed::By(format))) => drop(read_as(format, &parsed, window, runs)),
            // In a truncated object, the remaining members may not form runs without the lost ones.
            Ok(Some(Claimed::Inside(values))) if matches!(parsed.document, Document::List(_)) => {
                read_inside(&parsed.document, &values, window, wanted, runs);
            }
            Ok(Some(Claimed::Wrapped(list, key))) => {
                envelope::read_wrapped(&parsed.document, list, &key, window, wanted, runs);
            }
            Ok(_) | Err(_) => {}
        }
    }
    runs.fail(error);
    true
}

/// Reads a document that other bytes follow, such as the rest of a longer document that it was written over. Returns
/// false if there is none that a format claims.
fn read_first(window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) -> bool {
    let bytes = window.unread();
    let mut json = Json::new(bytes);
    let Some((first, rest)) = json.skip().ok().and_then(|()| bytes.split_at_checked(json.offset())) else {
        return false;
    };
    let parsed = Parsed::of(first, None);
    let is_read =
        parsed.value.is_some() && matches!(recognise::claimed(&parsed.document, wanted), Ok(Some(_)));
    if is_read {
        runs.pass_over("bytes after the document", rest.len() as u64);
        read_document(&parsed, &Window::over_part(first, window.place(0)), wanted, runs);
    }
    is_read
}

fn read_or_fail(format: Format, parsed: &Parsed<'_>, window: &Window<'_>, runs: &mut Runs<'_>) {
    if let Err(error) = read_as(format, parsed, window, runs) {
        runs.fail(error);
    }
}

/// Reads a document with this format's reader. Fails if it finds no run, unless the reader is [`Reader::MayBeEmpty`].
fn read_as(format: Format, parsed: &Parsed<'_>, window: &Window<'_>, runs: &mut Runs<'_>) -> Result<()> {
    runs.named = Some(format);
    if runs.options.places {
        let lines = if parsed.value.is_none() { parsed.document.items() } else { &[] };
        for line in lines {
            runs.places.add_line(line.bytes(), window.place(line.offset()).location().line);
        }
        if let Some(value) = parsed.value {
            runs.places.add_document(value.bytes(), window.place(value.offset()));
        }
    }
    parsed.pass_over_others(window, runs);
    let count = |runs: &Runs<'_>| (runs.reading.counts.runs, runs.reading.counts.errors);
    let before = count(runs);
    let mut read = Ok(());
    let mut found = Ok(());
    match format.reader() {
        Reader::Records(_) => {}
        Reader::Document(read) => read(&parsed.document, runs),
        Reader::Object(read) => {
            if let Document::Object(members) = &parsed.document {
                read(members, runs);
            }
        }
        Reader::Fallible(read) | Reader::MayBeEmpty(read) | Reader::Generic(read) | Reader::Last(read) => {
            found = read(&parsed.document, runs);
        }
        Reader::Session(reader) => session::read_document(reader, &parsed.document, runs),
    }
    if let Err(fault) = found {
        let location = window.place(fault.at()).location();
        let error = fault.into_error().at(location);
        if error.kind() == ErrorKind::Format {
            runs.named = None;
        }
        read = Err(error);
    }
    runs.settle(window);
    runs.places.clear();
    if let Some(format) = runs.named.take() {
        runs.is_of(format);
    }
    let may_be_empty = match format.reader() {
        Reader::Session(_) => matches!(parsed.document, Document::Lines(_)),
        reader => matches!(reader, Reader::MayBeEmpty(_)),
    };
    if before == count(runs) && !may_be_empty && read.is_ok() {
        return Err(Error::new(ErrorKind::Empty, format!("no run found in the input (format {format})")));
    }
    read
}

/// Returns the items that no later item continues, and counts the others as skipped.
pub(super) fn latest<'a>(items: &[Raw<'a>], runs: &mut Runs<'_>) -> Vec<Raw<'a>> {
    let continued = snapshots::continued(items);
    runs.pass_over("snapshots that a later one continues", continued.len() as u64);
    let items = items.iter().enumerate().filter(|(place, _)| !continued.contains(place));
    items.map(|(_, item)| *item).collect()
}

/// Sets what is around the next runs: facts of this object, or else of those around it, and the reward only of the
/// `only` run. Returns what was around before.
pub(super) fn read_around(members: &Members<'_>, only: bool, runs: &mut Runs<'_>) -> RunSummary {
    let outer = std::mem::replace(&mut runs.around, chat::around(members));
    let inner = &mut runs.around.metadata;
    inner.task = inner.task.take().or_else(|| outer.metadata.task.clone());
    inner.model = inner.model.take().or_else(|| outer.metadata.model.clone());
    // A reward is handed to the only run, not to the attempts of one.
    runs.around.reward = runs.around.reward.or(outer.reward.filter(|_| only));
    outer
}

fn read_inside(
    holder: &Document<'_>,
    values: &[Raw<'_>],
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) {
    let around = holder.members();
    let outer = read_around(&around, values.len() == 1, runs);
    let keys = std::mem::replace(&mut runs.keys, events_lists::keys_of_runs(values));
    let mut members = around.iter();
    for value in latest(values, runs) {
        let Some(document) = Document::of_value(value) else {
            runs.pass_over("values of unknown format", 1);
            continue;
        };
        // Several values are runs by task if nothing else is next to them; several lists are in any case.
        if values.len() > 1 && (value.kind() == Kind::List || around.iter().count() == values.len()) {
            let named = members.find(|(_, named)| named.offset() == value.offset());
            runs.around.metadata.task = named.map(|(name, _)| name.to_owned());
        }
        if !read_part(&Parsed::whole(document, Some(value)), value, window, wanted, runs) {
            runs.pass_over("values of unknown format", 1);
        }
    }
    (runs.around, runs.keys) = (outer, keys);
}

/// Reads an input with a separate document on each line.
pub(super) fn read_each(window: &mut Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) -> Result<()> {
    loop {
        let whole = window.is_whole();
        let (lines, end) = framing::complete_lines(window);
        let index = SkipIndex::of_length(end);
        for line in lines {
            let line = line.with_index(Some(&index));
            read_line(line, window, wanted, runs);
        }
        window.consume(end);
        if !window.grow()? && whole {
            return Ok(());
        }
    }
}

fn read_line(line: Raw<'_>, window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) {
    if simdutf8::basic::from_utf8(line.bytes()).is_err() {
        runs.pass_over("lines with bytes that are not UTF-8, read as U+FFFD", 1);
        let lossy = LossyUtf8::of(line.bytes());
        let window = Window::over_lossy(&lossy, line.bytes(), window.place(line.offset()));
        return read_sound_line(Raw::over(lossy.text.as_bytes(), 0), &window, wanted, runs);
    }
    read_sound_line(line, window, wanted, runs);
}

fn read_sound_line(line: Raw<'_>, window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) {
    let parsed = Parsed::of_line(line);
    let tally = runs.tally();
    if !matches!(parsed.document, Document::Object(_)) {
        return parsed.pass_over_others(window, runs);
    }
    if read_part(&parsed, line, window, wanted, runs) {
        return tally.report(line.bytes(), runs);
    }
    match unread::of_document(&parsed.document) {
        Some(name) => runs.pass_over(format!("lines of {name}, which are not read"), 1),
        None => runs.pass_over("lines of unknown format", 1),
    }
}

/// Reads a value inside an input. Returns false if no format claims it.
fn read_part(
    parsed: &Parsed<'_>,
    value: Raw<'_>,
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) -> bool {
    match recognise::claimed(&parsed.document, wanted) {
        Ok(Some(Claimed::By(format))) => read_or_fail(format, parsed, window, runs),
        Ok(Some(Claimed::Inside(values))) => read_inside(&parsed.document, &values, window, wanted, runs),
        Ok(Some(Claimed::Wrapped(list, key))) => {
            envelope::read_wrapped(&parsed.document, list, &key, window, wanted, runs);
        }
        Ok(_)
            if wanted.is_none_or(|wanted| wanted == Format::Events)
                && events_lists::is_like(&parsed.document.members(), &runs.keys) =>
        {
            read_or_fail(Format::Events, parsed, window, runs);
        }
        Ok(_) => return false,
        Err(error) => runs.fail(error.at(window.place(value.offset()).location())),
    }
    true
}
