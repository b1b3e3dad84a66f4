//! The content of a chat message: its texts and its blocks, which are calls and results.

use memchr::memmem;

use super::otel;
use super::prelude::*;
use crate::read::call_outcome::{broken_off, have_failed, in_background, never_ran, typed_output};

#[derive(Debug)]
pub(super) enum Body<'a> {
    /// The value as it was written, usually a string.
    Value(Raw<'a>),
    /// The texts and blocks of a list, in a message that is not a result.
    Parts(Vec<TextCow<'a>>, Vec<Block<'a>>),
}

impl<'a> Body<'a> {
    /// Reads the content of a message. `role` is the message's role, if it came before the content.
    pub(super) fn read(json: &mut Json<'a>, role: Option<&str>) -> Read<Self> {
        let is_message = role.is_some_and(|role| !matches!(role, "tool" | "function" | "observation"));
        if is_message && json.kind()? == Kind::List {
            let (texts, blocks) = parts(json)?;
            return Ok(Self::Parts(texts, blocks));
        }
        json.raw().map(Self::Value)
    }

    /// Returns the content as the text of a result.
    pub(super) fn into_result(self) -> Option<TextCow<'a>> {
        match self {
            Self::Value(value) => words::result(value),
            // For a message whose role changed after its content was read.
            Self::Parts(texts, _) => wire::joined(texts),
        }
    }

    /// Returns a list of bare results, and its items.
    pub(super) fn bare_results(&self) -> Option<(Raw<'a>, Vec<Raw<'a>>)> {
        let Self::Value(raw) = self else { return None };
        let items = raw.items().filter(|items| items.iter().all(|item| item.member("type").is_none()))?;
        Some((*raw, items))
    }

    /// Returns the result blocks of a message that is a result.
    pub(super) fn results(&self) -> Vec<Block<'a>> {
        let Self::Value(raw) = self else { return Vec::new() };
        if raw.kind() == Kind::String {
            return Vec::new();
        }
        let may_be = RESULT_KINDS.iter().any(|kind| memmem::find(raw.bytes(), kind.as_bytes()).is_some());
        let (_, mut blocks) =
            if may_be { parts(&mut raw.json()).unwrap_or_default() } else { return Vec::new() };
        blocks.retain(|block| !block.is_call);
        blocks
    }

    /// Returns the content as the text of a message, and its blocks.
    pub(super) fn into_message(self) -> Read<(Option<TextCow<'a>>, Vec<Block<'a>>)> {
        let (texts, blocks) = match self {
            Self::Value(raw) => parts(&mut raw.json())?,
            Self::Parts(texts, blocks) => (texts, blocks),
        };
        Ok((wire::joined(texts).filter(|text| !wire::is_blank(text.text())), blocks))
    }
}

/// Reads the parts of a message's content, which is a list or a single object.
fn parts<'a>(json: &mut Json<'a>) -> Read<(Vec<TextCow<'a>>, Vec<Block<'a>>)> {
    let (mut texts, mut blocks) = (Vec::new(), Vec::new());
    match json.kind()? {
        Kind::List => json.list(|part| self::part(part, &mut texts, &mut blocks))?,
        Kind::String => part(json, &mut texts, &mut blocks)?,
        Kind::Object => {
            let object = json.raw()?;
            part(&mut object.json(), &mut texts, &mut blocks)?;
            let kind = object.member("type").and_then(common::name);
            let is_thought = matches!(kind.as_deref(), Some("thinking" | "reasoning"));
            // An object of unknown form is kept as JSON.
            if texts.is_empty() && blocks.is_empty() && !is_thought {
                texts.extend(words::result(object));
            }
        }
        _ => json.skip()?,
    }
    Ok((texts, blocks))
}

const CALL_KINDS: [&str; 6] =
    ["tool_use", "tool_call", "tool-call", "toolCall", "server_tool_use", "mcp_tool_use"];

const RESULT_KINDS: [&str; 4] = ["tool_result", "tool-result", "toolResult", "tool_call_result"];

/// The suffix of the types of results that the provider writes into the model's message
/// (`web_search_tool_result`).
const OF_SERVER: &str = "_tool_result";

/// Reads a part of a message's content: a text, a block, or something else.
fn part<'a>(json: &mut Json<'a>, texts: &mut Vec<TextCow<'a>>, blocks: &mut Vec<Block<'a>>) -> Read<()> {
    if json.kind()? == Kind::String {
        let text = Text::from(json.text()?);
        if !printed(text, texts, blocks) {
            texts.push(text.into());
        }
        return Ok(());
    }
    let mut part = Part { is_text: true, ..Part::default() };
    wire::object(json, |key, value| part.member(key, value))?;
    let Part { is_call, is_text, text, other_id, mut block } = part;
    match (is_call, text) {
        (Some(is_call), text) => {
            let id = if is_call { &mut block.id } else { &mut block.answers };
            *id = id.take().or(other_id);
            block.content = block.content.take().or(text.map(TextCow::from));
            // Blocks are large, and most messages have only one, so the first allocation has room for one.
            blocks.reserve_exact(usize::from(blocks.is_empty()));
            blocks.push(Block { is_call, ..block });
        }
        (None, Some(text)) if is_text => texts.push(text.into()),
        _ => {}
    }
    Ok(())
}

/// Reads blocks of Anthropic's SDK that were written as Python's `repr`. Returns false, and reads nothing, if the text is
/// anything else.
fn printed<'a>(text: Text<'a>, texts: &mut Vec<TextCow<'a>>, blocks: &mut Vec<Block<'a>>) -> bool {
    let kinds = ["ToolUseBlock(", "TextBlock(", "ThinkingBlock(", "RedactedThinkingBlock("];
    // Nearly all texts begin with something else.
    if !matches!(text.start(2), [b'[', b'T' | b'R'] | [b'T' | b'R', _]) {
        return false;
    }
    let start = text.head(24);
    if !kinds.iter().any(|kind| start.strip_prefix('[').unwrap_or(&start).starts_with(kind)) {
        return false;
    }
    let Some(json) = otel::python(&text.to_str()) else { return false };
    let value = Raw::over(json.as_bytes(), 0);
    let printed: Vec<_> =
        value.items().unwrap_or_else(|| vec![value]).into_iter().map(Members::from).collect();
    if !printed.iter().all(|block| block.is("type", Kind::String)) {
        return false;
    }
    for block in printed {
        let part = |key: &str| block.name(key).map(Cow::into_owned);
        texts.extend(part("text").map(TextCow::from));
        if part("type").as_deref() == Some("tool_use") {
            let input = block.get("input").map(|input| Cow::Owned(input.spelling().into_owned()));
            let arguments = input.map(common::arguments_of_text).unwrap_or_default();
            let (id, name) = (part("id").map(Cow::Owned), part("name").map(Cow::Owned));
            blocks.push(Block { is_call: true, id, name, arguments, ..Block::default() });
        }
    }
    true
}

#[derive(Default)]
struct Part<'a> {
    is_call: Option<bool>,
    is_text: bool,
    text: Option<Text<'a>>,
    other_id: Option<Cow<'a, str>>,
    block: Block<'a>,
}

impl<'a> Part<'a> {
    fn member(&mut self, key: &[u8], value: &mut Json<'a>) -> Read<()> {
        let block = &mut self.block;
        match key {
            b"type" => {
                let kind = wire::text(value)?;
                let is_one = |kinds: &[&str]| kind.is_some_and(|kind| kinds.contains(&&*kind.to_str()));
                block.is_of_server = kind.is_some_and(|kind| kind.to_str().ends_with(OF_SERVER));
                let is_result = block.is_of_server || is_one(&RESULT_KINDS);
                self.is_call = if is_one(&CALL_KINDS) { Some(true) } else { is_result.then_some(false) };
                self.is_text = wire::is_kind_of_text(kind);
            }
            // Bedrock and Haystack put a block under a key that gives its type.
            b"toolUse" | b"toolResult" | b"tool_call" | b"tool_call_result"
                if value.kind()? == Kind::Object =>
            {
                self.is_call = Some(matches!(key, b"toolUse" | b"tool_call"));
                wire::object(value, |key, value| match key {
                    // Bedrock gives a type only to calls and results of tools that it runs itself.
                    b"type" => wire::text(value).map(|kind| self.block.is_of_server = kind.is_some()),
                    _ => self.member(key, value),
                })?;
            }
            // Amp keeps the output of a tool under `run`. Haystack keeps the call of a result under `origin`.
            b"run" if value.kind()? == Kind::Object => {
                wire::object(value, |key, value| self.member(key, value))?;
            }
            b"origin" if value.kind()? == Kind::Object => {
                self.other_id = Members::of(value).ident("id").or(self.other_id.take());
            }
            b"text" => self.text = wire::text_or_value(value)?,
            b"id" => block.id = wire::ident(value)?,
            b"tool_use_id" => block.answers = wire::ident(value)?,
            b"tool_call_id" | b"toolCallId" | b"toolUseId" | b"toolUseID" | b"tool_id" | b"call_id" => {
                self.other_id = wire::ident(value)?;
            }
            b"name" | b"tool_name" | b"toolName" => block.name = wire::name(value)?,
            b"input" | b"arguments" | b"args" => block.arguments = common::read_arguments(value)?,
            b"output" if value.kind()? == Kind::Object => {
                let output = value.raw()?;
                let kind = output.member("type").and_then(common::name);
                let typed = kind.and_then(|kind| typed_output(&kind));
                let inner = typed.and_then(|(key, _)| output.member(key));
                block.content = words::result(inner.unwrap_or(output));
                if typed.is_some_and(|(_, is_failed)| is_failed) {
                    block.is_error = Some(true);
                }
            }
            b"result" if value.kind()? == Kind::Object => {
                let result = value.raw()?;
                let code = result.member("exitCode").and_then(is_failure_code);
                let output = code.and_then(|_| result.member("output"));
                block.content = words::result(output.unwrap_or(result));
                block.is_error = block.is_error.or(code);
            }
            b"content" if value.kind()? == Kind::Object => {
                let content = value.raw()?;
                let is_error = content.member("type").and_then(common::name);
                let is_error =
                    is_error.is_some_and(|kind| kind.ends_with("_tool_result_error")).then_some(true);
                let code = || content.member("return_code").and_then(is_failure_code);
                block.is_error = block.is_error.or(is_error).or_else(code);
                block.content = words::result(content);
            }
            b"content" if value.kind()? == Kind::List => {
                let items = value.raw()?;
                block.is_error = block.is_error.or_else(|| have_failed(items));
                block.content = wire::result(&mut items.json())?;
            }
            b"content" | b"output" | b"result" | b"tool_result" => block.content = wire::result(value)?,
            b"is_error" | b"isError" => block.is_error = wire::boolean(value)?,
            b"error" => {
                let error = value.raw()?;
                block.is_error = error.boolean().or(block.is_error);
                if let Some(message) = error.member("message") {
                    block.content = words::result(message);
                }
            }
            b"status" => {
                let status = wire::name(value)?;
                block.unknown = match status.as_deref() {
                    Some("cancelled") => Some(UnknownReason::Interrupted),
                    Some("rejected-by-user") => Some(UnknownReason::Refused),
                    Some("in-progress" | "queued") => Some(UnknownReason::Running),
                    _ => None,
                };
                let failed = status.as_deref() == Some("error");
                block.is_error = block.is_error.or(failed.then_some(true));
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// A block of a message: a call (such as `tool_use`) or a result (such as `tool_result`).
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) is_call: bool,
    /// True for a result that the provider wrote into the model's message.
    pub(super) is_of_server: bool,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Content<Arguments<'a>>,
    /// The id of the call that a result answers.
    pub(super) answers: Option<Cow<'a, str>>,
    pub(super) content: Option<TextCow<'a>>,
    pub(super) is_error: Option<bool>,
    /// The reason, if the status of a result leaves the outcome unknown.
    pub(super) unknown: Option<UnknownReason>,
}

impl<'a> Block<'a> {
    pub(super) fn into_answer(self) -> Answer<'a> {
        let flag = match self.unknown {
            Some(reason) => Outcome::unknown(reason, Provenance::Flag),
            None => Outcome::of_flag(self.is_error),
        };
        let Some(text) = self.content else { return flag.answer(Content::Absent) };
        let by_text = || match (self.is_error, self.unknown) {
            (Some(true), _) => broken_off(text.text()),
            (_, None) => in_background(text.text()),
            _ => None,
        };
        let outcome = never_ran(text.text()).or_else(by_text).unwrap_or(flag);
        outcome.answer(Content::Present(text))
    }
}
