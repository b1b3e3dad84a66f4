//! Arguments and ids of calls in tool spans, without the wrappers of frameworks, to make equal calls equal.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::attributes::Value;
use super::classify;
use super::data::{Data, Members};
use super::dialects::blocks;
use super::logs;
use super::message::{Block, Role, arguments_of, is_masked, name_of};
use super::model::Span;
use super::python;
use super::tree::{At, Tree};
use crate::json::Json;
use crate::trace::Content;

/// Attributes with arguments, most reliable first.
const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gcp.vertex.agent.tool_call_args",
    "input.value",
    "tool.input",
    "traceloop.entity.input",
];

/// Returns the arguments of a tool span's call, as JSON or, if invalid, as text.
pub(super) fn arguments<'s>(span: &'s Span<'_>) -> Content<Cow<'s, str>> {
    let mut found = Content::NotRecorded;
    for name in ARGUMENTS {
        if let Some(value) = span.attributes.get(name).filter(|value| !is_left_out(name, value)) {
            found = unwrap_arguments(value);
            if found.is_recorded() {
                return found;
            }
        }
    }
    for event in logs::of_span(span, logs::BOTH) {
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
        && !is_schema(&value.to_data())
    {
        return unwrap_arguments(value);
    }
    found
}

/// Returns true if a value only says that content is switched off: ADK writes an empty object then.
pub(super) fn is_left_out(name: &str, value: &Value<'_>) -> bool {
    name.starts_with("gcp.") && value.as_str() == Some("{}")
}

/// Returns true if a value describes parameters instead of giving them.
fn is_schema(value: &Data<'_>) -> bool {
    let Data::Object(members) = value else { return true };
    let describes = |value: &Data<'_>| {
        value
            .as_object()
            .is_some_and(|members| ["type", "description", "anyOf"].iter().any(|key| members.has(key)))
    };
    members.has("properties")
        || members.has("$defs")
        || members.is_empty()
        || members.iter().all(|(_, value)| describes(value))
}

fn unwrap_arguments<'s>(value: &'s Value<'_>) -> Content<Cow<'s, str>> {
    let Some(text) = value.to_text() else { return Content::Absent };
    if is_masked(&text) {
        return Content::NotRecorded;
    }
    let data = if may_wrap(&text) { Data::of_cow(&text) } else { None };
    match data.as_ref().and_then(Data::as_object).and_then(own_arguments) {
        Some(own) => arguments_of(own),
        // Without a wrapper, or the bare value of a tool of one parameter, which may be an empty text.
        None => Content::Present(text),
    }
}

/// Returns false only if a text cannot hold a wrapper.
fn may_wrap(text: &str) -> bool {
    static MARKS: LazyLock<[Finder<'_>; 3]> =
        LazyLock::new(|| ["kwargs", "input_str", "\\u"].map(Finder::new));
    MARKS.iter().any(|mark| mark.find(text.as_bytes()).is_some())
}

/// Returns the arguments inside a wrapper, or `None` if the object is not one.
fn own_arguments<'s>(members: &Members<'s>) -> Option<Data<'s>> {
    const WRAPPER: &[&str] = &["args", "kwargs", "sanitize_inputs_outputs"];
    if let Some(kwargs) = members.object("kwargs")
        && members.iter().all(|(key, _)| WRAPPER.contains(&key))
    {
        let args = members.get("args").and_then(Data::as_list).unwrap_or_default();
        return Some(match (args, kwargs.is_empty()) {
            ([], _) => Data::Object(kwargs.clone()),
            ([only], true) => only.clone(),
            (several, true) => Data::List(several.to_vec()),
            (args, false) => {
                let args = (Cow::Borrowed("args"), Data::List(args.to_vec()));
                Data::Object(kwargs.clone().into_iter().chain([args]).collect())
            }
        });
    }
    if members.has("input_str") && (members.has("tags") || members.has("metadata")) {
        if let Some(inputs @ Data::Object(_)) = members.get("inputs") {
            return Some(inputs.clone());
        }
        let Data::Text(text) = members.get("input_str")? else { return None };
        let read = Data::of_cow(text).or_else(|| python::literal(text));
        return Some(read.unwrap_or_else(|| Data::Text(text.clone())));
    }
    None
}

/// Returns true if a text is a JSON object or list, or empty.
pub(super) fn is_structured(arguments: &str) -> bool {
    arguments.trim_start().starts_with(['{', '[']) && !is_broken(arguments)
}

/// Returns true if a text is not JSON.
pub(super) fn is_broken(arguments: &str) -> bool {
    // Nearly all texts are valid, which our reader detects faster; it allows one level more.
    let mut json = Json::starting_at(arguments.as_bytes(), 0, 1);
    let is_sound = json.check().is_ok() && json.peek_byte().is_none();
    !is_sound && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err()
}

/// Returns the value of an object with one member, as text.
pub(super) fn only_value(arguments: &str) -> Option<Cow<'_, str>> {
    let Data::Object(members) = Data::of_text(arguments)? else { return None };
    let mut values = members.into_iter().map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(Data::Text(text)), None) => Some(text),
        (Some(value), None) => Some(Cow::Owned(value.to_json())),
        _ => None,
    }
}

/// The calls in spans around tool spans, as far as they were read.
#[derive(Default)]
pub(super) struct CallsAround<'s>(RefCell<BTreeMap<At, Option<CallAround<'s>>>>);

/// The only call in a span around tool spans.
struct CallAround<'s> {
    /// The tool, if known.
    name: Option<Cow<'s, str>>,
    id: Cow<'s, str>,
}

impl<'s> CallsAround<'s> {
    /// Returns the id of a call of this tool, from a span around its own, which is read once.
    pub(super) fn id(&self, tree: &Tree<'s, '_>, around: At, tool: &str) -> Option<Cow<'s, str>> {
        let mut read = self.0.borrow_mut();
        let call = read.entry(around).or_insert_with(|| call_around(tree.span(around)?)).as_ref()?;
        call.name.as_ref().is_none_or(|name| name == tool).then(|| call.id.clone())
    }
}

/// Reads the call in a span around tool spans: LangGraph's tool node holds the one call that it runs, LlamaIndex's step
/// holds the call as a Python repr.
fn call_around<'s>(around: &'s Span<'_>) -> Option<CallAround<'s>> {
    let value =
        around.attributes.first_of(&["input.value", "gen_ai.task.input", "traceloop.entity.input"])?;
    if classify::is_tools_node(around) {
        let mut calls = blocks(value.to_data(), Role::Agent).into_iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        });
        let only = calls.next()?;
        if calls.next().is_some() {
            return None;
        }
        return Some(CallAround { name: Some(only.name), id: only.id? });
    }
    if around.name.ends_with("call_tool") {
        let text = value.as_str()?;
        let data = Data::of_text(text);
        let texts: Vec<&str> = match &data {
            Some(Data::Object(members)) => members.iter().filter_map(|(_, value)| value.as_text()).collect(),
            _ => vec![text],
        };
        for text in texts {
            if let Some((_, text)) = text.split_once("tool_id=")
                && let Some(end) = text.get(1..).and_then(|rest| rest.find(['\'', '"']))
                && let Some(Data::Text(id)) = text.get(..end + 2).and_then(python::literal)
            {
                return Some(CallAround { name: None, id });
            }
        }
    }
    None
}

/// Returns the id of a call, from the wrapper of its arguments.
pub(super) fn id_in_wrapper<'s>(span: &'s Span<'_>) -> Option<Cow<'s, str>> {
    let value = span.attributes.first_of(&["gen_ai.tool.call.arguments", "traceloop.entity.input"])?;
    let Data::Object(members) = value.to_data() else { return None };
    members.get("input_str")?;
    name_of(members.object("kwargs")?, &["tool_call_id"])
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
            (vec![("input.value", r#"{"\u006bwargs": {"a": 1}}"#)], Some(r#"{"a":1}"#)),
            (vec![("input.value", r#"{"input_st\u0072": "O-42", "tags": []}"#)], Some("O-42")),
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
        let mut step = span(&[(
            "input.value",
            r#"{"ev": "ToolCall(tool_name='f', tool_kwargs={'a': 1}, tool_id='c')"}"#,
        )]);
        step.name = "BaseWorkflowAgent.call_tool".into();
        let spans = [node, step];
        let tree = Tree::new(&spans);
        let around = CallsAround::default();
        for (at, tool, id) in
            [(0, "g", None), (0, "f", Some("c")), (0, "g", None), (1, "f", Some("c")), (2, "f", None)]
        {
            assert_eq!(around.id(&tree, at, tool).as_deref(), id, "{at} {tool}");
        }
        let wrapper = r#"{"input_str": "x", "tags": [], "kwargs": {"tool_call_id": "c"}}"#;
        assert_eq!(id_in_wrapper(&span(&[("gen_ai.tool.call.arguments", wrapper)])).as_deref(), Some("c"));
    }

    #[test]
    fn texts_of_arguments() {
        assert!(is_structured(r#"{"a": 1}"#) && !is_structured("O-42") && !is_structured(r#"{"a": "#));
        assert!(is_broken(r#"{"a": "#) && is_broken("O-42") && !is_broken("42"));
        for text in ["1e999", r#""\ud800""#, "[] ", "[]]", "", "\"\u{1}\"", "[1,]"]
            .map(str::to_owned)
            .into_iter()
            .chain((126..130).map(|depth| "[".repeat(depth) + &"]".repeat(depth)))
        {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            assert_eq!(is_broken(&text), !is_json, "{text}");
        }
        assert_eq!(only_value(r#"{"a": "O-42"}"#).as_deref(), Some("O-42"));
        assert_eq!(only_value(r#"{"a": 42}"#).as_deref(), Some("42"));
        assert_eq!(only_value(r#"{"a": 1, "b": 2}"#), None);
    }
}
