//! Vorflux trajectories: responses of the model and executed calls, in order of time. Calls have no ids; a
//! call and its result are one entry.

use std::collections::BTreeMap;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Is(Kind::String, &["session_id"]),
        Every("trajectory", &Says("type", &["llm_call", "tool_call", "judge_call"])),
    ]))],
    reader: Reader::Object(read),
};

fn read(members: &Members<'_>, runs: &mut Runs<'_>) {
    let mut session = Session { run: Recording::of_agent("vorflux"), asked: BTreeMap::new() };
    members.objects("trajectory").for_each(|entry| session.entry(&entry));
    let unrecorded = session.asked.into_values().sum();
    runs.pass_over("requested calls that no entry records", unrecorded);
    session.run.metadata.id = members.name("session_id").map(Cow::into_owned);
    session.run.metadata.task = members.name("instance_id").map(Cow::into_owned);
    session.run.give(runs);
}

struct Session<'a> {
    run: Recording<'a>,
    /// Number of requested calls that have not been executed yet, by tool and arguments.
    asked: BTreeMap<(Cow<'a, str>, Option<Digest>), u64>,
}

impl<'a> Session<'a> {
    fn entry(&mut self, entry: &Members<'a>) {
        let time = entry.time("timestamp");
        self.run.time(time);
        match entry.name("type").as_deref() {
            Some("llm_call") => self.response(entry, time),
            Some("tool_call") => self.call(entry),
            // A judge takes no part in the run.
            Some("judge_call") => {}
            _ => self.run.pass_over("entries of other types", 1),
        }
    }

    fn response(&mut self, entry: &Members<'a>, time: Option<u64>) {
        for message in entry.list("task_prompt") {
            let role = message.member("role").and_then(Raw::string).unwrap_or_default();
            self.run.say(words::actor_of(&role), message.member("content").and_then(words::message));
        }
        self.run.turn(time);
        let output = entry.object("output");
        self.run.say(Actor::Agent, output.message("content"));
        for call in output.objects("tool_calls") {
            let function = call.object("function");
            let name = function.name("name").unwrap_or_default();
            *self.asked.entry(key(name, function.get("arguments"))).or_default() += 1;
        }
    }

    /// Adds an executed call. If the model did not request it, the environment made it.
    fn call(&mut self, entry: &Members<'a>) {
        let name = entry.name("tool").unwrap_or_default();
        let left = self.asked.get_mut(&key(name.clone(), entry.get("arguments")));
        let is_left = left.is_some_and(|left| std::mem::replace(left, left.saturating_sub(1)) > 0);
        // Some files list no requests; all calls are then the agent's.
        let is_asked = is_left || self.asked.is_empty();
        let mut call = Call::new(0, None, name).with(entry.arguments("arguments"));
        call.actor = if is_asked { Actor::Agent } else { Actor::Environment };
        let call = self.run.add(call);
        if let Some(result) = entry.present("result") {
            let text = printed(result).or_else(|| words::result(result));
            let outcome = outcome(result, text.as_ref());
            self.run.answer_call(call, text, outcome);
        }
    }
}

/// Returns the tool and arguments by which a request is matched with its execution. `read` is executed as
/// `read_text_file`, with other arguments.
fn key<'a>(name: Cow<'a, str>, arguments: Option<Raw<'a>>) -> (Cow<'a, str>, Option<Digest>) {
    if matches!(&*name, "read" | "read_text_file") {
        return (Cow::Borrowed("read"), None);
    }
    let arguments = arguments.map(common::arguments);
    let digest = arguments.as_ref().and_then(|arguments| Some(arguments.as_ref().present()?.digest()));
    (name, digest)
}

/// Returns the output of a command, from `stdout` and `stderr`.
fn printed(result: Raw<'_>) -> Option<TextCow<'_>> {
    let stdout = result.member("stdout").and_then(words::result)?;
    match result.member("stderr").and_then(words::message) {
        None => Some(stdout),
        Some(stderr) if wire::is_blank(stdout.text()) => Some(stderr),
        stderr => wire::joined([stdout].into_iter().chain(stderr).collect()),
    }
}

fn outcome(result: Raw<'_>, text: Option<&TextCow<'_>>) -> Outcome {
    if let Some(failed) = result.member("exitCode").and_then(is_failure_code) {
        Outcome::exit_code(failed)
    } else if result.member("error").is_some_and(|error| error.kind() != Kind::Null) {
        Outcome::flag(true)
    } else {
        Outcome::by_text(text.is_some_and(|text| text.text().starts_with("Error:")))
    }
}
