//! The members of an object by key, and typed access to their values.

use std::borrow::Cow;

use super::call_outcome::Outcome;
use super::{common, time, tokens, words};
use crate::json::{Json, Kind, Raw, Read};
use crate::trace::{Arguments, Content, TextCow, Usage};

/// The members of an object, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<'a> {
    entries: Vec<(Cow<'a, str>, Raw<'a>)>,
    /// The bits of all keys, as given by [`bit`]: recognition looks up hundreds of keys that an object lacks
    /// (see `foreign_lines` in `benches/scan.rs`).
    keys: u64,
    /// Keys of members whose values are incomplete or invalid, and the offsets of these values.
    open: Vec<(String, usize)>,
    /// The object, if it is complete. For a line, only if nothing follows the object.
    whole: Option<Raw<'a>>,
}

impl<'a> From<Raw<'a>> for Members<'a> {
    /// Returns the members of a value; none if it is not an object.
    fn from(value: Raw<'a>) -> Self {
        Self::of(&mut value.json())
    }
}

impl<'a> Members<'a> {
    /// Returns the members of an object. If it is incomplete or damaged, returns those that can be read.
    pub(super) fn of(json: &mut Json<'a>) -> Self {
        Self::read(json).0
    }

    /// Like [`Members::of`], but also returns the fault if the object cannot be read to its end. An invalid value
    /// that can be skipped is not a fault.
    pub(super) fn read(json: &mut Json<'a>) -> (Self, Read<()>) {
        let (mut members, mut open, mut keys) = (Vec::with_capacity(16), Vec::new(), 0);
        json.space();
        let start = json.offset();
        let read = json.members(|key, value| {
            let name = decoded(key);
            keys |= bit(&name);
            let start = value.clone();
            match value.raw() {
                Ok(raw) => members.push((name, raw)),
                Err(fault) => {
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
        (Self { entries: members, keys, open, whole }, read)
    }

    /// Like [`Members::of`], for an object that should fill a line.
    pub(super) fn of_line(line: Json<'a>) -> Self {
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

    /// Returns the object, if it is complete. For a line, only if nothing follows the object.
    pub(super) fn whole(&self) -> Option<Raw<'a>> {
        self.whole
    }

    /// Returns the members of an object if all of it is valid, including the contents of strings.
    pub(super) fn checked(json: &mut Json<'a>) -> Option<Self> {
        Self::try_read(json).ok()
    }

    /// Like [`Members::checked`], but returns the fault of an invalid object.
    pub(super) fn try_read(json: &mut Json<'a>) -> Read<Self> {
        json.space();
        let start = json.offset();
        let (mut members, mut keys) = (Vec::new(), 0);
        json.members(|key, value| {
            let name = decoded(key);
            keys |= bit(&name);
            members.push((name, value.checked()?));
            Ok(())
        })?;
        Ok(Self { entries: members, keys, open: Vec::new(), whole: Some(json.raw_since(start)) })
    }

    /// Returns the value of a key if it is complete. If the key is repeated, returns the last one.
    pub(super) fn get(&self, key: &str) -> Option<Raw<'a>> {
        if self.keys & bit(key) == 0 {
            return None;
        }
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Returns the value of a key if it is a non-empty string, decoded.
    pub(super) fn name(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.string().filter(|name| !name.is_empty())
    }

    /// Returns true if the key exists, even if its value is incomplete.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some() || self.open.iter().any(|(open, _)| open == key)
    }

    pub(super) fn is(&self, key: &str, kind: Kind) -> bool {
        self.get(key).is_some_and(|value| value.kind() == kind)
    }

    pub(super) fn present(&self, key: &str) -> Option<Raw<'a>> {
        self.get(key).filter(|value| value.kind() != Kind::Null)
    }

    pub(super) fn first(&self, keys: &[&str]) -> Option<Raw<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// Returns the members of the object under a key; none for any other value.
    pub(super) fn object(&self, key: &str) -> Self {
        self.get(key).map(Self::from).unwrap_or_default()
    }

    /// Returns the members of the object under a key, or this object if there is none.
    pub(super) fn within(&self, key: &str) -> Self {
        if self.is(key, Kind::Object) { self.object(key) } else { self.clone() }
    }

    /// Returns the items of the list under a key; none for any other value.
    pub(super) fn list(&self, key: &str) -> Vec<Raw<'a>> {
        self.get(key).and_then(Raw::items).unwrap_or_default()
    }

    /// Returns the members of each item of the list under a key; none for an item that is not an object.
    pub(super) fn objects(&self, key: &str) -> impl Iterator<Item = Self> {
        self.list(key).into_iter().map(Self::from)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Raw::boolean)
    }

    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Raw::integer)
    }

    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.integer(key).and_then(|count| u64::try_from(count).ok())
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        let number = self.get(key).filter(|value| value.kind() == Kind::Number)?;
        number.json().float().ok()
    }

    /// Returns a name or id, which may be an integer.
    pub(super) fn ident(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(common::ident)
    }

    /// Returns the text of a string, of text parts or of one text part, unless it is blank.
    pub(super) fn text(&self, key: &str) -> Option<TextCow<'a>> {
        words::text(self.get(key)?)
    }

    /// Returns the text of a string, which may be blank.
    pub(super) fn string(&self, key: &str) -> Option<TextCow<'a>> {
        self.get(key).filter(|value| value.kind() == Kind::String).and_then(words::result)
    }

    /// Returns the text of a string or of text parts, unless it is blank.
    pub(super) fn message(&self, key: &str) -> Option<TextCow<'a>> {
        self.get(key).and_then(words::message)
    }

    /// Returns the text of a result, or `None` for null.
    pub(super) fn result(&self, key: &str) -> Option<TextCow<'a>> {
        self.get(key).and_then(words::result)
    }

    /// Returns the outcome of a call, from a word for its status.
    pub(super) fn outcome(&self, key: &str) -> Option<Outcome> {
        Outcome::of_word(&self.name(key)?)
    }

    pub(super) fn arguments(&self, key: &str) -> Content<Arguments<'a>> {
        self.get(key).map_or(Content::Absent, common::arguments)
    }

    /// Returns the date and time in a string, in nanoseconds since 1970.
    pub(super) fn time(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(time::of_string)
    }

    /// Returns the token counts of a response, as [`tokens::usage`] reads them.
    pub(super) fn usage(&self, key: &str) -> Option<Usage> {
        self.get(key).and_then(tokens::usage)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.entries.iter().map(|(key, value)| (&**key, *value))
    }

    /// Returns the key and value of the only member, or `None` if there is not exactly one.
    pub(super) fn only(&self) -> Option<(&str, Raw<'a>)> {
        let mut all = self.iter();
        all.next().filter(|_| all.next().is_none())
    }

    /// Returns every key, those of incomplete values last.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let open = self.open.iter().map(|(key, _)| &**key);
        self.entries.iter().map(|(key, _)| &**key).chain(open)
    }
}

/// Returns one of 64 bits for a key, chosen by its length and its first and last bytes.
fn bit(key: &str) -> u64 {
    let (first, last) = (key.as_bytes().first(), key.as_bytes().last());
    let ends = first.zip(last).map_or(0, |(first, last)| u64::from(*first) * 5 + u64::from(*last) * 11);
    1 << ((ends + key.len() as u64 * 3) % 64)
}

pub(super) fn decoded(key: Cow<'_, [u8]>) -> Cow<'_, str> {
    match key {
        Cow::Borrowed(key) => {
            std::str::from_utf8(key).map_or_else(|_| String::from_utf8_lossy(key), Cow::Borrowed)
        }
        Cow::Owned(key) => Cow::Owned(String::from_utf8_lossy(&key).into_owned()),
    }
}
