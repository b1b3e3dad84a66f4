//! smolagents: the steps of an agent's memory. A step has calls or a piece of code, and one text with the
//! results. A row of an evaluation may have no steps because the agent failed.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&LISTS, STEP), Shape::Object(FAILED)],
    reader: Reader::Document(read),
};

const STEP: Mark = All(&[
    Has(&["step_number", "observations"]),
    HasOne(&["tool_calls", "code_action"]),
    HasOne(&["model_output", "model_output_message", "action_output"]),
]);

const FAILED: Mark = All(&[
    Has(&["question"]),
    Is(Kind::String, &["agent_error"]),
    Test("`intermediate_steps` (an empty list)", |row| {
        row.get("intermediate_steps").and_then(Raw::items).is_some_and(|steps| steps.is_empty())
    }),
]);

const LISTS: [&str; 3] = ["steps", "intermediate_steps", "memory"];

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("smolagents");
    let around = document.members();
    run.metadata.task = around.ident("task_id").map(Into::into);
    run.model(around.name("model_id"));
    run.metadata.termination = around.name("agent_error").map(|_| "error".to_owned());
    // Next to a question, the task may be its number or level.
    run.say(Actor::User, text(around.present("question").or_else(|| around.get("task"))));
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
    run.set_usage(step.usage("token_usage"));
    let message = step.object("model_output_message");
    run.say(Actor::Agent, text(step.present("model_output").or_else(|| message.get("content"))));
    let error = step.present("error");
    // A step that failed may have its calls only in the message.
    let in_message = error.is_some() && step.list("tool_calls").is_empty();
    let calls: Vec<_> = if in_message { &message } else { step }.objects("tool_calls").collect();
    let mut open: Vec<_> = calls.iter().map(|call| add(call, run)).collect();
    if let Some(code) = step.get("code_action").and_then(Raw::string)
        && open.is_empty()
    {
        open.push(run.call_text("python_interpreter", "code", &code));
    }
    let count = open.len();
    let observations = step.present("observations");
    // The observations stand in for a result that names no call or has another key.
    let is_read = |result: &Members<'_>| result.ident("id").is_some() && result.present("content").is_some();
    let mut results: Vec<_> = step.objects("tool_results").collect();
    results.retain(|result| observations.is_none() || is_read(result));
    // If each call has a result, the last one gets the error in its place.
    let has_result = |call: &Members<'_>| results.iter().any(|result| result.ident("id") == call.ident("id"));
    let are_told = error.is_some() && calls.iter().all(has_result);
    let last = calls.last().and_then(|call| call.ident("id")).filter(|_| are_told);
    results.retain(|result| last.is_none() || result.ident("id") != last);
    for result in &results {
        run.answer_with(result.ident("id"), Outcome::UNMARKED.answer(result.result("content").into()));
    }
    run.steps.pair_new();
    open.retain(|call| !run.steps.is_answered(*call));
    let failure = error.and_then(|error| words::result(error.member("message").unwrap_or(error)));
    // The observations may only repeat the results.
    let parts = || results.iter().filter_map(|result| result.result("content"));
    let observed = observations.and_then(words::result).filter(|text| {
        let text = text.text().to_str().into_owned();
        let rest = parts().fold(text, |rest, part| rest.replacen(&*part.text().to_str(), "", 1));
        open.len() == count || !common::is_blank(&rest)
    });
    let (outcome, others) = match error {
        Some(_) => (Outcome::flag(true), Outcome::unknown(UnknownReason::Unspecified, Provenance::None)),
        None => (Outcome::UNMARKED, Outcome::UNMARKED),
    };
    // The text holds the results of all calls of the step, so only one call gets it: the one that an error names, or
    // else the last.
    let said = failure.as_ref().map(|text| text.text().to_str().into_owned()).unwrap_or_default();
    let is_named = |call: &CallNumber| {
        run.call_mut(*call).is_some_and(|call| said.contains(&format!("'{}'", call.name)))
    };
    let place = open.iter().rposition(is_named).or(open.len().checked_sub(1));
    let observed = failure.or(observed);
    let observed = observed.or_else(|| step.result("action_output"));
    match place.map(|place| open.remove(place)) {
        Some(_) if observed.is_none() && !results.is_empty() && error.is_none() => {}
        Some(call) => {
            for call in open {
                run.answer_without_text(call, others);
            }
            run.answer_call(call, observed, outcome);
        }
        None if results.is_empty() || error.is_some() => run.say(Actor::Environment, observed),
        None => {}
    }
}

/// Adds a call: `{id, name, arguments}`, or `{id, function: {name, arguments}}`.
fn add<'a>(call: &Members<'a>, run: &mut Recording<'a>) -> CallNumber {
    let function = if call.has("function") { call.object("function") } else { call.clone() };
    run.call(call.ident("id"), function.name("name"), function.get("arguments"))
}
