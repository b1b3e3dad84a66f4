//! The calls of a conversation that wait for their answers.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// The ids of the calls that wait for an answer, in order. Those that had theirs by id leave when they come first.
#[derive(Default)]
pub(super) struct Waiting<'t> {
    ids: VecDeque<Option<Cow<'t, str>>>,
    /// How many calls there were before the first in the queue.
    gone: usize,
    /// Up to which call each id was answered.
    answered: HashMap<Cow<'t, str>, usize>,
}

impl<'t> Waiting<'t> {
    /// Whether nothing is left, not even calls that had their answers.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(super) fn push(&mut self, id: Option<Cow<'t, str>>) {
        self.ids.push_back(id);
    }

    pub(super) fn clear(&mut self) {
        self.gone += self.ids.len();
        self.ids.clear();
    }

    /// All calls of this id were answered.
    pub(super) fn remove(&mut self, id: Cow<'t, str>) {
        self.answered.insert(id, self.gone + self.ids.len());
    }

    /// The id of the first call that waits, which does no longer. `None`: none waits, or it has no id.
    pub(super) fn next(&mut self) -> Option<Cow<'t, str>> {
        while let Some(id) = self.ids.pop_front() {
            let number = self.gone;
            self.gone += 1;
            let answered = id.as_ref().and_then(|id| self.answered.get(id));
            if answered.is_none_or(|end| number >= *end) {
                return id;
            }
        }
        None
    }
}
