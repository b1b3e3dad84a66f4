//! Which answers to which calls a trace has shown before.

use std::collections::hash_map::Entry;

use crate::trace::Content;
use crate::trace::{Digest, DigestMap, Digests, Step, empty, map_bytes};

/// The key of an action: location, folded name, canonical arguments. `None`: it has one of its own, because its
/// arguments were not recorded.
#[inline]
pub(super) fn key(step: &Step<'_>, digests: &Digests) -> Option<Digest> {
    let call = digests.call()?;
    Some(match step.location() {
        Some(location) => call.and(Digest::of_text(location)),
        None => call,
    })
}

/// What stands for an observation; two missing ones are equal. `None`: it was not recorded, and equals nothing.
#[inline]
pub(super) fn observation(digests: &Digests) -> Option<Digest> {
    match digests.observation {
        Content::Absent => Some(Digest::NONE),
        Content::NotRecorded => None,
        Content::Present(digest) => Some(digest),
    }
}

/// Keys with their observations, as they have occurred: the turn in which each did first.
#[derive(Debug, Default)]
pub(super) struct Seen {
    turns: DigestMap<u64>,
}

impl Seen {
    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        map_bytes(&self.turns)
    }

    pub(super) fn clear(&mut self) {
        empty(&mut self.turns);
    }

    /// Takes an action; gives the turn in which its key met this observation before.
    #[inline]
    pub(super) fn observe(&mut self, step: &Step<'_>, digests: &Digests) -> Option<u64> {
        let answer = key(step, digests)?.and(observation(digests)?);
        match self.turns.entry(answer) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(new) => {
                new.insert(step.turn());
                None
            }
        }
    }
}

/// Tells where the gains of progress are, each of which begins a new segment.
#[derive(Debug, Default)]
pub(super) struct Gains {
    before: Option<f64>,
}

impl Gains {
    pub(super) fn clear(&mut self) {
        self.before = None;
    }

    /// Whether the step begins a new segment.
    #[inline]
    pub(super) fn observe(&mut self, step: &Step<'_>) -> bool {
        let Some(now) = step.progress() else { return false };
        self.before.replace(now).is_some_and(|before| now > before)
    }
}
