//! Messages of chats: their texts, the calls in them and the results they bear, in the mark-ups of `OpenAI` and of
//! Anthropic.

use std::borrow::Cow;

use super::Format;
use super::chat::Form;
use super::chat_items::{Item, codex_result, under_input};
use super::codex_text::is_failure_code;
use super::common;
use super::mini_swe_agent::Extra;
use super::outcome::{Outcome, broken_off, never_ran};
use super::time;
use super::tokens;
use super::words;
use crate::json::{Kind, Raw, Read};
use crate::trace::{
    Actor, Answer, Assembler, Call, CallNumber, Content, Provenance, Text, UnknownReason, Usage,
};

/// An element of a chat as it stands: a message or an item.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Element<'a> {
    pub(super) kind: Option<Raw<'a>>,
    pub(super) role: Option<Raw<'a>>,
    pub(super) content: Option<Raw<'a>>,
    pub(super) id: Option<Raw<'a>>,
    pub(super) call_id: Option<Raw<'a>>,
    pub(super) name: Option<Raw<'a>>,
    pub(super) arguments: Option<Raw<'a>>,
    pub(super) action: Option<Raw<'a>>,
    pub(super) queries: Option<Raw<'a>>,
    pub(super) input: Option<Raw<'a>>,
    pub(super) output: Option<Raw<'a>>,
    pub(super) error: Option<Raw<'a>>,
    pub(super) status: Option<Raw<'a>>,
    is_error: Option<Raw<'a>>,
    tool_calls: Option<Raw<'a>>,
    function_call: Option<Raw<'a>>,
    /// Of the call that a message answers.
    answers: Option<Raw<'a>>,
    extra: Option<Raw<'a>>,
    timestamp: Option<Raw<'a>>,
    usage: Option<Raw<'a>>,
}

impl<'a> Element<'a> {
    fn read(value: Raw<'a>) -> Read<Self> {
        let mut found = Self::default();
        value.json().object(|key, value| {
            let place = match key {
                b"type" => &mut found.kind,
                b"role" => &mut found.role,
                b"content" => &mut found.content,
                b"id" => &mut found.id,
                b"call_id" => &mut found.call_id,
                b"name" => &mut found.name,
                b"arguments" => &mut found.arguments,
                b"action" => &mut found.action,
                b"queries" => &mut found.queries,
                b"input" => &mut found.input,
                b"output" => &mut found.output,
                b"error" => &mut found.error,
                b"status" => &mut found.status,
                b"is_error" => &mut found.is_error,
                b"tool_calls" => &mut found.tool_calls,
                b"function_call" => &mut found.function_call,
                b"tool_call_id" => &mut found.answers,
                b"extra" => &mut found.extra,
                b"timestamp" => &mut found.timestamp,
                b"usage" => &mut found.usage,
                _ => return value.skip(),
            };
            *place = Some(value.raw()?);
            Ok(())
        })?;
        Ok(found)
    }

    /// A date and time, or seconds since 1970.
    fn time(&self) -> Option<u64> {
        let timestamp = self.timestamp?;
        time::of_string(timestamp).or_else(|| time::of_seconds(timestamp))
    }
}

/// A call without an id, which its name finds.
struct Anonymous<'a> {
    number: CallNumber,
    name: Cow<'a, str>,
}

/// A chat in the middle of being read.
pub(super) struct Conversation<'a> {
    pub(super) assembler: Assembler<'a>,
    form: Form,
    /// How many elements there were.
    place: u64,
    /// The turn of the elements of the model that stand together here.
    run: Option<u64>,
    /// How many such runs there were.
    runs: u64,
    /// The tokens of the response whose calls come.
    usage: Option<Usage>,
    time: Option<u64>,
    /// Calls without an id that nothing has answered.
    anonymous: Vec<Anonymous<'a>>,
    has_blocks: bool,
    exit_status: Option<String>,
    unknown: u64,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(form: Form) -> Self {
        let mut assembler = Assembler::default();
        assembler.begin(true);
        Self {
            assembler,
            form,
            place: 0,
            run: None,
            runs: 0,
            usage: None,
            time: None,
            anonymous: Vec::new(),
            has_blocks: false,
            exit_status: None,
            unknown: 0,
        }
    }

    pub(super) fn format(&self) -> Format {
        match self.form {
            Form::Items => Format::OpenAiResponses,
            Form::Messages if self.has_blocks => Format::AnthropicMessages,
            Form::Messages => Format::OpenAiChat,
        }
    }

    pub(super) fn steps(&mut self) -> &mut Assembler<'a> {
        &mut self.assembler
    }

    /// How mini-swe-agent says the run ended.
    pub(super) fn exit_status(&mut self) -> Option<String> {
        self.exit_status.take()
    }

    /// How many elements were passed over.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// All that comes is one response, which took these tokens.
    pub(super) fn of_one_response(&mut self, usage: Option<Usage>) {
        self.usage = usage;
    }

    /// Adds an element.
    pub(super) fn element(&mut self, element: Raw<'a>) -> Read<()> {
        let element = Element::read(element)?;
        let kind = element.kind.and_then(Raw::string);
        let item = if self.form == Form::Items { kind.as_deref().and_then(Item::of) } else { None };
        match (item, element.role.and_then(Raw::string)) {
            (Some(item), _) => self.item(item, &element),
            (None, Some(role)) => self.message(&role, &element)?,
            // The model thinks, and goes on.
            (None, None) if kind.as_deref() == Some("reasoning") => {
                self.turn();
            }
            (None, None) => self.unknown += 1,
        }
        self.place += 1;
        Ok(())
    }

    /// The turn of an element of the model: chats number it by the first element that stands together with it, items
    /// by how many such runs there were.
    pub(super) fn turn(&mut self) -> u64 {
        if let Some(run) = self.run {
            return run;
        }
        let turn = if self.form == Form::Items { self.runs } else { self.place };
        self.runs += 1;
        self.run = Some(turn);
        turn
    }

    /// What is not the model's stands here. Gives back a turn for it.
    pub(super) fn break_run(&mut self) -> u64 {
        self.run = None;
        if self.form == Form::Items { self.runs.saturating_sub(1) } else { self.place }
    }

    /// Adds a call of an element.
    pub(super) fn call(&mut self, mut call: Call<'a>, element: &Element<'a>) -> CallNumber {
        let usage = self.usage;
        call.usage = usage.map(Box::new);
        call.time = element.time().or(self.time);
        let anonymous = call.id.is_none().then(|| call.name.clone());
        let number = self.assembler.call(call);
        if let Some(name) = anonymous {
            self.anonymous.push(Anonymous { number, name });
        }
        number
    }

    fn message(&mut self, role: &str, element: &Element<'a>) -> Read<()> {
        match role {
            "assistant" => self.assistant(element),
            "tool" | "function" => {
                let turn = self.break_run();
                self.result(turn, role == "function", element);
                Ok(())
            }
            "exit" if self.form == Form::Messages => {
                self.break_run();
                let extra = element.extra.map(Extra::read).unwrap_or_default();
                self.exit_status = extra.exit_status.map(Cow::into_owned).or(self.exit_status.take());
                Ok(())
            }
            _ => {
                let turn = self.break_run();
                if let Some(text) = element.content.and_then(words::message) {
                    self.assembler.message_at(words::actor_of(role), turn, text, element.time());
                }
                self.blocks(element.content, |conversation, block| {
                    if block.kind == Some(BlockKind::Result) {
                        conversation.has_blocks = true;
                        let answer = block.answer();
                        conversation.answer(turn, block.answers, None, answer);
                    }
                })
            }
        }
    }

    /// A message of the model, with its calls.
    fn assistant(&mut self, element: &Element<'a>) -> Read<()> {
        let is_new = self.run.is_none();
        let turn = self.turn();
        let extra = element.extra.map(Extra::read).unwrap_or_default();
        let usage = element.usage.and_then(tokens::usage).or(extra.usage);
        // A response that was split tells its tokens once.
        if is_new || usage.is_some() {
            self.usage = usage.or(self.usage.filter(|_| self.form == Form::Items));
        }
        self.time = element.time().or(extra.time);
        if let Some(text) = element.content.and_then(words::message) {
            self.assembler.message_at(Actor::Agent, turn, text, self.time);
        }
        if let Some(calls) = element.tool_calls.filter(|calls| calls.kind() == Kind::List) {
            for call in calls.items().unwrap_or_default() {
                match tool_call(call, turn) {
                    Some(call) => {
                        self.call(call, element);
                    }
                    None => self.unknown += 1,
                }
            }
        }
        if let Some(function) = element.function_call.filter(|function| function.kind() == Kind::Object) {
            let call = Call { id: None, ..function_call(function, turn) };
            self.call(call, element);
        }
        self.blocks(element.content, |conversation, block| {
            if block.kind == Some(BlockKind::Call) {
                conversation.has_blocks = true;
                let name = block.name.and_then(common::name).unwrap_or_default();
                let mut call = Call::new(turn, block.id.and_then(common::ident), name);
                call.arguments = block.input.map_or(Content::Absent, common::arguments);
                conversation.call(call, element);
            }
        })
    }

    /// A message that is a result.
    fn result(&mut self, turn: u64, by_name: bool, element: &Element<'a>) {
        let extra = element.extra.map(Extra::read).unwrap_or_default();
        let answer = match element.content.and_then(words::result) {
            Some(text) => {
                let told = outcome(element, &extra, text.text());
                let (codex, observation) = codex_result(text);
                let outcome = told.or(codex).unwrap_or_else(|| {
                    let failed = observation.text().starts_with("Error:");
                    if failed { Outcome::error(Provenance::Text) } else { Outcome::UNMARKED }
                });
                outcome.answer(Content::Present(observation))
            }
            None => flag(element, &extra).unwrap_or(Outcome::UNMARKED).answer(Content::Absent),
        };
        let id = if by_name { None } else { element.answers };
        let name = element.name.and_then(common::name);
        self.answer(turn, id, name.as_deref(), answer);
    }

    /// Gives an answer to the call of this id, or, without one, to the oldest without an id that has this name.
    fn answer(&mut self, turn: u64, id: Option<Raw<'a>>, name: Option<&str>, answer: Answer<'a>) {
        let id = id.and_then(common::ident);
        if id.is_none() {
            let fits = |call: &Anonymous<'_>| name.is_none_or(|name| *name == call.name);
            if let Some(place) = self.anonymous.iter().position(fits) {
                let call = self.anonymous.remove(place);
                self.assembler.answer_call(call.number, answer);
                return;
            }
        }
        self.assembler.answer(turn, id, answer);
    }

    /// Goes through the parts of a content that are blocks of Anthropic's.
    fn blocks(&mut self, content: Option<Raw<'a>>, mut each: impl FnMut(&mut Self, Block<'a>)) -> Read<()> {
        let Some(content) = content.filter(|content| content.kind() == Kind::List) else { return Ok(()) };
        content.json().list(|json| {
            if json.kind()? == Kind::Object {
                each(self, Block::read(json.raw()?)?);
            }
            Ok(())
        })
    }
}

/// The arguments and the name of a call, in any of the ways in which `tool_calls` hold them; `None`: it is none.
fn tool_call(value: Raw<'_>, turn: u64) -> Option<Call<'_>> {
    if value.kind() != Kind::Object {
        return None;
    }
    let (mut id, mut function, mut custom) = (None, None, None);
    let (mut name, mut arguments, mut args) = (None, None, None);
    let walked = value.json().object(|key, value| {
        let place = match key {
            b"id" => &mut id,
            b"function" => &mut function,
            b"custom" => &mut custom,
            b"name" => &mut name,
            b"arguments" => &mut arguments,
            b"args" => &mut args,
            _ => return value.skip(),
        };
        *place = Some(value.raw()?);
        Ok(())
    });
    walked.ok()?;
    let object = |value: Option<Raw<'_>>| value.is_some_and(|value| value.kind() == Kind::Object);
    let mut call = if object(function) {
        function_call(function?, turn)
    } else if object(custom) {
        let name = custom?.member("name").and_then(common::name).unwrap_or_default();
        let mut call = Call::new(turn, None, name);
        call.arguments = under_input(custom?.member("input"));
        call
    } else {
        let mut call = Call::new(turn, None, name?.string()?);
        call.arguments = arguments.or(args).map_or(Content::Absent, common::arguments);
        call
    };
    call.id = id.and_then(common::ident);
    Some(call)
}

/// `{name, arguments}`.
fn function_call(value: Raw<'_>, turn: u64) -> Call<'_> {
    let mut call = Call::new(turn, None, "");
    let _ = value.json().object(|key, value| {
        match key {
            b"name" => call.name = common::name(value.raw()?).unwrap_or_default(),
            b"arguments" => call.arguments = common::arguments(value.raw()?),
            _ => value.skip()?,
        }
        Ok(())
    });
    call
}

/// How a call ended by the text and the marks of its result, so far as they stand before the rules on the texts of
/// Codex.
fn outcome(element: &Element<'_>, extra: &Extra<'_>, text: Text<'_>) -> Option<Outcome> {
    if let Some(outcome) = never_ran(text).or_else(|| broken_off(text)) {
        return Some(outcome);
    }
    if text.starts_with("aborted by user") {
        return Some(Outcome::unknown(UnknownReason::Interrupted, Provenance::Text));
    }
    if let Some(outcome) = flag(element, extra) {
        return Some(outcome);
    }
    if text.starts_with("Command running in background with ID: ") {
        return Some(Outcome::unknown(UnknownReason::Running, Provenance::Text));
    }
    if text.starts_with("<tool_use_error>") {
        return Some(Outcome::error(Provenance::Text));
    }
    if text.starts_with("Exit code ") {
        let head = text.head(64);
        return words::exit_line(words::first_line(&head), "Exit code ").map(Outcome::exit_code);
    }
    None
}

/// How a call ended by the flags and the exit code of its result.
fn flag(element: &Element<'_>, extra: &Extra<'_>) -> Option<Outcome> {
    let boolean = |value: Option<Raw<'_>>| value.and_then(Raw::boolean);
    if let Some(failed) = boolean(element.is_error).or_else(|| boolean(element.error)) {
        return Some(Outcome::flag(failed));
    }
    match element.status.and_then(Raw::string).as_deref() {
        Some("error") => return Some(Outcome::flag(true)),
        Some("success") => return Some(Outcome::flag(false)),
        _ => {}
    }
    extra.returncode.and_then(is_failure_code).map(Outcome::exit_code)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Call,
    Result,
}

/// A block of Anthropic's.
#[derive(Debug, Default)]
struct Block<'a> {
    kind: Option<BlockKind>,
    id: Option<Raw<'a>>,
    name: Option<Raw<'a>>,
    input: Option<Raw<'a>>,
    answers: Option<Raw<'a>>,
    content: Option<Raw<'a>>,
    is_error: Option<bool>,
}

impl<'a> Block<'a> {
    fn read(value: Raw<'a>) -> Read<Self> {
        let mut block = Self::default();
        value.json().object(|key, value| {
            match key {
                b"type" => {
                    block.kind = match value.raw()?.string().as_deref() {
                        Some("tool_use") => Some(BlockKind::Call),
                        Some("tool_result") => Some(BlockKind::Result),
                        _ => None,
                    }
                }
                b"id" => block.id = Some(value.raw()?),
                b"name" => block.name = Some(value.raw()?),
                b"input" => block.input = Some(value.raw()?),
                b"tool_use_id" => block.answers = Some(value.raw()?),
                b"content" => block.content = Some(value.raw()?),
                b"is_error" => block.is_error = value.raw()?.boolean(),
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(block)
    }

    fn answer(&self) -> Answer<'a> {
        let flag = self.is_error.map_or(Outcome::UNMARKED, Outcome::flag);
        let Some(text) = self.content.and_then(words::result) else { return flag.answer(Content::Absent) };
        let interrupted = || if self.is_error == Some(true) { broken_off(text.text()) } else { None };
        let outcome = never_ran(text.text()).or_else(interrupted).unwrap_or(flag);
        outcome.answer(Content::Present(text))
    }
}
