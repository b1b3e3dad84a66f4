//! The same folds step by step: nothing is told late, and nothing is taken back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wrongturn::{
    Action, Actor, ErrorKind, Finding, Monitor, Status, StepInput, Update, UpdateKind, Usage, Verdict,
    default_detectors, detector_info,
};

use crate::naive::{self, draw};
use crate::{
    BLINDNESS, LOOP, MALFORMED, MISSED, RECOVERY, ROUTE, WASTE, config, configs, detect, follow, places,
    sorted_ends,
};

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
        // Turns without a call extend a finding.
        let ids = |findings: &[Finding]| findings.iter().map(|one| (one.first, one.id.clone())).collect::<Vec<_>>();
        prop_assert_eq!(ids(&told[MALFORMED]), ids(verdicts[MALFORMED].findings()));
        prop_assert!(told[RECOVERY].is_empty() && told[WASTE].is_empty() && told[MISSED].is_empty());
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
            let firsts = so_far[MALFORMED].findings().iter().map(|(first, _, _)| *first);
            prop_assert!(told[MALFORMED].iter().map(|finding| finding.first).eq(firsts));
            prop_assert_eq!(told[LOOP].is_empty(), so_far[LOOP].findings().is_empty());
            prop_assert_eq!(
                sorted_ends(told[ROUTE].iter().map(|finding| &finding.evidence)),
                sorted_ends(so_far[ROUTE].findings().iter().map(|(_, _, evidence)| evidence))
            );
        }
    }

    /// Every finding that is told has one series of updates, which ends in what the verdict says.
    #[test]
    fn updates_of_a_finding_are_a_series(run in draw::run(), configs in configs(), every in 1_usize..4) {
        let detectors = configs.detectors().unwrap();
        let mut monitor = Monitor::new(&detectors, &run.route.clone().into()).unwrap();
        let mut updates = Vec::new();
        for (position, event) in run.events.iter().enumerate() {
            monitor.observe(event.input()).unwrap();
            if position % every == 0 {
                updates.extend(monitor.updates());
            }
        }
        let end = monitor.conclude();
        updates.extend(end.updates);
        check_series(&updates, &end.verdicts)?;
    }

    /// A look at the middle of a run is the verdict on its first half, under the ids that the updates bear.
    #[test]
    fn a_peek_is_the_verdict_on_the_steps_so_far(run in draw::run(), configs in configs()) {
        let detectors = configs.detectors().unwrap();
        let mut monitor = Monitor::new(&detectors, &run.route.clone().into()).unwrap();
        let middle = run.events.len() / 2;
        for event in &run.events[..middle] {
            monitor.observe(event.input()).unwrap();
        }
        let peeked: Vec<Verdict> = monitor.peek().into_iter().map(|(_, verdict)| verdict).collect();
        prop_assert_eq!(peeked, detect(&detectors, &run.before(middle).trace().unwrap()));
        for event in &run.events[middle..] {
            monitor.observe(event.input()).unwrap();
        }
        let verdicts: Vec<Verdict> = monitor.finish().into_iter().map(|(_, verdict)| verdict).collect();
        prop_assert_eq!(verdicts, detect(&detectors, &run.trace().unwrap()));
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
                let _ = fold.verdict();
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
            prop_assert_eq!(fold.verdict(), fresh.verdict());
        }
    }
}

fn check_series(updates: &[Update], verdicts: &[(&'static str, Verdict)]) -> Result<(), TestCaseError> {
    let mut state: BTreeMap<&str, UpdateKind> = BTreeMap::new();
    for update in updates {
        let before = state.insert(&update.finding.id, update.kind);
        match update.kind {
            UpdateKind::Opened => prop_assert_eq!(before, None),
            UpdateKind::Closed => {
                prop_assert!(
                    !matches!(before, Some(UpdateKind::Merged | UpdateKind::Closed)),
                    "{:?}",
                    update
                );
            }
            UpdateKind::Grown | UpdateKind::Merged => {
                prop_assert!(matches!(before, Some(UpdateKind::Opened | UpdateKind::Grown)), "{:?}", update);
            }
            _ => prop_assert!(false, "{update:?}"),
        }
        prop_assert_eq!(update.into.is_some(), update.kind == UpdateKind::Merged);
    }
    let closed: Vec<&Finding> = updates
        .iter()
        .filter(|update| update.kind == UpdateKind::Closed)
        .map(|update| &update.finding)
        .collect();
    let found: Vec<&Finding> = verdicts.iter().flat_map(|(_, verdict)| verdict.findings()).collect();
    prop_assert_eq!(&closed, &found);
    for update in updates.iter().filter(|update| update.kind == UpdateKind::Merged) {
        let into = found.iter().find(|finding| finding.merged.contains(&update.finding.id));
        prop_assert!(
            into.is_some_and(|into| into.first <= update.finding.first && update.finding.last <= into.last)
        );
    }
    prop_assert!(state.values().all(|kind| matches!(kind, UpdateKind::Closed | UpdateKind::Merged)));
    Ok(())
}

/// An action with this argument, answered always the same.
fn step(name: &str, argument: u32, status: Status) -> StepInput<'_> {
    let action = Action::new(name).arguments(&serde_json::json!(argument)).answered(status, "as before");
    StepInput::action(Actor::Agent, action)
}

/// Two loops that a longer one joins: the first to be told keeps its name.
#[test]
fn loops_that_grow_together_are_merged_by_name() {
    let detectors = vec![detector_info("loop").unwrap().default_detector()];
    let mut monitor = Monitor::new(&detectors, &None.into()).unwrap();
    let mut told = Vec::new();
    for name in ["b", "b", "b", "b", "x", "c", "c", "c", "c", "b", "b"] {
        monitor.observe(step(name, 0, Status::Ok)).unwrap();
        told.extend(monitor.updates());
    }
    let end = monitor.conclude();
    let names = |updates: &[Update]| -> Vec<String> {
        let name = |update: &Update| {
            let into = update.into.as_ref().map_or(String::new(), |into| format!(" into {into}"));
            format!(
                "{} {} {}-{}{into}",
                update.kind, update.finding.id, update.finding.first, update.finding.last
            )
        };
        updates.iter().map(name).collect()
    };
    assert_eq!(names(&told), ["opened loop:3 0-3", "opened loop:8 5-8"]);
    assert_eq!(names(&end.updates), ["merged loop:8 5-8 into loop:3", "closed loop:3 0-10"]);
    assert_eq!(end.verdicts[0].1.findings()[0].merged, ["loop:8"]);
}

/// Growth is told at doublings: few updates of a loop however long it is.
#[test]
fn a_long_loop_is_told_now_and_then() {
    let detectors = vec![detector_info("loop").unwrap().default_detector()];
    let mut monitor = Monitor::new(&detectors, &None.into()).unwrap();
    let mut told = Vec::new();
    for _ in 0..1000 {
        monitor.observe(step("look", 0, Status::Ok)).unwrap();
        told.extend(monitor.updates().into_iter().map(|update| (update.kind, update.finding.last)));
    }
    let grown: Vec<u64> = (1..8).map(|power| 4 * (1 << power) - 1).collect();
    assert_eq!(told[0], (UpdateKind::Opened, 3));
    assert_eq!(told[1..].iter().map(|(_, last)| *last).collect::<Vec<_>>(), grown);
}

/// A trace that holds too much is judged no further than its memory goes, and says so.
#[test]
fn a_cap_on_memory_stops_the_largest_and_says_so() {
    let detectors = default_detectors();
    let limit = 60_000;
    let mut monitor = Monitor::new(&detectors, &None.into()).unwrap().with_memory_limit(limit);
    for _ in 0..4 {
        monitor.observe(step("look", 0, Status::Ok)).unwrap();
    }
    for number in 0..20_000 {
        monitor.observe(step("book", number, Status::Error)).unwrap();
        assert!(monitor.memory() <= limit + 10_000, "{number}: {}", monitor.memory());
    }
    let verdicts = monitor.finish();
    let of = |id: &str| &verdicts.iter().find(|(other, _)| *other == id).unwrap().1;
    let looping = of("loop").judgement().unwrap();
    assert!(looping.detected && looping.stopped_at.is_some() && of("loop").is_stopped());
    let recovery = serde_json::to_value(of("tool_error_recovery")).unwrap();
    assert!(recovery["not_applicable"].as_str().unwrap().starts_with("stopped at step "), "{recovery}");
    assert!(of("tool_error_recovery").is_stopped() && !of("route_inefficiency").is_stopped());
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

#[test]
fn a_trace_is_concluded_once_and_written_as_json() {
    let detectors = default_detectors();
    let mut monitor = Monitor::new(&detectors, &None.into()).unwrap();
    let mut ends = Vec::new();
    for _ in 0..2 {
        for turn in 0..5 {
            monitor.observe(naive::error("book", None, "sold out").input().at(turn).turn(turn)).unwrap();
        }
        let end = monitor.conclude();
        let again = monitor.conclude();
        assert_eq!((&again.verdicts, again.updates.len()), (&end.verdicts, 0));
        ends.push(end);
        monitor.reopen(&None.into());
    }
    assert_eq!(ends[0], ends[1]);
    let json = serde_json::to_value(&ends[0]).unwrap();
    assert_eq!(json["verdicts"]["loop"]["detected"], true);
    let closed = &json["updates"][0];
    assert_eq!(closed["kind"], "closed");
    assert!(closed["finding"]["id"].is_string() && closed.get("into").is_none(), "{closed}");
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
        verdicts.push(monitor.conclude().verdicts);
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
    assert_eq!(looping.id, "loop:2");
    assert_eq!(looping.message, "`book` called 5 times with the same arguments and the same answer");
    let json = serde_json::to_value(looping).unwrap();
    assert_eq!(json["cost"], serde_json::json!({"steps": 5, "duration_ns": 10, "input_tokens": 500}));
    let read: Finding = serde_json::from_value(json).unwrap();
    assert_eq!(&read, looping);
}
