//! The content of a chat message: its texts and its blocks, which are calls and results.

use memchr::memmem;

use super::otel;
use super::prelude::*;
use crate::read::call_outcome::{have_failed, says_error};

/// Returns the items of a list whose items have no types.
pub(super) fn bare_results(content: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    content.items().filter(|items| items.iter().all(|item| item.member("type").is_none()))
}

/// Returns the result blocks of a message that is a result, and the text next to them.
pub(super) fn results(content: Raw<'_>) -> (Option<TextCow<'_>>, Vec<Block<'_>>) {
    let may_be = |kind: &&str| memmem::find(content.bytes(), kind.as_bytes()).is_some();
    if content.kind() == Kind::String || !RESULT_KINDS.iter().any(may_be) {
        return (None, Vec::new());
    }
    let (text, mut blocks) = message(content);
    blocks.retain(|block| !block.is_call);
    (text.filter(|_| !blocks.is_empty()), blocks)
}

/// Returns the text of a message, unless it is blank, and its blocks.
pub(super) fn message(content: Raw<'_>) -> (Option<TextCow<'_>>, Vec<Block<'_>>) {
    let Parts { texts, blocks } = Parts::of(content);
    (joined(texts.into_iter()), blocks)
}

/// Like [`message`], for a message of the model: the texts after a block follow it as a block of their own.
pub(super) fn in_order(content: Raw<'_>) -> (Option<TextCow<'_>>, Vec<Block<'_>>) {
    let Parts { texts, blocks } = Parts::of(content);
    if texts.last().is_none_or(|(place, _)| *place == 0) {
        return (joined(texts.into_iter()), blocks);
    }
    let mut texts = texts.into_iter().peekable();
    let mut texts_at = |place| joined(std::iter::from_fn(|| texts.next_if(|(at, _)| *at == place)));
    let first = texts_at(0);
    let mut all = Vec::with_capacity(2 * blocks.len());
    for (place, block) in (1..).zip(blocks) {
        all.push(block);
        let text = texts_at(place);
        all.extend(text.map(|text| Block { is_text: true, content: Some(text), ..Block::default() }));
    }
    (first, all)
}

/// Joins texts. Returns `None` if they are blank.
fn joined<'a>(texts: impl Iterator<Item = (usize, TextCow<'a>)>) -> Option<TextCow<'a>> {
    wire::joined(texts.map(|(_, text)| text).collect()).filter(|text| !wire::is_blank(text.text()))
}

/// The parts of a message's content.
#[derive(Default)]
struct Parts<'a> {
    /// The texts, each with the number of blocks before it.
    texts: Vec<(usize, TextCow<'a>)>,
    blocks: Vec<Block<'a>>,
}

impl<'a> Parts<'a> {
    /// Reads the parts of a message's content, which is a list or a single part.
    fn of(content: Raw<'a>) -> Self {
        let mut parts = Self::default();
        for item in content.items().unwrap_or_else(|| vec![content]) {
            part(item, &mut parts);
        }
        let is_value = !matches!(content.kind(), Kind::Null | Kind::String | Kind::List);
        if is_value && parts.texts.is_empty() && parts.blocks.is_empty() {
            let kind = content.member("type").and_then(common::name);
            let is_thought = matches!(kind.as_deref(), Some("thinking" | "reasoning"));
            // A value of unknown form is kept as JSON.
            parts.say(words::result(content).filter(|_| !is_thought));
        }
        parts
    }

    fn say(&mut self, text: Option<impl Into<TextCow<'a>>>) {
        self.texts.extend(text.map(|text| (self.blocks.len(), text.into())));
    }
}

const CALL_KINDS: [&str; 6] =
    ["tool_use", "tool_call", "tool-call", "toolCall", "server_tool_use", "mcp_tool_use"];

const RESULT_KINDS: [&str; 4] = ["tool_result", "tool-result", "toolResult", "tool_call_result"];

/// The suffix of the types of results that the provider writes into the model's message
/// (`web_search_tool_result`).
const OF_SERVER: &str = "_tool_result";

/// Keys under which Bedrock and Haystack put a block, and whether the block is a call.
const INNER: [(&str, bool); 4] =
    [("toolUse", true), ("tool_call", true), ("toolResult", false), ("tool_call_result", false)];

/// The members of the objects in a part that belong to it, then its own, then those of its `function`.
struct Part<'a>([Members<'a>; 4]);

impl<'a> Part<'a> {
    /// Returns what `read` finds first under one of these keys.
    fn find<T>(&self, keys: &[&str], read: impl Fn(&Members<'a>, &str) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|layer| keys.iter().find_map(|key| read(layer, key)))
    }

    fn get(&self, keys: &[&str]) -> Option<Raw<'a>> {
        self.find(keys, Members::present)
    }
}

/// Reads a part of a message's content: a text, a block, or something else.
fn part<'a>(value: Raw<'a>, parts: &mut Parts<'a>) {
    if value.kind() == Kind::String {
        let Ok(text) = value.json().text().map(Text::from) else { return };
        if !printed(text, parts) {
            parts.say(Some(text));
        }
        return;
    }
    let outer = Members::from(value);
    let inner = INNER.iter().find(|(key, _)| outer.is(key, Kind::Object));
    let within = inner.map(|(key, _)| outer.object(key)).unwrap_or_default();
    let kind = outer.get("type").and_then(Raw::string);
    let is_one = |kinds: &[&str]| kind.as_deref().is_some_and(|kind| kinds.contains(&kind));
    // Bedrock gives a type only to calls and results of tools that it runs itself.
    let is_of_server = match inner {
        Some(_) => within.is("type", Kind::String),
        None => kind.as_deref().is_some_and(|kind| kind.ends_with(OF_SERVER)),
    };
    let is_call = match inner {
        Some((_, is_call)) => Some(*is_call),
        None if is_one(&CALL_KINDS) => Some(true),
        None => (is_of_server || is_one(&RESULT_KINDS)).then_some(false),
    };
    // Amp keeps the output of a tool under `run`.
    let function = if within.has("function") { within.object("function") } else { outer.object("function") };
    let part = Part([outer.object("run"), within, outer, function]);
    let text =
        part.get(&["text", "refusal"]).and_then(|text| wire::text_or_value(&mut text.json()).ok().flatten());
    let Some(is_call) = is_call else {
        let is_text = kind.is_none_or(|kind| kind == "refusal" || wire::is_kind_of_text(&kind));
        return parts.say(text.filter(|_| is_text));
    };
    let ids = ["tool_call_id", "toolCallId", "toolUseId", "toolUseID", "tool_id", "call_id"];
    // Haystack keeps the call of a result under `origin`.
    let origin = || part.get(&["origin"])?.member("id").and_then(common::ident);
    let id = part.find(&[if is_call { "id" } else { "tool_use_id" }], Members::ident);
    let id = id.or_else(|| part.find(&ids, Members::ident)).or_else(origin);
    let block = Block {
        is_call,
        is_of_server,
        name: part.find(&["name", "tool_name", "toolName"], Members::name),
        arguments: part
            .get(&["input", "arguments", "args", "parameters"])
            .map(common::arguments)
            .unwrap_or_default(),
        ..Block::default()
    };
    // Blocks are large, and most messages have only one, so the first allocation has room for one.
    parts.blocks.reserve_exact(usize::from(parts.blocks.is_empty()));
    parts.blocks.push(if is_call {
        Block { id, ..block }
    } else {
        Block { answers: id, ..result(&part, text, block) }
    });
}

/// Completes a block that is a result.
fn result<'a>(part: &Part<'a>, text: Option<Text<'a>>, block: Block<'a>) -> Block<'a> {
    let object = |key: &str| part.get(&[key]).filter(|value| value.kind() == Kind::Object);
    let stated = |layer: &Members<'_>, key: &str| layer.get(key).and_then(says_error);
    let (mut content, mut failed) = (None, part.find(&["is_error", "isError"], stated));
    failed = failed.or_else(|| part.find(&["success"], Members::flag).map(|succeeded| !succeeded));
    if let Some(output) = object("output") {
        let kind = output.member("type").and_then(common::name);
        let typed = kind.and_then(|kind| typed_output(&kind));
        let inner = typed.and_then(|(key, _)| output.member(key));
        content = words::result(inner.unwrap_or(output));
        failed = typed.filter(|(_, is_failed)| *is_failed).map(|_| true).or(failed);
    } else if let Some(result) = object("result") {
        let code = result.member("exitCode").and_then(is_failure_code);
        content = words::result(code.and_then(|_| result.member("output")).unwrap_or(result));
        failed = failed.or(code);
    } else if let Some(said) = part.get(&["content", "output", "result", "tool_result"]) {
        let kind = said.member("type").and_then(common::name);
        let is_error = kind.is_some_and(|kind| kind.ends_with("_tool_result_error")).then_some(true);
        let code = || said.member("return_code").and_then(is_failure_code);
        failed = failed.or(is_error).or_else(code).or_else(|| have_failed(said));
        content = words::result(said);
    }
    if let Some(error) = part.get(&["error"]) {
        failed = says_error(error).or(failed);
        let message = error.member("message").and_then(words::result);
        let is_flag = error.kind() == Kind::Bool;
        content = message.or(content).or_else(|| words::result(error).filter(|_| !is_flag));
    }
    let status = part.find(&["status"], Members::name);
    let unknown = match status.as_deref() {
        Some("cancelled") => Some(UnknownReason::Interrupted),
        Some("rejected-by-user") => Some(UnknownReason::Refused),
        Some("in-progress" | "queued" | "blocked-on-user") => Some(UnknownReason::Running),
        _ => None,
    };
    let is_failure = |status: &str| Outcome::of_word(status) == Some(Outcome::flag(true));
    let is_error = failed.or(status.as_deref().is_some_and(is_failure).then_some(true));
    Block { content: content.or(text.map(TextCow::from)), is_error, unknown, ..block }
}

/// Reads blocks of Anthropic's SDK that were written as Python's `repr`. Returns false, and reads nothing, if the text is
/// anything else.
fn printed<'a>(text: Text<'a>, parts: &mut Parts<'a>) -> bool {
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
        parts.say(part("text"));
        if part("type").as_deref() == Some("tool_use") {
            let input = block.get("input").map(|input| Cow::Owned(input.spelling().into_owned()));
            let arguments = input.map(common::arguments_of_text).unwrap_or_default();
            let (id, name) = (part("id").map(Cow::Owned), part("name").map(Cow::Owned));
            parts.blocks.push(Block { is_call: true, id, name, arguments, ..Block::default() });
        }
    }
    true
}

/// A block of a message: a call (such as `tool_use`), a result (such as `tool_result`), or a text after one of them.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) is_call: bool,
    /// True for a text of the model, which only [`in_order`] returns. `content` has it.
    pub(super) is_text: bool,
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
