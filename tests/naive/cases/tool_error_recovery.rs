//! Sharp edges of section 3.1.

use serde_json::{Value, json};
use wrongturn::{Actor, Preset};

use super::super::run::{Event, Run, error, ok, say, unanswered};
use super::{A, AB, B, BA, Case};

fn recovery(name: &'static str, events: Vec<Event>, verdict: Value) -> Case {
    let run = Run::new(events, None);
    Case { name, detector: "tool_error_recovery", preset: Preset::Default, config: Value::Null, run, verdict }
}

fn recovers(rate: f64) -> Value {
    json!({"detected": false, "score": rate, "findings": []})
}

fn fails(rate: f64, first: u64, last: u64, errors: &Value) -> Value {
    let finding = json!({"mode": "operation/tool_error_recovery", "where": [first, last], "evidence": {"errors": errors}});
    json!({"detected": true, "score": rate, "findings": [finding]})
}

/// An error from which nothing recovers.
fn lost(step: u64, tool: &str, attempts: u64) -> Value {
    json!({"step": step, "tool": tool, "recovered_by": null, "attempts": attempts, "changed_arguments": null,
        "abandoned": attempts == 0})
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        recovery("no action at all is a vacuous pass", vec![say(Actor::User)], recovers(1.0)),
        recovery("no error is a vacuous pass", vec![ok("get", A, "x")], recovers(1.0)),
        recovery("a later success recovers", vec![error("get", A, "no"), ok("get", B, "x")], recovers(1.0)),
        recovery(
            "an earlier success does not",
            vec![ok("get", A, "x"), error("get", A, "no")],
            fails(0.0, 1, 1, &json!([lost(1, "get", 0)])),
        ),
        recovery(
            "half of them is enough by default",
            vec![error("get", A, "no"), ok("get", A, "x"), error("put", A, "no")],
            recovers(0.5),
        ),
        recovery(
            "half of them is not above one half; the finding spans the unrecovered errors, the evidence holds all",
            vec![
                error("get", A, "no"),
                error("put", A, "no").after(2),
                ok("get", B, "x"),
                error("del", A, "no"),
                error("get", A, "no"),
                ok("get", A, "x"),
            ],
            fails(
                0.5,
                3,
                5,
                &json!([
                    {"step": 0, "tool": "get", "recovered_by": 4, "attempts": 1, "changed_arguments": true,
                        "abandoned": false},
                    lost(3, "put", 0),
                    lost(5, "del", 0),
                    {"step": 6, "tool": "get", "recovered_by": 7, "attempts": 1, "changed_arguments": false,
                        "abandoned": false},
                ]),
            ),
        )
        .with(json!({"threshold": 0.51})),
        recovery(
            "attempts count up to the recovering one; other spellings are no change",
            vec![
                error("get", AB, "no"),
                error("get", A, "no"),
                unanswered("get", A),
                ok("get", BA, "x"),
                ok("get", A, "x"),
                error("put", A, "no"),
            ],
            fails(
                2.0 / 3.0,
                5,
                5,
                &json!([
                    {"step": 0, "tool": "get", "recovered_by": 3, "attempts": 3, "changed_arguments": false,
                        "abandoned": false},
                    {"step": 1, "tool": "get", "recovered_by": 3, "attempts": 2, "changed_arguments": true,
                        "abandoned": false},
                    lost(5, "put", 0),
                ]),
            ),
        )
        .with(json!({"threshold": 1.0})),
        recovery(
            "an unanswered call is neither error nor success, but an attempt",
            vec![error("get", A, "no"), unanswered("get", A)],
            fails(0.0, 0, 0, &json!([lost(0, "get", 1)])),
        ),
        recovery(
            "names compare exactly",
            vec![error("Get", A, "no"), ok("get", A, "x"), ok("Get ", A, "x")],
            fails(0.0, 0, 0, &json!([lost(0, "Get", 0)])),
        ),
        recovery(
            "a transient failure is an error",
            vec![error("get", A, "503")],
            fails(0.0, 0, 0, &json!([lost(0, "get", 0)])),
        ),
        recovery(
            "somebody else's success does not recover",
            vec![error("get", A, "no"), ok("get", A, "x").by(Actor::User)],
            fails(0.0, 0, 0, &json!([lost(0, "get", 0)])),
        ),
        recovery(
            "unless everybody is chosen",
            vec![error("get", A, "no"), ok("get", A, "x").by(Actor::User)],
            recovers(1.0),
        )
        .with(json!({"actors": "all"})),
    ]
}
