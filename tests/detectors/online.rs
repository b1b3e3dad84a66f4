//! The same folds step by step: nothing is told late, and nothing is taken back.

use proptest::prelude::*;
use tracelint::{ErrorKind, Finding, Monitor, Usage, default_detectors};

use crate::naive::{self, draw};
use crate::{BLINDNESS, LOOP, RECOVERY, ROUTE, WASTE, config, configs, detect, follow, places, sorted_ends};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn online_the_verdicts_are_the_same(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let (_, verdicts) = follow(&detectors, &run).unwrap();
        prop_assert_eq!(verdicts, detect(&detectors, &run.trace().unwrap()));
    }

    #[test]
    fn online_nothing_is_told_that_the_verdict_takes_back(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let (after_each, verdicts) = follow(&detectors, &run).unwrap();
        let Some(told) = after_each.last() else { return Ok(()) };
        prop_assert_eq!(&told[BLINDNESS][..], verdicts[BLINDNESS].findings());
        prop_assert!(told[RECOVERY].is_empty() && told[WASTE].is_empty());
        let within = |one: &Finding, other: &Finding| other.first <= one.first && one.last <= other.last;
        let (told_loops, loops) = (&told[LOOP], verdicts[LOOP].findings());
        prop_assert!(told_loops.iter().all(|one| loops.iter().any(|other| within(one, other))));
        prop_assert!(loops.iter().all(|one| told_loops.iter().any(|other| within(other, one))));
        let of = |findings: &[Finding]| sorted_ends(findings.iter().map(|finding| &finding.evidence));
        prop_assert_eq!(of(&told[ROUTE]), of(verdicts[ROUTE].findings()));
    }

    #[test]
    fn online_what_is_certain_is_told_at_once(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let (after_each, _) = follow(&detectors, &run).unwrap();
        for (position, told) in after_each.iter().enumerate() {
            let so_far = configs.expected(&run.before(position + 1));
            prop_assert_eq!(places(&told[BLINDNESS]), so_far[BLINDNESS].findings());
            prop_assert_eq!(told[LOOP].is_empty(), so_far[LOOP].findings().is_empty());
            prop_assert_eq!(
                sorted_ends(told[ROUTE].iter().map(|finding| &finding.evidence)),
                sorted_ends(so_far[ROUTE].findings().iter().map(|(_, _, evidence)| evidence))
            );
        }
    }

    #[test]
    fn a_fold_that_is_used_again_is_as_new(
        before in draw::run(),
        is_over: bool,
        run in draw::run(),
        configs in configs(),
    ) {
        let (before, trace) = (before.trace().unwrap(), run.trace().unwrap());
        for detector in configs.detectors().unwrap() {
            let mut fold = detector.start(before.routing());
            before.steps().for_each(|step| fold.observe(&step));
            if is_over {
                let _ = fold.finish();
            }
            if !fold.restart(trace.routing()) {
                continue;
            }
            prop_assert!(fold.certain().is_empty());
            let mut fresh = detector.start(trace.routing());
            for step in trace.steps() {
                fold.observe(&step);
                fresh.observe(&step);
                prop_assert_eq!(fold.certain(), fresh.certain());
            }
            prop_assert_eq!(fold.finish(), fresh.finish());
        }
    }
}

#[test]
fn a_step_that_is_refused_is_left_out() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors, &None.into()).unwrap();
    let fail = naive::error("book", None, "sold out");
    monitor.observe(fail.input().at(7).turn(7)).unwrap();
    for refused in [fail.input().at(7), fail.input().at(3), fail.input().at(8).progress(f64::NAN)] {
        assert_eq!(monitor.observe(refused).unwrap_err().kind(), ErrorKind::Trace);
        assert_eq!(monitor.new_findings().count(), 0);
    }
    monitor.observe(fail.input().at(8).turn(8)).unwrap();
    let told: Vec<_> =
        monitor.new_findings().map(|finding| (finding.detector.into_owned(), finding.first)).collect();
    assert_eq!(told, [("feedback_blindness".to_owned(), 8)]);
    assert_eq!(monitor.new_findings().count(), 0, "nothing is told twice");
    let verdicts = monitor.finish();
    let detected: Vec<_> = verdicts.iter().map(|(id, verdict)| (*id, verdict.detected())).collect();
    let expected = [
        ("feedback_blindness", Some(true)),
        ("loop", Some(false)),
        ("route_inefficiency", None),
        ("tool_error_recovery", Some(true)),
        ("wasted_actions", Some(false)),
    ];
    assert_eq!(detected, expected);
}

#[test]
fn two_detectors_of_one_name_are_refused() {
    let mut detectors = default_detectors();
    detectors.push(std::sync::Arc::clone(&detectors[1]));
    let error = Monitor::new(&detectors, &None.into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("`loop`"), "{error}");
}

/// A monitor that is opened again has forgotten everything, and findings tell what their steps took.
#[test]
fn findings_carry_the_cost_of_their_steps() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors, &None.into()).unwrap();
    let mut verdicts = Vec::new();
    for _ in 0..2 {
        for turn in 0..5 {
            let usage = Usage { input_tokens: Some(100), duration_ns: Some(turn), ..Usage::default() };
            let fail = naive::error("book", None, "sold out");
            monitor.observe(fail.input().at(turn).turn(turn).usage(usage)).unwrap();
        }
        let told: Vec<Finding> = monitor.new_findings().collect();
        assert!(told.iter().all(|finding| finding.cost.is_some()));
        verdicts.push(monitor.close());
        monitor.reopen(&None.into());
    }
    assert_eq!(verdicts[0], verdicts[1]);
    let of = |id: &str| verdicts[0].iter().find(|(other, _)| *other == id).unwrap().1.findings().to_vec();
    let [looping] = &of("loop")[..] else { panic!("one loop") };
    let cost = looping.cost.unwrap();
    assert_eq!(
        (cost.steps, cost.input_tokens, cost.output_tokens, cost.duration_ns),
        (5, Some(500), None, Some(10))
    );
    assert_eq!(looping.id, "loop:0-4");
    assert_eq!(looping.message, "`book` called 5 times with the same arguments and the same answer");
    let json = serde_json::to_value(looping).unwrap();
    assert_eq!(json["cost"], serde_json::json!({"steps": 5, "duration_ns": 10, "input_tokens": 500}));
    let read: Finding = serde_json::from_value(json).unwrap();
    assert_eq!(&read, looping);
}
