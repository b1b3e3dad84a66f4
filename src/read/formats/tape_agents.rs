//! Tapes of `TapeAgents`: steps by kind. The observation after an action is its answer.

use super::prelude::*;
use crate::read::call_outcome::reports_failure;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Each(TAPE)], reader: Reader::Document(read) };

const TAPE: Mark =
    All(&[In("metadata", &Has(&["author", "n_added_steps"])), Holds("steps", &Has(&["kind", "metadata"]))]);

/// Keys of the text of a step.
const TEXTS: [&str; 6] = ["content", "reasoning", "answer", "task", "text", "reason"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    for tape in recorded::fitting(&TAPE, document.each(), "objects that are not tapes", runs) {
        let about = tape.object("metadata");
        let mut run = Recording::of_agent(&about.ident("author").unwrap_or("tapeagents".into()));
        run.metadata.id = about.ident("id").map(Cow::into_owned);
        run.metadata.task = about.object("task").ident("task_id").map(Cow::into_owned);
        run.metadata.termination = about.name("error").map(|_| "error".to_owned());
        run.say(Actor::User, tape.text("context"));
        let mut request = None;
        for step in tape.objects("steps") {
            // The steps of one response have the id of its prompt.
            let prompt = step.object("metadata").ident("prompt_id");
            if prompt.is_some() && prompt != request {
                run.turn(None);
                request = prompt;
            }
            read_step(&step, &mut run);
        }
        run.give(runs);
    }
}

fn read_step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    let kind = step.name("kind").unwrap_or_default();
    let text = || TEXTS.iter().find_map(|key| step.text(key));
    match &*kind {
        "user" | "question" | "task" => {
            run.turn(None);
            run.say(Actor::User, text());
        }
        "system" => run.say(Actor::System, text()),
        "assistant" | "call" | "respond" | "final_step" => {
            run.say(Actor::Agent, text().or_else(|| step.text("agent_name")));
            step.objects("tool_calls").for_each(|called| call(&called, run));
        }
        "tool_call" => call(step, run),
        // The model wrote no valid step.
        "llm_output_parsing_failure_action" => {
            run.say(Actor::Agent, step.text("llm_output"));
            run.say(Actor::Environment, step.text("error"));
        }
        // A broadcast repeats the message before it.
        "set_next_node" | "broadcast" => {}
        kind if kind.contains("_thought") => run.say(Actor::Agent, text().or_else(|| other_text(step))),
        kind if kind.ends_with("answer_action") => run.say(Actor::Agent, text()),
        kind if kind == "execute_code" || kind.ends_with("_action") => {
            let is_about = |key: &[u8]| matches!(key, b"kind" | b"metadata");
            let given = step.whole().map(|step| common::arguments_without(step, is_about));
            let name = kind.strip_suffix("_action").unwrap_or(kind).to_owned();
            run.add(Call::new(0, None, name).with(given.unwrap_or(Content::Absent)));
        }
        // The model's own steps answer no call.
        kind if !is_observation(kind) && step.object("metadata").ident("prompt_id").is_some() => {
            run.pass_over("steps of other kinds", 1);
        }
        kind => answer(kind, step, run),
    }
}

fn call<'a>(call: &Members<'a>, run: &mut Recording<'a>) {
    let function = call.object("function");
    run.call(call.ident("id"), function.name("name"), function.get("arguments"));
}

/// Returns the first text under a key that is not among [`TEXTS`].
fn other_text<'a>(step: &Members<'a>) -> Option<TextCow<'a>> {
    step.iter().filter(|(key, _)| *key != "kind").find_map(|(_, value)| words::text(value))
}

fn answer<'a>(kind: &str, step: &Members<'a>, run: &mut Recording<'a>) {
    let result = step.object("result");
    // An error is a text or a code.
    let error = step.get("error").filter(|error| error.integer() != Some(0)).and_then(words::result);
    let error = error.filter(|error| !error.text().to_str().trim().is_empty());
    let outcome = Outcome::of_code(result.get("exit_code"));
    let has_failed = error.is_some();
    let observed = error.or_else(|| {
        let kept = ["content", "text", "serp", "result", "image_caption"].iter();
        result.result("output").or_else(|| kept.into_iter().find_map(|key| step.result(key)))
    });
    let observed = observed.or_else(|| other_text(step));
    let outcome = match &observed {
        _ if has_failed => Outcome::flag(true),
        Some(text) if outcome == Outcome::UNMARKED => Outcome::by_text(reports_failure(text.text())),
        _ => outcome,
    };
    let id = step.ident("tool_call_id");
    if id.is_some() {
        return run.answer(id, None, observed, outcome);
    }
    let asked = step.object("metadata").object("other").name("action_kind");
    let asked = asked.map(|kind| Cow::Owned(kind.trim_end_matches("_action").to_owned()));
    let call = asked.and_then(|asked| run.oldest(Some(&asked)));
    match call.or_else(|| run.oldest(None)) {
        Some(call) => run.answer_call(call, observed, outcome),
        // An environment shows its state before the first action.
        None if is_observation(kind) => run.say(Actor::Environment, observed),
        None => run.pass_over("steps of other kinds", 1),
    }
}

fn is_observation(kind: &str) -> bool {
    let ends = ["_observation", "_result", "_failure"];
    matches!(kind, "tool" | "image") || ends.iter().any(|end| kind.ends_with(end))
}
