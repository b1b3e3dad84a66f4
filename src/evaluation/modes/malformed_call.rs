//! `malformed_call` (`system/format`): calls that never reached a tool.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::names::named;
use super::calls::CheckedCall;
use super::{ModeFinding, ModeVerdict};
use crate::trace::{Status, first_chars};

const MODE: &str = "system/format";
/// Characters of an observation that are looked at.
const LOOKED_AT: usize = 300;
/// What the frame around the tools says of a call that it does not pass on.
const REJECTIONS: [&str; 13] = [
    "unknown tool",
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
];

/// Why a call is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MalformedReason {
    /// It names no tool.
    EmptyName,
    /// Its arguments are no JSON.
    ArgumentsNotJson,
    /// Its arguments are JSON, but no object.
    ArgumentsNotAnObject,
    /// It failed, and the answer says that the tool was not run.
    RejectedBeforeRunning,
}

named! {
    MalformedReason, "reason",
    EmptyName => "empty_name",
    ArgumentsNotJson => "arguments_not_json",
    ArgumentsNotAnObject => "arguments_not_an_object",
    RejectedBeforeRunning => "rejected_before_running",
}

/// A fold over calls that collects the malformed ones.
#[derive(Debug, Clone)]
pub struct MalformedCalls {
    rejections: Vec<String>,
    findings: Vec<ModeFinding>,
}

impl Default for MalformedCalls {
    fn default() -> Self {
        Self::with_rejections(REJECTIONS)
    }
}

impl MalformedCalls {
    /// The rule with a list of its own of what tells that a tool was not run; case does not matter.
    #[must_use]
    pub fn with_rejections<'t>(rejections: impl IntoIterator<Item = &'t str>) -> Self {
        Self { rejections: rejections.into_iter().map(str::to_lowercase).collect(), findings: Vec::new() }
    }

    /// Why a call is malformed, if it is: the first reason that holds.
    #[must_use]
    pub fn reason(&self, call: &CheckedCall) -> Option<MalformedReason> {
        if call.name.trim().is_empty() {
            return Some(MalformedReason::EmptyName);
        }
        if let Some(text) = &call.arguments_text {
            match serde_json::from_str::<Value>(text) {
                Err(_) => return Some(MalformedReason::ArgumentsNotJson),
                Ok(Value::Object(_)) => {}
                Ok(_) => return Some(MalformedReason::ArgumentsNotAnObject),
            }
        }
        let observation = call.observation.as_deref().filter(|_| call.status == Status::Error)?;
        let told = first_chars(observation, LOOKED_AT).to_lowercase();
        let rejected = self.rejections.iter().any(|rejection| told.contains(rejection));
        rejected.then_some(MalformedReason::RejectedBeforeRunning)
    }

    /// Takes the next call.
    pub fn observe(&mut self, call: &CheckedCall) {
        if let Some(reason) = self.reason(call) {
            let evidence = json!({"reason": reason});
            self.findings.push(ModeFinding { mode: MODE, range: [call.step, call.step], evidence });
        }
    }

    /// The verdict, when the run is over.
    #[must_use]
    pub fn finish(self) -> ModeVerdict {
        ModeVerdict::of(self.findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        let rules = MalformedCalls::default();
        let call = |name: &str, text: Option<&str>, status, observation: &str| CheckedCall {
            step: 0,
            name: name.to_owned(),
            arguments: Value::Null,
            status,
            observation: Some(observation.to_owned()),
            arguments_text: text.map(str::to_owned),
        };
        let far = format!("{}unknown tool", "x".repeat(289));
        for (call, reason) in [
            (call(" ", Some("{"), Status::Error, "unknown tool"), Some(MalformedReason::EmptyName)),
            (call("f", Some("{"), Status::Ok, ""), Some(MalformedReason::ArgumentsNotJson)),
            (call("f", Some(""), Status::Ok, ""), Some(MalformedReason::ArgumentsNotJson)),
            (call("f", Some("null"), Status::Ok, ""), Some(MalformedReason::ArgumentsNotAnObject)),
            (
                call("f", Some("{}"), Status::Error, "INVALID JSON"),
                Some(MalformedReason::RejectedBeforeRunning),
            ),
            (call("f", None, Status::Ok, "unknown tool"), None),
            (call("f", None, Status::Error, "no such file"), None),
            (call("f", None, Status::Error, &far), None),
            (call("f", None, Status::Error, &far[1..]), Some(MalformedReason::RejectedBeforeRunning)),
        ] {
            assert_eq!(rules.reason(&call), reason, "{call:?}");
        }
        let own = MalformedCalls::with_rejections(["Access Denied"]);
        let denied = call("f", None, Status::Error, "access denied");
        assert_eq!(own.reason(&denied), Some(MalformedReason::RejectedBeforeRunning));
        assert_eq!(rules.reason(&denied), None);
    }
}
