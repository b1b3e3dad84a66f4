//! Assigns answers without an id to the oldest open call, or to the oldest of the same name.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use crate::trace::{Assembler, CallNumber};

/// The calls of a run in order. Free until the first answer without an id.
#[derive(Debug, Default)]
pub(super) struct InOrder<'a> {
    /// Number of entries of the run that were checked.
    seen: usize,
    without_id: Queue<'a>,
    with_id: Queue<'a>,
}

#[derive(Debug, Default)]
struct Queue<'a> {
    all: VecDeque<CallNumber>,
    by_name: BTreeMap<Cow<'a, str>, VecDeque<CallNumber>>,
}

impl<'a> InOrder<'a> {
    /// Returns the oldest unanswered call of this name, or of any name; one without an id comes first.
    pub(super) fn take(&mut self, name: Option<&str>, steps: &mut Assembler<'a>) -> Option<CallNumber> {
        steps.pair_new();
        for (number, call) in steps.calls_from(self.seen) {
            let queue = if call.id.is_none() { &mut self.without_id } else { &mut self.with_id };
            queue.all.push_back(number);
            queue.by_name.entry(call.name.clone()).or_default().push_back(number);
        }
        self.seen = steps.entries().len();
        self.without_id.take(name, steps).or_else(|| self.with_id.take(name, steps))
    }
}

impl<'a> Queue<'a> {
    fn take(&mut self, name: Option<&str>, steps: &mut Assembler<'a>) -> Option<CallNumber> {
        let queue = match name {
            Some(name) => self.by_name.get_mut(name)?,
            None => &mut self.all,
        };
        loop {
            let call = queue.pop_front()?;
            if !steps.is_answered(call) {
                return Some(call);
            }
        }
    }
}
