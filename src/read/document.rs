//! A whole input of a format whose runs are not records of their own, taken apart: a document, or lines.

use super::framing::lines;
use super::sample::Members;
use crate::json::{Ends, Json, Kind, Raw};

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
        if let Some(object) = tagged(line) {
            Members::of(&mut object.json()).keys().for_each(|key| self.note(key.as_bytes()));
            self.objects.push(object);
            return Added::Object;
        }
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

/// The object of a line such as `["event", {…}]`.
fn tagged(line: Raw<'_>) -> Option<Raw<'_>> {
    if line.kind() != Kind::List || !is_sound(line) {
        return None;
    }
    match line.items()?.as_slice() {
        [name, object, ..] if name.kind() == Kind::String && object.kind() == Kind::Object => Some(*object),
        _ => None,
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
pub(super) fn concatenated<'a>(bytes: &'a [u8], ends: Option<&'a Ends>) -> Option<Vec<Raw<'a>>> {
    let mut json = Json::with_ends(bytes, ends);
    let mut objects = Vec::new();
    while let Some(byte) = json.peek_byte() {
        if byte != b'{' {
            return None;
        }
        let start = json.offset();
        json.skip().ok()?;
        // As of a line, nothing stands behind it.
        objects.push(Raw::over(bytes.get(..json.offset())?, start).with_ends(ends));
    }
    Some(objects)
}

/// Whether a line is one JSON value and nothing else, and sound also inside of its strings.
pub(super) fn is_sound(line: Raw<'_>) -> bool {
    let mut json = line.json();
    json.check().is_ok() && json.peek_byte().is_none()
}
