//! A table of the sharp edges, spelled out by hand; in one pass over a whole trace and step by step.

use serde_json::{Value, json};
use wrongturn::{
    ALL, Action, Actor, Actors, DetectorInfo, Evidence, Milestone, Miss, Preset, ReferenceRoute, Status,
    StepInput, Trace, Verdict, detector_info,
};

use crate::follow;
use crate::naive::{self, Expected, cases};

/// The verdict as JSON without what is for readers only: the message, the reason.
fn bare(mut verdict: Value) -> Value {
    if let Some(reason) = verdict.get_mut("not_applicable") {
        *reason = Value::Bool(reason.as_str().is_some_and(|reason| !reason.is_empty()));
    }
    for finding in verdict.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
        let id = finding.as_object_mut().and_then(|finding| finding.remove("id"));
        assert!(id.is_some_and(|id| id.as_str().is_some_and(|id| id.contains(':'))));
        let message = finding.as_object_mut().and_then(|finding| finding.remove("message"));
        assert!(message.is_some_and(|message| message.as_str().is_some_and(|message| !message.is_empty())));
    }
    verdict
}

/// The failure mode of a finding: that of its detector, where that does not tell several apart.
fn mode_of(detector: &DetectorInfo, evidence: &Evidence) -> String {
    match evidence {
        Evidence::ExpectedAction(evidence) if evidence.kind == Miss::NeverCalled => {
            "operation/perception_error".to_owned()
        }
        Evidence::ExpectedAction(_) => "operation/decision_error".to_owned(),
        _ => detector.mode.to_string(),
    }
}

fn as_json(detector: &DetectorInfo, expected: &Expected) -> Value {
    match expected {
        Expected::NotApplicable => json!({"not_applicable": true}),
        Expected::Judged { detected, score, findings } => {
            let finding = |(first, last, evidence): &(u64, u64, Evidence)| json!({"mode": mode_of(detector, evidence), "where": [first, last], "evidence": evidence});
            let findings: Vec<Value> = findings.iter().map(finding).collect();
            match score {
                Some(score) => json!({"detected": detected, "score": score, "findings": findings}),
                None => json!({"detected": detected, "findings": findings}),
            }
        }
    }
}

/// The names in a verdict as the naive statements give them.
fn folded(mut verdict: Value) -> Value {
    for finding in verdict.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(action) = finding.pointer_mut("/evidence/action")
            && let Some(name) = action.as_str()
        {
            *action = Value::String(name.to_lowercase());
        }
    }
    verdict
}

/// Every case by the naive statement, over the whole trace, read back from JSON, and step by step.
#[test]
fn the_sharp_edges_are_as_spelled_out() {
    let mut wrong = Vec::new();
    for case in cases::all() {
        let info = detector_info(case.detector).unwrap();
        let detectors = vec![info.build(case.preset, Actors::Agent, &case.config).unwrap()];
        let mut config = info.config(case.preset, Actors::Agent);
        config.as_object_mut().unwrap().extend(case.config.as_object().cloned().unwrap_or_default());
        let naive = naive::expected(case.detector, config, &case.run).unwrap();
        let trace = case.run.trace().unwrap();
        let read: Trace = serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap();
        let (_, online) = follow(&detectors, &case.run).unwrap();
        let verdict = |verdict: &Verdict| bare(serde_json::to_value(verdict).unwrap());
        let ways = [
            ("naive", as_json(info, &naive), folded(case.verdict.clone())),
            ("batch", verdict(&detectors[0].detect(&trace)), case.verdict.clone()),
            ("read back", verdict(&detectors[0].detect(&read)), case.verdict.clone()),
            ("online", verdict(&online[0]), case.verdict.clone()),
        ];
        for (way, is, should) in ways.into_iter().filter(|(_, is, should)| is != should) {
            wrong.push(format!("{}, {}, {way}:\n  {is}\nshould be\n  {should}", case.detector, case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sums of steps that no number holds.
#[test]
fn milestones_at_the_end_of_all_numbers_do_not_overflow() {
    for preset in [Preset::Default, Preset::BenchTrace] {
        let milestones = [(0, 0.0), (1, 1.0), (2, 9.0), (u64::MAX, 9.0), (u64::MAX, 8.0)];
        let milestones = milestones.map(|(step, score)| Milestone::score(step, score));
        let mut builder = Trace::builder().route(ReferenceRoute::new(milestones.to_vec()).unwrap());
        for (step, progress) in [(0, 0.0), (1, 1.0), (u64::MAX - 1, 2.0), (u64::MAX, 2.0)] {
            let action = Action::new("look").answered(Status::Ok, "x");
            let step = StepInput::action(Actor::Agent, action).at(step).turn(step);
            builder.push(step.progress(progress)).unwrap();
        }
        let trace = builder.build().unwrap();
        for info in ALL {
            let detector = info.build(preset, Actors::All, &Value::Null).unwrap();
            let _ = detector.detect(&trace);
        }
    }
}
