//! JSON values, which borrow from their input unless they need decoding.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Number;

use crate::json::{self, Fault, Json, Kind, Read};
use crate::read::members::decoded;

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(untagged)]
pub(crate) enum Data<'t> {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Data<'t>>),
    Object(Members<'t>),
}

/// The members of an object, sorted by key. If a key is repeated, its last value counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Members<'t>(Vec<(Cow<'t, str>, Data<'t>)>);

impl<'t> Data<'t> {
    /// Parses a text that is a JSON list or object. Returns `None` for any other text.
    pub(crate) fn of_text(text: &'t str) -> Option<Self> {
        let trimmed = text.trim_start();
        if !trimmed.starts_with(['{', '[']) {
            return None;
        }
        // serde allows one level fewer than the JSON reader, and so does this.
        let mut json = Json::starting_at(trimmed.as_bytes(), 0, 1);
        let data = Self::read(&mut json).ok()?;
        json.peek_byte().is_none().then_some(data)
    }

    /// Like [`Data::of_text`], for a text that may be owned.
    pub(crate) fn of_cow(text: &Cow<'t, str>) -> Option<Self> {
        match text {
            Cow::Borrowed(text) => Self::of_text(text),
            Cow::Owned(text) => Data::of_text(text).map(Data::into_owned),
        }
    }

    pub(crate) fn read(json: &mut Json<'t>) -> Read<Self> {
        Ok(match json.kind()? {
            Kind::Null => json.null().map(|_| Self::Null)?,
            Kind::Bool => Self::Bool(json.boolean()?),
            Kind::Number => Self::Number(number(json)?),
            Kind::String => Self::Text(json.text()?.decode()),
            Kind::List => Self::List(json.list_of(Self::read)?),
            Kind::Object => {
                let mut members = Vec::new();
                json.members(|key, value| {
                    Self::read(value).map(|value| members.push((decoded(key), value)))
                })?;
                Self::Object(members.into_iter().collect())
            }
        })
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value if it is a non-negative integer, such as `3` or `3.0`.
    pub(crate) fn as_count(&self) -> Option<u64> {
        let Self::Number(number) = self else { return None };
        let whole =
            || json::Number::Float(number.as_f64()?).integer().and_then(|whole| whole.try_into().ok());
        number.as_u64().or_else(whole)
    }

    pub(crate) fn as_list(&self) -> Option<&[Data<'t>]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Members<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn into_object(self) -> Option<Members<'t>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the list or object that a text holds, or the value itself.
    pub(crate) fn parsed(self) -> Self {
        match self {
            Self::Text(text) => Self::of_cow(&text).unwrap_or(Self::Text(text)),
            other => other,
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn into_owned(self) -> Data<'static> {
        match self {
            Self::Null => Data::Null,
            Self::Bool(boolean) => Data::Bool(boolean),
            Self::Number(number) => Data::Number(number),
            Self::Text(text) => Data::Text(Cow::Owned(text.into_owned())),
            Self::List(items) => Data::List(items.into_iter().map(Data::into_owned).collect()),
            Self::Object(Members(members)) => {
                let own = |(key, value): (Cow<'_, str>, Data<'_>)| {
                    (Cow::Owned(key.into_owned()), value.into_owned())
                };
                Data::Object(Members(members.into_iter().map(own).collect()))
            }
        }
    }
}

/// Reads a number as serde does: `-0` is a float.
fn number(json: &mut Json<'_>) -> Read<Number> {
    json.space();
    let start = json.offset();
    json.number()?;
    serde_json::from_slice(json.since(start)).map_err(|_| Fault::shape(start, "a number out of range"))
}

impl<'t> Members<'t> {
    pub(crate) fn get(&self, key: &str) -> Option<&Data<'t>> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns true if the value of a key is `true`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key) == Some(&Data::Bool(true))
    }

    /// Returns the value of a key if it is an object.
    pub(crate) fn object(&self, key: &str) -> Option<&Members<'t>> {
        self.get(key)?.as_object()
    }

    /// Returns the value of a key if it is a string.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Data<'t>> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Data<'t>> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Data<'t>)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Data<'t>)> {
        self.0.iter_mut().map(|(key, value)| (&**key, value))
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Cow<'t, str>, Data<'t>)> {
        self.0.into_iter()
    }
}

impl<'t> FromIterator<(Cow<'t, str>, Data<'t>)> for Members<'t> {
    fn from_iter<I: IntoIterator<Item = (Cow<'t, str>, Data<'t>)>>(members: I) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        members.dedup_by(|(later, value), (key, kept)| {
            let again = later == key;
            if again {
                *kept = std::mem::take(value);
            }
            again
        });
        Self(members)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn texts_are_read_as_serde_reads_them() {
        for text in [
            r#"{"b": 1, "a": [true, null, -2, 3.50, 1e3, 18446744073709551615], "b": "last", "c": {}}"#,
            r#"[{"": "tab\t", "\u0061": "\ud83d\ude00"}, 123456789012345678901234567890, -0]"#,
            "  [1]  ",
            r#"{"a": 1e999}"#,
            r#"{"a": 1} x"#,
            "[\"\u{1}\"]",
            "7",
            &"[".repeat(127),
            &("[".repeat(128) + &"]".repeat(128)),
            &("[".repeat(127) + &"]".repeat(127)),
            "[0, -0, 0.0, -0.0, 1E2, 9223372036854775808, -9223372036854775808, -9223372036854775809]",
            "[1 2]",
            "[tru]",
            "[01]",
            "[\"\\x\"]",
            "{\"a\": 1,}",
        ] {
            let own = Data::of_text(text);
            let other = serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_number());
            assert_eq!(own.as_ref().map(Data::to_json), other.as_ref().map(Value::to_string), "{text}");
        }
    }
}
