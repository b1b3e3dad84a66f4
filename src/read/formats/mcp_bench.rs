//! MCP-Bench: the results of tasks, by model. A result lists the calls of a run with their answers; the calls of a
//! sub-agent are listed in the call that started it.

use super::prelude::*;
use crate::read::call_outcome;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Object(In(
        "task_run_results",
        &Test("a list of tasks with `execution_results`", has_runs),
    ))],
    reader: Reader::Object(read),
};

fn has_runs(models: &Members<'_>) -> bool {
    models
        .iter()
        .any(|(_, tasks)| any_of_first(&items(Some(tasks)), |task| task.is("execution_results", Kind::List)))
}

fn read(results: &Members<'_>, runs: &mut Runs<'_>) {
    for (model, tasks) in results.object("task_run_results").iter() {
        for task in items(Some(tasks)).into_iter().map(Members::from) {
            if task.is("execution_results", Kind::List) {
                read_task(model, &task, runs);
            } else {
                runs.pass_over("tasks without execution results", 1);
            }
        }
    }
}

fn read_task(model: &str, task: &Members<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("mcp-bench");
    run.model(task.name("model_name").or_else(|| Some(model.into())));
    run.metadata.task = task.ident("task_id").map(Cow::into_owned);
    run.metadata.termination = task.name("status").map(Cow::into_owned);
    let asked = ["fuzzy_description", "task_description", "task"];
    run.say(Actor::User, asked.iter().find_map(|key| task.text(key)));
    // The depth, round and part of the round in which the previous call was issued.
    let mut last = None;
    let mut waiting: Vec<_> =
        task.list("execution_results").into_iter().rev().map(|entry| (0, entry)).collect();
    while let Some((depth, entry)) = waiting.pop() {
        let entry = Members::from(entry);
        if entry.name("tool").is_none() {
            run.pass_over("results without a tool", 1);
            continue;
        }
        let round = entry.first(&["sub_round", "round", "round_num"]).and_then(Raw::integer);
        let place = Some((depth, round, entry.integer("planned_layer")));
        if place != last || round.is_none() {
            run.turn(None);
        }
        last = place;
        call(&entry, &mut run);
        waiting.extend(entry.list("inner_tool_calls").into_iter().rev().map(|inner| (depth + 1, inner)));
    }
    run.turn(None);
    run.say(Actor::Agent, task.text("solution"));
    run.say(Actor::Environment, task.text("error"));
    run.give(runs);
}

fn call<'a>(entry: &Members<'a>, run: &mut Recording<'a>) {
    run.time(entry.get("timestamp").and_then(time::of_seconds));
    let call = run.call(entry.ident("call_id"), entry.name("tool"), entry.get("parameters"));
    let answer =
        ["response", "result"].iter().find_map(|key| entry.get(key).filter(|answer| !is_empty(*answer)));
    let marked = answer.and_then(|answer| answer.member("isError")).and_then(Raw::boolean);
    let failed = match (entry.flag("success"), marked) {
        (Some(success), marked) => Some(!success || marked == Some(true)),
        (None, marked) => entry.get("error").and_then(call_outcome::says_error).or(marked),
    };
    let observed = answer.and_then(|answer| words::result(inner(answer)));
    let observed = observed.filter(|text| failed != Some(true) || !text.text().to_str().trim().is_empty());
    run.answer_call(call, observed.or_else(|| entry.result("error")), Outcome::of_flag(failed));
}

/// Returns what an answer of MCP, or one wrapped by ADK, holds, or the answer itself if it holds more.
fn inner(answer: Raw<'_>) -> Raw<'_> {
    let members = Members::from(answer);
    let is_aside = |key: &str| matches!(key, "isError" | "structuredContent" | "_meta");
    let mut others = members.iter().filter(|(key, _)| !is_aside(key));
    match (others.next(), others.next()) {
        (Some(("content" | "result" | "output", inner)), None) if !is_empty(inner) => inner,
        _ => answer,
    }
}

fn is_empty(value: Raw<'_>) -> bool {
    value.kind() == Kind::Null || value.items().is_some_and(|items| items.is_empty())
}
