//! Sharp edges of `malformed_call`.

use serde_json::{Value, json};
use wrongturn::{Actor, Preset};

use super::super::malformed_call::REFUSAL;
use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, Case};

fn calls(name: &'static str, events: Vec<Event>, verdict: Value) -> Case {
    let run = Run::new(events, None);
    Case { name, detector: "malformed_call", preset: Preset::Default, config: Value::Null, run, verdict }
}

fn sound(score: f64) -> Value {
    json!({"detected": false, "score": score, "findings": []})
}

fn malformed<const N: usize>(score: f64, calls: [(u64, &str, &str); N]) -> Value {
    let finding = |(step, tool, reason): (u64, &str, &str)| json!({"mode": "system/format", "where": [step, step], "evidence": {"reason": reason, "tool": tool}});
    json!({"detected": true, "score": score, "findings": calls.map(finding).to_vec()})
}

fn no_call(first: u64, last: u64, turns: u64) -> Value {
    let evidence = json!({"reason": "no_call", "tool": "", "turns": turns});
    json!({"mode": "system/format", "where": [first, last], "evidence": evidence})
}

pub(super) fn cases() -> Vec<Case> {
    let far = format!("{}invalid json", "é".repeat(289));
    vec![
        calls("no action at all is a vacuous pass", vec![say(Actor::User)], sound(1.0)),
        calls("a failure of the tool is none", vec![error("get", A, "no such file")], sound(1.0)),
        calls(
            "the first reason that holds; a call that names nothing is one whatever else it does",
            vec![ok(" ", Some("[1]"), "x"), error("get", Some("[1]"), "unknown tool"), ok("get", A, "x")],
            malformed(1.0 - 2.0 / 3.0, [(0, "", "empty_name"), (1, "get", "arguments_not_an_object")]),
        ),
        calls(
            "a text that is no JSON stands for itself; one that holds JSON is no object either",
            vec![
                unanswered("get", Some(r#""{\"a\": ""#)),
                unanswered("get", Some(r#""{\"a\": 1}""#)),
                unanswered("get", Some("7")),
            ],
            malformed(
                0.0,
                [
                    (0, "get", "arguments_not_json"),
                    (1, "get", "arguments_not_an_object"),
                    (2, "get", "arguments_not_an_object"),
                ],
            ),
        ),
        calls(
            "null is no arguments, and so is nothing",
            vec![ok("get", Some("null"), "x"), ok("get", None, "x")],
            sound(1.0),
        ),
        calls("a bare value can be allowed", vec![ok("get", Some("7"), "x")], sound(1.0))
            .with(json!({"objects_only": false})),
        calls(
            "a rejection is told by a failure, in any case",
            vec![error("get", A, "INVALID JSON"), ok("get", A, "invalid json")],
            malformed(0.5, [(0, "get", "rejected_before_running")]),
        ),
        calls("three hundred characters are looked at", vec![error("get", A, &far)], sound(1.0)),
        calls(
            "characters, not bytes",
            vec![error("get", A, &far[2..])],
            malformed(0.0, [(0, "get", "rejected_before_running")]),
        ),
        calls(
            "the list is the configuration's",
            vec![error("get", A, "Access denied"), error("get", A, "unknown tool")],
            malformed(0.5, [(0, "get", "rejected_before_running")]),
        )
        .with(json!({"rejections": ["ACCESS DENIED"]})),
        calls(
            "one is too few where two are too many",
            vec![error("get", A, "unknown tool"), ok("get", A, "x")],
            sound(0.5),
        )
        .with(json!({"min_calls": 2})),
        calls(
            "the user's calls do not count",
            vec![error("get", A, "unknown tool").by(Actor::User)],
            sound(1.0),
        ),
        calls(
            "without arguments and answers there is nothing to look at",
            vec![ok("get", A, "x").left_out(true, true)],
            json!({"not_applicable": true}),
        ),
        calls(
            "arguments that were left out are not malformed; an answer may still tell",
            vec![error("get", Some("7"), "unknown tool").left_out(true, false)],
            malformed(0.0, [(0, "get", "rejected_before_running")]),
        ),
        calls(
            "but that a call names nothing is seen",
            vec![ok("", A, "x").left_out(true, true)],
            malformed(0.0, [(0, "", "empty_name")]),
        ),
    ]
}

/// Turns that called nothing.
pub(super) fn refused_turns() -> Vec<Case> {
    vec![
        calls(
            "turns in a row without a call are one finding; a call ends the row",
            vec![
                say(Actor::User),
                say(Actor::Agent),
                say(Actor::User).saying(REFUSAL),
                say(Actor::Environment).saying(REFUSAL),
                ok("get", A, "x"),
                say(Actor::Agent),
                say(Actor::Environment).saying(REFUSAL),
            ],
            json!({"detected": true, "score": 0.25, "findings": [no_call(1, 3, 2), no_call(5, 6, 1)]}),
        ),
        calls(
            "each of them counts",
            vec![ok("get", A, "x"), say(Actor::User).saying(REFUSAL), say(Actor::User).saying(REFUSAL)],
            json!({"detected": true, "score": 1.0 - 2.0 / 3.0, "findings": [no_call(1, 2, 2)]}),
        )
        .with(json!({"min_calls": 2})),
        calls(
            "instructions and the task refuse nothing, nor does the answer to a turn without words of refusal",
            vec![
                say(Actor::System).saying(REFUSAL),
                say(Actor::User).saying(REFUSAL),
                ok("get", A, "x"),
                say(Actor::System).saying(REFUSAL),
                say(Actor::Agent),
                say(Actor::User),
            ],
            sound(1.0),
        ),
    ]
}
