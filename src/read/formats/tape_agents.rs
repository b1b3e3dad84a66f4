//! Tapes of TapeAgents: steps by kind. The observation after an action is its answer.

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
            for call in step.objects("tool_calls") {
                let function = call.object("function");
                run.call(call.ident("id"), function.name("name"), function.get("arguments"));
            }
        }
        // A broadcast repeats the message before it.
        "set_next_node" | "broadcast" => {}
        kind if kind.contains("_thought") => {
            let first =
                || step.iter().filter(|(key, _)| *key != "kind").find_map(|(_, value)| words::text(value));
            run.say(Actor::Agent, text().or_else(first));
        }
        kind if kind.ends_with("answer_action") => run.say(Actor::Agent, text()),
        kind if kind == "execute_code" || kind.ends_with("_action") => {
            let is_about = |key: &[u8]| matches!(key, b"kind" | b"metadata");
            let given = step.whole().map(|step| common::arguments_without(step, is_about));
            let name = kind.strip_suffix("_action").unwrap_or(kind).to_owned();
            run.add(Call::new(0, None, name).with(given.unwrap_or(Content::Absent)));
        }
        kind if kind == "tool" || kind.ends_with("_observation") || kind.ends_with("_result") => {
            answer(step, run)
        }
        _ => run.pass_over("steps of other kinds", 1),
    }
}

fn answer<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    let result = step.object("result");
    let error = step.text("error");
    let outcome = Outcome::of_code(result.get("exit_code"));
    let has_failed = error.is_some();
    let observed = error.or_else(|| {
        let kept = ["content", "text", "serp", "result"].iter().find_map(|key| step.result(key));
        result.result("output").or(kept)
    });
    let outcome = match &observed {
        _ if has_failed => Outcome::flag(true),
        Some(text) if outcome == Outcome::UNMARKED => Outcome::by_text(reports_failure(text.text())),
        _ => outcome,
    };
    let id = step.ident("tool_call_id");
    let asked = step.object("metadata").object("other").name("action_kind");
    let asked = asked.map(|kind| Cow::Owned(kind.trim_end_matches("_action").to_owned()));
    if id.is_some() {
        return run.answer(id, None, observed, outcome);
    }
    match run.oldest(asked.as_ref()) {
        Some(call) => run.answer_call(call, observed, outcome),
        // An environment shows its state before the first action.
        None => run.say(Actor::Environment, observed),
    }
}
