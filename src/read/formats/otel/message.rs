//! The parts of a conversation, in the one form into which every dialect of messages is read.

use std::borrow::Cow;

use super::data::{Data, Members};
use crate::trace::Content;

/// What stands for a text that was masked.
pub(super) const MASKS: &[&str] = &["__REDACTED__", "<redacted>", "[REDACTED]"];

/// Who a message is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    Agent,
    User,
    System,
    Tool,
    #[default]
    Unknown,
}

impl Role {
    pub(super) fn of_name(name: &str) -> Self {
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
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelCall<'t> {
    pub(super) id: Option<Cow<'t, str>>,
    pub(super) name: Cow<'t, str>,
    /// As JSON or, where the model's text is none, that text.
    pub(super) arguments: Content<Cow<'t, str>>,
    /// Why the framework took it for no call, where it says so.
    pub(super) refused: Option<Cow<'t, str>>,
}

/// An answer as a model was shown it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply<'t> {
    pub(super) id: Option<Cow<'t, str>>,
    pub(super) content: Content<Data<'t>>,
    pub(super) is_error: bool,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block<'t> {
    Text(Role, Cow<'t, str>),
    Call(ModelCall<'t>),
    Reply(Reply<'t>),
    /// The parts behind belong to another message of the agent.
    Turn,
}

/// Whether a text stands for one that was masked.
pub(super) fn is_masked(text: &str) -> bool {
    MASKS.contains(&text)
}

/// The string of the first of these keys that has one that is not empty.
pub(super) fn name_of<'t>(members: &Members<'t>, keys: &[&str]) -> Option<Cow<'t, str>> {
    keys.iter().find_map(|key| match members.get(key)? {
        Data::Text(text) if !text.is_empty() => Some(text.clone()),
        Data::Number(number) if !number.is_f64() => Some(Cow::Owned(number.to_string())),
        _ => None,
    })
}

/// Arguments as JSON or as the text that is none.
pub(super) fn arguments_of(value: Data<'_>) -> Content<Cow<'_, str>> {
    match value {
        Data::Null => Content::Absent,
        Data::Text(text) if is_masked(&text) => Content::NotRecorded,
        Data::Text(text) if text.trim().is_empty() => Content::Present(Cow::Borrowed("{}")),
        Data::Text(text) => Content::Present(text),
        other => Content::Present(Cow::Owned(other.to_json())),
    }
}
