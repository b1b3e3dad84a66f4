//! Unanswered calls of a conversation.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// The ids of unanswered calls, in order. Those answered by id leave when they come first.
#[derive(Default)]
pub(super) struct Waiting<'t> {
    ids: VecDeque<Option<Cow<'t, str>>>,
    /// Number of calls before the first in the queue.
    gone: usize,
    /// The call up to which each id was answered.
    answered: HashMap<Cow<'t, str>, usize>,
}

impl<'t> Waiting<'t> {
    /// Returns true if the queue is empty, without answered calls.
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

    /// Marks all calls of this id as answered.
    pub(super) fn remove(&mut self, id: Cow<'t, str>) {
        self.answered.insert(id, self.gone + self.ids.len());
    }

    /// Takes the first unanswered call and returns its id. `None` if none waits, or it has no id.
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
