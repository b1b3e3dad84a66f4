//! Deserializes structs from JSON objects only: a derived `Deserialize` also accepts a list, by position.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::error::{Error, Result};

/// Reads a JSON text, skipping a byte order mark.
pub(crate) fn from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut json = serde_json::Deserializer::from_slice(text);
    let read = T::deserialize(Objects(&mut json)).and_then(|read| json.end().map(|()| read));
    read.map_err(|error| Error::json(&error))
}

/// Reads a JSON value.
pub(crate) fn from_value<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T> {
    T::deserialize(Objects(value)).map_err(|error| Error::json(&error))
}

/// Sorts the members of all objects in a value. They are sorted already unless an application enables the
/// feature `preserve_order` of `serde_json`. Recurses, so the depth of the value must be limited.
pub(crate) fn in_order(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(items) => items.into_iter().map(in_order).collect(),
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<_, _> = members.into_iter().collect();
            Value::Object(sorted.into_iter().map(|(name, member)| (name, in_order(member))).collect())
        }
        other => other,
    }
}

/// Wraps a deserializer to demand an object for each struct, at every level.
pub(crate) struct Objects<T>(pub(crate) T);

/// A visitor that accepts only an object. Its errors say `expected an object` instead of naming a struct of this crate.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Fields<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }
}

macro_rules! pass_on {
    ($($method:ident($($argument:ident: $type:ty),*);)+) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($argument: $type,)*
            visitor: V,
        ) -> std::result::Result<V::Value, D::Error> {
            self.0.$method($($argument,)* Objects(visitor))
        }
    )+};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    pass_on! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_identifier();
        deserialize_ignored_any();
    }

    /// Enums are plain names here, without content to wrap.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, D::Error> {
        self.0.deserialize_map(Fields(visitor))
    }
}

macro_rules! pass_on_value {
    ($($method:ident: $type:ty;)+) => {$(
        fn $method<E: serde::de::Error>(self, value: $type) -> std::result::Result<V::Value, E> {
            self.0.$method(value)
        }
    )+};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    pass_on_value! {
        visit_bool: bool;
        visit_i64: i64;
        visit_u64: u64;
        visit_f64: f64;
        visit_str: &str;
        visit_borrowed_str: &'de str;
        visit_string: String;
    }

    fn visit_unit<E: serde::de::Error>(self) -> std::result::Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: serde::de::Error>(self) -> std::result::Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, some: D) -> std::result::Result<V::Value, D::Error> {
        self.0.visit_some(Objects(some))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> std::result::Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(inner))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> std::result::Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> std::result::Result<S::Value, D::Error> {
        self.0.deserialize(Objects(inner))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> std::result::Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> std::result::Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> std::result::Result<S::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        id: String,
        inner: Vec<Inner>,
        one: Option<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        range: (i64, i64),
        what: Option<f64>,
    }

    #[test]
    fn a_list_is_no_object_by_position() {
        let sound = br#"{"id": "a", "inner": [{"range": [1, 2], "what": 3}], "one": null}"#;
        let outer: Outer = from_slice(sound).unwrap();
        assert_eq!(outer.inner, [Inner { range: (1, 2), what: Some(3.0) }]);
        assert_eq!(from_value::<Outer>(&serde_json::from_slice(sound).unwrap()).unwrap(), outer);
        assert_eq!(from_slice::<Outer>(&[b"\xef\xbb\xbf", &sound[..]].concat()).unwrap(), outer);
        for text in [
            r#"["a", []]"#,
            r#"{"id": "a", "inner": [[[1, 2], 3]]}"#,
            r#"{"id": "a", "inner": [], "one": [[1, 2], 3]}"#,
            "7",
        ] {
            let error = from_slice::<Outer>(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("expected an object"), "{error}");
            assert!(error.location().is_some(), "{error}");
            assert!(from_value::<Outer>(&serde_json::from_str(text).unwrap()).is_err());
        }
        for text in [r#"{"id": "a", "inner": []} {}"#, r#"{"id": "a""#, ""] {
            assert!(from_slice::<Outer>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
