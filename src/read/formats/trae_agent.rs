//! trae-agent: a trajectory of steps with the calls of a response and their results.

use super::prelude::*;

pub(in crate::read) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(All(&[
        Has(&["task", "provider"]),
        Any(&[Is(Kind::List, &["agent_steps"]), Is(Kind::List, &["llm_interaction"])]),
    ]))],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let Document::Object(trajectory) = document else { return };
    let mut run = Recording::of_agent("trae-agent");
    run.model(trajectory.name("model"));
    run.metadata.termination = match trajectory.flag("success") {
        Some(true) => Some("success".to_owned()),
        Some(false) => Some("failure".to_owned()),
        None => None,
    };
    run.say(Actor::User, trajectory.text("task"));
    let mut steps = trajectory.list("agent_steps");
    // The Rust port keeps each step in its interaction with the model.
    steps.extend(trajectory.list("llm_interaction").into_iter().filter_map(|step| step.member("steps")));
    for item in steps {
        let item = Members::from(item);
        step(&item, &mut run);
    }
    run.give(runs);
}

fn step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    let response = step.object("llm_response");
    run.turn(step.time("timestamp"));
    run.spent(response.usage("usage"));
    run.say(Actor::Agent, response.text("content"));
    let mut calls = step.list("tool_calls");
    if calls.is_empty() {
        calls = response.list("tool_calls");
    }
    for call in calls.into_iter().map(Members::from) {
        run.call(id(&call), call.name("name"), call.first(&["arguments", "input"]));
    }
    for result in step.objects("tool_results") {
        let failed = result.flag("success").map(|success| !success);
        let error = result.get("error").filter(|_| result.name("error").is_some());
        let observed = match (failed, error) {
            (Some(true) | None, Some(error)) => Some(error),
            _ => result.present("result"),
        };
        let outcome = Outcome::of_flag(failed.or(error.map(|_| true)));
        run.answer(id(&result), result.name("name").as_ref(), observed.and_then(words::result), outcome);
    }
    run.say(Actor::Environment, step.text("error"));
    run.say(Actor::Environment, step.text("reflection"));
}

fn id<'a>(value: &Members<'a>) -> Option<Cow<'a, str>> {
    value.ident("call_id").or_else(|| value.ident("id"))
}
