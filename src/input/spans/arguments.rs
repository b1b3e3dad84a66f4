//! What tool spans say of their calls: arguments without the wrappers of frameworks, and ids. Equal calls are then
//! equal.

use serde_json::{Map, Value as Json};

use super::attributes::{Value, json_of_text};
use super::classify;
use super::dialects::blocks;
use super::logs;
use super::message::{Block, Role, arguments_of, is_masked, name_of};
use super::model::Span;
use super::python;
use crate::trace::Content;

/// Where arguments stand, the surest first.
const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gcp.vertex.agent.tool_call_args",
    "input.value",
    "tool.input",
    "traceloop.entity.input",
];

/// The arguments of a tool span's call: as JSON or, where it is none, as text.
pub(super) fn arguments(span: &Span<'_>) -> Content<String> {
    let mut found = Content::NotRecorded;
    for name in ARGUMENTS {
        if let Some(value) = span.attributes.get(name).filter(|value| !is_left_out(name, value)) {
            found = unwrap_arguments(value);
            if found.is_recorded() {
                return found;
            }
        }
    }
    for event in logs::of_span(span) {
        for block in event.blocks {
            match block {
                Block::Call(call) if call.arguments.is_recorded() => return call.arguments,
                _ => {}
            }
        }
    }
    if let Some(event) = span.events.iter().find(|event| event.name == "gen_ai.tool.message")
        && let Some(content) = event.attributes.get("content")
    {
        return unwrap_arguments(content);
    }
    if let Some(value) = span.attributes.get("tool.parameters")
        && !is_schema(&value.to_json())
    {
        return unwrap_arguments(value);
    }
    found
}

/// Whether a value only says that content is switched off: ADK writes an empty object then.
pub(super) fn is_left_out(name: &str, value: &Value<'_>) -> bool {
    name.starts_with("gcp.") && value.as_str().is_some_and(|text| text == "{}")
}

/// Whether a value describes parameters instead of giving them.
fn is_schema(value: &Json) -> bool {
    let Json::Object(members) = value else { return true };
    let describes = |value: &Json| {
        value.as_object().is_some_and(|members| {
            members.contains_key("type")
                || members.contains_key("description")
                || members.contains_key("anyOf")
        })
    };
    members.contains_key("properties")
        || members.contains_key("$defs")
        || members.is_empty()
        || members.values().all(describes)
}

fn unwrap_arguments(value: &Value<'_>) -> Content<String> {
    let text = match value {
        Value::Text(_) => value.as_str(),
        _ => value.to_text(),
    };
    let Some(text) = text else { return Content::Absent };
    if is_masked(&text) {
        return Content::NotRecorded;
    }
    match json_of_text(&text) {
        Some(Json::Object(members)) => match own_arguments(&members) {
            Some(own) => arguments_of(&own),
            None => Content::Present(text.into_owned()),
        },
        // The bare value of a tool of one parameter, which may be an empty text.
        _ => Content::Present(text.into_owned()),
    }
}

/// The arguments within a wrapper; `None` where the object is none.
fn own_arguments(members: &Map<String, Json>) -> Option<Json> {
    const WRAPPER: &[&str] = &["args", "kwargs", "sanitize_inputs_outputs"];
    if members.keys().all(|key| WRAPPER.contains(&key.as_str()))
        && let (Some(args), Some(Json::Object(kwargs))) =
            (members.get("args").or(Some(&Json::Null)), members.get("kwargs"))
    {
        let args = args.as_array().map(Vec::as_slice).unwrap_or_default();
        return Some(match (args, kwargs.is_empty()) {
            ([], _) => Json::Object(kwargs.clone()),
            ([only], true) => only.clone(),
            (several, true) => Json::Array(several.to_vec()),
            (args, false) => {
                let mut both = kwargs.clone();
                both.insert("args".to_owned(), Json::Array(args.to_vec()));
                Json::Object(both)
            }
        });
    }
    if members.contains_key("input_str") && (members.contains_key("tags") || members.contains_key("metadata"))
    {
        if let Some(inputs @ Json::Object(_)) = members.get("inputs") {
            return Some(inputs.clone());
        }
        let text = members.get("input_str")?.as_str()?;
        return Some(
            json_of_text(text)
                .or_else(|| python::literal(text))
                .unwrap_or_else(|| Json::String(text.to_owned())),
        );
    }
    None
}

/// Whether a text is a JSON object or list, or nothing.
pub(super) fn is_structured(arguments: &str) -> bool {
    arguments.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// Whether a text is no JSON at all.
pub(super) fn is_broken(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err()
}

/// The one value of an object of one member, as text.
pub(super) fn only_value(arguments: &str) -> Option<String> {
    let Json::Object(members) = json_of_text(arguments)? else { return None };
    let mut values = members.into_iter().map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(Json::String(text)), None) => Some(text),
        (Some(value), None) => Some(value.to_string()),
        _ => None,
    }
}

/// The id of a call, from the spans around its tool span: `LangGraph`'s node of tools holds the one call that it
/// runs, `LlamaIndex`'s step the call as Python writes it.
pub(super) fn id_around(around: &Span<'_>, tool: &str) -> Option<String> {
    let value =
        around.attributes.first_of(&["input.value", "gen_ai.task.input", "traceloop.entity.input"])?;
    if classify::is_tools_node(around) {
        let mut calls = blocks(&value.to_json(), Role::Agent).into_iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        });
        let only = calls.next().filter(|call| call.name == tool)?;
        return if calls.next().is_none() { only.id } else { None };
    }
    if around.name.ends_with("call_tool") {
        let text = value.as_str()?;
        let texts = match json_of_text(&text) {
            Some(Json::Object(members)) => {
                members.into_iter().filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
            }
            _ => vec![text.into_owned()],
        };
        for text in texts {
            let text = text.split_once("tool_id=").map(|(_, rest)| rest.to_owned());
            if let Some(text) = text
                && let Some(end) = text.get(1..).and_then(|rest| rest.find(['\'', '"']))
                && let Some(Json::String(id)) = text.get(..end + 2).and_then(python::literal)
            {
                return Some(id);
            }
        }
    }
    None
}

/// The id of a call, from the wrapper of its arguments.
pub(super) fn id_in_wrapper(span: &Span<'_>) -> Option<String> {
    let value = span.attributes.first_of(&["gen_ai.tool.call.arguments", "traceloop.entity.input"])?;
    let Json::Object(members) = value.to_json() else { return None };
    members.get("input_str")?;
    name_of(members.get("kwargs")?.as_object()?, &["tool_call_id"])
}

#[cfg(test)]
mod tests {
    use super::super::model::SpanEvent;
    use super::*;

    fn span(attributes: &[(&'static str, &str)]) -> Span<'static> {
        Span::default().with_attributes(attributes)
    }

    #[test]
    fn wrappers_of_arguments_are_taken_off() {
        for (attributes, expected) in [
            (vec![("gen_ai.tool.call.arguments", r#"{"b": 1, "a": 2}"#)], Some(r#"{"b": 1, "a": 2}"#)),
            (
                vec![("input.value", r#"{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"a": 1}}"#)],
                Some(r#"{"a":1}"#),
            ),
            (vec![("input.value", r#"{"args": ["{\"a\": "], "kwargs": {}}"#)], Some(r#"{"a": "#)),
            (vec![("input.value", r#"{"args": [], "kwargs": {}}"#)], Some("{}")),
            (vec![("input.value", r#"{"kwargs": {"a": 1}}"#)], Some(r#"{"a":1}"#)),
            (
                vec![("input.value", r#"{"input_str": "{'a': True}", "tags": [], "metadata": {"step": 3}}"#)],
                Some(r#"{"a":true}"#),
            ),
            (vec![("input.value", r#"{"input_str": "O-42", "tags": []}"#)], Some("O-42")),
            (vec![("input.value", "")], Some("")),
            (vec![("tool.parameters", r#"{"type": "object", "properties": {}}"#)], None),
            (vec![("tool.parameters", r#"{"id": {"type": "string", "description": "x"}}"#)], None),
            (vec![("tool.parameters", r#"{"id": "O-42"}"#)], Some(r#"{"id": "O-42"}"#)),
            (vec![("input.value", "__REDACTED__")], None),
            (vec![("gcp.vertex.agent.tool_call_args", "{}")], None),
            (vec![("gcp.vertex.agent.tool_call_args", r#"{"a": 1}"#)], Some(r#"{"a": 1}"#)),
            (vec![], None),
        ] {
            assert_eq!(arguments(&span(&attributes)).present().as_deref(), expected, "{attributes:?}");
        }
        assert_eq!(arguments(&span(&[])), Content::NotRecorded);
    }

    #[test]
    fn events_hold_what_attributes_do_not() {
        let mut event = SpanEvent { name: "gen_ai.tool.message".into(), ..SpanEvent::default() };
        event.attributes.push("content".into(), Value::text(r#"{"a": 1}"#));
        let mut made = span(&[]);
        made.events.push(event);
        assert_eq!(arguments(&made).present().as_deref(), Some(r#"{"a": 1}"#));
    }

    #[test]
    fn ids_stand_around_and_in_wrappers() {
        let mut node =
            span(&[("input.value", r#"[{"name": "f", "args": {}, "id": "c", "type": "tool_call"}]"#)]);
        node.name = "tools".into();
        assert_eq!(id_around(&node, "f").as_deref(), Some("c"));
        assert_eq!(id_around(&node, "g"), None);
        let mut step = span(&[(
            "input.value",
            r#"{"ev": "ToolCall(tool_name='f', tool_kwargs={'a': 1}, tool_id='c')"}"#,
        )]);
        step.name = "BaseWorkflowAgent.call_tool".into();
        assert_eq!(id_around(&step, "f").as_deref(), Some("c"));
        let wrapper = r#"{"input_str": "x", "tags": [], "kwargs": {"tool_call_id": "c"}}"#;
        assert_eq!(id_in_wrapper(&span(&[("gen_ai.tool.call.arguments", wrapper)])).as_deref(), Some("c"));
    }

    #[test]
    fn texts_of_arguments() {
        assert!(is_structured(r#"{"a": 1}"#) && !is_structured("O-42") && !is_structured(r#"{"a": "#));
        assert!(is_broken(r#"{"a": "#) && is_broken("O-42") && !is_broken("42"));
        assert_eq!(only_value(r#"{"a": "O-42"}"#).as_deref(), Some("O-42"));
        assert_eq!(only_value(r#"{"a": 42}"#).as_deref(), Some("42"));
        assert_eq!(only_value(r#"{"a": 1, "b": 2}"#), None);
    }
}
