//! The parts of a conversation, in the one form into which every dialect of messages is read.

use serde_json::{Map, Value as Json};

use crate::trace::Content;

/// What stands for a text that was masked.
const MASKS: &[&str] = &["__REDACTED__", "<redacted>", "[REDACTED]"];

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
        match name.trim().to_ascii_lowercase().as_str() {
            "assistant" | "ai" | "model" | "aimessage" | "aimessagechunk" => Self::Agent,
            "user" | "human" | "humanmessage" => Self::User,
            "system" | "developer" | "systemmessage" => Self::System,
            "tool" | "function" | "tool-response" | "toolmessage" => Self::Tool,
            _ => Self::Unknown,
        }
    }
}

/// A call as a model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// As JSON or, where the model's text is none, that text.
    pub(super) arguments: Content<String>,
    /// Why the framework took it for no call, where it says so.
    pub(super) refused: Option<String>,
}

/// An answer as a model was shown it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) id: Option<String>,
    pub(super) content: Content<Json>,
    pub(super) is_error: bool,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Text(Role, String),
    Call(ModelCall),
    Reply(Reply),
    /// The parts behind belong to another message of the agent.
    Turn,
}

/// Whether a text stands for one that was masked.
pub(super) fn is_masked(text: &str) -> bool {
    MASKS.contains(&text)
}

/// The string of the first of these keys that has one that is not empty.
pub(super) fn name_of(members: &Map<String, Json>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match members.get(*key)? {
        Json::String(text) if !text.is_empty() => Some(text.clone()),
        Json::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    })
}

/// Arguments as JSON or as the text that is none.
pub(super) fn arguments_of(value: &Json) -> Content<String> {
    match value {
        Json::Null => Content::Absent,
        Json::String(text) if is_masked(text) => Content::NotRecorded,
        Json::String(text) if text.trim().is_empty() => Content::Present("{}".to_owned()),
        Json::String(text) => Content::Present(text.clone()),
        other => Content::Present(other.to_string()),
    }
}
