//! Rules that several formats share for texts, arguments and names.

use std::borrow::Cow;

use serde_json::Value;

use super::members::Members;
use crate::json::{Json, JsonString, Kind, Number, Raw, Read, spelling_of};
use crate::trace::{Arguments, Content, Digest, canonical_value};

/// The characters that count as white space.
pub(super) const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(SPACE)
}

/// Returns true if a text is empty or holds only white space.
pub(super) fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

/// Returns a name or id, if the value is a non-empty string.
pub(super) fn name(value: Raw<'_>) -> Option<Cow<'_, str>> {
    value.string().filter(|name| !name.is_empty())
}

/// Returns an id: a non-empty string, or the decimal digits of an integer.
pub(super) fn ident(value: Raw<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => name(value),
        Kind::Number => match value.json().number().ok()? {
            Number::Integer(0) => Some(Cow::Borrowed("0")),
            // Every other integer has one spelling.
            Number::Integer(_) => std::str::from_utf8(value.bytes()).ok().map(Cow::Borrowed),
            Number::Large(digits) => Some(Cow::Borrowed(digits)),
            Number::Float(_) => None,
        },
        _ => None,
    }
}

/// Returns why a run ended: `exit_status`, in `info` or next to it, as SWE-agent and related agents record it, or
/// `termination_reason`.
pub(super) fn exit_status<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    let info = || members.get("info")?.member("exit_status").and_then(name);
    info().or_else(|| members.name("exit_status")).or_else(|| members.name("termination_reason"))
}

/// Reads the arguments of a call. A string that holds JSON counts as that JSON, a blank string as an empty
/// object, and any other string as text. Null and the string `null` are [`Content::Absent`].
pub(super) fn read_arguments<'a>(json: &mut Json<'a>) -> Read<Content<Arguments<'a>>> {
    Ok(match json.kind()? {
        Kind::Null => json.null().map(|_| Content::Absent)?,
        Kind::String => arguments_of_text(json.text()?.decode()),
        _ => {
            json.space();
            let start = json.offset();
            let digest = Digest::read(json)?;
            Content::Present(Arguments::with_digest(json.raw_since(start).spelling(), digest))
        }
    })
}

/// Like [`read_arguments`], for a value that was already skipped.
pub(super) fn arguments(value: Raw<'_>) -> Content<Arguments<'_>> {
    match value.kind() {
        Kind::Null => Content::Absent,
        Kind::String => match value.string() {
            Some(text) => arguments_of_text(text),
            None => Content::Absent,
        },
        _ => of_json(value.spelling()),
    }
}

/// Like [`arguments`], but leaves out the members of an object whose keys match `is_left_out`.
pub(super) fn arguments_without(
    value: Raw<'_>,
    is_left_out: impl Fn(&[u8]) -> bool,
) -> Content<Arguments<'_>> {
    if value.kind() != Kind::Object {
        return arguments(value);
    }
    let mut kept = String::with_capacity(value.bytes().len());
    kept.push('{');
    let walked = value.json().object(|key, value| {
        if !is_left_out(key) {
            if kept.len() > 1 {
                kept.push(',');
            }
            kept.push('"');
            kept.push_str(&spelling_of(&String::from_utf8_lossy(key)));
            kept.push_str("\":");
            kept.push_str(&value.raw()?.spelling());
        }
        Ok(())
    });
    kept.push('}');
    match walked {
        Ok(()) => arguments_of_text(Cow::Owned(kept)),
        Err(_) => Content::Absent,
    }
}

/// Like [`arguments`], for the text of a string.
pub(super) fn arguments_of_text(text: Cow<'_, str>) -> Content<Arguments<'_>> {
    if is_blank(&text) {
        return of_json(Cow::Borrowed("{}"));
    }
    let mut json = Json::new(text.as_bytes());
    // Some writers encode them twice.
    if text.starts_with('"')
        && let Ok(inner) = json.clone().string()
        && inner.trim_start_matches(SPACE).starts_with('{')
        && json.clone().is_sound()
        && Json::new(inner.as_bytes()).is_sound()
    {
        return arguments_of_text(Cow::Owned(inner.into_owned()));
    }
    match Digest::read(&mut json) {
        Ok(_) if json.peek_byte().is_some() => {}
        Ok(_) if text == "null" => return Content::Absent,
        Ok(digest) => return Content::Present(Arguments::with_digest(text, digest)),
        Err(_) => {}
    }
    let spelling = spelling_of(&text);
    let json = ["\"", &spelling, "\""].concat();
    Content::Present(Arguments::with_digest(Cow::Owned(json), Digest::of_json_string(spelling.as_bytes())))
}

/// Returns arguments with one member, `{"name": "text"}`.
pub(super) fn sole_text(name: &str, text: &str) -> Arguments<'static> {
    sole_spelled(name, &spelling_of(text))
}

/// Like [`sole_text`], for a JSON string.
pub(super) fn sole_string(name: &str, string: JsonString<'_>) -> Arguments<'static> {
    let spelling = string.canonical_spelling();
    match spelling.as_deref().map(simdutf8::basic::from_utf8) {
        Some(Ok(spelling)) => sole_spelled(name, spelling),
        _ => sole_text(name, &string.decode()),
    }
}

fn sole_spelled(name: &str, spelling: &str) -> Arguments<'static> {
    let digest = Digest::of_sole_member(name, Digest::of_json_string(spelling.as_bytes()));
    let json = ["{\"", name, "\":\"", spelling, "\"}"].concat();
    Arguments::with_digest(Cow::Owned(json), digest)
}

/// Like [`arguments`], for a parsed value.
pub(super) fn arguments_of_value(value: &Value) -> Content<Arguments<'static>> {
    match value {
        Value::Null => Content::Absent,
        Value::String(text) => arguments_of_text(Cow::Owned(text.clone())),
        _ => of_json(Cow::Owned(canonical_value(value))),
    }
}

fn of_json(json: Cow<'_, str>) -> Content<Arguments<'_>> {
    if json == "null" {
        return Content::Absent;
    }
    let digest = Digest::of_json(&json);
    Content::Present(Arguments::with_digest(json, digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_string_is_the_argument_that_its_text_is(
            parts in prop::collection::vec(prop::sample::select(vec![
                "a", "\\n", "\\\"", "\\\\", "\\/", "/", "\\u0041", "\\u000a", "\\u001f", "\\ud83d\\ude00", "\\ud800", "\u{e9}",
                "\\u00e9", "\\b",
            ]), 0..12),
        ) {
            let json = format!("\"{}\"", parts.concat());
            let string = Json::new(json.as_bytes()).text().map_err(|_| TestCaseError::reject("unsound"))?;
            let of_string = sole_string("command", string);
            let of_text = sole_text("command", &string.decode());
            prop_assert_eq!(format!("{:?}", of_string), format!("{:?}", of_text));
        }
    }
}
