//! Values that were skipped, to be read later.

use std::borrow::Cow;
use std::ops::ControlFlow::{Break, Continue};

use super::{Json, Kind, SkipIndex};

/// A value that was skipped, to be read later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a> {
    /// The whole text, not only the value: short strings are read in blocks, which may extend past the value.
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) depth: u32,
    pub(super) index: Option<&'a SkipIndex>,
}

impl<'a> Raw<'a> {
    /// Creates the value that begins at an offset and ends with the text.
    pub(crate) fn over(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, end: bytes.len(), depth: 0, index: None }
    }

    /// Sets the index of the ends of long strings, lists and objects.
    pub(crate) fn with_index(self, index: Option<&'a SkipIndex>) -> Self {
        Self { index, ..self }
    }

    pub(crate) fn offset(self) -> usize {
        self.at
    }

    pub(crate) fn json(self) -> Json<'a> {
        Json { at: self.at, depth: self.depth, index: self.index, ..Json::new(self.bytes) }
    }

    /// Returns the value as it is spelled.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes.get(self.at..self.end).unwrap_or_default()
    }

    /// Returns the value as it is spelled, with U+FFFD for bytes that are not UTF-8.
    pub(crate) fn spelling(self) -> Cow<'a, str> {
        let bytes = self.bytes();
        simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
    }

    pub(crate) fn kind(self) -> Kind {
        match self.bytes.get(self.at) {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Returns the decoded text if the value is a string.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        if self.kind() == Kind::String { self.json().string().ok() } else { None }
    }

    pub(crate) fn boolean(self) -> Option<bool> {
        if self.kind() == Kind::Bool { self.json().boolean().ok() } else { None }
    }

    /// Returns the value if it is an integer that fits an `i64`; `3.0` is 3.
    pub(crate) fn integer(self) -> Option<i64> {
        if self.kind() == Kind::Number { self.json().number().ok()?.integer() } else { None }
    }

    /// Returns the member with this name, or the last of several, if the value is an object.
    pub(crate) fn member(self, name: &str) -> Option<Raw<'a>> {
        let mut found = None;
        if self.kind() == Kind::Object {
            let members = self.json().object(|key, value| {
                if key == name.as_bytes() {
                    found = Some(value.raw()?);
                }
                Ok(())
            });
            members.ok()?;
        }
        found
    }

    pub(crate) fn items(self) -> Option<Vec<Raw<'a>>> {
        if self.kind() == Kind::List { self.json().list_of(Json::raw).ok() } else { None }
    }

    /// Returns up to `most` items of a list (one if `most` is 0) without reading the rest. Empty for any other
    /// value.
    pub(crate) fn first_items(self, most: usize) -> Vec<Raw<'a>> {
        let mut items = Vec::new();
        if self.kind() == Kind::List {
            let _ = self.json().list_until(|item| {
                items.push(item.raw()?);
                Ok(if items.len() < most { Continue(()) } else { Break(()) })
            });
        }
        items
    }
}
