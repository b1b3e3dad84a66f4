//! Which answers to which calls a trace has shown before.

use crate::trace::{Content, Digest, DigestTable, Digests, Step};

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

/// Keys with their observations, as they have occurred, each with what was noted when it first did.
#[derive(Debug)]
pub(super) struct Seen<V> {
    first: DigestTable<V>,
}

impl<V> Default for Seen<V> {
    fn default() -> Self {
        Self { first: DigestTable::default() }
    }
}

impl<V: Copy> Seen<V> {
    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        self.first.memory()
    }

    pub(super) fn clear(&mut self) {
        self.first.clear();
    }

    /// Takes an action; gives what was noted when its key first met this observation.
    #[inline]
    pub(super) fn observe(&mut self, step: &Step<'_>, digests: &Digests, now: V) -> Option<V> {
        let answer = key(step, digests)?.and(observation(digests)?);
        let (number, fresh) = self.first.find_or_add(answer, || now);
        if fresh { None } else { self.first.at(number).copied() }
    }
}

/// Finds the gains of progress, each of which begins a new segment.
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
