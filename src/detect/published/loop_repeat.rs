//! `loop` as `BenchTrace` publishes it: any action that repeats between two gains of progress.

use std::cmp::Reverse;

use crate::detect::shared::{ProgressTracker, quoted};
use crate::detect::{
    Finding, Fold, Loop, LoopConfig, LoopEvidence, LoopKind, Measure, Verdict, incomparable,
};
use crate::trace::{Actors, Digest, DigestMap, Digests, Step};

/// Counts how often each key (call and location) occurs in a segment without progress. The finding covers the whole
/// segment.
#[derive(Debug, Default)]
pub(in crate::detect) struct LoopRepeat {
    actors: Actors,
    min_repeats: u64,
    actions: u64,
    comparable: bool,
    progress: ProgressTracker,
    segment: Segment,
    /// Findings as they were when they were confirmed.
    confirmed: Vec<Finding>,
    /// Findings of closed segments.
    closed: Vec<Finding>,
}

#[derive(Debug, Default)]
struct Segment {
    numbers: DigestMap<usize>,
    keys: Vec<Key>,
    /// The index of each action's key in `keys`.
    history: Vec<usize>,
    first_step: u64,
    last_step: u64,
    /// The step at which a key first occurred `min_repeats` times.
    reported: Option<u64>,
}

#[derive(Debug)]
struct Key {
    count: u64,
    name: String,
    location: Option<String>,
}

impl LoopRepeat {
    pub(in crate::detect) fn new(config: &LoopConfig) -> Self {
        Self { actors: config.actors, min_repeats: config.min_repeats, ..Self::default() }
    }
}

impl Fold for LoopRepeat {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.actors) else { return };
        self.actions += 1;
        self.comparable |= digests.arguments.is_some();
        if self.progress.observe(step) {
            self.closed.extend(self.segment.finding());
            self.segment = Segment::default();
        }
        let count = self.segment.count(step, action.name, &digests);
        if count >= self.min_repeats && self.segment.reported.is_none() {
            self.segment.reported = Some(step.index());
            self.confirmed.extend(self.segment.finding());
        }
    }

    fn confirmed(&self) -> &[Finding] {
        &self.confirmed
    }

    fn verdict(&self) -> Verdict {
        if self.actions > 0 && !self.comparable {
            return incomparable();
        }
        let findings: Vec<Finding> = self.closed.iter().cloned().chain(self.segment.finding()).collect();
        let loops = Measure::count("loops", findings.len() as u64);
        Verdict::found(None, findings, [Measure::count("actions", self.actions), loops])
    }

    fn memory(&self) -> usize {
        let per_key = size_of::<Key>() + 64 + 2 * size_of::<(Digest, usize)>();
        let history = self.segment.history.capacity() * size_of::<usize>();
        self.segment.keys.len() * per_key + history
    }
}

impl Segment {
    /// Adds an action and returns how often its key has occurred.
    fn count(&mut self, step: &Step<'_>, name: &str, digests: &Digests) -> u64 {
        if self.history.is_empty() {
            self.first_step = step.index();
        }
        self.last_step = step.index();
        let next = self.keys.len();
        let place = step.location().map_or(Digest::NONE, Digest::of_text);
        let number = digests.call().map_or(next, |call| *self.numbers.entry(call.and(place)).or_insert(next));
        if number == next {
            let location = step.location().map(str::to_owned);
            self.keys.push(Key { count: 0, name: name.trim().to_owned(), location });
        }
        self.history.push(number);
        self.keys.get_mut(number).map_or(0, |key| {
            key.count += 1;
            if key.count == 2 {
                name.trim().clone_into(&mut key.name);
            }
            key.count
        })
    }

    fn finding(&self) -> Option<Finding> {
        let reported = self.reported?;
        let (_, most) =
            self.keys.iter().enumerate().max_by_key(|(number, key)| (key.count, Reverse(*number)))?;
        let repeating_keys = self.keys.iter().filter(|key| key.count >= 2).count() as u64;
        let message = format!(
            "`{}` {} times without progress; actions that repeat: {repeating_keys}",
            quoted(&most.name),
            most.count
        );
        let evidence = LoopEvidence {
            kind: LoopKind::Repeat,
            repeat_count: most.count,
            action: most.name.clone(),
            location: most.location.clone(),
            repeating_keys: Some(repeating_keys),
            period: period(&self.history),
        };
        let place = (self.first_step, self.last_step);
        let finding = Loop::finding(place, message, evidence);
        Some(finding.with_id(reported).tool(&most.name))
    }
}

/// Returns the length of the shortest cycle that a sequence repeats at least twice. Takes linear time, with the prefix
/// function of Knuth, Morris and Pratt (SIAM J. Comput. 6, 1977).
fn period(sequence: &[usize]) -> Option<u64> {
    let mut borders: Vec<usize> = vec![0];
    let mut border = 0;
    for item in sequence.iter().skip(1) {
        while border > 0 && sequence.get(border) != Some(item) {
            border = borders.get(border - 1).copied().unwrap_or(0);
        }
        border += usize::from(sequence.get(border) == Some(item));
        borders.push(border);
    }
    let period = sequence.len() - border;
    (period > 0 && sequence.len() >= 2 * period).then_some(period as u64)
}
