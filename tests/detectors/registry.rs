//! What every detector of the registry has to bring along.

use std::path::Path;

use proptest::prelude::*;
use wrongturn::{ALL, Actors, DetectorInfo, GoldenSet, Preset, Trace, Verdict};

use crate::config;
use crate::naive::{self, cases, draw};

/// Without content there is nothing to compare: no detector that compares makes something of it. How tools recover
/// does not depend on it.
fn without_content(mut run: naive::Run) -> naive::Run {
    for event in &mut run.events {
        event.text = "";
        if let Some(call) = &mut event.call {
            call.left_out = (true, true);
        }
    }
    run
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_not_recorded_makes_no_finding(run in draw::run()) {
        let (full, bare) = (run.trace().unwrap(), without_content(run).trace().unwrap());
        for detector in ALL.iter().map(DetectorInfo::default_detector) {
            let verdict = detector.detect(&bare);
            if detector.id() == "tool_error_recovery" {
                prop_assert_eq!(verdict.detected(), detector.detect(&full).detected());
                continue;
            }
            // A route of scores compares nothing.
            let by_score = serde_json::to_value(&bare).unwrap()["route"]["kind"] == "scores";
            let id = detector.id();
            prop_assert!(verdict.findings().is_empty() || by_score, "{id} finds what was not recorded: {verdict:?}");
            let acted = bare.steps().any(|step| step.action_of(Actors::Agent).is_some());
            let silent = matches!(verdict, Verdict::NotApplicable { .. });
            prop_assert!(
                silent || !acted || by_score,
                "{id} judges a run whose arguments and answers were left out; it should be not applicable, or be named \
                 here as one that needs neither: {verdict:?}"
            );
        }
    }
}

#[test]
fn every_detector_has_its_page_golden_entries_cases_and_naive_statement() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let golden = GoldenSet::load(&[root.join("golden")], &known).unwrap();
    let empty = naive::Run::new(Vec::new(), None);
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
        if !cases::all().iter().any(|case| case.detector == id) {
            missing.push(format!("{id}: no sharp edges in tests/naive/cases"));
        }
        if let Err(error) = naive::expected(id, info.config(Preset::Default, Actors::Agent), &empty) {
            missing.push(format!("{id}: {error} in tests/naive"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn verdicts_are_read_back_from_their_json() {
    for case in cases::all() {
        let info = ALL.iter().find(|info| info.id == case.detector).unwrap();
        let detector = info.build(case.preset, Actors::Agent, &case.config).unwrap();
        let trace: Trace = case.run.trace().unwrap();
        let verdict = detector.detect(&trace);
        let json = serde_json::to_value(&verdict).unwrap();
        let read: Verdict = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(read.findings(), verdict.findings(), "{}", case.name);
        assert_eq!(serde_json::to_value(&read).unwrap(), json, "{}", case.name);
    }
}
