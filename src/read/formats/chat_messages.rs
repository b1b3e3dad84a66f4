//! Messages of chats: text, calls and results, in the formats of OpenAI and Anthropic.

use std::collections::{BTreeMap, BTreeSet};

use super::chat::Form;
use super::chat_call::ToolCall;
use super::chat_content::{self, Block};
use super::chat_element::Element;
use super::claude_code_ends::Ends;
use super::prelude::*;
use crate::read::answers_without_id::InOrder;
use crate::trace::Entry;

/// The reason for skipping an element, or a part of one.
pub(super) const SKIPPED: &str = "elements that are neither messages, calls nor results";

#[derive(Default)]
pub(super) struct Conversation<'a> {
    pub(super) metadata: Metadata,
    pub(super) reward: Option<f64>,
    pub(super) assembler: Assembler<'a>,
    pub(super) form: Form,
    /// Number of elements so far.
    place: u64,
    /// The turn that the current consecutive elements of the model share.
    open_turn: Option<u64>,
    turns: u64,
    /// The tokens for the calls that follow.
    usage: Option<Usage>,
    /// The tokens of the one response that contains all elements from here on.
    whole_usage: Option<Usage>,
    time: Option<u64>,
    in_order: InOrder<'a>,
    /// The chats of sub-agents, by name.
    sub_agents: Vec<(String, Self)>,
    /// The places of sub-agents, by name.
    places: BTreeMap<String, usize>,
    has_blocks: bool,
    /// True for a session of Hermes, whose tools say in an object whether they failed.
    pub(super) is_of_hermes: bool,
    exit_status: Option<Cow<'a, str>>,
    /// The calls of remote tools that wait for approval, by id.
    pub(super) requests: TextMap<Cow<'a, str>, CallNumber>,
    /// The ends of calls that ran in the background.
    ends: Ends,
    /// The results in the entries of calls. They count for calls that no message answers.
    own_answers: Vec<(CallNumber, Answer<'a>)>,
    unknown: u64,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(form: Form, metadata: Metadata) -> Self {
        Self { metadata, form, ..Self::default() }
    }

    pub(super) fn format(&self) -> Format {
        match self.form {
            Form::Items => Format::OpenAiResponses,
            Form::Messages if self.has_blocks || self.sub_agents.iter().any(|(_, chat)| chat.has_blocks) => {
                Format::AnthropicMessages
            }
            Form::Messages => Format::OpenAiChat,
        }
    }

    /// Returns the number of elements, including those of sub-agents.
    pub(super) fn elements(&self) -> u64 {
        self.place
    }

    /// Takes the chats of sub-agents, with their names.
    pub(super) fn take_sub_agents(&mut self) -> Vec<(String, Self)> {
        std::mem::take(&mut self.sub_agents)
    }

    /// Adds an element to the chat of a sub-agent.
    fn add_to(&mut self, name: String, element: Element<'a>) -> bool {
        self.place += 1;
        let count = self.sub_agents.len();
        let place = *self.places.entry(name.clone()).or_insert(count);
        if place == count {
            self.sub_agents.push((name, Self::new(self.form, Metadata::default())));
        }
        self.sub_agents.get_mut(place).is_some_and(|(_, chat)| chat.add(element))
    }

    /// Marks everything that follows as one response with these tokens.
    pub(super) fn of_one_response(&mut self, usage: Option<Usage>) {
        self.end_turn();
        self.whole_usage = usage;
    }

    /// Adds an element. One that does not have the expected form is skipped and counted.
    pub(super) fn take(&mut self, element: Raw<'a>) {
        let is_added = self.add(element.into());
        self.unknown += u64::from(!is_added);
    }

    /// Emits the run. Its termination may be the exit status that mini-swe-agent records.
    pub(super) fn give(mut self, runs: &mut Runs<'_>) {
        runs.pass_over(SKIPPED, self.unknown);
        self.assembler.pair_new();
        for (call, answer) in self.own_answers {
            self.assembler.answer_call(call, answer);
        }
        self.ends.settle(None, &mut self.assembler);
        let end = &mut self.metadata.termination;
        *end = end.take().or(self.exit_status.map(Cow::into_owned));
        runs.give_unrouted(&mut self.assembler, self.metadata, self.reward);
    }

    /// Adds an element, or returns false if it does not have the expected form.
    pub(super) fn add(&mut self, mut element: Element<'a>) -> bool {
        let fits = match self.form {
            // If one element is an item, the chat must be read as items.
            Form::Messages => element.may_be_message() && element.item.is_none(),
            Form::Items => element.is_item(),
        };
        if !fits {
            return false;
        }
        let is_result = element.answers.is_some() || element.has_results();
        if self.form == Form::Messages && !is_result && !element.is_message() && element.tool_calls.is_empty()
        {
            self.unknown += 1;
            self.place += 1;
            return true;
        }
        if let Some(name) = element.sub_agent() {
            return self.add_to(name, element);
        }
        match (element.item, element.role.is_some()) {
            (Some(item), _) => self.item(item, &element),
            (None, true) => self.message(element),
            // Reasoning is part of the model's turn.
            (None, false) if element.is_reasoning() => {
                self.turn();
            }
            (None, false) => self.unknown += 1,
        }
        self.place += 1;
        true
    }

    /// Returns the turn of an element of the model. Consecutive elements share a turn: in a chat, the index of the
    /// first of them; among items, the number of earlier turns.
    pub(super) fn turn(&mut self) -> u64 {
        if let Some(turn) = self.open_turn {
            return turn;
        }
        let turn = if self.form == Form::Items { self.turns } else { self.place };
        self.turns += 1;
        self.open_turn = Some(turn);
        (self.usage, self.time) = (self.whole_usage, None);
        turn
    }

    /// Ends the turn of the model, and returns the turn of the current element.
    pub(super) fn end_turn(&mut self) -> u64 {
        self.open_turn = None;
        if self.form == Form::Items { self.turns } else { self.place }
    }

    /// Adds a call with the tokens of the current response. `time` defaults to that of the current message.
    pub(super) fn call(&mut self, mut call: Call<'a>, time: Option<u64>) -> CallNumber {
        call.usage = self.usage.map(Box::new);
        call.time = time.or(self.time);
        self.assembler.call(call)
    }

    /// Returns the oldest unanswered call of a tool.
    pub(super) fn oldest(&mut self, name: &'static str) -> Option<CallNumber> {
        self.in_order.oldest(Some(&name.into()), &mut self.assembler)
    }

    fn message(&mut self, mut element: Element<'a>) {
        let role = element.role.take().unwrap_or_default();
        let mut results = element.results();
        // Next to calls, the results are those of the calls in the same message.
        let own = if element.tool_calls.is_empty() { Vec::new() } else { std::mem::take(&mut results) };
        let has_only_results = !results.is_empty() && (role == "tool" || element.is_joined());
        for result in results {
            let turn = self.end_turn();
            self.result(turn, false, result);
        }
        if has_only_results {
            return;
        }
        let first = self.assembler.next_number();
        let is_bare = role == "observation" && element.answers.is_none();
        if let Some(list) = element.content.filter(|_| is_bare)
            && let Some(results) = chat_content::bare_results(list)
        {
            let open = self.open_calls(results.len().max(1) + 1);
            let results = if results.len() == open.len() { results } else { vec![list] };
            if results.len() == open.len() {
                self.end_turn();
                for (call, result) in open.into_iter().zip(results) {
                    let answer = Element::default().answer(words::result(result), false);
                    self.assembler.answer_call(call, answer);
                }
                return;
            }
        }
        match &*role {
            "tool" | "function" | "observation" if role != "observation" || element.answers.is_some() => {
                let turn = self.end_turn();
                return self.result(turn, role == "function", element);
            }
            "exit" => {
                self.end_turn();
                self.exit_status = element.extra().exit_status.or(self.exit_status.take());
                return;
            }
            _ => {}
        }
        let actor = words::actor_of(&role);
        // Next to calls of its own, a message has only texts, or copies of the calls.
        let is_in_order = actor == Actor::Agent && element.tool_calls.is_empty();
        let read = if is_in_order { chat_content::in_order } else { chat_content::message };
        let (text, mut blocks) = element.content.map(read).unwrap_or_default();
        let has_calls = || !element.tool_calls.is_empty() || blocks.iter().any(|block| block.is_call);
        let is_failure = || !has_calls() && text.as_ref().is_some_and(|text| element.is_failed_request(text));
        match if actor == Actor::Agent && is_failure() { Actor::Environment } else { actor } {
            Actor::Agent => {
                let all = blocks.len();
                // Only results of tools that the provider runs count: the model may have invented others.
                blocks.retain(|block| block.is_call || block.is_of_server || block.is_text);
                self.unknown += (all - blocks.len()) as u64;
                self.agent(element, text, blocks);
                self.own_results(first, own);
            }
            // In chats of several agents, the role may be the name of an agent.
            Actor::Environment if has_calls() => {
                self.agent(element, text, blocks);
                self.own_results(first, own);
            }
            actor => {
                let turn = self.end_turn();
                let time = element.time();
                if let Some(text) = text {
                    self.ends.read(None, text.text());
                    let is_notice = actor == Actor::User && element.is_notice(&text);
                    let actor = if is_notice { Actor::Environment } else { actor };
                    self.assembler.message_at(actor, turn, text, time);
                }
                // A simulated user may have tools of its own.
                for call in element.tool_calls.drain(..) {
                    match call.call {
                        Some(call) => drop(self.assembler.call(Call { actor, turn, time, ..call })),
                        None => self.unknown += 1,
                    }
                }
                self.blocks(turn, blocks);
            }
        }
    }

    /// Adds a message of the model, with its calls.
    fn agent(&mut self, mut element: Element<'a>, text: Option<TextCow<'a>>, mut blocks: Vec<Block<'a>>) {
        let turn = self.turn();
        // Only one part of a split response has the tokens, so later parts keep them.
        self.usage = element.usage().or(self.usage);
        self.time = element.time();
        if self.metadata.model.is_none() {
            self.metadata.model = element.model().map(|model| model.as_ref().into());
        }
        self.say(turn, text);
        if !blocks.is_empty() && !element.tool_calls.is_empty() {
            // An exporter may write each call in both forms. The copies in the content are dropped, unless only they
            // have ids.
            let with_id = blocks.iter().filter(|block| block.is_call && block.id.is_some());
            let in_blocks: BTreeSet<_> = with_id.filter_map(|block| block.name.as_deref()).collect();
            let is_copy = |call: &Call<'_>| call.id.is_none() && in_blocks.contains(&*call.name);
            element
                .tool_calls
                .retain(|read| read.answered.is_some() || !read.call.as_ref().is_some_and(is_copy));
            let calls = || element.tool_calls.iter().filter_map(|call| call.call.as_ref());
            let ids: BTreeSet<_> = calls().filter_map(|call| call.id.as_deref()).collect();
            let names: BTreeSet<_> = calls().map(|call| &*call.name).collect();
            let is_double = |block: &Block<'_>| match (block.id.as_deref(), block.name.as_deref()) {
                (Some(id), _) if !ids.is_empty() => ids.contains(id),
                (_, name) => name.is_some_and(|name| names.contains(name)),
            };
            blocks.retain(|block| !block.is_call || !is_double(block));
        }
        for ToolCall { call, answered, .. } in element.tool_calls.drain(..) {
            let Some(call) = call else {
                self.unknown += 1;
                continue;
            };
            let number = self.call(Call { turn, ..call }, None);
            if let Some(answered) = answered {
                self.own_answers.push((number, Element::of(answered).answer(None, false)));
            }
        }
        self.blocks(turn, blocks);
    }

    /// Adds a text of the model with the tokens of the current response.
    fn say(&mut self, turn: u64, text: Option<TextCow<'a>>) {
        if let Some(text) = text {
            self.assembler.message_at(Actor::Agent, turn, text, self.time);
            self.assembler.set_usage(turn, self.usage);
        }
    }

    /// Keeps the results that a message has next to its calls, from the entry `first` on. They count for calls that no
    /// message answers.
    fn own_results(&mut self, first: u64, results: Vec<Element<'a>>) {
        let calls = self.assembler.calls_from(first);
        let mut calls: Vec<_> = calls.map(|(number, call)| (number, call.id.clone())).collect();
        for result in results {
            let id = result.answers.clone().or_else(|| result.id_of_call());
            let found = calls.iter().position(|(_, of)| id.is_none() || *of == id);
            if let Some(found) = found {
                let (number, _) = calls.remove(found);
                let answer = result.answer(result.content.and_then(words::result), false);
                self.own_answers.push((number, answer));
            } else {
                let turn = self.end_turn();
                self.result(turn, false, result);
            }
        }
    }

    /// Adds the calls, the results and the texts between them in a message.
    fn blocks(&mut self, turn: u64, blocks: Vec<Block<'a>>) {
        for mut block in blocks {
            self.has_blocks |= !block.is_text;
            if block.is_text {
                self.say(turn, block.content);
            } else if block.is_call {
                let call = Call::new(turn, block.id, block.name.unwrap_or_default());
                self.call(call.with(block.arguments), None);
            } else {
                let (id, name) = (block.answers.take(), block.name.take());
                self.answer(turn, id, name.as_ref(), block.into_answer());
            }
        }
    }

    /// Returns the open calls that nothing follows, the last `most` of them if there are more.
    fn open_calls(&mut self, most: usize) -> Vec<CallNumber> {
        self.assembler.pair_new();
        let last = self.assembler.entries().iter().rev().take(most);
        let open = last.take_while(|entry| matches!(entry, Entry::Call(_, None, _))).count();
        let first = self.assembler.next_number().saturating_sub(open as u64);
        self.assembler.calls_from(first).map(|(number, _)| number).collect()
    }

    /// Adds a message that is a result. With `by_name`, it is paired by the name of the tool, not by id.
    fn result(&mut self, turn: u64, by_name: bool, element: Element<'a>) {
        let (text, mut blocks) = element.content.map(chat_content::results).unwrap_or_default();
        let are_results = match (&mut blocks[..], &element.answers) {
            ([], _) => false,
            (_, None) => true,
            ([Block { answers: answers @ None, .. }], Some(id)) => {
                *answers = Some(id.clone());
                true
            }
            (_, Some(_)) => false,
        };
        if are_results {
            if let Some(text) = text {
                self.assembler.message(Actor::Environment, turn, text);
            }
            return self.blocks(turn, blocks);
        }
        let answer = element.answer(element.content.and_then(words::result), self.is_of_hermes);
        let name = element.name();
        let id = if by_name { None } else { element.answers };
        self.answer(turn, id, name.as_ref(), answer);
    }

    /// Answers the call with this id. Without an id, answers the oldest open call of this name, or of any
    /// tool if `name` is `None`; calls without an id come first.
    fn answer(
        &mut self,
        turn: u64,
        id: Option<Cow<'a, str>>,
        name: Option<&Cow<'a, str>>,
        answer: Answer<'a>,
    ) {
        let steps = &mut self.assembler;
        let call = if id.is_none() { self.in_order.without_id_first(name, steps) } else { None };
        steps.answer_to(call, turn, id, answer);
    }
}
