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

/// The tool that runs a command.
const SHELL: &str = "exec_shell";

/// The parameters of the benchmark's tools, which calls may leave unnamed.
const PARAMETERS: [(&str, &[&str]); 8] = [
    (SHELL, &["command", "timeout"]),
    ("get_logs", &["namespace", "service"]),
    ("get_metrics", &["namespace", "duration"]),
    ("get_traces", &["namespace", "duration"]),
    ("read_logs", &["file_path"]),
    ("read_metrics", &["file_path"]),
    ("read_traces", &["file_path"]),
    ("submit", &["solution"]),
];

/// Prefixes of answers of `kubectl` that report a failure.
const FAILURES: [&str; 2] = ["error: ", "Error from server"];

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

/// Adds a turn. `asked` is the open call, and true if it is a command.
fn message<'a>(turn: &Members<'a>, asked: &mut Option<(CallNumber, bool)>, run: &mut Recording<'a>) {
    run.turn(None);
    let (role, content) = (turn.name("role").unwrap_or_default(), turn.string("content"));
    let actor = words::actor_of(&role);
    if role.is_empty() || content.is_none() {
        return run.pass_over("elements that are not messages", 1);
    }
    if actor == Actor::Agent {
        let call = content.as_ref().and_then(|text| call_in(&text.text().to_str()));
        run.say(actor, content);
        *asked = call.map(|call| {
            let is_command = call.name == SHELL;
            (run.add(call), is_command)
        });
    } else if actor == Actor::Environment
        && let Some((call, is_command)) = asked.take()
    {
        let failed = content.as_ref().is_some_and(|text| is_failure(text.text(), is_command));
        run.answer_call(call, content, Outcome::by_text(failed));
    } else {
        run.say(actor, content);
    }
}

/// Returns true if an answer reports a failure: of the harness, of its tools, or of a command. Logs may begin with
/// `[ERROR]`, too.
fn is_failure(text: Text<'_>, is_command: bool) -> bool {
    reports_failure(text)
        || text.starts_with("Error parsing response")
        || text.starts_with("[ERROR]") && text.head(80).contains("execution failed")
        || is_command && FAILURES.iter().any(|start| text.starts_with(start))
}

/// Returns the call between the first two fences of a text, as the harness finds it. If its arguments are not
/// literals, they are the text of the call.
fn call_in(text: &str) -> Option<Call<'static>> {
    let (_, rest) = text.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    let (code, _) = rest.split_once("```")?;
    let mut code = common::trim(code);
    while code.starts_with('#') {
        code = common::trim(code.split_once('\n')?.1);
    }
    let (name, rest) = code.split_once('(')?;
    let given = rest.strip_suffix(')').filter(|_| text_grammars::is_name(name))?;
    let object = otel::python(code).and_then(|object| named(name, &object));
    let arguments = object.map_or_else(
        || {
            let (key, text) =
                command(given).filter(|_| name == SHELL).map_or(("text", code), |text| ("command", text));
            Content::Present(common::sole_text(key, text))
        },
        |object| common::arguments_of_text(Cow::Owned(object)),
    );
    Some(Call::new(0, None, name.to_owned()).with(arguments))
}

/// Returns the text in quotes if it is the only argument. The quotes in a command are often not escaped.
fn command(given: &str) -> Option<&str> {
    let text = given.strip_prefix('"')?.strip_suffix('"')?;
    let is_more = text.starts_with("\"\"") || ["\")", "\","].iter().any(|end| text.contains(end));
    (!is_more).then_some(text)
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
    let count = object.len();
    let named = object.into_iter().map(|(key, value)| (parameter(tool, &key).to_owned(), value));
    let named: serde_json::Map<_, _> = named.collect();
    (named.len() == count).then(|| serde_json::Value::Object(named).to_string())
}
