//! OpenHands Agent SDK (V1) event logs: actions and observations that share a `tool_call_id`.

use std::collections::BTreeMap;

use super::openhands::of_shell;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Items(EVENT)], reader: Reader::Document(read) };

/// An event. The first versions wrote its class name with the module, which `*` matches.
pub(super) const EVENT: Mark = All(&[
    Is(Kind::String, &["id", "source"]),
    Says(
        "kind",
        &[
            "*ActionEvent",
            "*ObservationEvent",
            "*AgentErrorEvent",
            "*UserRejectObservation",
            "*MessageEvent",
            "*SystemPromptEvent",
            "*ACPToolCallEvent",
            "*Condensation",
            "*CondensationRequest",
            "*CondensationSummaryEvent",
            "*ConversationErrorEvent",
            "*ConversationStateUpdateEvent",
            "*HookExecutionEvent",
            "*InterruptEvent",
            "*LLMCompletionLogEvent",
            "*PauseEvent",
            "*ResumeTranscriptEvent",
            "*StreamingDeltaEvent",
            "*TokenEvent",
        ],
    ),
]);

fn short(kind: &str) -> &str {
    kind.rsplit('.').next().unwrap_or(kind)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut conversation = Conversation::new();
    document.items().iter().for_each(|event| conversation.read(*event));
    conversation.end(runs, Metadata::default(), None);
}

#[derive(Default)]
pub(super) struct Conversation<'a> {
    run: Recording<'a>,
    /// The turns of the model's responses, by response id.
    turns: BTreeMap<Cow<'a, str>, u64>,
    turn: u64,
    /// Calls that agents report several times over the Agent Client Protocol, by id.
    reported: BTreeMap<Cow<'a, str>, CallNumber>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new() -> Self {
        Self { run: Recording::of_agent("openhands"), ..Self::default() }
    }

    /// Emits the run. `metadata` comes from outside the events, and takes precedence over them.
    pub(super) fn end(mut self, runs: &mut Runs<'_>, metadata: Metadata, reward: Option<f64>) {
        let own = self.run.metadata;
        self.run.metadata = Metadata {
            id: metadata.id.or(own.id),
            agent: own.agent,
            model: metadata.model.or(own.model),
            termination: metadata.termination.or(own.termination),
            ..metadata
        };
        self.run.reward = reward;
        self.run.give(runs);
    }

    pub(super) fn read(&mut self, event: Raw<'a>) {
        if event.kind() != Kind::Object {
            return self.run.pass_over("events of other kinds", 1);
        }
        let event = Members::from(event);
        let kind = event.name("kind").unwrap_or_default();
        self.run.at(self.turn, event.time("timestamp"));
        match short(&kind) {
            "ActionEvent" => self.action(&event),
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
                self.answer(&event, Outcome::REFUSED.answer(reason.into()));
            }
            "MessageEvent" => {
                self.message(&event, event.object("llm_message").message("content"));
            }
            "SystemPromptEvent" => {
                self.run.say(Actor::System, event.object("system_prompt").message("text"));
            }
            "ACPToolCallEvent" => self.reported_call(&event),
            "ConversationErrorEvent" => {
                self.run.metadata.termination = event.name("code").map(Cow::into_owned);
                self.run.say(Actor::Environment, event.message("detail"));
            }
            "ConversationStateUpdateEvent" => {
                if let Some("execution_status" | "agent_status") = event.name("key").as_deref() {
                    self.run.metadata.termination = event.name("value").map(Cow::into_owned);
                }
            }
            "LLMCompletionLogEvent" => self.run.model(event.name("model_name")),
            // Not an event, but the state of the conversation, which is stored next to the events.
            "" if event.has("agent") => {
                let model = event.object("agent").object("llm").name("model");
                self.run.metadata.model = model.map(|model| model.as_ref().into());
                self.run.metadata.id = event.name("id").map(Cow::into_owned);
                let status = event.name("execution_status").or_else(|| event.name("agent_status"));
                self.run.metadata.termination = status.map(Cow::into_owned);
            }
            _ => self.run.pass_over("events of other kinds", 1),
        }
    }

    /// Begins a turn for an event, or continues the turn of the response that it belongs to.
    fn begin_turn(&mut self, event: &Members<'a>) {
        let response = event.name("llm_response_id");
        let turn = response.map_or(self.turn, |id| *self.turns.entry(id).or_insert(self.turn));
        self.turn = self.turn.max(turn + 1);
        self.run.at(turn, event.time("timestamp"));
    }

    fn action(&mut self, event: &Members<'a>) {
        self.begin_turn(event);
        self.run.say(Actor::Agent, event.message("thought"));
        let id = event.name("tool_call_id").or_else(|| event.name("id"));
        let written = event.get("tool_call");
        let written = written.map(|call| call.member("function").unwrap_or(call));
        let named = || written.and_then(|call| call.member("name")).and_then(common::name);
        // If the action could not be built, use the arguments as the model wrote them.
        let arguments = match event.get("action").filter(|action| action.kind() == Kind::Object) {
            Some(action) => arguments_of(action),
            None => {
                written.and_then(|call| call.member("arguments")).map_or(Content::Absent, common::arguments)
            }
        };
        let name = event.name("tool_name").or_else(named).unwrap_or_default();
        self.run.add(Call::new(0, id, name).with(arguments));
    }

    fn answer(&mut self, event: &Members<'a>, answer: Answer<'a>) {
        let id = event.name("tool_call_id").or_else(|| event.name("action_id"));
        self.run.answer_with(id, answer);
    }

    fn message(&mut self, event: &Members<'a>, text: Option<TextCow<'a>>) {
        let actor = words::actor_of(&event.name("source").unwrap_or_default());
        if actor == Actor::Agent {
            self.begin_turn(event);
        }
        self.run.say(actor, text);
    }

    /// Adds or updates a call that is reported at its start and at every change.
    fn reported_call(&mut self, event: &Members<'a>) {
        let known = event.name("tool_call_id").and_then(|id| self.reported.get(&id).copied());
        let number = known.unwrap_or_else(|| {
            self.begin_turn(event);
            let name = event.name("title").or_else(|| event.name("tool_kind"));
            let number = self.run.call(event.name("tool_call_id"), name, None);
            if let Some(id) = event.name("tool_call_id") {
                self.reported.insert(id, number);
            }
            number
        });
        if let Some(input) = event.present("raw_input")
            && let Some(call) = self.run.call_mut(number)
        {
            call.arguments = common::arguments(input);
        }
        let failed = event.flag("is_error").filter(|failed| *failed).map(Outcome::flag);
        let is_over = |outcome: &Outcome| outcome.status != Status::Unknown;
        let Some(outcome) = failed.or_else(|| event.outcome("status").filter(is_over)) else { return };
        let present = |key: &str| event.present(key);
        let text = present("raw_output").or_else(|| present("content")).and_then(words::result);
        self.run.answer_call(number, text, outcome);
    }
}

/// Returns the arguments of an action: its members without the class name, or the `data` of an MCP tool.
fn arguments_of(action: Raw<'_>) -> Content<Arguments<'_>> {
    if let Some(data) = action.member("data").filter(|data| data.kind() == Kind::Object) {
        return common::arguments(data);
    }
    common::arguments_without(action, |key| key == b"kind")
}

fn answer_of(observation: Raw<'_>) -> Answer<'_> {
    let members = Members::from(observation);
    let present = |key: &str| members.present(key);
    let full = |key: &str| {
        let value = present(key).filter(|value| value.kind() != Kind::Bool)?;
        words::result(value).filter(|text| !wire::is_blank(text.text()))
    };
    // The first versions had `output` and `error` instead of `content` and `is_error`.
    let error = present("error").and_then(Raw::string).filter(|error| !error.trim().is_empty());
    let text: Option<TextCow<'_>> = ["content", "output", "error", "message"]
        .into_iter()
        .find_map(full)
        .or_else(|| match present("content") {
            Some(content) => words::result(content),
            None if present("output").is_some() => Some("".into()),
            None => words::result(observation),
        });
    let metadata = members.object("metadata");
    let exit_code = present("exit_code").or_else(|| metadata.present("exit_code"));
    let stated = of_shell(exit_code.and_then(Raw::integer), members.name("command").as_deref(), || {
        [text.clone(), metadata.result("suffix")]
    });
    let flag = present("is_error").or_else(|| present("error")).and_then(Raw::boolean);
    let outcome = match (flag, exit_code, stated) {
        (Some(true), ..) => Outcome::flag(true),
        _ if error.is_some() => Outcome::flag(true),
        (.., Some(stated)) => stated,
        (_, Some(code), _) if is_failure_code(code).is_some() => {
            Outcome::exit_code(is_failure_code(code) == Some(true))
        }
        (Some(false), ..) => Outcome::flag(false),
        _ => Outcome::UNMARKED,
    };
    outcome.answer(text.into())
}
