//! Inherited errors: does a recovery run repeat the last failing action of the failed run?

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::CheckedCall;
use super::super::read::{null_as_default, record};
use super::super::text::norm;
use crate::names::named;
use crate::stats::ratio;
use crate::trace::{Digest, Status};

/// A failed run and its recovery run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct InheritancePair {
    /// Id of the pair.
    pub id: String,
    /// The actions of the failed run.
    #[serde(default, deserialize_with = "null_as_default")]
    pub failed: Vec<CheckedCall>,
    /// The actions of the recovery run.
    #[serde(default, deserialize_with = "null_as_default")]
    pub recovery: Vec<CheckedCall>,
}

record!(InheritancePair, "pair", id);

/// The key by which actions are compared: the normalized name, and a digest of the arguments.
type Key = (String, Digest);

impl CheckedCall {
    fn key(&self) -> Key {
        (norm(Some(&self.name)), arguments(&self.arguments))
    }

    fn failed(&self) -> bool {
        self.status == Status::Error
    }

    /// Returns true if two actions have the same normalized answer. A missing answer is never the same.
    fn same_observation(&self, other: &Self) -> bool {
        let answer = |action: &Self| action.observation.as_deref().map(|text| norm(Some(text)));
        answer(self).is_some_and(|own| answer(other) == Some(own))
    }
}

/// Returns a digest of the arguments, with commands and keystrokes stripped of trailing line ends. If there
/// are keystrokes, it covers only them.
fn arguments(value: &Value) -> Digest {
    let Value::Object(given) = value else { return Digest::of_arguments(value) };
    let trimmed = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) if ["keystrokes", "command", "cmd"].contains(&key.as_str()) => {
                text.trim_end_matches('\n').trim_end_matches('\r').into()
            }
            other => other.clone(),
        };
        (key.clone(), value)
    };
    let typed = given.contains_key("keystrokes");
    let kept: Map<String, Value> =
        given.iter().filter(|(key, _)| !typed || *key == "keystrokes").map(trimmed).collect();
    Digest::of_arguments(&Value::Object(kept))
}

named! {
    /// How the last failing action recurs in a recovery run.
    pub enum InheritanceVerdict: "verdict" {
        /// It recurs with the same answer.
        SameObservation = "same_observation",
        /// It recurs, but never with the same answer.
        SameAction = "same_action",
        /// It does not recur.
        None = "none",
    }
}

/// The result for one recovery run, with the id of its pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InheritanceReport {
    /// Id of the pair.
    pub id: String,
    /// The result, or the reason it is missing.
    #[serde(flatten)]
    pub answer: Inherited,
}

/// Whether and how often a recovery run repeats the last failing action of the failed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Inherited {
    /// The failed run has no failing action to repeat.
    NotApplicable {
        /// The reason.
        #[serde(rename = "not_applicable")]
        reason: &'static str,
    },
    /// The recurrence of the action.
    Judged {
        /// Step of the last failing action in the failed run.
        last_failing_step: i64,
        /// The kind of recurrence.
        verdict: InheritanceVerdict,
        /// Position of the first repeat in the recovery run, counted from 1.
        first_position: Option<usize>,
        /// Number of repeats.
        repeats: u64,
        /// Number of repeats with the same answer.
        repeats_same_observation: u64,
        /// Number of distinct failing actions of the failed run.
        failing_keys: u64,
        /// Number of these that recur.
        failing_keys_repeated: u64,
        /// True if the action recurs at least twice with the same answer.
        looped: bool,
    },
}

/// Inherited errors, pair by pair and as rates; see [`inherit`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inheritance {
    /// Every pair, in order.
    pub pairs: Vec<InheritanceReport>,
    /// Number of pairs whose failed run has a failing action.
    pub applicable: u64,
    /// Share of these whose action recurs, with any answer. Use it for terminals: their answers are screens,
    /// which rarely repeat exactly.
    pub same_action_rate: Option<f64>,
    /// Share of these whose action recurs with the same answer.
    pub same_observation_rate: Option<f64>,
    /// Share of these whose action recurs at least twice with the same answer.
    pub looped_rate: Option<f64>,
}

/// Finds recovery runs that repeat the last failing action of the failed run.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{InheritancePair, inherit};
///
/// let make = |step: i64, command: &str| json!([{"step": step, "name": "bash",
///     "arguments": {"command": command}, "status": "error", "observation": "no rule"}]);
/// let pair: InheritancePair = serde_json::from_value(
///     json!({"id": "p", "failed": make(9, "make all"), "recovery": make(0, "make all\n")}))?;
/// let inheritance = inherit(&[pair]);
/// assert_eq!(inheritance.same_observation_rate, Some(1.0));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn inherit(pairs: &[InheritancePair]) -> Inheritance {
    let pairs: Vec<InheritanceReport> =
        pairs.iter().map(|pair| InheritanceReport { id: pair.id.clone(), answer: pair.answer() }).collect();
    let count = |holds: fn(InheritanceVerdict, bool) -> bool| {
        let judged = |report: &&InheritanceReport| match report.answer {
            Inherited::Judged { verdict, looped, .. } => holds(verdict, looped),
            Inherited::NotApplicable { .. } => false,
        };
        pairs.iter().filter(judged).count() as u64
    };
    let applicable = count(|_, _| true);
    Inheritance {
        applicable,
        same_action_rate: ratio(count(|verdict, _| verdict != InheritanceVerdict::None), applicable),
        same_observation_rate: ratio(
            count(|verdict, _| verdict == InheritanceVerdict::SameObservation),
            applicable,
        ),
        looped_rate: ratio(count(|_, looped| looped), applicable),
        pairs,
    }
}

impl InheritancePair {
    fn answer(&self) -> Inherited {
        let Some(last) = self.failed.iter().rfind(|action| action.failed()) else {
            return Inherited::NotApplicable { reason: "the failed run has no failing action" };
        };
        let key = last.key();
        let keys: Vec<Key> = self.recovery.iter().map(CheckedCall::key).collect();
        let repeats = || self.recovery.iter().zip(&keys).filter(|(_, own)| **own == key);
        let count = repeats().count() as u64;
        let same = repeats().filter(|(action, _)| action.same_observation(last)).count() as u64;
        let failing: BTreeSet<Key> =
            self.failed.iter().filter(|action| action.failed()).map(CheckedCall::key).collect();
        let recurring = keys.iter().collect::<BTreeSet<_>>();
        Inherited::Judged {
            last_failing_step: last.step,
            verdict: match (same, count) {
                (1.., _) => InheritanceVerdict::SameObservation,
                (_, 1..) => InheritanceVerdict::SameAction,
                _ => InheritanceVerdict::None,
            },
            first_position: keys.iter().position(|own| *own == key).map(|place| place + 1),
            repeats: count,
            repeats_same_observation: same,
            failing_keys: failing.len() as u64,
            failing_keys_repeated: failing.iter().filter(|key| recurring.contains(key)).count() as u64,
            looped: same >= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(failed: &Value, recovery: &Value) -> Value {
        let pair: InheritancePair =
            serde_json::from_value(json!({"id": "p", "failed": failed, "recovery": recovery})).unwrap();
        serde_json::to_value(inherit(&[pair])).unwrap()
    }

    fn action(step: i64, arguments: &Value, status: &str, observation: Option<&str>) -> Value {
        json!({"step": step, "name": " Bash ", "arguments": arguments, "status": status, "observation": observation})
    }

    #[test]
    fn terminal_input_counts_alone_and_without_line_ends() {
        let failed = json!([
            action(0, &json!({"keystrokes": "make\n", "duration": 1}), "error", Some("Error 1 ")),
            action(1, &json!({"keystrokes": "ls\n"}), "ok", None),
        ]);
        let mut again = action(7, &json!({"keystrokes": "make\r\n", "duration": 9}), "ok", Some("error 1"));
        again["name"] = json!("bash");
        let found = answer(
            &failed,
            &json!([action(6, &json!({"command": "make"}), "ok", None), again, again.clone()]),
        );
        assert_eq!(
            found["pairs"][0],
            json!({"id": "p", "last_failing_step": 0, "verdict": "same_observation",
            "first_position": 2, "repeats": 2, "repeats_same_observation": 2, "failing_keys": 1,
            "failing_keys_repeated": 1, "looped": true})
        );
        assert_eq!(found["looped_rate"], 1.0);
    }

    #[test]
    fn missing_observations_are_not_the_same() {
        let plain = |observation| action(0, &json!({"path": "b", "n": 1.0}), "error", observation);
        let whole = json!([action(3, &json!({"n": 1, "path": "b"}), "ok", None)]);
        let found = answer(&json!([plain(None)]), &whole);
        assert_eq!(found["pairs"][0]["verdict"], "same_action");
        assert_eq!(answer(&json!([plain(Some(""))]), &whole)["pairs"][0]["verdict"], "same_action");
        assert_eq!(answer(&json!([plain(None)]), &json!([]))["pairs"][0]["verdict"], "none");
        let nothing = answer(&json!([]), &json!([]));
        assert_eq!((&nothing["applicable"], &nothing["same_action_rate"]), (&json!(0), &Value::Null));
    }
}
