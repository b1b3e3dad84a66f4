//! Places in an input, and the places of its steps. Most steps borrow from the input, and the address of the borrowed
//! bytes gives the place.

use std::collections::BTreeMap;

use crate::error::Location;
use crate::json::{Json, Kind, Read};
use crate::trace::{Places, SourcePlace};

/// A line, and a column in bytes, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    line: u64,
    column: u64,
}

impl Place {
    /// The first byte of an input.
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// Returns the position after these bytes.
    pub(crate) fn after(self, bytes: &[u8]) -> Self {
        match memchr::memrchr(b'\n', bytes) {
            None => Self { column: self.column + bytes.len() as u64, ..self },
            Some(last) => Self {
                line: self.line + memchr::memchr_iter(b'\n', bytes).count() as u64,
                column: (bytes.len() - last) as u64,
            },
        }
    }

    pub(crate) fn location(self) -> Location {
        Location { line: self.line, column: self.column }
    }
}

/// The parts of an input that steps may borrow from, by address.
#[derive(Debug, Default)]
pub(super) struct SourceMap(BTreeMap<usize, Part>);

#[derive(Debug)]
struct Part {
    length: usize,
    line: u64,
    /// Its lines and elements, if it is a document.
    document: Option<Box<DocumentMap>>,
}

#[derive(Debug, Default)]
struct DocumentMap {
    line_ends: Vec<usize>,
    elements: Vec<Element>,
}

#[derive(Debug)]
struct Element {
    start: usize,
    end: usize,
    parent: Option<usize>,
    /// Its escaped reference token in the JSON pointer.
    key: Box<str>,
    is_item: bool,
}

impl SourceMap {
    /// Adds a line, with its number.
    pub(super) fn add_line(&mut self, bytes: &[u8], line: u64) {
        self.0.insert(bytes.as_ptr().addr(), Part { length: bytes.len(), line, document: None });
    }

    /// Adds a document that begins at this place, with the extents of its objects and lists.
    pub(super) fn add_document(&mut self, bytes: &[u8], origin: Place) {
        let mut document = DocumentMap::default();
        document.line_ends.extend(memchr::memchr_iter(b'\n', bytes));
        let mut json = Json::new(bytes);
        while json.peek_byte().is_some() && document.add(&mut json, None, "", false).is_ok() {}
        let line = origin.location().line;
        let part = Part { length: bytes.len(), line, document: Some(Box::new(document)) };
        self.0.insert(bytes.as_ptr().addr(), part);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn find(&self, address: usize) -> Option<SourcePlace> {
        let (start, part) = self.0.range(..=address).next_back()?;
        let offset = (address - start < part.length).then_some(address - start)?;
        let document = part.document.as_deref();
        let lines = document.map_or(0, |document| document.line_ends.partition_point(|end| *end < offset));
        let pointer = document.and_then(|document| document.pointer(offset));
        Some(SourcePlace { line: part.line + lines as u64, pointer, list: None })
    }
}

impl Places for SourceMap {
    fn place(&self, addresses: [usize; 3]) -> Option<SourcePlace> {
        addresses.into_iter().find_map(|address| self.find(address))
    }
}

impl DocumentMap {
    /// Adds the objects and lists of the value that begins here.
    fn add(&mut self, json: &mut Json<'_>, parent: Option<usize>, key: &str, is_item: bool) -> Read<()> {
        let kind = json.kind()?;
        if !matches!(kind, Kind::Object | Kind::List) {
            return json.skip();
        }
        let this = self.elements.len();
        let key = key.replace('~', "~0").replace('/', "~1").into();
        self.elements.push(Element { start: json.offset(), end: usize::MAX, parent, key, is_item });
        if kind == Kind::Object {
            json.object(|key, value| self.add(value, Some(this), &String::from_utf8_lossy(key), false))?;
        } else {
            let mut count = 0_u64;
            json.list(|item| {
                count += 1;
                self.add(item, Some(this), &(count - 1).to_string(), true)
            })?;
        }
        if let Some(element) = self.elements.get_mut(this) {
            element.end = json.offset();
        }
        Ok(())
    }

    /// Returns the JSON pointer to the innermost list item that contains an offset.
    fn pointer(&self, offset: usize) -> Option<String> {
        let last = self.elements.partition_point(|element| element.start <= offset).checked_sub(1)?;
        let up = |place: &usize| self.elements.get(*place)?.parent;
        let within = |place: &usize| self.elements.get(*place).is_some_and(|element| offset < element.end);
        let around: Vec<&Element> = std::iter::successors(Some(last), up)
            .skip_while(|place| !within(place))
            .filter_map(|place| self.elements.get(place))
            .collect();
        let item = around.iter().position(|element| element.is_item)?;
        let mut pointer = String::new();
        for element in around.get(item..)?.iter().rev().filter(|element| element.parent.is_some()) {
            pointer.push('/');
            pointer += &element.key;
        }
        Some(pointer)
    }
}

/// The start of a run that is a value of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunStart {
    pub(super) place: Place,
    /// The key of the list that holds the run; empty for a list without a key, `None` if the place in the
    /// list is not known.
    pub(super) list: Option<&'static str>,
}

/// The place of a run, and the places in it.
#[derive(Debug)]
pub(super) struct RunPlaces<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) start: RunStart,
}

impl Places for RunPlaces<'_> {
    /// Returns the place of a step, or the start of the run if the step does not borrow from it. Scans the whole run.
    fn place(&self, addresses: [usize; 3]) -> Option<SourcePlace> {
        let mut map = SourceMap::default();
        map.add_document(self.bytes, self.start.place);
        let line = self.start.place.location().line;
        let own = || SourcePlace { line, pointer: None, list: None };
        Some(SourcePlace { list: self.start.list, ..map.place(addresses).unwrap_or_else(own) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_line_and_an_element() {
        let text = "{\"a/b\": [{\"x\": 1},\n {\"calls\": [{\"f\": {\"name\": \"ls\"}}], \"y\": 2}],\n \"z\": \"end\"}";
        let mut map = SourceMap::default();
        map.add_document(text.as_bytes(), Place::START);
        let of = |part: &str| {
            let place = map.find(text.as_ptr().addr() + text.find(part).unwrap()).unwrap();
            (place.line, place.pointer)
        };
        assert_eq!(of("\"x\""), (1, Some("/a~1b/0".to_owned())));
        assert_eq!(of("\"ls\""), (2, Some("/a~1b/1/calls/0".to_owned())));
        assert_eq!(of("2}"), (2, Some("/a~1b/1".to_owned())));
        assert_eq!(of("end"), (3, None));
        assert_eq!(map.find("elsewhere".as_ptr().addr()), None);
        let lines = "first\nsecond\n";
        map.add_line(&lines.as_bytes()[..5], 1);
        map.add_line(&lines.as_bytes()[6..12], 2);
        assert_eq!(map.find(lines.as_ptr().addr() + 8).unwrap().line, 2);
        assert_eq!(map.find(lines.as_ptr().addr() + 5), None);
    }
}
