//! Sessions of the Gemini CLI: one document, in which every call carries its result.

use std::borrow::Cow;

use super::Format;
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
    Actor, Assembler, Call, Content, Ending, Metadata, Provenance, UnknownReason, Usage, Words,
};

pub(super) const FORMAT: Entry = Entry {
    format: Format::GeminiCli,
    about: "sessions of the Gemini CLI",
    decisive: "an object with strings `sessionId` and `projectHash`, and a list `messages`",
    reader: Reader::Document(DocumentReader { claims, read, lines_last: false }),
};

fn claims(document: &Document<'_>) -> bool {
    let Document::Object(members) = document else { return false };
    members.is("sessionId", Kind::String)
        && members.is("projectHash", Kind::String)
        && members.is("messages", Kind::List)
}

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let mut steps = Assembler::default();
    steps.begin(true);
    let mut model = None;
    if let Some(messages) = members.get("messages") {
        let mut turn = 0;
        messages.json().list(|json| {
            let message = Message::read(json)?;
            match message.kind.as_deref() {
                Some("user") => message.step(Actor::User, turn, &mut steps)?,
                Some("gemini") => {
                    model = model.take().or_else(|| message.model.clone());
                    message.step(Actor::Agent, turn, &mut steps)?;
                }
                _ => runs.pass_over("messages of neither the user nor the model", 1),
            }
            turn += 1;
            Ok(())
        })?;
    }
    runs.give(&mut steps, Ending::new(metadata(members, model), None), &None.into());
    Ok(())
}

fn metadata(members: &Members<'_>, model: Option<Cow<'_, str>>) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.id = members.name("sessionId").map(Cow::into_owned);
    metadata.agent = Some("gemini-cli".into());
    metadata.model = model.map(|model| model.as_ref().into());
    metadata
}

#[derive(Debug, Default)]
struct Message<'a> {
    kind: Option<Cow<'a, str>>,
    content: Option<Raw<'a>>,
    model: Option<Cow<'a, str>>,
    calls: Option<Raw<'a>>,
    time: Option<u64>,
    usage: Option<Usage>,
}

impl<'a> Message<'a> {
    fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut message = Self::default();
        if json.kind()? != Kind::Object {
            return Ok(message);
        }
        json.object(|key, value| {
            match key {
                b"type" => message.kind = common::name(value.raw()?),
                b"content" => message.content = Some(value.raw()?),
                b"model" => message.model = common::name(value.raw()?),
                b"toolCalls" => message.calls = Some(value.raw()?),
                b"timestamp" => message.time = time::of_string(value.raw()?),
                b"tokens" => message.usage = usage(value.raw()?),
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(message)
    }

    fn step(self, actor: Actor, turn: u64, steps: &mut Assembler<'a>) -> Read<()> {
        if let Some(text) = self.content.and_then(words::message) {
            steps.message_at(actor, turn, text, self.time);
        }
        let calls = self.calls.filter(|calls| actor == Actor::Agent && calls.kind() == Kind::List);
        if let Some(calls) = calls {
            calls.json().list(|json| {
                if json.kind()? == Kind::Object {
                    tool_call(json, turn, self.usage, steps)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// What the model thought counts as written.
fn usage(tokens: Raw<'_>) -> Option<Usage> {
    let count = |name: &str| tokens.member(name).and_then(tokens::count);
    let usage = Usage {
        duration_ns: None,
        input_tokens: count("input"),
        output_tokens: tokens::sum([count("output"), count("thoughts")]),
        cached_tokens: count("cached"),
    };
    (!usage.is_empty()).then_some(usage)
}

fn tool_call<'a>(
    json: &mut Json<'a>,
    turn: u64,
    usage: Option<Usage>,
    steps: &mut Assembler<'a>,
) -> Read<()> {
    let mut call = Call::new(turn, None, "");
    call.usage = usage.map(Box::new);
    let (mut result, mut status) = (None, Cow::default());
    json.object(|key, value| {
        match key {
            b"id" => call.id = common::name(value.raw()?),
            b"name" => call.name = common::name(value.raw()?).unwrap_or_default(),
            b"args" => call.arguments = common::arguments(value.raw()?),
            b"result" => result = Some(value.raw()?),
            b"status" => status = value.raw()?.string().unwrap_or_default(),
            b"timestamp" => call.time = time::of_string(value.raw()?),
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let is_shell = call.name == "run_shell_command";
    let number = steps.call(call);
    let observed = || Content::from(result.and_then(observation));
    let answer = match &*status {
        "cancelled" => Outcome::unknown(UnknownReason::Refused, Provenance::Flag).answer(observed()),
        "error" => Outcome::flag(true).answer(observed()),
        "success" => {
            let observation = observed();
            let failed = is_shell && observation.as_ref().present().is_some_and(has_failed);
            let outcome = if failed { Outcome::exit_code(true) } else { Outcome::flag(false) };
            outcome.answer(observation)
        }
        _ => return Ok(()),
    };
    steps.answer_call(number, answer);
    Ok(())
}

/// What a call gave: the output or the error of the response to it.
fn observation(result: Raw<'_>) -> Option<Words<'_>> {
    let first = result.items().and_then(|parts| parts.first().copied());
    let Some(response) = first.and_then(|part| part.member("functionResponse")?.member("response")) else {
        return words::result(result);
    };
    let text = |name: &str| response.member(name).and_then(words::lying).map(Words::from);
    text("output").or_else(|| text("error")).or_else(|| words::result(response))
}

/// Whether the first exit code that a shell told is not 0.
fn has_failed(output: &Words<'_>) -> bool {
    let text = output.text();
    text.may_hold("Exit Code: ") && {
        let text = text.to_str();
        let code = |line: &str| words::exit_line(line.strip_suffix('\r').unwrap_or(line), "Exit Code: ");
        text.split('\n').find_map(code).unwrap_or(false)
    }
}
