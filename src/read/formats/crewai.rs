//! CrewAI: the events of a crew, and its log of tasks (`output_log_file`). Only the name of the tool pairs the start of
//! a call with its end.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Items(All(&[
            Has(&["timestamp", "task_name", "task", "agent"]),
            Says("status", &["started", "completed"]),
            Test("no other members than `output`", |entry| {
                let known = ["timestamp", "task_name", "task", "agent", "status", "output"];
                entry.keys().all(|key| known.contains(&key))
            }),
        ])),
        Shape::Under(
            &["events"],
            All(&[
                Has(&["timestamp"]),
                Says(
                    "type",
                    &[
                        "crew_kickoff_started",
                        "crew_kickoff_completed",
                        "crew_kickoff_failed",
                        "agent_execution_started",
                        "agent_execution_completed",
                        "llm_call_started",
                        "llm_call_completed",
                        "tool_usage_started",
                        "tool_usage_finished",
                        "tool_usage_error",
                    ],
                ),
            ]),
        ),
    ],
    reader: Reader::Document(read),
};

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut run = Recording::of_agent("crewai");
    let mut is_open = false;
    for event in objects(document, &["events"]) {
        // Each kickoff of a crew is a run.
        if is_open && event.name("type").as_deref() == Some("crew_kickoff_started") {
            std::mem::replace(&mut run, Recording::of_agent("crewai")).give(runs);
        }
        is_open = true;
        read_event(&event, &mut run);
    }
    run.give(runs);
}

fn read_event<'a>(event: &Members<'a>, run: &mut Recording<'a>) {
    // Uploaded traces nest the members of an event.
    let data = event.within("event_data");
    run.turn(event.time("timestamp"));
    let tool = || data.name("tool_name");
    match event.name("type").as_deref() {
        Some("crew_kickoff_started") => {
            run.metadata.domain = data.name("crew_name").as_deref().map(Into::into);
        }
        Some("crew_kickoff_completed") => run.metadata.termination = Some("completed".to_owned()),
        Some("crew_kickoff_failed") => run.metadata.termination = Some("failed".to_owned()),
        Some("task_started") => {
            run.say(Actor::User, data.object("task").text("description"));
        }
        Some("llm_call_completed") => {
            run.model(data.name("model"));
            run.set_usage(data.usage("usage"));
            if data.name("call_type").as_deref() != Some("tool_call") {
                run.say(Actor::Agent, data.text("response"));
            }
        }
        Some("tool_usage_started") => {
            run.call(None, tool(), data.get("tool_args"));
        }
        Some("tool_usage_finished") => answer(&data, data.get("output"), Outcome::flag(false), run),
        Some("tool_usage_error" | "tool_execution_error" | "tool_validate_input_error") => {
            answer(&data, data.get("error"), Outcome::flag(true), run);
        }
        // The model named a tool that does not exist, so no start was recorded.
        Some("tool_selection_error") => {
            run.call(None, tool(), data.get("tool_args"));
            answer(&data, data.get("error"), Outcome::flag(true), run);
        }
        None if data.name("status").as_deref() == Some("started") => run.say(Actor::User, data.text("task")),
        None if data.name("status").is_some() => run.say(Actor::Agent, data.text("output")),
        _ => run.pass_over("events of other types", 1),
    }
}

/// Answers the oldest open call of a tool. Adds the call first if its start was not recorded.
fn answer<'a>(data: &Members<'a>, observed: Option<Raw<'a>>, outcome: Outcome, run: &mut Recording<'a>) {
    let name = data.name("tool_name");
    let call = run.oldest(name.as_ref()).unwrap_or_else(|| run.call(None, name, data.get("tool_args")));
    run.answer_call(call, observed.and_then(words::result), outcome);
}
