//! A whole input of a format whose runs are not records of their own, taken apart: a document, or lines.

use super::sample::{Members, lines};
use crate::json::{Ends, Json, Kind, Raw, Read};

/// A whole input of a format whose runs are not records of their own.
#[derive(Debug, Clone)]
pub(super) enum Document<'a> {
    /// One object.
    Object(Members<'a>),
    /// One list, with its items.
    List(Vec<Raw<'a>>),
    /// Objects, one in each line. What else there was has been counted.
    Lines(Lines<'a>),
}

impl<'a> Document<'a> {
    /// The items of a list, or the objects in lines.
    pub(super) fn items(&self) -> &[Raw<'a>] {
        match self {
            Self::Object(_) => &[],
            Self::List(items) => items,
            Self::Lines(lines) => &lines.objects,
        }
    }
}

/// What keys show: which formats an object may be a line of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Item,
    Message,
    Payload,
    ThreadId,
    /// A key without which an object holds no spans.
    Span,
}

impl Sign {
    const COUNT: usize = 5;

    pub(super) fn of(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"item" => Self::Item,
            b"message" => Self::Message,
            b"payload" => Self::Payload,
            b"thread_id" => Self::ThreadId,
            b"resourceSpans" | b"resource_spans" | b"resourceLogs" | b"resource_logs" | b"batches"
            | b"trace" | b"data" | b"spans" | b"context" | b"spanContext" | b"span_context" | b"span_id"
            | b"spanId" | b"context.span_id" | b"context.spanId" => Self::Span,
            _ => return None,
        })
    }
}

/// What became of a line.
enum Added {
    /// It is an object.
    Object,
    /// It is some other sound value.
    NoObject,
    NoJson,
}

/// Objects in lines.
#[derive(Debug, Clone)]
pub(super) struct Lines<'a> {
    objects: Vec<Raw<'a>>,
    /// Which signs one of them has.
    has: [bool; Sign::COUNT],
}

impl<'a> Lines<'a> {
    /// Objects of whose keys nothing is known.
    pub(super) fn of(objects: Vec<Raw<'a>>) -> Self {
        Self { objects, has: [true; Sign::COUNT] }
    }

    /// One object with these members.
    pub(super) fn of_one(object: Raw<'a>, members: &Members<'_>) -> Self {
        let mut lines = Self { objects: vec![object], has: [false; Sign::COUNT] };
        members.keys().for_each(|key| lines.note(key.as_bytes()));
        lines
    }

    fn note(&mut self, key: &[u8]) {
        if let Some(has) = Sign::of(key).and_then(|sign| self.has.get_mut(sign as usize)) {
            *has = true;
        }
    }

    /// Whether one of them may have this sign: `false` only where none has it.
    pub(super) fn may_have(&self, sign: Sign) -> bool {
        self.has.get(sign as usize) != Some(&false)
    }

    /// Adds a line where it is a sound object.
    fn add(&mut self, line: Raw<'a>) -> Added {
        if line.kind() != Kind::Object {
            return if is_sound(line) { Added::NoObject } else { Added::NoJson };
        }
        let mut json = line.json();
        let read = json.object(|key, value| {
            self.note(key);
            value.check()
        });
        if read.is_err() || json.peek_byte().is_some() {
            return Added::NoJson;
        }
        self.objects.push(line);
        Added::Object
    }
}

impl<'a> std::ops::Deref for Lines<'a> {
    type Target = [Raw<'a>];

    fn deref(&self) -> &[Raw<'a>] {
        &self.objects
    }
}

/// A document, and how many lines were no JSON or no object.
pub(super) struct Parsed<'a> {
    pub(super) document: Document<'a>,
    /// Where it is one JSON value.
    value: Option<Raw<'a>>,
    pub(super) no_json: u64,
    pub(super) no_object: u64,
}

impl<'a> Parsed<'a> {
    /// Takes an input apart: as one document, or else as lines. `ends` are those of its strings.
    pub(super) fn of(bytes: &'a [u8], ends: Option<&'a Ends>) -> Self {
        let mut json = Json::with_ends(bytes, ends);
        let opened = json.peek_byte();
        let start = json.offset();
        let document = match opened {
            Some(b'{') => Members::checked(&mut json).map(Document::Object),
            Some(b'[') => items_checked(&mut json).map(Document::List),
            _ => None,
        };
        let end = json.offset();
        if let Some(document) = document.filter(|_| json.peek_byte().is_none()) {
            let value = bytes.get(..end).map(|bytes| Raw::over(bytes, start).with_ends(ends));
            return Parsed { document, value, no_json: 0, no_object: 0 };
        }
        let mut objects = Lines { objects: Vec::new(), has: [false; Sign::COUNT] };
        let (mut no_json, mut no_object) = (0, 0);
        for line in lines(bytes, true, 0).map(|line| line.with_ends(ends)) {
            match objects.add(line) {
                Added::Object => {}
                Added::NoObject => no_object += 1,
                Added::NoJson => no_json += 1,
            }
        }
        if no_json + no_object > 0
            && let Some(values) = concatenated(bytes, ends).filter(|values| values.len() > 1)
        {
            (objects, no_json, no_object) = (Lines::of(values), 0, 0);
        }
        Parsed { document: Document::Lines(objects), value: None, no_json, no_object }
    }

    /// Takes one of several lines apart: an object, or no lines with the count of what it is instead.
    pub(super) fn of_line(line: Raw<'a>) -> Self {
        if line.kind() == Kind::Object {
            let mut json = line.json();
            if let Some(members) = Members::checked(&mut json).filter(|_| json.peek_byte().is_none()) {
                return Parsed {
                    document: Document::Object(members),
                    value: Some(line),
                    no_json: 0,
                    no_object: 0,
                };
            }
        }
        let no_object = u64::from(line.kind() != Kind::Object && is_sound(line));
        Parsed {
            document: Document::Lines(Lines::of(Vec::new())),
            value: None,
            no_json: 1 - no_object,
            no_object,
        }
    }

    /// One object with these members, which is known to be sound.
    pub(super) fn of_members(object: Raw<'a>, members: Members<'a>) -> Self {
        Parsed { document: Document::Object(members), value: Some(object), no_json: 0, no_object: 0 }
    }

    /// The same as the only line of an input, where it is an object.
    pub(super) fn as_line(&self) -> Option<Self> {
        let line = self.value.filter(|value| value.kind() == Kind::Object)?;
        Some(Parsed {
            document: Document::Lines(Lines::of(vec![line])),
            value: None,
            no_json: 0,
            no_object: 0,
        })
    }
}

/// The items of a list that is sound, also inside of its strings.
fn items_checked<'a>(json: &mut Json<'a>) -> Option<Vec<Raw<'a>>> {
    let mut items = Vec::new();
    let walked = json.list(|item| {
        items.push(item.checked()?);
        Ok(())
    });
    walked.ok().map(|()| items)
}

/// The objects of an input that are one after the other wherever lines end, with nothing between them.
fn concatenated<'a>(bytes: &'a [u8], ends: Option<&'a Ends>) -> Option<Vec<Raw<'a>>> {
    let mut json = Json::with_ends(bytes, ends);
    let mut objects = Vec::new();
    while let Some(byte) = json.peek_byte() {
        if byte != b'{' {
            return None;
        }
        objects.push(json.raw().ok()?);
    }
    Some(objects)
}

/// Reads an input that is one object around a list, which is read where it stands, with what stands before it; checks
/// all of it. `None`: it is not sound, or that list stands there twice.
pub(super) fn read_around<'a>(
    bytes: &'a [u8],
    key: &str,
    read: impl FnMut(&Members<'a>, &mut Json<'a>) -> Read<()>,
) -> Option<Members<'a>> {
    let mut json = Json::new(bytes).checking();
    let members = Members::around(&mut json, key, read)?;
    json.peek_byte().is_none().then_some(members)
}

/// Reads an input that is one list item by item, and checks all of it. `None`: it is not sound.
pub(super) fn read_items<'a>(
    bytes: &'a [u8],
    mut read: impl FnMut(&mut Json<'a>) -> Read<()>,
) -> Option<Vec<Raw<'a>>> {
    let mut json = Json::new(bytes).checking();
    let mut items = Vec::new();
    let walked = json.list(|item| {
        let start = item.offset();
        read(item)?;
        items.push(item.raw_since(start));
        Ok(())
    });
    (walked.is_ok() && json.peek_byte().is_none()).then_some(items)
}

/// How many lines were read as nothing, being no JSON or no object.
#[derive(Debug, Default)]
pub(super) struct Others {
    pub(super) no_json: u64,
    pub(super) no_object: u64,
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

/// Whether a line is one JSON value and nothing else, and sound also inside of its strings.
fn is_sound(line: Raw<'_>) -> bool {
    let mut json = line.json();
    json.check().is_ok() && json.peek_byte().is_none()
}
