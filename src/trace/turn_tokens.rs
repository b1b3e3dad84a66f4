//! Tokens of responses without a call. The agent's messages carry them.

use super::step::Actor;
use super::usage::Usage;

/// The tokens of each turn of the run that is being read.
#[derive(Debug, Default)]
pub(super) struct TurnUsage {
    of_turns: Vec<(u64, Usage)>,
}

impl TurnUsage {
    pub(super) fn clear(&mut self) {
        self.of_turns.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_turns.is_empty()
    }

    /// Adds the tokens of a turn. If a turn is added twice, [`TurnUsage::leave_out`] keeps the first.
    pub(super) fn add(&mut self, turn: u64, tokens: Usage) {
        self.of_turns.push((turn, tokens));
    }

    /// Sorts the turns, keeps the first tokens of each, and drops turns without tokens and turns with calls, because
    /// the calls carry the tokens.
    pub(super) fn leave_out(&mut self, turns_of_calls: impl Iterator<Item = u64>) {
        self.of_turns.sort_by_key(|(turn, _)| *turn);
        self.of_turns.dedup_by_key(|(turn, _)| *turn);
        for turn in turns_of_calls {
            if let Some(place) = self.place(turn)
                && let Some((_, tokens)) = self.of_turns.get_mut(place)
            {
                *tokens = Usage::default();
            }
        }
        self.of_turns.retain(|(_, tokens)| !tokens.is_empty());
    }

    /// Returns the tokens of a message. Callers must call [`TurnUsage::leave_out`] after the last
    /// [`TurnUsage::add`].
    #[inline]
    pub(super) fn of_message(&self, actor: Actor, turn: u64) -> Option<Usage> {
        // A message of another actor may have the same turn number as the agent's next turn.
        if self.is_empty() || actor != Actor::Agent {
            return None;
        }
        self.of_turns.get(self.place(turn)?).map(|(_, tokens)| *tokens)
    }

    fn place(&self, turn: u64) -> Option<usize> {
        self.of_turns.binary_search_by_key(&turn, |(turn, _)| *turn).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_agent_bear_the_tokens_of_turns_without_calls() {
        let mut spent = TurnUsage::default();
        for (turn, tokens) in [(7, 70), (2, 20), (4, 40), (2, 21)] {
            spent.add(turn, Usage { input_tokens: Some(tokens), ..Usage::default() });
        }
        spent.leave_out([4, 5, 4].into_iter());
        let of = |actor, turn| spent.of_message(actor, turn).and_then(|usage| usage.input_tokens);
        assert_eq!([2, 3, 4, 7].map(|turn| of(Actor::Agent, turn)), [Some(20), None, None, Some(70)]);
        assert_eq!([Actor::User, Actor::Environment].map(|actor| of(actor, 2)), [None, None]);
        spent.clear();
        assert!(spent.is_empty() && spent.of_message(Actor::Agent, 2).is_none());
    }
}
