//! Chat transcripts: messages of OpenAI's chat API or of Anthropic's models, or items of OpenAI's Responses
//! API. They form the whole document, or are part of an object, as in mini-swe-agent 1.1.
//!
//! Three formats share one reader, because exports mix them. This file recognises lists of elements; `chat_messages`
//! reads messages, and `chat_items` reads items.

use std::ops::ControlFlow::{self, Break, Continue};

pub(in crate::read) use super::chat_around::{around, metadata, reward};
use super::chat_element::Element;
use super::chat_messages::Conversation;
use super::prelude::*;

const fn definition(signature: &'static [Shape]) -> Definition {
    Definition { signature, reader: Reader::Generic(read) }
}

/// Items of OpenAI's Responses API.
pub(super) mod responses {
    pub(in crate::read::formats) const FORMAT: super::Definition =
        super::definition(&[super::Shape::Document(
            "items with `type` or `role`, some of them calls or their outputs",
            super::claims,
        )]);
}

/// Messages of Anthropic's models.
pub(super) mod anthropic {
    pub(in crate::read::formats) const FORMAT: super::Definition =
        super::definition(&[super::Shape::Document(
            "messages with `role` and `content`, some with blocks `tool_use` or `tool_result`",
            super::claims,
        )]);
}

/// Messages of OpenAI's chat API.
pub(super) mod openai {
    pub(in crate::read::formats) const FORMAT: super::Definition =
        super::definition(&[super::Shape::Document(
            "messages with `role`, and `content`, `tool_calls` or `function_call`",
            super::claims,
        )]);
}

/// Keys that show that an object is in another format.
const FOREIGN: [&str; 8] =
    ["simulations", "samples", "eval", "reward_info", "trajectory", "history", "steps", "projectHash"];

fn claims(document: &Document<'_>) -> bool {
    match document {
        Document::List(_) | Document::Lines(_) => elements(document).is_some(),
        Document::Object(members) => {
            let are_messages = |items: &[Raw<'_>]| form(&Source::Slice(items), DECISIVE, true).is_some();
            source_of(members).is_some()
                || !is_something_else(members) && written(members, are_messages) == Some(true)
        }
    }
}

/// Calls `read` with the messages of an object that holds them as JSON in a string, as rows of tables do.
fn written<T>(members: &Members<'_>, read: impl FnOnce(&[Raw<'_>]) -> T) -> Option<T> {
    let is_row = !members.has("type")
        && members.iter().all(|(_, value)| value.items().is_none() && value.kind() != Kind::Object);
    let text = members.name("messages").filter(|text| is_row && text.starts_with('['))?;
    let list = Raw::over(text.as_bytes(), 0);
    let items = list.items().filter(|_| list.json().is_sound())?;
    Some(read(&items))
}

/// Returns the elements of a list or of lines, and their kind. A line of metadata may come before them.
fn elements<'d, 'a>(document: &'d Document<'a>) -> Option<(&'d [Raw<'a>], Form)> {
    let of = |items| form(&Source::Slice(items), DECISIVE, true).map(|form| (items, form));
    let items = document.items();
    let first = items.first()?;
    of(items).or_else(|| match document {
        Document::Lines(lines) if first.member("content").is_none() && !is_chat_role(first) => {
            of(lines.get(1..)?)
        }
        _ => None,
    })
}

/// Returns true if an element has the role of a message, not `session_meta`, which Hermes gives its line of metadata.
fn is_chat_role(element: &Raw<'_>) -> bool {
    element.member("role").and_then(common::name).is_some_and(|role| role != "session_meta")
}

/// Number of elements that decide the kind of the others.
const DECISIVE: Option<usize> = Some(words::DECISIVE_ITEMS);

/// The kind of the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    #[default]
    Messages,
    Items,
}

/// Where the elements are.
enum Source<'d, 'a> {
    /// In a list, or one per line.
    Slice(&'d [Raw<'a>]),
    /// In one list of an object.
    List(Raw<'a>),
    /// In two lists of an object: the input and the output of one response, or the query and the response of
    /// a turn.
    Response(Option<Raw<'a>>, Option<Raw<'a>>),
}

impl<'a> Source<'_, 'a> {
    /// Calls `each` with every element until `each` breaks, and with true for the elements of the second list of
    /// a response.
    fn walk(
        &self,
        mut each: impl FnMut(&mut Json<'a>, bool) -> Read<ControlFlow<()>>,
    ) -> Read<ControlFlow<()>> {
        match self {
            Self::Slice(elements) => {
                for element in *elements {
                    if each(&mut element.json(), false)?.is_break() {
                        return Ok(Break(()));
                    }
                }
            }
            Self::List(list) => return list.json().list_until(|element| each(element, false)),
            Self::Response(input, output) => {
                for (list, is_output) in [(input, false), (output, true)] {
                    if let Some(list) = list
                        && list.json().list_until(|element| each(element, is_output))?.is_break()
                    {
                        return Ok(Break(()));
                    }
                }
            }
        }
        Ok(Continue(()))
    }
}

/// Returns the kind of the elements; `None` if they are neither messages nor items. If `enough` is given, the
/// first `enough` elements may decide the kind; the others are then checked when they are read. If `may_be_chat` is
/// false, messages alone do not decide the kind early, because calls may still follow.
fn form(source: &Source<'_, '_>, enough: Option<usize>, may_be_chat: bool) -> Option<Form> {
    let (mut messages, mut items, mut typed, mut called, mut count) = (true, true, false, false, 0);
    let mut decided = false;
    let walked = source.walk(|json, _| {
        let element = Element::of(Members::of(json));
        messages &= element.is_message();
        items &= element.is_item();
        typed |= element.has_type();
        called |= element.item.is_some();
        count += 1;
        // Items may follow a few messages with a type, so such messages do not decide at once.
        let are_messages = messages && may_be_chat && (!typed || count >= words::DECISIVE_ITEMS);
        let are_known = are_messages || items && called;
        decided = are_known && enough.is_some_and(|enough| count >= enough);
        Ok(if decided || !messages && !items { Break(()) } else { Continue(()) })
    });
    if walked.is_err() {
        return None;
    }
    match (messages, items && called) {
        _ if count == 0 => None,
        (_, true) => Some(Form::Items),
        (true, false) => Some(Form::Messages),
        (false, false) => None,
    }
}

/// Returns true if the object that encloses messages or items is in another format.
fn is_something_else(members: &Members<'_>) -> bool {
    members.name("trajectory_format").is_some_and(|format| format == "mini-swe-agent-1")
        || FOREIGN.iter().any(|key| members.has(key) && !(*key == "steps" && are_copied(members)))
}

/// Returns true if the steps next to messages are copies of them: the messages include answers from tools, or all steps
/// are messages.
fn are_copied(members: &Members<'_>) -> bool {
    let is_response = |step: Members<'_>| {
        matches!(step.name("message_type").as_deref(), Some("llm_response" | "user_message"))
    };
    let has = |role| members.objects("messages").any(|message| message.name("role").as_deref() == Some(role));
    has("tool") || has("assistant") && members.objects("steps").all(is_response)
}

/// Returns the elements of an object, and their kind.
fn source_of<'a>(members: &Members<'a>) -> Option<(Source<'a, 'a>, Form)> {
    let list = |key: &str| members.get(key).filter(|list| list.kind() == Kind::List);
    let (messages, items) = (list("messages").map(Source::List), list("items").map(Source::List));
    let (input, output) = (list("input"), list("output"));
    let response = (input.is_some() || output.is_some()).then_some(Source::Response(input, output));
    // Data for Azure's evaluators: a query and a response.
    let evaluated = list("query").zip(list("response"));
    let evaluated = evaluated.map(|(query, response)| Source::Response(Some(query), Some(response)));
    if messages.is_none() && items.is_none() && response.is_none() && evaluated.is_none() {
        return None;
    }
    if is_something_else(members) {
        return None;
    }
    // Items take precedence over messages.
    let lists = [messages.is_some(), items.is_some(), response.is_some(), evaluated.is_some()];
    let is_alone = lists.into_iter().filter(|is_there| *is_there).count() == 1;
    let enough = DECISIVE.filter(|_| is_alone);
    let mut chat = None;
    for (source, may_be_chat) in [(items, false), (messages, true), (evaluated, true), (response, false)] {
        let Some(source) = source else { continue };
        match form(&source, enough, may_be_chat) {
            Some(Form::Items) => return Some((source, Form::Items)),
            Some(Form::Messages) if may_be_chat => chat = Some((source, Form::Messages)),
            _ => {}
        }
    }
    chat
}

/// Like [`source_of`], but for a claimed object, and without looking at its elements. Returns `None` unless the
/// object has exactly one of these: `messages`, `items`, or a response (`input`, `output` or both).
fn claimed_of<'a>(members: &Members<'a>) -> Option<(Source<'a, 'a>, Form)> {
    let list = |key: &str| members.get(key).filter(|list| list.kind() == Kind::List);
    match (list("messages"), list("items"), list("input"), list("output")) {
        (Some(messages), None, None, None) => Some((Source::List(messages), Form::Messages)),
        (None, Some(items), None, None) => Some((Source::List(items), Form::Items)),
        (None, None, input, output) if input.is_some() || output.is_some() => {
            Some((Source::Response(input, output), Form::Items))
        }
        _ => None,
    }
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        Document::List(_) | Document::Lines(_) => {
            let (items, found) = elements(document).unwrap_or((document.items(), Form::Messages));
            let oldest_first: Vec<_>;
            let source = if is_newest_first(items) {
                oldest_first = items.iter().rev().copied().collect();
                Source::Slice(&oldest_first)
            } else {
                Source::Slice(items)
            };
            let header = document.items().first().filter(|_| items.len() < document.items().len());
            let around = header.map(|header| Members::from(*header)).unwrap_or_default();
            let conversation = match converse(&source, found, &around) {
                // If both readings fail, the error is the one from reading messages.
                Err(_) if found == Form::Items => converse(&source, Form::Messages, &around)?,
                read => read?,
            };
            runs.pass_over("lines before the messages", header.iter().len() as u64);
            give(conversation, &around, runs);
        }
        Document::Object(members) => {
            let mut read = |source: &Source<'_, '_>, form| {
                let conversation = converse(source, form, members)?;
                runs.pass_over("steps next to the messages", members.list("steps").len() as u64);
                give(conversation, members, runs);
                Ok(())
            };
            return match claimed_of(members).or_else(|| source_of(members)) {
                Some((source, form)) => read(&source, form),
                None => {
                    written(members, |items| read(&Source::Slice(items), Form::Messages)).unwrap_or(Ok(()))
                }
            };
        }
    }
    Ok(())
}

/// Returns true if the last message was created before the first, as OpenAI's Assistants API lists them by default.
pub(super) fn is_newest_first(items: &[Raw<'_>]) -> bool {
    let created = |item: Option<&Raw<'_>>| item?.member("created_at")?.integer();
    created(items.first()).zip(created(items.last())).is_some_and(|(first, last)| last < first)
}

/// Reads all elements in the form `found`. If one of them does not fit, all are read again in the other form. `around`
/// is the object that encloses the elements, or the line before them.
fn converse<'a>(source: &Source<'_, 'a>, found: Form, around: &Members<'_>) -> Read<Conversation<'a>> {
    let mut form = found;
    loop {
        let mut conversation = Conversation::new(form, Metadata::default());
        conversation.is_of_hermes = around.name("role").as_deref() == Some("session_meta");
        let (mut in_output, mut unfit) = (false, None);
        let _ = source.walk(|json, is_output| {
            if is_output && !std::mem::replace(&mut in_output, true) {
                conversation.of_one_response(around.usage("usage"));
            }
            let element = json.raw()?;
            if conversation.add(element.into()) {
                return Ok(Continue(()));
            }
            unfit = Some(element.offset());
            Ok(Break(()))
        })?;
        match unfit {
            None => return Ok(conversation),
            Some(start) => {
                form = self::form(source, None, true)
                    .filter(|other| *other != form && form == found)
                    .ok_or_else(|| words::unfit(start, "messages of a chat"))?;
            }
        }
    }
}

/// Emits the runs of a chat and of its sub-agents. `around` is the object that encloses the elements.
fn give(mut conversation: Conversation<'_>, around: &Members<'_>, runs: &mut Runs<'_>) {
    runs.named = Some(conversation.format());
    (conversation.metadata, conversation.reward) = (metadata(around), reward(around));
    let parent = conversation.metadata.id.clone().unwrap_or_default();
    let model = conversation.metadata.model.clone();
    let sub_agents = conversation.take_sub_agents();
    conversation.give(runs);
    for (name, mut chat) in sub_agents {
        if name.strip_prefix("subagent-").is_some_and(super::claude_code::is_copy) {
            runs.pass_over("elements of copies of the chat", chat.elements());
            continue;
        }
        chat.metadata = Metadata {
            id: Some(format!("{parent}/{name}")),
            parent: Some(parent.clone()),
            agent: Some(name.into()),
            model: model.clone(),
            ..Metadata::default()
        };
        chat.give(runs);
    }
}
