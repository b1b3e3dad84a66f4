//! `AIOpsLab`: sessions of an agent that operates a cluster. A turn of the agent has its call as code in a fence,
//! `get_logs("shop", "cart")`, and the environment answers it.

use super::otel;
use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(SESSION)], reader: Reader::Document(read) };

const SESSION: Mark = All(&[
    Is(Kind::String, &["agent", "session_id", "problem_id"]),
    Is(Kind::List, &["trace"]),
    Has(&["results"]),
]);

/// The parameters of the benchmark's tools, which calls may leave unnamed.
const PARAMETERS: [(&str, &[&str]); 8] = [
    ("exec_shell", &["command", "timeout"]),
    ("get_logs", &["namespace", "service"]),
    ("get_metrics", &["namespace", "duration"]),
    ("get_traces", &["namespace", "duration"]),
    ("read_logs", &["file_path"]),
    ("read_metrics", &["file_path"]),
    ("read_traces", &["file_path"]),
    ("submit", &["solution"]),
];

/// Prefixes of answers that report a failure: of the harness, of its tools and of `kubectl`.
const FAILURES: [&str; 4] = ["[ERROR]", "Error parsing response", "error: ", "Error from server"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for session in fitting(&SESSION, document.each(), "objects of other types", runs) {
        let mut run = Recording::default();
        let text = |key| session.name(key).map(Cow::into_owned);
        run.metadata = Metadata {
            id: text("session_id"),
            task: text("problem_id"),
            agent: session.name("agent").as_deref().map(Into::into),
            ..Metadata::default()
        };
        let results = session.object("results");
        let detected = || results.name("Detection Accuracy").map(|word| word == "Correct");
        let solved = || results.flag("success").or_else(detected).map(|solved| f64::from(u8::from(solved)));
        run.reward = results.number("score").or_else(solved);
        let mut asked = None;
        for turn in session.list("trace").into_iter().map(Members::from) {
            message(&turn, &mut asked, &mut run);
        }
        run.give(runs);
    }
}

fn message<'a>(turn: &Members<'a>, asked: &mut Option<CallNumber>, run: &mut Recording<'a>) {
    run.turn(None);
    let (role, content) = (turn.name("role").unwrap_or_default(), turn.string("content"));
    let actor = words::actor_of(&role);
    if role.is_empty() || content.is_none() {
        return run.pass_over("elements that are not messages", 1);
    }
    if actor == Actor::Agent {
        let call = content.as_ref().and_then(|text| call_in(&text.text().to_str()));
        run.say(actor, content);
        *asked = call.map(|call| run.add(call));
    } else if actor == Actor::Environment
        && let Some(call) = asked.take()
    {
        let is_failure = |text: &TextCow<'_>| {
            reports_failure(text.text()) || FAILURES.iter().any(|start| text.text().starts_with(start))
        };
        let failed = content.as_ref().is_some_and(is_failure);
        run.answer_call(call, content, Outcome::by_text(failed));
    } else {
        run.say(actor, content);
    }
}

/// Returns the call between the first two fences of a text, as the harness finds it.
fn call_in(text: &str) -> Option<Call<'static>> {
    let (_, rest) = text.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    let (code, _) = rest.split_once("```")?;
    let code = common::trim(code);
    let (name, rest) = code.split_once('(')?;
    let given = rest.strip_suffix(')').filter(|_| text_grammars::is_name(name))?;
    let object = otel::python(code).and_then(|object| named(name, &object));
    let arguments = object.map_or_else(
        || {
            // The quotes in a command are often not escaped.
            let text = given.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Content::Present(common::sole_text(parameter(name, "0"), text.unwrap_or(given)))
        },
        |object| common::arguments_of_text(Cow::Owned(object)),
    );
    Some(Call::new(0, None, name.to_owned()).with(arguments))
}

/// Returns the name of a parameter that a call gives by its position.
fn parameter<'t>(tool: &str, position: &'t str) -> &'t str {
    let parameters = PARAMETERS.iter().find(|(name, _)| *name == tool).map(|(_, parameters)| *parameters);
    let name = parameters.zip(position.parse().ok()).and_then(|(names, at): (_, usize)| names.get(at));
    name.copied().unwrap_or(position)
}

/// Returns an object of arguments in which those without a name have that of their parameter.
fn named(tool: &str, object: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(object).ok()?;
    let named = object.into_iter().map(|(key, value)| (parameter(tool, &key).to_owned(), value));
    Some(serde_json::Value::Object(named.collect()).to_string())
}
