//! Failures that also occur without the agent's changes.

use super::{Attempt, Does, Report, Undo};
use crate::trace::{Digest, DigestSet};

/// Tracks whether changes were reverted, and which checks fail without them.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    /// Whether changes were reverted and nothing has been changed since.
    reverted: bool,
    /// The failures of checks while `reverted` was set, by program and line.
    known: DigestSet,
}

impl Baseline {
    /// Maximum number of failures remembered.
    const MOST: usize = 256;

    /// Records an attempt, and returns true if it is a check that also fails without the changes.
    pub(crate) fn excuses(&mut self, attempt: &Attempt) -> bool {
        let (call, failure) = (&attempt.call.call, attempt.failure());
        let check = call.parts.iter().rfind(|part| part.check.is_some());
        // If the last command of the line is a check, its failure does not mean that the revert failed.
        let went_through = failure.is_none() || call.parts.last().is_some_and(|last| last.check.is_some());
        for part in call.parts.iter().filter(|part| part.does == Does::Write) {
            self.reverted = went_through && part.undo == Undo::Reverts;
        }
        let Some((check, failure)) = check.zip(failure) else { return false };
        let key = Digest::of_text(&check.program).and(Digest::of_text(&failure.line));
        let tells = failure.report != Some(Report::Counted) && !failure.line.is_empty();
        if self.reverted && tells && self.known.len() < Self::MOST {
            self.known.insert(key);
        }
        self.reverted || self.known.contains(&key)
    }

    pub(crate) fn memory(&self) -> usize {
        self.known.len() * 2 * size_of::<Digest>()
    }
}
