//! `malformed_call` (`system/format`): calls that never reached a tool.

use serde_json::json;

use super::calls::CheckedCall;
use super::{ModeFinding, ModeVerdict};
use crate::detect::{CallRules, MalformedReason, Written};
use crate::trace::Status;

const MODE: &str = "system/format";

/// Collects the malformed calls of a run, call by call.
///
/// The rule is that of the detector [`MalformedCall`](crate::MalformedCall). [`check_calls`](super::check_calls)
/// applies it to a whole run.
#[derive(Debug, Clone, Default)]
pub struct MalformedCalls {
    rules: CallRules,
    findings: Vec<ModeFinding>,
}

impl MalformedCalls {
    /// Replaces the list of texts of tools that did not run; case does not matter.
    #[must_use]
    pub fn with_rejections<'t>(rejections: impl IntoIterator<Item = &'t str>) -> Self {
        Self { rules: CallRules::new(rejections), findings: Vec::new() }
    }

    /// Returns the first reason why a call is malformed.
    #[must_use]
    pub fn reason(&self, call: &CheckedCall) -> Option<MalformedReason> {
        let written = call.arguments_text.as_deref().map(Written::of_text);
        let failure = call.observation.as_deref().filter(|_| call.status == Status::Error);
        self.rules.reason(&call.name, written, failure)
    }

    /// Takes the next call.
    pub fn observe(&mut self, call: &CheckedCall) {
        if let Some(reason) = self.reason(call) {
            let evidence = json!({"reason": reason});
            self.findings.push(ModeFinding { mode: MODE, range: [call.step, call.step], evidence });
        }
    }

    /// Returns the verdict at the end of the run.
    #[must_use]
    pub fn finish(self) -> ModeVerdict {
        ModeVerdict::of(self.findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_arguments_and_the_answer_of_a_failure_count() {
        let check = |call: serde_json::Value, rules: &MalformedCalls| {
            rules.reason(&serde_json::from_value(call).unwrap()).map(MalformedReason::name)
        };
        let rules = MalformedCalls::default();
        let own = MalformedCalls::with_rejections(["Access Denied"]);
        let denied = json!({"step": 0, "name": "f", "status": "error", "observation": "access denied"});
        assert_eq!(
            (check(denied.clone(), &rules), check(denied, &own)),
            (None, Some("rejected_before_running"))
        );
        let ran = json!({"step": 0, "name": "f", "status": "ok", "observation": "access denied"});
        assert_eq!(check(ran, &own), None);
        let cut =
            json!({"step": 0, "name": "f", "arguments": {}, "arguments_text": "{", "status": "unknown"});
        assert_eq!(check(cut, &rules), Some("arguments_not_json"));
    }
}
