//! Tests rules against their naive statements, and properties of every verdict, on drawn runs.

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wrongturn::{
    Status, Step, Trace,
    detect::{ALL, DetectorInfo, Preset, detector_info},
    trace::{Actors, ReferenceRoute, Target},
};

use crate::naive::{self, Expected, Run, draw};
use crate::{config, detect, follow, with_other_spelling};

/// Compares the verdict of a detector with that of its naive statement.
fn check<C: DeserializeOwned>(
    detector: &str,
    run: &Run,
    config: &Value,
    naive: impl Fn(&Run, &C) -> Expected,
) -> Result<(), TestCaseError> {
    let expected = naive(run, &serde_json::from_value(config.clone()).unwrap());
    let built = detector_info(detector).unwrap().build(Preset::Default, Actors::Agent, config).unwrap();
    prop_assert_eq!(Expected::from(&built.detect(&run.trace().unwrap())), expected);
    Ok(())
}

/// Removes all texts, arguments and answers, so detectors have nothing to compare. Recovery depends on
/// statuses alone.
fn without_content(mut run: Run) -> Run {
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
    fn the_recovery_rate_is_as_published(
        run in draw::run(),
        config in draw::config("tool_error_recovery", Preset::BenchTrace),
    ) {
        check("tool_error_recovery", &run, &config, naive::tool_error_recovery)?;
    }

    #[test]
    fn repeat_is_as_published(run in draw::run(), config in draw::config("loop", Preset::BenchTrace)) {
        check("loop", &run, &config, naive::looping)?;
    }

    #[test]
    fn phrases_are_as_published(
        run in draw::run(),
        config in draw::config("feedback_blindness", Preset::BenchTrace),
    ) {
        check("feedback_blindness", &run, &config, naive::feedback_blindness)?;
    }

    #[test]
    fn pairs_of_milestones_are_as_defined(
        run in draw::run(),
        mut config in draw::config("route_inefficiency", Preset::Default),
    ) {
        let milestones = run.route.iter().flat_map(ReferenceRoute::milestones);
        if !milestones.map(|milestone| &milestone.target).any(|target| matches!(target, Target::Score(_))) {
            config["routes"] = json!("pairs");
        }
        check("route_inefficiency", &run, &config, naive::route_inefficiency)?;
    }

    #[test]
    fn malformed_call_is_as_defined(
        run in draw::run(),
        config in draw::config("malformed_call", Preset::Default),
    ) {
        check("malformed_call", &run, &config, naive::malformed_call)?;
    }

    #[test]
    fn expected_action_is_as_defined(
        run in draw::run(),
        config in draw::config("expected_action", Preset::Default),
    ) {
        check("expected_action", &run, &config, naive::expected_action)?;
    }

    #[test]
    fn the_spelling_of_arguments_does_not_matter(run in draw::run(), detectors in draw::detectors()) {
        let verdicts = detect(&detectors, &run.trace().unwrap());
        let other = with_other_spelling(&run);
        prop_assert_eq!(&detect(&detectors, &other.trace().unwrap()), &verdicts);
        prop_assert_eq!(follow(&detectors, &other).unwrap().1, verdicts);
    }

    #[test]
    fn native_json_keeps_everything(run in draw::run(), detectors in draw::detectors()) {
        let trace = run.trace().unwrap();
        let read: Trace = serde_json::from_str(&serde_json::to_string(&trace).unwrap()).unwrap();
        prop_assert_eq!(&read, &trace);
        prop_assert_eq!(detect(&detectors, &read), detect(&detectors, &trace));
    }

    #[test]
    fn what_was_not_recorded_makes_no_finding(run in draw::run()) {
        let bare = without_content(run).trace().unwrap();
        for detector in ALL.iter().map(DetectorInfo::default_detector) {
            let verdict = detector.detect(&bare);
            if detector.id() == "tool_error_recovery" {
                let mut actions = bare.steps().filter(|step| step.action_of(Actors::Agent).is_some());
                let is_failed = |step: Step<'_>| {
                    step.action_of(Actors::Agent).is_some_and(|action| action.status == Status::Error)
                };
                prop_assert!(actions.any(is_failed) || verdict.findings().is_empty(), "{:?}", verdict);
                continue;
            }
            // A route of scores needs no comparison.
            let by_score = serde_json::to_value(&bare).unwrap()["route"]["kind"] == "scores";
            let id = detector.id();
            prop_assert!(verdict.findings().is_empty() || by_score, "{id} finds what was not recorded: {verdict:?}");
            let acted = bare.steps().any(|step| step.action_of(Actors::Agent).is_some());
            // `wasted_actions` does not count polls as actions.
            let silent = verdict.detected().is_none() || verdict.measure("actions") == Some(0.0);
            prop_assert!(
                silent || !acted || by_score,
                "{id} judges a run whose arguments and answers were left out; it should be not applicable, or be named \
                 here as one that needs neither: {verdict:?}"
            );
        }
    }
}
