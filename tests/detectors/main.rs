//! Tests properties of all detectors on drawn runs, over a whole trace and step by step, and the published
//! rules against a naive statement of each. `tests/detect` has cases written by hand.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a naive statement says `actions[i]`, and helpers of tests say what they expect by failing"
)]

#[path = "../custom/mod.rs"]
mod custom;
mod definitions;
mod hostile;
mod monitor;
#[path = "../naive/mod.rs"]
mod naive;
mod online;
mod registry;

use std::sync::Arc;

use naive::{Run, draw};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use wrongturn::{
    Detector, Finding, Monitor, Trace, Verdict,
    detect::{ALL, Evidence, RouteInefficiencyEvidence},
};

/// Returns the position of a detector in the registry.
fn place(id: &str) -> usize {
    ALL.iter().position(|info| info.id == id).unwrap()
}

fn detect(detectors: &[Arc<dyn Detector>], trace: &Trace) -> Vec<Verdict> {
    detectors.iter().map(|detector| detector.detect(trace)).collect()
}

/// The findings reported so far, in the order of the detectors.
type Told = Vec<Vec<Finding>>;

/// Feeds a run to a monitor step by step. Returns the findings reported up to each step, and the verdicts.
fn follow(detectors: &[Arc<dyn Detector>], run: &Run) -> wrongturn::Result<(Vec<Told>, Vec<Verdict>)> {
    let mut monitor = Monitor::new(detectors)?.with_routing(&run.route.clone().into());
    let mut told: Told = vec![Vec::new(); detectors.len()];
    let mut after_each = Vec::new();
    for event in &run.events {
        monitor.observe(event.input())?;
        for finding in monitor.new_findings() {
            let of = detectors.iter().position(|detector| detector.id() == finding.detector);
            told[of.unwrap_or_default()].push(finding);
        }
        after_each.push(told.clone());
    }
    Ok((after_each, monitor.finish().into_iter().map(|(_, verdict)| verdict).collect()))
}

/// Returns the two milestones around a finding. A finding about a whole run has none, and is reported at the
/// end.
fn ends(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::RouteInefficiency(RouteInefficiencyEvidence::Pair(pair)) => {
            Some(format!("{:?} {:?}", pair.from, pair.to))
        }
        _ => None,
    }
}

fn sorted_ends<'a>(evidence: impl Iterator<Item = &'a Evidence>) -> Vec<String> {
    let mut ends: Vec<_> = evidence.filter_map(ends).collect();
    ends.sort();
    ends
}

/// Returns the same value with the keys of every object in descending order, and numbers as floats.
fn respelled(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by(|left, right| right.0.cmp(left.0));
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{} : {}", Value::String(key.clone()), respelled(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(respelled).collect::<Vec<_>>().join(","))
        }
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| format!("{number:?}"))
        }
        other => other.to_string(),
    }
}

fn with_other_spelling(run: &Run) -> Run {
    let mut other = run.clone();
    for call in other.events.iter_mut().filter_map(|event| event.call.as_mut()) {
        call.arguments = call.arguments.as_deref().map(|json| {
            serde_json::from_str::<Value>(json).map_or_else(|_| json.to_owned(), |value| respelled(&value))
        });
    }
    other
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() }
}

/// Guards against properties that hold only because every verdict is empty.
#[test]
fn the_runs_drawn_are_neither_all_sound_nor_all_faulty() {
    let mut runner = TestRunner::deterministic();
    let mut detected = vec![0; ALL.len()];
    for _ in 0..400 {
        let (run, detectors) = (draw::run(), draw::detectors()).new_tree(&mut runner).unwrap().current();
        let verdicts = detect(&detectors, &run.trace().unwrap());
        for (count, verdict) in detected.iter_mut().zip(verdicts) {
            *count += u32::from(!verdict.findings().is_empty());
        }
    }
    assert!(detected.iter().all(|count| (30..370).contains(count)), "{detected:?}");
}
