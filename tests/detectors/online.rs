//! Tests detectors step by step: findings are reported on time and never withdrawn.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use wrongturn::{
    Confidence, Finding, Monitor, Verdict, default_detectors,
    detect::with_min_confidence,
    live::{Update, UpdateKind},
};

use crate::naive::{self, Run, draw};
use crate::{config, detect, follow, place, sorted_ends};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn online_the_verdicts_are_the_same(run in draw::run(), detectors in draw::detectors()) {
        let (_, verdicts) = follow(&detectors, &run).unwrap();
        prop_assert_eq!(verdicts, detect(&detectors, &run.trace().unwrap()));
    }

    #[test]
    fn online_nothing_is_told_that_the_verdict_takes_back(run in draw::run(), detectors in draw::detectors()) {
        let (after_each, verdicts) = follow(&detectors, &run).unwrap();
        let Some(told) = after_each.last() else { return Ok(()) };
        if acted(&verdicts[place("feedback_blindness")]) {
            prop_assert_eq!(&told[place("feedback_blindness")][..], verdicts[place("feedback_blindness")].findings());
        }
        // Turns without a call extend a finding.
        let ids = |findings: &[Finding]| findings.iter().map(|one| (one.first, one.id.clone())).collect::<Vec<_>>();
        prop_assert_eq!(ids(&told[place("malformed_call")]), ids(verdicts[place("malformed_call")].findings()));
        for (detector, told) in detectors.iter().zip(told) {
            let waits = ["expected_action", "tool_error_recovery", "wasted_actions"].contains(&&*detector.id());
            prop_assert!(!waits || told.is_empty());
        }
        let within = |one: &Finding, other: &Finding| other.first <= one.first && one.last <= other.last;
        let (told_loops, loops) = (&told[place("loop")], verdicts[place("loop")].findings());
        prop_assert!(told_loops.iter().all(|one| loops.iter().any(|other| within(one, other))));
        let is_told = |one: &Finding| told_loops.iter().any(|other| within(other, one));
        prop_assert!(!acted(&verdicts[place("loop")]) || loops.iter().all(is_told));
        let of = |findings: &[Finding]| sorted_ends(findings.iter().map(|finding| &finding.evidence));
        prop_assert_eq!(of(&told[place("route_inefficiency")]), of(verdicts[place("route_inefficiency")].findings()));
    }

    /// A finding is reported at the first step at which a verdict on the run so far has it.
    #[test]
    fn online_what_is_certain_is_told_at_once(run in draw::run(), detectors in draw::detectors()) {
        let (after_each, _) = follow(&detectors, &run).unwrap();
        for (position, told) in after_each.iter().enumerate() {
            let so_far = detect(&detectors, &run.before(position + 1).trace().unwrap());
            if acted(&so_far[place("feedback_blindness")]) {
                prop_assert_eq!(&told[place("feedback_blindness")][..], so_far[place("feedback_blindness")].findings());
            }
            if acted(&so_far[place("loop")]) {
                prop_assert_eq!(told[place("loop")].is_empty(), so_far[place("loop")].findings().is_empty());
            }
            let firsts = |findings: &[Finding]| findings.iter().map(|one| one.first).collect::<Vec<_>>();
            prop_assert_eq!(firsts(&told[place("malformed_call")]), firsts(so_far[place("malformed_call")].findings()));
            let of = |findings: &[Finding]| sorted_ends(findings.iter().map(|finding| &finding.evidence));
            prop_assert_eq!(of(&told[place("route_inefficiency")]), of(so_far[place("route_inefficiency")].findings()));
        }
    }

    /// Every reported finding has one series of updates, which ends in its final form.
    #[test]
    fn updates_of_a_finding_are_a_series(
        run in draw::run(),
        detectors in draw::detectors(),
        every in 1_usize..4,
        least in select(vec![Confidence::Likely, Confidence::Certain]),
    ) {
        let detectors = with_min_confidence(detectors, least);
        let mut monitor = Monitor::new(&detectors).unwrap().with_routing(&run.route.clone().into());
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

    /// In the middle of a run, `peek` gives the verdicts on its first half, and does not change the final
    /// ones.
    #[test]
    fn a_peek_is_the_verdict_on_the_steps_so_far(run in draw::run(), detectors in draw::detectors()) {
        let mut monitor = Monitor::new(&detectors).unwrap().with_routing(&run.route.clone().into());
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
}

/// Returns true if the detector has judged an action.
fn acted(verdict: &Verdict) -> bool {
    verdict.measure("actions").is_some_and(|actions| actions > 0.0)
}

/// Four failures whose arguments are unknown give no finding.
#[test]
fn nothing_is_told_of_calls_whose_arguments_are_not_recorded() {
    let mut events = vec![naive::error("search", None, "not found"); 4];
    events.iter_mut().filter_map(|event| event.call.as_mut()).for_each(|call| call.left_out.0 = true);
    let (after_each, verdicts) = follow(&default_detectors(), &Run::new(events, None)).unwrap();
    assert!(verdicts.iter().take(2).all(|verdict| verdict.detected().is_none()));
    assert_eq!(after_each[3][..2], [vec![], vec![]]);
}

fn check_series(updates: &[Update], verdicts: &[(Cow<'static, str>, Verdict)]) -> Result<(), TestCaseError> {
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
