//! Pieces of wire formats that several readers share.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::trace::Text;

/// A string, borrowed from the input where its spelling allows.
#[derive(Debug, Clone, Default)]
pub(super) struct Str<'a>(pub(super) Cow<'a, str>);

/// A name that may be spelled as a number: task ids, run ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Ident<'a>(pub(super) Cow<'a, str>);

/// A text left in its spelling.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawText<'a>(pub(super) Text<'a>);

/// A value that must be an object: derived readers would take a list for one, field by field.
#[derive(Debug, Clone, Default)]
pub(super) struct Object<T>(pub(super) T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct StrVisitor {
    numbers: bool,
}

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.numbers { "a string or a number" } else { "a string" })
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.number(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.number(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        self.number(number)
    }
}

impl StrVisitor {
    fn number<'de, E: Error>(self, number: impl fmt::Display) -> Result<Cow<'de, str>, E> {
        if self.numbers {
            Ok(Cow::Owned(number.to_string()))
        } else {
            Err(E::custom(format_args!("invalid type: number `{number}`, expected a string")))
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor { numbers: false }).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Ident<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrVisitor { numbers: true }).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Text::from_json(raw.get()).map(Self).ok_or_else(|| {
            let kind = match raw.get().as_bytes().first() {
                Some(b'[') => "a list",
                Some(b'{') => "an object",
                Some(b't' | b'f') => "a boolean",
                Some(b'n') => "null",
                _ => "a number",
            };
            D::Error::custom(format_args!("invalid type: {kind}, expected a text"))
        })
    }
}

/// A whole number, also where it is written as `3.0`; `None` for null.
pub(super) fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and small"
        )]
        (float.fract() == 0.0 && (0.0..9e15).contains(&float)).then_some(float as u64)
    });
    whole
        .map(Some)
        .ok_or_else(|| D::Error::custom(format_args!("invalid value: {number}, expected a whole number")))
}
