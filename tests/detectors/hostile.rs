//! Tests command lines, arguments and answers of any text: no detector panics.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use wrongturn::{
    Action, Status, Trace, Verdict,
    detect::{ALL, Preset},
    trace::{Actor, Actors, StepInput},
};

use crate::config;

/// Draws any text, or one of pieces with a meaning for a shell, for a JSON reader, or for the phrases of rules.
fn text() -> impl Strategy<Value = String> {
    let pieces: Vec<String> = serde_json::from_str(include_str!("pieces.json")).unwrap();
    let pieces = vec(select(pieces), 0..24).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => pieces, 1 => "\\PC{0,60}", 1 => any::<String>()]
}

/// Returns a trace that repeats each call, with others between, so every rule has something to compare.
fn trace(lines: &[String], answers: &[String], statuses: &[Status]) -> Trace {
    let mut builder = Trace::builder();
    for step in 0..3 * lines.len() {
        let at = step % lines.len();
        let (line, answer) = (&lines[at], &answers[at % answers.len()]);
        let arguments = match at % 4 {
            0 => json!({"command": line}),
            1 => json!({"cmd": ["bash", "-lc", line], "timeout": line}),
            2 => json!({"path": line, "order_id": answer, "changes": [{"path": line}]}),
            _ => json!(line),
        };
        let name = ["bash", "exec_command", "edit_file", answer][at % 4];
        let action = Action::new(name)
            .arguments(&arguments)
            .answered(statuses[step % statuses.len()], answer.as_str());
        builder.push(StepInput::action(Actor::Agent, action).location(line)).unwrap();
        builder
            .push(StepInput::message(
                if at.is_multiple_of(2) { Actor::User } else { Actor::Agent },
                answer.as_str(),
            ))
            .unwrap();
    }
    builder.build().unwrap()
}

fn verdicts(trace: &Trace) -> Vec<Verdict> {
    let build = |preset| {
        ALL.iter().map(move |info| info.build(preset, Actors::Agent, &serde_json::Value::Null).unwrap())
    };
    let all = build(Preset::Default).chain(build(Preset::BenchTrace));
    all.map(|detector| detector.detect(trace)).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_text_makes_a_detector_panic(
        lines in vec(text(), 1..6),
        answers in vec(text(), 1..6),
        statuses in vec(select(vec![Status::Ok, Status::Error, Status::Unknown]), 1..4),
    ) {
        let trace = trace(&lines, &answers, &statuses);
        let verdicts = verdicts(&trace);
        for finding in verdicts.iter().flat_map(Verdict::findings) {
            prop_assert!(finding.message.chars().count() < 600, "{}", finding.message);
        }
        let again: Trace = serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap();
        prop_assert_eq!(self::verdicts(&again), verdicts);
    }
}
