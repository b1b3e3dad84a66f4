//! Rules that several formats of recorded sessions share: texts, arguments, names.

use std::borrow::Cow;

use serde_json::Value;

use crate::json::{Json, Kind, Raw};
use crate::trace::{Arguments, Content, Digest, canonical_text, canonical_value};

/// What counts as white space in texts.
pub(super) const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// A text without white space at its ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(SPACE)
}

/// Whether a text is only white space.
pub(super) fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

/// A name or id: a string that is not empty.
pub(super) fn name(value: Raw<'_>) -> Option<Cow<'_, str>> {
    value.string().filter(|name| !name.is_empty())
}

/// An id that may be an integer, which is then written in decimal.
pub(super) fn ident(value: Raw<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => name(value),
        Kind::Number => match value.json().number().ok()? {
            crate::json::Number::Integer(integer) => Some(Cow::Owned(integer.to_string())),
            crate::json::Number::Large(digits) => Some(Cow::Borrowed(digits)),
            crate::json::Number::Float(_) => None,
        },
        _ => None,
    }
}

/// The text of a part of a list of parts, if the part is one of text.
fn part_text(part: Raw<'_>) -> Option<Cow<'_, str>> {
    match part.kind() {
        Kind::String => part.string(),
        Kind::Object => {
            let is_text = match part.member("type") {
                None => true,
                Some(kind) => {
                    kind.string().is_some_and(|kind| matches!(&*kind, "text" | "input_text" | "output_text"))
                }
            };
            if is_text { part.member("text")?.string() } else { None }
        }
        _ => None,
    }
}

/// The text of a message: the string, or the text parts of a list, joined by line feeds.
pub(super) fn message_text(content: Raw<'_>) -> Option<Cow<'_, str>> {
    match content.kind() {
        Kind::String => content.string(),
        Kind::List => {
            let texts: Vec<_> = content.items()?.into_iter().filter_map(part_text).collect();
            (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n")))
        }
        _ => None,
    }
}

/// The text of a result: as of a message, but what is no text stands as its canonical JSON. Null is none.
pub(super) fn result_text(content: Raw<'_>) -> Option<Cow<'_, str>> {
    match content.kind() {
        Kind::Null => None,
        Kind::String => content.string(),
        Kind::List => {
            let parts: Vec<_> = content
                .items()?
                .into_iter()
                .map(|part| part_text(part).unwrap_or_else(|| Cow::Owned(canonical_text(&part.spelling()))))
                .collect();
            Some(Cow::Owned(parts.join("\n")))
        }
        _ => Some(Cow::Owned(canonical_text(&content.spelling()))),
    }
}

/// The arguments of a call. A string that holds JSON is that JSON; another stands for itself; a blank one is an
/// empty object; null is none.
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

/// As [`arguments`], of a text.
pub(super) fn arguments_of_text(text: Cow<'_, str>) -> Content<Arguments<'_>> {
    if is_blank(&text) {
        return of_json(Cow::Borrowed("{}"));
    }
    let mut json = Json::new(text.as_bytes());
    let sound = json.check().is_ok() && json.peek_byte().is_none();
    if sound {
        return of_json(text);
    }
    of_json(Cow::Owned(Value::from(&*text).to_string()))
}

/// As [`arguments`], of a value that was made.
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
