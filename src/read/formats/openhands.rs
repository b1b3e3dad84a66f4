//! Event logs of `OpenHands`: actions and the observations that name them as their cause.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::codex_text::is_failure_code;
use crate::json::{Json, Kind, Raw, Read, spelling_of};
use crate::read::Format;
use crate::read::at_once::{AtOnce, read_items};
use crate::read::common;
use crate::read::document::Document;
use crate::read::format::{DocumentReader, Entry, Reader};
use crate::read::outcome::Outcome;
use crate::read::runs::Runs;
use crate::read::sample::{Members, Sample, Seen as SampleSeen};
use crate::read::tokens;
use crate::read::wire;
use crate::read::words;
use crate::trace::{
    Actor, Arguments, Assembler, Call, Content, Metadata, Provenance, UnknownReason, Usage, Words,
};

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::OpenHands,
    about: "event logs of OpenHands: a list, or an object with the list under `trajectory`",
    decisive: "events with `id` and `source`, some with `action` and some with `observation`",
    reader: Reader::Document(DocumentReader {
        claims,
        read,
        lines_last: false,
        at_once: Some(AtOnce { begins, is_document: true, read: read_at_once }),
    }),
};

fn claims(document: &Document<'_>) -> bool {
    let mut seen = Seen::default();
    match document {
        Document::List(items) => {
            let _ = items.iter().try_for_each(|event| seen.look(&mut event.json()));
        }
        Document::Object(members) => match members.get("trajectory") {
            Some(events) if events.kind() == Kind::List => {
                let _ = events.json().list(|event| seen.look(event));
            }
            _ => return false,
        },
        Document::Lines(_) => return false,
    }
    !seen.other && seen.action && seen.observation
}

/// What there is among the events.
#[derive(Debug, Default)]
struct Seen {
    count: usize,
    action: bool,
    observation: bool,
    /// Something that is no event.
    other: bool,
}

impl Seen {
    fn look(&mut self, json: &mut Json<'_>) -> Read<()> {
        let (mut has_id, mut has_source) = (false, false);
        let (mut action, mut observation) = (false, false);
        wire::object(json, |key, value| {
            match key {
                b"id" => has_id = true,
                b"source" => has_source = true,
                b"action" => action = value.kind()? == Kind::String,
                b"observation" => observation = value.kind()? == Kind::String,
                _ => {}
            }
            Ok(())
        })?;
        self.other = !(has_id && has_source);
        self.action |= action;
        self.observation |= observation;
        self.count += 1;
        let decided = self.action && self.observation && self.count >= words::DECISIVE_ITEMS;
        if self.other || decided { Err(words::enough()) } else { Ok(()) }
    }
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let mut log = Log::new();
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
        Document::Lines(_) => return Ok(()),
    }
    log.end(runs);
    Ok(())
}

fn begins(sample: &Sample<'_>) -> bool {
    let is_event = |part: &Members<'_>| {
        part.has("id") && part.has("source") && (part.has("action") || part.has("observation"))
    };
    matches!(sample.seen, SampleSeen::List { .. }) && sample.parts().first().is_some_and(is_event)
}

fn read_at_once(bytes: &[u8], runs: &mut Runs<'_>) -> bool {
    let mut log = Log::new();
    let is_read = read_items(bytes, (Format::OpenHands, claims), |json| log.read(json));
    if is_read {
        log.end(runs);
    }
    is_read
}

/// What is done that is no call of a tool.
const NO_CALLS: [&str; 7] =
    ["message", "system", "recall", "change_agent_state", "condensation", "condensation_request", "null"];

/// What stands among the arguments of a call without being one.
const NO_ARGUMENTS: [&[u8]; 5] =
    [b"security_risk", b"confirmation_state", b"hidden", b"blocking", b"is_static"];

#[derive(Debug, Default)]
struct Event<'a> {
    id: Option<Cow<'a, str>>,
    source: Cow<'a, str>,
    action: Option<Cow<'a, str>>,
    arguments: Option<Raw<'a>>,
    observation: Option<Cow<'a, str>>,
    content: Option<Words<'a>>,
    cause: Option<Cow<'a, str>>,
    success: Option<bool>,
    exit_code: Option<Raw<'a>>,
    time: Option<u64>,
    tool: Option<Cow<'a, str>>,
    /// The response of the model that the call is of.
    response: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    usage: Option<Usage>,
}

impl<'a> Event<'a> {
    /// Reads an event into one of which nothing is known yet; `false`: it is none.
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
                b"tool_call_metadata" => event.tool_call_metadata(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(has_id && has_source)
    }

    fn extras(&mut self, json: &mut Json<'a>) -> Read<()> {
        self.exit_code = None;
        wire::member(json, b"metadata", |metadata| {
            self.exit_code = None;
            wire::member(metadata, b"exit_code", |code| {
                self.exit_code = Some(code.raw()?);
                Ok(())
            })
        })
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

/// The log in the middle of being read.
#[derive(Debug, Default)]
struct Log<'a> {
    steps: Assembler<'a>,
    /// The ids of the calls that wait for an observation, or had one.
    calls: BTreeSet<Cow<'a, str>>,
    /// The turns of the responses of the model.
    turns: BTreeMap<Cow<'a, str>, u64>,
    /// The next turn.
    turn: u64,
    model: Option<Cow<'a, str>>,
    uncaused: u64,
}

impl<'a> Log<'a> {
    fn new() -> Self {
        let mut log = Self::default();
        log.steps.begin(true);
        log
    }

    /// Hands the trace on.
    fn end(mut self, runs: &mut Runs<'_>) {
        let model = self.model.map(|model| model.as_ref().into());
        let metadata = Metadata { agent: Some("openhands".into()), model, ..Metadata::default() };
        runs.pass_over("observations that no call caused", self.uncaused);
        runs.give_unrouted(&mut self.steps, metadata, None);
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

    fn event(&mut self, event: &mut Event<'a>) {
        if event.is_call() {
            return self.call(event);
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
                _ => self.uncaused += 1,
            }
        }
    }

    fn call(&mut self, event: &mut Event<'a>) {
        let turn = match event.response.take() {
            Some(response) => *self.turns.entry(response).or_insert(self.turn),
            None => self.turn,
        };
        self.turn = self.turn.max(turn + 1);
        self.model = self.model.take().or(event.model.take());
        let action = event.action.take().unwrap_or_default();
        let is_finish = action == "finish";
        // What is thought is the argument of thinking.
        let arguments = event.arguments.map(|arguments| arguments_of(arguments, action == "think"));
        let mut call = Call::new(turn, event.id.clone(), event.tool.take().unwrap_or(action));
        call.arguments = arguments.unwrap_or_default();
        call.time = event.time;
        call.usage = event.usage.map(Box::new);
        self.steps.call(call);
        // Nothing answers a finish.
        if let Some(id) = event.id.take().filter(|_| !is_finish) {
            self.calls.insert(id);
        }
    }
}

/// The arguments, without what is none.
fn arguments_of(value: Raw<'_>, with_thought: bool) -> Content<Arguments<'_>> {
    if value.kind() != Kind::Object {
        return common::arguments(value);
    }
    let mut kept = String::with_capacity(value.bytes().len());
    kept.push('{');
    let walked = value.json().object(|key, value| {
        if !NO_ARGUMENTS.contains(&key) && (with_thought || key != b"thought") {
            if kept.len() > 1 {
                kept.push(',');
            }
            kept.push('"');
            kept.push_str(&spelling_of(&String::from_utf8_lossy(key)));
            kept.push_str("\":");
            kept.push_str(&value.raw()?.spelling());
        }
        Ok(())
    });
    kept.push('}');
    match walked {
        Ok(()) => common::arguments_of_text(Cow::Owned(kept)),
        Err(_) => Content::Absent,
    }
}
