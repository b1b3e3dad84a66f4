//! A naive statement of `loop` with the `repeat` definition: a key that recurs between two gains of progress.

use wrongturn::detect::{Evidence, LoopConfig, LoopEvidence, LoopKind};

use super::Expected;
use super::run::{Done, Run, incomparable};

pub(crate) fn looping(run: &Run, config: &LoopConfig) -> Expected {
    let actions = run.actions(config.actors);
    if incomparable(&actions) {
        return Expected::NotApplicable;
    }
    let mut findings = Vec::new();
    for segment in segments(&actions) {
        let count = |key: &Done<'_>| segment.iter().filter(|action| same_key(action, key)).count();
        if let Some(highest) =
            segment.iter().map(count).max().filter(|&count| count as u64 >= config.min_repeats)
        {
            let is_first = |at: &usize| !segment[..*at].iter().any(|before| same_key(before, &segment[*at]));
            let keys: Vec<&Done<'_>> = (0..segment.len()).filter(is_first).map(|at| &segment[at]).collect();
            let most = keys.iter().find(|key| count(key) == highest);
            let is_period = |period: &usize| {
                (*period..segment.len()).all(|at| same_key(&segment[at - period], &segment[at]))
            };
            let evidence = LoopEvidence {
                kind: LoopKind::Repeat,
                repeat_count: highest as u64,
                action: most.map_or_else(String::new, |key| folded(key.call.name)),
                location: most.and_then(|key| key.event.location).map(str::to_owned),
                repeating_keys: Some(keys.iter().filter(|key| count(key) >= 2).count() as u64),
                period: (1..=segment.len() / 2).find(is_period).map(|period| period as u64),
            };
            let (first, last) = (segment[0].step(), segment[segment.len() - 1].step());
            findings.push((first, last, Evidence::Loop(evidence)));
        }
    }
    Expected::of(findings)
}

pub(super) fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Compares location, name and arguments. Arguments that were not recorded equal no others.
fn same_key(left: &Done<'_>, right: &Done<'_>) -> bool {
    left.event.location == right.event.location
        && folded(left.call.name) == folded(right.call.name)
        && left.same_arguments(right)
}

/// Splits actions at gains over the latest known progress.
fn segments<'a>(actions: &[Done<'a>]) -> Vec<Vec<Done<'a>>> {
    let known_before = |at: usize| actions[..at].iter().rev().find_map(|action| action.event.progress);
    let gains = |at: &usize| match (known_before(*at), actions[*at].event.progress) {
        (Some(before), Some(now)) => now > before,
        _ => false,
    };
    let mut bounds = vec![0];
    bounds.extend((1..actions.len()).filter(gains));
    bounds.push(actions.len());
    bounds.windows(2).map(|pair| actions[pair[0]..pair[1]].to_vec()).collect()
}
