//! Pieces of wire formats that several readers share.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
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
        T::deserialize(MapAccessDeserializer::new(ByteKeys(map))).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Reads a derived key as bytes: a known key needs no check, and one that is not known is passed over.
struct ByteKey<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for ByteKey<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(AsBytes(key))
    }
}

struct AsBytes<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for AsBytes<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A map whose keys are read as bytes.
pub(super) struct ByteKeys<A>(pub(super) A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ByteKeys<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(ByteKey(seed))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
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

/// One of a few names. `expected` lists them, behind what they are names of.
pub(super) fn one_of<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    find: fn(&[u8]) -> Option<T>,
) -> Result<T, D::Error> {
    deserializer.deserialize_bytes(NameVisitor { expected, find })
}

struct NameVisitor<T> {
    expected: &'static str,
    find: fn(&[u8]) -> Option<T>,
}

impl<T> Visitor<'_> for NameVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<T, E> {
        (self.find)(name).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            E::custom(format_args!("`{name}` is no known {}", self.expected))
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
