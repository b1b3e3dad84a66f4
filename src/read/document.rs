//! Splits a whole input into a document or lines, for formats whose runs are not separate values.

use super::framing::{damage, lines};
use super::members::Members;
use super::runs::Runs;
use super::window::Window;
use crate::json::{Json, Kind, Raw, SkipIndex};

/// A whole input of a format whose runs are not separate values.
#[derive(Debug, Clone)]
pub(super) enum Document<'a> {
    /// One object.
    Object(Members<'a>),
    /// The items of one list, or whole lists, one per line.
    List(Vec<Raw<'a>>),
    /// Objects, one per line or concatenated. Other lines are only counted, in [`Parsed`].
    Lines(Vec<Raw<'a>>),
}

impl<'a> Document<'a> {
    /// Returns an object or a list as a document, or `None` for any other value.
    pub(super) fn of_value(value: Raw<'a>) -> Option<Self> {
        match value.kind() {
            Kind::Object => Some(Self::Object(Members::from(value))),
            Kind::List => value.items().map(Self::List),
            _ => None,
        }
    }

    pub(super) fn each(&self) -> impl Iterator<Item = Members<'a>> {
        let object = if let Self::Object(members) = self { Some(members.clone()) } else { None };
        object.into_iter().chain(self.items().iter().map(|item| Members::from(*item)))
    }

    /// Returns the members of a single object; none for a list or lines.
    pub(super) fn members(&self) -> Members<'a> {
        if let Self::Object(members) = self { members.clone() } else { Members::default() }
    }

    /// Returns the items of a list or the objects of lines; none for a single object.
    pub(super) fn items(&self) -> &[Raw<'a>] {
        match self {
            Self::Object(_) => &[],
            Self::List(items) => items,
            Self::Lines(lines) => lines,
        }
    }
}

/// A document, with the numbers of lines that are not JSON and of lines that are not objects.
pub(super) struct Parsed<'a> {
    pub(super) document: Document<'a>,
    /// The value, if the input is a single valid one.
    pub(super) value: Option<Raw<'a>>,
    pub(super) no_json: u64,
    pub(super) no_object: u64,
    /// The lines before the last that are not valid, but begin as objects.
    damaged: Vec<Raw<'a>>,
    /// Number of lines of metadata before lines that are lists.
    before: u64,
}

impl<'a> Parsed<'a> {
    /// Makes a document without other lines.
    pub(super) fn whole(document: Document<'a>, value: Option<Raw<'a>>) -> Self {
        Self { document, value, no_json: 0, no_object: 0, damaged: Vec::new(), before: 0 }
    }

    /// Counts the lines that are not objects as skipped, and reports those that are damaged.
    pub(super) fn pass_over_others(&self, window: &Window<'_>, runs: &mut Runs<'_>) {
        for fault in self.damaged.iter().filter_map(|line| damage(*line)) {
            let location = window.place(fault.at()).location();
            runs.fail(fault.into_error().at(location));
        }
        runs.pass_over("lines that are not JSON", self.no_json);
        runs.pass_over("lines that are not objects", self.no_object);
        runs.pass_over("lines of metadata before lists", self.before);
    }

    /// Splits an input: one document, or else lines. `index` holds the ends of its long values.
    pub(super) fn of(bytes: &'a [u8], index: Option<&'a SkipIndex>) -> Self {
        let mut json = Json::with_index(bytes, index);
        let opened = json.peek_byte();
        let start = json.offset();
        let document = match opened {
            Some(b'{') => Members::checked(&mut json).map(Document::Object),
            Some(b'[') => json.list_of(Json::checked).ok().map(Document::List),
            _ => None,
        };
        let end = json.offset();
        if let Some(document) = document.filter(|_| json.peek_byte().is_none()) {
            let value = bytes.get(..end).map(|bytes| Raw::over(bytes, start).with_index(index));
            return Self::whole(document, value);
        }
        let (mut objects, mut lists) = (Vec::new(), Vec::new());
        let (mut no_json, mut no_object, mut damaged, mut last) = (0, 0, Vec::new(), 0);
        // A list of numbers or texts holds no run: `[1]`.
        let may_hold_runs = |line: Raw<'_>| {
            let first = line.first_items(1).first().map(|first| first.kind());
            line.kind() == Kind::List && first.is_none_or(|kind| matches!(kind, Kind::Object | Kind::List))
        };
        for line in lines(bytes, true, 0).map(|line| line.with_index(index)) {
            last = line.offset();
            match (line.json().is_sound(), line.kind()) {
                (true, Kind::Object) => objects.push(line),
                (true, _) => match tagged(line) {
                    Some(object) => objects.push(object),
                    None if may_hold_runs(line) => lists.push(line),
                    None => no_object += 1,
                },
                (false, _) if damage(line).is_some() => damaged.push(line),
                (false, _) => no_json += 1,
            }
        }
        // The last line may still be growing.
        no_json += damaged.pop_if(|line: &mut Raw<'_>| line.offset() == last).map_or(0, |_| 1);
        // A line of metadata may come before lines that are lists.
        let is_before = |line: &Raw<'_>| lists.first().is_some_and(|list| line.offset() < list.offset());
        let is_metadata = |line: &Raw<'_>| {
            let members = Members::from(*line);
            !members.has("role") && members.iter().all(|(_, value)| value.kind() != Kind::List)
        };
        if !lists.is_empty()
            && objects.len() < 2
            && objects.iter().all(|line| is_before(line) && is_metadata(line))
        {
            let before = objects.len() as u64;
            return Parsed {
                document: Document::List(lists),
                value: None,
                no_json,
                no_object,
                damaged,
                before,
            };
        }
        no_object += lists.len() as u64;
        if no_json + no_object + damaged.len() as u64 > 0
            && let Some(values) = concatenated(bytes, index).filter(|values| values.len() > 1)
        {
            (objects, no_json, no_object, damaged) = (values, 0, 0, Vec::new());
        }
        Parsed { document: Document::Lines(objects), value: None, no_json, no_object, damaged, before: 0 }
    }

    /// Parses one line of many. If it is not an object, the document is empty and the line is counted.
    pub(super) fn of_line(line: Raw<'a>) -> Self {
        if line.kind() == Kind::Object {
            let mut json = line.json();
            if let Some(members) = Members::checked(&mut json).filter(|_| json.peek_byte().is_none()) {
                return Self::whole(Document::Object(members), Some(line));
            }
        }
        let no_object = u64::from(line.kind() != Kind::Object && line.json().is_sound());
        let document = Document::Lines(Vec::new());
        Parsed { no_json: 1 - no_object, no_object, ..Self::whole(document, None) }
    }

    /// Returns the input as one line, if it is a single object.
    pub(super) fn as_line(&self) -> Option<Self> {
        let line = self.value.filter(|value| value.kind() == Kind::Object)?;
        Some(Self::whole(Document::Lines(vec![line]), None))
    }
}

/// Returns the object of a line such as `["event", {…}]`.
pub(super) fn tagged(line: Raw<'_>) -> Option<Raw<'_>> {
    match line.items()?.as_slice() {
        [name, object, ..] if name.kind() == Kind::String && object.kind() == Kind::Object => Some(*object),
        _ => None,
    }
}

/// Returns the objects of an input that holds nothing but objects and white space.
fn concatenated<'a>(bytes: &'a [u8], index: Option<&'a SkipIndex>) -> Option<Vec<Raw<'a>>> {
    let mut json = Json::with_index(bytes, index);
    let mut objects = Vec::new();
    while let Some(byte) = json.peek_byte() {
        if byte != b'{' {
            return None;
        }
        let start = json.offset();
        json.check().ok()?;
        // Cut the text off after the value, as for a line.
        objects.push(Raw::over(bytes.get(..json.offset())?, start).with_index(index));
    }
    Some(objects)
}

/// Closes a truncated document after the last complete item of its outermost open list that has one, or else
/// after the last complete member.
pub(super) fn closed(text: &[u8]) -> Option<Vec<u8>> {
    // The closing bracket of each open value, and the end of the last value in it.
    let mut open: Vec<(u8, Option<usize>)> = Vec::new();
    let (mut is_string, mut bytes) = (false, (1..).zip(text));
    while let Some((end, byte)) = bytes.next() {
        match byte {
            b'\\' if is_string => drop(bytes.next()),
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' => open.push((b'}', None)),
            b'[' => open.push((b']', None)),
            b'}' | b']' => {
                open.pop();
                if let Some((_, last)) = open.last_mut() {
                    *last = Some(end);
                }
            }
            _ => {}
        }
    }
    let with_items = |(bracket, last): &(u8, Option<usize>)| *bracket == b']' && last.is_some();
    let depth = open.iter().position(with_items);
    let depth = depth.or_else(|| open.iter().position(|(_, last)| last.is_some()))?;
    open.truncate(depth + 1);
    let mut text = text.get(..open.last()?.1?)?.to_vec();
    text.extend(open.iter().rev().map(|(bracket, _)| *bracket));
    Some(text)
}
