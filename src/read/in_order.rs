//! Answers without an id belong to the oldest open call, or to the oldest of the name that they bear.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use crate::trace::{Assembler, CallNumber};

/// The calls of a run in their order. Costs nothing until the first answer without an id.
#[derive(Debug, Default)]
pub(super) struct InOrder<'a> {
    /// How many entries of the run have been looked at.
    seen: usize,
    all: VecDeque<CallNumber>,
    by_name: BTreeMap<Cow<'a, str>, VecDeque<CallNumber>>,
}

impl<'a> InOrder<'a> {
    /// The oldest call of this name, or of any, that nothing has answered.
    pub(super) fn take(&mut self, name: Option<&str>, steps: &mut Assembler<'a>) -> Option<CallNumber> {
        steps.pair_new();
        for (number, call) in steps.calls_from(self.seen) {
            self.all.push_back(number);
            self.by_name.entry(call.name.clone()).or_default().push_back(number);
        }
        self.seen = steps.entries().len();
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
