//! Values as the JSON encodings of spans spell them: numbers, times, statuses, attributes.

use std::borrow::Cow;

use super::model::{Attributes, Code, Data, Key, Value, id};
use crate::json::{Json, Kind, Number, Read, fields};
use crate::read::timestamp::nanoseconds;
use crate::read::wire::{member, object};

/// Reads a non-negative integer from a number or a string, and drops its fraction. Any other value is skipped.
pub(crate) fn count(json: &mut Json<'_>) -> Read<Option<u64>> {
    Ok(match json.kind()? {
        Kind::String => number_of_text(json.string()?.trim()),
        Kind::Number => match json.number()? {
            Number::Integer(integer) => u64::try_from(integer).ok(),
            Number::Float(float) => whole(float),
            Number::Large(_) => None,
        },
        _ => json.skip().map(|()| None)?,
    })
}

fn number_of_text(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| whole(text.parse().ok()?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
pub(crate) fn whole(float: f64) -> Option<u64> {
    (0.0..1.8e19).contains(&float).then_some(float as u64)
}

/// Reads a time in nanoseconds since 1970: from a number or digits, from a date and time (UTC if it has no
/// offset), or from `[seconds, nanoseconds]`.
pub(crate) fn time(json: &mut Json<'_>) -> Read<Option<u64>> {
    Ok(match json.kind()? {
        Kind::String => {
            let text = json.string()?;
            number_of_text(text.trim()).or_else(|| nanoseconds(text.trim().as_bytes()))
        }
        Kind::List => match json.list_of(count)?.as_slice() {
            [Some(seconds), Some(nanoseconds)] => {
                seconds.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(*nanoseconds))
            }
            _ => None,
        },
        _ => count(json)?,
    })
}

/// Reads a string. Any other value is skipped.
pub(crate) fn text<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    if json.peek_byte() == Some(b'"') { json.string().map(Some) } else { json.skip().map(|()| None) }
}

/// Reads an id and normalizes it.
pub(crate) fn ident<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    match json.kind()? {
        Kind::String | Kind::Number => json.ident().map(id),
        _ => json.skip().map(|()| None),
    }
}

/// Reads the `name` of an object.
pub(crate) fn name<'a>(json: &mut Json<'a>) -> Read<Option<Cow<'a, str>>> {
    let mut found = None;
    object(json, |key, value| match key {
        b"name" | b"Name" => text(value).map(|text| found = text),
        _ => Ok(()),
    })?;
    Ok(found)
}

/// Reads the code of a status from a number or a name.
pub(crate) fn code(json: &mut Json<'_>) -> Read<Code> {
    Ok(match json.kind()? {
        Kind::String => Code::of_name(&json.string()?),
        _ => Code::of_number(count(json)?.unwrap_or_default()),
    })
}

/// Reads `{code, message}`, in all spellings of the keys, or the code alone.
pub(crate) fn status<'a>(json: &mut Json<'a>) -> Read<(Code, Cow<'a, str>)> {
    if json.kind()? != Kind::Object {
        return Ok((code(json)?, Cow::Borrowed("")));
    }
    let (mut found, mut message) = (Code::Unset, Cow::Borrowed(""));
    json.object(fields!(key, value => {
        b"code" | b"Code" | b"status_code" | b"statusCode" => found = code(value)?,
        b"message" | b"description" | b"Description" | b"status_message" => {
            message = text(value)?.unwrap_or_default();
        }
    }))?;
    Ok((found, message))
}

/// Reads a value as OTLP writes it: `{"stringValue": …}` and so on, or a bare value.
pub(crate) fn any_value<'a>(json: &mut Json<'a>) -> Read<Value<'a>> {
    if json.peek_byte() != Some(b'{') {
        return Value::read(json);
    }
    // Most values are strings, so try this form first.
    let start = json.mark();
    if json.enters(br#""stringValue""#) && json.peek_byte() == Some(b'"') {
        let text = json.text()?;
        if json.leaves() {
            return Ok(text.into());
        }
    }
    json.back_to(start);
    let (mut found, mut is_plain) = (Value::NULL, false);
    json.object(|key, value| {
        match key {
            b"stringValue" | b"string_value" | b"bytesValue" | b"bytes_value" | b"boolValue"
            | b"bool_value" => found = Value::read(value)?,
            b"intValue" | b"int_value" | b"doubleValue" | b"double_value" => {
                found = Value::read(value)?;
                if let Some(number) = found.as_str().and_then(|text| text.trim().parse().ok()) {
                    found = Value::Data(Data::Number(number));
                }
            }
            b"arrayValue" | b"array_value" => {
                let items = values(value, any_value)?;
                found = Data::List(items.into_iter().map(Value::into_data).collect()).into();
            }
            b"kvlistValue" | b"kvlist_value" => {
                let members = pairs(value)?.into_iter();
                found = Data::Object(members.map(|(key, value)| (key, value.into_data())).collect()).into();
            }
            _ => is_plain = true,
        }
        Ok(())
    })?;
    if is_plain && matches!(found, Value::Data(Data::Null)) {
        json.back_to(start);
        return Value::read(json);
    }
    Ok(found)
}

/// Reads `{"values": […]}`, or the list alone.
fn values<'a, T>(json: &mut Json<'a>, mut item: impl FnMut(&mut Json<'a>) -> Read<T>) -> Read<Vec<T>> {
    let mut items = Vec::new();
    let mut list = |json: &mut Json<'a>| json.list(|value| item(value).map(|item| items.push(item)));
    match json.kind()? {
        Kind::List => list(json)?,
        Kind::Object => json.object(|key, value| match key {
            b"values" if value.kind()? == Kind::List => list(value),
            _ => Ok(()),
        })?,
        _ => json.skip()?,
    }
    Ok(items)
}

/// Reads `{"key": …, "value": …}`, or Go's `{"Key": …, "Value": {"Type": …, "Value": …}}`.
pub(crate) fn pair<'a>(json: &mut Json<'a>) -> Read<Option<(Cow<'a, str>, Value<'a>)>> {
    let (mut name, mut found) = (None, None);
    json.object(fields!(key, value => {
        b"key" | b"Key" => name = text(value)?,
        b"value" => found = Some(any_value(value)?),
        b"Value" => member(value, b"Value", |value| Value::read(value).map(|value| found = Some(value)))?,
    }))?;
    Ok(name.zip(found))
}

/// Reads a list of `{"key": …, "value": …}`.
pub(crate) fn pairs<'a>(json: &mut Json<'a>) -> Read<Vec<(Cow<'a, str>, Value<'a>)>> {
    Ok(values(json, pair)?.into_iter().flatten().collect())
}

/// Reads `{"key": …, "value": …}` in the usual spelling, and keeps it if its name is known. Returns false,
/// with nothing read, for any other spelling.
fn usual_attribute<'a>(json: &mut Json<'a>, found: &mut Attributes<'a>) -> Read<bool> {
    let start = json.mark();
    if json.enters(br#""key""#) && json.peek_byte() == Some(b'"') {
        let name = Key::of_spelling(json.text()?);
        if json.goes_on(br#""value""#) {
            let value = if name.is_some() { Some(any_value(json)?) } else { json.skip().map(|()| None)? };
            if json.leaves() {
                if let (Some(name), Some(value)) = (name, value) {
                    found.push(name, value);
                }
                return Ok(true);
            }
        }
    }
    json.back_to(start);
    Ok(false)
}

/// Reads attributes from OTLP's list of `{key, value}`, or from an object of plain values, nested or dotted.
/// Keeps those whose names are known.
pub(crate) fn attributes<'a>(json: &mut Json<'a>) -> Read<Attributes<'a>> {
    let mut found = Attributes::default();
    match json.kind()? {
        Kind::List => json.list(|item| {
            if item.peek_byte() != Some(b'{') {
                return item.skip();
            }
            if !usual_attribute(item, &mut found)?
                && let Some((name, value)) = pair(item)?
            {
                found.push_named(name, value);
            }
            Ok(())
        })?,
        Kind::Object => flat("", json, &mut found)?,
        // Some dumps hold them as JSON in a string.
        Kind::String => {
            let text = json.string()?;
            let mut inner = Json::new(text.as_bytes());
            let mut own = Attributes::default();
            if inner.peek_byte() == Some(b'{') && flat("", &mut inner, &mut own).is_ok() {
                found = own.into_owned();
            }
        }
        _ => json.skip()?,
    }
    Ok(found)
}

/// Members of messages that hold arguments or content. Objects under them are kept whole.
const CONTENTS: [&str; 9] =
    ["arguments", "args", "input", "kwargs", "tool_kwargs", "content", "output", "response", "result"];

/// Reads members of an object whose keys may be parts of dotted names: `{"tool": {"name": "x"}}` is
/// `tool.name`.
pub(crate) fn flat<'a>(prefix: &str, json: &mut Json<'a>, found: &mut Attributes<'a>) -> Read<()> {
    json.object(|key, value| {
        let name = format!("{prefix}{}", String::from_utf8_lossy(key));
        let is_object = value.kind()? == Kind::Object;
        let is_whole = |key: &Key<'_>| match key {
            Key::Known(_) => true,
            Key::Part(name) => {
                !is_object || name.rsplit('.').next().is_some_and(|last| CONTENTS.contains(&last))
            }
        };
        if let Some(key) = Key::of(Cow::Borrowed(&name)).filter(is_whole) {
            found.push(key.into_owned(), Value::read(value)?);
        } else if is_object {
            flat(&format!("{name}."), value, found)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_irregular_attribute_is_read_as_if_all_were_irregular() {
        let text = r#"[{"key": "tool.name", "value": {"stringValue": "a", "intValue": "3"}, "x": 1},
            {"key": "tool.id", "value": {"stringValue": "b"}, "value": {"stringValue": "c"}},
            {"key": "http.url", "value": {}, "key": "tool.input", "value": {"stringValue": 7}}, 7]"#;
        let read = attributes(&mut Json::new(text.as_bytes())).unwrap();
        let shown: Vec<_> = read
            .iter()
            .map(|(key, value)| format!("{}={}", key.as_str(), value.to_text().unwrap()))
            .collect();
        assert_eq!(shown, ["tool.name=3", "tool.id=c", "tool.input=7"]);
    }
}
