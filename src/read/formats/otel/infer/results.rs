//! Results in tool spans. Removes the wrappers of frameworks, since equal answers must compare equal.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::arguments::recorded;
use super::prelude::*;
use crate::json::JsonString;
use crate::read::call_outcome::states_error;
use crate::trace::{Text, TextCow, canonical_value};

/// Attributes with results, most reliable first.
const RESULTS: &[Attr] = &[
    Attr::ToolCallResult,
    Attr::AnyAgentOutput,
    Attr::ToolResponse,
    Attr::AdkResult,
    Attr::OutputValue,
    Attr::ToolOutput,
    Attr::ToolResult,
    Attr::EntityOutput,
];

/// Sentences that frameworks append to an answer. Each contains one of [`MARKS`].
const APPENDED: &[&str] = &[
    "Fix the errors and try again.",
    "Please try again.",
    "Please try again or use another tool",
    "Please fix the error and try again.",
    "Please fix your mistakes.",
];

/// Each of [`APPENDED`] contains one of these, so text without them is not searched further.
const MARKS: [&str; 2] = ["try again", "your mistakes"];

/// The result of a call, without wrappers.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome<'s> {
    pub(crate) text: Content<TextCow<'s>>,
    /// True if the wrapper or the result says that it is an error.
    pub(crate) is_error: bool,
    /// The id of the call, if the wrapper has it.
    pub(crate) id: Option<Cow<'s, str>>,
}

impl Outcome<'_> {
    pub(crate) const NOT_RECORDED: Self = Self { text: Content::NotRecorded, is_error: false, id: None };
}

impl<'s> From<Reply<'s>> for Outcome<'s> {
    fn from(reply: Reply<'s>) -> Self {
        let mut outcome = outcome(reply.content);
        outcome.is_error |= reply.is_error;
        outcome
    }
}

/// Returns the result in a tool span, or `NotRecorded`.
pub(crate) fn result<'s>(span: &'s Span<'_>) -> Outcome<'s> {
    let json = span.attributes.get(Attr::AiToolResult).map(outcome_of_json);
    let mut outcomes = recorded(span, RESULTS).map(outcome_of_value).chain(json);
    if let Some(outcome) = outcomes.find(|outcome| outcome.text.is_recorded()) {
        return outcome;
    }
    let mut choices = span.events.iter().filter(|event| event.name == "gen_ai.choice");
    if let Some(message) = choices.find_map(|event| event.attributes.get(Attr::Message)) {
        return outcome_of_value(message);
    }
    let output = events::of_span(span, &[Direction::Output]).into_iter().flat_map(|event| event.blocks);
    let mut replies = output.filter_map(|block| match block {
        Block::Reply(reply) => Some(reply),
        _ => None,
    });
    replies.next().map_or(Outcome::NOT_RECORDED, Outcome::from)
}

fn outcome_of_value<'s>(value: &'s Value<'_>) -> Outcome<'s> {
    if let Some(spelled) = value.spelled().filter(|text| is_bare(*text)) {
        return Outcome { text: Content::Present(Text::from(spelled).into()), ..Outcome::default() };
    }
    outcome(Content::Present(value.to_plain_data()))
}

/// Returns the result in the AI SDK's JSON, where plain text is a JSON string.
fn outcome_of_json<'s>(value: &'s Value<'_>) -> Outcome<'s> {
    match value.as_str().and_then(|json| serde_json::from_str(json).ok()) {
        Some(text) => outcome(Content::Present(Data::Text(Cow::Owned(text)))),
        None => outcome_of_value(value),
    }
}

/// Returns true if a text with escapes is certainly not wrapped, not masked and without an appended sentence,
/// judging by its spelling. Masks are spelled without escapes, so they do not get here.
fn is_bare(text: JsonString<'_>) -> bool {
    static FINDERS: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| MARKS.map(Finder::new));
    let begins_plainly =
        text.inner().first().is_some_and(|first| !matches!(first, b'{' | b'[' | b'\\' | 0..=b' ' | 0x80..));
    begins_plainly && text.is_usual() && FINDERS.iter().all(|mark| mark.find(text.inner()).is_none())
}

/// Returns the result in a value, without wrappers and appended sentences.
pub(crate) fn outcome(content: Content<Data<'_>>) -> Outcome<'_> {
    let value = match content {
        Content::Present(value) => value,
        Content::Absent => return Outcome::default(),
        Content::NotRecorded => return Outcome::NOT_RECORDED,
    };
    let mut outcome = Outcome::default();
    let mut text = match value {
        Data::Null => return outcome,
        Data::Text(text) if is_masked(&text) => return Outcome::NOT_RECORDED,
        Data::Text(text) => {
            let inner = Data::of_cow(&text);
            if let Some(own) = inner.as_ref().and_then(|inner| wrapped(inner, &mut outcome)) {
                outcome.is_error |= is_error_text(&own);
                own
            } else {
                outcome.is_error |= inner.is_some_and(|inner| is_error(&text, &inner));
                text
            }
        }
        other => {
            let own = wrapped(&other, &mut outcome);
            outcome.is_error |= own.is_none() && is_error_value(&other, 0);
            let own = own.unwrap_or_else(|| {
                Cow::Owned(canonical_value(&serde_json::to_value(&other).unwrap_or_default()))
            });
            outcome.is_error |= is_error_text(&own);
            own
        }
    };
    without_appendix(&mut text);
    outcome.text = Content::Present(text.into());
    outcome
}

/// Returns the text inside a wrapper, or `None` if the value is not one.
fn wrapped<'s>(value: &Data<'s>, outcome: &mut Outcome<'s>) -> Option<Cow<'s, str>> {
    match value {
        Data::List(items) => {
            let mut texts = Vec::with_capacity(items.len());
            for item in items {
                let members = item.as_object()?;
                if members.text("type").unwrap_or("text") != "text" || members.has("role") {
                    return None;
                }
                let Data::Text(text) = members.get("text")? else { return None };
                texts.push(text.clone());
            }
            match texts.as_slice() {
                [] => None,
                [only] => Some(only.clone()),
                several => Some(Cow::Owned(several.join("\n"))),
            }
        }
        Data::Object(members) => {
            let content = if let Some(message) = tool_message(members) {
                outcome.id = name_of(message, &["tool_call_id"]).or(outcome.id.take());
                outcome.is_error |= message.text("status") == Some("error");
                message.get("content")
            } else if members.len() == 3 && ["id", "name", "response"].iter().all(|key| members.has(key)) {
                outcome.id = name_of(members, &["id"]);
                members.get("response")
            } else {
                return None;
            };
            let inner = self::outcome(content.cloned().into());
            outcome.is_error |= inner.is_error;
            inner.text.present().map(TextCow::into_cow)
        }
        _ => None,
    }
}

/// Finds the serialized message of a tool, which frameworks nest at different depths.
fn tool_message<'d, 's>(members: &'d Members<'s>) -> Option<&'d Members<'s>> {
    if members.has("tool_call_id") && members.has("content") {
        return Some(members);
    }
    if members.text("type") == Some("tool")
        && let Some(data) = members.object("data")
    {
        return Some(data);
    }
    if let Some(kwargs) = members.object("kwargs").filter(|kwargs| kwargs.has("tool_call_id")) {
        return Some(kwargs);
    }
    if let Some(output) = members.object("output") {
        return tool_message(output);
    }
    // LangGraph's `Command`, which carries the message to another graph.
    let messages = members.object("update")?.get("messages")?.as_list()?;
    messages.iter().rev().find_map(|message| tool_message(message.as_object()?))
}

fn without_appendix(text: &mut Cow<'_, str>) {
    loop {
        let trimmed = text.trim_end();
        let Some(rest) = APPENDED.iter().find_map(|appendix| trimmed.strip_suffix(appendix)) else { return };
        let length = rest.trim_end().len();
        if length == 0 {
            return;
        }
        match text {
            Cow::Borrowed(text) => *text = text.get(..length).unwrap_or_default(),
            Cow::Owned(text) => text.truncate(length),
        }
    }
}

/// Returns true if the text of a result, or else the text under its only key `result`, begins with `prefix`.
pub(crate) fn own_text_begins(text: Text<'_>, prefix: &str) -> bool {
    if text.spelling().first().is_some_and(|first| !matches!(first, b'{' | b'\\' | 0..=b' ')) {
        return text.starts_with(prefix);
    }
    let text = text.to_str();
    if is_first_key(&text, "result")
        && let Some(Data::Object(members)) = Data::of_text(&text)
        && let (1, Some(Data::Text(inner))) = (members.len(), members.get("result"))
    {
        return inner.starts_with(prefix);
    }
    text.starts_with(prefix)
}

/// Returns true if a text is JSON that is marked as an error.
fn is_error_text(text: &str) -> bool {
    Data::of_text(text).is_some_and(|value| is_error(text, &value))
}

/// Returns true if JSON is marked as an error: by a flag, or by `error` as its first key. The mark may be one level
/// down, under a sole key `result`.
fn is_error(text: &str, value: &Data<'_>) -> bool {
    let named = value.as_object().and_then(|members| members.get("error"));
    is_first_key(text, "error") && named.is_some_and(is_set) || is_error_value(value, 0) || states_error(text)
}

/// Returns true if this is the first key of the object in a text.
fn is_first_key(text: &str, key: &str) -> bool {
    let mut json = crate::json::Json::new(text.as_bytes());
    if json.peek_byte() != Some(b'{') {
        return false;
    }
    json.advance();
    json.key().is_ok_and(|first| *first == *key.as_bytes())
}

/// Returns true if a value under `error` means an error.
fn is_set(value: &Data<'_>) -> bool {
    !matches!(value, Data::Null | Data::Bool(false)) && value.as_text() != Some("")
}

fn is_error_value(value: &Data<'_>, depth: u8) -> bool {
    let Data::Object(members) = value else { return false };
    if members.flag("isError") || members.flag("is_error") {
        return true;
    }
    match (members.len(), members.get("error"), members.get("result")) {
        (1, Some(error), _) => is_set(error),
        (1, _, Some(inner)) if depth == 0 => match inner {
            Data::Text(text) => is_error_text(text),
            inner => is_error_value(inner, 1),
        },
        _ => false,
    }
}
