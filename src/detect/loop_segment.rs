//! The state of `loop` within one segment without progress.
//!
//! Memory: one record per distinct key, plus four bytes per action, from which the evidence of a range is
//! counted and its period is found.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::loop_::{LoopConfig, LoopDefinition, LoopEvidence, LoopKind};
use super::loop_names::{Id, Names, period, to_u32};
use super::loop_parts::{Parts, Span};
use super::seen;
use crate::trace::{
    Action, Digest, DigestMap, DigestTable, Digests, Status, Step, empty, lean_push, map_bytes,
};

/// Marks, in the history, an occurrence in the turn of the one before: it repeats nothing.
const SAME_TURN: u32 = 1 << 31;

/// The number of an observation that was not recorded: it is like no other.
const UNRECORDED: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Segment {
    definition: LoopDefinition,
    min_repeats: u64,
    max_gap: u64,
    min_failures: u64,
    keys: DigestTable<Key>,
    again: Vec<Again>,
    names: Names,
    /// Observations of a key other than its first: the number that stands for each.
    observations: DigestMap<u32>,
    /// Novel actions so far.
    novel: u32,
    tools: DigestMap<FailureRun>,
    runs: usize,
    /// The key of every action, perhaps with a mark.
    history: Vec<u32>,
    first_step: u64,
    last_step: u64,
    /// Chains and runs that have qualified.
    parts: Parts,
    /// The step at which a key first repeated often enough (`repeat`).
    repeats: Option<u64>,
}

/// What is known of one key: its current chain of occurrences with one observation. Most keys occur once.
#[derive(Debug)]
struct Key {
    first_observation: Digest,
    /// Where the chain begins.
    start_step: u64,
    start: u32,
    /// How many actions were novel up to the latest occurrence.
    novel: u32,
    /// The turn of the latest occurrence.
    turn: u32,
    /// The failure run in which the key failed last.
    run: Option<Id>,
    /// What is known besides of a key that has occurred again.
    again: Option<Id>,
}

const _: () = assert!(size_of::<Key>() <= 48);

/// What is known of a key that has occurred again: only then can it be evidence.
#[derive(Debug)]
struct Again {
    /// Which observation the chain has: 0 is the first one.
    observation: u32,
    count: u32,
    part: Option<Id>,
    /// The turn in which it first failed in its failure run.
    run_turn: u32,
    name: Id,
    location: Option<Id>,
}

/// Failures of one tool without a success in between.
#[derive(Debug, Default)]
struct FailureRun {
    id: Option<Id>,
    failures: u64,
    repeats: u64,
    start: usize,
    start_step: u64,
    part: Option<Id>,
}

impl Segment {
    pub(super) fn new(config: &LoopConfig) -> Self {
        Self {
            definition: config.definition,
            min_repeats: config.min_repeats,
            max_gap: config.max_gap,
            min_failures: config.min_failures,
            keys: DigestTable::default(),
            again: Vec::new(),
            names: Names::default(),
            observations: DigestMap::default(),
            novel: 0,
            tools: DigestMap::default(),
            runs: 0,
            history: Vec::new(),
            first_step: 0,
            last_step: 0,
            parts: Parts::default(),
            repeats: None,
        }
    }

    /// Forgets everything; a new segment begins.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.again.clear();
        self.names.clear();
        empty(&mut self.observations);
        self.novel = 0;
        empty(&mut self.tools);
        self.runs = 0;
        self.history.clear();
        self.parts.clear();
        self.repeats = None;
    }

    /// Takes an action; gives the loop that it makes, unless that loop only extends one that was given before.
    pub(super) fn observe(
        &mut self,
        step: &Step<'_>,
        action: &Action<'_>,
        digests: &Digests,
    ) -> Option<Span> {
        let position = self.history.len();
        if position == 0 {
            self.first_step = step.index();
        }
        self.last_step = step.index();
        let (key, fresh) = self.key(step, action, digests);
        match self.definition {
            LoopDefinition::Repeat => {
                lean_push(&mut self.history, key);
                self.repeat(key, step.index())
            }
            LoopDefinition::Stuck => {
                let covered = self.parts.end();
                let turn = short_turn(step.turn());
                let same_turn = !fresh && self.keys.at(key as usize).is_some_and(|key| key.turn == turn);
                lean_push(&mut self.history, if same_turn { key | SAME_TURN } else { key });
                let chain = self.chain(key, position, step, seen::observation(digests));
                let run = self.failure_run(key, position, step, action, digests.folded_name);
                if let Some(key) = self.keys.at_mut(key as usize) {
                    key.turn = turn;
                }
                let apart = |part: &Id| self.parts.is_apart(*part, covered);
                let part = run.filter(apart).or(chain.filter(apart))?;
                self.parts.report(part, step.index())
            }
        }
    }

    /// The number of the action's key, and whether it is a new one.
    fn key(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) -> (u32, bool) {
        let first_observation = seen::observation(digests).unwrap_or(Digest::UNRECORDED);
        let new =
            || Key { first_observation, start_step: 0, start: 0, novel: 0, turn: 0, run: None, again: None };
        let (number, fresh) = match seen::key(step, digests) {
            Some(digest) => self.keys.find_or_add(digest, new),
            None => (self.keys.add_unfindable(new()), true),
        };
        if let Some(key) = self.keys.at_mut(number).filter(|key| !fresh && key.again.is_none()) {
            key.again = Some(Id::new(self.again.len()));
            let again = Again {
                observation: if key.first_observation == Digest::UNRECORDED { UNRECORDED } else { 0 },
                count: 1,
                part: None,
                run_turn: key.turn,
                name: self.names.intern(action.name.trim()),
                location: step.location().map(|location| self.names.intern(location)),
            };
            lean_push(&mut self.again, again);
        }
        (to_u32(number), fresh)
    }

    /// What is known of a key that has occurred again.
    fn again(&self, id: u32) -> Option<&Again> {
        self.again.get(self.keys.at(id as usize)?.again?.get())
    }

    fn repeat(&mut self, id: u32, step: u64) -> Option<Span> {
        let again = self.keys.at(id as usize)?.again?;
        let again = self.again.get_mut(again.get())?;
        again.count = again.count.saturating_add(1);
        if u64::from(again.count) < self.min_repeats || self.repeats.is_some() {
            return None;
        }
        self.repeats = Some(step);
        Some(self.whole())
    }

    fn whole(&self) -> Span {
        Span {
            kind: LoopKind::Repeat,
            count: 0,
            key: u32::MAX,
            first: 0,
            last: self.history.len().saturating_sub(1),
            first_step: self.first_step,
            last_step: self.last_step,
            reported: self.repeats,
            merged: Vec::new(),
        }
    }

    /// Extends or restarts the chain of the key; gives the place of its part when it qualifies. `seen`: the observation,
    /// where it was recorded.
    fn chain(&mut self, id: u32, position: usize, step: &Step<'_>, seen: Option<Digest>) -> Option<Id> {
        let key = self.keys.at_mut(id as usize)?;
        let mut again = key.again.and_then(|again| self.again.get_mut(again.get()));
        let (observation, novel) = match seen {
            None => (UNRECORDED, true),
            Some(seen) if seen == key.first_observation => (0, again.is_none()),
            Some(seen) => {
                // Observations are numbered over the whole segment: 0 stays free for the first of each key.
                let next = to_u32(self.observations.len()).saturating_add(1);
                let pair = seen.and(Digest::of_number(id));
                let number = *self.observations.entry(pair).or_insert(next);
                (number, number == next)
            }
        };
        let same =
            observation != UNRECORDED && again.as_ref().is_some_and(|again| again.observation == observation);
        if same && key.turn == short_turn(step.turn()) {
            // Neither of the two could know of the other.
            return None;
        }
        let near = u64::from(self.novel.saturating_sub(key.novel)) <= self.max_gap;
        match &mut again {
            Some(again) if same && near => again.count = again.count.saturating_add(1),
            again => {
                (key.start, key.start_step) = (to_u32(position), step.index());
                if let Some(again) = again {
                    (again.count, again.part, again.observation) = (1, None, observation);
                }
            }
        }
        self.novel = self.novel.saturating_add(u32::from(novel));
        key.novel = self.novel;
        // What has occurred once is no repetition.
        let again = again?;
        let count = u64::from(again.count);
        if count < self.min_repeats {
            return None;
        }
        let span = Span {
            kind: LoopKind::RepeatedCall,
            count,
            key: id,
            first: key.start as usize,
            last: position,
            first_step: key.start_step,
            last_step: step.index(),
            reported: None,
            merged: Vec::new(),
        };
        self.parts.put(&mut again.part, span)
    }

    /// Extends or ends the failure run of the tool; gives the place of its part when it qualifies.
    fn failure_run(
        &mut self,
        id: u32,
        position: usize,
        step: &Step<'_>,
        action: &Action<'_>,
        tool: Digest,
    ) -> Option<Id> {
        match action.status {
            Status::Unknown => return None,
            Status::Ok => {
                self.tools.remove(&tool);
                return None;
            }
            Status::Error => {}
        }
        let runs = &mut self.runs;
        let run = self.tools.entry(tool).or_insert_with(|| {
            *runs += 1;
            FailureRun {
                id: Some(Id::new(*runs)),
                start: position,
                start_step: step.index(),
                ..FailureRun::default()
            }
        });
        let key = self.keys.at_mut(id as usize)?;
        let turn = short_turn(step.turn());
        run.failures += 1;
        let again = key.again.and_then(|again| self.again.get_mut(again.get()));
        if key.run == run.id {
            let run_turn = again.map_or(key.turn, |again| again.run_turn);
            run.repeats += u64::from(run_turn != turn);
        } else {
            key.run = run.id;
            if let Some(again) = again {
                again.run_turn = turn;
            }
        }
        if run.failures < self.min_failures || run.repeats < self.min_failures - 1 {
            return None;
        }
        let span = Span {
            kind: LoopKind::RepeatedFailure,
            count: run.failures,
            key: id,
            first: run.start,
            last: position,
            first_step: run.start_step,
            last_step: step.index(),
            reported: None,
            merged: Vec::new(),
        };
        self.parts.put(&mut run.part, span)
    }

    /// The name of what the span counts.
    pub(super) fn name(&self, span: &Span) -> Option<&str> {
        self.again(span.key).map(|again| self.names.get(again.name))
    }

    /// The loops of the segment: parts that overlap are one.
    pub(super) fn spans(&self) -> Vec<Span> {
        if self.definition == LoopDefinition::Repeat {
            return if self.repeats.is_some() { vec![self.whole()] } else { Vec::new() };
        }
        self.parts.joined()
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        self.keys.memory()
            + self.again.capacity() * size_of::<Again>()
            + map_bytes(&self.observations)
            + map_bytes(&self.tools)
            + self.history.capacity() * size_of::<u32>()
            + self.parts.memory()
            + self.names.memory()
    }

    /// Counts what repeats within a span.
    pub(super) fn evidence(&self, span: &Span) -> LoopEvidence {
        let range = self.history.get(span.first..=span.last).unwrap_or_default();
        // What is read from the map does not depend on its order.
        let mut counts: HashMap<u32, u64> = HashMap::new();
        for id in range.iter().filter(|id| **id & SAME_TURN == 0) {
            *counts.entry(*id).or_default() += 1;
        }
        // Keys are numbered as they were first seen.
        let most = counts.iter().max_by_key(|&(&id, &count)| (count, Reverse(id)));
        let (top, repeat_count) = most.map_or((0, 0), |(&id, &count)| (id, count));
        let again = self.again(top);
        let name = |id: Id| self.names.get(id).to_owned();
        LoopEvidence {
            kind: span.kind,
            repeat_count,
            repeating_keys: counts.values().filter(|&&count| count >= 2).count() as u64,
            action: again.map(|again| name(again.name)).unwrap_or_default(),
            location: again.and_then(|again| again.location).map(name),
            period: period(&range.iter().map(|id| id & !SAME_TURN).collect::<Vec<_>>()),
        }
    }
}

/// A turn in four bytes, in which neighbours differ.
#[expect(clippy::cast_possible_truncation, reason = "both halves are in it")]
fn short_turn(turn: u64) -> u32 {
    (turn ^ (turn >> 32)) as u32
}
