//! Whether a call is well formed, shared by `malformed_call` and BenchTrace's check of recorded calls.

use super::Phrases;
use crate::json::{Json, Kind};
use crate::names::named;
use crate::trace::first_chars;

/// Number of leading characters of an answer that are searched for a rejection.
pub(crate) const HEAD: usize = 300;

/// Phrases with which harnesses reject a call instead of passing it to its tool.
pub(crate) const REJECTIONS: [&str; 19] = [
    "unknown tool",
    "is not a valid tool",
    "tool not found",
    "no such tool",
    "unknown function",
    "invalid arguments",
    "invalid parameters",
    "missing required argument",
    "missing required parameter",
    "missing 1 required",
    "unexpected keyword argument",
    "failed to parse",
    "not valid json",
    "invalid json",
    "inputvalidationerror",
    "input validation error",
    "validation errors parsing tool",
    "must have required property",
    "additional properties",
];

named! {
    /// Why a call is malformed.
    #[non_exhaustive]
    pub enum MalformedReason: "reason" {
        /// It names no tool.
        EmptyName = "empty_name",
        /// Its arguments are not JSON.
        ArgumentsNotJson = "arguments_not_json",
        /// Its arguments are JSON, but not an object.
        ArgumentsNotAnObject = "arguments_not_an_object",
        /// It failed, and the answer says that the tool was not run.
        RejectedBeforeRunning = "rejected_before_running",
        /// A turn without a call, which the harness refused.
        NoCall = "no_call",
        /// A call in the text of a message, which was not run because its JSON is broken.
        TextNotJson = "text_not_json",
    }
}

/// Decides whether a call is malformed.
#[derive(Debug, Clone)]
pub(crate) struct CallRules {
    rejections: Phrases,
}

impl Default for CallRules {
    fn default() -> Self {
        Self::new(REJECTIONS)
    }
}

impl CallRules {
    pub(crate) fn new<'t>(rejections: impl IntoIterator<Item = &'t str>) -> Self {
        Self { rejections: Phrases::new(rejections) }
    }

    /// Returns the first reason that holds, if any. `failure` is the answer to a call that failed.
    pub(crate) fn reason(
        &self,
        name: &str,
        written: Option<Written>,
        failure: Option<&str>,
    ) -> Option<MalformedReason> {
        let rejected = || failure.is_some_and(|answer| self.rejections.occur_in(first_chars(answer, HEAD)));
        match written {
            _ if name.trim().is_empty() => Some(MalformedReason::EmptyName),
            Some(Written::NotJson) => Some(MalformedReason::ArgumentsNotJson),
            Some(Written::NotAnObject) => Some(MalformedReason::ArgumentsNotAnObject),
            Some(Written::Object) | None => rejected().then_some(MalformedReason::RejectedBeforeRunning),
        }
    }
}

/// Returns the object after the last `Action:` of a message, if its JSON is broken.
pub(crate) fn broken_call(message: &str) -> Option<&str> {
    let (_, call) = message.rsplit_once("Action:")?;
    let call = call.trim();
    (call.starts_with('{') && Written::of_text(call) == Written::NotJson).then_some(call)
}

/// The form of the arguments that a model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Object,
    NotJson,
    NotAnObject,
}

impl Written {
    /// Classifies a text as the model wrote it.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut json = Json::new(text.as_bytes());
        match json.kind() {
            Ok(kind) if json.check().is_ok() && json.peek_byte().is_none() => match kind {
                Kind::Object => Self::Object,
                _ => Self::NotAnObject,
            },
            _ => Self::NotJson,
        }
    }

    /// Classifies recorded arguments. In a trace, arguments that are not JSON are a JSON string, and null means none.
    pub(crate) fn of_recorded(json: &str) -> Self {
        match Self::of_text(json) {
            Self::NotAnObject if json.trim() == "null" => Self::Object,
            Self::NotAnObject => match Json::new(json.as_bytes()).string() {
                Ok(text) if Self::of_text(&text) == Self::NotJson => Self::NotJson,
                _ => Self::NotAnObject,
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_must_hold_one_value() {
        assert_eq!(Written::of_text("{} {}"), Written::NotJson);
        assert_eq!(Written::of_text("null"), Written::NotAnObject);
        assert_eq!(Written::of_recorded(r#""""#), Written::NotJson);
        assert_eq!(Written::of_recorded(""), Written::NotJson);
    }
}
