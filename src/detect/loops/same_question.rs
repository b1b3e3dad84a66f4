//! Detects that the agent repeats a question, whatever the answer.

use crate::trace::{Actor, Digest, Event, Step, Text};

/// The number of leading characters of a message that are compared.
const HEAD: usize = 300;

/// Counts equal questions of the agent, each in answer to a different message and with no call in between. Equal
/// statements do not count: an agent may have to report the same state again and again.
#[derive(Debug, Default)]
pub(super) struct SameQuestion {
    /// The latest message of the user or environment, and whether it differs from the one before and is unanswered.
    heard: Option<Digest>,
    is_asked: bool,
    /// The agent's latest answer, how often it came in succession, and the step of the first.
    row: Option<(Digest, u64, u64)>,
}

impl SameQuestion {
    /// Processes a step. If it repeats the agent's last question, returns how often that came in succession, and the
    /// step of the first.
    pub(super) fn observe(&mut self, step: &Step<'_>) -> Option<(u64, u64)> {
        match (step.event(), step.actor()) {
            (Event::Action(_), Actor::Agent) => *self = Self::default(),
            (Event::Message(text), Actor::Agent) if std::mem::take(&mut self.is_asked) => {
                let said = digest(*text);
                let row = self.row.filter(|(before, ..)| *before == said);
                let (count, first) = row.map_or((1, step.index()), |(_, count, first)| (count + 1, first));
                self.row = Some((said, count, first));
                return (count > 1 && text.to_str().trim_end().ends_with('?')).then_some((count, first));
            }
            (Event::Message(text), Actor::User | Actor::Environment) => {
                let heard = Some(digest(*text));
                self.is_asked = heard != self.heard;
                self.heard = heard;
            }
            _ => {}
        }
        None
    }
}

fn digest(text: Text<'_>) -> Digest {
    text.start_digest(HEAD).and(Digest::of_text(&text.len().to_string()))
}
