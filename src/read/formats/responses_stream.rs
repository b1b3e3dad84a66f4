//! Streams of OpenAI's Responses API: lines of events, of one response after the other.
//!
//! The last event of a response holds it whole. A response that failed or was cut has only the items that were done.

use super::chat::{self, Form};
use super::chat_messages::Conversation;
use super::prelude::*;

/// Returns true if lines are the events of such streams.
pub(super) fn is_stream(lines: &[Raw<'_>]) -> bool {
    let is_first = |line: &Raw<'_>| {
        ["response", "item", "item_id", "sequence_number"].iter().any(|key| line.member(key).is_some())
    };
    let is_event = |line: &Raw<'_>| {
        kind(*line)
            .is_some_and(|kind| kind.starts_with("response.") || kind == "error" || kind == "keepalive")
    };
    lines.first().is_some_and(|line| kind(*line).is_some_and(|kind| kind.starts_with("response.")))
        && lines.first().is_some_and(is_first)
        && lines.iter().all(is_event)
}

fn kind(event: Raw<'_>) -> Option<Cow<'_, str>> {
    event.member("type").and_then(common::name)
}

/// A response as its events say it so far.
#[derive(Default)]
struct Response<'a> {
    whole: Members<'a>,
    items: Vec<Raw<'a>>,
    error: Option<Raw<'a>>,
}

pub(super) fn read(lines: &[Raw<'_>], runs: &mut Runs<'_>) -> Read<()> {
    let mut responses: Vec<Response<'_>> = Vec::new();
    for line in lines {
        let kind = kind(*line).unwrap_or_default();
        if kind == "response.created" || responses.is_empty() {
            responses.push(Response::default());
        }
        let Some(response) = responses.last_mut() else { break };
        response.items.extend(line.member("item").filter(|_| kind == "response.output_item.done"));
        response.error = line.member("error").or(response.error);
        if let Some(whole) = line.member("response") {
            response.whole = Members::from(whole);
        }
    }
    responses.iter().try_for_each(|response| response.read(runs))
}

impl Response<'_> {
    fn read(&self, runs: &mut Runs<'_>) -> Read<()> {
        if chat::has_source(&self.whole) {
            return chat::read_object(&self.whole, runs);
        }
        let mut conversation = Conversation::new(Form::Items, Metadata::default());
        conversation.of_one_response(self.whole.usage("usage"));
        self.items.iter().for_each(|item| conversation.take(*item));
        let error = self.whole.present("error").or(self.error);
        let error = error.and_then(|error| words::text(error.member("message").unwrap_or(error)));
        if let Some(error) = error {
            let turn = conversation.turn();
            conversation.assembler.message(Actor::Environment, turn, error);
        }
        chat::give(conversation, &self.whole, runs);
        Ok(())
    }
}
