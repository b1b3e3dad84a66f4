//! Groups logged requests by conversation.

use std::collections::BTreeMap;

use super::llm_calls::Exchange;
use super::llm_messages;

/// What an API keeps of a conversation, by its id.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    Response(String),
    Conversation(String),
}

pub(super) struct Exchanges<'e, 'a> {
    /// The keys of the messages of the last request.
    keys: Vec<String>,
    /// The requests. Those of a part repeat its messages; those of the next part only continue them.
    pub(super) parts: Vec<Vec<&'e Exchange<'a>>>,
    /// Number of messages at the start that belong to an earlier run.
    pub(super) known: usize,
    /// True if the API keeps the messages before the last request.
    is_kept: bool,
}

impl<'e, 'a> Exchanges<'e, 'a> {
    pub(super) fn last(&self) -> Option<&'e Exchange<'a>> {
        self.parts.last()?.last().copied()
    }

    /// Returns true if a request with these keys, which continues `kept`, repeats the last request. In a conversation
    /// that the API keeps, only a request that failed is repeated; others may have the same text.
    fn is_retried(&self, kept: &Kept, keys: &[String]) -> bool {
        let Some(last) = self.last().filter(|last| last.continued().contains(kept)) else { return false };
        match kept {
            Kept::Response(_) => keys.starts_with(&self.keys),
            Kept::Conversation(_) => keys == self.keys && last.spoken().is_empty(),
        }
    }

    /// Returns true if a request that continues `kept` continues the last request.
    fn is_continued(&self, kept: &Kept) -> bool {
        let Some(last) = self.last() else { return false };
        match kept {
            Kept::Response(_) => last.answered().as_ref() == Some(kept),
            Kept::Conversation(_) => last.continued().contains(kept),
        }
    }
}

/// Groups requests by conversation, in the order in which the conversations begin.
pub(super) fn group<'e, 'a>(exchanges: &'e [Exchange<'a>]) -> Vec<Exchanges<'e, 'a>> {
    let mut conversations: Vec<Exchanges<'e, 'a>> = Vec::new();
    // The last conversation with each response, and with each id that its requests continue.
    let mut places: BTreeMap<Kept, usize> = BTreeMap::new();
    for exchange in exchanges {
        let (keys, continued) = (exchange.keys(), exchange.continued());
        let (mut open, mut known) = (None, 0);
        let mut is_next = false;
        if continued.is_empty() {
            (open, known) = repeating(&conversations, exchange, &keys);
        }
        for kept in &continued {
            let Some(place) = places.get(kept).copied() else { continue };
            let Some(one) = conversations.get(place) else { continue };
            let is_retry = one.is_retried(kept, &keys);
            if is_retry || one.is_continued(kept) {
                (open, is_next) = (Some(place), !is_retry);
                break;
            }
        }
        let place = open.unwrap_or(conversations.len());
        let is_kept = !continued.is_empty();
        match conversations.get_mut(place) {
            Some(one) => {
                one.keys = keys;
                one.is_kept |= is_kept;
                match one.parts.last_mut().filter(|_| !is_next) {
                    Some(part) => part.push(exchange),
                    None => one.parts.push(vec![exchange]),
                }
            }
            None => conversations.push(Exchanges { keys, parts: vec![vec![exchange]], known, is_kept }),
        }
        places.extend(continued.into_iter().chain(exchange.answered()).map(|kept| (kept, place)));
    }
    conversations
}

/// Returns the index of the conversation whose messages a request repeats, if there is one, and the number of messages
/// that an earlier run has if there is none.
fn repeating(
    conversations: &[Exchanges<'_, '_>],
    exchange: &Exchange<'_>,
    keys: &[String],
) -> (Option<usize>, usize) {
    let is_same_run = |one: &Exchanges<'_, '_>| one.last().is_some_and(|last| last.run == exchange.run);
    let repeats = |one: &Exchanges<'_, '_>| !one.is_kept && is_same_run(one) && keys.starts_with(&one.keys);
    let open = conversations.iter().rposition(repeats);
    if open.is_some() {
        return (open, 0);
    }
    let Some((place, known)) = repeated(conversations, keys) else { return (None, 0) };
    // If the client runs the tools, the log begins a new run after each answer; join it to the run before.
    let is_answer = keys.get(known).is_some_and(|key| key.starts_with("tool\n"));
    (is_answer.then_some(place), known)
}

/// Returns the index of the longest conversation that the messages with these keys begin with, and the number of
/// its messages that they repeat, those of its last response included.
fn repeated(conversations: &[Exchanges<'_, '_>], keys: &[String]) -> Option<(usize, usize)> {
    let places = conversations.iter().enumerate().filter(|(_, one)| !one.is_kept);
    let before = places.filter(|(_, one)| keys.len() > one.keys.len() && keys.starts_with(&one.keys));
    let (place, one) = before.max_by_key(|(_, one)| one.keys.len())?;
    let spoken: Vec<_> = one.last()?.spoken().into_iter().map(llm_messages::key).collect();
    let is_answered = keys.get(one.keys.len()..).is_some_and(|later| later.starts_with(&spoken));
    Some((place, one.keys.len() + if is_answered { spoken.len() } else { 0 }))
}
