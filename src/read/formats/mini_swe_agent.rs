//! mini-swe-agent, version 1: commands are fenced blocks in the agent's texts, and their output is the next user
//! message. (Version 1.1 is read as a chat.)

use super::prelude::*;
use super::unread;
use crate::trace::Entry;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Says("trajectory_format", &["mini-swe-agent-1"]),
        Is(Kind::List, &["messages"]),
    ]))],
    reader: Reader::Fallible(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) -> Read<()> {
    let Document::Object(members) = document else { return Ok(()) };
    let messages = members.list("messages");
    // A fork keeps the messages as JSON in a string, which is not read.
    let is_filled = |text: &Raw<'_>| text.kind() == Kind::String && text.bytes() != b"\"\"";
    if let Some(context) = members.get("context").filter(|text| messages.is_empty() && is_filled(text)) {
        return Err(Fault::other(context.offset(), unread::error("messages in `context`")));
    }
    runs.pass_over("runs without messages", u64::from(messages.is_empty()));
    let mut run = Recording::of_agent("mini-swe-agent");
    let mut asked = None;
    for (turn, message) in (0..).zip(messages) {
        if message.kind() == Kind::Object {
            asked = step(&Members::from(message), turn, asked, &mut run);
        } else {
            asked = None;
            run.pass_over("messages that are not objects", 1);
        }
    }
    run.metadata.task = members.name("instance_id").map(Cow::into_owned);
    run.model(members.get("info").and_then(model_of));
    run.metadata.termination = common::exit_status(members).map(Cow::into_owned);
    run.give(runs);
    Ok(())
}

/// Returns the model, from the configuration in `info`.
pub(super) fn model_of(info: Raw<'_>) -> Option<Cow<'_, str>> {
    let model = info.member("config")?.member("model")?;
    common::name(model.member("model_name").unwrap_or(model))
}

#[derive(Debug, Default)]
pub(super) struct Extra<'a> {
    pub(super) returncode: Option<Raw<'a>>,
    pub(super) exit_status: Option<Cow<'a, str>>,
    /// Why the message interrupts the agent.
    interrupt: Option<Cow<'a, str>>,
    pub(super) time: Option<u64>,
    pub(super) usage: Option<Usage>,
}

impl<'a> Extra<'a> {
    pub(super) fn of(extra: &Members<'a>) -> Self {
        Self {
            returncode: extra.get("returncode"),
            exit_status: extra.name("exit_status"),
            interrupt: extra.name("interrupt_type"),
            time: extra.get("timestamp").and_then(time::of_seconds),
            usage: extra.object("response").usage("usage"),
        }
    }

    /// Returns true if the harness wrote the message, such as a `FormatError`. Interrupts by users are of type
    /// `UserInterruption`, `UserRejection` or `UserNewTask`.
    pub(super) fn is_notice(&self) -> bool {
        self.interrupt.as_deref().is_some_and(|kind| !kind.starts_with("User"))
    }
}

/// Adds a message, and returns the call that the next one answers. `asked` is the previous return value.
fn step<'a>(
    message: &Members<'a>,
    turn: u64,
    asked: Option<CallNumber>,
    run: &mut Recording<'a>,
) -> Option<CallNumber> {
    let role = message.name("role").unwrap_or_default();
    if let (Some(call), "user") = (asked, &*role) {
        let content = message.get("content");
        let text = content.and_then(|content| wire::message_text(&mut content.json()).ok().flatten());
        let text = text.unwrap_or_else(|| "".into());
        let outcome = never_ran(text.text()).or_else(|| at_start(text.text())).unwrap_or(Outcome::UNMARKED);
        run.answer_call(call, Some(text), outcome);
        return None;
    }
    let text = message.message("content")?;
    if role == "user" && text.text().starts_with("<returncode>") {
        let outcome = at_start(text.text()).unwrap_or(Outcome::UNMARKED);
        // Some forks run the whole text of the agent.
        let said = match run.steps.entries().back() {
            Some(Entry::Message { actor: Actor::Agent, text, .. }) => Some(text.text().to_str().into_owned()),
            _ => None,
        };
        let call = said.map(|said| run.call_text("bash", "command", &said));
        run.steps.answer_to(call, turn, None, outcome.answer(Content::Present(text)));
        return None;
    }
    let extra = Extra::of(&message.object("extra"));
    let actor = words::actor_of(&role);
    let command = (actor == Actor::Agent).then(|| command(&text.text().to_str())).flatten();
    run.at(turn, extra.time);
    run.say(actor, Some(text));
    run.set_usage(extra.usage);
    Some(run.call_text("bash", "command", &command?))
}

/// Returns the command in a text that has exactly one fenced block.
pub(in crate::read) fn command(text: &str) -> Option<String> {
    ["```bash", "```mswea_bash_command"].into_iter().find_map(|opening| {
        let mut blocks = blocks(text, opening);
        let command = common::trim(blocks.next()?).to_owned();
        blocks.next().is_none().then_some(command)
    })
}

/// Returns the contents of fenced shell blocks: three backticks, the language, spaces, a line feed, the shortest
/// text, a line feed, three backticks. The closing backticks may be indented if the opening ones are.
fn blocks<'t>(mut text: &'t str, opening: &'static str) -> impl Iterator<Item = &'t str> {
    let begins_line = |before: &str| before.trim_end_matches([' ', '\t']).ends_with('\n');
    std::iter::from_fn(move || {
        loop {
            let (before, rest) = text.split_once(opening)?;
            text = rest;
            let line = before.rsplit('\n').next().unwrap_or_default();
            let is_indented = !line.is_empty() && line.trim().is_empty();
            if let Some(inside) = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n') {
                let (inside, rest) = if is_indented {
                    let mut fences = inside.match_indices("```").map(|(at, _)| inside.split_at(at));
                    let (inside, fence) = fences.find(|(before, _)| begins_line(before))?;
                    (inside, fence.strip_prefix("```")?)
                } else {
                    inside.split_once("\n```")?
                };
                text = rest;
                return Some(inside);
            }
        }
    })
}
