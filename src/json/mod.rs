//! The strict pull reader: members of objects, items of lists and scalars in the order in which they stand, over
//! bytes in memory. It knows no format.
//!
//! What is read is checked as RFC 8259 wants it. What is passed over ([`Json::skip`], [`Json::raw`]) is checked in
//! its structure, numbers and literals, but not for what stands inside of its strings: unescaped control characters
//! and unsound escapes go unnoticed there. Whether all of it is UTF-8 is the business of whoever holds the bytes.
//! Values are nested at most [`MAX_DEPTH`] deep.

mod fault;
mod scan;
mod string;

use std::borrow::Cow;

pub(crate) use fault::{Fault, Read};
pub(crate) use scan::Escapes;
pub(crate) use string::{JsonString, unescape};

use fault::{unexpected, unknown_name};
use scan::{Unsound, string_end};

/// How deep values may be nested.
pub(crate) const MAX_DEPTH: u32 = 128;

/// What kind of value comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    List,
    Object,
}

impl Kind {
    /// With its article, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// A number, kept as exactly as it can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<'a> {
    /// A whole number without fraction or exponent that fits.
    Integer(i128),
    /// A whole number that does not fit, as it is spelled.
    Large(&'a str),
    /// Any other; finite.
    Float(f64),
}

/// A value that was passed over, to be read later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Raw<'a> {
    /// The value that begins at an offset of a text and ends with it.
    pub(crate) fn over(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, depth: 0 }
    }

    /// Where it begins in the text that it was found in.
    pub(crate) fn offset(self) -> usize {
        self.at
    }

    /// A reader of the value.
    pub(crate) fn json(self) -> Json<'a> {
        Json { bytes: self.bytes, at: self.at, depth: self.depth }
    }

    /// The value as it is spelled.
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The value as it is spelled; where it is not UTF-8, with U+FFFD.
    pub(crate) fn spelling(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
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

    /// The value where it is a string, decoded.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        if self.kind() == Kind::String { self.json().string().ok() } else { None }
    }

    /// The value where it is a boolean.
    pub(crate) fn boolean(self) -> Option<bool> {
        if self.kind() == Kind::Bool { self.json().boolean().ok() } else { None }
    }

    /// The value where it is a whole number that fits; `3.0` is one.
    pub(crate) fn integer(self) -> Option<i64> {
        let number = if self.kind() == Kind::Number { self.json().number().ok()? } else { return None };
        match number {
            Number::Integer(integer) => i64::try_from(integer).ok(),
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            Number::Float(float) => (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64),
            Number::Large(_) => None,
        }
    }

    /// The member of this name, where the value is an object that has one; of several, the last.
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

    /// The items, where the value is a list.
    pub(crate) fn items(self) -> Option<Vec<Raw<'a>>> {
        let mut items = Vec::new();
        if self.kind() != Kind::List {
            return None;
        }
        self.json()
            .list(|item| {
                items.push(item.raw()?);
                Ok(())
            })
            .ok()?;
        Some(items)
    }
}

/// Reads JSON values one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Json<'a> {
    /// A reader at the start of a text.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0 }
    }

    /// A reader at an offset of a text, at which so many lists and objects are open.
    pub(crate) fn starting_at(bytes: &'a [u8], at: usize, depth: u32) -> Self {
        Self { bytes, at, depth }
    }

    /// How far it has come.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The bytes of the text that is read, from an offset to here.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The value that began at an offset and has just been read.
    pub(crate) fn raw_since(&self, start: usize) -> Raw<'a> {
        Raw { bytes: self.bytes.get(..self.at).unwrap_or_default(), at: start, depth: self.depth }
    }

    /// Passes over white space.
    #[inline]
    pub(crate) fn space(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\n' => {
                    self.at += 1;
                    // Indentation comes in runs.
                    while self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>) == Some(&[b' '; 8]) {
                        self.at += 8;
                    }
                }
                b'\t' | b'\r' => self.at += 1,
                _ => return,
            }
        }
    }

    /// The byte that comes next behind white space; `None` at the end.
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

    /// Passes over one byte that was peeked at.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// The kind of the value that comes next.
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

    #[cold]
    fn not(&mut self, expected: &str) -> Fault {
        match self.kind() {
            Ok(kind) => unexpected(self.at, expected, kind.name()),
            Err(fault) => fault,
        }
    }

    /// An object that lacks a member it must have.
    #[cold]
    pub(crate) fn missing(&self, name: &str) -> Fault {
        Fault::shape(self.at, format!("`{name}` is missing"))
    }

    #[inline]
    fn deeper(&mut self) -> Read<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Fault::syntax(self.at - 1, "nested too deeply")) } else { Ok(()) }
    }

    /// Reads an object member by member. `member` is given each key, and reads its value or leaves it.
    #[inline]
    pub(crate) fn object(&mut self, mut member: impl FnMut(&[u8], &mut Self) -> Read<()>) -> Read<()> {
        if self.peek_byte() != Some(b'{') {
            return Err(self.not("an object"));
        }
        self.deeper()?;
        if self.peek_byte() == Some(b'}') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            let key = self.key()?;
            self.space();
            let start = self.at;
            member(&key, self)?;
            if self.at == start {
                self.skip()?;
            }
            match self.peek_byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                Some(_) => return Err(Fault::syntax(self.at, "expected `,` or `}`")),
                None => return Err(Fault::end_at(self.at)),
            }
        }
    }

    /// Reads a list item by item. `item` reads each, or leaves it.
    #[inline]
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        if self.peek_byte() != Some(b'[') {
            return Err(self.not("a list"));
        }
        self.deeper()?;
        if self.peek_byte() == Some(b']') {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            self.space();
            let start = self.at;
            item(self)?;
            if self.at == start {
                self.skip()?;
            }
            match self.peek_byte() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                Some(_) => return Err(Fault::syntax(self.at, "expected `,` or `]`")),
                None => return Err(Fault::end_at(self.at)),
            }
        }
    }

    /// As [`Json::list`]; `false` where null stands instead.
    #[inline]
    pub(crate) fn list_or_null(&mut self, item: impl FnMut(&mut Self) -> Read<()>) -> Read<bool> {
        if self.null()? {
            return Ok(false);
        }
        self.list(item).map(|()| true)
    }

    /// As [`Json::object`]; `false` where null stands instead.
    #[inline]
    pub(crate) fn object_or_null(&mut self, member: impl FnMut(&[u8], &mut Self) -> Read<()>) -> Read<bool> {
        if self.null()? {
            return Ok(false);
        }
        self.object(member).map(|()| true)
    }

    /// A key, with the colon behind it.
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
        Ok(match string.escapes() {
            Escapes::None => Cow::Borrowed(string.inner()),
            _ => Cow::Owned(string.decode().into_owned().into_bytes()),
        })
    }

    /// The extent of the string that begins here.
    #[inline]
    fn string_extent<const STRICT: bool>(&mut self) -> Read<JsonString<'a>> {
        let start = self.at + 1;
        match string_end::<STRICT>(self.bytes, start) {
            Ok(extent) => {
                self.at = extent.close + 1;
                let inner = self.bytes.get(start..extent.close).unwrap_or_default();
                Ok(JsonString::new(inner, extent.escapes))
            }
            Err(unsound) => Err(self.unsound(unsound)),
        }
    }

    #[cold]
    fn unsound(&self, unsound: Unsound) -> Fault {
        match unsound {
            Unsound::Open => Fault::end_at(self.bytes.len()),
            Unsound::Control(at) => Fault::syntax(at, "a control character stands in a string"),
            Unsound::Escape(at) => Fault::syntax(at, "no such escape"),
        }
    }

    /// Reads null, if that comes next.
    #[inline]
    pub(crate) fn null(&mut self) -> Read<bool> {
        match self.peek_byte() {
            Some(b'n') => self.literal(b"null").map(|()| true),
            _ => Ok(false),
        }
    }

    fn literal(&mut self, literal: &'static [u8]) -> Read<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.starts_with(literal) {
            self.at += literal.len();
            // What would make another word of it is for whoever reads on to refuse.
            return Ok(());
        }
        let same = rest.iter().zip(literal).take_while(|(a, b)| a == b).count();
        if same == rest.len() {
            return Err(Fault::end_at(self.bytes.len()));
        }
        Err(Fault::syntax(self.at + same, "no such literal"))
    }

    /// Reads a boolean.
    #[inline]
    pub(crate) fn boolean(&mut self) -> Read<bool> {
        match self.peek_byte() {
            Some(b't') => self.literal(b"true").map(|()| true),
            Some(b'f') => self.literal(b"false").map(|()| false),
            _ => Err(self.not("a boolean")),
        }
    }

    /// Reads a boolean, or null.
    #[inline]
    pub(crate) fn boolean_or_null(&mut self) -> Read<Option<bool>> {
        if self.null()? { Ok(None) } else { self.boolean().map(Some) }
    }

    /// Reads a string, left as it is spelled.
    #[inline]
    pub(crate) fn text(&mut self) -> Read<JsonString<'a>> {
        match self.peek_byte() {
            Some(b'"') => self.string_extent::<true>(),
            _ => Err(self.not("a string")),
        }
    }

    /// Reads a string left as it is spelled, or null.
    #[inline]
    pub(crate) fn text_or_null(&mut self) -> Read<Option<JsonString<'a>>> {
        if self.null()? { Ok(None) } else { self.text().map(Some) }
    }

    /// Reads a string.
    #[inline]
    pub(crate) fn string(&mut self) -> Read<Cow<'a, str>> {
        let string = self.text()?;
        string.to_str().ok_or_else(|| Fault::encoding_at(self.at))
    }

    /// Reads a string, or null.
    #[inline]
    pub(crate) fn string_or_null(&mut self) -> Read<Option<Cow<'a, str>>> {
        if self.null()? { Ok(None) } else { self.string().map(Some) }
    }

    /// Reads a name that may be spelled as a number: ids of tasks and runs.
    pub(crate) fn ident(&mut self) -> Read<Cow<'a, str>> {
        match self.peek_byte() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => Ok(match self.number()? {
                Number::Integer(integer) => Cow::Owned(integer.to_string()),
                Number::Large(digits) => Cow::Borrowed(digits),
                Number::Float(float) => Cow::Owned(serde_json::Value::from(float).to_string()),
            }),
            _ => Err(self.not("a string or a number")),
        }
    }

    /// Reads one of a few names. `expected` says what they are names of.
    #[inline]
    pub(crate) fn one_of<T>(&mut self, expected: &str, find: impl Fn(&[u8]) -> Option<T>) -> Read<T> {
        let start = self.at;
        let string = self.text()?;
        let name = match string.escapes() {
            Escapes::None => Cow::Borrowed(string.inner()),
            _ => Cow::Owned(string.decode().into_owned().into_bytes()),
        };
        find(&name).ok_or_else(|| unknown_name(start, &String::from_utf8_lossy(&name), expected))
    }

    /// Passes over a number and gives back its spelling, and whether it has a fraction or an exponent.
    #[inline]
    fn number_extent(&mut self) -> Read<(&'a [u8], bool)> {
        let start = self.at;
        let digits = |at: usize| {
            let rest = self.bytes.get(at..).unwrap_or_default();
            at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let fault = |at: usize| match self.bytes.get(at) {
            Some(_) => Err(Fault::syntax(at, "no such number")),
            None => Err(Fault::end_at(at)),
        };
        let mut at = start + usize::from(self.bytes.get(start) == Some(&b'-'));
        let whole = at;
        at = digits(at);
        if at == whole {
            return fault(at);
        }
        if at - whole > 1 && self.bytes.get(whole) == Some(&b'0') {
            return Err(Fault::syntax(whole + 1, "no such number"));
        }
        let mut float = false;
        if self.bytes.get(at) == Some(&b'.') {
            float = true;
            let fraction = at + 1;
            at = digits(fraction);
            if at == fraction {
                return fault(at);
            }
        }
        if let Some(b'e' | b'E') = self.bytes.get(at) {
            float = true;
            at += 1;
            at += usize::from(matches!(self.bytes.get(at), Some(b'+' | b'-')));
            let exponent = at;
            at = digits(exponent);
            if at == exponent {
                return fault(at);
            }
        }
        self.at = at;
        Ok((self.bytes.get(start..at).unwrap_or_default(), float))
    }

    /// Reads a number. One beyond a double is none.
    pub(crate) fn number(&mut self) -> Read<Number<'a>> {
        if !matches!(self.peek_byte(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.not("a number"));
        }
        let start = self.at;
        let (spelling, float) = self.number_extent()?;
        let spelling = std::str::from_utf8(spelling).unwrap_or_default();
        if !float {
            if let Ok(integer) = spelling.parse::<i128>() {
                return Ok(Number::Integer(integer));
            }
            return match spelling.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Number::Large(spelling)),
                _ => Err(Fault::syntax(start, "a number is too large")),
            };
        }
        match spelling.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Number::Float(value)),
            _ => Err(Fault::syntax(start, "a number is too large")),
        }
    }

    /// Reads a number as a double.
    pub(crate) fn float(&mut self) -> Read<f64> {
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
        Ok(match self.number()? {
            Number::Integer(integer) => integer as f64,
            Number::Large(digits) => digits.parse().unwrap_or(f64::MAX),
            Number::Float(float) => float,
        })
    }

    /// Reads a number as a double, or null.
    pub(crate) fn float_or_null(&mut self) -> Read<Option<f64>> {
        if self.null()? { Ok(None) } else { self.float().map(Some) }
    }

    /// Reads a whole number that is not negative, also where it is written as `3.0`.
    pub(crate) fn whole(&mut self) -> Read<u64> {
        self.space();
        let start = self.at;
        let number = self.number()?;
        let whole = match number {
            Number::Integer(integer) => u64::try_from(integer).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be whole and small"
            )]
            Number::Float(float) => {
                (float.fract() == 0.0 && (0.0..9e15).contains(&float)).then_some(float as u64)
            }
            Number::Large(_) => None,
        };
        whole.ok_or_else(|| {
            Fault::shape(
                start,
                format!(
                    "expected a whole number, found {}",
                    crate::error::echo(&String::from_utf8_lossy(self.since(start)))
                ),
            )
        })
    }

    /// Reads a whole number that is not negative, or null.
    pub(crate) fn whole_or_null(&mut self) -> Read<Option<u64>> {
        if self.null()? { Ok(None) } else { self.whole().map(Some) }
    }

    /// Passes over a value, and gives it back for later.
    #[inline]
    pub(crate) fn raw(&mut self) -> Read<Raw<'a>> {
        self.space();
        let (start, depth) = (self.at, self.depth);
        self.skip()?;
        Ok(Raw { bytes: self.bytes.get(..self.at).unwrap_or_default(), at: start, depth })
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self) -> Read<()> {
        // One bit per open container: set for an object.
        let mut objects: u128 = 0;
        let outer = self.depth;
        loop {
            // A value.
            match self.peek_byte() {
                Some(b'"') => {
                    self.string_extent::<false>()?;
                }
                Some(b'{') => {
                    self.deeper()?;
                    if self.peek_byte() == Some(b'}') {
                        self.at += 1;
                        self.depth -= 1;
                    } else {
                        objects = objects << 1 | 1;
                        self.skip_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.deeper()?;
                    if self.peek_byte() == Some(b']') {
                        self.at += 1;
                        self.depth -= 1;
                    } else {
                        objects <<= 1;
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.number_extent()?;
                }
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                Some(_) => return Err(Fault::syntax(self.at, "expected a value")),
                None => return Err(Fault::end_at(self.at)),
            }
            // What is behind it.
            loop {
                if self.depth == outer {
                    return Ok(());
                }
                let in_object = objects & 1 == 1;
                match self.peek_byte() {
                    Some(b',') => {
                        self.at += 1;
                        if in_object {
                            self.skip_key()?;
                        }
                        break;
                    }
                    Some(b'}') if in_object => {}
                    Some(b']') if !in_object => {}
                    Some(_) => {
                        let wanted = if in_object { "expected `,` or `}`" } else { "expected `,` or `]`" };
                        return Err(Fault::syntax(self.at, wanted));
                    }
                    None => return Err(Fault::end_at(self.at)),
                }
                self.at += 1;
                self.depth -= 1;
                objects >>= 1;
            }
        }
    }

    #[inline]
    fn skip_key(&mut self) -> Read<()> {
        match self.peek_byte() {
            Some(b'"') => self.string_extent::<false>()?,
            Some(_) => return Err(Fault::syntax(self.at, "expected a key")),
            None => return Err(Fault::end_at(self.at)),
        };
        match self.peek_byte() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Fault::syntax(self.at, "expected `:`")),
            None => Err(Fault::end_at(self.at)),
        }
    }

    /// Passes over a value of which nothing is known but that it is unsound: to where its brackets are balanced, or,
    /// where it has none, to the next comma or closing bracket. `None`: the text ends first.
    pub(crate) fn skip_unsound(&mut self) -> Option<()> {
        let mut open = 0_u64;
        self.space();
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => match string_end::<false>(self.bytes, self.at + 1) {
                    Ok(extent) => self.at = extent.close,
                    Err(_) => return None,
                },
                b'{' | b'[' => open += 1,
                b'}' | b']' if open <= 1 => {
                    // A bracket that was not opened here is the enclosing list's.
                    self.at += usize::from(open == 1);
                    return Some(());
                }
                b'}' | b']' => open -= 1,
                b',' if open == 0 => return Some(()),
                _ => {}
            }
            self.at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests;
