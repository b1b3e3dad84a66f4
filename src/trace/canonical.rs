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
const MAX_DEPTH: u8 = 128;

/// 2^53: whole floats smaller than this in magnitude are written as integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The closing bracket of an open container and its remaining entries, last first. Items of a list have no key.
type Open<'v> = (char, Vec<(Option<&'v String>, &'v Value)>);

/// Returns a JSON value in canonical form. Does not recurse, so the depth is limited only by memory.
pub(crate) fn of_value(value: &Value) -> String {
    let mut out = String::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = value;
    loop {
        match next {
            Value::Object(entries) => {
                let mut left: Vec<_> = entries.iter().map(|(key, value)| (Some(key), value)).collect();
                left.sort_unstable_by(|a, b| b.0.cmp(&a.0));
                out.push('{');
                open.push(('}', left));
            }
            Value::Array(items) => {
                out.push('[');
                open.push((']', items.iter().rev().map(|item| (None, item)).collect()));
            }
            Value::Number(number) if number.is_f64() => {
                write_float(number.as_f64().unwrap_or(0.0), &mut out);
            }
            Value::String(text) => write_text(text, &mut out),
            other => out.push_str(&other.to_string()),
        }
        let (key, value) = loop {
            let Some((end, left)) = open.last_mut() else { return out };
            if let Some(entry) = left.pop() {
                break entry;
            }
            out.push(*end);
            open.pop();
        };
        // The output ends with an opening bracket only before the first entry: a text ends with a quote.
        if !out.ends_with(['{', '[']) {
            out.push(',');
        }
        if let Some(key) = key {
            write_text(key, &mut out);
            out.push(':');
        }
        next = value;
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
