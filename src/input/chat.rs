//! Chat transcripts: messages of `OpenAI`'s chat or of Anthropic's models, items of `OpenAI`'s Responses, alone or in
//! an object around them; mini-swe-agent 1.1.
//!
//! Three names, one reader: exports mix the mark-ups, so all of them are read in each. What is recognised here is a
//! list of elements; `chat_messages` reads messages, `chat_items` items.

use std::borrow::Cow;

use super::Format;
use super::chat_messages::Conversation;
use super::common;
use super::format::{DocumentReader, Entry, Reader};
use super::mini_swe_agent::model_of;
use super::runs::Runs;
use super::sample::{Document, Members};
use super::tokens;
use crate::json::{Json, Kind, Raw, Read};
use crate::trace::{Ending, Metadata};

const READER: Reader = Reader::Document(DocumentReader { claims, read, lines_last: true });

/// Items of `OpenAI`'s Responses.
pub(super) mod responses {
    use super::{Entry, Format, READER};

    pub(in super::super) const FORMAT: Entry = Entry {
        format: Format::OpenAiResponses,
        about: "items of OpenAI's Responses: a list, one per line, or under `items`, `messages`, `input` and `output`",
        decisive: "items with `type` or `role`, some of them calls or their outputs",
        reader: READER,
    };
}

/// Messages of Anthropic's models.
pub(super) mod anthropic {
    use super::{Entry, Format, READER};

    pub(in super::super) const FORMAT: Entry = Entry {
        format: Format::AnthropicMessages,
        about: "messages of Anthropic's models: a list, one per line, or under `messages`",
        decisive: "messages with `role` and `content`, some with blocks `tool_use` or `tool_result`",
        reader: READER,
    };
}

/// Messages of `OpenAI`'s chat.
pub(super) mod openai {
    use super::{Entry, Format, READER};

    pub(in super::super) const FORMAT: Entry = Entry {
        format: Format::OpenAiChat,
        about: "messages of OpenAI's chat: a list, one per line, or under `messages` (mini-swe-agent 1.1)",
        decisive: "messages with `role`, and `content`, `tool_calls` or `function_call`",
        reader: READER,
    };
}

/// Keys of objects that are something else.
const FOREIGN: [&str; 8] =
    ["simulations", "samples", "eval", "reward_info", "trajectory", "history", "steps", "projectHash"];

fn claims(document: &Document<'_>) -> bool {
    match document {
        Document::List(elements) | Document::Lines(elements) => form(elements).is_some(),
        Document::Object(members) => elements_of(members).is_some(),
    }
}

/// What the elements of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Messages,
    Items,
}

/// What the elements are; `None`: neither messages nor items.
fn form(elements: &[Raw<'_>]) -> Option<Form> {
    let mut seen = Seen { messages: true, items: true, called: false };
    for element in elements {
        seen.look(&mut element.json()).ok()?;
        if !(seen.messages || seen.items) {
            return None;
        }
    }
    match (elements, seen) {
        ([], _) => None,
        (_, Seen { items: true, called: true, .. }) => Some(Form::Items),
        (_, Seen { messages: true, .. }) => Some(Form::Messages),
        _ => None,
    }
}

/// What all elements so far may be.
struct Seen {
    messages: bool,
    items: bool,
    /// Whether there was an item that is a call or its output.
    called: bool,
}

impl Seen {
    fn look(&mut self, json: &mut Json<'_>) -> Read<()> {
        if json.kind()? != Kind::Object {
            (self.messages, self.items) = (false, false);
            return Ok(());
        }
        let (mut kind, mut has_role, mut has_body, mut is_foreign) = (None, false, false, false);
        json.object(|key, value| {
            match key {
                b"type" => kind = value.raw()?.string(),
                b"role" => has_role = value.kind()? == Kind::String,
                b"content" | b"function_call" => has_body = true,
                b"tool_calls" => {
                    has_body = true;
                    is_foreign |= are_foreign_calls(value)?;
                }
                b"parts" | b"requestor" => is_foreign = true,
                _ => {}
            }
            Ok(())
        })?;
        self.messages &= has_role && has_body && !is_foreign;
        self.items &= has_role || kind.is_some();
        self.called |= kind.is_some_and(|kind| super::chat_items::Item::of(&kind).is_some());
        Ok(())
    }
}

/// Whether calls are of Inspect (`function` is a name) or of tau2 (`requestor`).
fn are_foreign_calls(json: &mut Json<'_>) -> Read<bool> {
    let mut foreign = false;
    if json.kind()? == Kind::List {
        json.list(|call| {
            if call.kind()? == Kind::Object {
                call.object(|key, value| {
                    foreign |= key == b"requestor" || key == b"function" && value.kind()? == Kind::String;
                    Ok(())
                })?;
            }
            Ok(())
        })?;
    }
    Ok(foreign)
}

/// The elements of an object, and what they are.
struct Elements<'a> {
    list: Vec<Raw<'a>>,
    form: Form,
    /// Where the output of the one response begins that the object is.
    output_at: Option<usize>,
}

fn elements_of<'a>(members: &Members<'a>) -> Option<Elements<'a>> {
    if FOREIGN.iter().any(|key| members.has(key)) {
        return None;
    }
    let list = |key: &str| members.get(key).and_then(Raw::items);
    let mut messages = None;
    for key in ["items", "messages"] {
        let Some(elements) = list(key) else { continue };
        match form(&elements) {
            Some(Form::Items) => {
                return Some(Elements { list: elements, form: Form::Items, output_at: None });
            }
            Some(Form::Messages) if key == "messages" => {
                messages = Some(Elements { list: elements, form: Form::Messages, output_at: None });
            }
            _ => {}
        }
    }
    // A list of messages is looked through once, unless there is something else that may count before it.
    if messages.is_none() || members.is("input", Kind::List) || members.is("output", Kind::List) {
        let mut elements = list("input").unwrap_or_default();
        let output_at = Some(elements.len());
        elements.extend(list("output").unwrap_or_default());
        if form(&elements) == Some(Form::Items) {
            return Some(Elements { list: elements, form: Form::Items, output_at });
        }
    }
    messages
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        Document::List(elements) | Document::Lines(elements) => {
            let mut conversation = Conversation::new(form(elements).unwrap_or(Form::Messages));
            for element in elements {
                conversation.element(*element)?;
            }
            give(conversation, Metadata::default(), None, runs);
        }
        Document::Object(members) => {
            let Some(Elements { list, form, output_at }) = elements_of(members) else { return Ok(()) };
            let mut conversation = Conversation::new(form);
            let usage = members.get("usage").and_then(tokens::usage);
            for (place, element) in list.iter().enumerate() {
                if output_at == Some(place) {
                    conversation.of_one_response(usage);
                }
                conversation.element(*element)?;
            }
            let reward = members.get("reward").filter(|reward| reward.kind() == Kind::Number);
            let reward = reward.and_then(|reward| reward.json().float().ok());
            give(conversation, metadata(members), reward, runs);
        }
    }
    Ok(())
}

fn give(mut conversation: Conversation<'_>, metadata: Metadata, reward: Option<f64>, runs: &mut Runs<'_>) {
    runs.is_of(conversation.format());
    runs.pass_over("elements that are neither messages, calls nor results", conversation.unknown());
    let termination = metadata.termination.or_else(|| conversation.exit_status());
    let metadata = Metadata { termination, ..metadata };
    runs.give(conversation.steps(), Ending::new(metadata, reward), &None.into());
}

/// What the object around the elements tells.
fn metadata(members: &Members<'_>) -> Metadata {
    let ident = |key: &str| members.get(key).and_then(common::ident).map(Cow::into_owned);
    let info = members.get("info");
    let mut metadata = Metadata::default();
    metadata.id = ["trace_id", "session_id", "conversation_id", "id"].into_iter().find_map(ident);
    metadata.task = ident("task_id").or_else(|| ident("instance_id"));
    let model = members.name("model").or_else(|| info.and_then(model_of));
    metadata.model = model.map(|model| model.as_ref().into());
    let mini = || {
        let written = members.name("trajectory_format")?;
        written.starts_with("mini-swe-agent").then_some(Cow::Borrowed("mini-swe-agent"))
    };
    metadata.agent = members.name("agent").or_else(mini).map(|agent| agent.as_ref().into());
    let exit_status = info.and_then(|info| info.member("exit_status")).and_then(common::name);
    let is_response = members.name("object").is_some_and(|object| object == "response");
    let status = || members.name("status").filter(|_| is_response);
    metadata.termination = exit_status.or_else(status).map(Cow::into_owned);
    metadata
}
