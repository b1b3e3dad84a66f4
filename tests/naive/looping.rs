//! Section 3.2.

use tracelint::{Evidence, LoopConfig, LoopDefinition, LoopEvidence, LoopKind};

use super::Expected;
use super::run::{Done, Run, same_json};
use super::transient::is_passed_over;

pub(crate) fn looping(run: &Run, config: &LoopConfig) -> Expected {
    let exempt =
        |action: &Done<'_>| config.exempt.iter().any(|name| folded(name) == folded(action.call.name));
    let mut actions = run.actions(config.actors);
    actions.retain(|action| !exempt(action) && !is_passed_over(config.transient.as_ref(), action));
    let mut findings = Vec::new();
    for segment in segments(&actions) {
        let parts = match config.definition {
            LoopDefinition::Stuck => stuck(&segment, config),
            LoopDefinition::Repeat => repeat(&segment, config),
        };
        findings.extend(parts.into_iter().map(|part| {
            let evidence = Evidence::Loop(loop_evidence(&segment, &part));
            (segment[part.first].step(), segment[part.last].step(), evidence)
        }));
    }
    Expected::of(findings)
}

/// What is passed over is not there, for its progress too; the previous action's progress is the latest known one.
fn segments<'a>(actions: &[Done<'a>]) -> Vec<Vec<Done<'a>>> {
    let known_before = |at: usize| actions[..at].iter().rev().find_map(|action| action.event.progress);
    let gains = |at: usize| match (known_before(at), actions[at].event.progress) {
        (Some(before), Some(now)) => now > before,
        _ => false,
    };
    let mut bounds = vec![0];
    bounds.extend((1..actions.len()).filter(|&at| gains(at)));
    bounds.push(actions.len());
    bounds.windows(2).map(|pair| actions[pair[0]..pair[1]].to_vec()).collect()
}

/// A stretch of a segment, in positions.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: usize,
    last: usize,
    kind: LoopKind,
}

impl Part {
    /// The earlier part begins earlier; of two that begin together, the chain comes first.
    fn is_earlier(&self, other: &Self) -> bool {
        self.first < other.first || self.first == other.first && self.kind == LoopKind::RepeatedCall
    }
}

pub(super) fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

fn same_key(left: &Done<'_>, right: &Done<'_>) -> bool {
    left.event.location == right.event.location
        && folded(left.call.name) == folded(right.call.name)
        && same_json(&left.arguments, &right.arguments)
}

fn same_observation(left: &Done<'_>, right: &Done<'_>) -> bool {
    left.call.observation == right.call.observation
}

fn repeat(segment: &[Done<'_>], config: &LoopConfig) -> Vec<Part> {
    let count = |key: &Done<'_>| segment.iter().filter(|action| same_key(action, key)).count() as u64;
    let whole = Part { first: 0, last: segment.len().saturating_sub(1), kind: LoopKind::Repeat };
    if segment.iter().any(|key| count(key) >= config.min_repeats) { vec![whole] } else { Vec::new() }
}

fn stuck(segment: &[Done<'_>], config: &LoopConfig) -> Vec<Part> {
    let mut parts = chains(segment, config);
    parts.extend(failure_runs(segment, config));
    // What overlaps becomes one, until nothing overlaps any more.
    while let Some((one, other)) = overlapping(&parts) {
        let (absorbed, part) = (parts.remove(other), parts[one]);
        let earlier = if part.is_earlier(&absorbed) { part } else { absorbed };
        parts[one] = Part { last: part.last.max(absorbed.last), ..earlier };
    }
    parts.sort_by_key(|part| part.first);
    parts
}

fn overlapping(parts: &[Part]) -> Option<(usize, usize)> {
    (0..parts.len())
        .flat_map(|other| (0..other).map(move |one| (one, other)))
        .find(|&(one, other)| parts[one].first <= parts[other].last && parts[other].first <= parts[one].last)
}

/// Repeated calls: chains as long as they get.
fn chains(segment: &[Done<'_>], config: &LoopConfig) -> Vec<Part> {
    let novel = |at: usize| {
        !segment[..at].iter().any(|a| same_key(a, &segment[at]) && same_observation(a, &segment[at]))
    };
    let next_of_key =
        |at: usize| (at + 1..segment.len()).find(|&next| same_key(&segment[at], &segment[next]));
    let follower = |at: usize| {
        next_of_key(at).filter(|&next| {
            let between = (at + 1..next).filter(|&at| novel(at)).count() as u64;
            same_observation(&segment[at], &segment[next]) && between <= config.max_gap
        })
    };
    let mut parts = Vec::new();
    for first in 0..segment.len() {
        if (0..first).any(|before| follower(before) == Some(first)) {
            continue;
        }
        let chain: Vec<usize> = std::iter::successors(Some(first), |&at| follower(at)).collect();
        if let Some(&last) = chain.last()
            && chain.len() as u64 >= config.min_repeats
        {
            parts.push(Part { first, last, kind: LoopKind::RepeatedCall });
        }
    }
    parts
}

/// Repeated failures: runs from success to success of a tool.
fn failure_runs(segment: &[Done<'_>], config: &LoopConfig) -> Vec<Part> {
    let same_tool =
        |one: usize, other: usize| folded(segment[one].call.name) == folded(segment[other].call.name);
    let same_run = |one: usize, other: usize| {
        same_tool(one, other) && !(one..other).any(|at| same_tool(at, other) && segment[at].is_ok())
    };
    let errors: Vec<usize> = (0..segment.len()).filter(|&at| segment[at].is_error()).collect();
    let mut parts = Vec::new();
    for &first in &errors {
        if errors.iter().any(|&before| before < first && same_run(before, first)) {
            continue;
        }
        let run: Vec<usize> =
            errors.iter().copied().filter(|&at| at >= first && same_run(first, at)).collect();
        let again =
            |at: usize| run.iter().any(|&before| before < at && same_key(&segment[before], &segment[at]));
        let repeats = run.iter().filter(|&&at| again(at)).count() as u64;
        if let Some(&last) = run.last()
            && run.len() as u64 >= config.min_failures
            && repeats >= config.min_failures - 1
        {
            parts.push(Part { first, last, kind: LoopKind::RepeatedFailure });
        }
    }
    parts
}

/// Counts are taken within the range; first seen is first seen in the segment. Of several spellings of the name any
/// will do, so that this is compared folded.
fn loop_evidence(segment: &[Done<'_>], part: &Part) -> LoopEvidence {
    let range = &segment[part.first..=part.last];
    let count = |key: &Done<'_>| range.iter().filter(|action| same_key(action, key)).count();
    let is_first = |at: usize| !segment[..at].iter().any(|before| same_key(before, &segment[at]));
    let keys: Vec<&Done<'_>> = (0..segment.len()).filter(|&at| is_first(at)).map(|at| &segment[at]).collect();
    let highest = keys.iter().map(|key| count(key)).max().unwrap_or(0);
    let most = keys.iter().find(|key| count(key) == highest);
    let is_period = |period: usize| (period..range.len()).all(|at| same_key(&range[at - period], &range[at]));
    LoopEvidence {
        kind: part.kind,
        repeat_count: highest as u64,
        repeating_keys: keys.iter().filter(|key| count(key) >= 2).count() as u64,
        action: most.map_or_else(String::new, |key| folded(key.call.name)),
        location: most.and_then(|key| key.event.location).map(str::to_owned),
        period: (1..=range.len() / 2).find(|&period| is_period(period)).map(|period| period as u64),
    }
}
