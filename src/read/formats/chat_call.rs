//! A call under `tool_calls` of a chat, in the forms that exports use.

use super::prelude::*;

/// A parsed entry of `tool_calls`.
#[derive(Debug)]
pub(super) struct ToolCall<'a> {
    /// `None` if it is not a call. The caller sets its turn.
    pub(super) call: Option<Call<'a>>,
    /// The entry, if it also has the result of the call.
    pub(super) answered: Option<Raw<'a>>,
    /// True if the entry is in the form of Inspect (`function` is a name) or tau2 (it has a `requestor`), so the
    /// message is not an OpenAI message.
    pub(super) is_foreign: bool,
}

impl<'a> ToolCall<'a> {
    pub(super) fn read(json: &mut Json<'a>) -> Read<Self> {
        let (mut id, mut function, mut custom, mut is_foreign) = (None, None, None, false);
        let (mut name, mut arguments, mut args, mut is_answered) = (None, None, None, false);
        json.space();
        let start = json.offset();
        wire::object(json, |key, value| {
            match key {
                b"id" => id = wire::ident(value)?,
                b"function" => {
                    is_foreign |= value.kind()? == Kind::String;
                    function = function_call(value)?;
                }
                b"custom" => custom = custom_call(value)?,
                b"name" => name = Some(value.raw()?),
                b"arguments" => arguments = Some(value.raw()?),
                b"args" => args = Some(value.raw()?),
                b"requestor" => {
                    is_foreign = true;
                    value.skip()?;
                }
                b"result" | b"output" | b"response" | b"observation" => {
                    is_answered |= value.raw()?.kind() != Kind::Null;
                }
                b"error" => is_answered |= !matches!(value.raw()?.bytes(), b"null" | b"false" | b"\"\""),
                _ => value.skip()?,
            }
            Ok(())
        })?;
        let answered = is_answered.then(|| json.raw_since(start));
        let given = || arguments.or(args).map_or(Content::Absent, common::arguments);
        let flat = || Some(Call::new(0, None, name?.string()?).with(given()));
        let mut call = function.or(custom).or_else(flat);
        if let Some(call) = &mut call {
            call.id = id;
        }
        Ok(Self { call, answered, is_foreign })
    }
}

/// Reads `{name, arguments}`, or returns `None` for anything else.
fn function_call<'a>(json: &mut Json<'a>) -> Read<Option<Call<'a>>> {
    let mut call = Call::new(0, None, "");
    let is_call = wire::object(json, |key, value| {
        match key {
            b"name" => call.name = wire::name(value)?.unwrap_or_default(),
            b"arguments" => call.arguments = common::read_arguments(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    Ok(is_call.then_some(call))
}

/// Reads `{name, input}`, or returns `None` for anything else.
fn custom_call<'a>(json: &mut Json<'a>) -> Read<Option<Call<'a>>> {
    let (mut name, mut input) = (None, None);
    let is_call = wire::object(json, |key, value| {
        match key {
            b"name" => name = wire::name(value)?,
            b"input" => input = Some(value.raw()?),
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let call = || Call::new(0, None, name.unwrap_or_default()).with(wire::sole_argument("input", input));
    Ok(is_call.then(call))
}

/// Reads a call `{name, arguments}` from a value that was skipped.
pub(super) fn legacy_call(value: Raw<'_>) -> Call<'_> {
    // Reading cannot fail, because the value was checked when it was skipped.
    function_call(&mut value.json()).ok().flatten().unwrap_or_else(|| Call::new(0, None, ""))
}
