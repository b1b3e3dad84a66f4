//! The messages of a pi or OpenClaw session, as steps.

use std::collections::BTreeMap;

use super::pi::{answer, usage};
use super::prelude::*;

/// A branch of a session that is being read.
pub(super) struct Branch<'a> {
    steps: Assembler<'a>,
    metadata: Metadata,
    turn: u64,
    /// Number of calls and answers per id, which a second kind of line repeats.
    called: BTreeMap<Cow<'a, str>, u64>,
    answered: BTreeMap<Cow<'a, str>, u64>,
    others: u64,
}

impl<'a> Branch<'a> {
    pub(super) fn new(id: Option<String>, parent: Option<String>) -> Self {
        let metadata = Metadata { id, parent, agent: Some("pi".into()), ..Metadata::default() };
        Self {
            steps: Assembler::default(),
            metadata,
            turn: 0,
            called: BTreeMap::new(),
            answered: BTreeMap::new(),
            others: 0,
        }
    }

    /// Emits the trace.
    pub(super) fn end(mut self, runs: &mut Runs<'_>) {
        runs.pass_over("lines of other types", self.others);
        runs.give_unrouted(&mut self.steps, self.metadata, None);
    }

    /// Reads a line. Of the kinds with messages, `whole` counts.
    pub(super) fn line(&mut self, line: &Members<'a>, whole: Option<&str>) {
        let kind = line.name("type").unwrap_or_default();
        let time = line.time("timestamp");
        match &*kind {
            "message" => self.message(line.get("message"), time),
            kind if Some(kind) == whole => {
                self.message(line.get("message"), time);
                for message in
                    ["toolResults", "messages"].into_iter().filter_map(|key| line.get(key)?.items()).flatten()
                {
                    self.message(Some(message), time);
                }
            }
            "custom_message" => self.say(Actor::Environment, line.get("content"), time),
            "tool_execution_start" => {
                let id = line.name("toolCallId");
                if !id.as_ref().is_some_and(|id| repeats(&mut self.called, id)) {
                    let name = line.name("toolName").unwrap_or_default();
                    self.call(id, name, line.get("args"), None, time);
                }
            }
            "tool_execution_end" => {
                let id = line.name("toolCallId");
                let result = line.get("result");
                let part = |key: &str| result.and_then(|result| result.member(key));
                let answer = answer(part("content").or(result), part("details"), line.get("isError"));
                if let Some(id) = &id {
                    *self.answered.entry(id.clone()).or_default() += 1;
                }
                self.steps.answer(self.turn, id, answer);
            }
            "session"
            | "agent_start"
            | "turn_start"
            | "message_start"
            | "message_update"
            | "turn_end"
            | "agent_end"
            | "tool_execution_update"
            | "model_change"
            | "thinking_level_change" => {}
            _ => self.others += 1,
        }
    }

    fn call(
        &mut self,
        id: Option<Cow<'a, str>>,
        name: Cow<'a, str>,
        arguments: Option<Raw<'a>>,
        usage: Option<Usage>,
        time: Option<u64>,
    ) {
        let mut call = Call::new(self.turn, id, name);
        call.arguments = arguments.map_or(Content::Absent, common::arguments);
        call.usage = usage.map(Box::new);
        call.time = time;
        self.steps.call(call);
    }

    fn say(&mut self, actor: Actor, text: Option<Raw<'a>>, time: Option<u64>) {
        if let Some(text) = text.and_then(words::message) {
            self.steps.message_at(actor, self.turn, text, time);
        }
    }

    fn message(&mut self, message: Option<Raw<'a>>, time: Option<u64>) {
        let Some(message) = message.map(Members::from) else { return };
        let time = message.get("timestamp").and_then(time::of_milliseconds).or(time);
        match message.name("role").as_deref() {
            Some("assistant") => self.response(&message, time),
            Some("toolResult") => {
                let id = message.name("toolCallId");
                if !id.as_ref().is_some_and(|id| repeats(&mut self.answered, id)) {
                    let answer =
                        answer(message.get("content"), message.get("details"), message.get("isError"));
                    self.steps.answer(self.turn, id, answer);
                }
            }
            Some("bashExecution") => self.command(&message, time),
            Some("user") => self.say(Actor::User, message.get("content"), time),
            Some("system") => self.say(Actor::System, message.get("content"), time),
            Some(_) => self.say(Actor::Environment, message.get("content").or(message.get("summary")), time),
            None => self.others += 1,
        }
    }

    fn response(&mut self, message: &Members<'a>, time: Option<u64>) {
        self.metadata.model =
            self.metadata.model.take().or(message.name("model").map(|model| model.as_ref().into()));
        self.metadata.termination = message.name("stopReason").map(Cow::into_owned);
        let usage = message.get("usage").and_then(usage);
        self.say(Actor::Agent, message.get("content"), time);
        self.steps.spent(self.turn, usage);
        for part in message.list("content") {
            let part = Members::from(part);
            if let Some("toolCall") = part.name("type").as_deref() {
                let id = part.name("id");
                if let Some(id) = &id {
                    *self.called.entry(id.clone()).or_default() += 1;
                }
                self.call(id, part.name("name").unwrap_or_default(), part.get("arguments"), usage, time);
            }
        }
        self.say(Actor::Environment, message.get("errorMessage"), time);
        self.turn += 1;
    }

    /// A command that the user ran.
    fn command(&mut self, message: &Members<'a>, time: Option<u64>) {
        let mut call = Call::new(self.turn, None, "bash");
        call.actor = Actor::User;
        let command = message.name("command").unwrap_or_default();
        call.arguments = Content::Present(common::sole_text("command", &command));
        call.time = time;
        let outcome = if message.flag("cancelled") == Some(true) {
            Outcome::unknown(UnknownReason::Interrupted, Provenance::Flag)
        } else {
            message.get("exitCode").and_then(is_failure_code).map_or(Outcome::UNMARKED, Outcome::exit_code)
        };
        let number = self.steps.call(call);
        self.steps.answer_call(number, outcome.answer(message.result("output").into()));
        self.turn += 1;
    }
}

/// Returns true if a call or answer of this id was read before, once for each.
fn repeats(counts: &mut BTreeMap<Cow<'_, str>, u64>, id: &str) -> bool {
    counts.get_mut(id).is_some_and(|count| std::mem::replace(count, count.saturating_sub(1)) > 0)
}
