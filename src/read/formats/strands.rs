//! Sessions of Strands Agents: the messages of one agent, each with an id and a time, after the descriptions of the
//! session and of the agent.

use super::chat::Form;
use super::chat_messages::{Conversation, SKIPPED};
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(MESSAGE)], reader: Reader::Document(read) };

const MESSAGE: Mark = All(&[
    Is(Kind::Number, &["message_id"]),
    Has(&["redact_message"]),
    In("message", &Has(&["role", "content"])),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut chat = Conversation::new(Form::Messages, Metadata::default());
    let (mut session, mut agent) = (None, None);
    for element in document.each() {
        if MESSAGE.fits(&element) {
            // If a guardrail removed a message, `redact_message` replaces it.
            let other = element.get("redact_message").filter(|other| other.member("role").is_some());
            if let Some(message) = other.or_else(|| element.get("message")) {
                chat.take(message);
            }
        } else if element.has("session_type") || element.has("state") {
            session = session.or_else(|| element.name("session_id"));
            agent = agent.or_else(|| element.name("agent_id"));
        } else {
            runs.pass_over(SKIPPED, 1);
        }
    }
    let id = session.map(|session| match agent {
        Some(agent) => format!("{session}/{agent}"),
        None => session.into_owned(),
    });
    chat.metadata = Metadata { id, agent: Some("strands".into()), ..Metadata::default() };
    chat.give(runs);
}
