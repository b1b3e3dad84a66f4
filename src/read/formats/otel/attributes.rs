//! Attributes of spans and log records. Only attributes that a rule reads are kept.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

use super::data::Data;
use super::names;
use crate::json::{Escapes, JsonString};

/// A value of an attribute. Lists are boxed to make it as small as a text, whose spare bits then hold the variant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Value<'a> {
    #[serde(rename = "t")]
    Text(#[serde(borrow)] Wording<'a>),
    Bool(bool),
    Integer(i64),
    Float(#[serde(with = "bits")] f64),
    List(#[serde(borrow)] Box<[Value<'a>]>),
    Map(#[serde(borrow)] Box<[(Cow<'a, str>, Value<'a>)]>),
    Null,
}

/// Writes a number by its bits: JSON has no infinities and no NaN.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(float: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(float.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

/// A text of an attribute. One with escapes stays in its JSON spelling until it is read, and is decoded once.
#[derive(Debug, Clone)]
pub(crate) enum Wording<'a> {
    Plain(Cow<'a, str>),
    Spelled(Box<Spelled<'a>>),
}

/// A text in its JSON spelling.
#[derive(Debug, Clone)]
pub(crate) struct Spelled<'a> {
    spelling: JsonString<'a>,
    decoded: OnceLock<String>,
}

impl Wording<'_> {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Spelled(text) => text.decoded.get_or_init(|| text.spelling.decode().into_owned()),
        }
    }

    /// Returns the text in its JSON spelling, if it is stored that way.
    pub(super) fn spelled(&self) -> Option<JsonString<'_>> {
        match self {
            Self::Plain(_) => None,
            Self::Spelled(text) => Some(text.spelling),
        }
    }

    fn into_owned(self) -> Wording<'static> {
        let text: Box<str> = match self {
            Self::Plain(text) => text.into(),
            Self::Spelled(text) => text.spelling.decode().into(),
        };
        Wording::Plain(Cow::Owned(text.into()))
    }
}

impl Serialize for Wording<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Wording<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::Plain(Borrowed::deserialize(deserializer)?.0))
    }
}

/// A text of the input where that is possible.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> From<JsonString<'a>> for Wording<'a> {
    fn from(spelling: JsonString<'a>) -> Self {
        match spelling.escapes() {
            Escapes::None => Self::Plain(spelling.decode()),
            _ => Self::Spelled(Box::new(Spelled { spelling, decoded: OnceLock::new() })),
        }
    }
}

impl<'a> Value<'a> {
    /// A text, borrowed or owned.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(Wording::Plain(text.into()))
    }

    /// Returns the value if it is a text.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Returns the value as a non-negative integer, also from a text or from `3.0`.
    pub(crate) fn as_count(&self) -> Option<u64> {
        match self {
            Self::Integer(integer) => u64::try_from(*integer).ok(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be whole and small"
            )]
            Self::Float(float) => {
                (float.fract() == 0.0 && (0.0..9e15).contains(float)).then_some(*float as u64)
            }
            Self::Text(text) => text.as_str().trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the member of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the value as JSON. A text that holds a JSON list or object is parsed, any other is a string.
    pub(crate) fn to_data(&self) -> Data<'_> {
        match self {
            Self::Text(text) => Data::of_text(text.as_str()).unwrap_or_else(|| self.to_plain_data()),
            _ => self.to_plain_data(),
        }
    }

    /// Returns the value as JSON, with all texts as strings.
    pub(crate) fn to_plain_data(&self) -> Data<'_> {
        match self {
            Self::Text(text) => Data::Text(Cow::Borrowed(text.as_str())),
            Self::Bool(boolean) => Data::Bool(*boolean),
            Self::Integer(integer) => Data::Number((*integer).into()),
            Self::Float(float) => Number::from_f64(*float).map_or(Data::Null, Data::Number),
            Self::List(items) => Data::List(items.iter().map(Self::to_plain_data).collect()),
            Self::Map(members) => Data::Object(
                members.iter().map(|(key, value)| (Cow::Borrowed(&**key), value.to_plain_data())).collect(),
            ),
            Self::Null => Data::Null,
        }
    }

    /// Returns the value as a text, or as JSON if it is not a text.
    pub(crate) fn to_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(Cow::Borrowed(text.as_str())),
            _ => Some(Cow::Owned(self.to_plain_data().to_json())),
        }
    }

    /// Returns an owned copy.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Text(text) => Value::Text(text.into_owned()),
            Self::Bool(boolean) => Value::Bool(boolean),
            Self::Integer(integer) => Value::Integer(integer),
            Self::Float(float) => Value::Float(float),
            Self::List(items) => Value::List(items.into_iter().map(Value::into_owned).collect()),
            Self::Map(members) => Value::Map(
                members
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            ),
            Self::Null => Value::Null,
        }
    }
}

/// The attributes of a span, an event or a log record, in order. Only attributes that a rule reads are kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes<'a> {
    entries: Vec<(Cow<'a, str>, Value<'a>)>,
    /// A bit for each name that is present. Rules ask for many names, and few are present.
    names: u64,
}

/// Returns the bit of a name, which other names share.
fn bit(name: &str) -> u64 {
    1 << (names::place(name.as_bytes()) % 64)
}

impl<'a> Attributes<'a> {
    /// Initial capacity.
    const ROOM: usize = 12;

    /// Adds an attribute; the last one of a name counts.
    pub(crate) fn push(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        if !matches!(value, Value::Null) {
            if self.entries.capacity() == 0 {
                self.entries.reserve(Self::ROOM);
            }
            self.names |= bit(&key);
            self.entries.push((key, value));
        }
    }

    /// Keeps the first `count` attributes. Bits of dropped names stay, and cost at most a search.
    pub(super) fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        debug_assert!(names::is_read(name.as_bytes()), "{name} is not kept");
        if self.names & bit(name) == 0 {
            return None;
        }
        self.entries.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the value of a name if it is a non-empty text.
    pub(crate) fn name(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns the first of these that is present.
    pub(crate) fn first_of(&self, names: &[&str]) -> Option<&Value<'a>> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Returns the first of these that is a non-empty text.
    pub(crate) fn first_name(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.name(name))
    }

    /// Returns the first of these that is an integer.
    pub(crate) fn first_count(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.get(name)?.as_count())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// Iterates in stored order.
    pub(super) fn iter_all(&self) -> impl Iterator<Item = &(Cow<'a, str>, Value<'a>)> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn into_owned(self) -> Attributes<'static> {
        let own = self.entries.into_iter().map(|(key, value)| (names::owned(key), value.into_owned()));
        let mut entries: Vec<_> = own.collect();
        // Owned texts are counted.
        entries.shrink_to_fit();
        Attributes { entries, names: self.names }
    }
}

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.entries)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attributes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<(Borrowed<'a>, Value<'a>)>::deserialize(deserializer)?;
        let mut attributes = Attributes { entries: Vec::with_capacity(entries.len()), names: 0 };
        for (Borrowed(key), value) in entries {
            attributes.push(key, value);
        }
        Ok(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_be_spelled_as_text() {
        assert_eq!(Value::text("12").as_count(), Some(12));
        assert_eq!(Value::Float(12.0).as_count(), Some(12));
        assert_eq!(Value::Float(12.5).as_count(), None);
        assert_eq!(Value::Integer(-1).as_count(), None);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_value_is_no_larger_than_a_text() {
        assert_eq!(size_of::<Value<'_>>(), size_of::<Cow<'_, str>>());
    }
}
