//! Refusals of different programs by the harness in the same words.

use std::sync::Arc;

use crate::detect::shared::{Attempt, Failure, FailureKind};
use crate::trace::DigestMap;

/// Number of programs refused in the same words after which trying another one is blind.
pub(super) const PROGRAMS: usize = 2;
/// Minimum length, in bytes, of a line that counts as the harness's own words.
const OWN_WORDS: usize = 40;

/// The refusals of the harness, by wording.
#[derive(Debug, Default)]
pub(super) struct RefusedPrograms(DigestMap<Refused>);

#[derive(Debug)]
struct Refused {
    first: u64,
    turn: u64,
    /// The refused programs, at most one per turn: the calls of a turn are sent before the first refusal is known.
    programs: Vec<Arc<str>>,
}

impl RefusedPrograms {
    /// Returns the step of the first refusal in these words, if this is the third program to be refused in them.
    pub(super) fn refused(&mut self, attempt: &Attempt, failure: &Failure) -> Option<u64> {
        let is_own = failure.kind == FailureKind::Refused && failure.line.len() >= OWN_WORDS;
        if !is_own || !failure.recorded {
            return None;
        }
        let program = &attempt.call.call.program;
        let new = || Refused { first: attempt.step, turn: attempt.turn, programs: Vec::new() };
        let refused = self.0.entry(failure.wording).or_insert_with(new);
        let is_sent_before = !refused.programs.is_empty() && refused.turn == attempt.turn;
        if is_sent_before || refused.programs.len() > PROGRAMS || refused.programs.contains(program) {
            return None;
        }
        refused.turn = attempt.turn;
        refused.programs.push(Arc::clone(program));
        (refused.programs.len() > PROGRAMS).then_some(refused.first)
    }

    /// Returns the number of wordings.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
