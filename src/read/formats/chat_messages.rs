//! Messages of chats: their texts, the calls in them and the results they bear, in the mark-ups of `OpenAI` and of
//! Anthropic.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::chat::Form;
use super::chat_call::legacy_call;
use super::chat_element::{Block, Body, Element};
use super::chat_items::codex_result;
use crate::json::{Json, Kind, Read};
use crate::read::Format;
use crate::read::outcome::Outcome;
use crate::read::words;
use crate::trace::{Actor, Answer, Assembler, Call, CallNumber, Content, Provenance, Usage};

/// A chat in the middle of being read.
pub(in crate::read) struct Conversation<'a> {
    pub(in crate::read) assembler: Assembler<'a>,
    form: Form,
    /// How many elements there were.
    place: u64,
    /// The turn of the elements of the model that stand together here.
    open_turn: Option<u64>,
    /// How many turns of the model there were.
    turns: u64,
    /// The tokens of the response whose calls come.
    usage: Option<Usage>,
    /// The tokens of the one response that all elements from here on are.
    whole_usage: Option<Usage>,
    time: Option<u64>,
    anonymous: Anonymous<'a>,
    has_blocks: bool,
    exit_status: Option<Cow<'a, str>>,
    unknown: u64,
}

impl<'a> Conversation<'a> {
    pub(in crate::read) fn new(form: Form) -> Self {
        let mut assembler = Assembler::default();
        assembler.begin(true);
        Self {
            assembler,
            form,
            place: 0,
            open_turn: None,
            turns: 0,
            usage: None,
            whole_usage: None,
            time: None,
            anonymous: Anonymous::default(),
            has_blocks: false,
            exit_status: None,
            unknown: 0,
        }
    }

    pub(in crate::read) fn format(&self) -> Format {
        match self.form {
            Form::Items => Format::OpenAiResponses,
            Form::Messages if self.has_blocks => Format::AnthropicMessages,
            Form::Messages => Format::OpenAiChat,
        }
    }

    /// How mini-swe-agent says the run ended.
    pub(in crate::read) fn exit_status(&self) -> Option<&str> {
        self.exit_status.as_deref()
    }

    /// How many elements were passed over.
    pub(in crate::read) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// All that comes is one response, which took these tokens.
    pub(in crate::read) fn of_one_response(&mut self, usage: Option<Usage>) {
        self.end_turn();
        self.whole_usage = usage;
    }

    /// Reads an element and adds it; `false`: it is none of the form.
    pub(in crate::read) fn element(&mut self, json: &mut Json<'a>) -> Read<bool> {
        let mut element = Element::default();
        element.read(json)?;
        self.add(&mut element)
    }

    /// Adds an element; `false`: it is none of the form.
    pub(in crate::read) fn add(&mut self, element: &mut Element<'a>) -> Read<bool> {
        let fits = match self.form {
            // One item makes items of all.
            Form::Messages => element.is_message() && element.item.is_none(),
            Form::Items => element.is_item(),
        };
        if !fits {
            return Ok(false);
        }
        match (element.item, element.role.is_some()) {
            (Some(item), _) => self.item(item, element),
            (None, true) => self.message(element)?,
            // The model thinks, and goes on.
            (None, false) if element.is_reasoning() => {
                self.turn();
            }
            (None, false) => self.unknown += 1,
        }
        self.place += 1;
        Ok(true)
    }

    /// The turn of an element of the model: chats number it by the first element that stands together with it, items
    /// by how many turns there were.
    pub(in crate::read) fn turn(&mut self) -> u64 {
        if let Some(turn) = self.open_turn {
            return turn;
        }
        let turn = if self.form == Form::Items { self.turns } else { self.place };
        self.turns += 1;
        self.open_turn = Some(turn);
        (self.usage, self.time) = (self.whole_usage, None);
        turn
    }

    /// Ends the turn of the model, as something stands here that is not the model's. Returns the turn of that.
    pub(in crate::read) fn end_turn(&mut self) -> u64 {
        self.open_turn = None;
        if self.form == Form::Items { self.turns } else { self.place }
    }

    /// Adds a call of an element.
    pub(in crate::read) fn call(&mut self, mut call: Call<'a>, time: Option<u64>) -> CallNumber {
        call.usage = self.usage.map(Box::new);
        call.time = time.or(self.time);
        let name = call.id.is_none().then(|| call.name.clone());
        let number = self.assembler.call(call);
        if let Some(name) = name {
            self.anonymous.add(name, number);
        }
        number
    }

    fn message(&mut self, element: &mut Element<'a>) -> Read<()> {
        let role = element.role.take().unwrap_or_default();
        match &*role {
            "assistant" => self.assistant(element),
            "tool" | "function" => {
                let turn = self.end_turn();
                self.result(turn, role == "function", element);
                Ok(())
            }
            "exit" => {
                self.end_turn();
                self.exit_status = element.extra.exit_status.take().or(self.exit_status.take());
                Ok(())
            }
            _ => {
                let turn = self.end_turn();
                let time = element.time();
                let Some(content) = element.content.take() else { return Ok(()) };
                let (text, blocks) = content.into_message()?;
                if let Some(text) = text {
                    self.assembler.message_at(words::actor_of(&role), turn, text, time);
                }
                for mut block in blocks {
                    self.has_blocks = true;
                    if !block.is_call {
                        let id = block.answers.take();
                        self.answer(turn, id, None, block.into_answer());
                    }
                }
                Ok(())
            }
        }
    }

    /// A message of the model, with its calls.
    fn assistant(&mut self, element: &mut Element<'a>) -> Read<()> {
        let turn = self.turn();
        // Of a response that was split, one part alone has the tokens.
        self.usage = element.usage().or(self.usage);
        self.time = element.time();
        let (text, blocks) = match element.content.take() {
            Some(content) => content.into_message()?,
            None => (None, Vec::new()),
        };
        if let Some(text) = text {
            self.assembler.message_at(Actor::Agent, turn, text, self.time);
            self.assembler.spent(turn, self.usage);
        }
        for call in element.tool_calls.drain(..) {
            match call {
                Some(call) => {
                    self.call(Call { turn, ..call }, None);
                }
                None => self.unknown += 1,
            }
        }
        if let Some(function) = element.function_call.filter(|function| function.kind() == Kind::Object) {
            self.call(Call { turn, ..legacy_call(function) }, None);
        }
        for Block { is_call, id, name, arguments, .. } in blocks {
            self.has_blocks = true;
            if is_call {
                let mut call = Call::new(turn, id, name.unwrap_or_default());
                call.arguments = arguments;
                self.call(call, None);
            }
        }
        Ok(())
    }

    /// A message that is a result.
    fn result(&mut self, turn: u64, by_name: bool, element: &mut Element<'a>) {
        let content = element.content.take();
        let answer = match content.and_then(Body::into_result) {
            Some(text) => {
                let marked = element.outcome(text.text());
                let (codex, observation) = codex_result(text);
                let outcome = marked.or(codex).unwrap_or_else(|| {
                    let failed = observation.text().starts_with("Error:");
                    if failed { Outcome::error(Provenance::Text) } else { Outcome::UNMARKED }
                });
                outcome.answer(Content::Present(observation))
            }
            None => element.flag().unwrap_or(Outcome::UNMARKED).answer(Content::Absent),
        };
        let id = if by_name { None } else { element.answers.take() };
        self.answer(turn, id, element.name.as_deref(), answer);
    }

    /// Gives an answer to the call of this id, or, without one, to the oldest without an id that has this name.
    fn answer(&mut self, turn: u64, id: Option<Cow<'a, str>>, name: Option<&str>, answer: Answer<'a>) {
        if id.is_none()
            && let Some(call) = self.anonymous.take(name, &mut self.assembler)
        {
            self.assembler.answer_call(call, answer);
            return;
        }
        self.assembler.answer(turn, id, answer);
    }
}

/// Calls without an id, which their names find.
#[derive(Default)]
struct Anonymous<'a> {
    all: VecDeque<CallNumber>,
    by_name: BTreeMap<Cow<'a, str>, VecDeque<CallNumber>>,
}

impl<'a> Anonymous<'a> {
    fn add(&mut self, name: Cow<'a, str>, call: CallNumber) {
        self.all.push_back(call);
        self.by_name.entry(name).or_default().push_back(call);
    }

    /// The oldest of this name, or of any, that nothing has answered.
    fn take(&mut self, name: Option<&str>, steps: &mut Assembler<'_>) -> Option<CallNumber> {
        let queue = match name {
            Some(name) => self.by_name.get_mut(name)?,
            None => &mut self.all,
        };
        loop {
            let call = queue.pop_front()?;
            if !steps.is_answered(call) {
                return Some(call);
            }
        }
    }
}
