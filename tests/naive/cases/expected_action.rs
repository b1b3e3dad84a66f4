//! Sharp edges of `expected_action`.

use serde_json::{Value, json};
use wrongturn::{Actor, Milestone, Preset, ReferenceAction, ReferenceRoute};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, AB, B, BA, Case};

fn expecting(name: &'static str, expected: Vec<ReferenceAction>, events: Vec<Event>, verdict: Value) -> Case {
    let milestones = expected.into_iter().zip(1..).map(|(action, step)| Milestone::action(step, action));
    let route = ReferenceRoute::new(milestones.collect()).ok();
    let run = Run::new(events, route);
    Case { name, detector: "expected_action", preset: Preset::Default, config: Value::Null, run, verdict }
}

fn want(name: &str, arguments: &Value, compare: Option<&[&str]>) -> ReferenceAction {
    let compare = compare.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    ReferenceAction::new(Actor::Agent, name, arguments, compare)
}

fn all_met() -> Value {
    json!({"detected": false, "score": 1.0, "findings": []})
}

fn missed<const N: usize>(score: f64, findings: [Value; N]) -> Value {
    json!({"detected": true, "score": score, "findings": Vec::from(findings)})
}

fn never(first: u64, last: u64, expected: u64, name: &str) -> Value {
    json!({"mode": "operation/perception_error", "where": [first, last],
        "evidence": {"kind": "never_called", "expected": expected, "name": name}})
}

fn in_vain(step: u64, expected: u64, name: &str) -> Value {
    json!({"mode": "operation/decision_error", "where": [step, step],
        "evidence": {"kind": "rejected", "expected": expected, "name": name}})
}

fn otherwise(step: u64, expected: u64, name: &str, differing: &[&str]) -> Value {
    json!({"mode": "operation/decision_error", "where": [step, step],
        "evidence": {"kind": "arguments", "expected": expected, "name": name, "differing": differing}})
}

pub(super) fn cases() -> Vec<Case> {
    let not_applicable = || json!({"not_applicable": true});
    let get = || want("get", &json!({"a": 1, "b": {"c": 2, "d": 3}}), None);
    let mut no_route = expecting("without a route", Vec::new(), vec![ok("get", A, "x")], not_applicable());
    no_route.run.route = None;
    let mut scores = expecting("a route of scores", Vec::new(), vec![ok("get", A, "x")], not_applicable());
    scores.run.route = ReferenceRoute::new(vec![Milestone::score(1, 1.0)]).ok();
    vec![
        no_route,
        scores,
        expecting("a route of nothing", Vec::new(), vec![ok("get", A, "x")], not_applicable()),
        expecting("no actions", vec![get()], vec![say(Actor::Agent)], not_applicable()),
        expecting(
            "nothing recorded",
            vec![get()],
            vec![ok("get", A, "x").left_out(true, false)],
            not_applicable(),
        ),
        expecting("other spellings are equal", vec![get()], vec![ok("get", BA, "x")], all_met()),
        expecting(
            "more than was expected does not matter, and nobody need have answered",
            vec![want("get", &json!({"a": 1}), None)],
            vec![unanswered("get", AB)],
            all_met(),
        ),
        expecting(
            "the first call of the tool tells what differs, in the order of the comparison",
            vec![want("get", &json!({"b": 1, "a": 1}), Some(&["b", "a"]))],
            vec![ok("list", None, "x"), error("get", B, "no"), ok("get", None, "x")],
            missed(0.0, [otherwise(1, 0, "get", &["b", "a"])]),
        ),
        expecting(
            "as expected, and in vain: the first of them",
            vec![get()],
            vec![ok("get", A, "x"), error("get", AB, "no"), error("get", BA, "no")],
            missed(0.0, [in_vain(1, 0, "get")]),
        ),
        expecting(
            "a later success makes it good",
            vec![get()],
            vec![error("get", AB, "no"), ok("get", BA, "x"), error("get", AB, "no")],
            all_met(),
        ),
        expecting(
            "a tool that was never called is missed from the first action to the last; names are exact",
            vec![get(), want("list", &Value::Null, None)],
            vec![say(Actor::User), ok("Get", AB, "x"), ok("list", A, "x"), say(Actor::User)],
            missed(0.5, [never(1, 2, 0, "get")]),
        ),
        expecting(
            "an empty comparison is one of names, recorded or not",
            vec![want("get", &json!({"a": 1}), Some(&[]))],
            vec![ok("list", None, "x"), ok("get", B, "x").left_out(true, false)],
            all_met(),
        ),
        expecting(
            "what both lack is not equal",
            vec![want("get", &json!({"a": 1}), Some(&["z"]))],
            vec![ok("get", A, "x")],
            missed(0.0, [otherwise(0, 0, "get", &["z"])]),
        ),
        expecting(
            "where one call may have been it, nothing is said of the tool",
            vec![get(), want("list", &Value::Null, None)],
            vec![ok("get", A, "x"), ok("get", AB, "x").left_out(true, false)],
            missed(0.5, [never(0, 1, 1, "list")]),
        ),
        expecting(
            "the user's call is not the agent's, and the user's milestones are not the agent's either",
            vec![
                ReferenceAction::new(Actor::User, "get", &json!({"a": 1}), None),
                want("get", &json!({"a": 1}), None),
            ],
            vec![ok("get", A, "x").by(Actor::User), ok("list", None, "x")],
            missed(0.0, [never(1, 1, 1, "get")]),
        ),
        expecting(
            "everybody's milestones, each by its actor",
            vec![
                ReferenceAction::new(Actor::User, "get", &json!({"a": 1}), None),
                want("get", &json!({"a": 1}), None),
            ],
            vec![ok("get", A, "x").by(Actor::User), ok("list", None, "x")],
            missed(0.5, [never(0, 1, 1, "get")]),
        )
        .with(json!({"actors": "all"})),
        expecting(
            "one is too few where two are too many",
            vec![get(), want("list", &Value::Null, None)],
            vec![ok("list", None, "x")],
            json!({"detected": false, "score": 0.5, "findings": []}),
        )
        .with(json!({"min_missed": 2})),
        expecting(
            "one call is as good as all that are expected alike",
            vec![get(), get()],
            vec![ok("get", AB, "x")],
            all_met(),
        ),
    ]
}
