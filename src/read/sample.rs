//! The part of an input that is looked at before its format is known: keys and first records.

use std::borrow::Cow;

use super::framing::{Framing, is_in_lines, is_truncated_line, lines};
use crate::json::{Json, Kind, Raw, Read, SkipIndex};

/// How many records of a list are looked at.
const RECORDS: usize = 64;

/// How many lines are looked at that are objects.
pub(super) const LINES: usize = 4096;

/// The members of an object, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<'a> {
    entries: Vec<(Cow<'a, str>, Raw<'a>)>,
    /// The keys of members whose values are not all there, or unsound, and where those begin.
    open: Vec<(String, usize)>,
    /// The object itself, where it is all there; of a line, where it is all of it.
    whole: Option<Raw<'a>>,
}

impl<'a> Members<'a> {
    /// The members of an object, as far as they are there.
    pub(super) fn of(json: &mut Json<'a>) -> Self {
        Self::read(json).0
    }

    /// The members of an object, and whether it is there whole, or what is wrong with it.
    fn read(json: &mut Json<'a>) -> (Self, Read<()>) {
        let mut members = Vec::with_capacity(16);
        let mut open = Vec::new();
        json.space();
        let start = json.offset();
        let read = json.members(|key, value| {
            let name = name_of(key);
            let start = value.clone();
            match value.raw() {
                Ok(raw) => members.push((name, raw)),
                Err(fault) => {
                    // Something is wrong with the value, or it is not all there.
                    open.push((name.into_owned(), start.offset()));
                    *value = start;
                    if fault.is_end() || value.skip_any().is_err() {
                        return Err(fault);
                    }
                }
            }
            Ok(())
        });
        let whole = read.is_ok().then(|| json.raw_since(start));
        (Self { entries: members, open, whole }, read)
    }

    /// The members of an object that should fill a line.
    fn of_line(line: Json<'a>) -> Self {
        let mut json = line.clone();
        let mut members = Self::checked(&mut json).unwrap_or_else(|| {
            json = line;
            Self::of(&mut json)
        });
        if json.peek_byte().is_some() {
            members.whole = None;
        }
        members
    }

    /// The object itself, where it is all there; of a line, where it is all of it.
    pub(super) fn whole(&self) -> Option<Raw<'a>> {
        self.whole
    }

    /// The members of an object that is sound, also inside of its strings.
    pub(super) fn checked(json: &mut Json<'a>) -> Option<Self> {
        json.space();
        let start = json.offset();
        let mut members = Vec::new();
        let walked = json.members(|key, value| {
            members.push((name_of(key), value.checked()?));
            Ok(())
        });
        walked.ok()?;
        Some(Self { entries: members, open: Vec::new(), whole: Some(json.raw_since(start)) })
    }

    /// The value of a key that is there whole; of several, the last.
    pub(super) fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The value of a key where it is a string that is not empty, decoded.
    pub(super) fn name(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string().filter(|name| !name.is_empty())
    }

    /// Whether there is such a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some() || self.open.iter().any(|(open, _)| open == key)
    }

    /// Whether there is such a key with a value of this kind that is there whole.
    pub(super) fn is(&self, key: &str, kind: Kind) -> bool {
        self.get(key).is_some_and(|value| value.kind() == kind)
    }

    /// Whether there is such a key with a list that is there whole, or with a value that is not.
    pub(super) fn may_be_list(&self, key: &str) -> bool {
        match self.get(key) {
            Some(value) => value.kind() == Kind::List,
            None => self.has(key),
        }
    }

    /// The keys and values in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.entries.iter().map(|(key, value)| (&**key, *value))
    }

    /// Every key.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let open = self.open.iter().map(|(key, _)| &**key);
        self.entries.iter().map(|(key, _)| &**key).chain(open)
    }
}

/// The first value of an input, or its first lines.
#[derive(Debug, Clone)]
pub(super) enum Seen<'a> {
    /// One object.
    Object(Members<'a>),
    /// A list, with the members of its first items that are objects; the last one may not be all there.
    List { objects: Vec<Members<'a>> },
    /// Lines, with the members of those that are objects.
    Lines { objects: Vec<Members<'a>> },
    /// A line that may be cut off, before a line that is not all there.
    TruncatedLine,
    /// Some other JSON value.
    Scalar,
    /// No JSON.
    Invalid,
}

/// A bounded part of an input.
#[derive(Debug, Clone)]
pub(super) struct Sample<'a> {
    pub(super) framing: Framing,
    pub(super) seen: Seen<'a>,
}

impl<'a> Sample<'a> {
    /// Looks at the first bytes of an input; `whole`: at all of them. Sound values are remembered in `index`, and are
    /// skipped at once by larger samples and by the reader.
    pub(super) fn of(bytes: &'a [u8], whole: bool, index: &'a SkipIndex) -> Self {
        let mut json = Json::with_index(bytes, Some(index));
        json.space();
        let checked = json.clone().check();
        let start = json.offset();
        let (seen, read) = first_value(&mut json);
        let truncated = is_truncated_line(bytes, whole, start, &checked);
        // Text that is sound up to its end is one truncated document, not lines.
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

    /// The members of the objects that may be records: of the object itself, of the items, of the lines.
    pub(super) fn records(&self) -> &[Members<'a>] {
        match &self.seen {
            Seen::Object(members) => std::slice::from_ref(members),
            Seen::List { objects } | Seen::Lines { objects } => objects,
            Seen::TruncatedLine | Seen::Scalar | Seen::Invalid => &[],
        }
    }

    /// Whether there are records under this key. In lines, where it may be anything, it has to be a list.
    pub(super) fn holds(&self, key: &str) -> bool {
        let in_lines = self.is_in_lines();
        self.files().iter().any(|members| if in_lines { members.may_be_list(key) } else { members.has(key) })
    }

    /// Whether lines are seen.
    pub(super) fn is_in_lines(&self) -> bool {
        matches!(self.seen, Seen::Lines { .. })
    }

    /// The members of the objects that may hold records: of the object itself, or of the lines.
    pub(super) fn files(&self) -> &[Members<'a>] {
        match &self.seen {
            Seen::List { .. } => &[],
            _ => self.records(),
        }
    }
}

/// The first value, and whether it is there whole, or what is wrong with it.
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

/// The first items of a list. They may be damaged: what follows them is looked at all the same.
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

/// A key as text.
fn name_of(key: Cow<'_, [u8]>) -> Cow<'_, str> {
    match key {
        Cow::Borrowed(key) => {
            std::str::from_utf8(key).map_or_else(|_| String::from_utf8_lossy(key), Cow::Borrowed)
        }
        Cow::Owned(key) => Cow::Owned(String::from_utf8_lossy(&key).into_owned()),
    }
}
