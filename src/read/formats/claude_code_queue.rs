//! The queue of a Claude Code session: texts that arrive while the agent works.

use std::collections::VecDeque;

use super::prelude::*;
use crate::trace::DigestMap;

/// Maximum number of texts of each kind that are remembered.
const MOST: usize = 1_024;

/// The beginning of a message of another session.
const OF_SESSION: &str = "<cross-session-message ";

/// Prefixes of texts that the harness writes in the user's name.
const OF_HARNESS: [&str; 4] = ["<task-notification>", "<bash-stdout>", "{\"task_id\":", OF_SESSION];

pub(super) fn is_of_harness(text: &TextCow<'_>) -> bool {
    OF_HARNESS.iter().any(|start| text.text().starts_with(start))
}

#[derive(Default)]
pub(super) struct Queue<'a> {
    /// The texts of the user and those of the harness, oldest first. Some may wait no longer.
    by_user: VecDeque<TextCow<'a>>,
    by_harness: VecDeque<TextCow<'a>>,
    /// The number of times that each text waits.
    waiting: DigestMap<u64>,
    /// Texts that became messages, and may have a line of their own as well: how many times, and the latest turn.
    sent: DigestMap<u64>,
    sent_in: DigestMap<u64>,
    /// The text that was dequeued for the next line of a message.
    pub(super) dequeued: Option<TextCow<'a>>,
}

impl<'a> Queue<'a> {
    /// Applies an operation, and returns the message that it adds in this turn. A text that is dequeued has a line of
    /// its own, but one that is removed, because the agent reads it in its turn, may have none.
    pub(super) fn change(
        &mut self,
        operation: &str,
        text: Option<TextCow<'a>>,
        turn: u64,
    ) -> Option<TextCow<'a>> {
        match operation {
            "enqueue" => self.enqueue(text?),
            "popAll" => {
                self.dequeued = None;
                self.waiting.clear();
                self.by_user.clear();
                self.by_harness.clear();
            }
            "dequeue" | "remove" => {
                let named = text.filter(|text| take(&mut self.waiting, digest(text)));
                let next = named.or_else(|| self.next());
                if operation == "dequeue" {
                    self.dequeued = next;
                    return None;
                }
                let removed = next?;
                if self.sent_in.len() == MOST {
                    (self.sent, self.sent_in) = Default::default();
                }
                let digest = digest(&removed);
                *self.sent.entry(digest).or_default() += 1;
                self.sent_in.insert(digest, turn);
                return Some(removed);
            }
            _ => {}
        }
        None
    }

    fn enqueue(&mut self, text: TextCow<'a>) {
        *self.waiting.entry(digest(&text)).or_default() += 1;
        let texts = if is_of_harness(&text) { &mut self.by_harness } else { &mut self.by_user };
        texts.push_back(text);
        if texts.len() > MOST
            && let Some(oldest) = texts.pop_front()
        {
            take(&mut self.waiting, digest(&oldest));
        }
    }

    /// Removes the next text. Those of the user come before those of the harness.
    fn next(&mut self) -> Option<TextCow<'a>> {
        let Self { by_user, by_harness, waiting, .. } = self;
        let mut texts = std::iter::from_fn(|| by_user.pop_front().or_else(|| by_harness.pop_front()));
        texts.find(|text| take(waiting, digest(text)))
    }

    /// Returns the message of a line in this turn: its text, unless that is a message already. If the text was removed
    /// before a dequeue, the removal took the text that seemed to be dequeued.
    pub(super) fn message(
        &mut self,
        text: TextCow<'a>,
        dequeued: Option<TextCow<'a>>,
        is_attached: bool,
        turn: u64,
    ) -> Option<TextCow<'a>> {
        let digest = digest(&text);
        let may_repeat = is_attached || dequeued.is_some() || self.sent_in.get(&digest) == Some(&turn);
        let is_sent = !take(&mut self.waiting, digest) && may_repeat && take(&mut self.sent, digest);
        if is_sent { dequeued } else { Some(text) }
    }
}

/// Returns the digest of a text. For a message from another session, an attribute that later lines lack is left out.
fn digest(text: &TextCow<'_>) -> Digest {
    let text = text.text();
    if !text.starts_with(OF_SESSION) {
        return text.digest();
    }
    let text = text.to_str();
    let without = text
        .split_once(" hop-chain=\"")
        .and_then(|(before, rest)| rest.split_once('"').map(|(_, after)| format!("{before}{after}")));
    Text::from(without.as_deref().unwrap_or(&text)).digest()
}

/// Lowers the count of a text, or returns false if it has none.
fn take(counts: &mut DigestMap<u64>, text: Digest) -> bool {
    let Some(count) = counts.get_mut(&text) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(&text);
    }
    true
}
