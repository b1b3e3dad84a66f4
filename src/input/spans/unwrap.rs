//! What frameworks wrap around results, taken off: equal answers are then equal.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::arguments::is_left_out;
use super::attributes::{Value, json_of_text};
use super::logs::{self, Direction};
use super::message::{Block, is_masked, name_of};
use super::model::Span;
use crate::trace::{Content, canonical_value};

/// Where results stand, the surest first.
const RESULTS: &[&str] = &[
    "gen_ai.tool.call.result",
    "tool_response",
    "gcp.vertex.agent.tool_response",
    "output.value",
    "tool.output",
    "traceloop.entity.output",
];

/// Sentences that frameworks put behind an answer.
const APPENDED: &[&str] = &[
    "Fix the errors and try again.",
    "Please try again.",
    "Please try again or use another tool",
    "Please fix the error and try again.",
    "Please fix your mistakes.",
];

/// What came back from a call, without its wrappers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Outcome {
    pub(super) text: Content<String>,
    /// Whether the wrapper or the result itself says that it is an error.
    pub(super) is_error: bool,
    /// The id of the call, where the wrapper has it.
    pub(super) id: Option<String>,
}

/// The result that a tool span holds. `NotRecorded` where it holds none.
pub(super) fn result(span: &Span<'_>) -> Outcome {
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
    for event in logs::of_span(span).into_iter().filter(|event| event.direction == Direction::Output) {
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

fn outcome_of_value(value: &Value<'_>) -> Outcome {
    match value {
        Value::Text(words) => outcome(Content::Present(Json::String(words.text().to_str().into_owned()))),
        _ => outcome(Content::Present(value.to_json())),
    }
}

/// The result that a value holds.
pub(super) fn outcome(content: Content<Json>) -> Outcome {
    let value = match content {
        Content::Present(value) => value,
        Content::Absent => return Outcome::default(),
        Content::NotRecorded => return Outcome { text: Content::NotRecorded, ..Outcome::default() },
    };
    let mut outcome = Outcome::default();
    match value {
        Json::Null => {}
        Json::String(text) if is_masked(&text) => outcome.text = Content::NotRecorded,
        Json::String(text) => {
            let inner = json_of_text(&text);
            let own = inner.as_ref().and_then(|inner| wrapped(inner, &mut outcome));
            outcome.is_error |= own.is_none() && inner.is_some() && is_error_text(&text);
            outcome.text = Content::Present(own.unwrap_or(text));
        }
        other => {
            let own = wrapped(&other, &mut outcome);
            outcome.is_error |= own.is_none() && is_error_value(&other, 0);
            outcome.text = Content::Present(own.unwrap_or_else(|| canonical_value(&other)));
        }
    }
    if let Content::Present(text) = &mut outcome.text {
        outcome.is_error |= json_of_text(text).is_some() && is_error_text(text);
        without_appendix(text);
    }
    outcome
}

/// The text within a wrapper; `None` where the value is none.
fn wrapped(value: &Json, outcome: &mut Outcome) -> Option<String> {
    match value {
        Json::Array(items) => {
            let mut texts = Vec::with_capacity(items.len());
            for item in items {
                let members = item.as_object()?;
                let kind = members.get("type").and_then(Json::as_str).unwrap_or("text");
                if kind != "text" || members.contains_key("role") {
                    return None;
                }
                texts.push(members.get("text")?.as_str()?);
            }
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        Json::Object(members) => {
            if let Some(message) = tool_message(members) {
                outcome.id = name_of(message, &["tool_call_id"]).or(outcome.id.take());
                outcome.is_error |= message.get("status").and_then(Json::as_str) == Some("error");
                let inner = self::outcome(message.get("content").cloned().into());
                outcome.is_error |= inner.is_error;
                return inner.text.present();
            }
            if members.len() == 3 && ["id", "name", "response"].iter().all(|key| members.contains_key(*key)) {
                outcome.id = name_of(members, &["id"]);
                let inner = self::outcome(members.get("response").cloned().into());
                outcome.is_error |= inner.is_error;
                return inner.text.present();
            }
            None
        }
        _ => None,
    }
}

/// A serialized message of a tool, as deep as its framework puts it.
fn tool_message(members: &Map<String, Json>) -> Option<&Map<String, Json>> {
    let inner = |key: &str| members.get(key).and_then(Json::as_object);
    if members.contains_key("tool_call_id") && members.contains_key("content") {
        return Some(members);
    }
    if members.get("type").and_then(Json::as_str) == Some("tool")
        && let Some(data) = inner("data")
    {
        return Some(data);
    }
    if let Some(kwargs) = inner("kwargs").filter(|kwargs| kwargs.contains_key("tool_call_id")) {
        return Some(kwargs);
    }
    if let Some(output) = inner("output") {
        return tool_message(output);
    }
    // A command that carries the message to another graph.
    let messages = inner("update")?.get("messages")?.as_array()?;
    messages.iter().rev().find_map(|message| tool_message(message.as_object()?))
}

fn without_appendix(text: &mut String) {
    loop {
        let trimmed = text.trim_end();
        let Some(rest) = APPENDED.iter().find_map(|appendix| trimmed.strip_suffix(appendix)) else { return };
        let length = rest.trim_end().len();
        if length == 0 {
            return;
        }
        text.truncate(length);
    }
}

/// The text of a result: of an object with a text below a sole key `result`, that.
pub(super) fn own_text(text: &str) -> Cow<'_, str> {
    if first_key(text).as_deref() == Some("result")
        && let Some(Json::Object(members)) = json_of_text(text)
        && let (1, Some(Json::String(inner))) = (members.len(), members.get("result"))
    {
        return Cow::Owned(inner.clone());
    }
    Cow::Borrowed(text)
}

/// Whether a text of JSON says that it is an error: by a flag, or by an object whose first key is `error`. Also one
/// level below a sole key `result`.
fn is_error_text(text: &str) -> bool {
    if first_key(text).as_deref() == Some("error")
        && let Some(Json::Object(members)) = json_of_text(text)
        && members.get("error").is_some_and(is_set)
    {
        return true;
    }
    json_of_text(text).is_some_and(|value| is_error_value(&value, 0))
}

/// The first key of an object, as it is spelled.
fn first_key(text: &str) -> Option<String> {
    let mut json = crate::json::Json::new(text.as_bytes());
    if json.peek_byte() != Some(b'{') {
        return None;
    }
    json.advance();
    json.key().ok().map(|key| String::from_utf8_lossy(&key).into_owned())
}

/// Whether a value below `error` stands for an error.
fn is_set(value: &Json) -> bool {
    !matches!(value, Json::Null | Json::Bool(false)) && value.as_str() != Some("")
}

fn is_error_value(value: &Json, depth: u8) -> bool {
    let Json::Object(members) = value else { return false };
    let flag = |key: &str| members.get(key).and_then(Json::as_bool) == Some(true);
    if flag("isError") || flag("is_error") {
        return true;
    }
    match (members.len(), members.get("error"), members.get("result")) {
        (1, Some(error), _) => is_set(error),
        (1, _, Some(inner)) if depth == 0 => match inner {
            Json::String(text) if json_of_text(text).is_some() => is_error_text(text),
            inner => is_error_value(inner, 1),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
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
            let outcome = result(&span(&[("output.value", &text)]));
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

    #[test]
    fn events_hold_what_attributes_do_not() {
        let mut event = SpanEvent { name: "gen_ai.choice".into(), ..SpanEvent::default() };
        event.attributes.push("message".into(), Value::text(r#"[{"text": "r"}]"#));
        let mut made = span(&[]);
        made.events.push(event);
        assert_eq!(result(&made).text.present().as_deref(), Some("r"));
    }
}
