//! Event logs of OpenHands: actions and the observations that name them as their cause.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::codex_text::is_failure_code;
use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::OpenHands,
    about: "event logs of OpenHands: a list, or an object with the list under `trajectory`",
    signature: &[Shape::Document(
        "events with `id` and `source`, some with `action` and some with `observation`",
        are_events,
    )],
    reader: Reader::Fallible(read),
};

fn are_events(document: &Document<'_>) -> bool {
    let mut seen = Seen::default();
    match document {
        Document::List(items) => {
            items.iter().any(|event| !matches!(seen.look(&mut event.json()), Ok(ControlFlow::Continue(()))));
        }
        Document::Object(members) => match members.get("trajectory") {
            Some(events) if events.kind() == Kind::List => {
                let _ = events.json().list_until(|event| seen.look(event));
            }
            _ => return false,
        },
        Document::Lines(lines) => return lines.iter().any(|line| is_event(*line)),
    }
    !seen.other && (seen.is_sure || seen.kinds == [true; 2])
}

/// Returns true if a value is an event that no other format has.
pub(super) fn is_event(event: Raw<'_>) -> bool {
    let mut seen = Seen::default();
    seen.look(&mut event.json()).is_ok() && seen.is_sure
}

/// A summary of the events.
#[derive(Debug, Default)]
struct Seen {
    count: usize,
    /// True if there is an action, and an observation.
    kinds: [bool; 2],
    /// True if one has a time and all members of an action or an observation.
    is_sure: bool,
    /// True if there is something that is not an event.
    other: bool,
}

impl Seen {
    /// Checks the next event; breaks if no more are needed.
    fn look(&mut self, json: &mut Json<'_>) -> Read<ControlFlow<()>> {
        let (mut has_id, mut has_source, mut has_time) = (false, false, false);
        let (mut action, mut observation) = (false, false);
        let (mut arguments, mut content) = (false, false);
        wire::object(json, |key, value| {
            match key {
                b"id" => has_id = true,
                b"source" => has_source = true,
                b"timestamp" => has_time = true,
                b"args" => arguments = value.kind()? == Kind::Object,
                b"content" => content = true,
                b"action" => action = value.kind()? == Kind::String,
                b"observation" => observation = value.kind()? == Kind::String,
                _ => {}
            }
            Ok(())
        })?;
        self.other = !(has_id && has_source);
        self.kinds[0] |= action;
        self.kinds[1] |= observation;
        self.is_sure |= has_id && has_source && has_time && (action && arguments || observation && content);
        self.count += 1;
        let decided = self.kinds == [true; 2] && self.count >= words::DECISIVE_ITEMS;
        Ok(if self.other || decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut log = Log::default();
    match document {
        Document::List(items) => {
            for event in items {
                log.read(&mut event.json())?;
            }
        }
        Document::Object(members) => {
            if let Some(events) = members.get("trajectory") {
                events.json().list(|json| log.read(json))?;
            }
        }
        Document::Lines(lines) => {
            for event in lines {
                log.read_line(&mut event.json())?;
            }
        }
    }
    log.end(runs, Metadata::default(), None);
    Ok(())
}

/// Actions that are not tool calls.
const NO_CALLS: [&str; 7] =
    ["message", "system", "recall", "change_agent_state", "condensation", "condensation_request", "null"];

/// Members of arguments that are not arguments.
const NO_ARGUMENTS: [&[u8]; 5] =
    [b"security_risk", b"confirmation_state", b"hidden", b"blocking", b"is_static"];

#[derive(Debug, Default)]
struct Event<'a> {
    id: Option<Cow<'a, str>>,
    source: Cow<'a, str>,
    action: Option<Cow<'a, str>>,
    arguments: Option<Raw<'a>>,
    observation: Option<Cow<'a, str>>,
    content: Option<TextCow<'a>>,
    cause: Option<Cow<'a, str>>,
    success: Option<bool>,
    exit_code: Option<Raw<'a>>,
    time: Option<u64>,
    tool: Option<Cow<'a, str>>,
    /// The call as the model wrote it, with its response.
    written: Option<Raw<'a>>,
    /// The model's response with the call.
    response: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    usage: Option<Usage>,
}

impl<'a> Event<'a> {
    /// Reads an event into an empty one, or returns false if it is not one.
    fn read(&mut self, json: &mut Json<'a>) -> Read<bool> {
        let event = self;
        let (mut has_id, mut has_source) = (false, false);
        wire::object(json, |key, value| {
            match key {
                b"id" => (event.id, has_id) = (wire::ident(value)?, true),
                b"source" => (event.source, has_source) = (wire::name(value)?.unwrap_or_default(), true),
                b"action" => event.action = wire::text(value)?.map(|action| action.to_str()),
                b"args" => event.arguments = Some(value.raw()?),
                b"observation" => event.observation = wire::text(value)?.map(|kind| kind.to_str()),
                b"content" => event.content = wire::result(value)?,
                b"cause" => event.cause = wire::ident(value)?,
                b"success" => event.success = wire::boolean(value)?,
                b"extras" => event.extras(value)?,
                b"timestamp" => event.time = wire::time_or_utc(value)?,
                b"tool_call_metadata" => {
                    let written = value.raw()?;
                    event.written = Some(written);
                    event.tool_call_metadata(&mut written.json())?;
                }
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(has_id && has_source)
    }

    /// The exit code is among the extras, or in their metadata.
    fn extras(&mut self, json: &mut Json<'a>) -> Read<()> {
        self.exit_code = None;
        wire::object(json, |key, value| {
            match key {
                b"exit_code" => self.exit_code = wire::value(value)?.or(self.exit_code),
                b"metadata" => wire::member(value, b"exit_code", |code| {
                    self.exit_code = Some(code.raw()?);
                    Ok(())
                })?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(())
    }

    fn tool_call_metadata(&mut self, json: &mut Json<'a>) -> Read<()> {
        wire::object(json, |key, value| {
            match key {
                b"function_name" => self.tool = wire::name(value)?,
                b"model_response" => {
                    wire::object(value, |key, value| {
                        match key {
                            b"id" => self.response = wire::name(value)?,
                            b"model" => self.model = wire::name(value)?,
                            b"usage" => self.usage = tokens::read(value)?,
                            _ => value.skip()?,
                        }
                        Ok(())
                    })?;
                }
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(())
    }

    fn is_call(&self) -> bool {
        self.source == "agent" && self.action.as_deref().is_some_and(|action| !NO_CALLS.contains(&action))
    }

    fn outcome(&self) -> Outcome {
        let observation = self.observation.as_deref().unwrap_or_default();
        if observation == "user_rejected" {
            return Outcome::unknown(UnknownReason::Refused, Provenance::Flag);
        }
        if self.exit_code.and_then(Raw::integer) == Some(-1) {
            return Outcome::unknown(UnknownReason::Running, Provenance::ExitCode);
        }
        if let Some(success) = self.success {
            return Outcome::flag(!success);
        }
        if observation == "error" {
            return Outcome::flag(true);
        }
        self.exit_code.and_then(is_failure_code).map_or(Outcome::UNMARKED, Outcome::exit_code)
    }
}

/// A log that is being read.
#[derive(Debug, Default)]
pub(super) struct Log<'a> {
    steps: Assembler<'a>,
    /// Ids of calls with or without an observation.
    calls: BTreeSet<Cow<'a, str>>,
    /// The turns of the model's responses.
    turns: BTreeMap<Cow<'a, str>, u64>,
    /// The next turn.
    turn: u64,
    model: Option<Cow<'a, str>>,
    uncaused: u64,
    /// Number of lines that are not events.
    others: u64,
}

impl<'a> Log<'a> {
    /// Emits the trace. `metadata` comes from outside the events.
    pub(super) fn end(mut self, runs: &mut Runs<'_>, metadata: Metadata, reward: Option<f64>) {
        let model = metadata.model.or(self.model.map(|model| model.as_ref().into()));
        let metadata = Metadata { agent: Some("openhands".into()), model, ..metadata };
        runs.pass_over("observations that no call caused", self.uncaused);
        runs.pass_over("lines of other types", self.others);
        runs.give_unrouted(&mut self.steps, metadata, reward);
    }

    /// Reads a line, which may not be an event.
    pub(super) fn read_line(&mut self, json: &mut Json<'a>) -> Read<()> {
        let mut event = Event::default();
        if event.read(json)? {
            self.event(&mut event);
        } else {
            self.others += 1;
        }
        Ok(())
    }

    fn read(&mut self, json: &mut Json<'a>) -> Read<()> {
        let start = json.offset();
        let mut event = Event::default();
        if !event.read(json)? {
            return Err(words::unfit(start, "events of OpenHands"));
        }
        self.event(&mut event);
        Ok(())
    }

    /// Reads a pair of an action and its observation, as the first versions kept them.
    pub(super) fn pair(&mut self, pair: &[Raw<'a>]) -> Read<()> {
        let (mut action, mut observation) = (Event::default(), Event::default());
        for (event, raw) in [&mut action, &mut observation].into_iter().zip(pair) {
            event.read(&mut raw.json())?;
        }
        if action.source.is_empty() {
            action.source = "agent".into();
        }
        let is_empty = matches!(observation.observation.as_deref(), None | Some("null"));
        if action.is_call() {
            let number = self.call(&mut action);
            if !is_empty {
                let answer = observation.outcome().answer(observation.content.take().into());
                self.steps.answer_call(number, answer);
            }
        } else {
            self.event(&mut action);
            if !is_empty {
                self.event(&mut observation);
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &mut Event<'a>) {
        if event.is_call() {
            self.call(event);
            return;
        }
        if event.action.as_deref() == Some("message") {
            let text = event.arguments.and_then(|arguments| arguments.member("content"));
            if let Some(text) = text.and_then(words::message) {
                let actor = match &*event.source {
                    "agent" => Actor::Agent,
                    "user" => Actor::User,
                    _ => Actor::Environment,
                };
                self.steps.message_at(actor, self.turn, text, event.time);
            }
        }
        if event.observation.is_some() {
            match &event.cause {
                Some(cause) if self.calls.contains(cause) => {
                    let answer = event.outcome().answer(event.content.take().into());
                    self.steps.answer(self.turn, event.cause.take(), answer);
                }
                // The call was recorded elsewhere, but its answer repeats it.
                _ if event.cause.is_some() && event.tool.is_some() && event.written.is_some() => {
                    self.repeated_call(event);
                }
                // A call that could not be read has no event of its own.
                _ if event.observation.as_deref() == Some("error") => {
                    let answer = event.outcome().answer(event.content.take().into());
                    self.steps.answer(self.turn, None, answer);
                }
                _ => self.uncaused += 1,
            }
        }
    }

    /// Reads a call from the response that its answer repeats.
    fn repeated_call(&mut self, event: &mut Event<'a>) {
        let mut call = Call::new(self.turn, event.cause.take(), event.tool.take().unwrap_or_default());
        call.arguments = event.written.and_then(written_arguments).map_or(Content::Absent, common::arguments);
        call.usage = event.usage.map(Box::new);
        self.model = self.model.take().or(event.model.take());
        self.turn += 1;
        let number = self.steps.call(call);
        self.steps.answer_call(number, event.outcome().answer(event.content.take().into()));
    }

    fn call(&mut self, event: &mut Event<'a>) -> CallNumber {
        let turn = match event.response.take() {
            Some(response) => *self.turns.entry(response).or_insert(self.turn),
            None => self.turn,
        };
        self.turn = self.turn.max(turn + 1);
        self.model = self.model.take().or(event.model.take());
        let action = event.action.take().unwrap_or_default();
        let is_finish = action == "finish";
        // The thought is the argument of thinking.
        let arguments = event.arguments.map(|arguments| arguments_of(arguments, action == "think"));
        let mut call = Call::new(turn, event.id.clone(), event.tool.take().unwrap_or(action));
        call.arguments = arguments.unwrap_or_default();
        call.time = event.time;
        call.usage = event.usage.map(Box::new);
        let number = self.steps.call(call);
        // A finish has no answer.
        if let Some(id) = event.id.take().filter(|_| !is_finish) {
            self.calls.insert(id);
        }
        number
    }
}

/// Returns the arguments of the call that this metadata names, as the model wrote them.
fn written_arguments(metadata: Raw<'_>) -> Option<Raw<'_>> {
    let id = metadata.member("tool_call_id")?.string()?;
    let choices = metadata.member("model_response")?.member("choices")?.items()?;
    let calls =
        choices.into_iter().filter_map(|choice| choice.member("message")?.member("tool_calls")?.items());
    let mut calls = calls.flatten();
    let call = calls.find(|call| call.member("id").and_then(Raw::string).as_ref() == Some(&id))?;
    call.member("function")?.member("arguments")
}

/// Returns the arguments without other members.
fn arguments_of(value: Raw<'_>, with_thought: bool) -> Content<Arguments<'_>> {
    common::arguments_without(value, |key| NO_ARGUMENTS.contains(&key) || !with_thought && key == b"thought")
}
