//! smolagents: the steps of an agent's memory. A step has calls or a piece of code, and one text with the
//! results.

use super::prelude::*;

pub(super) const FORMAT: Definition =
    Definition { signature: &[Shape::Under(&LISTS, STEP)], reader: Reader::Document(read) };

const STEP: Mark = All(&[
    Has(&["step_number", "observations"]),
    HasOne(&["tool_calls", "code_action"]),
    HasOne(&["model_output", "model_output_message", "action_output"]),
]);

const LISTS: [&str; 3] = ["steps", "intermediate_steps", "memory"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("smolagents");
    let around = document.members();
    run.metadata.task = around.ident("task_id").map(Into::into);
    run.model(around.name("model_id"));
    run.say(Actor::User, text(around.first(&["task", "question"])));
    for item in objects(document, &LISTS) {
        let timing = item.object("timing");
        run.turn(timing.get("start_time").or_else(|| item.get("start_time")).and_then(time::of_seconds));
        if STEP.fits(&item) {
            step(&item, &mut run);
        } else if item.has("task") {
            run.say(Actor::User, item.text("task"));
        } else if item.has("system_prompt") {
            run.say(Actor::System, item.text("system_prompt"));
        } else if item.has("plan") {
            run.say(Actor::Agent, item.text("plan"));
        } else {
            run.pass_over("elements of other types", 1);
        }
    }
    run.give(runs);
}

fn step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    run.spent(step.usage("token_usage"));
    let output = step.present("model_output");
    let message = step.get("model_output_message");
    run.say(Actor::Agent, text(output.or_else(|| message.and_then(|message| message.member("content")))));
    let calls = step.objects("tool_calls");
    let mut numbers: Vec<_> = calls.map(|call| add(&call, run)).collect();
    if let Some(code) = step.get("code_action").and_then(Raw::string)
        && numbers.is_empty()
    {
        numbers.push(run.call_text("python_interpreter", "code", &code));
    }
    let error = step.present("error");
    let observations = step.present("observations");
    let outcome = if error.is_some() { Outcome::flag(true) } else { Outcome::UNMARKED };
    let failure = error.and_then(|error| words::result(error.member("message").unwrap_or(error)));
    let observed = failure.or_else(|| observations.and_then(words::result));
    let observed = observed.or_else(|| step.result("action_output"));
    match numbers.pop() {
        // The text holds the results of all calls of the step, so only the last call gets it.
        Some(last) => {
            for call in numbers {
                run.answer_in_part(call, outcome);
            }
            run.answer_call(last, observed, outcome);
        }
        None => run.say(Actor::Environment, observed),
    }
}

/// Adds a call: `{id, name, arguments}`, or `{id, function: {name, arguments}}`.
fn add<'a>(call: &Members<'a>, run: &mut Recording<'a>) -> CallNumber {
    let function = if call.has("function") { call.object("function") } else { call.clone() };
    run.call(call.ident("id"), function.name("name"), function.get("arguments"))
}
