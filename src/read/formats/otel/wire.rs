//! Shared by the JSON encodings of spans: numbers in any spelling, values, attributes.

use std::borrow::Cow;

use super::attributes::{Attributes, Value, Wording};
use super::model::Code;
use super::names;
use crate::json::{Json, Kind, Number, Read};
use crate::read::timestamp::nanoseconds_or_utc;

/// Reads an integer from a number, a float or a text. Any other value is skipped.
pub(super) fn count(json: &mut Json<'_>) -> Read<Option<u64>> {
    Ok(match json.kind()? {
        Kind::String => number_of_text(json.string()?.trim()),
        Kind::Number => match json.number()? {
            Number::Integer(integer) => u64::try_from(integer).ok(),
            Number::Float(float) => whole(float),
            Number::Large(_) => None,
        },
        _ => {
            json.skip()?;
            None
        }
    })
}

fn number_of_text(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| whole(text.parse().ok()?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn whole(float: f64) -> Option<u64> {
    (0.0..1.8e19).contains(&float).then_some(float as u64)
}

/// Reads a text. Any other value is skipped.
pub(super) fn text<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    if json.peek_byte() == Some(b'"') {
        return json.string().map(Some);
    }
    json.skip()?;
    Ok(None)
}

/// Reads the code of a status from a number or a name.
pub(super) fn code(json: &mut Json<'_>) -> Read<Code> {
    Ok(match json.kind()? {
        Kind::String => Code::of_name(&json.string()?),
        Kind::Number => match json.number()? {
            Number::Integer(integer) => Code::of_number(i64::try_from(integer).unwrap_or_default()),
            Number::Float(float) => Code::of_number(
                whole(float).map_or(0, |whole| i64::from(whole == 1) + 2 * i64::from(whole == 2)),
            ),
            Number::Large(_) => Code::Unset,
        },
        _ => {
            json.skip()?;
            Code::Unset
        }
    })
}

/// Reads `{code, message}`, in all spellings of the keys, or the code alone.
pub(super) fn status<'a>(json: &mut Json<'a>) -> Read<(Code, Cow<'a, str>)> {
    if json.kind()? != Kind::Object {
        return Ok((code(json)?, Cow::Borrowed("")));
    }
    let (mut found, mut message) = (Code::Unset, Cow::Borrowed(""));
    json.object(|key, value| {
        match key {
            b"code" | b"status_code" | b"statusCode" => found = code(value)?,
            b"message" | b"description" | b"status_message" => {
                message = text(value)?.unwrap_or_default();
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok((found, message))
}

/// Reads a value that is written as plain JSON.
pub(super) fn plain<'a>(json: &mut Json<'a>) -> Read<Value<'a>> {
    Ok(match json.peek_byte() {
        Some(b'"') => Value::Text(Wording::from(json.text()?)),
        Some(b'{') => {
            let mut members = Vec::new();
            json.object(|key, value| {
                members.push((key_text(key), plain(value)?));
                Ok(())
            })?;
            Value::Map(members.into())
        }
        Some(b'[') => {
            let mut items = Vec::new();
            json.list(|item| {
                items.push(plain(item)?);
                Ok(())
            })?;
            Value::List(items.into())
        }
        Some(b't' | b'f') => Value::Bool(json.boolean()?),
        Some(b'n') => {
            json.null()?;
            Value::Null
        }
        // A number, or not a value.
        _ => number(json)?,
    })
}

fn key_text<'a>(key: &[u8]) -> Cow<'a, str> {
    Cow::Owned(String::from_utf8_lossy(key).into_owned())
}

fn number<'a>(json: &mut Json<'_>) -> Read<Value<'a>> {
    Ok(match json.number()? {
        Number::Integer(integer) => match i64::try_from(integer) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::text(integer.to_string()),
        },
        Number::Float(float) => Value::Float(float),
        Number::Large(digits) => Value::text(digits.to_owned()),
    })
}

/// Reads a value as OTLP writes it: `{"stringValue": …}` and so on, or a bare value.
pub(super) fn any_value<'a>(json: &mut Json<'a>) -> Read<Value<'a>> {
    if json.peek_byte() != Some(b'{') {
        return plain(json);
    }
    let mut found = Value::Null;
    // Most values are texts.
    let start = json.mark();
    if json.enters(br#""stringValue""#) && json.peek_byte() == Some(b'"') {
        let words = json.text()?;
        if json.leaves() {
            return Ok(Value::Text(Wording::from(words)));
        }
    }
    json.back_to(start);
    json.object(|key, value| {
        match key {
            b"stringValue" | b"string_value" | b"bytesValue" | b"bytes_value" | b"boolValue"
            | b"bool_value" => found = plain(value)?,
            b"intValue" | b"int_value" => {
                found = match plain(value)? {
                    Value::Text(words) => match words.as_str().trim().parse() {
                        Ok(integer) => Value::Integer(integer),
                        Err(_) => Value::Text(words),
                    },
                    other => other,
                };
            }
            b"doubleValue" | b"double_value" => {
                found = match plain(value)? {
                    Value::Text(words) => match words.as_str().trim().parse::<f64>() {
                        Ok(float) if float.is_finite() => Value::Float(float),
                        _ => Value::Text(words),
                    },
                    other => other,
                };
            }
            b"arrayValue" | b"array_value" => found = Value::List(values(value, any_value)?.into()),
            b"kvlistValue" | b"kvlist_value" => {
                let members = values(value, key_value)?;
                found = Value::Map(members.into_iter().flatten().collect());
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads `{"values": […]}`, or the list alone.
fn values<'a, T>(json: &mut Json<'a>, mut item: impl FnMut(&mut Json<'a>) -> Read<T>) -> Read<Vec<T>> {
    let mut items = Vec::new();
    let mut list = |json: &mut Json<'a>| {
        json.list(|value| {
            items.push(item(value)?);
            Ok(())
        })
    };
    match json.kind()? {
        Kind::List => list(json)?,
        Kind::Object => json.object(|key, value| match key {
            b"values" if value.kind()? == Kind::List => list(value),
            _ => value.skip(),
        })?,
        _ => json.skip()?,
    }
    Ok(items)
}

/// Reads `{"key": …, "value": …}`.
fn key_value<'a>(json: &mut Json<'a>) -> Read<Option<(Cow<'a, str>, Value<'a>)>> {
    let (mut name, mut found) = (None, None);
    json.object(|key, value| {
        match key {
            b"key" => name = text(value)?,
            b"value" => found = Some(any_value(value)?),
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(name.zip(found))
}

/// Reads `{"key": …, "value": …}` in the usual spelling, and keeps it if a rule reads it. Returns false, with nothing
/// read, for any other spelling.
fn usual_attribute<'a>(json: &mut Json<'a>, found: &mut Attributes<'a>) -> Read<bool> {
    let start = json.mark();
    if json.enters(br#""key""#) && json.peek_byte() == Some(b'"') {
        let name = names::read(json.text()?);
        if json.goes_on(br#""value""#) {
            let before = found.len();
            match name {
                Some(name) => found.push(name, any_value(json)?),
                None => json.skip()?,
            }
            if json.leaves() {
                return Ok(true);
            }
            found.truncate(before);
        }
    }
    json.back_to(start);
    Ok(false)
}

/// Reads an attribute with its members in any order, and unknown ones among them.
fn any_attribute<'a>(json: &mut Json<'a>, found: &mut Attributes<'a>) -> Read<()> {
    // Its name, if a rule reads it, and its value, if it comes first.
    let (mut name, mut later, mut value) = (None, None, None);
    json.object(|key, json| {
        match key {
            b"key" if json.peek_byte() == Some(b'"') => name = Some(names::read(json.text()?)),
            b"key" => name = None,
            b"value" => match &name {
                Some(Some(_)) => value = Some(any_value(json)?),
                Some(None) => json.skip()?,
                None => later = Some(json.raw()?),
            },
            _ => json.skip()?,
        }
        Ok(())
    })?;
    match (name.flatten(), value, later) {
        (Some(name), Some(value), _) => found.push(name, value),
        (Some(name), None, Some(later)) => found.push(name, any_value(&mut later.json())?),
        _ => {}
    }
    Ok(())
}

/// Reads attributes from OTLP's list of `{key, value}`, or from an object of plain values, nested or dotted. Keeps
/// those that a rule reads.
pub(super) fn attributes<'a>(json: &mut Json<'a>) -> Read<Attributes<'a>> {
    let mut found = Attributes::default();
    match json.kind()? {
        Kind::List => json.list(|item| {
            if item.peek_byte() != Some(b'{') {
                return item.skip();
            }
            if usual_attribute(item, &mut found)? { Ok(()) } else { any_attribute(item, &mut found) }
        })?,
        Kind::Object => flat("", json, &mut found)?,
        // Some dumps hold them as JSON in a text.
        Kind::String => {
            let text = json.string()?;
            let mut inner = Json::new(text.as_bytes());
            let mut own = Attributes::default();
            if inner.peek_byte() == Some(b'{') && flat("", &mut inner, &mut own).is_ok() {
                for (key, value) in own.iter() {
                    found.push(Cow::Owned(key.to_owned()), value.clone().into_owned());
                }
            }
        }
        _ => json.skip()?,
    }
    Ok(found)
}

/// Reads members of an object whose keys may be parts of dotted names: `{"tool": {"name": "x"}}` is `tool.name`.
fn flat<'a>(prefix: &str, json: &mut Json<'a>, found: &mut Attributes<'a>) -> Read<()> {
    json.object(|key, value| {
        let name = format!("{prefix}{}", String::from_utf8_lossy(key));
        let nested = value.kind()? == Kind::Object;
        if names::is_read(name.as_bytes()) && !(nested && is_group(&name)) {
            let read = plain(value)?;
            found.push(Cow::Owned(name), read);
        } else if nested {
            flat(&format!("{name}."), value, found)?;
        } else if value.kind()? == Kind::List
            && (name.ends_with("llm.input_messages") || name.ends_with("llm.output_messages"))
        {
            let read = plain(value)?;
            found.push(Cow::Owned(format!("{name}.")), read);
        } else {
            value.skip()?;
        }
        Ok(())
    })
}

/// Returns true if an object of this name is a group of attributes.
fn is_group(name: &str) -> bool {
    matches!(name, "tool" | "input" | "output" | "llm" | "agent" | "session" | "exception")
        || (name.starts_with("gen_ai")
            && !name.ends_with("messages")
            && !name.ends_with("arguments")
            && !name.ends_with("result"))
        || name.starts_with("llm.token_count")
}

/// Reads a time as nanoseconds since 1970, from a number or digits, or from a date and time, in UTC if there is no
/// offset.
pub(super) fn time(json: &mut Json<'_>) -> Read<Option<u64>> {
    if json.kind()? == Kind::String {
        let text = json.string()?;
        return Ok(number_of_text(text.trim()).or_else(|| nanoseconds_or_utc(text.trim().as_bytes())));
    }
    count(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json<'_> {
        Json::new(text.as_bytes())
    }

    #[test]
    fn numbers_come_in_any_spelling() {
        for (text, value) in [
            ("12", Some(12)),
            ("\"12\"", Some(12)),
            ("1.2e1", Some(12)),
            ("\"12.0\"", Some(12)),
            ("1795337616.0", Some(1_795_337_616)),
            ("-1", None),
            ("true", None),
            ("null", None),
            ("\"soon\"", None),
        ] {
            assert_eq!(count(&mut json(text)).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn times_come_as_numbers_or_dates() {
        for (text, value) in [
            ("1795337949095263000", Some(1_795_337_949_095_263_000)),
            ("\"1795337949095263000\"", Some(1_795_337_949_095_263_000)),
            ("\" 2026-11-22T08:59:09.095263+00:00\"", Some(1_795_337_949_095_263_000)),
            ("\"2024-02-29 12:00:00.5\"", Some(1_709_208_000_500_000_000)),
            ("\"yesterday\"", None),
            ("null", None),
        ] {
            assert_eq!(time(&mut json(text)).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn attributes_come_as_list_or_object() {
        let names = |text: &str| {
            let read = attributes(&mut json(text)).unwrap();
            read.iter().map(|(key, value)| format!("{key}={}", value.to_text().unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(
            names(
                r#"[{"key": "tool.name", "value": {"stringValue": "a"}}, {"value": {"intValue": "3"}, "key": "gen_ai.usage.input_tokens"},
                {"key": "http.url", "value": {"stringValue": "b"}}, {"key": "input.value", "value": "bare"}, 7]"#
            ),
            ["tool.name=a", "gen_ai.usage.input_tokens=3", "input.value=bare"]
        );
        // An irregular item in the middle is read as if all were irregular.
        assert_eq!(
            names(
                r#"[{"key": "tool.name", "value": {"stringValue": "a", "intValue": "3"}, "x": 1},
                {"key": "tool.id", "value": {"stringValue": "b"}, "value": {"stringValue": "c"}},
                {"key": "http.url", "value": {}, "key": "tool.input", "value": {"stringValue": 7}}]"#
            ),
            ["tool.name=3", "tool.id=c", "tool.input=7"]
        );
        let nested = r#"{"tool": {"name": "a", "parameters": "p"}, "input.value": {"x": 1}, "other": {"y": {"z": 1}}}"#;
        assert_eq!(names(nested), ["tool.name=a", "tool.parameters=p", "input.value={\"x\":1}"]);
    }

    #[test]
    fn nested_values_keep_their_shape() {
        let text = r#"{"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": [{"boolValue": true}, {"doubleValue": "2.5"}]}}}]}}"#;
        let value = any_value(&mut json(text)).unwrap();
        assert_eq!(value.to_text().unwrap(), r#"{"a":[true,2.5]}"#);
    }
}
