//! The parts of a conversation, in the one form into which all dialects are read.

use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    Agent,
    User,
    System,
    Tool,
    #[default]
    Unknown,
}

impl Role {
    pub(crate) fn of_name(name: &str) -> Self {
        const NAMES: &[(Role, &[&str])] = &[
            (Role::Agent, &["assistant", "ai", "model", "aimessage", "aimessagechunk"]),
            (Role::User, &["user", "human", "humanmessage"]),
            (Role::System, &["system", "developer", "systemmessage"]),
            (Role::Tool, &["tool", "function", "tool-response", "toolmessage"]),
        ];
        let name = name.trim();
        let is_named =
            |(_, names): &&(Role, &[&str])| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        NAMES.iter().find(is_named).map_or(Self::Unknown, |(role, _)| *role)
    }
}

/// A call as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ModelCall<'t> {
    pub(crate) id: Option<Cow<'t, str>>,
    pub(crate) name: Cow<'t, str>,
    /// JSON, or the model's text unchanged if it is not JSON.
    pub(crate) arguments: Content<Cow<'t, str>>,
    /// Why the framework rejected the call (may be empty), or `None` if it did not.
    pub(crate) refused: Option<Cow<'t, str>>,
}

/// An answer as a model received it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply<'t> {
    pub(crate) id: Option<Cow<'t, str>>,
    pub(crate) content: Content<Data<'t>>,
    pub(crate) is_error: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block<'t> {
    Text(Role, Cow<'t, str>),
    Call(ModelCall<'t>),
    Reply(Reply<'t>),
    /// Marks the start of a message of the agent.
    Turn,
}

/// Returns true if a text is a placeholder for masked content.
pub(crate) fn is_masked(text: &str) -> bool {
    matches!(text, "__REDACTED__" | "<redacted>" | "[REDACTED]")
}

/// Returns true if a text begins as an object or a list of objects: truncated JSON, or the `repr` of Python.
pub(crate) fn begins_object(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{') || text.starts_with("[{")
}

/// Returns the first non-empty string or integer under one of these keys.
pub(crate) fn name_of<'t>(members: &Members<'t>, keys: &[&str]) -> Option<Cow<'t, str>> {
    keys.iter().find_map(|key| match members.get(key)? {
        Data::Text(text) if !text.is_empty() => Some(text.clone()),
        Data::Number(number) if !number.is_f64() => Some(Cow::Owned(number.to_string())),
        _ => None,
    })
}

/// Returns arguments as JSON. A string is returned unchanged, JSON or not; a blank one becomes `{}`.
pub(crate) fn arguments_of(value: Data<'_>) -> Content<Cow<'_, str>> {
    match value {
        Data::Null => Content::Absent,
        Data::Text(text) if is_masked(&text) => Content::NotRecorded,
        Data::Text(text) if text.trim().is_empty() => Content::Present(Cow::Borrowed("{}")),
        Data::Text(text) => Content::Present(text),
        other => Content::Present(Cow::Owned(other.to_json())),
    }
}

/// Returns the content of an answer, which is not recorded if it is missing or masked.
pub(crate) fn content_of(value: Option<Data<'_>>) -> Content<Data<'_>> {
    match value {
        None => Content::NotRecorded,
        Some(Data::Text(text)) if is_masked(&text) => Content::NotRecorded,
        Some(value) => Content::Present(value),
    }
}
