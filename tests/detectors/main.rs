//! The detectors against the definitions: a naive statement of each definition on drawn runs, in one pass over a whole
//! trace and step by step. Cases written by hand are in `tests/detect`.

#![allow(
    clippy::indexing_slicing,
    reason = "a naive statement says `actions[i]`; a wrong one fails its test"
)]

mod definitions;
#[path = "../naive/mod.rs"]
mod naive;
mod online;
mod registry;

use std::sync::Arc;

use naive::draw;
use naive::{Expected, Run, place_and_facts};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use wrongturn::{
    Detector, Evidence, ExpectedAction, ExpectedActionConfig, FeedbackBlindness, FeedbackBlindnessConfig,
    Finding, Loop, LoopConfig, LoopDefinition, MalformedCall, MalformedCallConfig, Monitor,
    RouteInefficiency, RouteInefficiencyConfig, RouteInefficiencyEvidence, ToolErrorRecovery,
    ToolErrorRecoveryConfig, Trace, Verdict, WastedActions, WastedActionsConfig,
};

/// One configuration of every detector.
#[derive(Debug, Clone)]
struct Configs {
    blindness: FeedbackBlindnessConfig,
    looping: LoopConfig,
    route: RouteInefficiencyConfig,
    recovery: ToolErrorRecoveryConfig,
    waste: WastedActionsConfig,
    malformed: MalformedCallConfig,
    missed: ExpectedActionConfig,
}

const BLINDNESS: usize = 0;
const LOOP: usize = 1;
const ROUTE: usize = 2;
const RECOVERY: usize = 3;
const WASTE: usize = 4;
const MALFORMED: usize = 5;
const MISSED: usize = 6;

impl Configs {
    fn detectors(&self) -> wrongturn::Result<Vec<Arc<dyn Detector>>> {
        Ok(vec![
            Arc::new(FeedbackBlindness::new(self.blindness.clone())?),
            Arc::new(Loop::new(self.looping.clone())?),
            Arc::new(RouteInefficiency::new(self.route.clone())?),
            Arc::new(ToolErrorRecovery::new(self.recovery.clone())?),
            Arc::new(WastedActions::new(&self.waste)?),
            Arc::new(MalformedCall::new(self.malformed.clone())?),
            Arc::new(ExpectedAction::new(self.missed.clone())?),
        ])
    }

    /// What the definitions say of a run, in the order of the detectors.
    fn expected(&self, run: &Run) -> Vec<Expected> {
        vec![
            naive::feedback_blindness(run, &self.blindness),
            naive::looping(run, &self.looping),
            naive::route_inefficiency(run, &self.route),
            naive::tool_error_recovery(run, &self.recovery),
            naive::wasted_actions(run, &self.waste),
            naive::malformed_call(run, &self.malformed),
            naive::expected_action(run, &self.missed),
        ]
    }
}

fn configs() -> impl Strategy<Value = Configs> {
    let looping = prop_oneof![2 => draw::loop_config(LoopDefinition::Stuck), 1 => draw::loop_config(LoopDefinition::Repeat)];
    let opt_in = (draw::malformed_config(), draw::missed_config());
    (
        draw::feedback_config(),
        looping,
        draw::route_config(),
        draw::recovery_config(),
        draw::waste_config(),
        opt_in,
    )
        .prop_map(|(blindness, looping, route, recovery, waste, (malformed, missed))| Configs {
            blindness,
            looping,
            route,
            recovery,
            waste,
            malformed,
            missed,
        })
}

fn detect(detectors: &[Arc<dyn Detector>], trace: &Trace) -> Vec<Verdict> {
    detectors.iter().map(|detector| detector.detect(trace)).collect()
}

/// What was told while a run went on: after each step, in the order of the detectors.
type Told = Vec<Vec<Finding>>;

/// Feeds a run step by step.
fn follow(detectors: &[Arc<dyn Detector>], run: &Run) -> wrongturn::Result<(Vec<Told>, Vec<Verdict>)> {
    let mut monitor = Monitor::new(detectors, &run.route.clone().into())?;
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

fn places(findings: &[Finding]) -> Vec<(u64, u64, Evidence)> {
    findings.iter().map(place_and_facts).collect()
}

/// The two milestones that a finding lies between; that of a whole run has none, and is told at the end.
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

/// Whether a loop's action is spelled as some call of the run, trimmed.
fn is_named_as_called(run: &Run, finding: &Finding) -> bool {
    let Evidence::Loop(evidence) = &finding.evidence else { return false };
    let mut calls = run.events.iter().filter_map(|event| event.call.as_ref());
    calls.any(|call| call.name.trim() == evidence.action)
}

/// The same value with the keys of every object in falling order, and numbers as floats.
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
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Properties that hold of empty verdicts prove little.
#[test]
fn the_runs_drawn_are_neither_all_sound_nor_all_faulty() {
    let mut runner = TestRunner::deterministic();
    let mut detected = [0; 7];
    for _ in 0..400 {
        let (run, configs) = (draw::run(), configs()).new_tree(&mut runner).unwrap().current();
        for (count, expected) in detected.iter_mut().zip(configs.expected(&run)) {
            *count += u32::from(!expected.findings().is_empty());
        }
    }
    assert!(detected.iter().all(|count| (30..370).contains(count)), "{detected:?}");
}
