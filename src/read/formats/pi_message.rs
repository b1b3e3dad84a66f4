//! The messages of a pi or OpenClaw session, as steps.

use std::collections::BTreeMap;

use super::pi::{answer, usage};
use super::prelude::*;

/// A branch of a session that is being read.
pub(super) struct Branch<'a> {
    pub(super) run: Recording<'a>,
    /// Number of calls and answers per id, which a second kind of line repeats.
    called: BTreeMap<Cow<'a, str>, u64>,
    answered: BTreeMap<Cow<'a, str>, u64>,
}

impl<'a> Branch<'a> {
    pub(super) fn new(id: Option<String>, parent: Option<String>) -> Self {
        let mut run = Recording::of_agent("pi");
        (run.metadata.id, run.metadata.parent) = (id, parent);
        Self { run, called: BTreeMap::new(), answered: BTreeMap::new() }
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
            "custom_message" => {
                self.run.time(time);
                self.run.say(Actor::Environment, line.message("content"));
            }
            "tool_execution_start" => {
                let id = line.name("toolCallId");
                if !id.as_ref().is_some_and(|id| repeats(&mut self.called, id)) {
                    self.run.time(time);
                    self.run.call(id, line.name("toolName"), line.get("args"));
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
                self.run.answer_with(id, answer);
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
            _ => self.run.pass_over("lines of other types", 1),
        }
    }

    fn message(&mut self, message: Option<Raw<'a>>, time: Option<u64>) {
        let Some(message) = message.map(Members::from) else { return };
        self.run.time(message.get("timestamp").and_then(time::of_milliseconds).or(time));
        match message.name("role").as_deref() {
            Some("assistant") => self.response(&message),
            Some("toolResult") => {
                let id = message.name("toolCallId");
                if !id.as_ref().is_some_and(|id| repeats(&mut self.answered, id)) {
                    let answer =
                        answer(message.get("content"), message.get("details"), message.get("isError"));
                    self.run.answer_with(id, answer);
                }
            }
            Some("bashExecution") => self.command(&message),
            Some("user") => self.run.say(Actor::User, message.message("content")),
            Some("system") => self.run.say(Actor::System, message.message("content")),
            Some(_) => {
                let text = message.get("content").or(message.get("summary"));
                self.run.say(Actor::Environment, text.and_then(words::message));
            }
            None => self.run.pass_over("lines of other types", 1),
        }
    }

    fn response(&mut self, message: &Members<'a>) {
        self.run.model(message.name("model"));
        self.run.metadata.termination = message.name("stopReason").map(Cow::into_owned);
        self.run.say(Actor::Agent, message.message("content"));
        self.run.spent(message.get("usage").and_then(usage));
        for part in message.objects("content") {
            if let Some("toolCall") = part.name("type").as_deref() {
                let id = part.name("id");
                if let Some(id) = &id {
                    *self.called.entry(id.clone()).or_default() += 1;
                }
                self.run.call(id, part.name("name"), part.get("arguments"));
            }
        }
        self.run.say(Actor::Environment, message.message("errorMessage"));
        self.run.turn(None);
    }

    /// A command that the user ran.
    fn command(&mut self, message: &Members<'a>) {
        let call = self.run.call_text("bash", "command", &message.name("command").unwrap_or_default());
        if let Some(call) = self.run.call_mut(call) {
            call.actor = Actor::User;
        }
        let outcome = if message.flag("cancelled") == Some(true) {
            Outcome::unknown(UnknownReason::Interrupted, Provenance::Flag)
        } else {
            Outcome::of_code(message.get("exitCode"))
        };
        self.run.answer_call(call, message.result("output"), outcome);
        self.run.turn(None);
    }
}

/// Returns true if a call or answer of this id was read before, once for each.
fn repeats(counts: &mut BTreeMap<Cow<'_, str>, u64>, id: &str) -> bool {
    counts.get_mut(id).is_some_and(|count| std::mem::replace(count, count.saturating_sub(1)) > 0)
}
