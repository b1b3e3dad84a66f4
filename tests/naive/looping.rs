//! Section 3.2.

use wrongturn::{Evidence, LoopConfig, LoopDefinition, LoopEvidence, LoopKind};

use super::Expected;
use super::novelty::{folded, is_novel, is_poll, same_key, segments};
use super::run::{Done, Run, incomparable};
use super::transient::is_passed_over;

/// What is passed over is not there, for its progress too.
pub(crate) fn looping(run: &Run, config: &LoopConfig) -> Expected {
    let all = run.actions(config.actors);
    if incomparable(&all) {
        return Expected::NotApplicable;
    }
    let mut actions = all.clone();
    actions.retain(|action| {
        !is_poll(action, &config.exempt) && !is_passed_over(config.transient.as_ref(), action)
    });
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
        if config.definition == LoopDefinition::Stuck {
            findings.extend(endless_polls(&all, &actions, &segment, config));
        }
    }
    Expected::of(findings)
}

/// Rows of equal answers to one exempt key, within the stretch of the run that the segment is.
fn endless_polls(
    all: &[Done<'_>],
    actions: &[Done<'_>],
    segment: &[Done<'_>],
    config: &LoopConfig,
) -> Vec<(u64, u64, Evidence)> {
    let position = |step: Option<u64>| step.and_then(|step| all.iter().position(|a| a.step() == step));
    // A poll belongs to the segment whose actions came last before it; the first ones to the first.
    let is_first = segment.first().map(Done::step) == actions.first().map(Done::step);
    let begin = if is_first { 0 } else { position(segment.first().map(Done::step)).unwrap_or(0) };
    let next = segment.last().and_then(|last| actions.iter().find(|action| action.step() > last.step()));
    let end = position(next.map(Done::step)).unwrap_or(all.len());
    let range = &all[begin..end];
    let polls: Vec<usize> = (0..range.len()).filter(|&at| is_poll(&range[at], &config.exempt)).collect();
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for &at in &polls {
        let now = &range[at];
        let before = polls.iter().copied().rfind(|&other| other < at && same_key(&range[other], now));
        let row = before.and_then(|before| rows.iter_mut().find(|row| row.contains(&before)));
        match row {
            Some(row) if range[row[0]].same_observation(now) => row.push(at),
            _ => rows.push(vec![at]),
        }
    }
    let mut findings = Vec::new();
    for row in rows {
        let new_turn = |i: &usize| *i == 0 || range[row[*i]].turn() != range[row[*i - 1]].turn();
        let counted: Vec<usize> = (0..row.len()).filter(new_turn).map(|i| row[i]).collect();
        let (first, last) = (counted[0], counted[counted.len() - 1]);
        if (counted.len() as u64) < config.max_polls {
            continue;
        }
        let evidence = LoopEvidence {
            kind: LoopKind::EndlessPolling,
            repeat_count: counted.len() as u64,
            repeating_keys: 1,
            action: folded(range[first].call.name),
            location: range[first].event.location.map(str::to_owned),
            period: (last - first < counted.len()).then_some(1),
        };
        findings.push((range[first].step(), range[last].step(), Evidence::Loop(evidence)));
    }
    findings
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
    let novel = |at: usize| is_novel(segment, at);
    // What is of the same turn and has the same observation is no occurrence of its own.
    let next_of_key = |at: usize| {
        (at + 1..segment.len()).find(|&next| {
            let twin =
                segment[at].turn() == segment[next].turn() && segment[at].same_observation(&segment[next]);
            same_key(&segment[at], &segment[next]) && !twin
        })
    };
    let is_twin = |at: usize| {
        let before = segment[..at].iter().rev().find(|before| same_key(before, &segment[at]));
        before.is_some_and(|b| b.turn() == segment[at].turn() && b.same_observation(&segment[at]))
    };
    let follower = |at: usize| {
        next_of_key(at).filter(|&next| {
            let between = (at + 1..next).filter(|&at| novel(at)).count() as u64;
            segment[at].same_observation(&segment[next]) && between <= config.max_gap
        })
    };
    let mut parts = Vec::new();
    for first in 0..segment.len() {
        if is_twin(first) || (0..first).any(|before| !is_twin(before) && follower(before) == Some(first)) {
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
        let again = |at: usize| {
            run.iter().any(|&before| {
                same_key(&segment[before], &segment[at])
                    && before < at
                    && segment[before].turn() != segment[at].turn()
            })
        };
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
    // Occurrences of one turn are one, except where the published rule knows no turns.
    let repeated = |at: usize| {
        let before = segment[..at].iter().rev().find(|before| same_key(before, &segment[at]));
        part.kind != LoopKind::Repeat && before.is_some_and(|before| before.turn() == segment[at].turn())
    };
    let counted: Vec<&Done<'_>> =
        (part.first..=part.last).filter(|&at| !repeated(at)).map(|at| &segment[at]).collect();
    let count = |key: &Done<'_>| counted.iter().filter(|action| same_key(action, key)).count();
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
