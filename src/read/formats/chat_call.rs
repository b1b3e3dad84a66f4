//! A call under `tool_calls` of a chat, in the forms that exports use.

use super::prelude::*;

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
    pub(super) fn of(entry: &Members<'a>) -> Self {
        let given = || entry.first(&["arguments", "args"]).map_or(Content::Absent, common::arguments);
        let flat = || Some(Call::new(0, None, entry.get("name")?.string()?).with(given()));
        let function = || entry.get("function").and_then(function_call);
        let call = function().or_else(|| custom_call(&entry.object("custom"))).or_else(flat);
        let is_set = |error: Raw<'_>| !matches!(error.bytes(), b"null" | b"false" | b"\"\"");
        let is_answered =
            RESULTS.iter().any(|key| entry.present(key).is_some()) || entry.get("error").is_some_and(is_set);
        Self {
            call: call.map(|call| Call { id: entry.ident("id"), ..call }),
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
    Some(Call::new(0, None, function.name("name").unwrap_or_default()).with(function.arguments("arguments")))
}

/// Returns the call in `{name, input}`, or `None` for anything else.
fn custom_call<'a>(custom: &Members<'a>) -> Option<Call<'a>> {
    custom.whole()?;
    let arguments = wire::sole_argument("input", custom.get("input"));
    Some(Call::new(0, None, custom.name("name").unwrap_or_default()).with(arguments))
}
