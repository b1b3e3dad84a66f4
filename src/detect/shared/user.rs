//! Messages of the user between the calls of an agent.

use super::arguments::names_value;
use super::phrase_search::Pattern;
use crate::trace::{Action, Actor, Event, Step};

/// A message that asks for nothing, so it is not counted.
static COURTESY: Pattern = Pattern::new(
    r"^(?i:okay|ok|sure|great|please|thanks|thank you|one moment|just a moment|hold on|let me (?:see|check)|[\s.,!])*$",
);

/// A message that asks for another try, or says that the cause of a failure is gone.
static RETRY: Pattern = Pattern::new(
    r"(?i)(?:^|[.!?,;:] *|\n *|please |can you |could you |now )(?:just )?(?:re-?try\b|try (?:it |that |this )?(?:again|once more))|(?:should|will) work now *(?:[.!]|$)|\bi(?:'ve|’ve| have)? (?:just )?(?:fixed|restarted|enabled|granted|approved|added|set) (?:it|that|this|the)\b",
);

/// Maximum number of bytes of a message that are kept.
const REMEMBERED: usize = 2_000;

/// The messages of the user so far.
#[derive(Debug, Default)]
pub(crate) struct UserSays {
    /// The number of messages that ask for something.
    pub(crate) messages: u64,
    /// The number of these that differ from the one before, unlike the repeated nudges of a harness.
    pub(crate) requests: u32,
    /// The step of the last of them.
    pub(crate) latest: u64,
    text: Vec<u8>,
    /// Whether the user or the harness stopped the agent. Callers must clear it when the agent continues.
    pub(crate) stopped: bool,
    /// Whether the last step is a message that sums up a session whose earlier messages are gone.
    pub(crate) resumes: bool,
}

/// The beginnings of messages that say that the user or the harness stopped the agent.
const STOPS: [&str; 3] = ["[Request interrupted by user", "<turn_aborted>", "Request was aborted"];
/// The beginning of a message that sums up an earlier session.
const RESUMES: &str = "This session is being continued from a previous conversation";

impl UserSays {
    pub(crate) fn observe(&mut self, step: &Step<'_>) {
        self.resumes = false;
        let Event::Message(text) = step.event() else { return };
        let by_other = step.actor() != Actor::Agent;
        self.stopped |= by_other && STOPS.iter().any(|start| text.starts_with(start));
        self.resumes = by_other && text.starts_with(RESUMES);
        let is_short = text.len() <= 100;
        if step.actor() != Actor::User || text.is_empty() || is_short && COURTESY.is_match(&text.to_str()) {
            return;
        }
        self.messages += 1;
        self.requests += u32::from(self.text != text.start(REMEMBERED));
        self.latest = step.index();
        self.text.clear();
        self.text.extend_from_slice(text.start(REMEMBERED));
    }

    /// Returns true if the latest counted message contains a value with a digit from the arguments of a call.
    pub(crate) fn gave(&self, action: &Action<'_>) -> bool {
        names_value(action, &self.text)
    }

    /// Returns true if the latest counted message came after `step` and asks for another try.
    pub(crate) fn asks_again(&self, step: u64) -> bool {
        self.latest > step && RETRY.is_match(&String::from_utf8_lossy(&self.text))
    }

    /// Returns true if the latest counted message names a file.
    pub(crate) fn names(&self, file: &str) -> bool {
        file.contains('.') && memchr::memmem::find(&self.text, file.as_bytes()).is_some()
    }

    pub(crate) fn memory(&self) -> usize {
        self.text.capacity()
    }
}
