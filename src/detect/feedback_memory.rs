//! What the two rules of `feedback_blindness` remember of what was refused.

use std::collections::{BTreeMap, VecDeque};

use super::feedback_blindness::{QUOTED, Rules};
use super::seen::{Gains, Seen, observation};
use crate::trace::{Action, Digest, DigestMap, DigestTable, Digests, Status, Step, empty, map_bytes};

/// The refusals of the default rule, by key and feedback.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    gains: Gains,
    seen: Seen<()>,
    /// Novel actions that succeeded, so far.
    novel_successes: u64,
    /// The latest refusals.
    latest: DigestTable<Refusal>,
    /// Of the few of them that have one, the latest of a turn before, by their numbers.
    earlier: BTreeMap<u32, Refusal>,
}

/// A refusal of a key with one feedback.
///
/// Counts in four bytes: more actions of one trace than that do not fit in memory.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    step: u64,
    turn: u64,
    action: u32,
    novel_successes: u32,
}

const _: () = assert!(size_of::<Refusal>() <= 24);

impl Refusals {
    /// Takes an action, the one with this number. Gives its key and the step of an earlier attempt where it fails as
    /// that one did.
    pub(super) fn observe(
        &mut self,
        rules: &Rules,
        number: u64,
        step: &Step<'_>,
        action: &Action<'_>,
        digests: &Digests,
    ) -> Option<(Digest, u64)> {
        if self.gains.observe(step) {
            self.seen.clear();
        }
        let novel = self.seen.observe(step, digests, ()).is_none();
        if !rules.is_negative(action) {
            self.novel_successes += u64::from(novel && action.status == Status::Ok);
            return None;
        }
        let (key, feedback) = (rules.key(digests)?, observation(digests)?);
        let now = Refusal {
            step: step.index(),
            turn: step.turn(),
            action: to_u32(number),
            novel_successes: to_u32(self.novel_successes),
        };
        let (place, fresh) = self.latest.find_or_add(key.and(feedback), || now);
        let latest = self.latest.at_mut(place).filter(|_| !fresh)?;
        let place = to_u32(place as u64);
        if latest.turn != now.turn {
            self.earlier.insert(place, *latest);
        }
        *latest = now;
        let before = self.earlier.get(&place)?;
        let within = |count: u32, before: u32, most: u64| u64::from(count - before) <= most;
        let near = rules.config.window.is_none_or(|window| within(now.action, before.action, window))
            && within(now.novel_successes, before.novel_successes, rules.config.max_gap);
        near.then_some((key, before.step))
    }

    pub(super) fn clear(&mut self) {
        self.gains.clear();
        self.seen.clear();
        self.novel_successes = 0;
        self.latest.clear();
        self.earlier.clear();
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        self.seen.memory() + self.latest.memory() + self.earlier.len() * 2 * size_of::<(u32, Refusal)>()
    }
}

fn to_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The refusals of the published rule, by key: the first alone, or all within the window.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    by_key: DigestMap<VecDeque<Attempt>>,
}

/// A refusal as the published rule remembers it.
#[derive(Debug)]
pub(super) struct Attempt {
    /// The number of the action.
    pub(super) number: u64,
    pub(super) step: u64,
    pub(super) observation: Option<String>,
}

impl Attempts {
    /// The first refusal of the key that is remembered at the action of this number.
    pub(super) fn first(&mut self, key: Digest, window: Option<u64>, number: u64) -> Option<&Attempt> {
        let attempts = self.by_key.get_mut(&key)?;
        if let Some(window) = window {
            while attempts.front().is_some_and(|first| number - first.number > window) {
                attempts.pop_front();
            }
        }
        attempts.front()
    }

    /// Remembers a refusal of the key.
    pub(super) fn add(&mut self, key: Digest, window: Option<u64>, refusal: impl FnOnce() -> Attempt) {
        let attempts = self.by_key.entry(key).or_default();
        if window.is_some() || attempts.is_empty() {
            attempts.push_back(refusal());
        }
    }

    pub(super) fn clear(&mut self) {
        empty(&mut self.by_key);
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        map_bytes(&self.by_key) + self.by_key.len() * 4 * (size_of::<Attempt>() + QUOTED)
    }
}
