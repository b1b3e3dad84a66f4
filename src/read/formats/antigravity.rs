//! Antigravity: the steps of a conversation. A planner step has calls without ids; the steps after it are their
//! answers, in order.

use super::prelude::*;

pub(in crate::read) const FORMAT: Definition = Definition {
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
    document.each().for_each(|step| read_step(&step, &mut run));
    run.give(runs);
}

fn read_step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    run.turn(step.time("created_at"));
    run.model(step.name("model"));
    run.spent(step.get("usage").or_else(|| step.get("usage_metadata")).and_then(tokens::usage));
    let content = step.get("content");
    let error = step.get("error").filter(|error| !matches!(error.bytes(), b"null" | b"\"\""));
    match (step.name("type").as_deref(), step.name("source").as_deref()) {
        (Some("USER_INPUT"), _) => run.say(Actor::User, text(content)),
        (Some(kind @ ("PLANNER_RESPONSE" | "TEXT_RESPONSE" | "TOOL_CALL" | "FINISH")), source) => {
            let is_call = kind == "TOOL_CALL";
            let is_user = source.is_some_and(|source| source.starts_with("USER"));
            run.say(if is_user { Actor::User } else { Actor::Agent }, text(content));
            for call in calls(step, run) {
                // Steps of this type record the status of the call, but not its output.
                let is_done = is_call && step.name("status").as_deref() == Some("DONE");
                if let Some(error) = error {
                    run.answer_call(call, words::result(error), Outcome::flag(true));
                } else if is_done {
                    run.answer_in_part(call, Outcome::flag(false));
                }
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
        (Some("SYSTEM_MESSAGE"), _) | (Some(_), Some("SYSTEM")) => run.say(Actor::System, text(content)),
        (Some("ERROR_MESSAGE"), _) => run.say(Actor::Environment, text(error.or(content))),
        (Some(_), Some("MODEL")) => {
            let failed = step.name("status").as_deref() == Some("ERROR") || error.is_some();
            calls(step, run);
            run.answer(None, None, error.or(content).and_then(words::result), Outcome::flag(failed));
        }
        _ => run.pass_over("steps of other types", 1),
    }
}

fn calls<'a>(step: &Members<'a>, run: &mut Recording<'a>) -> Vec<CallNumber> {
    let calls = step.objects("tool_calls");
    calls
        .map(|call| run.call(call.ident("id"), call.name("name"), call.first(&["args", "arguments"])))
        .collect()
}
