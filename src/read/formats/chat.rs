//! Chat transcripts: messages of OpenAI's chat API or of Anthropic's models, or items of OpenAI's Responses
//! API. They form the whole document, or are part of an object, as in mini-swe-agent 1.1.
//!
//! Three formats share one reader, because exports mix them. This file recognises lists of elements; `chat_messages`
//! reads messages, and `chat_items` reads items.

pub(in crate::read) use super::chat_around::{around, metadata, reward};
use super::chat_element::Element;
use super::chat_messages::Conversation;
use super::llm_responses;
use super::prelude::*;

const fn definition(signature: &'static [Shape]) -> Definition {
    Definition { signature, reader: Reader::Generic(read) }
}

/// Items of OpenAI's Responses API.
pub(super) mod responses {
    pub(in crate::read::formats) const FORMAT: super::Definition =
        super::definition(&[super::Shape::Document(
            "items with `type` or `role`, some of them calls or their outputs, or a response with items",
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
        document if llm_responses::is_alone(document) => true,
        Document::List(_) | Document::Lines(_) => elements(document).is_some(),
        Document::Object(members) => {
            let are_messages = |source: Source<'_>| form(&source.elements, DECISIVE, true).is_some();
            source_of(members).is_some()
                || !is_something_else(members) && written(members, are_messages) == Some(true)
        }
    }
}

/// Calls `read` with the messages of an object that holds them as JSON in strings, as rows of tables do: in `messages`,
/// or in a prompt and a completion.
fn written<T>(members: &Members<'_>, read: impl FnOnce(Source<'_>) -> T) -> Option<T> {
    let is_row = !members.has("type")
        && members.iter().all(|(_, value)| value.items().is_none() && value.kind() != Kind::Object);
    let text = |key| members.name(key).filter(|text| is_row && text.starts_with('['));
    if let Some(text) = text("messages") {
        return Some(read(Source::of(json(&text)?.items()?)));
    }
    let (prompt, completion) = (text("prompt")?, text("completion")?);
    Some(read(Source::of_evaluated(json(&prompt)?, json(&completion)?)?))
}

/// Returns true if an object has a text where it may hold the messages of a chat as JSON.
pub(in crate::read) fn may_be_written(members: &Members<'_>) -> bool {
    ["messages", "completion"].iter().any(|key| members.is(key, Kind::String))
}

/// Returns the elements of a list or of lines, and their kind. A line of metadata may come before them.
fn elements<'d, 'a>(document: &'d Document<'a>) -> Option<(&'d [Raw<'a>], Form)> {
    let of = |items| form(items, DECISIVE, true).map(|form| (items, form));
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

/// The elements of a chat.
struct Source<'a> {
    elements: Vec<Raw<'a>>,
    /// The number of elements before those of one response: the output of a response, or the response of a turn.
    before: usize,
}

impl<'a> Source<'a> {
    fn of(elements: Vec<Raw<'a>>) -> Self {
        Self { before: elements.len(), elements }
    }

    /// Joins the two lists of a response; `None` if there are none.
    fn joined(input: Option<Raw<'a>>, output: Option<Raw<'a>>) -> Option<Self> {
        let lists = [input, output].map(|list| list.and_then(Raw::items));
        if lists.iter().all(Option::is_none) {
            return None;
        }
        let [mut elements, output] = lists.map(Option::unwrap_or_default);
        let before = elements.len();
        elements.extend(output);
        Some(Self { elements, before })
    }

    /// Joins a request and its response, which may repeat the request.
    fn of_evaluated(request: Raw<'a>, response: Raw<'a>) -> Option<Self> {
        let [before, elements] = [request, response].map(|list| list.items().unwrap_or_default());
        let is_same = |(one, other): (&Raw<'_>, &Raw<'_>)| {
            wire::canonical(one.bytes()) == wire::canonical(other.bytes())
        };
        let is_repeated = before.len() < elements.len() && before.iter().zip(&elements).all(is_same);
        if is_repeated && !before.is_empty() {
            Some(Self { before: before.len(), elements })
        } else {
            Self::joined(Some(request), Some(response))
        }
    }
}

/// Returns the kind of the elements; `None` if they are neither messages nor items. If `enough` is given, the
/// first `enough` elements may decide the kind; the others are then checked when they are read. If `may_be_chat` is
/// false, messages alone do not decide the kind early, because calls may still follow.
fn form(elements: &[Raw<'_>], enough: Option<usize>, may_be_chat: bool) -> Option<Form> {
    let (mut messages, mut items, mut typed, mut called) = (true, true, false, false);
    for (count, element) in (1..).zip(elements) {
        let element = Element::from(*element);
        messages &= element.is_message();
        items &= element.is_item();
        typed |= element.has_type();
        called |= element.item.is_some();
        // Items may follow a few messages with a type, so such messages do not decide at once.
        let are_messages = messages && may_be_chat && (!typed || count >= words::DECISIVE_ITEMS);
        let are_known = are_messages || items && called;
        if !messages && !items || are_known && enough.is_some_and(|enough| count >= enough) {
            break;
        }
    }
    match (messages, items && called) {
        _ if elements.is_empty() => None,
        (_, true) => Some(Form::Items),
        (true, false) => Some(Form::Messages),
        (false, false) => None,
    }
}

/// Returns true if the object that encloses messages or items is in another format.
fn is_something_else(members: &Members<'_>) -> bool {
    members.name("trajectory_format").is_some_and(|format| format == "mini-swe-agent-1")
        || FOREIGN.iter().any(|key| {
            let is_copied = match *key {
                "steps" => are_copied(members),
                "trajectory" => has_requests(members),
                _ => false,
            };
            members.has(key) && !is_copied
        })
}

/// Returns true for a result of verifiers with the requests to the model, if each repeats the beginning of its prompt and
/// its completion.
pub(super) fn has_requests(members: &Members<'_>) -> bool {
    let messages = |object: &Members<'_>| {
        let lists = ["prompt", "completion"].map(|key| object.list(key));
        lists.iter().flatten().map(|message| wire::canonical(message.bytes())).collect::<Vec<_>>()
    };
    let are_lists = |object: &Members<'_>| Is(Kind::List, &["prompt", "completion"]).fits(object);
    let whole = messages(members);
    let requests = members.list("trajectory").into_iter().filter(|item| item.kind() == Kind::Object);
    are_lists(members)
        && members.is("trajectory", Kind::List)
        && requests.map(Members::from).all(|item| are_lists(&item) && whole.starts_with(&messages(&item)))
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

/// Returns true for a response of OpenAI's Responses API.
pub(super) fn is_response(members: &Members<'_>) -> bool {
    members.name("object").as_deref() == Some("response")
}

/// Returns the elements of an object, and their kind. Items take precedence over messages.
fn source_of<'a>(members: &Members<'a>) -> Option<(Source<'a>, Form)> {
    let list = |key: &str| members.get(key).filter(|list| list.kind() == Kind::List);
    let whole = |key| list(key).and_then(Raw::items).map(Source::of);
    let response = Source::joined(list("input"), list("output"));
    // Data for Azure's evaluators: a query and a response. Results of verifiers: a prompt and a completion.
    let completed = || list("prompt").zip(list("completion"));
    let is_whole = ["messages", "items"].iter().any(|key| list(key).is_some());
    // Rollouts of Polar.
    let rolled = || list("prompt_messages").zip(list("response_messages"));
    let apart = || rolled().or_else(completed).filter(|_| !is_whole);
    let evaluated = list("query").zip(list("response")).or_else(apart);
    let evaluated = evaluated.and_then(|(query, response)| Source::of_evaluated(query, response));
    let sources = [(whole("items"), false), (whole("messages"), true), (evaluated, true), (response, false)];
    let count = sources.iter().filter(|(source, _)| source.is_some()).count();
    if count == 0 || is_something_else(members) {
        return None;
    }
    let enough = DECISIVE.filter(|_| count == 1);
    let mut chat = None;
    for (source, may_be_chat) in sources {
        let Some(source) = source else { continue };
        match form(&source.elements, enough, may_be_chat) {
            Some(Form::Items) => return Some((source, Form::Items)),
            Some(Form::Messages) if may_be_chat => chat = Some((source, Form::Messages)),
            _ => {}
        }
    }
    chat.or_else(|| uncalled(members))
}

/// Returns the items of a response without calls.
fn uncalled<'a>(members: &Members<'a>) -> Option<(Source<'a>, Form)> {
    let list = |key: &str| members.get(key).filter(|list| list.kind() == Kind::List);
    let source = Source::joined(list("input"), Some(list("output").filter(|_| is_response(members))?))?;
    let items: Vec<Element<'_>> = source.elements.iter().map(|item| Element::from(*item)).collect();
    let is_told = items.iter().skip(source.before).any(|item| item.role.is_some());
    (is_told && items.iter().all(Element::is_item)).then_some((source, Form::Items))
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    match document {
        document if llm_responses::is_alone(document) => llm_responses::read(document.each(), runs),
        Document::Object(members) => read_object(members, runs),
        _ => read_list(document, runs),
    }
}

pub(super) fn read_object(members: &Members<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut read = |source: &Source<'_>, form| {
        let mut conversation = converse(source, form, members)?;
        conversation.end_with(members);
        if is_response(members) {
            conversation.fail(members);
        }
        runs.pass_over("steps next to the messages", members.list("steps").len() as u64);
        let requests = members.list("trajectory");
        let others = requests.iter().filter(|request| request.kind() != Kind::Object).count();
        runs.pass_over("requests that are not objects", others as u64);
        give(conversation, members, runs);
        Ok(())
    };
    if let Some((source, form)) = source_of(members) {
        return read(&source, form);
    }
    if is_response(members) {
        return read(&Source::of(items(members.get("output"))), Form::Items);
    }
    written(members, |source| read(&source, Form::Messages)).unwrap_or(Ok(()))
}

fn read_list(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let (items, found) = elements(document).unwrap_or((document.items(), Form::Messages));
    let mut source = Source::of(items.to_vec());
    if is_newest_first(items) {
        source.elements.reverse();
    }
    let header = document.items().first().filter(|_| items.len() < document.items().len());
    let around = header.map(|header| Members::from(*header)).unwrap_or_default();
    let conversation = match converse(&source, found, &around) {
        // If both readings fail, the error is the one from reading messages.
        Err(_) if found == Form::Items => converse(&source, Form::Messages, &around)?,
        read => read?,
    };
    runs.pass_over("lines before the messages", header.iter().len() as u64);
    give(conversation, &around, runs);
    Ok(())
}

/// Returns true if the last message was created before the first, as OpenAI's Assistants API lists them by default.
pub(super) fn is_newest_first(items: &[Raw<'_>]) -> bool {
    let created = |item: Option<&Raw<'_>>| item?.member("created_at")?.integer();
    created(items.first()).zip(created(items.last())).is_some_and(|(first, last)| last < first)
}

/// Reads all elements in the form `found`. If one of them does not fit, all are read again in the other form. `around`
/// is the object that encloses the elements, or the line before them.
fn converse<'a>(source: &Source<'a>, found: Form, around: &Members<'_>) -> Read<Conversation<'a>> {
    let mut form = found;
    loop {
        let mut conversation = Conversation::new(form, Metadata::default());
        conversation.is_of_hermes = around.name("role").as_deref() == Some("session_meta");
        let mut unfit = None;
        for (place, element) in source.elements.iter().enumerate() {
            if place == source.before {
                conversation.of_one_response(around.usage("usage"));
            }
            if !conversation.add((*element).into()) {
                unfit = Some(element.offset());
                break;
            }
        }
        let Some(start) = unfit else { return Ok(conversation) };
        form = self::form(&source.elements, None, true)
            .filter(|other| *other != form && form == found)
            .ok_or_else(|| words::unfit(start, "messages of a chat"))?;
    }
}

/// Emits the runs of a chat and of its sub-agents. `around` is the object that encloses the elements.
fn give(mut conversation: Conversation<'_>, around: &Members<'_>, runs: &mut Runs<'_>) {
    runs.named = Some(conversation.format());
    // The model that messages name.
    let model = conversation.metadata.model.take();
    (conversation.metadata, conversation.reward) = (metadata(around), reward(around));
    conversation.metadata.model = conversation.metadata.model.or(model);
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
            model: chat.metadata.model.take().or_else(|| model.clone()),
            ..Metadata::default()
        };
        chat.give(runs);
    }
}
