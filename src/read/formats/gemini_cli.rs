//! Gemini CLI sessions: one document, or JSON lines that build it up. Each call contains its result.

use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[SESSION, Is(Kind::List, &["messages"])])), Shape::Lines(SESSION)],
    reader: Reader::Document(read),
};

const SESSION: Mark = Is(Kind::String, &["sessionId", "projectHash"]);

/// Prefixes of texts that the harness writes in the user's name.
const OF_HARNESS: [&str; 5] = [
    "<session_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "Here is a summary of changes in the user's editor context",
    "Plan approved.",
    "User has manually exited Plan Mode.",
];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("gemini-cli");
    let mut results = HashMap::new();
    let (members, messages) = match document {
        Document::Object(members) => (members.clone(), members.objects("messages").collect()),
        document => replay(document.items(), &mut run, &mut results),
    };
    for (turn, message) in (0..).zip(messages) {
        run.at(turn, message.time("timestamp"));
        match message.name("type").as_deref() {
            Some("user") => {
                let text = message.message("content");
                let is_of_harness =
                    |text: &TextCow<'_>| OF_HARNESS.iter().any(|start| text.text().starts_with(start));
                let is_of_user = !text.as_ref().is_some_and(is_of_harness);
                run.say(if is_of_user { Actor::User } else { Actor::Environment }, text);
            }
            Some("gemini") => {
                run.model(message.name("model"));
                run.say(Actor::Agent, message.message("content"));
                calls(&message, &results, &mut run);
            }
            _ => run.pass_over("messages of neither the user nor the model", 1),
        }
    }
    run.metadata.id = members.name("sessionId").map(Cow::into_owned);
    run.give(runs);
}

/// Results by the id of their call.
type Results<'a> = HashMap<Cow<'a, str>, Raw<'a>>;

/// Returns the first header and the messages of all lines. A message with a known id replaces the earlier
/// one, whose whole results are kept; `$set` may repeat all messages. Messages undone by `$rewindTo` stay in the run.
fn replay<'a>(
    lines: &[Raw<'a>],
    run: &mut Recording<'a>,
    results: &mut Results<'a>,
) -> (Members<'a>, Vec<Members<'a>>) {
    let (mut header, mut messages, mut places) = (Members::default(), Vec::new(), HashMap::new());
    for line in lines.iter().map(|line| Members::from(*line)) {
        let changed = line.object("$set");
        let mut written: Vec<_> = line.objects("messages").chain(changed.objects("messages")).collect();
        if SESSION.fits(&line) {
            header = if header.has("sessionId") { header } else { line };
        } else if line.has("$rewindTo") {
            run.pass_over("rewinds (the undone messages are kept)", 1);
        } else if !line.has("$set") {
            written.push(line);
        }
        for message in written {
            let id = message.ident("id");
            let place = id.map_or(messages.len(), |id| *places.entry(id).or_insert(messages.len()));
            match messages.get_mut(place) {
                Some(known) => {
                    let earlier = std::mem::replace(known, message);
                    let earlier = earlier.objects("toolCalls").filter_map(|call| {
                        let value = call
                            .get("result")
                            .filter(|value| !result(*value).as_ref().is_some_and(is_masked))?;
                        Some((call.name("id")?, value))
                    });
                    results.extend(earlier);
                }
                None => messages.push(message),
            }
        }
    }
    (header, messages)
}

fn calls<'a>(message: &Members<'a>, results: &Results<'a>, run: &mut Recording<'a>) {
    let (calls, others): (Vec<_>, Vec<_>) =
        message.list("toolCalls").into_iter().partition(|call| call.kind() == Kind::Object);
    run.pass_over("items in lists of calls that are not calls", others.len() as u64);
    // Thinking counts as output.
    let output = ["output", "thoughts"];
    run.set_usage(tokens::of_keys(&message.object("tokens"), &["input"], &output, &["cached"]));
    for call in calls.into_iter().map(Members::from) {
        run.time(call.time("timestamp"));
        let name = call.name("name").unwrap_or_default();
        let answer = answer(&call, &name, results);
        let number = run.call(call.name("id"), Some(name), call.get("args"));
        if let Some(answer) = answer {
            run.steps.answer_call(number, answer);
        }
    }
}

/// Returns the answer of a call; `None` if it has not ended.
fn answer<'a>(call: &Members<'a>, name: &str, results: &Results<'a>) -> Option<Answer<'a>> {
    let last = call.get("result").and_then(result);
    let whole = || results.get(&call.name("id")?).and_then(|value| result(*value));
    let observation = if last.as_ref().is_some_and(is_masked) { whole().or(last) } else { last };
    let stated = call.outcome("status")?;
    let is_shell = name == "run_shell_command" && stated.status == Status::Ok;
    let failed = is_shell && observation.as_ref().is_some_and(has_failed);
    let outcome = if failed { Outcome::exit_code(true) } else { stated };
    let is_whole = !observation.as_ref().is_some_and(is_masked);
    Some(outcome.answer(if is_whole { observation.into() } else { Content::NotRecorded }))
}

/// Returns true if only the start and the end of an output are left.
fn is_masked(observation: &TextCow<'_>) -> bool {
    observation.text().starts_with("<tool_output_masked>")
}

/// Returns the observation in a result: the `output` or `error` of its function response, or else the whole.
fn result(value: Raw<'_>) -> Option<TextCow<'_>> {
    let first = value.first_items(1).into_iter().next();
    let Some(response) = first.and_then(|part| part.member("functionResponse")?.member("response")) else {
        return words::result(value);
    };
    let text = ["output", "error"]
        .into_iter()
        .find_map(|key| response.member(key).filter(|text| text.kind() == Kind::String));
    words::result(text.unwrap_or(response))
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
