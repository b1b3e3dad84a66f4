//! Edited copies of a trace, for counterfactuals.

use std::sync::OnceLock;

use super::action::{Digests, Provenance, Status};
use super::content::Content;
use super::step::{Event, Step};
use super::trace::Trace;

impl Trace {
    /// Returns the steps with `times` copies of one step right after it, each in a new turn. The indexes of
    /// later steps grow by `times`, and their turns by `times` + 1.
    pub(crate) fn with_repeats(&self, step: u64, times: u64) -> impl Iterator<Item = Step<'_>> {
        self.steps().flat_map(move |original| {
            let copies = if original.index == step { times } else { 0 };
            // The rest of the turn comes after the repeats, as a turn of its own.
            let (by, turns) = if original.index > step { (times, times.saturating_add(1)) } else { (0, 0) };
            (0..=copies).map(move |copy| moved(original.clone(), by + copy, turns + copy))
        })
    }

    /// Returns the steps outside these inclusive ranges of indexes. The index of each falls by the number of
    /// steps removed before it.
    pub(crate) fn without(&self, ranges: &[(u64, u64)]) -> impl Iterator<Item = Step<'_>> {
        let is_removed =
            |step: &Step<'_>| ranges.iter().any(|(first, last)| (*first..=*last).contains(&step.index));
        let mut removed = 0;
        self.steps().filter_map(move |mut step| {
            if is_removed(&step) {
                removed += 1;
                return None;
            }
            step.index -= removed;
            Some(step)
        })
    }

    /// Returns the steps, followed by copies of these actions, each in a new turn and successful, without
    /// observation or progress.
    pub(crate) fn with_successes(&self, steps: &[u64]) -> impl Iterator<Item = Step<'_>> {
        let index = self.steps().next_back().map_or(0, |step| step.index);
        let turn = self.steps().map(|step| step.turn).max().unwrap_or(0);
        let again = self.steps().filter(|step| steps.contains(&step.index)).zip(1..);
        self.steps().chain(again.map(move |(mut step, by)| {
            (step.index, step.turn, step.progress, step.facts) = (index, turn, None, OnceLock::new());
            if let Event::Action(action) = &mut step.event {
                (action.status, action.provenance) = (Status::Ok, Provenance::Flag);
                (action.observation, action.reason, action.error_type) = (Content::Absent, None, None);
                step.digests = Some(Digests::of(action));
            }
            moved(step, by, by)
        }))
    }
}

fn moved(mut step: Step<'_>, by: u64, turns: u64) -> Step<'_> {
    step.index = step.index.saturating_add(by);
    step.turn = step.turn.saturating_add(turns);
    step
}
