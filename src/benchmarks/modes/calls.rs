//! Two rules for runs of tool calls: malformed calls, and missed expected actions.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::super::read::{null_as_default, record};
use super::{ModeFinding, ModeVerdict};
use crate::detect::{CallRules, Expectation, ExpectedCalls, Missed, Written};
use crate::trace::{Digest, Status};

const FORMAT: &str = "system/format";
const PERCEPTION: &str = "operation/perception_error";
const DECISION: &str = "operation/decision_error";

/// A run of tool calls with the calls that a reference expects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CallRun {
    /// Id of the run.
    pub id: String,
    /// The calls, in order.
    #[serde(default, deserialize_with = "null_as_default")]
    pub actions: Vec<CheckedCall>,
    /// The expected calls.
    #[serde(default, deserialize_with = "null_as_default")]
    pub expected: Vec<ExpectedCall>,
}

record!(CallRun, "run", id);

/// A tool call with its answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CheckedCall {
    /// The step number.
    pub step: i64,
    /// Name of the tool.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Value,
    /// The outcome of the call.
    #[serde(default)]
    pub status: Status,
    /// The answer.
    pub observation: Option<String>,
    /// The arguments as the model wrote them, if recorded.
    pub arguments_text: Option<String>,
}

/// A tool call that a reference expects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ExpectedCall {
    /// Name of the tool.
    pub name: String,
    /// The arguments, in the order in which they are written.
    #[serde(default, deserialize_with = "in_order")]
    pub arguments: Vec<(String, Value)>,
    /// The arguments that must be equal: `None` for all of them, an empty list for none.
    pub compare_args: Option<Vec<String>>,
}

/// The malformed calls and missed actions of a run; see [`check_calls`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallReport {
    /// Id of the run.
    pub id: String,
    /// Calls that never reached a tool.
    pub malformed_call: ModeVerdict,
    /// Expected actions that the run missed, with reasons.
    pub expected_action: ModeVerdict,
}

/// Finds the malformed calls and the missed expected actions of a run, by the rules of the detectors
/// [`MalformedCall`](crate::MalformedCall) and [`ExpectedAction`](crate::ExpectedAction).
///
/// Missed actions can explain why a run failed. In a successful run, they only show that the agent took another route
/// than expected.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{CallRun, check_calls};
///
/// let run: CallRun = serde_json::from_value(json!({"id": "r",
///     "actions": [{"step": 0, "name": "get_order", "arguments": {"id": 7}, "status": "ok"}],
///     "expected": [{"name": "cancel_order", "arguments": {"id": 7}}],
/// }))?;
/// let report = check_calls(&run);
/// assert!(report.malformed_call.findings().is_empty());
/// assert_eq!(report.expected_action.findings()[0].mode, "operation/perception_error");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn check_calls(run: &CallRun) -> CallReport {
    let rules = CallRules::default();
    let malformed = run.actions.iter().filter_map(|call| malformed(&rules, call)).collect();
    CallReport {
        id: run.id.clone(),
        malformed_call: ModeVerdict::of(malformed),
        expected_action: missed(run),
    }
}

/// Returns a finding if the call never reached a tool.
fn malformed(rules: &CallRules, call: &CheckedCall) -> Option<ModeFinding> {
    let written = call.arguments_text.as_deref().map(Written::of_text);
    let failure = call.observation.as_deref().filter(|_| call.status == Status::Error);
    let reason = rules.reason(&call.name, written, failure)?;
    Some(ModeFinding { mode: FORMAT, range: [call.step, call.step], evidence: json!({"reason": reason}) })
}

/// Finds the expected actions that were rejected, called with other arguments, or never called.
fn missed(run: &CallRun) -> ModeVerdict {
    if run.expected.is_empty() {
        return ModeVerdict::not_applicable("no expected actions");
    }
    let (Some(first), Some(last)) = (run.actions.first(), run.actions.last()) else {
        return ModeVerdict::not_applicable("no actions");
    };
    let mut calls = ExpectedCalls::default();
    calls.begin(run.expected.iter().map(expectation));
    for call in &run.actions {
        let failed = call.status == Status::Error;
        calls.observe(Digest::of_text(&call.name), call.step, failed, || {
            Some(|name: &str| call.arguments.get(name).map(Digest::of_value))
        });
    }
    let finding = |(place, missed): (usize, Missed<i64>)| {
        let name = &run.expected.get(place)?.name;
        let (mode, range, evidence) = match missed {
            Missed::Rejected(step) => {
                (DECISION, [step, step], json!({"kind": "rejected", "expected": place, "name": name}))
            }
            Missed::Arguments(step, differing) => (
                DECISION,
                [step, step],
                json!({"kind": "arguments", "expected": place, "name": name, "differing": differing}),
            ),
            Missed::NeverCalled => {
                (PERCEPTION, [first.step, last.step], json!({"expected": place, "name": name}))
            }
        };
        Some(ModeFinding { mode, range, evidence })
    };
    ModeVerdict::of(calls.missed().filter_map(finding).collect())
}

fn expectation(call: &ExpectedCall) -> Expectation {
    let value = |name: &str| call.arguments.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let names: Vec<&String> = match &call.compare_args {
        Some(names) => names.iter().collect(),
        None => call.arguments.iter().map(|(name, _)| name).collect(),
    };
    let compared = names.into_iter().map(|name| (name.clone(), value(name).map(Digest::of_value)));
    Expectation { tool: Digest::of_text(&call.name), compared: compared.collect() }
}

/// Deserializes an object as a list, in the order in which its members are written. A repeated key keeps
/// its first position and its last value. Null gives an empty list.
fn in_order<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<(String, Value)>, D::Error> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object of arguments")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members: Self::Value = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, Value>()? {
                match members.iter_mut().find(|(known, _)| *known == key) {
                    Some(known) => known.1 = value,
                    None => members.push((key, value)),
                }
            }
            Ok(members)
        }
    }

    value.deserialize_any(Members)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the expected calls as text because the order of their arguments matters.
    fn run(expected: &str, actions: Value) -> Value {
        let (id, expected) = (String::new(), serde_json::from_str(expected).unwrap());
        let run = CallRun { id, actions: serde_json::from_value(actions).unwrap(), expected };
        serde_json::to_value(check_calls(&run).expected_action).unwrap()
    }

    #[test]
    fn what_became_of_an_expected_action() {
        let wanted = r#"[{"name": "book", "arguments": {"to": "X", "n": 1}, "compare_args": null}]"#;
        let call = |step: i64, name: &str, arguments: Value, status: &str| json!({"step": step, "name": name, "arguments": arguments, "status": status});
        let cases = [
            (json!([call(3, "book", json!({"n": 1.0, "to": "X", "more": 2}), "unknown")]), json!([])),
            (
                json!([
                    call(3, "book", json!({}), "ok"),
                    call(4, "book", json!({"n": 1, "to": "X"}), "error")
                ]),
                json!([{"mode": DECISION, "where": [4, 4],
                    "evidence": {"kind": "rejected", "expected": 0, "name": "book"}}]),
            ),
            (
                json!([call(3, "Book", json!({}), "ok"), call(4, "book", json!({"to": "Y"}), "error")]),
                json!([{"mode": DECISION, "where": [4, 4],
                    "evidence": {"kind": "arguments", "expected": 0, "name": "book", "differing": ["to", "n"]}}]),
            ),
            (
                json!([call(3, "find", json!({}), "ok"), call(9, "find", json!({}), "ok")]),
                json!([{"mode": PERCEPTION, "where": [3, 9], "evidence": {"expected": 0, "name": "book"}}]),
            ),
        ];
        for (actions, findings) in cases {
            assert_eq!(run(wanted, actions)["findings"], findings);
        }
        let by_name = r#"[{"name": "book", "arguments": {"to": "X"}, "compare_args": []}]"#;
        assert_eq!(run(by_name, json!([call(0, "book", Value::Null, "ok")]))["detected"], false);
        // An argument that both sides lack does not count as equal.
        let lacking = r#"[{"name": "book", "arguments": {}, "compare_args": ["to"]}]"#;
        assert_eq!(run(lacking, json!([call(0, "book", json!({}), "ok")]))["detected"], true);
    }

    #[test]
    fn without_route_or_calls_there_is_nothing_to_say() {
        assert_eq!(run("[]", json!([])), json!({"not_applicable": "no expected actions"}));
        assert_eq!(run(r#"[{"name": "f"}]"#, json!([])), json!({"not_applicable": "no actions"}));
    }

    #[test]
    fn the_text_of_the_arguments_and_the_answer_of_a_failure_count() {
        let check = |call: Value| {
            let call = serde_json::from_value(call).unwrap();
            malformed(&CallRules::default(), &call).map(|finding| finding.evidence)
        };
        let cut =
            json!({"step": 0, "name": "f", "arguments": {}, "arguments_text": "{", "status": "unknown"});
        assert_eq!(check(cut), Some(json!({"reason": "arguments_not_json"})));
        let unknown = |status: &str| json!({"step": 0, "name": "f", "status": status, "observation": "Unknown tool: f"});
        assert_eq!(check(unknown("error")), Some(json!({"reason": "rejected_before_running"})));
        assert_eq!(check(unknown("ok")), None);
    }
}
