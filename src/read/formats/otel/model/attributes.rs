//! Attributes of spans, events and log records. Text with escapes stays in its JSON spelling until it is
//! read.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::data::Data;
use super::names::{Attr, Key, Spread};
use crate::json::{Escapes, Json, JsonString, Read};

#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    /// Text with escapes, which is decoded when it is first read.
    Spelled(Box<Spelled<'a>>),
    /// Any value that is not text.
    Data(Data<'a>),
}

#[derive(Debug, Clone)]
pub(crate) struct Spelled<'a> {
    spelling: JsonString<'a>,
    decoded: OnceLock<String>,
}

impl<'a> From<JsonString<'a>> for Value<'a> {
    fn from(spelling: JsonString<'a>) -> Self {
        match spelling.escapes() {
            Escapes::None => Self::Text(spelling.decode()),
            _ => Self::Spelled(Box::new(Spelled { spelling, decoded: OnceLock::new() })),
        }
    }
}

impl<'a> From<Data<'a>> for Value<'a> {
    fn from(data: Data<'a>) -> Self {
        match data {
            Data::Text(text) => Self::Text(text),
            data => Self::Data(data),
        }
    }
}

impl Default for Value<'_> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<'a> Value<'a> {
    pub(crate) const NULL: Self = Self::Data(Data::Null);

    /// Creates a text value from a borrowed or owned string.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// Reads a value that is written as plain JSON.
    pub(crate) fn read(json: &mut Json<'a>) -> Read<Self> {
        match json.peek_byte() {
            Some(b'"') => json.text().map(Self::from),
            _ => Data::read(json).map(Self::Data),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Spelled(text) => Some(text.decoded.get_or_init(|| text.spelling.decode().into_owned())),
            Self::Data(_) => None,
        }
    }

    /// Returns the text in its JSON spelling, if it is stored that way.
    pub(crate) fn spelled(&self) -> Option<JsonString<'_>> {
        if let Self::Spelled(text) = self { Some(text.spelling) } else { None }
    }

    /// Returns the value as a non-negative integer, if it is one. Text such as `"3"` and the number `3.0` count too.
    pub(crate) fn as_count(&self) -> Option<u64> {
        match self {
            Self::Data(data) => data.as_count(),
            text => text.as_str()?.trim().parse().ok(),
        }
    }

    /// Returns the value as JSON. Text that holds a JSON list or object is parsed. Any other text becomes a
    /// string.
    pub(crate) fn to_data(&self) -> Data<'_> {
        let parsed = self.as_str().and_then(Data::of_text);
        parsed.unwrap_or_else(|| self.to_plain_data())
    }

    /// Returns the value as JSON. Text always becomes a string, even if it holds JSON.
    pub(crate) fn to_plain_data(&self) -> Data<'_> {
        match self {
            Self::Data(data) => data.clone(),
            text => Data::Text(Cow::Borrowed(text.as_str().unwrap_or_default())),
        }
    }

    pub(crate) fn into_data(self) -> Data<'a> {
        match self {
            Self::Text(text) => Data::Text(text),
            Self::Spelled(text) => Data::Text(text.spelling.decode()),
            Self::Data(data) => data,
        }
    }

    /// Returns the value as text; a value that is not text is written as JSON. Returns `None` for null.
    pub(crate) fn to_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Data(Data::Null) => None,
            Self::Data(data) => Some(Cow::Owned(data.to_json())),
            text => text.as_str().map(Cow::Borrowed),
        }
    }

    pub(crate) fn into_owned(self) -> Value<'static> {
        match self.into_data() {
            Data::Text(text) => Value::text(Box::<str>::from(text).into_string()),
            data => Value::Data(data.into_owned()),
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_plain_data().serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spelling = <&RawValue>::deserialize(deserializer)?.get();
        Self::read(&mut Json::new(spelling.as_bytes())).map_err(|fault| D::Error::custom(fault.into_error()))
    }
}

/// The attributes of a span, an event or a log record, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes<'a> {
    entries: Vec<(Key<'a>, Value<'a>)>,
    /// A bit for each [`Attr`] that is present. Few of the names that are looked up are, so most look-ups end here.
    names: u128,
}

impl<'a> Attributes<'a> {
    /// Initial capacity, which saves most reallocations.
    const ROOM: usize = 12;

    /// Adds an attribute, unless its value is null. If a name is added more than once, its last value counts.
    pub(crate) fn push(&mut self, key: Key<'a>, value: Value<'a>) {
        if matches!(value, Value::Data(Data::Null)) {
            return;
        }
        if self.entries.capacity() == 0 {
            self.entries.reserve(Self::ROOM);
        }
        if let Key::Known(name) = key {
            self.names |= name.bit();
        }
        self.entries.push((key, value));
    }

    /// Adds an attribute if its name is known.
    pub(crate) fn push_named(&mut self, name: Cow<'a, str>, value: Value<'a>) {
        if let Some(key) = Key::of(name) {
            self.push(key, value);
        }
    }

    pub(crate) fn get(&self, name: Attr) -> Option<&Value<'a>> {
        if self.names & name.bit() == 0 {
            return None;
        }
        self.entries.iter().rev().find(|(key, _)| *key == Key::Known(name)).map(|(_, value)| value)
    }

    /// Returns the value of an attribute if it is non-empty text.
    pub(crate) fn name(&self, name: Attr) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns the value of the first of these attributes that is present.
    pub(crate) fn first_of(&self, names: &[Attr]) -> Option<&Value<'a>> {
        names.iter().find_map(|name| self.get(*name))
    }

    /// Returns the first value of these attributes that is non-empty text.
    pub(crate) fn first_name(&self, names: &[Attr]) -> Option<&str> {
        names.iter().find_map(|name| self.name(*name))
    }

    /// Returns the first value of these attributes that is a non-negative integer (see [`Value::as_count`]).
    pub(crate) fn first_count(&self, names: &[Attr]) -> Option<u64> {
        names.iter().find_map(|name| self.get(*name)?.as_count())
    }

    /// Returns the parts of spread messages, each with its name after the prefix.
    pub(crate) fn spread(&self, spread: Spread) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.entries.iter().filter_map(move |(key, value)| match key {
            Key::Part(name) => Some((name.strip_prefix(spread)?, value)),
            Key::Known(_) => None,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key<'a>, &Value<'a>)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn into_owned(self) -> Attributes<'static> {
        let own = self.entries.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned()));
        let mut entries: Vec<_> = own.collect();
        // The estimate of memory counts the entries, so keep no spare capacity.
        entries.shrink_to_fit();
        Attributes { entries, names: self.names }
    }
}

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries.iter().map(|(key, value)| (key.as_str(), value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A string that is borrowed if possible.
        #[derive(Deserialize)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

        let entries = Vec::<(Borrowed<'a>, Value<'a>)>::deserialize(deserializer)?;
        let mut attributes = Attributes { entries: Vec::with_capacity(entries.len()), names: 0 };
        for (Borrowed(name), value) in entries {
            attributes.push_named(name, value);
        }
        Ok(attributes)
    }
}
