//! Arguments and ids of calls in tool spans. Removes the wrappers of frameworks, since equal calls must compare equal.

use std::cell::RefCell;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::prelude::*;
use crate::json::Json;

/// Attributes with arguments, most reliable first.
const ARGUMENTS: &[Attr] = &[
    Attr::ToolCallArguments,
    Attr::AnyAgentArguments,
    Attr::ToolArguments,
    Attr::AdkArguments,
    Attr::InputValue,
    Attr::ToolInput,
    Attr::ToolInputOfCall,
    Attr::EntityInput,
    Attr::AiToolArguments,
];

/// Returns the arguments of a tool span's call: JSON, or the text that the span records.
pub(crate) fn arguments<'s>(span: &'s Span<'_>) -> Content<Cow<'s, str>> {
    let mut found = Content::NotRecorded;
    for value in recorded(span, ARGUMENTS) {
        found = unwrap_arguments(value);
        if found.is_recorded() {
            return found;
        }
    }
    for block in events::of_span(span, events::BOTH).into_iter().flat_map(|event| event.blocks) {
        match block {
            Block::Call(call) if call.arguments.is_recorded() => return call.arguments,
            _ => {}
        }
    }
    let event = span.events.iter().find(|event| event.name == "gen_ai.tool.message");
    if let Some(content) = event.and_then(|event| event.attributes.get(Attr::Content)) {
        return unwrap_arguments(content);
    }
    let parameters = span.attributes.get(Attr::ToolParameters);
    parameters.filter(|value| !is_schema(&value.to_data())).map_or(found, unwrap_arguments)
}

/// Returns the values of these attributes. Skips the empty object that ADK writes if content capture is off.
pub(crate) fn recorded<'s, 'a>(
    span: &'s Span<'a>,
    names: &'static [Attr],
) -> impl Iterator<Item = &'s Value<'a>> {
    let is_off = |name: Attr, value: &Value<'_>| {
        matches!(name, Attr::AdkArguments | Attr::AdkResult) && value.as_str() == Some("{}")
    };
    let present = names.iter().filter_map(|name| Some((*name, span.attributes.get(*name)?)));
    present.filter(move |(name, value)| !is_off(*name, value)).map(|(_, value)| value)
}

/// Returns true if a value is a schema of parameters, not their values.
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
    let is_python = text.starts_with("{'");
    let wrapped = || if may_wrap(&text) { Data::of_cow(&text) } else { None };
    let data = if is_python { python::plain_literal(&text) } else { wrapped() };
    let own = data.as_ref().and_then(Data::as_object).and_then(own_arguments);
    match own.or(data.filter(|data| is_python && data.as_object().is_some())) {
        Some(own) => arguments_of(own),
        // Arguments without a wrapper, or the bare value of a tool with one parameter, which may be an empty
        // string.
        None => Content::Present(text),
    }
}

/// Returns false only if a text cannot hold a wrapper and thus need not be parsed.
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

/// Returns true if a text is a JSON object or list.
pub(crate) fn is_structured(arguments: &str) -> bool {
    arguments.trim_start().starts_with(['{', '[']) && !is_broken(arguments)
}

/// Returns true if a text is not JSON.
pub(crate) fn is_broken(arguments: &str) -> bool {
    // Nearly all texts are valid, which this reader detects faster than serde. It starts at depth 1 because its
    // limit is one level more than that of serde.
    let is_sound = Json::starting_at(arguments.as_bytes(), 0, 1).is_sound();
    !is_sound && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err()
}

/// Returns the value of an object with one member, as text.
pub(crate) fn only_value(arguments: &str) -> Option<Cow<'_, str>> {
    let Data::Object(members) = Data::of_text(arguments)? else { return None };
    let mut values = members.into_iter().map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(Data::Text(text)), None) => Some(text),
        (Some(value), None) => Some(Cow::Owned(value.to_json())),
        _ => None,
    }
}

/// For each enclosing span read so far, the name of the tool, if known, and the id of its only call. `None` if it
/// does not have exactly one call.
#[derive(Default)]
pub(crate) struct CallsAround<'s>(RefCell<BTreeMap<At, Option<CallAround<'s>>>>);

type CallAround<'s> = (Option<Cow<'s, str>>, Cow<'s, str>);

impl<'s> CallsAround<'s> {
    /// Returns the id of the only call in an enclosing span, unless that call is of another tool. Each such span is
    /// read only once.
    pub(crate) fn id(&self, tree: &Tree<'s>, around: At, tool: &str) -> Option<Cow<'s, str>> {
        let mut read = self.0.borrow_mut();
        let (name, id) = read.entry(around).or_insert_with(|| call_around(tree.span(around)?)).as_ref()?;
        name.as_ref().is_none_or(|name| name == tool).then(|| id.clone())
    }
}

/// Reads the only call in a span that encloses tool spans. LangGraph's tool node holds the call that it runs.
/// LlamaIndex's step holds the call as a Python `repr`.
fn call_around<'s>(around: &'s Span<'_>) -> Option<CallAround<'s>> {
    let value = around.attributes.first_of(&[Attr::InputValue, Attr::TaskInput, Attr::EntityInput])?;
    if kinds::is_tools_node(around) {
        let mut calls = blocks(value.to_data(), Role::Agent).into_iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        });
        let only = calls.next()?;
        if calls.next().is_some() {
            return None;
        }
        return Some((Some(only.name), only.id?));
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
                return Some((None, id));
            }
        }
    }
    None
}

/// Returns the id of a call, from the wrapper of its arguments.
pub(crate) fn id_in_wrapper<'s>(span: &'s Span<'_>) -> Option<Cow<'s, str>> {
    let value = span.attributes.first_of(&[Attr::ToolCallArguments, Attr::EntityInput])?;
    let Data::Object(members) = value.to_data() else { return None };
    members.get("input_str")?;
    name_of(members.object("kwargs")?, &["tool_call_id"])
}
