//! Groups logged requests by conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::llm_calls::Exchange;
use super::llm_messages;
use crate::json::Kind;

/// What an API keeps of a conversation, by its id.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    Response(String),
    Conversation(String),
}

pub(super) struct Exchanges<'e, 'a> {
    /// The keys of the messages of the last request, and their hashes.
    keys: Vec<String>,
    hashes: Hashes,
    /// The requests. Those of a part repeat its messages; those of the next part only continue them.
    pub(super) parts: Vec<Vec<&'e Exchange<'a>>>,
    /// Number of messages at the start that belong to an earlier run.
    pub(super) known: usize,
    /// True if the API keeps the messages before the last request.
    is_kept: bool,
    /// In a log with responses as objects of their own, the number of those that no later request repeats.
    pub(super) lost: u64,
}

impl<'e, 'a> Exchanges<'e, 'a> {
    pub(super) fn last(&self) -> Option<&'e Exchange<'a>> {
        self.parts.last()?.last().copied()
    }

    /// Returns true if a request with these keys repeats the last request, with answers of tools, under another system
    /// prompt.
    fn is_under_other_prompt(&self, keys: &[String]) -> bool {
        let is_same = |(before, now): (&String, &String)| {
            before == now || [before, now].iter().all(|key| key.starts_with("system\n"))
        };
        self.keys.len() <= keys.len()
            && self.keys.iter().zip(keys).all(is_same)
            && self.keys.iter().any(|key| key.starts_with("tool\n"))
    }

    /// Returns true if a request with these keys repeats what the last response says, or its calls.
    fn is_response_in(&self, keys: &[String]) -> bool {
        let said = self.last().map_or_else(Vec::new, Exchange::spoken);
        let next = keys.get(self.keys.len()).map_or("", String::as_str);
        said.into_iter().all(|message| {
            let text = message.member("content").filter(|content| content.kind() == Kind::String);
            let text = text.map(|text| text.spelling().into_owned());
            llm_messages::call_ids(message).into_iter().chain(text).any(|part| next.contains(&part))
        })
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
    let mut by_messages = ByMessages::default();
    for exchange in exchanges {
        let (keys, continued) = (exchange.keys(), exchange.continued());
        let hashes = Hashes::of(exchange, &keys);
        let (mut open, mut known) = (None, 0);
        let mut is_next = false;
        if continued.is_empty() {
            (open, known) = repeating(&conversations, &by_messages, exchange, (&hashes, &keys));
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
        if let Some(one) = conversations.get_mut(place) {
            one.lost += u64::from(exchange.is_apart && !one.is_response_in(&keys));
            by_messages.remove(&one.hashes, place);
            (one.keys, one.hashes) = (keys, hashes);
            one.is_kept |= is_kept;
            match one.parts.last_mut().filter(|_| !is_next) {
                Some(part) => part.push(exchange),
                None => one.parts.push(vec![exchange]),
            }
        } else {
            let parts = vec![vec![exchange]];
            conversations.push(Exchanges { keys, hashes, parts, known, is_kept, lost: 0 });
        }
        if let Some(one) = conversations.get(place).filter(|one| !one.is_kept) {
            by_messages.add(&one.hashes, place);
        }
        places.extend(continued.into_iter().chain(exchange.answered()).map(|kept| (kept, place)));
    }
    conversations
}

/// Hashes of the first 0, 1, 2 … keys of messages: for any run, and for the run of the request.
struct Hashes {
    any: Vec<u64>,
    own: Vec<u64>,
    /// The hash of all keys and those of the response, for the run of the request.
    answered: u64,
}

impl Hashes {
    fn of(exchange: &Exchange<'_>, keys: &[String]) -> Self {
        let spoken: Vec<_> = exchange.spoken().into_iter().map(llm_messages::key).collect();
        let hashes = |run: Option<_>| {
            let mut hasher = DefaultHasher::new();
            run.hash(&mut hasher);
            let first = hasher.finish();
            let next = keys.iter().chain(&spoken).map(|key| {
                key.hash(&mut hasher);
                hasher.finish()
            });
            [first].into_iter().chain(next).collect::<Vec<_>>()
        };
        let (mut any, mut own) = (hashes(None), hashes(Some(&exchange.run)));
        let answered = own.last().copied().unwrap_or_default();
        any.truncate(keys.len() + 1);
        own.truncate(keys.len() + 1);
        Self { any, own, answered }
    }

    /// Returns the hashes of all keys.
    fn whole(&self) -> impl Iterator<Item = u64> {
        [self.any.last(), self.own.last()].into_iter().flatten().copied().chain([self.answered])
    }
}

/// The conversations that no API keeps, by the hashes of their messages.
#[derive(Default)]
struct ByMessages(BTreeMap<u64, BTreeSet<usize>>);

impl ByMessages {
    fn add(&mut self, hashes: &Hashes, place: usize) {
        for hash in hashes.whole() {
            self.0.entry(hash).or_default().insert(place);
        }
    }

    fn remove(&mut self, hashes: &Hashes, place: usize) {
        for hash in hashes.whole() {
            self.0.get_mut(&hash).map(|places| places.remove(&place));
        }
    }

    /// Returns the last conversation with this hash.
    fn last(&self, hash: u64) -> Option<usize> {
        self.0.get(&hash)?.last().copied()
    }
}

/// The roles of the messages before the first response.
const BEFORE: [&str; 3] = ["system", "developer", "user"];

/// Returns true if a response repeats the response before it but for ids, or continues its text, which was cut off.
fn is_retry(before: &Exchange<'_>, now: &Exchange<'_>) -> bool {
    let said = |exchange: &Exchange<'_>| {
        let (texts, calls): (Vec<_>, Vec<_>) = exchange.spoken().into_iter().map(llm_messages::said).unzip();
        (texts.concat(), calls.concat())
    };
    let ((text, calls), (later, later_calls)) = (said(before), said(now));
    if calls.is_empty() { later.starts_with(&text) } else { text == later && calls == later_calls }
}

/// Returns the index of the conversation whose messages a request repeats, if there is one, and the number of messages
/// that an earlier run has if there is none.
fn repeating(
    conversations: &[Exchanges<'_, '_>],
    by_messages: &ByMessages,
    exchange: &Exchange<'_>,
    (hashes, keys): (&Hashes, &[String]),
) -> (Option<usize>, usize) {
    // A first request that another response answers already is another attempt, unless it goes on.
    let has_begun = keys.iter().any(|key| !BEFORE.contains(&key.split('\n').next().unwrap_or_default()));
    let goes_on = |place: &usize| {
        let one = conversations.get(*place);
        one.is_some_and(|one| {
            has_begun || one.keys != keys || one.last().is_some_and(|last| is_retry(last, exchange))
        })
    };
    // Of several attempts, the calls show which one goes on.
    let is_called = |place: &usize| {
        let one = conversations.get(*place);
        let next = one.and_then(|one| Some((one.last()?.spoken(), keys.get(one.keys.len())?)));
        next.is_some_and(|(spoken, next)| {
            spoken.into_iter().flat_map(llm_messages::call_ids).any(|id| next.contains(&id))
        })
    };
    let mut open = hashes.own.iter().rev().filter_map(|hash| {
        let places = by_messages.0.get(hash)?;
        let called = places.iter().rev().find(|place| places.len() > 1 && is_called(place));
        called.or(places.last()).copied()
    });
    if let Some(place) = open.find(goes_on) {
        return (Some(place), 0);
    }
    // CAI writes notes into the system prompt during a run.
    let is_noted = |one: &Exchanges<'_, '_>| one.is_under_other_prompt(keys);
    if exchange.is_apart
        && let Some(place) = conversations.iter().rposition(is_noted)
    {
        return (Some(place), 0);
    }
    // The longest conversation that the messages begin with.
    let before = hashes.any.iter().take(keys.len()).filter_map(|hash| by_messages.last(*hash)).next_back();
    let Some((place, one)) = before.and_then(|place| Some((place, conversations.get(place)?))) else {
        return (None, 0);
    };
    let spoken: Vec<_> = one.last().map_or_else(Vec::new, Exchange::spoken);
    let spoken: Vec<_> = spoken.into_iter().map(llm_messages::key).collect();
    let is_answered = keys.get(one.keys.len()..).is_some_and(|later| later.starts_with(&spoken));
    let known = one.keys.len() + if is_answered { spoken.len() } else { 0 };
    // If the client runs the tools, the log begins a new run after each answer; join it to the run before.
    let is_answer = keys.get(known).is_some_and(|key| key.starts_with("tool\n"));
    (is_answer.then_some(place), known)
}
