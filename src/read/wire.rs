//! Reads parts of recorded JSON objects in place and in one pass. Values of an unexpected kind are skipped.

use std::borrow::Cow;

use crate::json::{Json, Kind, Number, Raw, Read, fields};
use crate::trace::{Arguments, Content, Text, TextCow, canonical_text};

/// Reads a list item by item, or skips any other value and returns false.
#[inline]
pub(super) fn list<'a>(json: &mut Json<'a>, item: impl FnMut(&mut Json<'a>) -> Read<()>) -> Read<bool> {
    if json.peek_byte() == Some(b'[') { json.list(item).map(|()| true) } else { json.skip().map(|()| false) }
}

/// Reads an object member by member, or skips any other value and returns false.
#[inline]
pub(super) fn object<'a>(
    json: &mut Json<'a>,
    member: impl FnMut(&[u8], &mut Json<'a>) -> Read<()>,
) -> Read<bool> {
    if json.peek_byte() == Some(b'{') {
        json.object(member).map(|()| true)
    } else {
        json.skip().map(|()| false)
    }
}

/// Reads the member of an object with this name, and skips everything else.
#[inline]
pub(super) fn member<'a>(
    json: &mut Json<'a>,
    name: &[u8],
    mut read: impl FnMut(&mut Json<'a>) -> Read<()>,
) -> Read<()> {
    object(json, |key, value| if key == name { read(value) } else { Ok(()) }).map(|_| ())
}

#[inline]
pub(super) fn text<'a>(json: &mut Json<'a>) -> Read<Option<Text<'a>>> {
    if json.peek_byte() == Some(b'"') {
        json.text().map(|string| Some(string.into()))
    } else {
        json.skip().map(|()| None)
    }
}

pub(super) fn count(json: &mut Json<'_>) -> Read<Option<u64>> {
    if json.kind()? != Kind::Number {
        return json.skip().map(|()| None);
    }
    // A number beyond the range of a double is not a count, but the reader must still skip it.
    let start = json.clone();
    let number = json.number().ok();
    if number.is_none() {
        *json = start;
        json.skip()?;
    }
    Ok(number.and_then(Number::integer).and_then(|number| u64::try_from(number).ok()))
}

/// Reads the text of a message: a string, or the text parts of a list, joined by line feeds. `None` if it is
/// absent or blank.
pub(super) fn message<'a>(json: &mut Json<'a>) -> Read<Option<TextCow<'a>>> {
    Ok(message_text(json)?.filter(|words| !is_blank(words.text())))
}

/// Like [`message`], but keeps blank texts.
pub(super) fn message_text<'a>(json: &mut Json<'a>) -> Read<Option<TextCow<'a>>> {
    Ok(match json.kind()? {
        Kind::String => Some(Text::from(json.text()?).into()),
        Kind::List => joined(json.list_of(part_text)?.into_iter().flatten().collect()),
        _ => json.skip().map(|()| None)?,
    })
}

/// Reads the text of a result: like a message, but other values become their canonical JSON. `None` for null.
pub(super) fn result<'a>(json: &mut Json<'a>) -> Read<Option<TextCow<'a>>> {
    Ok(match json.kind()? {
        Kind::Null => json.skip().map(|()| None)?,
        Kind::String => Some(Text::from(json.text()?).into()),
        Kind::List => {
            let texts = json.list_of(|part| {
                let start = part.offset();
                Ok(part_text(part)?.unwrap_or_else(|| canonical(part.since(start)).into()))
            });
            Some(joined(texts?).unwrap_or_else(|| "".into()))
        }
        _ => Some(canonical(json.raw()?.bytes()).into()),
    })
}

/// Returns the canonical form of a JSON value.
pub(super) fn canonical(json: &[u8]) -> String {
    canonical_text(&String::from_utf8_lossy(json))
}

/// Returns the text of a part of a list, if it is a text part. The part is consumed in any case.
pub(super) fn part_text<'a>(part: &mut Json<'a>) -> Read<Option<TextCow<'a>>> {
    match part.kind()? {
        Kind::String => Ok(Some(Text::from(part.text()?).into())),
        Kind::Object => {
            let (mut is_text, mut words) = (true, None);
            part.object(fields!(key, value => {
                b"type" => is_text = text(value)?.is_some_and(|kind| is_kind_of_text(&kind.to_str())),
                b"text" => words = match value.peek_byte() {
                    Some(b'[') => message_text(value)?,
                    _ => text_or_value(value)?.map(TextCow::from),
                },
            }))?;
            Ok(words.filter(|_| is_text))
        }
        _ => part.skip().map(|()| None),
    }
}

/// Reads the text of a part: a string, or `{"value": …}`, as OpenAI's Assistants write it.
pub(super) fn text_or_value<'a>(json: &mut Json<'a>) -> Read<Option<Text<'a>>> {
    if json.peek_byte() != Some(b'{') {
        return text(json);
    }
    let mut words = None;
    member(json, b"value", |value| text(value).map(|text| words = text))?;
    Ok(words)
}

/// Returns true if the `type` of a part is a text type.
pub(super) fn is_kind_of_text(kind: &str) -> bool {
    matches!(kind, "text" | "TEXT" | "input_text" | "output_text" | "tool_output")
}

/// Joins texts by line feeds; `None` if there are none.
pub(super) fn joined(mut texts: Vec<TextCow<'_>>) -> Option<TextCow<'_>> {
    match texts.len() {
        0 | 1 => texts.pop(),
        _ => {
            let texts: Vec<_> = texts.iter().map(|words| words.text().to_str()).collect();
            Some(texts.join("\n").into())
        }
    }
}

/// Returns true if a text is empty or holds only white space.
pub(super) fn is_blank(text: Text<'_>) -> bool {
    // The first byte of the spelling decides for most texts.
    let may_be =
        text.spelling().first().is_none_or(|first| matches!(first, b' ' | b'\t' | b'\r' | b'\n' | b'\\'));
    may_be && super::common::is_blank(&text.head(1)) && super::common::is_blank(&text.to_str())
}

/// Makes arguments with one member, `{"name": value}`. An absent value is written as null.
pub(super) fn sole_argument(name: &str, value: Option<Raw<'_>>) -> Content<Arguments<'static>> {
    if let Some(Ok(text)) =
        value.filter(|value| value.kind() == Kind::String).map(|value| value.json().text())
    {
        return Content::Present(super::common::sole_string(name, text));
    }
    let value = value.map_or(Cow::Borrowed("null"), Raw::spelling);
    super::common::arguments_of_text(Cow::Owned(format!("{{\"{name}\":{value}}}")))
}
