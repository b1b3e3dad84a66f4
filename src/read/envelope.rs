//! Recordings inside other records: logs that wrap each line in an object of their own, such as `{"ts": …, "event": {…}}`
//! or Docker's `{"log": "{…}\n", "stream": "stdout"}`, and results that keep an agent's output as a string.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Format;
use super::document::{Document, Parsed};
use super::format::Reader;
use super::formats::events_lists::shows_a_run;
use super::formats::events_what::What;
use super::lossy::LossyUtf8;
use super::members::Members;
use super::recognise::Asked;
use super::runs::Runs;
use super::signature::{self, Look};
use super::whole_input::{read_around, read_document};
use super::window::Window;
use crate::json::{Json, Kind, Raw};

/// Number of first items that are checked for a wrapped line or a string that spells a recording.
const CHECKED: usize = 64;

/// Number of first lines that must not all be runs.
const RUNS: usize = 4;

/// Keys of an envelope that tell runs apart.
const IDS: [&str; 6] = ["run_id", "session_id", "conversation_id", "task_id", "case_id", "agent"];

/// Keys of strings that may spell a chat. Under others, it may be a request, of which a run has many.
const CHATS: [&str; 16] = [
    "chat",
    "conversation",
    "conversations",
    "dialog",
    "dialogue",
    "episode",
    "history",
    "log",
    "messages",
    "rollout",
    "session",
    "trace",
    "traj",
    "trajectory",
    "transcript",
    "turns",
];

/// Depth at which strings are searched.
const DEPTH: usize = 3;

/// Finds the list whose items wrap lines, `None` for that of the document, and the key of the lines.
pub(super) fn wrapped_list<'a>(
    document: &Document<'a>,
    wanted: Option<Format>,
) -> Option<(Option<Raw<'a>>, String)> {
    let Document::Object(members) = document else {
        let items = document.items();
        let first = items.get(..CHECKED).unwrap_or(items);
        return wrapping_key(first, wanted).map(|key| (None, key));
    };
    let mut lists = members.iter().filter(|(_, value)| value.kind() == Kind::List);
    lists.find_map(|(_, list)| Some((Some(list), wrapping_key(&list.first_items(CHECKED), wanted)?)))
}

/// Finds the key under which the first items wrap lines that a specific format claims.
pub(super) fn wrapping_key(items: &[Raw<'_>], wanted: Option<Format>) -> Option<String> {
    let items = items.iter().copied().filter(|item| item.kind() == Kind::Object);
    let items = Document::Lines(items.collect());
    // Most lists are of messages: the first one says so, and the others need not be read.
    if items.each().any(|item| is_event(&item)) {
        return None;
    }
    let mut first: Vec<Members<'_>> = items.each().collect();
    let own = first.first().map(run_of);
    first.retain(|item| Some(run_of(item)) == own);
    let mut counts = BTreeMap::<&str, usize>::new();
    for (key, value) in first.iter().flat_map(Members::iter) {
        let may_be_line = value.kind() == Kind::Object || value.bytes().starts_with(b"\"{");
        *counts.entry(key).or_default() += usize::from(may_be_line);
    }
    for (key, count) in counts {
        // The others may be what the agent's process prints besides.
        if 4 * count >= first.len() {
            let inner: Vec<_> = first.iter().filter_map(|item| on_one_line(item.get(key)?)).collect();
            let lines = Document::Lines(inner.iter().map(|(_, text)| Raw::over(text, 0)).collect());
            if are_lines(&lines, wanted) && !is_of_other(&items, wanted) {
                return Some(key.to_owned());
            }
        }
    }
    None
}

/// Returns true if a specific format claims these lines together, and not each of the first few as a run of its own.
fn are_lines(lines: &Document<'_>, wanted: Option<Format>) -> bool {
    let is_run = |line: Members<'_>| specific(&Document::Object(line), wanted).is_some();
    specific(lines, wanted).is_some() && !lines.each().take(RUNS).all(is_run)
}

/// Returns true if an item says itself who speaks or acts. What it wraps is then only its source.
fn is_event(item: &Members<'_>) -> bool {
    ["role", "kind", "type"].iter().any(|key| item.name(key).is_some_and(|word| What::of(&word).is_some()))
}

/// Returns true if a specific format claims a document that should be of another one.
fn is_of_other(document: &Document<'_>, wanted: Option<Format>) -> bool {
    wanted.is_some() && specific(document, None).is_some()
}

/// Returns the ids by which an item says which run it is of.
fn run_of<'a>(item: &Members<'a>) -> [Option<Cow<'a, str>>; IDS.len()] {
    IDS.map(|key| item.ident(key))
}

/// Returns the only specific format that claims a document.
fn specific(document: &Document<'_>, wanted: Option<Format>) -> Option<Format> {
    let shown = signature::shown(document);
    Asked { document, look: Look::at(document, &shown), wanted }.specific().ok().flatten()
}

/// Returns the lines under a key of each item: one text for each run that the items name. Also returns the number of
/// items without such a line.
fn unwrap(items: &[Raw<'_>], key: &str) -> (Vec<LossyUtf8>, u64) {
    let (mut runs, mut places, mut others) = (Vec::<LossyUtf8>::new(), BTreeMap::new(), 0);
    for item in items {
        let item = Members::from(*item);
        let Some((offset, line)) = item.get(key).and_then(on_one_line) else {
            others += 1;
            continue;
        };
        let place = *places.entry(run_of(&item)).or_insert(runs.len());
        if place == runs.len() {
            runs.push(LossyUtf8::default());
        }
        if let Some(run) = runs.get_mut(place) {
            run.push_line(&line, offset);
        }
    }
    (runs, others)
}

/// Returns an object, or the object that a string spells, on one line, and where it begins.
fn on_one_line(value: Raw<'_>) -> Option<(usize, Cow<'_, [u8]>)> {
    let is_feed = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let (offset, text) = match value.kind() {
        Kind::Object => (value.offset(), Cow::Borrowed(value.bytes())),
        _ => (value.offset() + 1, Cow::Owned(value.string()?.trim().as_bytes().to_vec())),
    };
    if !text.starts_with(b"{") || matches!(text, Cow::Owned(_)) && !Json::new(&text).is_sound() {
        return None;
    }
    // Outside strings, which cannot hold line feeds, a space is as good.
    let of_line = |text: &[u8]| text.iter().map(|byte| if is_feed(byte) { b' ' } else { *byte }).collect();
    Some((offset, if text.iter().any(is_feed) { Cow::Owned(of_line(&text)) } else { text }))
}

/// Reads the lines under a key of the items of a list, or else of the document.
pub(super) fn read_wrapped(
    document: &Document<'_>,
    list: Option<Raw<'_>>,
    key: &str,
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) {
    let items = list.and_then(Raw::items);
    let (texts, others) = unwrap(items.as_deref().unwrap_or(document.items()), key);
    runs.pass_over("records that wrap no line", others);
    let outer = read_around(&document.members(), texts.len() == 1, runs);
    for text in texts {
        read_text(&text, window, wanted, runs);
    }
    runs.around = outer;
}

fn read_text(text: &LossyUtf8, window: &Window<'_>, wanted: Option<Format>, runs: &mut Runs<'_>) {
    let part = Window::over_lossy(text, window.unread(), window.place(0));
    read_document(&Parsed::of(text.text.as_bytes(), None), &part, wanted, runs);
}

/// Reads recordings that strings in a document spell, at most one in each object. Returns false if there are none, or
/// none in the first items of many.
pub(super) fn read_spelled(
    parsed: &Parsed<'_>,
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) -> bool {
    if is_of_other(&parsed.document, wanted) {
        return false;
    }
    let before = runs.reading.counts.runs;
    let mut others = 0;
    for (place, members) in parsed.document.each().enumerate() {
        if place == CHECKED && runs.reading.counts.runs == before {
            return false;
        }
        let before = runs.reading.counts.runs;
        spelled_in(&members, DEPTH, window, wanted, runs);
        others += u64::from(runs.reading.counts.runs == before);
    }
    let is_read = runs.reading.counts.runs > before;
    if is_read {
        parsed.pass_over_others(window, runs);
        runs.pass_over("values of unknown format", others);
    }
    is_read
}

fn spelled_in(
    members: &Members<'_>,
    depth: usize,
    window: &Window<'_>,
    wanted: Option<Format>,
    runs: &mut Runs<'_>,
) {
    let outer = read_around(members, false, runs);
    if let Some(text) = members.iter().find_map(|(key, value)| spelled(key, value, wanted)) {
        read_text(&text, window, wanted, runs);
    } else if depth > 0 {
        for (_, value) in members.iter() {
            let items = value.items().unwrap_or_else(|| vec![value]);
            for item in items.into_iter().filter(|item| item.kind() == Kind::Object) {
                spelled_in(&Members::from(item), depth - 1, window, wanted, runs);
            }
        }
    }
    runs.around = outer;
}

/// Returns the text of a string that spells a recording: of a specific format, or a chat under one of [`CHATS`].
/// A single line of a session is none.
fn spelled(key: &str, value: Raw<'_>, wanted: Option<Format>) -> Option<LossyUtf8> {
    let text = value.string()?;
    if !text.trim_start().starts_with(['{', '[']) && !text.contains("\n{") {
        return None;
    }
    let parsed = Parsed::of(text.as_bytes(), None);
    let is_recording = |document: &Document<'_>| {
        let shown = signature::shown(document);
        let asked = Asked { document, look: Look::at(document, &shown), wanted };
        match asked.specific() {
            Ok(Some(format)) => !matches!(format.reader(), Reader::Session(_)) || document.items().len() > 1,
            Ok(None) => CHATS.contains(&key) && asked.generic().is_some() && shows_a_run(document),
            Err(_) => false,
        }
    };
    let is_claimed =
        is_recording(&parsed.document) || parsed.as_line().is_some_and(|line| is_recording(&line.document));
    is_claimed.then(|| LossyUtf8::of_string(text.into_owned(), value.offset() + 1))
}
