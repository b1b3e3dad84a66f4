//! Removes the wrappers of frameworks around results, to make equal answers equal.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::Value as Json;

use super::arguments::is_left_out;
use super::attributes::Value;
use super::data::{Data, Members};
use super::logs::{self, Direction};
use super::message::{Block, is_masked, name_of};
use super::model::Span;
use crate::json::JsonString;
use crate::trace::{Content, Text, TextCow, canonical_value};

/// Attributes with results, most reliable first.
const RESULTS: &[&str] = &[
    "gen_ai.tool.call.result",
    "tool_response",
    "gcp.vertex.agent.tool_response",
    "output.value",
    "tool.output",
    "traceloop.entity.output",
];

/// Sentences that frameworks append to an answer. Each contains one of [`MARKS`].
const APPENDED: &[&str] = &[
    "Fix the errors and try again.",
    "Please try again.",
    "Please try again or use another tool",
    "Please fix the error and try again.",
    "Please fix your mistakes.",
];

/// Marks of a text that may contain one of [`APPENDED`].
const MARKS: [&str; 2] = ["try again", "your mistakes"];

/// The result of a call, without wrappers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Outcome<'s> {
    pub(super) text: Content<TextCow<'s>>,
    /// True if the wrapper or the result says that it is an error.
    pub(super) is_error: bool,
    /// The id of the call, if the wrapper has it.
    pub(super) id: Option<Cow<'s, str>>,
}

/// Returns the result in a tool span, or `NotRecorded`.
pub(super) fn result<'s>(span: &'s Span<'_>) -> Outcome<'s> {
    for name in RESULTS {
        if let Some(value) = span.attributes.get(name).filter(|value| !is_left_out(name, value)) {
            let outcome = outcome_of_value(value);
            if outcome.text.is_recorded() {
                return outcome;
            }
        }
    }
    for event in &span.events {
        if event.name == "gen_ai.choice"
            && let Some(value) = event.attributes.get("message")
        {
            return outcome_of_value(value);
        }
    }
    for event in logs::of_span(span, &[Direction::Output]) {
        for block in event.blocks {
            if let Block::Reply(reply) = block {
                let mut outcome = outcome(reply.content);
                outcome.is_error |= reply.is_error;
                return outcome;
            }
        }
    }
    Outcome { text: Content::NotRecorded, ..Outcome::default() }
}

fn outcome_of_value<'s>(value: &'s Value<'_>) -> Outcome<'s> {
    if let Value::Text(text) = value
        && let Some(spelled) = text.spelled()
        && is_bare(spelled)
    {
        return Outcome { text: Content::Present(Text::from(spelled).into()), ..Outcome::default() };
    }
    outcome(Content::Present(value.to_plain_data()))
}

/// Returns true if the spelling of a text with escapes shows that it is not wrapped, has nothing appended, and is not
/// masked: no usual spelling of a mask has an escape.
fn is_bare(text: JsonString<'_>) -> bool {
    static FINDERS: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| MARKS.map(Finder::new));
    let begins_plainly =
        text.inner().first().is_some_and(|first| !matches!(first, b'{' | b'[' | b'\\' | 0..=b' ' | 0x80..));
    begins_plainly && text.is_usual() && FINDERS.iter().all(|mark| mark.find(text.inner()).is_none())
}

/// Returns the result in a value.
pub(super) fn outcome(content: Content<Data<'_>>) -> Outcome<'_> {
    let value = match content {
        Content::Present(value) => value,
        Content::Absent => return Outcome::default(),
        Content::NotRecorded => return Outcome { text: Content::NotRecorded, ..Outcome::default() },
    };
    let mut outcome = Outcome::default();
    let mut text = match value {
        Data::Null => return outcome,
        Data::Text(text) if is_masked(&text) => {
            outcome.text = Content::NotRecorded;
            return outcome;
        }
        Data::Text(text) => {
            let inner = Data::of_cow(&text);
            if let Some(own) = inner.as_ref().and_then(|inner| wrapped(inner, &mut outcome)) {
                outcome.is_error |= is_error_text(&own);
                own
            } else {
                outcome.is_error |= inner.is_some_and(|inner| is_error(&text, &inner));
                text
            }
        }
        other => {
            let own = wrapped(&other, &mut outcome);
            outcome.is_error |= own.is_none() && is_error_value(&other, 0);
            let own = own.unwrap_or_else(|| Cow::Owned(canonical_value(&Json::from(&other))));
            outcome.is_error |= is_error_text(&own);
            own
        }
    };
    without_appendix(&mut text);
    outcome.text = Content::Present(text.into());
    outcome
}

/// Returns the text inside a wrapper, or `None` if the value is not one.
fn wrapped<'s>(value: &Data<'s>, outcome: &mut Outcome<'s>) -> Option<Cow<'s, str>> {
    match value {
        Data::List(items) => {
            let mut texts = Vec::with_capacity(items.len());
            for item in items {
                let members = item.as_object()?;
                if members.text("type").unwrap_or("text") != "text" || members.has("role") {
                    return None;
                }
                let Data::Text(text) = members.get("text")? else { return None };
                texts.push(text);
            }
            match texts.as_slice() {
                [] => None,
                [only] => Some((*only).clone()),
                several => {
                    Some(Cow::Owned(several.iter().map(|text| &***text).collect::<Vec<_>>().join("\n")))
                }
            }
        }
        Data::Object(members) => {
            if let Some(message) = tool_message(members) {
                outcome.id = name_of(message, &["tool_call_id"]).or(outcome.id.take());
                outcome.is_error |= message.text("status") == Some("error");
                let inner = self::outcome(message.get("content").cloned().into());
                outcome.is_error |= inner.is_error;
                return inner.text.present().map(TextCow::into_cow);
            }
            if members.len() == 3 && ["id", "name", "response"].iter().all(|key| members.has(key)) {
                outcome.id = name_of(members, &["id"]);
                let inner = self::outcome(members.get("response").cloned().into());
                outcome.is_error |= inner.is_error;
                return inner.text.present().map(TextCow::into_cow);
            }
            None
        }
        _ => None,
    }
}

/// Returns the serialized message of a tool, at the depth of its framework.
fn tool_message<'d, 's>(members: &'d Members<'s>) -> Option<&'d Members<'s>> {
    if members.has("tool_call_id") && members.has("content") {
        return Some(members);
    }
    if members.text("type") == Some("tool")
        && let Some(data) = members.object("data")
    {
        return Some(data);
    }
    if let Some(kwargs) = members.object("kwargs").filter(|kwargs| kwargs.has("tool_call_id")) {
        return Some(kwargs);
    }
    if let Some(output) = members.object("output") {
        return tool_message(output);
    }
    // A command that carries the message to another graph.
    let messages = members.object("update")?.get("messages")?.as_list()?;
    messages.iter().rev().find_map(|message| tool_message(message.as_object()?))
}

fn without_appendix(text: &mut Cow<'_, str>) {
    loop {
        let trimmed = text.trim_end();
        let Some(rest) = APPENDED.iter().find_map(|appendix| trimmed.strip_suffix(appendix)) else { return };
        let length = rest.trim_end().len();
        if length == 0 {
            return;
        }
        match text {
            Cow::Borrowed(text) => *text = text.get(..length).unwrap_or_default(),
            Cow::Owned(text) => text.truncate(length),
        }
    }
}

/// Returns true if the text of a result begins with this, or the text under a sole key `result`.
pub(super) fn own_text_begins(text: Text<'_>, prefix: &str) -> bool {
    if text.spelling().first().is_some_and(|first| !matches!(first, b'{' | b'\\' | 0..=b' ')) {
        return text.starts_with(prefix);
    }
    let text = text.to_str();
    if is_first_key(&text, "result")
        && let Some(Data::Object(members)) = Data::of_text(&text)
        && let (1, Some(Data::Text(inner))) = (members.len(), members.get("result"))
    {
        return inner.starts_with(prefix);
    }
    text.starts_with(prefix)
}

/// Returns true if a text is JSON that says that it is an error.
fn is_error_text(text: &str) -> bool {
    Data::of_text(text).is_some_and(|value| is_error(text, &value))
}

/// Returns true if JSON says that it is an error: by a flag, or by `error` as first key. Also one level below a sole
/// key `result`.
fn is_error(text: &str, value: &Data<'_>) -> bool {
    let named = value.as_object().and_then(|members| members.get("error"));
    is_first_key(text, "error") && named.is_some_and(is_set) || is_error_value(value, 0)
}

/// Returns true if this is the first key of an object.
fn is_first_key(text: &str, key: &str) -> bool {
    let mut json = crate::json::Json::new(text.as_bytes());
    if json.peek_byte() != Some(b'{') {
        return false;
    }
    json.advance();
    json.key().is_ok_and(|first| *first == *key.as_bytes())
}

/// Returns true if a value under `error` means an error.
fn is_set(value: &Data<'_>) -> bool {
    !matches!(value, Data::Null | Data::Bool(false)) && value.as_text() != Some("")
}

fn is_error_value(value: &Data<'_>, depth: u8) -> bool {
    let Data::Object(members) = value else { return false };
    let flag = |key: &str| members.get(key) == Some(&Data::Bool(true));
    if flag("isError") || flag("is_error") {
        return true;
    }
    match (members.len(), members.get("error"), members.get("result")) {
        (1, Some(error), _) => is_set(error),
        (1, _, Some(inner)) if depth == 0 => match inner {
            Data::Text(text) => is_error_text(text),
            inner => is_error_value(inner, 1),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::MASKS;
    use super::super::model::SpanEvent;
    use super::*;
    use serde_json::json;

    fn span(attributes: &[(&'static str, &str)]) -> Span<'static> {
        Span::default().with_attributes(attributes)
    }

    #[test]
    fn wrappers_of_results_are_taken_off() {
        let message =
            json!({"type": "tool", "data": {"content": "r", "tool_call_id": "c", "status": "success"}});
        let constructed =
            json!({"output": {"lc": 1, "kwargs": {"content": "r", "tool_call_id": "c"}}, "kwargs": {}});
        let command = json!({"graph": "p", "update": {"messages": [message]}});
        for (text, id) in [
            (message.to_string(), Some("c")),
            (constructed.to_string(), Some("c")),
            (command.to_string(), Some("c")),
            (json!({"id": "c", "name": "f", "response": "r"}).to_string(), Some("c")),
            (json!([{"text": "r"}]).to_string(), None),
            ("r\n\nFix the errors and try again.".to_owned(), None),
            ("r Please try again.".to_owned(), None),
        ] {
            let made = span(&[("output.value", &text)]);
            let outcome = result(&made);
            assert_eq!(
                outcome,
                Outcome { text: Content::Present("r".into()), is_error: false, id: id.map(Into::into) },
                "{text}"
            );
        }
        let object = json!({"id": "c", "name": "f", "response": {"b": 1, "a": 2}}).to_string();
        assert_eq!(
            result(&span(&[("output.value", &object)])).text,
            Content::Present(r#"{"a":2,"b":1}"#.into())
        );
        assert_eq!(result(&span(&[("output.value", "__REDACTED__")])).text, Content::NotRecorded);
        assert_eq!(
            result(&span(&[("gen_ai.tool.call.result", "Please try again.")])).text,
            Content::Present("Please try again.".into())
        );
    }

    #[test]
    fn results_may_say_that_they_are_errors() {
        for (text, is_error) in [
            (r#"{"isError": true, "content": []}"#, true),
            (r#"{"is_error": true}"#, true),
            (r#"{"error": "no"}"#, true),
            (r#"{"error": "no", "code": 3}"#, true),
            (r#"{"code": 3, "error": "no"}"#, false),
            (r#"{"error": null}"#, false),
            (r#"{"error": ""}"#, false),
            (r#"{"error": null, "a": 1}"#, false),
            (r#"{"result": {"isError": true}}"#, true),
            (r#"{"result": "{\"error\": \"no\"}"}"#, true),
            (r#"{"result": {"error": "no"}}"#, true),
            (r#"{"result": {"result": {"error": "no"}}}"#, false),
            (r#"{"result": {"error": "no"}, "x": 1}"#, false),
            (r#"[{"text": "{\"isError\": true}"}]"#, true),
            (r#"{"type": "tool", "data": {"content": "r", "status": "error", "tool_call_id": "c"}}"#, true),
            (r#"{"type": "tool", "data": {"content": "{\"error\": \"no\"}", "tool_call_id": "c"}}"#, true),
            (r#"{"isError": false}"#, false),
            ("error", false),
        ] {
            assert_eq!(result(&span(&[("output.value", text)])).is_error, is_error, "{text}");
        }
    }

    /// A text in its usual JSON spelling, with its first character escaped, and with all characters escaped.
    fn spellings(text: &str) -> [String; 3] {
        let usual = json!(text).to_string();
        let escape = |first: char| format!("\\u{:04x}", first as u32);
        let first: String = text.chars().take(1).map(escape).collect();
        let behind = text.char_indices().nth(1).map_or("", |(at, _)| &text[at..]);
        let rest = json!(behind).to_string();
        [
            usual,
            format!("\"{first}{}", &rest[1..]),
            format!("\"{}\"", text.chars().map(escape).collect::<String>()),
        ]
    }

    const SPELLED: [&str; 20] = [
        "a\nb",
        "Error: a\nb",
        "\nError: a",
        "a\n\nPlease try again.",
        "a\nFix the errors and try again.\n",
        "a\nPlease fix your mistakes.",
        "a\ttry again",
        "Please try again.\n",
        "\u{e9}\n",
        " a\n",
        "a\u{1}b\n",
        "{\"error\": \"no\"}",
        "{\"result\": \"Error: no\"}",
        "{\"result\": \"no\", \"a\": 1}",
        " {\"isError\": true}\n",
        "[{\"type\": \"text\", \"text\": \"r\"}]",
        "{\"tool_call_id\": \"c\", \"content\": \"r\\n\"}",
        "{\"a\": \n",
        "__REDACTED__",
        "<redacted>",
    ];

    #[test]
    fn results_mean_the_same_however_they_are_spelled() {
        for text in SPELLED {
            let said = |value: &Value<'_>| {
                let Outcome { text, is_error, id } = outcome_of_value(value);
                (text.map(|text| text.text().to_str().into_owned()), is_error, id.map(Cow::into_owned))
            };
            let plain = said(&Value::text(text));
            for spelling in spellings(text) {
                let mut json = crate::json::Json::new(spelling.as_bytes());
                let value = Value::Text(json.text().unwrap().into());
                assert_eq!(said(&value), plain, "{spelling}");
            }
        }
    }

    #[test]
    fn texts_begin_the_same_however_they_are_spelled() {
        for text in SPELLED {
            for prefix in ["Error", "a\n", "{", "\n"] {
                let plain = own_text_begins(Text::from(text), prefix);
                for spelling in spellings(text) {
                    let mut json = crate::json::Json::new(spelling.as_bytes());
                    let spelled = Text::from(json.text().unwrap());
                    assert_eq!(own_text_begins(spelled, prefix), plain, "{spelling} begins with {prefix:?}");
                }
            }
        }
        for (text, begins) in [
            ("Error: a\nb", true),
            ("\nError: a", false),
            (r#"{"result": "Error: no"}"#, true),
            (r#"{"result": "Error: no", "a": 1}"#, false),
        ] {
            assert_eq!(own_text_begins(text.into(), "Error"), begins, "{text}");
        }
    }

    #[test]
    fn what_stands_behind_answers_has_a_mark_and_masks_have_no_escape() {
        for sentence in APPENDED {
            assert!(MARKS.iter().any(|mark| sentence.contains(mark)), "{sentence}");
        }
        for mask in MASKS {
            assert_eq!(json!(mask).to_string(), format!("\"{mask}\""));
        }
    }

    #[test]
    fn events_hold_what_attributes_do_not() {
        let mut event = SpanEvent { name: "gen_ai.choice".into(), ..SpanEvent::default() };
        event.attributes.push("message".into(), Value::text(r#"[{"text": "r"}]"#));
        let mut made = span(&[]);
        made.events.push(event);
        assert_eq!(result(&made).text.present(), Some("r".into()));
    }
}
