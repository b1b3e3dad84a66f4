//! A conversation of the OpenHands Agent SDK, event by event.

use std::collections::BTreeMap;

use super::openhands_sdk::{answer_of, arguments_of, short};
use super::prelude::*;

/// A conversation that is being read.
pub(super) struct Conversation<'a> {
    steps: Assembler<'a>,
    /// The turns of the model's responses.
    turns: BTreeMap<Cow<'a, str>, u64>,
    /// The next turn.
    turn: u64,
    /// Calls that agents on the Agent Client Protocol report several times.
    reported: BTreeMap<Cow<'a, str>, CallNumber>,
    metadata: Metadata,
    others: u64,
}

impl<'a> Conversation<'a> {
    pub(super) fn new() -> Self {
        Self {
            steps: Assembler::default(),
            turns: BTreeMap::new(),
            turn: 0,
            reported: BTreeMap::new(),
            metadata: Metadata { agent: Some("openhands".into()), ..Metadata::default() },
            others: 0,
        }
    }

    /// Emits the trace. `metadata` comes from outside the events.
    pub(super) fn end(mut self, runs: &mut Runs<'_>, metadata: Metadata, reward: Option<f64>) {
        let metadata = Metadata {
            id: metadata.id.or(self.metadata.id),
            agent: self.metadata.agent,
            model: metadata.model.or(self.metadata.model),
            termination: metadata.termination.or(self.metadata.termination),
            ..metadata
        };
        runs.pass_over("events of other kinds", self.others);
        runs.give_unrouted(&mut self.steps, metadata, reward);
    }

    /// Reads an event.
    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Read<()> {
        if json.kind()? != Kind::Object {
            self.others += 1;
            return json.skip();
        }
        let event = Members::of(json);
        let kind = event.name("kind").unwrap_or_default();
        let time = event.time("timestamp");
        match short(&kind) {
            "ActionEvent" => self.action(&event, time),
            "ObservationEvent" => {
                let observation = event.get("observation");
                self.answer(
                    &event,
                    observation.map_or_else(|| Outcome::UNMARKED.answer(Content::Absent), answer_of),
                );
            }
            "AgentErrorEvent" => {
                let error = event.result("error");
                self.answer(&event, Outcome::flag(true).answer(error.into()));
            }
            "UserRejectObservation" => {
                let reason = event.result("rejection_reason");
                let refused = Outcome::unknown(UnknownReason::Refused, Provenance::Flag);
                self.answer(&event, refused.answer(reason.into()));
            }
            "MessageEvent" => {
                let text = event.get("llm_message").and_then(|message| message.member("content"));
                self.message(&event, text, time);
            }
            "SystemPromptEvent" => {
                let text = event.get("system_prompt").and_then(|prompt| prompt.member("text"));
                if let Some(text) = text.and_then(words::message) {
                    self.steps.message_at(Actor::System, self.turn, text, time);
                }
            }
            "ACPToolCallEvent" => self.reported_call(&event, time),
            "ConversationErrorEvent" => {
                self.metadata.termination = event.name("code").map(Cow::into_owned);
                if let Some(text) = event.message("detail") {
                    self.steps.message_at(Actor::Environment, self.turn, text, time);
                }
            }
            "ConversationStateUpdateEvent" => {
                if let Some("execution_status" | "agent_status") = event.name("key").as_deref() {
                    self.metadata.termination = event.name("value").map(Cow::into_owned);
                }
            }
            "LLMCompletionLogEvent" => {
                let model = event.name("model_name");
                self.metadata.model = self.metadata.model.take().or(model.map(|model| model.as_ref().into()));
            }
            // The state of a conversation is next to its events.
            "" if event.has("agent") => {
                let model = event.get("agent").and_then(|agent| agent.member("llm")?.member("model"));
                self.metadata.model = model.and_then(common::name).map(|model| model.as_ref().into());
                self.metadata.id = event.name("id").map(Cow::into_owned);
                let status = event.name("execution_status").or_else(|| event.name("agent_status"));
                self.metadata.termination = status.map(Cow::into_owned);
            }
            _ => self.others += 1,
        }
        Ok(())
    }

    /// Returns the turn of an event, shared by the events of one response.
    fn turn_of(&mut self, event: &Members<'a>) -> u64 {
        let turn = match event.name("llm_response_id") {
            Some(response) => *self.turns.entry(response).or_insert(self.turn),
            None => self.turn,
        };
        self.turn = self.turn.max(turn + 1);
        turn
    }

    fn action(&mut self, event: &Members<'a>, time: Option<u64>) {
        let turn = self.turn_of(event);
        if let Some(thought) = event.message("thought") {
            self.steps.message_at(Actor::Agent, turn, thought, time);
        }
        let id = event.name("tool_call_id").or_else(|| event.name("id"));
        let written = event.get("tool_call");
        let written = written.map(|call| call.member("function").unwrap_or(call));
        let named = || written.and_then(|call| call.member("name")).and_then(common::name);
        let mut call = Call::new(turn, id, event.name("tool_name").or_else(named).unwrap_or_default());
        // For an action that could not be built, the call is kept as the model wrote it.
        call.arguments = match event.get("action").filter(|action| action.kind() == Kind::Object) {
            Some(action) => arguments_of(action),
            None => {
                written.and_then(|call| call.member("arguments")).map_or(Content::Absent, common::arguments)
            }
        };
        call.time = time;
        self.steps.call(call);
    }

    fn answer(&mut self, event: &Members<'a>, answer: Answer<'a>) {
        let id = event.name("tool_call_id").or_else(|| event.name("action_id"));
        self.steps.answer(self.turn, id, answer);
    }

    fn message(&mut self, event: &Members<'a>, text: Option<Raw<'a>>, time: Option<u64>) {
        let actor = match event.name("source").as_deref() {
            Some("agent") => Actor::Agent,
            Some("user") => Actor::User,
            _ => Actor::Environment,
        };
        let turn = if actor == Actor::Agent { self.turn_of(event) } else { self.turn };
        if let Some(text) = text.and_then(words::message) {
            self.steps.message_at(actor, turn, text, time);
        }
    }

    /// A call that is reported at its start and at every change.
    fn reported_call(&mut self, event: &Members<'a>, time: Option<u64>) {
        let known = event.name("tool_call_id").and_then(|id| self.reported.get(&id).copied());
        let number = known.unwrap_or_else(|| {
            let turn = self.turn_of(event);
            let name = event.name("title").or_else(|| event.name("tool_kind")).unwrap_or_default();
            let mut call = Call::new(turn, event.name("tool_call_id"), name);
            call.time = time;
            let number = self.steps.call(call);
            if let Some(id) = event.name("tool_call_id") {
                self.reported.insert(id, number);
            }
            number
        });
        if let Some(input) = event.present("raw_input")
            && let Some(call) = self.steps.call_mut(number)
        {
            call.arguments = common::arguments(input);
        }
        let failed = event.flag("is_error") == Some(true);
        let outcome = match event.name("status").as_deref() {
            _ if failed => Outcome::flag(true),
            Some("failed") => Outcome::flag(true),
            Some("completed") => Outcome::flag(false),
            _ => return,
        };
        let present = |key: &str| event.present(key);
        let text = present("raw_output").or_else(|| present("content")).and_then(words::result);
        self.steps.answer_call(number, outcome.answer(text.into()));
    }
}
