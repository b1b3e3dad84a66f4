//! What every detector of the registry has to bring along.

use std::path::Path;

use serde_json::Value;
use wrongturn::{
    ALL, Action, Actor, Actors, GoldenSet, Milestone, Preset, ReferenceRoute, Status, StepInput, Trace,
};

#[test]
fn every_detector_has_its_page_golden_entries_and_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let golden = GoldenSet::load(&[root.join("golden")], &known).unwrap();
    let mut missing = Vec::new();
    for info in ALL {
        let id = info.id;
        let page = std::fs::read_to_string(root.join(format!("src/detect/docs/{id}.md"))).unwrap_or_default();
        if page != info.docs {
            missing.push(format!("{id}: no page src/detect/docs/{id}.md, or another one"));
        }
        let entries = golden.of(id).count();
        // What is opt-in is seldom asked for, and makes no promise of a tier: its entries show what it means.
        if entries < if info.opt_in { 10 } else { 20 } {
            missing.push(format!("{id}: {entries} golden entries in golden/{id}.jsonl are not enough"));
        }
        let cases = std::fs::read_dir(root.join("tests/detect").join(id)).into_iter().flatten().flatten();
        if !cases.into_iter().any(|file| file.path().extension().is_some_and(|extension| extension == "md")) {
            missing.push(format!("{id}: no cases in tests/detect/{id}/*.md"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
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
