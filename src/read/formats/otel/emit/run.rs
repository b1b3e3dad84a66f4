//! The run of one agent, with its steps.

use crate::trace::{Assembler, Entry, Metadata, UnknownReason};

/// The label whose value is the id of the span that identifies a run.
pub(crate) const SPAN_LABEL: &str = "span_id";

/// The prefix of a run's labels that are copied from the resource attributes of its spans.
pub(crate) const RESOURCE_LABEL: &str = "resource.";

/// The run of one agent within a trace.
#[derive(Debug)]
pub(crate) struct AgentRun {
    /// The trace id, with a suffix if this is not the main run of the trace.
    pub(crate) id: String,
    pub(crate) metadata: Metadata,
    pub(crate) steps: Assembler<'static>,
    /// Number of calls that were emitted as messages: final answers and hand-offs.
    pub(super) said: u64,
}

impl AgentRun {
    /// Drops the last turn if one of its calls is unanswered.
    pub(super) fn drop_unanswered_turn(&mut self) {
        let entries = self.steps.entries();
        let Some(last) = entries.iter().map(Entry::turn).max() else { return };
        let waits = |entry: &Entry<'_>| match entry {
            Entry::Call(call, answer, _) if call.turn == last => {
                answer.as_ref().is_none_or(|answer| answer.reason == Some(UnknownReason::Unanswered))
            }
            _ => false,
        };
        if entries.iter().any(waits) {
            let kept = entries.iter().take_while(|entry| entry.turn() != last).count();
            let entries = self.steps.take_entries();
            entries.into_iter().take(kept).for_each(|entry| self.steps.put(entry));
        }
    }
}
