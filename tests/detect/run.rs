//! Reads the blocks of fixtures, with a step or milestone on each line, as values of the native JSON form.

use serde_json::{Map, Value, json};
use wrongturn::{
    Status,
    trace::{Actor, UnknownReason},
};

use crate::fixture::{Error, Line};

const NOT_RECORDED: &str = "(not recorded)";

type Fields = Map<String, Value>;

/// Reads the steps of a run.
pub(crate) fn steps(block: &[Line<'_>]) -> Result<Vec<Fields>, Error> {
    let mut steps = Vec::new();
    let (mut index, mut turn) = (0, 0);
    let mut lines = block.iter().filter(|(_, line)| !line.is_empty()).peekable();
    while let Some(&(number, line)) = lines.next() {
        if let Some(count) = line.strip_prefix("skip ").and_then(|count| count.parse::<u64>().ok()) {
            index += count;
            continue;
        }
        let mut line = line.to_owned();
        while let Some((_, more)) = lines.next_if(|(_, line)| line.starts_with('|')) {
            line.extend(["\n", more.strip_prefix("| ").unwrap_or(&more[1..])]);
        }
        let times = line.strip_prefix('x').and_then(|rest| rest.split_once(' '));
        let times = times.and_then(|(times, rest)| Some((0..times.parse::<u64>().ok()?, rest)));
        let (times, line) = times.unwrap_or((0..1, &line));
        let (line, same_turn) = line.strip_prefix("& ").map_or((line, false), |line| (line, true));
        for time in times {
            let mut step = step(&line.replace("<n>", &time.to_string())).map_err(|error| (number, error))?;
            turn = if same_turn { turn } else { index };
            step.extend([("step".to_owned(), json!(index)), ("turn".to_owned(), json!(turn))]);
            steps.push(step);
            index += 1;
        }
    }
    Ok(steps)
}

/// Reads the milestones of a route: `2: score 1`, or `3: user calls press {"a": 1} (compare a, b)`.
pub(crate) fn route(block: &[Line<'_>]) -> Result<Value, Error> {
    let milestone = |line: &str| {
        let (step, target) = line.split_once(": ")?;
        let mut fields = match target.strip_prefix("score ") {
            Some(score) => fields(json!({"score": score.parse::<f64>().ok()?})),
            None => expected_call(target).ok()?,
        };
        fields.insert("reference_step".to_owned(), json!(step.parse::<u64>().ok()?));
        Some(fields)
    };
    let milestones = block.iter().map(|(number, line)| {
        let expected = || format!("expected `<step>: score <number>` or `<step>: <call>`, got `{line}`");
        milestone(line).ok_or_else(|| (*number, expected()))
    });
    let milestones: Vec<_> = milestones.collect::<Result<_, _>>()?;
    let is_scores = milestones.first().is_some_and(|milestone| milestone.contains_key("score"));
    Ok(json!({"kind": if is_scores { "scores" } else { "actions" }, "milestones": milestones}))
}

fn fields(object: Value) -> Fields {
    if let Value::Object(fields) = object { fields } else { Map::new() }
}

fn expected_call(text: &str) -> Result<Fields, String> {
    let (text, compare) = match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (compare ")) {
        Some((text, "nothing")) => (text, json!([])),
        Some((text, names)) => (text, json!(names.split(", ").collect::<Vec<_>>())),
        None => (text, Value::Null),
    };
    let mut expected = fields(json!({"arguments": {}, "compare": compare}));
    expected.append(&mut call(text)?);
    Ok(expected)
}

fn step(line: &str) -> Result<Fields, String> {
    if let Some((tag, line)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        let mut step = step(line)?;
        let (name, value) = match tag.split_once(' ') {
            Some(("at", place)) => ("location", json!(place)),
            Some(("progress", number)) => ("progress", json!(number.parse::<f64>().ok())),
            _ => (tag, Value::Null),
        };
        return match step.insert(name.to_owned(), value.clone()) {
            None if !value.is_null() => Ok(step),
            _ => Err(format!("expected `[at <place>]` or `[progress <number>]` once, got `[{tag}]`")),
        };
    }
    if let Some((actor, said)) = line.split_once(':').filter(|(word, _)| word.parse::<Actor>().is_ok()) {
        return Ok(fields(json!({"actor": actor, "text": text(said)?})));
    }
    // Calls and answers may contain arrows: the first arrow between a valid call and a valid answer counts.
    let arrows = line.match_indices(" -> ").map(|(at, arrow)| (&line[..at], &line[at + arrow.len()..]));
    let steps = arrows.map(|(left, right)| call(left).and_then(|call| answered(call, right)));
    let expected = || format!("expected a call, ` -> ` and its answer, got `{line}`");
    steps.reduce(|first, other| first.or_else(|error| other.map_err(|_| error))).ok_or_else(expected)?
}

/// Reads a call: `look {"a": 1}`, `$ ls` or `user calls look (not recorded)`.
fn call(text: &str) -> Result<Fields, String> {
    let by = text.split_once(" calls ").filter(|(actor, _)| actor.parse::<Actor>().is_ok());
    let (actor, text) = by.unwrap_or(("agent", text));
    let (name, arguments) = match text.strip_prefix('"').and_then(|text| text.split_once('"')) {
        Some((name, arguments)) => (name, arguments.trim()),
        None if text.starts_with("$ ") => ("bash", text),
        None => text.split_once(' ').map_or((text, ""), |(name, arguments)| (name, arguments.trim())),
    };
    let mut call = fields(json!({"actor": actor, "name": name}));
    if arguments == NOT_RECORDED {
        call.insert("not_recorded".to_owned(), json!(["arguments"]));
    } else if !arguments.is_empty() {
        let value = match arguments.strip_prefix("$ ") {
            Some(command) => Ok(json!({"command": command})),
            None => serde_json::from_str(arguments),
        };
        let expected = || format!("expected arguments in JSON after `{name}`, got `{arguments}`");
        call.insert("arguments".to_owned(), value.map_err(|_| expected())?);
    }
    Ok(call)
}

/// Adds an answer to a call: `ok`, `ok from <provenance>: <text>`, `error <type>: <text>`, `unanswered`, or
/// another reason for an unknown status.
fn answered(mut call: Fields, answer: &str) -> Result<Fields, String> {
    let (head, said) = answer.split_once(':').map_or((answer, None), |(head, said)| (head, Some(said)));
    let (head, provenance) = head.split_once(" from ").unwrap_or((head, "flag"));
    let (word, error_type) = head.split_once(' ').map_or((head, None), |(word, kind)| (word, Some(kind)));
    let reason = word.parse::<UnknownReason>().ok().map(|_| word);
    let status = reason.map_or(word, |_| "unknown");
    let is_typed_error = |kind: &str| word == "error" && !kind.contains(' ');
    if status.parse::<Status>().is_err() || !error_type.is_none_or(is_typed_error) {
        return Err(format!("expected `ok: <text>`, `error: <text>` or `unanswered`, got `{answer}`"));
    }
    call.append(&mut fields(
        json!({"status": status, "reason": reason, "error_type": error_type, "provenance": (status != "unknown").then_some(provenance)}),
    ));
    if said.is_some_and(|said| said.trim() == NOT_RECORDED) {
        let parts = call.entry("not_recorded").or_insert(json!([]));
        parts.as_array_mut().unwrap().push(json!("observation"));
    } else if let Some(said) = said {
        call.insert("observation".to_owned(), json!(text(said)?));
    }
    Ok(call)
}

/// Reads a text of one or several lines. A text in quotes is a JSON string.
fn text(said: &str) -> Result<String, String> {
    let text = said.trim_start_matches([' ', '\n']);
    if text.starts_with('"') && text.ends_with('"') {
        return serde_json::from_str(text).map_err(|error| format!("{text}: {error}"));
    }
    let expected = "expected a text after the colon, `\"\"` if it is empty";
    if text.is_empty() { Err(expected.to_owned()) } else { Ok(text.to_owned()) }
}
