//! Event logs of the Copilot CLI (`events.jsonl`): requests of tools, their executions, and those of sub-agents.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::{Kind, Raw, Read};
use crate::read::Format;
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::Members;
use crate::read::time;
use crate::read::wire;
use crate::read::words;
use crate::trace::{
    Actor, Answer, Assembler, Call, CallNumber, Content, Metadata, Provenance, Text, UnknownReason, Usage,
};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::CopilotCli,
    about: "event logs of the Copilot CLI",
    decisive: "lines with `timestamp` and `data`, of the types `session.start`, `assistant.message` or `tool.execution_start`",
    reader: Reader::Document(DocumentReader { claims, read, is_generic: false }),
};

fn claims(document: &Document<'_>) -> bool {
    matches!(document, Document::Lines(lines) if lines.iter().any(|line| is_line(*line)))
}

fn is_line(line: Raw<'_>) -> bool {
    let line = Members::of(&mut line.json());
    let Some(data) = line.get("data").filter(|_| line.is("id", Kind::String) && line.has("timestamp")) else {
        return false;
    };
    let has = |key: &str| data.member(key).is_some();
    match line.name("type").as_deref() {
        Some("session.start") => has("sessionId"),
        Some("assistant.message") => has("content") && (has("messageId") || has("toolRequests")),
        Some("tool.execution_start") => has("toolCallId") && has("toolName"),
        Some("tool.execution_complete") => has("toolCallId") && has("success"),
        _ => false,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a reader of documents may fail")]
fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Lines(lines) = document else { return Ok(()) };
    let mut session = Session::default();
    for line in lines {
        let line = Members::of(&mut line.json());
        if line.name("type").as_deref() == Some("session.start") && !session.agents.is_empty() {
            std::mem::take(&mut session).end(runs);
        }
        session.line(&line);
    }
    session.end(runs);
    Ok(())
}

/// A session in the middle of being read: its agents by the call that started them, the main one under none.
#[derive(Default)]
struct Session<'a> {
    agents: Vec<Agent<'a>>,
    places: BTreeMap<Option<Cow<'a, str>>, usize>,
    calls: BTreeMap<Cow<'a, str>, (usize, CallNumber)>,
    id: Option<String>,
    others: u64,
}

#[derive(Default)]
struct Agent<'a> {
    steps: Assembler<'a>,
    metadata: Metadata,
    turn: u64,
}

impl<'a> Session<'a> {
    fn end(mut self, runs: &mut Runs<'_>) {
        // What only sub-agents did still has a run of the agent that called them.
        self.agent(None);
        runs.pass_over("lines of other types", self.others);
        for agent in self.agents {
            let Agent { mut steps, metadata, .. } = agent;
            runs.give_unrouted(&mut steps, metadata, None);
        }
    }

    /// The place of the agent that the call of this id started.
    fn agent(&mut self, caller: Option<Cow<'a, str>>) -> usize {
        let next = self.agents.len();
        let parent = caller.is_some().then(|| self.id.clone().unwrap_or_else(|| "copilot".into()));
        let id = caller.as_deref().map(str::to_owned);
        let place = *self.places.entry(caller).or_insert(next);
        if place == next {
            let id = if id.is_some() { id } else { self.id.clone() };
            let metadata = Metadata { id, parent, agent: Some("copilot".into()), ..Metadata::default() };
            let mut agent = Agent { metadata, ..Agent::default() };
            agent.steps.begin(true);
            self.agents.push(agent);
        }
        place
    }

    fn line(&mut self, line: &Members<'a>) {
        let data = line.get("data").map(|data| Members::of(&mut data.json())).unwrap_or_default();
        let time = line.get("timestamp").and_then(time::of_string);
        let kind = line.name("type").unwrap_or_default();
        if kind == "session.start" {
            self.id = data.name("sessionId").map(Cow::into_owned);
        }
        let caller = data.name("parentToolCallId").or_else(|| match &*kind {
            "subagent.started" => data.name("toolCallId"),
            _ => None,
        });
        let place = self.agent(caller);
        let Some(agent) = self.agents.get_mut(place) else { return };
        let model = ["selectedModel", "newModel", "model"].into_iter().find_map(|key| data.name(key));
        if agent.metadata.model.is_none() {
            agent.metadata.model = model.map(|model| model.as_ref().into());
        }
        let say = |agent: &mut Agent<'a>, actor, key: &str| {
            if let Some(text) = data.get(key).and_then(words::message) {
                agent.steps.message_at(actor, agent.turn, text, time);
            }
        };
        match &*kind {
            "user.message" => say(agent, Actor::User, "content"),
            "system.message" => say(agent, Actor::System, "content"),
            "assistant.message" => {
                say(agent, Actor::Agent, "content");
                let count = data.get("outputTokens").and_then(|count| wire::count(&mut count.json()).ok()?);
                let usage = count.map(|output| Usage { output_tokens: Some(output), ..Usage::default() });
                agent.steps.spent(agent.turn, usage);
                for request in data.get("toolRequests").and_then(Raw::items).unwrap_or_default() {
                    let request = Members::of(&mut request.json());
                    self.call(place, &request, request.name("name"), time, usage);
                }
                if let Some(agent) = self.agents.get_mut(place) {
                    agent.turn += 1;
                }
            }
            "tool.execution_start" | "tool.user_requested" => {
                self.call(place, &data, data.name("toolName"), time, None);
            }
            "tool.execution_complete" => {
                let call = data.name("toolCallId").and_then(|id| self.calls.get(&id).copied());
                let (place, number) = call.map_or((place, None), |(place, number)| (place, Some(number)));
                let Some(agent) = self.agents.get_mut(place) else { return };
                match number {
                    Some(number) => drop(agent.steps.answer_call(number, answer(&data))),
                    None => agent.steps.answer(agent.turn, None, answer(&data)),
                }
            }
            "subagent.started" => {
                agent.metadata.agent = data.name("agentName").map(|name| name.as_ref().into());
            }
            "session.error" => {
                agent.metadata.termination = data.name("errorType").map(Cow::into_owned);
                say(agent, Actor::Environment, "message");
            }
            "abort" => agent.metadata.termination = Some("abort".into()),
            "session.shutdown" => agent.metadata.termination = data.name("shutdownType").map(Cow::into_owned),
            "session.start"
            | "session.resume"
            | "session.info"
            | "session.model_change"
            | "session.idle"
            | "assistant.turn_start"
            | "assistant.turn_end"
            | "assistant.reasoning"
            | "assistant.usage" => {}
            _ => self.others += 1,
        }
    }

    /// Adds a call, unless it was requested before it is executed.
    fn call(
        &mut self,
        place: usize,
        data: &Members<'a>,
        name: Option<Cow<'a, str>>,
        time: Option<u64>,
        usage: Option<Usage>,
    ) {
        let id = data.name("toolCallId");
        let is_known = id.as_ref().is_some_and(|id| self.calls.contains_key(id));
        let Some(agent) = self.agents.get_mut(place).filter(|_| !is_known) else { return };
        let mut call = Call::new(agent.turn, id.clone(), name.unwrap_or_default());
        call.arguments = data.get("arguments").map_or(Content::Absent, common::arguments);
        call.time = time;
        call.usage = usage.map(Box::new);
        let number = agent.steps.call(call);
        if let Some(id) = id {
            self.calls.insert(id, (place, number));
        }
    }
}

/// The answer of an execution. That of a command ends with its exit code.
fn answer<'a>(data: &Members<'a>) -> Answer<'a> {
    let error = data.get("error").filter(|error| error.kind() != Kind::Null);
    let code = error.and_then(|error| error.member("code")).and_then(common::name);
    let result = data.get("result").filter(|result| result.kind() != Kind::Null);
    let text = result.map(|result| result.member("content").unwrap_or(result));
    let text =
        text.or_else(|| error.map(|error| error.member("message").unwrap_or(error))).and_then(words::result);
    let outcome = match data.get("success").and_then(Raw::boolean) {
        _ if matches!(code.as_deref(), Some("rejected" | "denied")) => {
            Outcome::unknown(UnknownReason::Refused, Provenance::Flag)
        }
        Some(false) => Outcome::flag(true),
        success => match text.as_ref().and_then(|text| exit_code(text.text())) {
            Some(failed) => Outcome::exit_code(failed),
            None => success.map_or(Outcome::UNMARKED, |_| Outcome::flag(false)),
        },
    };
    outcome.answer(text.into())
}

/// Whether the exit code in the last line of a text is not 0.
fn exit_code(text: Text<'_>) -> Option<bool> {
    let text = text.to_str();
    let last = common::trim(&text).rsplit('\n').next()?;
    words::exit_line(last.strip_suffix('>')?, "<exited with exit code ")
}
