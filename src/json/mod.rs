//! A strict pull reader of JSON in memory. It yields members of objects, items of lists, and scalars in
//! order, and does not depend on any trace format.
//!
//! Values that are read are checked as RFC 8259 requires. In skipped values ([`Json::skip`], [`Json::raw`]),
//! structure, literals and the syntax of numbers are checked. Control characters and invalid escapes in their
//! strings, and numbers too large for a double, go unnoticed. [`Json::skimming`] checks less. [`Json::string`]
//! fails on text that is not UTF-8; callers must check the rest. Nesting deeper than [`MAX_DEPTH`] is an error.

mod block;
mod container;
mod escape;
mod fault;
mod raw;
mod scalar;
mod scan;
mod skip;
mod skip_index;
mod string;
mod token;
mod value;

use std::borrow::Cow;
use std::ops::ControlFlow::{self, Continue};

pub(crate) use block::Block;
pub(crate) use container::is_deeper;
pub(crate) use fault::{Fault, Read};
pub(crate) use raw::Raw;
pub(crate) use scan::Escapes;
pub(crate) use skip_index::SkipIndex;
pub(crate) use string::{JsonString, spelling_of};
pub(crate) use value::{Kind, Number};

use scan::{Extent, short_end};
use skip::long_extent;
use token::behind_space;

/// Makes a reader of members: `json.object(fields!(key, value => { b"id" => id = value.ident()?, }))?`. Members with
/// other keys are skipped.
macro_rules! fields {
    ($key:ident, $value:ident => { $($arms:tt)* }) => {
        |$key, $value| {
            match $key { $($arms)* _ => {} }
            Ok(())
        }
    };
}
pub(crate) use fields;

/// Maximum depth of lists and objects.
pub(crate) const MAX_DEPTH: u32 = 128;

/// Reads JSON values one after another.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    index: Option<&'a SkipIndex>,
    validation: Validation,
}

/// How much of a skipped list or object is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Validation {
    /// Only that its brackets balance.
    Extent,
    /// Everything but the contents of strings and the size of numbers.
    Structure,
}

/// A position to return to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    at: usize,
    depth: u32,
}

impl<'a> Json<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, index: None, validation: Validation::Structure }
    }

    /// Creates a reader that takes the ends of long strings, lists and objects from `index`, and adds to it
    /// those that it checks.
    pub(crate) fn with_index(bytes: &'a [u8], index: Option<&'a SkipIndex>) -> Self {
        Self { index, ..Self::new(bytes) }
    }

    /// Creates a reader at an offset, inside `depth` open lists and objects.
    pub(crate) fn starting_at(bytes: &'a [u8], at: usize, depth: u32) -> Self {
        Self { at, depth, ..Self::new(bytes) }
    }

    /// Turns this into a reader that only finds the ends of skipped lists and objects.
    pub(crate) fn skimming(self) -> Self {
        Self { validation: Validation::Extent, ..self }
    }

    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// Returns the value that begins at `start` and ends at the current offset.
    #[inline]
    pub(crate) fn raw_since(&self, start: usize) -> Raw<'a> {
        Raw { bytes: self.bytes, at: start, end: self.at, depth: self.depth, index: self.index }
    }

    #[inline]
    pub(crate) fn space(&mut self) {
        self.at = behind_space(self.bytes, self.at);
    }

    /// Skips white space and returns the next byte, or `None` at the end of the text.
    #[inline]
    pub(crate) fn peek_byte(&mut self) -> Option<u8> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte > b' ' => Some(byte),
            _ => {
                self.space();
                self.bytes.get(self.at).copied()
            }
        }
    }

    /// Returns true if only white space is left in the line or text.
    pub(crate) fn is_at_end_of_line(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')).is_none_or(|byte| *byte == b'\n')
    }

    /// Consumes a byte that was peeked at.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// Returns the kind of the next value, judged by its first byte.
    #[inline]
    pub(crate) fn kind(&mut self) -> Read<Kind> {
        Ok(match self.peek_byte() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') => Kind::Null,
            Some(_) => return Err(Fault::syntax(self.at, "expected a value")),
            None => return Err(Fault::end_at(self.at)),
        })
    }

    /// Returns the error for a value of an unexpected kind. Invalid or truncated JSON is reported as such.
    #[cold]
    fn not(&mut self, expected: &str) -> Fault {
        let kind = self.kind();
        match kind.and_then(|kind| self.clone().skip().map(|()| kind)) {
            Ok(kind) => Fault::shape(self.at, format!("expected {expected}, found {}", kind.name())),
            Err(fault) => fault,
        }
    }

    /// Returns the error for an object that lacks a required member.
    #[cold]
    pub(crate) fn missing(&self, name: &str) -> Fault {
        Fault::shape(self.at, format!("`{name}` is missing"))
    }

    /// Consumes the opening bracket of a list or object.
    #[inline]
    fn deeper(&mut self) -> Read<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Fault::too_deep(self.at - 1)) } else { Ok(()) }
    }

    /// Enters an object or list. If it is empty, consumes it and returns false. `what` names it in errors, with its
    /// article.
    #[inline]
    fn enter(&mut self, [open, close]: [u8; 2], what: &str) -> Read<bool> {
        if self.peek_byte() != Some(open) {
            return Err(self.not(what));
        }
        self.deeper()?;
        let is_empty = self.peek_byte() == Some(close);
        if is_empty {
            self.at += 1;
            self.depth -= 1;
        }
        Ok(!is_empty)
    }

    /// Consumes the comma after a member or item and returns true, or consumes the closing bracket and returns
    /// false.
    #[inline]
    fn has_more(&mut self, close: u8, expected: &'static str) -> Read<bool> {
        match self.peek_byte() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                return Ok(false);
            }
            Some(_) => return Err(Fault::syntax(self.at, expected)),
            None => return Err(Fault::end_at(self.at)),
        }
        Ok(true)
    }

    /// Reads an object member by member. `member` gets each key and reads its value, or leaves it to be
    /// skipped.
    #[inline]
    pub(crate) fn object(&mut self, mut member: impl FnMut(&[u8], &mut Self) -> Read<()>) -> Read<()> {
        self.object_until(|key, value| member(key, value).map(Continue)).map(|_| ())
    }

    /// Like [`Json::object`], but stops if `member` breaks, which leaves the reader inside the object.
    #[inline]
    pub(crate) fn object_until(
        &mut self,
        mut member: impl FnMut(&[u8], &mut Self) -> Read<ControlFlow<()>>,
    ) -> Read<ControlFlow<()>> {
        let mut more = self.enter(*b"{}", "an object")?;
        while more {
            // Most keys are short and plain, with a colon right after them.
            let flow = if self.peek_byte() == Some(b'"')
                && let Some(close) = short_end::<true>(self.bytes, self.at + 1)
                && self.bytes.get(close + 1) == Some(&b':')
            {
                let key = self.bytes.get(self.at + 1..close).unwrap_or_default();
                self.at = close + 2;
                self.value(|value| member(key, value))?
            } else {
                let key = self.key()?;
                self.value(|value| member(&key, value))?
            };
            if flow.is_break() {
                return Ok(flow);
            }
            more = self.has_more(b'}', "expected `,` or `}`")?;
        }
        Ok(Continue(()))
    }

    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark { at: self.at, depth: self.depth }
    }

    /// Returns to a marked position and its depth.
    #[inline]
    pub(crate) fn back_to(&mut self, mark: Mark) {
        (self.at, self.depth) = (mark.at, mark.depth);
    }

    /// Enters an object and moves to the value of its first member, if that member has the given key, which
    /// includes its quotes. A shortcut for small objects that nearly always have the same members. If `enters`,
    /// [`Json::goes_on`] or [`Json::leaves`] returns false, the position is unspecified: return to a mark.
    #[inline]
    pub(crate) fn enters<const L: usize>(&mut self, key: &'static [u8; L]) -> bool {
        self.depth += 1;
        self.depth <= MAX_DEPTH && self.passes(b"{") && self.passes(key) && self.passes(b":")
    }

    /// Moves to the value of the next member of an entered object, if that member has the given key.
    #[inline]
    pub(crate) fn goes_on<const L: usize>(&mut self, key: &'static [u8; L]) -> bool {
        self.passes(b",") && self.passes(key) && self.passes(b":")
    }

    /// Leaves an entered object if its end comes next.
    #[inline]
    pub(crate) fn leaves(&mut self) -> bool {
        self.depth -= 1;
        self.passes(b"}")
    }

    /// Skips white space and consumes these bytes if they come next.
    #[inline]
    fn passes<const L: usize>(&mut self, expected: &'static [u8; L]) -> bool {
        self.space();
        let passes = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) == Some(expected);
        self.at += if passes { L } else { 0 };
        passes
    }

    /// Like [`Json::object`], but with keys that outlive the closure.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(Cow<'a, [u8]>, &mut Self) -> Read<()>,
    ) -> Read<()> {
        let mut more = self.enter(*b"{}", "an object")?;
        while more {
            let key = self.key()?;
            _ = self.value(|value| member(key, value).map(Continue))?;
            more = self.has_more(b'}', "expected `,` or `}`")?;
        }
        Ok(())
    }

    /// Calls `read` on the next value, and skips the value if `read` does not consume it.
    #[inline]
    fn value(&mut self, read: impl FnOnce(&mut Self) -> Read<ControlFlow<()>>) -> Read<ControlFlow<()>> {
        self.space();
        let start = self.at;
        let flow = read(self)?;
        if self.at == start && flow.is_continue() {
            self.skip()?;
        }
        Ok(flow)
    }

    /// Reads a list item by item. `item` reads each item, or leaves it to be skipped.
    #[inline]
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.list_until(|value| item(value).map(Continue)).map(|_| ())
    }

    /// Reads a list and collects its items.
    #[inline]
    pub(crate) fn list_of<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        self.list(|value| item(value).map(|item| items.push(item)))?;
        Ok(items)
    }

    /// Like [`Json::list`], but stops if `item` breaks, which leaves the reader inside the list.
    #[inline]
    pub(crate) fn list_until(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Read<ControlFlow<()>>,
    ) -> Read<ControlFlow<()>> {
        let mut more = self.enter(*b"[]", "a list")?;
        while more {
            let flow = self.value(&mut item)?;
            if flow.is_break() {
                return Ok(flow);
            }
            more = self.has_more(b']', "expected `,` or `]`")?;
        }
        Ok(Continue(()))
    }

    /// Like [`Json::list`], but also accepts null. Returns false for null.
    #[inline]
    pub(crate) fn list_or_null(&mut self, item: impl FnMut(&mut Self) -> Read<()>) -> Read<bool> {
        Ok(self.or_null(|json| json.list(item))?.is_some())
    }

    /// Like [`Json::object`], but also accepts null. Returns false for null.
    #[inline]
    pub(crate) fn object_or_null(&mut self, member: impl FnMut(&[u8], &mut Self) -> Read<()>) -> Read<bool> {
        Ok(self.or_null(|json| json.object(member))?.is_some())
    }

    /// Reads a key and its colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Read<Cow<'a, [u8]>> {
        match self.peek_byte() {
            Some(b'"') => {}
            Some(_) => return Err(Fault::syntax(self.at, "expected a key")),
            None => return Err(Fault::end_at(self.at)),
        }
        let string = self.string_extent::<true>()?;
        match self.peek_byte() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(Fault::syntax(self.at, "expected `:`")),
            None => return Err(Fault::end_at(self.at)),
        }
        Ok(string.bytes())
    }

    /// Reads the string whose opening quote is at the current offset.
    #[inline]
    fn string_extent<const STRICT: bool>(&mut self) -> Read<JsonString<'a>> {
        let start = self.at + 1;
        // Most strings are short and plain.
        let extent = match short_end::<STRICT>(self.bytes, start) {
            Some(close) => Extent { close, escapes: Escapes::None },
            None => long_extent::<STRICT>(self.bytes, self.index, start)?,
        };
        self.at = extent.close + 1;
        let inner = self.bytes.get(start..extent.close).unwrap_or_default();
        Ok(JsonString::new(inner, extent.escapes))
    }
}

#[cfg(test)]
mod tests;
