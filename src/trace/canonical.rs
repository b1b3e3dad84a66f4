//! Writes JSON in canonical form.
//!
//! White space between tokens is dropped. Keys are sorted by code point; of duplicate keys, the last wins. Only `"`,
//! `\` and control characters below U+0020 are escaped. Integers are copied digit for digit, except `-0`, which becomes
//! `0`. Numbers with a fraction or exponent are written as integers if they are whole and smaller than 2^53 in
//! magnitude, otherwise in the shortest form that parses to the same double.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum depth of lists and objects. A deeper text is kept unchanged, and a deeper value has the digest of a string.
pub(super) const MAX_DEPTH: u8 = 128;

/// 2^53: whole floats smaller than this in magnitude are written as integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a JSON value in canonical form. Does not recurse, so the depth is limited only by memory.
pub(crate) fn of_value(value: &Value) -> String {
    let mut out = String::new();
    let mut open: Vec<Container<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match value {
                Value::Object(entries) => {
                    let mut entries: Vec<_> = entries.iter().collect();
                    entries.sort_unstable_by(|a, b| b.0.cmp(a.0));
                    out.push('{');
                    open.push(Container::Object { entries, begun: false });
                }
                Value::Array(items) => {
                    out.push('[');
                    open.push(Container::Array { items: items.iter(), begun: false });
                }
                Value::Number(number) if number.is_f64() => {
                    write_float(number.as_f64().unwrap_or(0.0), &mut out);
                }
                Value::String(text) => write_text(text, &mut out),
                other => out.push_str(&other.to_string()),
            }
        }
        match open.last_mut() {
            None => return out,
            Some(container) => {
                next = container.next(&mut out);
                if next.is_none() {
                    out.push(container.end());
                    open.pop();
                }
            }
        }
    }
}

/// A container that is being written.
enum Container<'v> {
    Array {
        items: std::slice::Iter<'v, Value>,
        begun: bool,
    },
    /// The entries not yet written, in reverse order: `pop` returns the next.
    Object {
        entries: Vec<(&'v String, &'v Value)>,
        begun: bool,
    },
}

impl<'v> Container<'v> {
    /// Writes the comma and key before the next value, and returns the value.
    fn next(&mut self, out: &mut String) -> Option<&'v Value> {
        match self {
            Self::Array { items, begun } => {
                let value = items.next()?;
                if std::mem::replace(begun, true) {
                    out.push(',');
                }
                Some(value)
            }
            Self::Object { entries, begun } => {
                let (key, value) = entries.pop()?;
                if std::mem::replace(begun, true) {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                Some(value)
            }
        }
    }

    fn end(&self) -> char {
        match self {
            Self::Array { .. } => ']',
            Self::Object { .. } => '}',
        }
    }
}

/// Returns a JSON text in canonical form, or unchanged if it is nested too deeply or is not valid JSON.
pub(crate) fn of_text(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    match serde_json::from_str(json).and_then(|raw| write_raw(raw, 0, &mut out)) {
        Ok(()) => out,
        Err(_) => json.to_owned(),
    }
}

/// Writes a JSON text in canonical form, parsing one level at a time. Recurses, hence the limit on the depth.
fn write_raw(raw: &RawValue, depth: u8, out: &mut String) -> serde_json::Result<()> {
    let json = raw.get();
    let deeper = || {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(serde::de::Error::custom("nested too deeply")) }
    };
    match json.as_bytes().first() {
        Some(b'{') => {
            let depth = deeper()?;
            out.push('{');
            for (i, (key, value)) in
                serde_json::from_str::<BTreeMap<String, &RawValue>>(json)?.iter().enumerate()
            {
                if i > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_raw(value, depth, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let depth = deeper()?;
            out.push('[');
            for (i, value) in serde_json::from_str::<Vec<&RawValue>>(json)?.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_raw(value, depth, out)?;
            }
            out.push(']');
        }
        Some(b'"') => write_text(&serde_json::from_str::<String>(json)?, out),
        Some(b'-' | b'0'..=b'9') => {
            // Integers are parsed only to reject those beyond the range of a double.
            let number: f64 = serde_json::from_str(json)?;
            if json.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) || json == "-0" {
                write_float(number, out);
            } else {
                out.push_str(json);
            }
        }
        _ => out.push_str(json),
    }
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn write_float(number: f64, out: &mut String) {
    if number.fract() == 0.0 && number.abs() < EXACT {
        out.push_str(&(number as i64).to_string());
    } else {
        // JSON numbers are finite, so this does not become null.
        out.push_str(&Value::from(number).to_string());
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_one_spelling() {
        for (spelled, canonical) in [
            ("1.0", "1"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("1e5", "100000"),
            ("9007199254740991.0", "9007199254740991"),
            ("9007199254740993", "9007199254740993"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("-18446744073709551617", "-18446744073709551617"),
            ("25e-1", "2.5"),
            ("0.10", "0.1"),
        ] {
            assert_eq!(of_text(spelled), canonical);
            assert_eq!(of_text(&format!(" [{spelled} ]")), format!("[{canonical}]"));
        }
        assert_eq!(of_text("1e999"), "1e999", "no JSON");
    }

    #[test]
    fn keys_are_sorted_and_the_last_of_equal_ones_counts() {
        let json = "{\"b\": {\"z\": null, \"\u{e9}\": [true , \"\\u0041\\/\\u000B\"]}, \"a\": 1, \"a\": {}}";
        assert_eq!(of_text(json), "{\"a\":{},\"b\":{\"z\":null,\"\u{e9}\":[true,\"A/\\u000b\"]}}");
        assert_eq!(of_text("{\"a\": 1"), "{\"a\": 1");
        assert_eq!(of_text("{\"a\": [}]}"), "{\"a\": [}]}");
    }

    #[test]
    fn the_128th_level_is_the_last() {
        let nested = |depth: usize| "[ ".repeat(depth) + &"]".repeat(depth);
        assert_eq!(of_text(&nested(128)), nested(128).replace(' ', ""));
        assert_eq!(of_text(&nested(129)), nested(129));
    }

    /// Takes the value apart level by level at the end, because dropping it whole would recurse.
    #[test]
    fn a_deep_value_is_written_without_recursion() {
        let mut value = Value::from(1);
        for level in 0..8000 {
            value = if level % 2 == 0 {
                Value::from(vec![value])
            } else {
                Value::Object([("k".to_owned(), value)].into_iter().collect())
            };
        }
        let text = of_value(&value);
        assert!(text.starts_with("{\"k\":[{\"k\":[") && text.ends_with("]}]}"));
        while let Some(inner) = match &mut value {
            Value::Array(items) => items.pop(),
            Value::Object(entries) => entries.remove("k"),
            _ => None,
        } {
            value = inner;
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,3}", inner, 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_and_their_texts_have_one_form(value in value()) {
            let canonical = of_value(&value);
            prop_assert_eq!(&of_text(&value.to_string()), &canonical);
            prop_assert_eq!(&of_text(&canonical), &canonical);
        }
    }
}
