//! How near a trace comes to a loop: the chains and failure runs of `loop`, kept whole.

use std::collections::HashSet;

use serde_json::Value;

use super::detector::Detector;
use super::explanation::{Bound, Change, Condition, Explanation, Near, SHOWN};
use super::loop_::{Loop, LoopConfig, LoopDefinition};
use super::passed_over::Passed;
use super::seen::{self, Gains};
use crate::trace::{Action, Digest, DigestMap, Digests, Status, Step, Trace};

pub(super) fn explain(rule: &Loop, trace: &Trace, explanation: &mut Explanation) {
    let config = &rule.config;
    let mut replay = Replay { segment: Segment::default(), best: Best::default(), config };
    let mut gains = Gains::default();
    for step in trace {
        let Some((action, digests)) = step.digested(config.actors) else { continue };
        if let Some(passed) = rule.passed_over.reason(&step, action, &digests) {
            explanation.pass_over(passed);
            if passed == Passed::Exempt && config.definition == LoopDefinition::Stuck {
                replay.poll(&step, action, &digests);
            }
            continue;
        }
        if gains.observe(&step) {
            replay.close();
        }
        replay.action(&step, action, &digests);
    }
    replay.close();
    let best = replay.best;
    match config.definition {
        LoopDefinition::Stuck => best.stuck(config, explanation),
        LoopDefinition::Repeat => best.repeat(config, explanation),
    }
    if !explanation.fired() {
        passed_over(rule, trace, explanation);
    }
}

/// What was passed over makes a loop where it is not passed over.
fn passed_over(rule: &Loop, trace: &Trace, explanation: &mut Explanation) {
    let fires = |config| Loop::new(config).is_ok_and(|rule| rule.detect(trace).detected() == Some(true));
    if explanation.transient > 0 && fires(LoopConfig { transient: None, ..rule.config.clone() }) {
        explanation.config([("transient", Value::Null)]);
    }
    if explanation.exempt > 0 && fires(LoopConfig { exempt: Vec::new(), ..rule.config.clone() }) {
        explanation.config([("exempt", Value::Array(Vec::new()))]);
    }
}

/// Occurrences of one key with one observation, however far apart.
#[derive(Debug)]
struct Chain {
    tool: Box<str>,
    observation: Option<Digest>,
    /// Steps, and the novel actions since the one before.
    occurrences: Vec<(u64, u64)>,
    novel: u64,
    turn: u64,
    /// Occurrences of the key with whatever observation, and how often that was another than before.
    all: u64,
    others: u64,
    first: u64,
}

/// Failures of one tool without a success.
#[derive(Debug, Default)]
struct Run {
    failures: u64,
    repeats: u64,
    first: u64,
    turns: DigestMap<u64>,
}

#[derive(Debug)]
struct Row {
    observation: Digest,
    count: u64,
    first: u64,
    turn: u64,
}

#[derive(Debug, Default)]
struct Segment {
    ids: DigestMap<usize>,
    chains: Vec<Chain>,
    /// Keys with their observations.
    seen: HashSet<Digest>,
    novel: u64,
    runs: DigestMap<Run>,
    rows: DigestMap<Row>,
}

/// A number of repeats, and where they are.
#[derive(Debug, Clone)]
struct Found {
    tool: Box<str>,
    /// What is compared with the minimum.
    count: u64,
    place: (u64, u64),
    /// For failures: how many there are, and how many of them repeat.
    failures: (u64, u64),
}

/// The best of the trace.
#[derive(Debug, Default)]
struct Best {
    chains: Vec<Found>,
    /// The chain of enough occurrences that needs the smallest gap, with that gap.
    bridged: Option<(Found, u64)>,
    /// The call with the most occurrences whose answers differ, and how often they do.
    varied: Option<(Found, u64)>,
    run: Option<Found>,
    row: Option<Found>,
}

struct Replay<'c> {
    config: &'c LoopConfig,
    segment: Segment,
    best: Best,
}

impl Replay<'_> {
    fn action(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) {
        let key = seen::key(step, digests);
        if self.config.definition == LoopDefinition::Stuck {
            self.failure(key, step, action, digests.folded_name);
        }
        let segment = &mut self.segment;
        let Some(key) = key else {
            segment.novel += 1;
            return;
        };
        let observation = match self.config.definition {
            LoopDefinition::Stuck => seen::observation(digests),
            LoopDefinition::Repeat => Some(Digest::NONE),
        };
        let next = segment.chains.len();
        let id = *segment.ids.entry(key).or_insert(next);
        if id == next {
            segment.chains.push(Chain {
                tool: action.name.trim().into(),
                observation,
                occurrences: Vec::new(),
                novel: 0,
                turn: 0,
                all: 0,
                others: 0,
                first: step.index(),
            });
        }
        let Some(chain) = segment.chains.get_mut(id) else { return };
        let known = chain.all > 0;
        let same = known && observation.is_some() && observation == chain.observation;
        let one_turn = known && chain.turn == step.turn();
        chain.turn = step.turn();
        chain.all += u64::from(!one_turn);
        if same && one_turn && self.config.definition == LoopDefinition::Stuck {
            return;
        }
        if known && !same {
            chain.others += 1;
            self.best.chain(chain, self.config);
            chain.occurrences.clear();
            chain.observation = observation;
        }
        let gap = if chain.occurrences.is_empty() { 0 } else { segment.novel - chain.novel };
        chain.occurrences.push((step.index(), gap));
        let novel = observation.is_none_or(|observation| segment.seen.insert(key.and(observation)));
        segment.novel += u64::from(novel);
        chain.novel = segment.novel;
    }

    fn failure(&mut self, key: Option<Digest>, step: &Step<'_>, action: &Action<'_>, tool: Digest) {
        match action.status {
            Status::Unknown => return,
            Status::Ok => {
                self.segment.runs.remove(&tool);
                return;
            }
            Status::Error => {}
        }
        let run =
            self.segment.runs.entry(tool).or_insert_with(|| Run { first: step.index(), ..Run::default() });
        run.failures += 1;
        let Some(key) = key else { return };
        let first = *run.turns.entry(key).or_insert(step.turn());
        run.repeats += u64::from(first != step.turn());
        let found = Found {
            tool: action.name.trim().into(),
            // There is always a failure more than there are repeats, so that these decide.
            count: run.repeats + 1,
            place: (run.first, step.index()),
            failures: (run.failures, run.repeats),
        };
        better(&mut self.best.run, found);
    }

    fn poll(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) {
        let Some(key) = seen::key(step, digests) else { return };
        let rows = &mut self.segment.rows;
        let Some(observation) = seen::observation(digests) else {
            rows.remove(&key);
            return;
        };
        let begun = || Row { observation, count: 0, first: step.index(), turn: step.turn().wrapping_add(1) };
        let row = rows.entry(key).or_insert_with(begun);
        if row.observation != observation {
            *row = begun();
        }
        if row.turn == step.turn() {
            return;
        }
        row.turn = step.turn();
        row.count += 1;
        let found = Found {
            tool: action.name.trim().into(),
            count: row.count,
            place: (row.first, step.index()),
            failures: (0, 0),
        };
        better(&mut self.best.row, found);
    }

    fn close(&mut self) {
        let segment = std::mem::take(&mut self.segment);
        for chain in &segment.chains {
            self.best.chain(chain, self.config);
            if chain.others > 0 && chain.all >= self.config.min_repeats {
                let last = chain.occurrences.last().map_or(chain.first, |(step, _)| *step);
                let found = Found {
                    tool: chain.tool.clone(),
                    count: chain.all,
                    place: (chain.first, last),
                    failures: (0, 0),
                };
                if self.best.varied.as_ref().is_none_or(|(best, _)| best.count < found.count) {
                    self.best.varied = Some((found, chain.others));
                }
            }
        }
    }
}

/// Keeps the one with more; of equal ones, the first.
fn better(best: &mut Option<Found>, found: Found) {
    if best.as_ref().is_none_or(|best| best.count < found.count) {
        *best = Some(found);
    }
}

impl Best {
    /// Takes the occurrences of a key with one observation.
    fn chain(&mut self, chain: &Chain, config: &LoopConfig) {
        let Chain { tool, occurrences, observation, .. } = chain;
        if observation.is_none() {
            // It equals nothing, not even when it is made again.
            return;
        }
        let found = |range: &[(u64, u64)]| {
            let (first, last) = (range.first()?.0, range.last()?.0);
            Some(Found {
                tool: tool.clone(),
                count: range.len() as u64,
                place: (first, last),
                failures: (0, 0),
            })
        };
        let near = |gap: u64| config.definition == LoopDefinition::Repeat || gap <= config.max_gap;
        let chains = occurrences.chunk_by(|_, (_, gap)| near(*gap)).filter_map(found);
        self.chains.extend(chains.filter(|found| found.count >= 2));
        self.chains.sort_by_key(|found| std::cmp::Reverse(found.count));
        self.chains.truncate(SHOWN);
        if self.chains.is_empty()
            && let Some(last) = occurrences.last()
        {
            self.chains.extend(found(std::slice::from_ref(last)));
        }
        let Ok(needed) = usize::try_from(config.min_repeats) else { return };
        for window in occurrences.windows(needed) {
            let Some(gap) = window.iter().skip(1).map(|(_, gap)| *gap).max() else { continue };
            if gap > config.max_gap
                && self.bridged.as_ref().is_none_or(|(_, best)| gap < *best)
                && let Some(found) = found(window)
            {
                self.bridged = Some((found, gap));
            }
        }
    }

    fn stuck(&self, config: &LoopConfig, explanation: &mut Explanation) {
        let LoopConfig { min_repeats, max_gap, min_failures, max_polls, .. } = *config;
        // A call that was made once is near to nothing.
        for Found { tool, count, place, .. } in self.chains.iter().filter(|found| found.count >= 2) {
            let conditions = vec![Condition::count("repeats", *count, Bound::AtLeast, min_repeats)];
            explanation.near.push(Near::new("repeated_call", conditions).tool(tool).at(*place));
        }
        if let Some((Found { tool, count, place, .. }, gap)) = &self.bridged {
            let conditions = vec![
                Condition::count("repeats", *count, Bound::AtLeast, min_repeats),
                Condition::count("gap", *gap, Bound::AtMost, max_gap),
            ];
            explanation.near.push(Near::new("repeated_call", conditions).tool(tool).at(*place));
        }
        if let Some((Found { tool, count, place, .. }, others)) = &self.varied {
            let conditions = vec![
                Condition::count("calls", *count, Bound::AtLeast, min_repeats),
                Condition::count("other answers", *others, Bound::AtMost, 0),
            ];
            explanation.near.push(Near::new("repeated_call", conditions).tool(tool).at(*place));
        }
        if let Some(Found { tool, place, failures: (failures, repeats), .. }) = &self.run {
            let conditions = vec![
                Condition::count("failures", *failures, Bound::AtLeast, min_failures),
                Condition::count("repeated failures", *repeats, Bound::AtLeast, min_failures - 1),
            ];
            explanation.near.push(Near::new("repeated_failure", conditions).tool(tool).at(*place));
        }
        if let Some(Found { tool, count, place, .. }) = &self.row {
            let conditions = vec![Condition::count("equal polls", *count, Bound::AtLeast, max_polls)];
            explanation.near.push(Near::new("endless_polling", conditions).tool(tool).at(*place));
        }
        let kinds = [
            ("min_repeats", self.chains.first(), min_repeats),
            ("min_failures", self.run.as_ref(), min_failures),
            ("max_polls", self.row.as_ref(), max_polls),
        ];
        if explanation.fired() {
            let raised = kinds.iter().filter_map(|(field, found, least)| {
                let count = found.map(|found| found.count).filter(|count| count >= least)?;
                Some((*field, (count + 1).into()))
            });
            explanation.config(raised);
            return;
        }
        let repeat = |(_, found, least): &(_, Option<&Found>, u64)| {
            found.map(|found| (least.saturating_sub(found.count), found.place.1))
        };
        if let Some((times, step)) = kinds.iter().filter_map(repeat).min() {
            explanation.changes.push(Change::Repeat { step, times });
        }
        for (field, found, _) in kinds {
            if let Some(found) = found.filter(|found| found.count >= 2) {
                explanation.config([(field, found.count.into())]);
            }
        }
        if let Some((_, gap)) = &self.bridged {
            explanation.config([("max_gap", (*gap).into())]);
        }
    }

    fn repeat(&self, config: &LoopConfig, explanation: &mut Explanation) {
        let Some(Found { tool, count, place, .. }) = self.chains.first() else { return };
        let conditions = vec![Condition::count("repeats", *count, Bound::AtLeast, config.min_repeats)];
        explanation.near.push(Near::new("repeat", conditions).tool(tool).at(*place));
        if explanation.fired() {
            explanation.config([("min_repeats", (count + 1).into())]);
            return;
        }
        explanation
            .changes
            .push(Change::Repeat { step: place.1, times: config.min_repeats.saturating_sub(*count) });
        if *count >= 2 {
            explanation.config([("min_repeats", (*count).into())]);
        }
    }
}
