//! trae-agent: a trajectory of steps, each with the calls of one response and their results.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(All(&[
            Has(&["task", "provider"]),
            Any(&[Is(Kind::List, &["agent_steps"]), Is(Kind::List, &["llm_interaction"])]),
        ])),
        Shape::Object(All(&[
            Has(&["task", "agent_id"]),
            Holds("steps", &Has(&["messages", "tool_calls", "tool_results"])),
        ])),
    ],
    reader: Reader::Object(read),
};

fn read<'a>(trajectory: &Members<'a>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("trae-agent");
    run.model(trajectory.name("model"));
    let success = trajectory.flag("success");
    run.metadata.termination = success.map(|success| if success { "success" } else { "failure" }.into());
    let mut steps = trajectory.list("agent_steps");
    // The Rust port keeps each step in its interaction with the model.
    steps.extend(trajectory.list("llm_interaction").into_iter().filter_map(|step| step.member("steps")));
    steps.extend(trajectory.list("steps"));
    // The TypeScript port records the task in each step; the trajectory itself names only the last task.
    let asked =
        |step: Option<Raw<'a>>| step.and_then(|step| step.member("task")).or_else(|| trajectory.get("task"));
    let mut task = asked(steps.first().copied());
    run.say(Actor::User, text(task));
    for item in steps {
        if item.kind() != Kind::Object {
            run.pass_over("steps that are not objects", 1);
            continue;
        }
        let next = asked(Some(item));
        if next.map(Raw::bytes) != task.map(Raw::bytes) {
            task = next;
            run.say(Actor::User, text(task));
        }
        step(&Members::from(item), &mut run);
    }
    run.give(runs);
}

fn step<'a>(step: &Members<'a>, run: &mut Recording<'a>) {
    let response = step.object("llm_response");
    run.turn(step.time("timestamp"));
    run.set_usage(response.usage("usage"));
    run.say(Actor::Agent, response.text("content").or_else(|| step.text("llm_response_content")));
    let mut calls = step.list("tool_calls");
    if calls.is_empty() {
        calls = response.list("tool_calls");
    }
    let calls = calls.into_iter().map(Members::from).map(|call| {
        let function = call.within("function");
        run.call(id(&call), function.name("name"), function.first(&["arguments", "input"]))
    });
    let calls: Vec<_> = calls.collect();
    for (place, result) in step.objects("tool_results").enumerate() {
        let failed = result.flag("success").map(|success| !success);
        let outcome = Outcome::of_flag(failed.or(error(&result).map(|_| true)));
        let (id, observed) = (id(&result), observed(&result));
        match calls.get(place).filter(|_| id.is_none()) {
            Some(call) => run.answer_call(*call, observed, outcome),
            None => run.answer(id, result.name("name").as_ref(), observed, outcome),
        }
    }
    run.say(Actor::Environment, step.text("error"));
    run.say(Actor::Environment, step.text("reflection"));
}

/// Returns the text of a result. A command that printed to both streams has the second one as its error.
fn observed<'a>(result: &Members<'a>) -> Option<TextCow<'a>> {
    let (printed, error) = (result.result("result"), error(result));
    let Some(error) = error else { return printed };
    let Some(printed) = printed.filter(|printed| !wire::is_blank(printed.text())) else { return Some(error) };
    let [first, last] = [&printed, &error].map(|text| text.text().to_str().trim_end().to_owned());
    Some(if first.ends_with(&last) { printed } else { [first, last].join("\n").into() })
}

/// Returns the error of a result, which may be an object with a message.
fn error<'a>(result: &Members<'a>) -> Option<TextCow<'a>> {
    match result.get("error")?.kind() {
        Kind::String => result.text("error"),
        Kind::Object if members(result.get("error")).iter().next().is_some() => result.result("error"),
        _ => None,
    }
}

fn id<'a>(value: &Members<'a>) -> Option<Cow<'a, str>> {
    ["call_id", "id", "tool_call_id"].iter().find_map(|key| value.ident(key))
}
