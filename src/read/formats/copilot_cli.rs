//! Copilot CLI event logs (`events.jsonl`): tool requests and executions, including those of sub-agents. Each event
//! is a line of its own, or is under `raw` in an event of a client.

use std::collections::BTreeMap;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(Any(&[EVENT, In("raw", &EVENT)]))],
    reader: Reader::Session(SessionReader { open: |_| Box::<Open<'_>>::default(), list: "" }),
};

const EVENT: Mark = All(&[
    Has(&["timestamp"]),
    Any(&[
        All(&[Says("type", &["session.start"]), In("data", &Has(&["sessionId"]))]),
        All(&[
            Says("type", &["assistant.message"]),
            In("data", &All(&[Has(&["content"]), HasOne(&["messageId", "toolRequests"])])),
        ]),
        All(&[Says("type", &["tool.execution_start"]), In("data", &Has(&["toolCallId", "toolName"]))]),
        All(&[Says("type", &["tool.execution_complete"]), In("data", &Has(&["toolCallId", "success"]))]),
    ]),
]);

/// The session that is being read. The next `session.start` ends it.
#[derive(Default)]
struct Open<'a> {
    /// Agents by the call that started them, with the main agent under `None`.
    agents: Ordered<Option<Cow<'a, str>>, Recording<'a>>,
    /// Calls by id, with the keys of their agents.
    calls: BTreeMap<Cow<'a, str>, (Option<Cow<'a, str>>, CallNumber)>,
    /// The ids of the calls that were denied.
    denied: Vec<Cow<'a, str>>,
    id: Option<String>,
}

impl<'a> session::Session<'a> for Open<'a> {
    fn add(&mut self, outer: &Members<'a>, runs: &mut Runs<'_>) {
        let inner = (!outer.has("data")).then(|| outer.object("raw")).filter(|inner| inner.has("data"));
        let line = inner.as_ref().unwrap_or(outer);
        if line.name("type").as_deref() == Some("session.start") && self.agents.first_mut().is_some() {
            Box::new(std::mem::take(self)).end(runs);
        }
        self.line(line);
        if let Some(first) = self.agents.first_mut() {
            first.hand_on_before_turn(runs);
        }
    }

    fn end(mut self: Box<Self>, runs: &mut Runs<'_>) {
        // If only sub-agents acted, the calling agent still has a run.
        self.agent(None);
        // The end of a denied call may say more.
        for id in std::mem::take(&mut self.denied) {
            if let Some((caller, number)) = self.calls.get(&id).cloned() {
                self.agent(caller).answer_call(number, None, Outcome::REFUSED);
            }
        }
        self.agents.into_values().for_each(|agent| agent.give(runs));
    }
}

impl<'a> Open<'a> {
    /// Returns the agent that this call started, adding it if needed.
    fn agent(&mut self, caller: Option<Cow<'a, str>>) -> &mut Recording<'a> {
        self.agents.get(caller, |caller| {
            let mut agent = Recording::of_agent("copilot");
            let parent = || self.id.clone().unwrap_or_else(|| "copilot".into());
            agent.metadata.parent = caller.as_ref().map(|_| parent());
            agent.metadata.id = caller.as_deref().map(str::to_owned).or_else(|| self.id.clone());
            agent
        })
    }

    fn line(&mut self, line: &Members<'a>) {
        let data = line.object("data");
        let kind = line.name("type").unwrap_or_default();
        if kind == "session.start" {
            self.id = data.name("sessionId").map(Cow::into_owned);
        }
        let caller = data.name("parentToolCallId").or_else(|| match &*kind {
            "subagent.started" => data.name("toolCallId"),
            _ => None,
        });
        let agent = self.agent(caller.clone());
        let model = ["selectedModel", "newModel", "model"].into_iter().find_map(|key| data.name(key));
        agent.model(model);
        agent.time(line.time("timestamp"));
        match &*kind {
            "user.message" => {
                let is_users = data.name("source").is_none_or(|source| source == "user");
                agent.say(if is_users { Actor::User } else { Actor::Environment }, data.message("content"));
            }
            "system.message" => agent.say(Actor::System, data.message("content")),
            "assistant.message" => {
                agent.say(Actor::Agent, data.message("content"));
                let output_tokens = data.count("outputTokens");
                agent.set_usage(Some(Usage { output_tokens, ..Usage::default() }));
                for request in data.objects("toolRequests") {
                    self.call(caller.as_ref(), &request, request.name("name"));
                }
                self.agent(caller).turn(None);
            }
            "tool.execution_start" | "tool.user_requested" => {
                self.call(caller.as_ref(), &data, data.name("toolName"));
            }
            "tool.execution_complete" => {
                let call = data.name("toolCallId").and_then(|id| self.calls.get(&id).cloned());
                let (caller, number) = call.map_or((caller, None), |(caller, number)| (caller, Some(number)));
                self.agent(caller).answer_to(number, answer(&data));
            }
            "permission.completed"
                if data.object("result").name("kind").is_some_and(|kind| kind.starts_with("denied")) =>
            {
                self.denied.extend(data.name("toolCallId"));
            }
            "subagent.started" => {
                agent.metadata.agent = data.name("agentName").map(|name| name.as_ref().into());
            }
            "session.error" => {
                agent.metadata.termination = data.name("errorType").map(Cow::into_owned);
                agent.say(Actor::Environment, data.message("message"));
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
            _ => agent.pass_over("lines of other types", 1),
        }
    }

    /// Adds a call, unless it was requested before.
    fn call(&mut self, caller: Option<&Cow<'a, str>>, data: &Members<'a>, name: Option<Cow<'a, str>>) {
        let id = data.name("toolCallId");
        if !id.as_ref().is_some_and(|id| self.calls.contains_key(id)) {
            let number = self.agent(caller.cloned()).call(id.clone(), name, data.get("arguments"));
            self.calls.extend(id.map(|id| (id, (caller.cloned(), number))));
        }
    }
}

/// Returns the answer of an execution. The answer of a command ends with its exit code, which may also be next to it.
fn answer<'a>(data: &Members<'a>) -> Answer<'a> {
    let error = data.present("error");
    let code = error.and_then(|error| error.member("code")).and_then(common::name);
    let result = data.present("result");
    let text = result.map(|result| result.member("content").unwrap_or(result));
    let text =
        text.or_else(|| error.map(|error| error.member("message").unwrap_or(error))).and_then(words::result);
    let metrics = data.object("toolTelemetry").object("metrics");
    let recorded = data.object("shellExecution").get("exitCode").or_else(|| metrics.get("exit_code"));
    let recorded = recorded.and_then(is_failure_code);
    let outcome = match data.flag("success") {
        _ if matches!(code.as_deref(), Some("rejected" | "denied")) => Outcome::REFUSED,
        Some(false) => Outcome::flag(true),
        success => match recorded.or_else(|| exit_code(text.as_ref()?.text())) {
            Some(failed) => Outcome::exit_code(failed),
            None => success.map_or(Outcome::UNMARKED, |_| Outcome::flag(false)),
        },
    };
    outcome.answer(text.into())
}

/// Returns whether the exit code in the last line of a text is not 0. `None` if it has none.
fn exit_code(text: Text<'_>) -> Option<bool> {
    let text = text.to_str();
    let last = common::trim(&text).rsplit('\n').next()?.strip_suffix('>')?;
    let (of_shell, code) = last.rsplit_once(" with exit code ")?;
    let is_known = of_shell == "<exited" || of_shell.starts_with("<shellId: ");
    words::exit_line(code, "").filter(|_| is_known)
}
