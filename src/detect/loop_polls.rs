//! Exempt calls: they may be made again and again, but not without end.

use super::Evidence;
use super::finding::Finding;
use super::loop_::{Loop, LoopEvidence, LoopKind, repeated};
use super::rule::Rule;
use super::seen;
use crate::trace::{Action, Digest, DigestMap, Digests, Step, empty, map_bytes};

/// The exempt calls of a segment, by key: their rows of equal answers.
#[derive(Debug)]
pub(super) struct Polls {
    max: u64,
    rows: DigestMap<Row>,
    /// The rows that are too long, in the order in which they became so.
    found: Vec<Found>,
}

/// Equal answers in a row.
#[derive(Debug)]
struct Row {
    observation: Digest,
    count: u64,
    first_step: u64,
    /// Number of the action with which the row begins.
    first_action: u64,
    turn: u64,
    found: Option<usize>,
}

/// A row that is too long.
#[derive(Debug)]
struct Found {
    name: Box<str>,
    location: Option<Box<str>>,
    count: u64,
    place: (u64, u64),
    /// Whether nothing else was done meanwhile.
    alone: bool,
    /// The step at which it was reported.
    reported: u64,
}

impl Polls {
    pub(super) fn new(max: u64) -> Self {
        Self { max, rows: DigestMap::default(), found: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        empty(&mut self.rows);
        self.found.clear();
    }

    /// Takes an exempt action, the one with this number; gives a finding when its row becomes too long.
    pub(super) fn observe(
        &mut self,
        step: &Step<'_>,
        action: &Action<'_>,
        digests: &Digests,
        number: u64,
    ) -> Option<Finding> {
        let key = seen::key(step, digests)?;
        let Some(observation) = seen::observation(digests) else {
            self.rows.remove(&key);
            return None;
        };
        let begun = Row {
            observation,
            count: 1,
            first_step: step.index(),
            first_action: number,
            turn: step.turn(),
            found: None,
        };
        let Some(row) = self.rows.get_mut(&key).filter(|row| row.observation == observation) else {
            self.rows.insert(key, begun);
            return None;
        };
        if row.turn == step.turn() {
            return None;
        }
        row.turn = step.turn();
        row.count += 1;
        let place = (row.first_step, step.index());
        let alone = number - row.first_action < row.count;
        if let Some(found) = row.found.and_then(|at| self.found.get_mut(at)) {
            (found.count, found.place, found.alone) = (row.count, place, alone);
            return None;
        }
        if row.count < self.max {
            return None;
        }
        row.found = Some(self.found.len());
        let (name, location) = (action.name.trim().into(), step.location().map(Into::into));
        self.found.push(Found { name, location, count: row.count, place, alone, reported: step.index() });
        self.found.last().map(Found::finding)
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        map_bytes(&self.rows) + self.found.capacity() * (size_of::<Found>() + 32)
    }

    /// The rows that are too long.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        self.found.iter().map(Found::finding)
    }
}

impl Found {
    fn finding(&self) -> Finding {
        let evidence = LoopEvidence {
            kind: LoopKind::EndlessPolling,
            repeat_count: self.count,
            repeating_keys: 1,
            action: self.name.to_string(),
            location: self.location.as_deref().map(Into::into),
            period: self.alone.then_some(1),
        };
        let message = repeated(super::quoted(&self.name), self.count);
        Finding::new(Loop::ID, Loop::MODE, self.place, message, Evidence::Loop(evidence))
            .identified_by(self.reported)
    }
}
