//! A call under `tool_calls` of a chat, in the forms that exports use.

use super::prelude::*;
use crate::read::call_outcome::says_error;

/// A parsed entry of `tool_calls`.
#[derive(Debug)]
pub(super) struct ToolCall<'a> {
    /// `None` if it is not a call. The caller sets its turn.
    pub(super) call: Option<Call<'a>>,
    /// The entry, if it also has the result of the call.
    pub(super) answered: Option<Members<'a>>,
    /// True if the entry is in the form of Inspect (`function` is a name) or tau2 (it has a `requestor`), so the
    /// message is not an OpenAI message.
    pub(super) is_foreign: bool,
}

impl<'a> ToolCall<'a> {
    /// Reads the calls of a message, under the first key that has some.
    pub(super) fn all(message: &Members<'a>) -> Vec<Self> {
        // verifiers saves each call as JSON in a string.
        let entry = |entry: Raw<'a>| match entry.string() {
            Some(text) => Self::written(common::trim(&text)),
            None => vec![Self::of(&entry.into())],
        };
        let listed = |key: &str| message.list(key).into_iter().flat_map(entry).collect::<Vec<_>>();
        let mut calls = match message.get("tool_calls").map(Raw::kind) {
            Some(Kind::Object) => Self::of_object(&message.object("tool_calls")),
            Some(Kind::String) => {
                message.name("tool_calls").map_or_else(Vec::new, |text| Self::written(&text))
            }
            _ => listed("tool_calls"),
        };
        if calls.is_empty() {
            calls = listed("function_call");
            let one = message.get("function_call").and_then(function_call);
            calls.extend(one.map(|call| Self { call: Some(call), answered: None, is_foreign: false }));
        }
        if calls.is_empty() && message.is("tool_call", Kind::Object) {
            calls.push(Self { is_foreign: false, ..Self::of(&message.object("tool_call")) });
            calls.retain(|read| read.call.is_some());
        }
        if calls.is_empty() {
            calls.extend(Self::in_blocks(message));
        }
        calls
    }

    /// Reads the calls next to the text of a message of the model, unless the text has a call. A block with an id may
    /// repeat a call of another message.
    fn in_blocks(message: &Members<'a>) -> Vec<Self> {
        let says = |of: &Members<'a>, key: &str, word: &str| of.name(key).as_deref() == Some(word);
        let is_text = [Kind::String, Kind::Null].iter().any(|kind| message.is("content", *kind));
        if !is_text || !message.has("content_blocks") || !says(message, "role", "assistant") {
            return Vec::new();
        }
        if message.message("content").is_some_and(|text| text_calls::has_call(text.text())) {
            return Vec::new();
        }
        let is_named = |block: &Members<'a>| block.name("name").is_some_and(|name| !name.is_empty());
        let is_call = |block: &Members<'a>| {
            says(block, "type", "tool_use") && is_named(block) && block.present("id").is_none()
        };
        message.objects("content_blocks").filter(is_call).map(|block| Self::of(&block)).collect()
    }

    /// Reads a call or a list of calls as JSON in a string, which rows of tables have. A text that is not JSON counts as
    /// one unread call.
    fn written(text: &str) -> Vec<Self> {
        let value = Raw::over(text.as_bytes(), 0);
        let items = match value.kind() {
            Kind::List if value.json().is_sound() => value.items().unwrap_or_default(),
            Kind::Null if value.json().is_sound() => Vec::new(),
            _ => vec![value],
        };
        let calls = items.iter().map(|call| ToolCall::of(&Members::from(*call)).call.map(Call::into_made));
        calls.map(|call| Self { call, answered: None, is_foreign: false }).collect()
    }

    pub(super) fn of(entry: &Members<'a>) -> Self {
        let name = || ["name", "tool_name"].iter().find_map(|key| entry.get(key)?.string());
        let flat = || Some(Call::new(0, None, name()?).with(given(entry)));
        let function = || entry.get("function").and_then(function_call);
        let call = function().or_else(|| custom_call(&entry.object("custom"))).or_else(flat);
        let is_answered = RESULTS.iter().any(|key| entry.present(key).is_some())
            || entry.get("error").and_then(says_error) == Some(true)
            || entry.outcome("status") == Some(Outcome::flag(true));
        let call = call.map(|call| Call { id: entry.ident("id"), ..call });
        let is_named = |call: &Call<'_>| !call.name.is_empty();
        Self {
            call: call.map(|call| {
                if is_named(&call) { call } else { Call { name: name().unwrap_or_default(), ..call } }
            }),
            answered: is_answered.then(|| entry.clone()),
            is_foreign: entry.has("requestor") || entry.is("function", Kind::String),
        }
    }

    /// Reads an object in the place of a list: one call, or, as fast-agent writes them, requests of MCP by id.
    pub(super) fn of_object(object: &Members<'a>) -> Vec<Self> {
        let one = Self::of(object);
        if one.call.is_some() {
            return vec![one];
        }
        let request = |(id, request): (&str, Raw<'a>)| {
            let call = request.member("params").and_then(function_call);
            let call = call.map(|call| Call { id: Some(id.to_owned().into()), ..call });
            Self { call, answered: None, is_foreign: false }
        };
        object.iter().map(request).collect()
    }
}

/// Keys of the result of a call in its entry.
const RESULTS: [&str; 4] = ["result", "output", "response", "observation"];

/// Returns the call in `{name, arguments}`, or `None` for a value that is not an object.
pub(super) fn function_call(value: Raw<'_>) -> Option<Call<'_>> {
    let function = Members::from(value);
    function.whole()?;
    Some(Call::new(0, None, function.name("name").unwrap_or_default()).with(given(&function)))
}

/// Returns the arguments of a call, under the first key that is not null.
fn given<'a>(call: &Members<'a>) -> Content<Arguments<'a>> {
    let keys = ["arguments", "args", "parameters", "input"];
    keys.iter().find_map(|key| call.present(key)).map_or(Content::Absent, common::arguments)
}

/// Returns the call in `{name, input}`, or `None` for anything else.
fn custom_call<'a>(custom: &Members<'a>) -> Option<Call<'a>> {
    custom.whole()?;
    let arguments = wire::sole_argument("input", custom.get("input"));
    Some(Call::new(0, None, custom.name("name").unwrap_or_default()).with(arguments))
}
