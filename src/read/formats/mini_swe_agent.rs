//! mini-swe-agent, version 1: commands are fenced blocks in the agent's texts, and their output is the next message of
//! the user. (Version 1.1 is a chat.)

use memchr::memmem::Finder;
use std::sync::LazyLock;

use super::prelude::*;

pub(in crate::read) const FORMAT: Entry = Entry {
    format: Format::MiniSweAgent1,
    about: "trajectories of mini-swe-agent, version 1",
    signature: &[Shape::Object(All(&[
        Says("trajectory_format", &["mini-swe-agent-1"]),
        Is(Kind::List, &["messages"]),
    ]))],
    reader: Reader::Fallible(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let mut run = Run::default();
    if let Some(messages) = members.get("messages") {
        let read = messages.json().list(|json| run.message(json));
        read.inspect_err(|_| run.pass_over(runs))?;
    }
    run.end(members, runs);
    Ok(())
}

/// A run that is being read.
#[derive(Default)]
struct Run<'a> {
    steps: Assembler<'a>,
    turn: u64,
    /// The call that the next message answers.
    asked: Option<CallNumber>,
    no_objects: u64,
}

impl<'a> Run<'a> {
    fn message(&mut self, json: &mut Json<'a>) -> Read<()> {
        if json.kind()? == Kind::Object {
            let message = Message::read(json)?;
            self.asked = message.step(self.turn, self.asked, &mut self.steps);
        } else {
            self.asked = None;
            self.no_objects += 1;
        }
        self.turn += 1;
        Ok(())
    }

    fn pass_over(&self, runs: &mut Runs<'_>) {
        runs.pass_over("messages that are no objects", self.no_objects);
    }

    /// Emits the trace.
    fn end(mut self, members: &Members<'_>, runs: &mut Runs<'_>) {
        self.pass_over(runs);
        runs.give_unrouted(&mut self.steps, metadata(members), None);
    }
}

fn metadata(members: &Members<'_>) -> Metadata {
    let info = members.get("info");
    Metadata {
        agent: Some("mini-swe-agent".into()),
        task: members.name("instance_id").map(Cow::into_owned),
        model: info.and_then(model_of).map(|model| model.as_ref().into()),
        termination: common::exit_status(members).map(Cow::into_owned),
        ..Metadata::default()
    }
}

/// Returns the model, from the configuration in `info`.
pub(in crate::read) fn model_of(info: Raw<'_>) -> Option<Cow<'_, str>> {
    common::name(info.member("config")?.member("model")?.member("model_name")?)
}

/// Facts in `extra` of a message.
#[derive(Debug, Default)]
pub(in crate::read) struct Extra<'a> {
    pub(in crate::read) returncode: Option<Raw<'a>>,
    pub(in crate::read) exit_status: Option<Cow<'a, str>>,
    pub(in crate::read) time: Option<u64>,
    pub(in crate::read) usage: Option<Usage>,
}

impl<'a> Extra<'a> {
    pub(in crate::read) fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut found = Self::default();
        wire::object(json, |key, value| {
            match key {
                b"returncode" => found.returncode = Some(value.raw()?),
                b"exit_status" => found.exit_status = wire::name(value)?,
                b"timestamp" => found.time = time::of_seconds(value.raw()?),
                b"response" => wire::member(value, b"usage", |value| {
                    found.usage = tokens::read(value)?;
                    Ok(())
                })?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(found)
    }
}

#[derive(Debug, Default)]
struct Message<'a> {
    role: Cow<'a, str>,
    content: Option<Raw<'a>>,
    extra: Extra<'a>,
}

impl<'a> Message<'a> {
    fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut message = Self::default();
        json.object(|key, value| {
            match key {
                b"role" => message.role = wire::name(value)?.unwrap_or_default(),
                b"content" => message.content = Some(value.raw()?),
                b"extra" => message.extra = Extra::read(value)?,
                _ => value.skip()?,
            }
            Ok(())
        })?;
        Ok(message)
    }

    /// Adds the message, and returns the call that the next one answers. `asked` is the previous return value.
    fn step(self, turn: u64, asked: Option<CallNumber>, steps: &mut Assembler<'a>) -> Option<CallNumber> {
        if let (Some(call), "user") = (asked, &*self.role) {
            let text =
                self.content.and_then(|content| wire::message_text(&mut content.json()).ok().flatten());
            let text = text.unwrap_or_else(|| "".into());
            steps.answer_call(call, outcome(text.text()).answer(Content::Present(text)));
            return None;
        }
        let text = self.content.and_then(words::message)?;
        let actor = words::actor_of(&self.role);
        let command = (actor == Actor::Agent).then(|| command(&text.text().to_str())).flatten();
        steps.message_at(actor, turn, text, self.extra.time);
        steps.spent(turn, self.extra.usage.filter(|_| command.is_none()));
        let mut call = Call::new(turn, None, "bash");
        call.arguments = Content::Present(common::sole_text("command", &command?));
        (call.time, call.usage) = (self.extra.time, self.extra.usage.map(Box::new));
        Some(steps.call(call))
    }
}

/// Returns the command of a text with exactly one fenced block.
pub(in crate::read) fn command(text: &str) -> Option<String> {
    static OPENING: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("```bash"));
    static LATER_OPENING: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("```mswea_bash_command"));
    [&OPENING, &LATER_OPENING].into_iter().find_map(|opening| sole(Blocks { text, opening }))
}

fn sole(mut blocks: Blocks<'_>) -> Option<String> {
    let command = common::trim(blocks.next()?).to_owned();
    blocks.next().is_none().then_some(command)
}

/// Returns the contents of fenced shell blocks: three backticks, the language, spaces, a line feed, the shortest text,
/// a line feed, three backticks.
struct Blocks<'t> {
    text: &'t str,
    opening: &'static Finder<'static>,
}

impl<'t> Iterator for Blocks<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        static CLOSING: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\n```"));
        loop {
            let (_, rest) = split_at_part(self.text, self.opening)?;
            self.text = rest;
            if let Some(inside) = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n') {
                let (inside, rest) = split_at_part(inside, &CLOSING)?;
                self.text = rest;
                return Some(inside);
            }
        }
    }
}

/// Splits a text at the first place of a part.
fn split_at_part<'t>(text: &'t str, part: &Finder<'_>) -> Option<(&'t str, &'t str)> {
    let at = part.find(text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + part.needle().len()..)?))
}

pub(in crate::read) fn outcome(observation: Text<'_>) -> Outcome {
    if observation.starts_with("The last command <command>") {
        return Outcome::error(Provenance::Text);
    }
    if !observation.starts_with("<returncode>") {
        return Outcome::UNMARKED;
    }
    let text = observation.head(64);
    let code = text.split_once("</returncode>").and_then(|(head, _)| words::exit_line(head, "<returncode>"));
    code.map_or(Outcome::UNMARKED, Outcome::exit_code)
}
