//! What an explanation says turns a verdict, turns it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests say what they expect by failing")]

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wrongturn::{ALL, Actors, Change, Detector, DetectorInfo, Explanation, Preset, Trace};

/// A call, by numbers: tool, argument, answer, status, whether it is in the turn of the one before.
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

/// The steps after a change; they are numbered by their places.
fn changed(steps: &[Value], change: &Change) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    // Turns are given anew: whatever is put in stands in one of its own.
    let (mut turn, mut before) = (0, None);
    for (place, step) in steps.iter().enumerate() {
        if before != Some(&step["turn"]) {
            turn += 1;
        }
        before = Some(&step["turn"]);
        let mut step = step.clone();
        step["turn"] = json!(turn);
        all.push(step.clone());
        if let Change::Repeat { step: at, times } = change
            && *at == place as u64
        {
            for _ in 0..*times {
                turn += 1;
                step["turn"] = json!(turn);
                all.push(step.clone());
            }
            before = None;
        }
    }
    if let Change::Succeed { steps: succeeding } = change {
        for at in succeeding {
            turn += 1;
            let mut step = steps[usize::try_from(*at).unwrap()].clone();
            step["turn"] = json!(turn);
            step["status"] = json!("ok");
            all.push(step);
        }
    }
    all
}

fn build(info: &DetectorInfo, preset: Preset, config: &Map<String, Value>) -> std::sync::Arc<dyn Detector> {
    info.build(preset, Actors::Agent, &Value::Object(config.clone())).unwrap()
}

/// Every change that the explanation names turns the verdict; gives how many there were.
fn holds(
    info: &DetectorInfo,
    preset: Preset,
    config: &Map<String, Value>,
    steps: &[Value],
    route: Option<&Value>,
) -> Result<Explanation, TestCaseError> {
    let run = trace(steps, route);
    let detector = build(info, preset, config);
    let explanation = detector.explain(&run);
    let detected = detector.detect(&run).detected();
    prop_assert_eq!(explanation.detected, detected);
    prop_assert_eq!(explanation.not_applicable.is_some(), detected.is_none());
    for change in &explanation.changes {
        let turned = if let Change::Config(fields) = change {
            let mut config = config.clone();
            config.extend(fields.clone());
            build(info, preset, &config).detect(&run).detected()
        } else {
            detector.detect(&trace(&changed(steps, change), route)).detected()
        };
        prop_assert_eq!(turned, detected.map(|detected| !detected), "{}: {:?}", info.id, change);
    }
    // One fewer does not do: the change is the nearest of its kind.
    if let Some(Change::Repeat { step, times }) = explanation.changes.first()
        && *times > 1
        && steps.windows(2).all(|pair| pair[0]["turn"] != pair[1]["turn"])
    {
        let fewer = Change::Repeat { step: *step, times: times - 1 };
        let verdict = detector.detect(&trace(&changed(steps, &fewer), route));
        prop_assert_eq!(verdict.detected(), detected, "{}: {:?} is enough", info.id, fewer);
    }
    Ok(explanation)
}

fn object(value: impl Into<Value>) -> Map<String, Value> {
    value.into().as_object().unwrap().clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_stated_change_turns_the_verdict(calls in calls(), progress in any::<bool>()) {
        let steps = steps(&calls, progress);
        let expected = json!({"kind": "actions", "milestones": [
            {"reference_step": 1, "actor": "agent", "name": "look"},
            {"reference_step": 3, "actor": "agent", "name": "edit", "compare": []}]});
        for info in ALL {
            for preset in Preset::VARIANTS {
                holds(info, *preset, &Map::new(), &steps, Some(&expected))?;
            }
        }
        let configs = [
            ("loop", json!({"min_repeats": 3, "max_gap": 1, "min_failures": 4, "max_polls": 5})),
            ("loop", json!({"min_repeats": 6, "max_gap": 0, "transient": null})),
            ("feedback_blindness", json!({"max_gap": 0, "window": 3})),
            ("feedback_blindness", json!({"same_feedback": false, "patterns": ["wall"], "success_recovers": true})),
            ("tool_error_recovery", json!({"threshold": 1.0})),
            ("tool_error_recovery", json!({"threshold": 0.1, "subtools": {}})),
            ("wasted_actions", json!({"min_wasted": 3, "min_share": 0.6})),
            ("wasted_actions", json!({"min_share": 1.0})),
            ("route_inefficiency", json!({"ratio": 4.0, "min_wasted": 2})),
            ("route_inefficiency", json!({"routes": "pairs", "ratio": 3.5})),
        ];
        for (id, config) in configs {
            let info = ALL.iter().find(|info| info.id == id).unwrap();
            holds(info, Preset::Default, &object(config), &steps, Some(&expected))?;
        }
    }

    #[test]
    fn routes_of_scores_are_explained(calls in calls()) {
        let steps = steps(&calls, true);
        let scores = json!({"kind": "scores", "milestones": [
            {"reference_step": 1, "score": 0.0}, {"reference_step": 3, "score": 2.0}, {"reference_step": 4, "score": 4.0}]});
        let info = ALL.iter().find(|info| info.id == "route_inefficiency").unwrap();
        for preset in Preset::VARIANTS {
            holds(info, *preset, &Map::new(), &steps, Some(&scores))?;
        }
    }
}

fn explained(id: &str, steps: &[Value]) -> Explanation {
    let info = ALL.iter().find(|info| info.id == id).unwrap();
    holds(info, Preset::Default, &Map::new(), steps, None).unwrap()
}

fn call(tool: &str, argument: u64, answer: &str, status: &str) -> Value {
    json!({"name": tool, "arguments": {"n": argument}, "observation": answer, "status": status})
}

fn numbered(mut steps: Vec<Value>) -> Vec<Value> {
    for (place, step) in steps.iter_mut().enumerate() {
        step["turn"] = json!(place);
    }
    steps
}

fn conditions(explanation: &Explanation) -> Vec<(&'static str, Vec<String>)> {
    let near = explanation.near.iter();
    near.map(|near| (near.what, near.conditions.iter().map(ToString::to_string).collect())).collect()
}

#[test]
fn a_gap_that_is_too_wide_is_named() {
    let mut steps = Vec::new();
    for round in 0..4 {
        steps.push(call("test", 0, "1 failed", "ok"));
        steps.extend((0..5).map(|n| call("edit", round * 10 + n, "done", "ok")));
    }
    let found = explained("loop", &numbered(steps));
    assert_eq!(found.near[0].tool.as_deref(), Some("test"));
    assert_eq!(conditions(&found)[0].1, ["repeats 4, at least 4 (holds)", "gap 5, at most 3"]);
    assert!(found.changes.contains(&Change::Config(object(json!({"max_gap": 5})))));
}

#[test]
fn other_answers_and_passed_over_failures_are_named() {
    let asks = (0..5).map(|n| call("job", 0, &format!("{n} %"), "ok")).collect();
    let found = explained("loop", &numbered(asks));
    assert!(conditions(&found).contains(&(
        "repeated_call",
        vec!["calls 5, at least 4 (holds)".to_owned(), "other answers 4, at most 0".to_owned()]
    )));

    let refused = (0..5).map(|_| call("get", 0, "connection refused", "error")).collect();
    let found = explained("loop", &numbered(refused));
    assert_eq!((found.detected, found.transient), (Some(false), 5));
    assert!(found.changes.contains(&Change::Config(object(json!({"transient": null})))));
}

#[test]
fn a_repeat_with_other_feedback_is_named() {
    let steps = vec![call("push", 0, "rejected: stale", "error"), call("push", 0, "rejected: hook", "error")];
    let found = explained("feedback_blindness", &numbered(steps));
    assert_eq!(found.near[0].place, Some((0, 1)));
    assert_eq!(conditions(&found)[0].1, ["other feedback 1, at most 0", "gap 0, at most 2 (holds)"]);
    assert_eq!(found.changes, [Change::Repeat { step: 1, times: 1 }]);
}

#[test]
fn a_rate_at_the_threshold_is_named() {
    let steps =
        vec![call("get", 0, "no", "error"), call("get", 1, "yes", "ok"), call("put", 0, "no", "error")];
    let found = explained("tool_error_recovery", &numbered(steps));
    assert_eq!(conditions(&found)[0].1, ["errors 2, at least 1 (holds)", "recovery_rate 0.5, below 0.5"]);
    assert_eq!(found.changes[0], Change::Repeat { step: 2, times: 1 });
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["changes"][0], json!({"repeat": {"step": 2, "times": 1}}));
    assert_eq!(json["near"][0]["conditions"][1]["bound"], "below");
}

#[test]
fn a_detector_of_ones_own_tells_its_verdict() {
    let found = explained("route_inefficiency", &numbered(vec![call("get", 0, "no", "ok")]));
    assert_eq!((found.detected, found.near.len(), found.changes.len()), (None, 0, 0));
    assert!(found.not_applicable.is_some());
}
