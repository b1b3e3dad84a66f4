//! JSON within texts, as values that borrow from the text if it needs no decoding.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::{Number, Value};

use crate::json::{self, Fault, Json, JsonString, Kind, Read};

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Data<'t> {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Data<'t>>),
    Object(Members<'t>),
}

/// The members of an object, sorted by key; the last one of a key counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Members<'t>(Vec<(Cow<'t, str>, Data<'t>)>);

impl<'t> Data<'t> {
    /// Parses a JSON list or object in a text, with the results of serde.
    pub(crate) fn of_text(text: &'t str) -> Option<Self> {
        let trimmed = text.trim_start();
        if !trimmed.starts_with(['{', '[']) {
            return None;
        }
        let mut json = Json::new(trimmed.as_bytes());
        match usual(&mut json, 0) {
            Ok(data) if json.peek_byte().is_none() => Some(data),
            _ => serde_json::from_str(trimmed).ok(),
        }
    }

    /// Like [`Data::of_text`], for a text that may be owned.
    pub(crate) fn of_cow(text: &Cow<'t, str>) -> Option<Self> {
        match text {
            Cow::Borrowed(text) => Self::of_text(text),
            Cow::Owned(text) => Data::of_text(text).map(Data::into_owned),
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(boolean) => Some(*boolean),
            _ => None,
        }
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

    /// Returns its spelling without spaces.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns an owned copy.
    pub(crate) fn into_owned(self) -> Data<'static> {
        match self {
            Self::Null => Data::Null,
            Self::Bool(boolean) => Data::Bool(boolean),
            Self::Number(number) => Data::Number(number),
            Self::Text(text) => Data::Text(Cow::Owned(text.into_owned())),
            Self::List(items) => Data::List(items.into_iter().map(Data::into_owned).collect()),
            Self::Object(Members(members)) => Data::Object(Members(
                members
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            )),
        }
    }
}

/// Depth that usual values do not exceed.
const USUAL_DEPTH: u32 = 32;

/// Reads values for which serde's result is certain: without long numbers and surrogates.
fn usual<'t>(json: &mut Json<'t>, depth: u32) -> Read<Data<'t>> {
    Ok(match json.kind()? {
        Kind::Null => json.null().map(|_| Data::Null)?,
        Kind::Bool => Data::Bool(json.boolean()?),
        Kind::Number => Data::Number(usual_number(json)?),
        Kind::String => Data::Text(usual_text(json.text()?)?),
        Kind::List | Kind::Object if depth == USUAL_DEPTH => return Err(unusual()),
        Kind::List => {
            let mut items = Vec::new();
            json.list(|item| {
                items.push(usual(item, depth + 1)?);
                Ok(())
            })?;
            Data::List(items)
        }
        Kind::Object => {
            let mut members = Vec::new();
            json.members(|key, value| {
                members.push((usual_key(key)?, usual(value, depth + 1)?));
                Ok(())
            })?;
            Data::Object(members.into_iter().collect())
        }
    })
}

/// Leaves a text to serde.
#[cold]
fn unusual() -> Fault {
    Fault::syntax(0, "not a usual value")
}

fn usual_number(json: &mut Json<'_>) -> Read<Number> {
    json.space();
    let start = json.offset();
    let number = json.number()?;
    let spelling = json.since(start);
    let is_short = spelling.len() <= 15 && !spelling.iter().any(|byte| matches!(byte, b'e' | b'E'));
    let usual = match number {
        // serde does not read `-0` as an integer, and rounds numbers with many digits in its own way.
        _ if !is_short || spelling == b"-0" => None,
        json::Number::Integer(integer) => i64::try_from(integer).ok().map(Number::from),
        json::Number::Float(float) => Number::from_f64(float),
        json::Number::Large(_) => None,
    };
    usual.ok_or_else(unusual)
}

fn usual_text(text: JsonString<'_>) -> Read<Cow<'_, str>> {
    let is_whole = |said: &Cow<'_, str>| matches!(said, Cow::Borrowed(_)) || !said.contains('\u{fffd}');
    text.to_str().filter(is_whole).ok_or_else(unusual)
}

fn usual_key(key: Cow<'_, [u8]>) -> Read<Cow<'_, str>> {
    let text = match key {
        Cow::Borrowed(key) => std::str::from_utf8(key).ok().map(Cow::Borrowed),
        Cow::Owned(key) => {
            String::from_utf8(key).ok().filter(|key| !key.contains('\u{fffd}')).map(Cow::Owned)
        }
    };
    text.ok_or_else(unusual)
}

impl<'t> Members<'t> {
    pub(crate) fn get(&self, key: &str) -> Option<&Data<'t>> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the object of a key.
    pub(crate) fn object(&self, key: &str) -> Option<&Members<'t>> {
        self.get(key)?.as_object()
    }

    /// Returns the text of a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Removes and returns the value of a key.
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

impl<'de> Deserialize<'de> for Data<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Data<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Data<'de>, E> {
        Ok(Data::Null)
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<Data<'de>, E> {
        Ok(Data::Bool(boolean))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Data<'de>, E> {
        Ok(Data::Number(integer.into()))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Data<'de>, E> {
        Ok(Data::Number(integer.into()))
    }

    fn visit_f64<E>(self, float: f64) -> Result<Data<'de>, E> {
        Ok(Number::from_f64(float).map_or(Data::Null, Data::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Data<'de>, E> {
        Ok(Data::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Data<'de>, E> {
        Ok(Data::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Data<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Data::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Data<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = object.next_key()? {
            members.push((key, object.next_value()?));
        }
        Ok(Data::Object(members.into_iter().collect()))
    }
}

/// A key; serde borrows it only on request.
#[derive(Deserialize)]
struct Key<'t>(#[serde(borrow)] Cow<'t, str>);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(boolean) => serializer.serialize_bool(*boolean),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members.iter()),
        }
    }
}

impl From<&Data<'_>> for Value {
    fn from(data: &Data<'_>) -> Self {
        match data {
            Data::Null => Self::Null,
            Data::Bool(boolean) => Self::Bool(*boolean),
            Data::Number(number) => Self::Number(number.clone()),
            Data::Text(text) => Self::String(text.as_ref().to_owned()),
            Data::List(items) => Self::Array(items.iter().map(Self::from).collect()),
            Data::Object(members) => {
                Self::Object(members.iter().map(|(key, value)| (key.to_owned(), value.into())).collect())
            }
        }
    }
}

#[cfg(test)]
impl From<&Value> for Data<'static> {
    fn from(value: &Value) -> Self {
        serde_json::from_str::<Data<'_>>(&value.to_string()).map(Data::into_owned).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn texts_are_read_as_serde_reads_them() {
        for text in [
            r#"{"b": 1, "a": [true, null, -2, 3.50, 1e3, 18446744073709551615], "b": "last", "c": {}}"#,
            r#"[{"": "tab\t", "\u0061": "\ud83d\ude00"}, 123456789012345678901234567890, -0]"#,
            "  [1]  ",
            r#"{"a": "\ud800"}"#,
            r#"{"a": 1e999}"#,
            r#"{"a": 1} x"#,
            "[\"\u{1}\"]",
            "7",
            &"[".repeat(127),
            &("[".repeat(128) + &"]".repeat(128)),
            &("[".repeat(127) + &"]".repeat(127)),
            &("[".repeat(32) + &"]".repeat(32)),
            &("[".repeat(33) + &"]".repeat(33)),
            "[0, -0, 0.0, -0.0, 1E2, 9223372036854775808, -9223372036854775808, -9223372036854775809]",
            r#"{"a\ud83d": 1, "\ufffd": "\ufffd", "\ud83d\ude00": "\ude00"}"#,
            "[1 2]",
            "[tru]",
            "[01]",
            "[\"\\x\"]",
            "{\"a\": 1,}",
        ] {
            let own = Data::of_text(text);
            let other = serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_number());
            assert_eq!(own.as_ref().map(Value::from), other, "{text}");
            assert_eq!(own.map(|data| data.to_json()), other.map(|value| value.to_string()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_serde_reads_it(
            parts in proptest::collection::vec(
                prop_oneof![
                    proptest::sample::select(&[
                        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\": ", "[1, 2]", "{}", " ", "null", "true", "\"\\n\\u00e9\"",
                        "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"\\ufffd\"", "\"\u{fffd}\\t\"", "\"", "\\",
                    ][..]).prop_map(str::to_owned),
                    any::<i64>().prop_map(|number| number.to_string()),
                    any::<f64>().prop_map(|number| number.to_string()),
                    (-9999_i32..9999, 0_u32..9).prop_map(|(digits, place)| format!("{digits}.{place:03}")),
                    "-?0(\\.0)?(e-?[0-9]{1,3})?",
                ],
                1..12,
            ),
            is_list: bool,
        ) {
            let text = if is_list { format!("[{}]", parts.join(",")) } else { format!("{{\"k\": {}}}", parts.concat()) };
            let own = Data::of_text(&text);
            let other = serde_json::from_str::<Data<'_>>(&text).ok();
            prop_assert_eq!(own.as_ref().map(Data::to_json), other.as_ref().map(Data::to_json), "{}", text);
            prop_assert_eq!(own, other, "{}", text);
        }
    }

    #[test]
    fn keys_and_texts_are_borrowed_where_they_need_no_decoding() {
        let Some(Data::Object(members)) = Data::of_text(r#"{"a": "b", "c\n": "d\n"}"#) else { panic!() };
        let is_borrowed = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
        let borrowed: Vec<_> = members
            .into_iter()
            .map(|(key, value)| (is_borrowed(&key), matches!(value, Data::Text(text) if is_borrowed(&text))))
            .collect();
        assert_eq!(borrowed, [(true, true), (false, false)]);
    }

    #[test]
    fn of_several_members_of_one_key_the_last_counts() {
        let Some(Data::Object(mut members)) = Data::of_text(r#"{"b": 1, "a": 2, "b": 3}"#) else { panic!() };
        assert_eq!(members.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((members.len(), members.get("b")), (2, Some(&Data::from(&json!(3)))));
        assert_eq!(members.remove("a"), Some(Data::from(&json!(2))));
        assert!(!members.has("a") && !members.is_empty());
    }
}
