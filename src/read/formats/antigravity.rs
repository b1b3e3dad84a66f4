//! Antigravity conversations, step by step. A planner step has calls, usually without ids. The steps up to the next
//! planner step answer them; the type of a step identifies its tool.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Items(All(&[
        Has(&["step_index", "source"]),
        Says(
            "type",
            &["PLANNER_RESPONSE", "USER_INPUT", "TOOL_CALL", "TEXT_RESPONSE", "CONVERSATION_HISTORY"],
        ),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("antigravity");
    let (mut open, mut tasks) = (Vec::new(), Tasks::default());
    for step in steps_in_order(document, &mut run) {
        read_step(&step, &mut run, &mut open, &mut tasks);
    }
    for (call, observation) in tasks.into_values() {
        run.answer_call(call, observation, Outcome::RUNNING);
    }
    run.give(runs);
}

/// Returns the steps without copies, in the order of `step_index` if no two steps share an index. A resumed
/// session may append earlier steps again, and concurrent steps may be out of order.
fn steps_in_order<'a>(document: &Document<'a>, run: &mut Recording<'_>) -> Vec<Members<'a>> {
    let mut steps: Vec<_> = document.each().collect();
    let (all, mut known) = (steps.len(), BTreeSet::new());
    steps.retain(|step| !step.has("step_index") || known.insert(step.whole().map(Raw::bytes)));
    run.pass_over("copies of steps", (all - steps.len()) as u64);
    let places: BTreeSet<_> = steps.iter().map(|step| step.integer("step_index")).collect();
    if places.len() == steps.len() {
        steps.sort_by_key(|step| step.integer("step_index"));
    }
    steps
}

/// An unanswered call of the last planner step, with its tool.
type Open<'a> = (CallNumber, Cow<'a, str>);

/// Calls that run in the background, with their first answers, by the id of their task.
type Tasks<'a> = TextMap<String, (CallNumber, Option<TextCow<'a>>)>;

fn read_step<'a>(
    step: &Members<'a>,
    run: &mut Recording<'a>,
    open: &mut Vec<Open<'a>>,
    tasks: &mut Tasks<'a>,
) {
    run.turn(step.time("created_at"));
    run.model(step.name("model"));
    run.set_usage(step.get("usage").or_else(|| step.get("usage_metadata")).and_then(tokens::usage));
    let content = step.get("content");
    let error = step.get("error").filter(|error| !matches!(error.bytes(), b"null" | b"\"\""));
    match (step.name("type").as_deref(), step.name("source").as_deref()) {
        (Some("USER_INPUT"), _) => run.say(Actor::User, text(content)),
        (Some(kind @ ("PLANNER_RESPONSE" | "TEXT_RESPONSE" | "TOOL_CALL" | "FINISH")), source) => {
            let is_call = kind == "TOOL_CALL";
            let is_user = source.is_some_and(|source| source.starts_with("USER"));
            run.say(if is_user { Actor::User } else { Actor::Agent }, text(content));
            *open = calls(step, run);
            // Steps of this type record the status of the call, but not its output.
            let is_done = is_call && step.name("status").as_deref() == Some("DONE");
            if let Some(error) = error {
                for (call, _) in open.drain(..) {
                    run.answer_call(call, words::result(error), Outcome::flag(true));
                }
            } else if is_done {
                open.drain(..).for_each(|(call, _)| run.answer_without_text(call, Outcome::flag(false)));
            }
        }
        (
            Some(
                "THINKING"
                | "CONVERSATION_HISTORY"
                | "KNOWLEDGE_ARTIFACTS"
                | "CHECKPOINT"
                | "EPHEMERAL_MESSAGE",
            ),
            _,
        ) => {}
        (Some("ERROR_MESSAGE"), _) if !open.is_empty() => {
            let (call, _) = open.remove(0);
            run.answer_call(call, text(error.or(content)), Outcome::flag(true));
        }
        (Some("ERROR_MESSAGE"), _) => run.say(Actor::Environment, text(error.or(content))),
        (Some("SYSTEM_MESSAGE"), _) | (Some(_), Some("SYSTEM")) => {
            let text = text(content);
            // A later message has the result of a command in the background.
            let task =
                text.as_ref().and_then(|text| word_after(text, "Task id \"", "\" finished with result:"));
            match task.and_then(|task| tasks.remove(&task)) {
                Some((call, _)) => {
                    let failed = text.as_ref().is_some_and(failed);
                    run.answer_call(call, text, Outcome::exit_code(failed));
                }
                None => run.say(Actor::System, text),
            }
        }
        (Some(kind), Some("MODEL")) => {
            open.extend(calls(step, run));
            let observation = error.or(content).and_then(words::result);
            let outcome = match step.name("status").as_deref() {
                _ if error.is_some() => Outcome::flag(true),
                Some("ERROR") if observation.as_ref().is_some_and(is_refused) => Outcome::REFUSED,
                Some("ERROR") => Outcome::flag(true),
                Some("RUNNING") => Outcome::RUNNING,
                _ if observation.as_ref().is_some_and(failed) => Outcome::exit_code(true),
                None => Outcome::UNMARKED,
                Some(_) => Outcome::flag(false),
            };
            let own = open.iter().position(|(_, tool)| type_of(tool, kind) == Some(kind));
            let place = own.or_else(|| open.iter().position(|(_, tool)| type_of(tool, kind).is_none()));
            let call = place.map(|place| open.remove(place).0);
            let task = observation.as_ref().filter(|_| outcome == Outcome::RUNNING);
            let task = task.and_then(|text| word_after(text, "background task with task id: ", "\n"));
            match call.zip(task) {
                // Other calls may report on a task that is waited for.
                Some((call, task)) if !tasks.contains_key(&task) => {
                    _ = tasks.insert(task, (call, observation));
                }
                _ => run.answer_to(call, outcome.answer(observation.into())),
            }
        }
        _ => run.pass_over("steps of other types", 1),
    }
}

/// Returns true if an answer says that the user refused the call.
fn is_refused(answer: &TextCow<'_>) -> bool {
    answer.text().head(300).contains("Encountered error in step execution: user denied permission for ")
}

/// Returns the text between two others near the beginning of an answer or a message.
fn word_after(text: &TextCow<'_>, before: &str, after: &str) -> Option<String> {
    let text = text.text().head(1000);
    Some(text.split_once(before)?.1.split_once(after)?.0.to_owned())
}

fn calls<'a>(step: &Members<'a>, run: &mut Recording<'a>) -> Vec<Open<'a>> {
    let calls = step.objects("tool_calls").map(|call| {
        let tool = call.name("name");
        let arguments = call.first(&["args", "arguments"]);
        let number = run.call(call.ident("id"), tool.clone(), arguments);
        if let Some((call, decoded)) = run.call_mut(number).zip(arguments.and_then(decoded)) {
            call.arguments = decoded;
        }
        (number, tool.unwrap_or_default())
    });
    calls.collect()
}

/// Decodes arguments whose values are JSON-encoded strings (`"\"git status\""`, `"10"`). Truncated values are left
/// unchanged.
fn decoded(arguments: Raw<'_>) -> Option<Content<Arguments<'static>>> {
    let mut object: Map<String, Value> = serde_json::from_str(&arguments.spelling()).ok()?;
    let mut has_text = false;
    for value in object.values_mut() {
        let text = value.as_str()?;
        match serde_json::from_str(text) {
            Ok(inner) => *value = inner,
            Err(_) if text.contains("\n<truncated ") => {}
            Err(_) => return None,
        }
        has_text |= value.is_string();
    }
    has_text.then(|| common::arguments_of_value(&Value::Object(object)))
}

/// Returns the type of the steps that hold the results of a tool, if it is known. For a tool that is not listed,
/// that is `kind` if it equals the name of the tool, ignoring case.
fn type_of<'a>(tool: &str, kind: &'a str) -> Option<&'a str> {
    match tool {
        "list_dir" => Some("LIST_DIRECTORY"),
        "replace_file_content" | "multi_replace_file_content" | "write_to_file" => Some("CODE_ACTION"),
        "run_command" => Some("RUN_COMMAND"),
        "view_file" => Some("VIEW_FILE"),
        "grep_search" => Some("GREP_SEARCH"),
        tool => kind.eq_ignore_ascii_case(tool).then_some(kind),
    }
}

/// Number of lines, from the start of a result, that are searched for the exit code.
const HEADER_LINES: usize = 8;

/// Returns true if the header of a result has an exit code other than 0.
fn failed(observation: &TextCow<'_>) -> bool {
    let text = observation.text().to_str();
    let mut lines = text.lines().take(HEADER_LINES).map(str::trim).take_while(|line| *line != "Output:");
    lines.any(|line| words::exit_line(line, "The command failed with exit code: ") == Some(true))
}
