//! The queue of a Claude Code session: texts that arrive while the agent works.

use super::prelude::*;

/// Prefixes of texts that the harness writes in the user's name.
const OF_HARNESS: [&str; 3] = ["<task-notification>", "<bash-stdout>", "{\"task_id\":"];

pub(super) fn is_of_harness(text: &TextCow<'_>) -> bool {
    OF_HARNESS.iter().any(|start| text.text().starts_with(start))
}

#[derive(Default)]
pub(super) struct Queue<'a> {
    waiting: Vec<TextCow<'a>>,
    /// Texts that became messages, and may be attached to the session as well.
    sent: Vec<TextCow<'a>>,
}

impl<'a> Queue<'a> {
    /// Applies an operation, and returns the message that it adds. A text that is dequeued has a line of its own, but
    /// one that is removed, because the agent reads it in its turn, may have none.
    pub(super) fn change(&mut self, operation: &str, text: Option<TextCow<'a>>) -> Option<TextCow<'a>> {
        match operation {
            "enqueue" => self.waiting.extend(text),
            "popAll" => self.waiting.clear(),
            "dequeue" | "remove" => {
                // Texts of the user come before those of the harness.
                let is_next = |waiting: &TextCow<'a>| match &text {
                    Some(text) => waiting.text() == text.text(),
                    None => !is_of_harness(waiting),
                };
                let next = self.waiting.iter().position(is_next).unwrap_or(0);
                let next = (next < self.waiting.len()).then(|| self.waiting.remove(next));
                let removed = next.filter(|_| operation == "remove");
                self.sent.extend(removed.clone());
                return removed;
            }
            _ => {}
        }
        None
    }

    /// Returns true if the text of a line is a message already. The text does not wait any longer.
    pub(super) fn has_sent(&mut self, text: &TextCow<'a>, is_attached: bool) -> bool {
        let take = |texts: &mut Vec<TextCow<'a>>| {
            let place = texts.iter().position(|known| known.text() == text.text());
            place.map(|place| texts.remove(place)).is_some()
        };
        !take(&mut self.waiting) && is_attached && take(&mut self.sent)
    }
}
