//! Tests explanations: every counterfactual flips the verdict.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests say what they expect by failing")]

mod custom;

use custom::Custom;
use proptest::prelude::*;
use serde_json::{Value, json};
use wrongturn::{
    Trace,
    detect::{ALL, Counterfactual, DetectorInfo, Explanation, Preset},
    trace::Actors,
};

/// A call, by numbers: tool, argument, answer, status, and whether it is in the same turn as the call before.
type Call = (usize, u8, usize, u8, bool);

const TOOLS: [&str; 4] = ["look", "bash", "wait", "edit"];
const ANSWERS: [&str; 4] = ["a wall", "nothing found", "timeout", "a door"];

fn calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec(
        (0..TOOLS.len(), 0..3_u8, 0..ANSWERS.len(), 0..4_u8, prop::bool::weighted(0.2)),
        0..40,
    )
}

fn steps(calls: &[Call], progress: bool) -> Vec<Value> {
    let mut turn = 0;
    let step = |(place, (tool, argument, answer, status, parallel)): (usize, &Call)| {
        turn += u64::from(!parallel);
        let mut step = json!({"name": TOOLS[*tool], "turn": turn, "status": (["ok", "error", "error", "unknown"])[usize::from(*status)],
            "arguments": {"command": (["ls", "pytest -q", "git push"])[usize::from(*argument)]}});
        if (place + answer) % 11 == 10 {
            step["not_recorded"] = json!(["observation"]);
        } else {
            step["observation"] = json!(ANSWERS[*answer]);
        }
        if progress {
            step["progress"] = json!(place / 9);
        }
        step
    };
    calls.iter().enumerate().map(step).collect()
}

fn trace(steps: &[Value], route: Option<&Value>) -> Trace {
    let mut trace = json!({"version": 1, "steps": steps});
    if let Some(route) = route {
        trace["route"] = route.clone();
    }
    serde_json::from_value(trace).unwrap()
}

/// Applies a change to steps that are numbered from 0.
fn changed(steps: &[Value], change: &Counterfactual) -> Vec<Value> {
    let turn = |step: &Value| step["turn"].as_u64().unwrap();
    let mut all = steps.to_vec();
    match change {
        Counterfactual::Config(_) => {}
        Counterfactual::Repeat { step, times } => {
            let after = usize::try_from(*step).unwrap() + 1;
            let (repeated, later) = (all[after - 1].clone(), all.split_off(after));
            all.extend((1..=*times).map(|by| with_turn(&repeated, turn(&repeated) + by)));
            all.extend(later.iter().map(|step| with_turn(step, turn(step) + times + 1)));
        }
        Counterfactual::Succeed { steps } => {
            let last = all.iter().map(turn).max().unwrap();
            for (at, by) in steps.iter().zip(1..) {
                let mut step = with_turn(&all[usize::try_from(*at).unwrap()], last + by);
                step["status"] = json!("ok");
                for field in ["observation", "progress", "not_recorded"] {
                    step.as_object_mut().unwrap().remove(field);
                }
                all.push(step);
            }
        }
        Counterfactual::Remove { ranges } => {
            let mut place = 0..;
            all.retain(|_| {
                let place = place.next().unwrap();
                !ranges.iter().any(|(first, last)| (*first..=*last).contains(&place))
            });
        }
        other => unreachable!("no change to a run: {other:?}"),
    }
    all
}

fn with_turn(step: &Value, turn: u64) -> Value {
    let mut step = step.clone();
    step["turn"] = json!(turn);
    step
}

/// Explains a run, and checks that every counterfactual flips the verdict.
fn explain(
    info: &DetectorInfo,
    preset: Preset,
    config: &Value,
    steps: &[Value],
    route: Option<&Value>,
) -> Result<Explanation, TestCaseError> {
    let verdict = |config: &Value, steps: &[Value]| {
        info.build(preset, Actors::Agent, config).unwrap().detect(&trace(steps, route)).detected()
    };
    let explanation = info.build(preset, Actors::Agent, config).unwrap().explain(&trace(steps, route));
    let detected = verdict(config, steps);
    prop_assert_eq!(explanation.detected, detected);
    prop_assert_eq!(explanation.not_applicable.is_some(), detected.is_none());
    for change in &explanation.counterfactuals {
        let mut config = config.clone();
        if let Counterfactual::Config(fields) = change {
            let known = config.as_object_mut().unwrap();
            known.extend(fields.clone());
        }
        let flipped = verdict(&config, &changed(steps, change));
        prop_assert_eq!(flipped, detected.map(|detected| !detected), "{}: {:?}", info.id, change);
        if let Counterfactual::Repeat { step, times: times @ 2.. } = change {
            let fewer = Counterfactual::Repeat { step: *step, times: times - 1 };
            let flipped = verdict(&config, &changed(steps, &fewer));
            prop_assert_eq!(flipped, detected, "{}: {:?} is enough", info.id, fewer);
        }
    }
    Ok(explanation)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_counterfactual_flips_the_verdict(calls in calls(), progress in any::<bool>()) {
        let steps = steps(&calls, progress);
        let expected = json!({"kind": "actions", "milestones": [
            {"reference_step": 1, "actor": "agent", "name": "look"},
            {"reference_step": 3, "actor": "agent", "name": "edit", "compare": []}]});
        for info in ALL {
            for preset in Preset::VARIANTS {
                explain(info, *preset, &json!({}), &steps, Some(&expected))?;
            }
        }
        let configs = [
            ("loop", json!({"min_repeats": 3, "max_gap": 1, "min_failures": 4, "max_polls": 5})),
            ("loop", json!({"min_repeats": 6, "max_gap": 0, "transient": null})),
            ("loop", json!({"min_looks": 6, "min_failures": 8})),
            ("feedback_blindness", json!({"max_failures": 2})),
            ("feedback_blindness", json!({"definition": "phrases", "patterns": ["wall"], "window": 3})),
            ("tool_error_recovery", json!({"min_attempts": 5})),
            ("tool_error_recovery", json!({"definition": "rate", "threshold": 1.0})),
            ("tool_error_recovery", json!({"definition": "rate", "threshold": 0.1, "by_program": false})),
            ("wasted_actions", json!({"min_wasted": 3, "min_share": 0.2})),
            ("wasted_actions", json!({"min_wasted": 0.5, "min_stretch": 6})),
            ("route_inefficiency", json!({"ratio": 4.0, "min_wasted": 2})),
            ("route_inefficiency", json!({"routes": "pairs", "ratio": 3.5})),
        ];
        for (id, config) in configs {
            let info = ALL.iter().find(|info| info.id == id).unwrap();
            explain(info, Preset::Default, &config, &steps, Some(&expected))?;
        }
    }

    #[test]
    fn routes_of_scores_are_explained(calls in calls()) {
        let steps = steps(&calls, true);
        let scores = json!({"kind": "scores", "milestones": [
            {"reference_step": 1, "score": 0.0}, {"reference_step": 3, "score": 2.0}, {"reference_step": 4, "score": 4.0}]});
        let info = ALL.iter().find(|info| info.id == "route_inefficiency").unwrap();
        for preset in Preset::VARIANTS {
            explain(info, *preset, &json!({}), &steps, Some(&scores))?;
        }
    }
}

fn explained(id: &str, config: &Value, calls: &[(&str, u64, &str, &str)]) -> Explanation {
    let info = ALL.iter().find(|info| info.id == id).unwrap();
    let step = |(turn, (tool, argument, answer, status)): (usize, &(&str, u64, &str, &str))| json!({"name": tool, "arguments": {"n": argument}, "observation": answer, "status": status, "turn": turn});
    let steps: Vec<Value> = calls.iter().enumerate().map(step).collect();
    explain(info, Preset::Default, config, &steps, None).unwrap()
}

fn config(fields: &Value) -> Counterfactual {
    Counterfactual::Config(fields.as_object().unwrap().clone())
}

#[test]
fn one_more_call_makes_a_loop() {
    let found = explained("loop", &json!({}), &[("look", 0, "a wall", "ok"); 2]);
    let expected = [Counterfactual::Repeat { step: 1, times: 1 }, config(&json!({"min_repeats": 3}))];
    assert_eq!((found.detected, &found.counterfactuals[..]), (Some(false), &expected[..]));
}

#[test]
fn one_call_fewer_ends_a_loop() {
    let found = explained("loop", &json!({}), &[("look", 0, "a wall", "ok"); 5]);
    assert_eq!(found.detected, Some(true));
    // No single limit ends it, because equal calls are also looks without a new answer.
    assert_eq!(found.counterfactuals, [Counterfactual::Remove { ranges: vec![(2, 4)] }]);
    assert_eq!(found.counterfactuals[0].to_string(), "without steps 2–4");
}

#[test]
fn unrecovered_failures_could_have_succeeded() {
    let calls = [("get", 0, "no", "error"), ("get", 1, "no", "error"), ("put", 0, "no", "error")];
    let found = explained("tool_error_recovery", &json!({"definition": "rate"}), &calls);
    // The success of one call of `get` makes up for both of its failures.
    assert_eq!(found.counterfactuals[0], Counterfactual::Succeed { steps: vec![1] });
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["counterfactuals"][0], json!({"succeed": {"steps": [1]}}));
}

#[test]
fn a_limit_that_is_too_narrow_is_widened() {
    let mut calls = Vec::new();
    for round in 0..4 {
        calls.push(("look", 0, "a wall", "ok"));
        calls.extend((0..5).map(|n| ("list", round * 10 + n, "a page", "ok")));
    }
    let found = explained("loop", &json!({}), &calls);
    assert!(found.counterfactuals.contains(&config(&json!({"max_gap": 5}))), "{found:?}");
}

#[test]
fn skipped_failures_are_counted_in() {
    let found = explained("loop", &json!({}), &[("get", 0, "connection refused", "error"); 4]);
    assert_eq!(found.detected, Some(false));
    assert!(found.counterfactuals.contains(&config(&json!({"transient": null}))), "{found:?}");
}

#[test]
fn a_float_is_varied_to_four_decimals() {
    let calls = [("get", 0, "no", "error"), ("get", 1, "yes", "ok"), ("put", 0, "no", "error")];
    let found = explained("tool_error_recovery", &json!({"definition": "rate"}), &calls);
    let expected = [Counterfactual::Repeat { step: 2, times: 1 }, config(&json!({"threshold": 0.5001}))];
    assert_eq!(found.counterfactuals, expected);
}

#[test]
fn a_rule_reports_its_near_misses() {
    let found = explained("malformed_call", &json!({"min_calls": 3}), &[("", 0, "no", "error"); 2]);
    assert_eq!(found.near_misses[0].steps, Some((0, 1)));
    assert_eq!(found.near_misses[0].conditions[0].to_string(), "calls 2, needs at least 3");
    assert_eq!(found.counterfactuals[0], Counterfactual::Repeat { step: 1, times: 1 });
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["near_misses"][0]["conditions"][0]["comparator"], "at_least");
}

#[test]
fn a_detour_that_is_short_enough_is_a_near_miss() {
    let steps: Vec<Value> = (0..7).map(|at| json!({"name": "go", "turn": at, "progress": at / 6})).collect();
    let milestones = json!([{"reference_step": 1, "score": 0.0}, {"reference_step": 3, "score": 1.0}]);
    let route = json!({"kind": "scores", "milestones": milestones});
    let info = ALL.iter().find(|info| info.id == "route_inefficiency").unwrap();
    let found = explain(info, Preset::Default, &json!({}), &steps, Some(&route)).unwrap();
    let near = "detour, steps 0–6: ratio 3 is above 2; extra_steps 4, needs at least 5";
    assert_eq!(found.near_misses[0].to_string(), near);
    assert!(found.counterfactuals.contains(&config(&json!({"min_extra": 4}))), "{found:?}");
}

#[test]
fn a_verdict_that_is_not_applicable_has_no_counterfactuals() {
    let found = explained("route_inefficiency", &json!({}), &[("get", 0, "no", "ok")]);
    assert_eq!((found.detected, found.near_misses.len(), found.counterfactuals.len()), (None, 0, 0));
    assert!(found.not_applicable.is_some());
}

/// The detector has no configuration that an explanation could vary.
#[test]
fn a_bare_detector_is_explained_by_steps() {
    let steps = |count: usize| vec![json!({"name": "look", "status": "ok"}); count];
    let ten_steps =
        Custom { id: "ten_steps", state: 0, observe: |count, _| *count += 1, detected: |count| *count >= 10 };
    let ten_steps = &ten_steps.alone()[0];
    let found = ten_steps.explain(&trace(&steps(7), None));
    assert_eq!(found.counterfactuals, [Counterfactual::Repeat { step: 6, times: 3 }]);
    // Its findings name no steps to remove.
    assert_eq!(ten_steps.explain(&trace(&steps(12), None)).counterfactuals, []);
}
