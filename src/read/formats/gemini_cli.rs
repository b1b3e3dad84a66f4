//! Sessions of the Gemini CLI: one document, in which each call contains its result.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::GeminiCli,
    about: "sessions of the Gemini CLI",
    signature: &[Shape::Object(All(&[
        Is(Kind::String, &["sessionId", "projectHash"]),
        Is(Kind::List, &["messages"]),
    ]))],
    reader: Reader::Fallible(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let mut session = Session::default();
    if let Some(messages) = members.get("messages") {
        let read = messages.json().list(|json| session.message(json));
        read.inspect_err(|_| session.pass_over(runs))?;
    }
    session.end(members, runs);
    Ok(())
}

/// A session that is being read.
#[derive(Default)]
struct Session<'a> {
    steps: Assembler<'a>,
    turn: u64,
    model: Option<Cow<'a, str>>,
    /// Number of skipped messages, and of items among calls that are not calls.
    others: u64,
    no_calls: u64,
}

impl<'a> Session<'a> {
    fn message(&mut self, json: &mut Json<'a>) -> Read<()> {
        let message = Message::read(json, self.turn)?;
        self.no_calls += message.others;
        match message.kind.as_deref() {
            Some("user") => message.step(Actor::User, self.turn, &mut self.steps),
            Some("gemini") => {
                self.model = self.model.take().or_else(|| message.model.clone());
                message.step(Actor::Agent, self.turn, &mut self.steps);
            }
            _ => self.others += 1,
        }
        self.turn += 1;
        Ok(())
    }

    fn pass_over(&self, runs: &mut Runs<'_>) {
        runs.pass_over("messages of neither the user nor the model", self.others);
        runs.pass_over("items among calls that are no calls", self.no_calls);
    }

    /// Emits the trace.
    fn end(mut self, members: &Members<'_>, runs: &mut Runs<'_>) {
        self.pass_over(runs);
        runs.give_unrouted(&mut self.steps, metadata(members, self.model), None);
    }
}

fn metadata(members: &Members<'_>, model: Option<Cow<'_, str>>) -> Metadata {
    Metadata {
        id: members.name("sessionId").map(Cow::into_owned),
        agent: Some("gemini-cli".into()),
        model: model.map(|model| model.as_ref().into()),
        ..Metadata::default()
    }
}

#[derive(Debug, Default)]
struct Message<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<TextCow<'a>>,
    model: Option<Cow<'a, str>>,
    calls: Vec<(Call<'a>, Option<Answer<'a>>)>,
    /// Number of items among the calls that are not calls.
    others: u64,
    time: Option<u64>,
    usage: Option<Usage>,
}

impl<'a> Message<'a> {
    fn read(json: &mut Json<'a>, turn: u64) -> Read<Self> {
        let mut message = Self::default();
        wire::object(json, |key, value| {
            match key {
                b"type" => message.kind = wire::name(value)?,
                b"content" => message.text = wire::message(value)?,
                b"model" => message.model = wire::name(value)?,
                b"toolCalls" => {
                    (message.calls, message.others) = (Vec::new(), 0);
                    wire::list(value, |call| {
                        match tool_call(call, turn)? {
                            Some(call) => message.calls.push(call),
                            None => message.others += 1,
                        }
                        Ok(())
                    })?;
                }
                b"timestamp" => message.time = wire::time_or_utc(value)?,
                b"tokens" => message.usage = usage(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(message)
    }

    fn step(self, actor: Actor, turn: u64, steps: &mut Assembler<'a>) {
        if let Some(text) = self.text {
            steps.message_at(actor, turn, text, self.time);
        }
        if actor == Actor::Agent {
            steps.spent(turn, self.usage.filter(|_| self.calls.is_empty()));
            for (mut call, answer) in self.calls {
                call.usage = self.usage.map(Box::new);
                let call = steps.call(call);
                if let Some(answer) = answer {
                    steps.answer_call(call, answer);
                }
            }
        }
    }
}

/// Thinking counts as output.
fn usage(json: &mut Json<'_>) -> Read<Option<Usage>> {
    let (mut usage, mut output, mut thoughts) = (Usage::default(), None, None);
    wire::object(json, |key, value| {
        match key {
            b"input" => usage.input_tokens = wire::count(value)?,
            b"output" => output = wire::count(value)?,
            b"thoughts" => thoughts = wire::count(value)?,
            b"cached" => usage.cached_tokens = wire::count(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    usage.output_tokens = tokens::sum([output, thoughts]);
    Ok(Some(usage).filter(|usage| !usage.is_empty()))
}

/// Reads a call and, if it has ended, its answer.
fn tool_call<'a>(json: &mut Json<'a>, turn: u64) -> Read<Option<(Call<'a>, Option<Answer<'a>>)>> {
    let mut call = Call::new(turn, None, "");
    let (mut observation, mut status) = (None, None);
    let is_call = wire::object(json, |key, value| {
        match key {
            b"id" => call.id = wire::name(value)?,
            b"name" => call.name = wire::name(value)?.unwrap_or_default(),
            b"args" => call.arguments = common::read_arguments(value)?,
            b"result" => observation = result(value)?,
            b"status" => status = wire::name(value)?,
            b"timestamp" => call.time = wire::time_or_utc(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    let outcome = match status.as_deref() {
        Some("cancelled") => Some(Outcome::unknown(UnknownReason::Refused, Provenance::Flag)),
        Some("error") => Some(Outcome::flag(true)),
        Some("success") => {
            let failed = call.name == "run_shell_command" && observation.as_ref().is_some_and(has_failed);
            Some(if failed { Outcome::exit_code(true) } else { Outcome::flag(false) })
        }
        _ => None,
    };
    let answer = outcome.map(|outcome| outcome.answer(observation.into()));
    Ok(is_call.then_some((call, answer)))
}

/// Reads the output of a call: the output or error of its response. Other results are texts.
fn result<'a>(json: &mut Json<'a>) -> Read<Option<TextCow<'a>>> {
    let mut whole = json.clone();
    let (mut first, mut found) = (true, None);
    wire::list(json, |part| {
        if !std::mem::take(&mut first) {
            return part.skip();
        }
        wire::member(part, b"functionResponse", |value| {
            wire::member(value, b"response", |value| {
                found = Some(response(value)?);
                Ok(())
            })
        })
    })?;
    match found {
        Some(found) => Ok(found),
        None => wire::result(&mut whole),
    }
}

fn response<'a>(json: &mut Json<'a>) -> Read<Option<TextCow<'a>>> {
    let mut whole = json.clone();
    let (mut output, mut error) = (None, None);
    wire::object(json, |key, value| {
        match key {
            b"output" => output = wire::text(value)?,
            b"error" => error = wire::text(value)?,
            _ => value.skip()?,
        }
        Ok(())
    })?;
    match output.or(error) {
        Some(text) => Ok(Some(text.into())),
        None => wire::result(&mut whole),
    }
}

/// Returns true if the first exit code in the output of a shell is not 0.
pub(super) fn has_failed(output: &TextCow<'_>) -> bool {
    const MARK: &str = "Exit Code: ";
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(MARK));
    let text = output.text();
    text.may_hold(&FINDER) && {
        let text = text.to_str();
        let code = |line: &str| words::exit_line(line.strip_suffix('\r').unwrap_or(line), MARK);
        text.split('\n').find_map(code).unwrap_or(false)
    }
}
