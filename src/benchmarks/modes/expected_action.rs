//! `expected_action`: expected actions that were not taken, with reasons.

use serde_json::json;

use super::calls::{CheckedCall, ExpectedCall};
use super::{ModeFinding, ModeVerdict};
use crate::detect::{Expectation, ExpectedCalls, Missed};
use crate::trace::{Digest, Status};

const PERCEPTION: &str = "operation/perception_error";
const DECISION: &str = "operation/decision_error";

/// Follows the expected actions of a run, call by call.
///
/// The rule is that of the detector [`ExpectedAction`](crate::ExpectedAction). [`check_calls`](super::check_calls)
/// applies it to a whole run.
///
/// Use it to explain a failed run: on a successful one a finding only means that another route was taken.
#[derive(Debug)]
pub struct ExpectedActions {
    names: Vec<String>,
    calls: ExpectedCalls<i64>,
    /// The first and the last step.
    ends: Option<(i64, i64)>,
}

impl ExpectedActions {
    /// Creates the rule over a reference route.
    #[must_use]
    pub fn new(expected: &[ExpectedCall]) -> Self {
        let mut calls = ExpectedCalls::default();
        calls.begin(expected.iter().map(expectation));
        Self { names: expected.iter().map(|call| call.name.clone()).collect(), calls, ends: None }
    }

    /// Takes the next call.
    pub fn observe(&mut self, call: &CheckedCall) {
        let (first, _) = self.ends.unwrap_or((call.step, call.step));
        self.ends = Some((first, call.step));
        let failed = call.status == Status::Error;
        self.calls.observe(Digest::of_text(&call.name), call.step, failed, || {
            Some(|name: &str| call.arguments.get(name).map(Digest::of_value))
        });
    }

    /// Returns the verdict at the end of the run.
    #[must_use]
    pub fn finish(self) -> ModeVerdict {
        if self.names.is_empty() {
            return ModeVerdict::not_applicable("no expected actions");
        }
        let Some((first, last)) = self.ends else { return ModeVerdict::not_applicable("no actions") };
        let finding = |(place, missed): (usize, Missed<i64>)| {
            let name = self.names.get(place)?;
            let (mode, range, evidence) = match missed {
                Missed::Rejected(step) => {
                    (DECISION, [step, step], json!({"kind": "rejected", "expected": place, "name": name}))
                }
                Missed::Arguments(step, differing) => (
                    DECISION,
                    [step, step],
                    json!({"kind": "arguments", "expected": place, "name": name, "differing": differing}),
                ),
                Missed::NeverCalled => (PERCEPTION, [first, last], json!({"expected": place, "name": name})),
            };
            Some(ModeFinding { mode, range, evidence })
        };
        ModeVerdict::of(self.calls.missed().filter_map(finding).collect())
    }
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Returns the expected calls as text: the order of their arguments counts.
    fn run(expected: &str, actions: Value) -> Value {
        let expected: Vec<ExpectedCall> = serde_json::from_str(expected).unwrap();
        let mut fold = ExpectedActions::new(&expected);
        for call in serde_json::from_value::<Vec<CheckedCall>>(actions).unwrap() {
            fold.observe(&call);
        }
        serde_json::to_value(fold.finish()).unwrap()
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
}
