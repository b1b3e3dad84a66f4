//! The parts of an ATIF trajectory, and of Terminus v1 replies, that replaying needs.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::super::read::null_as_default;
use crate::error::{Error, Result};
use crate::objects;

pub(super) enum Recorded {
    Trajectory(Trajectory),
    /// Ordered by episode.
    Replies(Vec<Reply>),
}

impl Recorded {
    /// Reads an ATIF trajectory, or the replies of Terminus v1 (`{"responses": [{"episode", "text"}]}`).
    pub(super) fn read(file: &[u8]) -> Result<Self> {
        let value: Value = objects::from_slice(file)?;
        if value.get("responses").is_some() {
            let Replies { mut responses } = objects::from_slice(file)?;
            responses.sort_by_key(|reply| reply.episode);
            Ok(Self::Replies(responses))
        } else if value.get("steps").is_some() {
            objects::from_slice(file).map(Self::Trajectory)
        } else {
            Err(Error::shape("neither a trajectory with `steps` nor replies in `responses`"))
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Trajectory {
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) steps: Vec<AtifStep>,
}

#[derive(Deserialize)]
pub(super) struct AtifStep {
    pub(super) step_id: Option<i64>,
    pub(super) source: Option<String>,
    #[serde(default)]
    message: Value,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) tool_calls: Vec<AtifCall>,
    #[serde(default)]
    observation: Value,
    #[serde(default)]
    extra: Value,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) is_copied_context: bool,
}

#[derive(Deserialize)]
pub(super) struct AtifCall {
    /// Empty if the arguments are not an object.
    #[serde(default, deserialize_with = "object_or_nothing")]
    pub(super) arguments: Map<String, Value>,
}

impl AtifStep {
    /// Returns the message, or an empty text if it is not a string.
    pub(super) fn message(&self) -> &str {
        self.message.as_str().unwrap_or_default()
    }

    /// Returns true if the step has no calls and only repeats a tool's answer.
    fn is_result(&self) -> bool {
        let results = || self.observation.get("results").and_then(Value::as_array).into_iter().flatten();
        let repeats = || {
            let message = self.message();
            !message.is_empty()
                && results().any(|result| result.get("content").and_then(Value::as_str) == Some(message))
        };
        let says_so = || self.extra.get("openclaw_role").and_then(Value::as_str) == Some("toolResult");
        self.tool_calls.is_empty() && (says_so() || repeats())
    }

    /// Returns true if the step is a reply of the model in this run.
    pub(super) fn is_interaction(&self) -> bool {
        self.source.as_deref() == Some("agent") && !self.is_copied_context && !self.is_result()
    }
}

#[derive(Deserialize)]
struct Replies {
    responses: Vec<Reply>,
}

#[derive(Deserialize)]
pub(super) struct Reply {
    pub(super) episode: i64,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(super) text: String,
}

/// Returns the commands of a text that is a JSON object with a list `commands`; none for other texts.
pub(super) fn written_commands(text: &str) -> Vec<Value> {
    let mut parsed: Option<Value> = serde_json::from_str(text).ok();
    match parsed.as_mut().and_then(|object| object.get_mut("commands")).map(Value::take) {
        Some(Value::Array(commands)) => commands,
        _ => Vec::new(),
    }
}

fn object_or_nothing<'de, D: Deserializer<'de>>(value: D) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(value)? {
        Value::Object(object) => object,
        _ => Map::new(),
    })
}
