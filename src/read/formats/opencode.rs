//! Sessions exported by OpenCode: one document of messages and their parts. A tool part is a call with its result.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use super::codex_text::is_failure_code;
use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::OpenCode,
    about: "sessions exported by OpenCode",
    signature: &[Shape::Object(All(&[
        In("info", &Is(Kind::String, &["id"])),
        Holds("messages", &All(&[Is(Kind::Object, &["info"]), Is(Kind::List, &["parts"])])),
    ]))],
    reader: Reader::Fallible(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let mut session = Session::new(members);
    if let Some(messages) = members.get("messages") {
        let read = messages.json().list(|json| session.message(json));
        read.inspect_err(|_| session.pass_over(runs))?;
    }
    session.end(runs);
    Ok(())
}

/// A session that is being read.
struct Session<'a> {
    steps: Assembler<'a>,
    metadata: Metadata,
    turn: u64,
    no_objects: u64,
}

impl<'a> Session<'a> {
    fn new(members: &Members<'a>) -> Self {
        Self { steps: Assembler::default(), metadata: metadata(members), turn: 0, no_objects: 0 }
    }

    fn message(&mut self, json: &mut Json<'a>) -> Read<()> {
        self.no_objects += u64::from(json.kind()? != Kind::Object);
        message(json, self.turn, &mut self.steps, &mut self.metadata)?;
        self.turn += 1;
        Ok(())
    }

    fn pass_over(&self, runs: &mut Runs<'_>) {
        runs.pass_over("messages that are no objects", self.no_objects);
    }

    /// Emits the trace.
    fn end(mut self, runs: &mut Runs<'_>) {
        self.pass_over(runs);
        runs.give_unrouted(&mut self.steps, self.metadata, None);
    }
}

fn metadata(members: &Members<'_>) -> Metadata {
    let name = |key: &str| members.get("info")?.member(key).and_then(common::name).map(Cow::into_owned);
    Metadata {
        id: name("id"),
        parent: name("parentID"),
        agent: Some("opencode".into()),
        ..Metadata::default()
    }
}

/// Facts about a message.
#[derive(Debug, Default)]
pub(in crate::read) struct Info<'a> {
    pub(in crate::read) role: Cow<'a, str>,
    pub(in crate::read) model: Option<Cow<'a, str>>,
    /// The reason why the response ended.
    pub(in crate::read) finish: Option<Cow<'a, str>>,
    pub(in crate::read) error: Option<Cow<'a, str>>,
    pub(in crate::read) time: Option<u64>,
    pub(in crate::read) usage: Option<Usage>,
}

impl<'a> Info<'a> {
    pub(in crate::read) fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut info = Self::default();
        wire::object(json, |key, value| {
            match key {
                b"role" => info.role = wire::name(value)?.unwrap_or_default(),
                b"modelID" => info.model = wire::name(value)?,
                b"finish" => info.finish = wire::name(value)?,
                b"error" => info.error = value.raw()?.member("name").and_then(common::name),
                b"time" => info.time = value.raw()?.member("created").and_then(time::of_milliseconds),
                b"tokens" => info.usage = usage(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(info)
    }
}

/// Cached and reasoning tokens are counted separately.
pub(in crate::read) fn usage(json: &mut Json<'_>) -> Read<Option<Usage>> {
    let (mut input, mut read, mut written) = (None, None, None);
    let (mut output, mut reasoning) = (None, None);
    wire::object(json, |key, value| {
        match key {
            b"input" => input = wire::count(value)?,
            b"output" => output = wire::count(value)?,
            b"reasoning" => reasoning = wire::count(value)?,
            b"cache" => {
                (read, written) = (None, None);
                wire::object(value, |key, value| {
                    match key {
                        b"read" => read = wire::count(value)?,
                        b"write" => written = wire::count(value)?,
                        _ => value.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let usage = Usage {
        duration_ns: None,
        input_tokens: tokens::sum([input, read, written]),
        output_tokens: tokens::sum([output, reasoning]),
        cached_tokens: read,
    };
    Ok(Some(usage).filter(|usage| !usage.is_empty()))
}

fn message<'a>(
    json: &mut Json<'a>,
    turn: u64,
    steps: &mut Assembler<'a>,
    metadata: &mut Metadata,
) -> Read<()> {
    let (mut info, mut parts) = (Info::default(), Vec::new());
    wire::object(json, |key, value| {
        match key {
            b"info" => info = Info::read(value)?,
            b"parts" => {
                parts.clear();
                wire::list(value, |part| {
                    parts.push(Part::read(part)?);
                    Ok(())
                })?;
            }
            _ => value.skip()?,
        }
        Ok(())
    })?;
    add(&info, parts, turn, steps, metadata);
    Ok(())
}

/// Adds a message with its parts.
pub(in crate::read) fn add<'a>(
    info: &Info<'a>,
    parts: Vec<Part<'a>>,
    turn: u64,
    steps: &mut Assembler<'a>,
    metadata: &mut Metadata,
) {
    let actor = words::actor_of(&info.role);
    if actor == Actor::Agent {
        if metadata.model.is_none() {
            metadata.model = info.model.as_deref().map(Into::into);
        }
        metadata.termination =
            info.error.as_ref().or(info.finish.as_ref()).map(|end| end.clone().into_owned());
    }
    let texts = parts.iter().filter(|part| part.kind == "text" && !part.is_synthetic);
    let text = wire::joined(texts.filter_map(|part| part.text).map(TextCow::from).collect());
    if let Some(text) = text.filter(|text| !wire::is_blank(text.text())) {
        steps.message_at(actor, turn, text, info.time);
        steps.spent(turn, info.usage);
    }
    for part in parts.into_iter().filter(|part| part.kind == "tool" && actor == Actor::Agent) {
        part.call(turn, info.usage, steps);
    }
}

#[derive(Debug, Default)]
pub(in crate::read) struct Part<'a> {
    pub(in crate::read) kind: Cow<'a, str>,
    text: Option<Text<'a>>,
    is_synthetic: bool,
    id: Option<Cow<'a, str>>,
    tool: Cow<'a, str>,
    state: State<'a>,
}

impl<'a> Part<'a> {
    pub(in crate::read) fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut part = Self::default();
        wire::object(json, |key, value| {
            match key {
                b"type" => part.kind = wire::name(value)?.unwrap_or_default(),
                b"text" => part.text = wire::text(value)?,
                b"synthetic" => part.is_synthetic = wire::boolean(value)? == Some(true),
                b"callID" => part.id = wire::name(value)?,
                b"tool" => part.tool = wire::name(value)?.unwrap_or_default(),
                b"state" => part.state = State::read(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(part)
    }

    fn call(self, turn: u64, usage: Option<Usage>, steps: &mut Assembler<'a>) {
        let mut state = self.state;
        let mut call = Call::new(turn, self.id, self.tool);
        call.arguments = std::mem::take(&mut state.arguments);
        call.time = state.start;
        let duration_ns = state.end.and_then(|end| end.checked_sub(state.start?));
        let usage = Usage { duration_ns, ..usage.unwrap_or_default() };
        call.usage = (!usage.is_empty()).then(|| Box::new(usage));
        let call = steps.call(call);
        if let Some(answer) = state.answer() {
            steps.answer_call(call, answer);
        }
    }
}

#[derive(Debug, Default)]
struct State<'a> {
    status: Cow<'a, str>,
    arguments: Content<Arguments<'a>>,
    output: Option<TextCow<'a>>,
    error: Option<TextCow<'a>>,
    /// Returns true if the exit code of a command is not 0.
    exit: Option<bool>,
    start: Option<u64>,
    end: Option<u64>,
}

impl<'a> State<'a> {
    fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut state = Self::default();
        wire::object(json, |key, value| {
            match key {
                b"status" => state.status = wire::name(value)?.unwrap_or_default(),
                b"input" => state.arguments = common::read_arguments(value)?,
                b"output" => state.output = wire::result(value)?,
                b"error" => state.error = wire::result(value)?,
                b"metadata" => {
                    state.exit = None;
                    wire::member(value, b"exit", |value| {
                        state.exit = is_failure_code(value.raw()?);
                        Ok(())
                    })?;
                }
                b"time" => {
                    (state.start, state.end) = (None, None);
                    wire::object(value, |key, value| {
                        match key {
                            b"start" => state.start = time::of_milliseconds(value.raw()?),
                            b"end" => state.end = time::of_milliseconds(value.raw()?),
                            _ => value.skip()?,
                        }
                        Ok(())
                    })?;
                }
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(state)
    }

    /// `None` if the call has not ended.
    fn answer(self) -> Option<Answer<'a>> {
        let observation = self.output.or(self.error);
        let outcome = match &*self.status {
            "completed" => self.exit.map_or(Outcome::flag(false), Outcome::exit_code),
            "error" => observation.as_ref().map_or(Outcome::flag(true), failure),
            _ => return None,
        };
        Some(outcome.answer(observation.into()))
    }
}

/// Returns the error text of a failed call.
fn failure(observation: &TextCow<'_>) -> Outcome {
    const REJECTED: &str = "The user rejected permission to use this specific tool call";
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(REJECTED));
    let text = observation.text();
    if text.starts_with("Tool execution aborted") {
        Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
    } else if text.may_hold(&FINDER) && text.to_str().contains(REJECTED) {
        Outcome::unknown(UnknownReason::Refused, Provenance::Text)
    } else {
        Outcome::flag(true)
    }
}
