//! Searches for different words, or fetches of one address in different ways, that get the same answer.

use std::collections::VecDeque;

use crate::detect::shared::{Attempt, Does, Meaning, found_nothing, is_withheld, words};
use crate::trace::{Action, Digest};

/// The latest of these calls since the last change or request of the user.
#[derive(Debug, Default)]
pub(super) struct SameAnswer(VecDeque<Answered>);

#[derive(Debug)]
struct Answered {
    step: u64,
    turn: u64,
    key: Option<Digest>,
    answer: Digest,
}

impl SameAnswer {
    /// Number of calls remembered.
    const MOST: usize = 16;
    /// Minimum length, in bytes, of an answer that different calls do not get by chance.
    const LONG: usize = 100;

    /// Records an attempt. If it is such a search or fetch, returns the number of turns with the same answer and the
    /// step of the first, unless all their calls are equal.
    pub(super) fn observe(&mut self, attempt: &Attempt, action: &Action<'_>) -> Option<(u64, u64)> {
        if attempt.changes {
            self.clear();
        }
        let call = &attempt.call.call;
        // Look-ups by an id are about different things, so only searches count, and fetches of the same address.
        let searches = call.does == Does::Read && call.target.is_none() && !call.is_shell;
        let searches = searches && Meaning::of_any(words(&call.program)).is(Meaning::FIND);
        let fetches = call.is_shell && matches!(&*call.program, "curl" | "wget");
        let address = call.text.split(' ').find(|word| fetches && word.contains("://"));
        let asks = searches || address.is_some();
        let answer = action.observation.present().filter(|answer| {
            asks && attempt.failure().is_none() && answer.len() >= Self::LONG && !is_withheld(*answer)
        })?;
        if found_nothing(call, action) {
            return None;
        }
        let (step, turn, key) = (attempt.step, attempt.turn, call.key);
        let address = address.map_or(Digest::NONE, Digest::of_text);
        let answer = Digest::of_text(&answer.to_str()).and(address);
        self.0.truncate(Self::MOST - 1);
        self.0.push_front(Answered { step, turn, key, answer });
        let mut same: Vec<&Answered> = self.0.iter().filter(|other| other.answer == answer).collect();
        let varied = same.iter().any(|other| other.key != key);
        same.dedup_by_key(|other| other.turn);
        let first = same.last().filter(|_| varied)?;
        Some((same.len() as u64, first.step))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
