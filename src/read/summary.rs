//! What was read of an input.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Format, SpanBatch};
use crate::error::Error;
use crate::trace::{StepSink, Unpaired};

/// Counts of skipped parts of an input, by reason.
pub type PassedOver = BTreeMap<Cow<'static, str>, u64>;

/// Counts of an input, of a file, or of many files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReadCounts {
    /// Runs that were read.
    pub runs: u64,
    /// Runs that could not be read.
    pub runs_lost: u64,
    /// Runs that were read and have no action.
    pub runs_without_actions: u64,
    /// Skipped parts by reason.
    pub passed_over: PassedOver,
    /// Calls that were not read. An error names the first.
    pub unread_calls: u64,
    /// Calls without an answer and answers without a call.
    pub unpaired: Unpaired,
    /// Number of errors.
    pub errors: u64,
}

impl ReadCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.runs, other.runs),
            (&mut self.runs_lost, other.runs_lost),
            (&mut self.runs_without_actions, other.runs_without_actions),
            (&mut self.unread_calls, other.unread_calls),
            (&mut self.errors, other.errors),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.unpaired.add(other.unpaired);
        for (reason, count) in &other.passed_over {
            let sum = self.passed_over.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
}

/// The result of reading one input.
#[derive(Debug, Default, Serialize)]
#[must_use = "it carries the errors of the input"]
#[non_exhaustive]
pub struct ReadSummary {
    /// The format; `None` if it was not recognised, or if there were several.
    pub format: Option<Format>,
    /// Whether there were documents of several formats.
    #[serde(skip)]
    pub(crate) is_mixed: bool,
    /// True if the lines are separate documents, so at least one should be readable.
    #[serde(skip)]
    pub(crate) wants_document: bool,
    /// The counts.
    #[serde(flatten)]
    pub counts: ReadCounts,
    /// Number of positions assigned to readable and unreadable runs since the last piece.
    #[serde(skip)]
    pub(crate) positions: u64,
    /// The errors in the order in which they were found, except those that the sink took
    /// ([`StepSink::error`]). An error with a run position ([`Error::run`]) affects only that run.
    #[serde(skip)]
    pub errors: Vec<Error>,
    /// Spans and log records that were set aside, to be joined with those of other inputs.
    #[serde(skip)]
    pub(crate) set_aside: Option<SpanBatch>,
}

impl ReadSummary {
    /// Counts an error and reports it to the sink. Keeps it if the sink returns it.
    pub(crate) fn fail(&mut self, error: Error, sink: &mut dyn StepSink) {
        self.counts.errors += 1;
        self.counts.runs_lost += u64::from(error.run().is_some());
        self.errors.extend(sink.error(error));
    }
}
