//! Assigns answers without an id to the oldest open call, or to the oldest one of the same name.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::trace::{Assembler, CallNumber, TextMap};

/// The calls of a run, in order. Costs nothing until the first answer without an id.
#[derive(Debug, Default)]
pub(super) struct InOrder<'a> {
    /// Number of entries of the run that were checked.
    seen: u64,
    all: Queue<'a>,
    without_id: Queue<'a>,
}

/// Calls by the name of their tool, and all of them under `None`.
type Queue<'a> = TextMap<Option<Cow<'a, str>>, VecDeque<CallNumber>>;

impl<'a> InOrder<'a> {
    /// Considers only calls that are added from now on.
    pub(super) fn after(steps: &Assembler<'a>) -> Self {
        Self { seen: steps.next_number(), ..Self::default() }
    }

    /// Returns the oldest unanswered call of this name, or of any name if it is `None`.
    pub(super) fn oldest(
        &mut self,
        name: Option<&Cow<'a, str>>,
        steps: &mut Assembler<'a>,
    ) -> Option<CallNumber> {
        self.update(steps);
        first(&mut self.all, name, steps)
    }

    /// Like [`Self::oldest`], but calls without an id come first.
    pub(super) fn without_id_first(
        &mut self,
        name: Option<&Cow<'a, str>>,
        steps: &mut Assembler<'a>,
    ) -> Option<CallNumber> {
        self.update(steps);
        first(&mut self.without_id, name, steps).or_else(|| first(&mut self.all, name, steps))
    }

    fn update(&mut self, steps: &mut Assembler<'a>) {
        steps.pair_new();
        for (number, call) in steps.calls_from(self.seen) {
            let queues = [Some(&mut self.all), Some(&mut self.without_id).filter(|_| call.id.is_none())];
            for queue in queues.into_iter().flatten() {
                queue.entry(None).or_default().push_back(number);
                queue.entry(Some(call.name.clone())).or_default().push_back(number);
            }
        }
        self.seen = steps.next_number();
    }
}

/// Drops answered calls from the front of a queue, and returns the first unanswered call, which stays in the queue.
fn first<'a>(
    queue: &mut Queue<'a>,
    name: Option<&Cow<'a, str>>,
    steps: &mut Assembler<'a>,
) -> Option<CallNumber> {
    let calls = queue.get_mut(&name.cloned())?;
    while calls.front().is_some_and(|call| steps.is_answered(*call)) {
        calls.pop_front();
    }
    calls.front().copied()
}
