//! A session of the Copilot CLI, event by event.

use std::collections::BTreeMap;

use super::copilot_cli::answer;
use super::prelude::*;

/// A session that is being read: its agents by the call that started them, with the main agent under an empty id.
#[derive(Default)]
pub(super) struct Session<'a> {
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
    /// Returns true if nothing was read yet.
    pub(super) fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Emits complete steps of the first agent.
    pub(super) fn hand_on(&mut self, runs: &mut Runs<'_>) {
        if let Some(first) = self.agents.first_mut() {
            runs.hand_on(&mut first.steps, first.turn);
        }
    }

    /// Emits the traces.
    pub(super) fn end(mut self, runs: &mut Runs<'_>) {
        // If only sub-agents acted, the calling agent still has a run.
        self.agent(None);
        runs.pass_over("lines of other types", self.others);
        for agent in self.agents {
            let Agent { mut steps, metadata, .. } = agent;
            runs.give_unrouted(&mut steps, metadata, None);
        }
    }

    /// Returns the index of the agent that this call started.
    fn agent(&mut self, caller: Option<Cow<'a, str>>) -> usize {
        let next = self.agents.len();
        let parent = caller.is_some().then(|| self.id.clone().unwrap_or_else(|| "copilot".into()));
        let id = caller.as_deref().map(str::to_owned);
        let place = *self.places.entry(caller).or_insert(next);
        if place == next {
            let id = if id.is_some() { id } else { self.id.clone() };
            let metadata = Metadata { id, parent, agent: Some("copilot".into()), ..Metadata::default() };
            let agent = Agent { metadata, ..Agent::default() };
            self.agents.push(agent);
        }
        place
    }

    /// Reads a line.
    pub(super) fn line(&mut self, line: &Members<'a>) {
        let data = line.get("data").map(Members::from).unwrap_or_default();
        let time = line.time("timestamp");
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
                let count = data.count("outputTokens");
                let usage = count.map(|output| Usage { output_tokens: Some(output), ..Usage::default() });
                agent.steps.spent(agent.turn, usage);
                for request in data.list("toolRequests") {
                    let request = Members::from(request);
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

    /// Adds a call, unless it was requested before.
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
        call.arguments = data.arguments("arguments");
        call.time = time;
        call.usage = usage.map(Box::new);
        let number = agent.steps.call(call);
        if let Some(id) = id {
            self.calls.insert(id, (place, number));
        }
    }
}
