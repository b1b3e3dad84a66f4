//! What is seen of an input before its format is known: keys and first records, of a bounded part.

use std::borrow::Cow;

use crate::json::{Json, Kind, Raw, Read};

/// How many records of a list or lines of a file are looked at.
const RECORDS: usize = 64;

/// How the values of an input follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// One value, or several one behind the other wherever they end.
    Values,
    /// One value in each line.
    Lines,
}

/// The members of an object, in the order in which they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<'a> {
    members: Vec<(Cow<'a, str>, Raw<'a>)>,
    /// The keys of members whose values are not all there, or unsound.
    open: Vec<String>,
    /// The object itself, where it is all there.
    whole: Option<Raw<'a>>,
}

impl<'a> Members<'a> {
    /// The members of an object, as far as they are there.
    pub(super) fn of(json: &mut Json<'a>) -> Self {
        Self::read(json).0
    }

    /// The members of an object that is all there, and sound.
    pub(super) fn of_sound(json: &mut Json<'a>) -> Option<Self> {
        let (members, read) = Self::read(json);
        (read.is_ok() && members.open.is_empty()).then_some(members)
    }

    /// The members of an object, and whether it is there whole, or what is wrong with it.
    fn read(json: &mut Json<'a>) -> (Self, Read<()>) {
        let mut members = Vec::new();
        let mut open = Vec::new();
        json.space();
        let start = json.offset();
        let read = json.object(|key, value| {
            let name = String::from_utf8_lossy(key).into_owned();
            let start = value.clone();
            match value.raw() {
                Ok(raw) => members.push((Cow::Owned(name), raw)),
                Err(fault) => {
                    // Something is wrong with the value, or it is not all there.
                    open.push(name);
                    *value = start;
                    if fault.is_end() || value.skip_any().is_err() {
                        return Err(fault);
                    }
                }
            }
            Ok(())
        });
        let whole = read.is_ok().then(|| json.raw_since(start));
        (Self { members, open, whole }, read)
    }

    /// The object itself, where it is all there.
    pub(super) fn whole(&self) -> Option<Raw<'a>> {
        self.whole
    }

    /// The value of a key that is there whole; of several, the last.
    pub(super) fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The value of a key where it is a string that is not empty, decoded.
    pub(super) fn name(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string().filter(|name| !name.is_empty())
    }

    /// Whether there is such a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some() || self.open.iter().any(|open| open == key)
    }

    /// Whether there is such a key with a value of this kind that is there whole.
    pub(super) fn is(&self, key: &str, kind: Kind) -> bool {
        self.get(key).is_some_and(|value| value.kind() == kind)
    }

    /// The keys and values in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.members.iter().map(|(key, value)| (&**key, *value))
    }

    /// Every key.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(key, _)| &**key).chain(self.open.iter().map(String::as_str))
    }
}

/// The first value of an input, or its first lines.
#[derive(Debug, Clone)]
pub(super) enum Seen<'a> {
    /// One object.
    Object(Members<'a>),
    /// A list, with the members of its first items that are objects; the last one may not be all there.
    List { objects: Vec<Members<'a>>, others: usize },
    /// Lines, with the members of those that are objects.
    Lines { objects: Vec<Members<'a>>, lists: Vec<Raw<'a>> },
    /// Some other JSON value.
    Scalar,
    /// No JSON.
    Litter,
}

/// A bounded part of an input.
#[derive(Debug, Clone)]
pub(super) struct Sample<'a> {
    pub(super) framing: Framing,
    pub(super) seen: Seen<'a>,
    /// Whether the part is all of the input.
    pub(super) whole: bool,
}

impl<'a> Sample<'a> {
    /// Looks at the first bytes of an input; `whole`: at all of them.
    pub(super) fn of(bytes: &'a [u8], whole: bool) -> Self {
        let mut json = Json::new(bytes);
        json.space();
        let start = json.offset();
        let (seen, read) = first_value(&mut json);
        if is_in_lines(bytes, whole, start, &json, &read) {
            let (mut objects, mut lists) = (Vec::new(), Vec::new());
            for line in lines(bytes, whole).take(RECORDS) {
                match line.json().peek_byte() {
                    Some(b'{') => objects.push(Members::of(&mut line.json())),
                    Some(b'[') => lists.push(line),
                    _ => {}
                }
            }
            return Self { framing: Framing::Lines, seen: Seen::Lines { objects, lists }, whole };
        }
        Self { framing: Framing::Values, seen, whole }
    }

    /// The members of the objects that may be records: of the object itself, of the items, of the lines.
    pub(super) fn records(&self) -> &[Members<'a>] {
        match &self.seen {
            Seen::Object(members) => std::slice::from_ref(members),
            Seen::List { objects, .. } | Seen::Lines { objects, .. } => objects,
            Seen::Scalar | Seen::Litter => &[],
        }
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
            Err(fault) => (Seen::Litter, Err(fault)),
        },
    }
}

/// The first items of a list. They may be damaged: what follows them is looked at all the same.
fn first_items(mut json: Json<'_>) -> Seen<'_> {
    let (mut objects, mut others) = (Vec::new(), 0);
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
                others += 1;
                let before = json.offset();
                if json.skip_unsound().is_none() || json.offset() == before {
                    break;
                }
            }
        }
    }
    Seen::List { objects, others }
}

/// Whether an input has one value in each line. One document is tried first: `read` is what became of that, from
/// `start` on.
fn is_in_lines(bytes: &[u8], whole: bool, start: usize, json: &Json<'_>, read: &Read<()>) -> bool {
    let first = bytes.get(start);
    match read {
        Ok(()) => {
            let one_line = memchr::memchr(b'\n', json.since(start)).is_none();
            let behind = bytes.get(json.offset()..).unwrap_or_default();
            let line_end = memchr::memchr(b'\n', behind);
            let line_over = line_end.map_or(behind, |end| behind.get(..end).unwrap_or_default());
            let more = line_end.is_some_and(|end| !blank(behind.get(end..).unwrap_or_default()));
            one_line && more && blank(line_over)
        }
        Err(fault) if fault.is_end() && !whole => false,
        // What is no document may be lines of which the first is damaged or no JSON at all.
        Err(_) if first == Some(&b'[') => false,
        Err(_) => {
            // Within a document that is cut off, a line may be an object by chance, but hardly from its first column on.
            let in_first_column = |line: &Raw<'_>| {
                let at = line.offset();
                first != Some(&b'{') || at == 0 || bytes.get(at - 1) == Some(&b'\n')
            };
            let object = |line: &Raw<'_>| line.bytes().first() == Some(&b'{') && is_value(*line);
            lines(bytes, whole).take(RECORDS).filter(object).any(|line| in_first_column(&line))
        }
    }
}

fn blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// The objects of an input that holds several, one behind the other wherever lines end, with nothing between them.
fn concatenated(bytes: &[u8]) -> Option<Vec<Raw<'_>>> {
    let mut json = Json::new(bytes);
    let mut objects = Vec::new();
    while let Some(byte) = json.peek_byte() {
        if byte != b'{' {
            return None;
        }
        objects.push(json.raw().ok()?);
    }
    (objects.len() > 1).then_some(objects)
}

/// Whether a line is one JSON value and nothing else.
pub(super) fn is_value(line: Raw<'_>) -> bool {
    let mut json = line.json();
    json.skip().is_ok() && json.peek_byte().is_none()
}

/// The lines that are not blank, from their first character on; the last one where it is whole.
pub(super) fn lines(bytes: &[u8], whole: bool) -> impl Iterator<Item = Raw<'_>> {
    let ends = memchr::memchr_iter(b'\n', bytes).chain(whole.then_some(bytes.len()));
    let mut start = 0;
    ends.filter_map(move |end| {
        let line = bytes.get(start..end).unwrap_or_default();
        let indent = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let at = start + indent;
        start = end + 1;
        (indent < line.len()).then(|| Raw::over(bytes.get(..end).unwrap_or_default(), at))
    })
}

/// A whole input of a format whose runs are not records of their own.
#[derive(Debug, Clone)]
pub(super) enum Document<'a> {
    /// One object.
    Object(Members<'a>),
    /// One list, with its items.
    List(Vec<Raw<'a>>),
    /// Objects, one in each line. What else there was has been counted.
    Lines(Vec<Raw<'a>>),
}

/// A document, and how many lines were no JSON or no object.
pub(super) struct Parsed<'a> {
    pub(super) document: Document<'a>,
    pub(super) no_json: u64,
    pub(super) no_object: u64,
}

impl<'a> Parsed<'a> {
    /// Takes an input apart: as one document, or else as lines.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let one = |document| Parsed { document, no_json: 0, no_object: 0 };
        let mut json = Json::new(bytes);
        let document = match json.peek_byte() {
            Some(b'{') => Members::of_sound(&mut json).map(Document::Object),
            Some(b'[') => {
                let mut items = Vec::new();
                let read = json.list(|item| {
                    items.push(item.raw()?);
                    Ok(())
                });
                read.is_ok().then_some(Document::List(items))
            }
            _ => None,
        };
        match document.filter(|_| json.peek_byte().is_none()) {
            Some(document) => one(document),
            _ => {
                if let Some(values) = concatenated(bytes) {
                    return one(Document::Lines(values));
                }
                let (mut objects, mut no_json, mut no_object) = (Vec::new(), 0, 0);
                for line in lines(bytes, true) {
                    if !is_value(line) {
                        no_json += 1;
                    } else if line.kind() == Kind::Object {
                        objects.push(line);
                    } else {
                        no_object += 1;
                    }
                }
                Parsed { document: Document::Lines(objects), no_json, no_object }
            }
        }
    }

    /// An input that is one object, taken for the only line of a file.
    pub(super) fn as_line(bytes: &'a [u8]) -> Option<Self> {
        let mut json = Json::new(bytes);
        let object = json.raw().ok().filter(|object| object.kind() == Kind::Object)?;
        Some(Parsed { document: Document::Lines(vec![object]), no_json: 0, no_object: 0 })
    }

    /// One object that is known to be sound.
    pub(super) fn of_object(object: Raw<'a>) -> Self {
        Parsed { document: Document::Object(Members::of(&mut object.json())), no_json: 0, no_object: 0 }
    }
}
