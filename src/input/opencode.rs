//! Sessions exported by `OpenCode`: one document of messages and their parts; a part of a tool is a call and its result.

use std::borrow::Cow;

use super::Format;
use super::codex_text::is_failure_code;
use super::common;
use super::format::{DocumentReader, Entry, Reader};
use super::outcome::Outcome;
use super::runs::Runs;
use super::sample::{Document, Members};
use super::time;
use super::tokens;
use super::words;
use crate::json::{Json, Kind, Raw, Read};
use crate::trace::{
    Actor, Answer, Assembler, Call, Content, Ending, Metadata, Provenance, UnknownReason, Usage, Words,
};

pub(super) const FORMAT: Entry = Entry {
    format: Format::OpenCode,
    about: "sessions exported by OpenCode",
    decisive: "an object with `info` that has an `id`, and `messages` that have `info` and `parts`",
    reader: Reader::Document(DocumentReader { claims, read, lines_last: false }),
};

fn claims(document: &Document<'_>) -> bool {
    let Document::Object(members) = document else { return false };
    let id = members.get("info").and_then(|info| info.member("id"));
    if id.is_none_or(|id| id.kind() != Kind::String) || !members.is("messages", Kind::List) {
        return false;
    }
    let mut any = false;
    let walked = members.get("messages").map(|messages| {
        messages.json().list(|message| {
            if !any && message.kind()? == Kind::Object {
                let (mut has_info, mut has_parts) = (false, false);
                message.object(|key, value| {
                    match key {
                        b"info" => has_info = value.kind()? == Kind::Object,
                        b"parts" => has_parts = value.kind()? == Kind::List,
                        _ => {}
                    }
                    Ok(())
                })?;
                any = has_info && has_parts;
            }
            Ok(())
        })
    });
    walked.is_some_and(|walked| walked.is_ok()) && any
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let mut steps = Assembler::default();
    steps.begin(true);
    let mut metadata = metadata(members);
    if let Some(messages) = members.get("messages") {
        let mut turn = 0;
        messages.json().list(|json| {
            message(json, turn, &mut steps, &mut metadata)?;
            turn += 1;
            Ok(())
        })?;
    }
    runs.give(&mut steps, Ending::new(metadata, None), &None.into());
    Ok(())
}

fn metadata(members: &Members<'_>) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.agent = Some("opencode".into());
    let name = |key: &str| members.get("info")?.member(key).and_then(common::name).map(Cow::into_owned);
    (metadata.id, metadata.parent) = (name("id"), name("parentID"));
    metadata
}

/// What is known of a message.
#[derive(Debug, Default)]
struct Info<'a> {
    role: Cow<'a, str>,
    model: Option<Cow<'a, str>>,
    /// Why the response ended.
    finish: Option<Cow<'a, str>>,
    error: Option<Cow<'a, str>>,
    time: Option<u64>,
    usage: Option<Usage>,
}

impl<'a> Info<'a> {
    fn read(value: Raw<'a>) -> Read<Self> {
        let mut info = Self::default();
        if value.kind() != Kind::Object {
            return Ok(info);
        }
        value.json().object(|key, value| {
            match key {
                b"role" => info.role = value.raw()?.string().unwrap_or_default(),
                b"modelID" => info.model = common::name(value.raw()?),
                b"finish" => info.finish = common::name(value.raw()?),
                b"error" => info.error = value.raw()?.member("name").and_then(common::name),
                b"time" => info.time = value.raw()?.member("created").and_then(time::of_milliseconds),
                b"tokens" => info.usage = usage(value.raw()?),
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(info)
    }
}

/// Tokens are counted apart: what was cached beside what was not, what was thought beside what was said.
fn usage(tokens: Raw<'_>) -> Option<Usage> {
    let count = |name: &str| tokens.member(name).and_then(tokens::count);
    let cache = tokens.member("cache");
    let cached = |name: &str| cache.and_then(|cache| cache.member(name)).and_then(tokens::count);
    let usage = Usage {
        duration_ns: None,
        input_tokens: tokens::sum([count("input"), cached("read"), cached("write")]),
        output_tokens: tokens::sum([count("output"), count("reasoning")]),
        cached_tokens: cached("read"),
    };
    (!usage.is_empty()).then_some(usage)
}

fn message<'a>(
    json: &mut Json<'a>,
    turn: u64,
    steps: &mut Assembler<'a>,
    metadata: &mut Metadata,
) -> Read<()> {
    if json.kind()? != Kind::Object {
        return Ok(());
    }
    let (mut info, mut parts) = (Info::default(), None);
    json.object(|key, value| {
        match key {
            b"info" => info = Info::read(value.raw()?)?,
            b"parts" => parts = Some(value.raw()?),
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let actor = words::actor_of(&info.role);
    if actor == Actor::Agent {
        if metadata.model.is_none() {
            metadata.model = info.model.as_deref().map(Into::into);
        }
        metadata.termination =
            info.error.as_ref().or(info.finish.as_ref()).map(|end| end.clone().into_owned());
    }
    let Some(parts) = parts.filter(|parts| parts.kind() == Kind::List) else { return Ok(()) };
    let (mut texts, mut tools) = (Vec::new(), Vec::new());
    parts.json().list(|json| {
        if json.kind()? == Kind::Object {
            match Part::read(json)? {
                Part { kind, text: Some(text), is_synthetic: false, .. } if kind == "text" => {
                    texts.push(text);
                }
                part if part.kind == "tool" && actor == Actor::Agent => tools.push(part),
                _ => {}
            }
        }
        Ok(())
    })?;
    let text: Option<Words<'_>> = match texts.as_slice() {
        [] => None,
        [text] => words::message(*text),
        texts => {
            let texts: Vec<_> = texts.iter().filter_map(|text| text.string()).collect();
            Some(texts.join("\n")).filter(|text| !common::is_blank(text)).map(Words::from)
        }
    };
    if let Some(text) = text {
        steps.message_at(actor, turn, text, info.time);
    }
    for tool in tools {
        tool.call(turn, info.usage, steps)?;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Part<'a> {
    kind: Cow<'a, str>,
    text: Option<Raw<'a>>,
    is_synthetic: bool,
    id: Option<Cow<'a, str>>,
    tool: Cow<'a, str>,
    state: Option<Raw<'a>>,
}

impl<'a> Part<'a> {
    fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut part = Self::default();
        json.object(|key, value| {
            match key {
                b"type" => part.kind = value.raw()?.string().unwrap_or_default(),
                b"text" => part.text = Some(value.raw()?).filter(|text| text.kind() == Kind::String),
                b"synthetic" => part.is_synthetic = value.raw()?.boolean().unwrap_or(false),
                b"callID" => part.id = common::name(value.raw()?),
                b"tool" => part.tool = common::name(value.raw()?).unwrap_or_default(),
                b"state" => part.state = Some(value.raw()?),
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(part)
    }

    fn call(self, turn: u64, usage: Option<Usage>, steps: &mut Assembler<'a>) -> Read<()> {
        let state = State::read(self.state)?;
        let mut call = Call::new(turn, self.id, self.tool);
        call.arguments = state.input.map_or(Content::Absent, common::arguments);
        call.time = state.start;
        let duration_ns = state.end.and_then(|end| end.checked_sub(state.start?));
        let usage = Usage { duration_ns, ..usage.unwrap_or_default() };
        call.usage = (!usage.is_empty()).then(|| Box::new(usage));
        let call = steps.call(call);
        if let Some(answer) = state.answer() {
            steps.answer_call(call, answer);
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct State<'a> {
    status: Cow<'a, str>,
    input: Option<Raw<'a>>,
    output: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
    /// Whether the exit code of a command is not 0.
    exit: Option<bool>,
    start: Option<u64>,
    end: Option<u64>,
}

impl<'a> State<'a> {
    fn read(value: Option<Raw<'a>>) -> Read<Self> {
        let mut state = Self::default();
        let Some(value) = value.filter(|value| value.kind() == Kind::Object) else { return Ok(state) };
        value.json().object(|key, value| {
            match key {
                b"status" => state.status = value.raw()?.string().unwrap_or_default(),
                b"input" => state.input = Some(value.raw()?),
                b"output" => state.output = Some(value.raw()?),
                b"error" => state.error = Some(value.raw()?),
                b"metadata" => state.exit = value.raw()?.member("exit").and_then(is_failure_code),
                b"time" => {
                    let time = value.raw()?;
                    let at = |name: &str| time.member(name).and_then(time::of_milliseconds);
                    (state.start, state.end) = (at("start"), at("end"));
                }
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(state)
    }

    /// `None`: the call has not ended.
    fn answer(self) -> Option<Answer<'a>> {
        let observation = self.output.and_then(words::result).or_else(|| self.error.and_then(words::result));
        let outcome = match &*self.status {
            "completed" => self.exit.map_or(Outcome::flag(false), Outcome::exit_code),
            "error" => observation.as_ref().map_or(Outcome::flag(true), failure),
            _ => return None,
        };
        Some(outcome.answer(observation.into()))
    }
}

/// What the text of a call that failed says of the reason.
fn failure(observation: &Words<'_>) -> Outcome {
    const REJECTED: &str = "The user rejected permission to use this specific tool call";
    let text = observation.text();
    if text.starts_with("Tool execution aborted") {
        Outcome::unknown(UnknownReason::Interrupted, Provenance::Text)
    } else if text.may_hold(REJECTED) && text.to_str().contains(REJECTED) {
        Outcome::unknown(UnknownReason::Refused, Provenance::Text)
    } else {
        Outcome::flag(true)
    }
}
