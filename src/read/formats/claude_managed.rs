//! Claude Managed Agents: the events of a session, alone or as `raw` in the events of a client.

use super::prelude::*;

pub(super) const FORMAT: Definition = Definition {
    signature: &[Shape::Under(&["events", "data"], Any(&[EVENT, In("raw", &EVENT)]))],
    reader: Reader::Document(read),
};

const EVENT: Mark = All(&[
    Says(
        "type",
        &[
            "agent.message",
            "agent.thinking",
            "agent.tool_use",
            "agent.tool_result",
            "agent.mcp_tool_use",
            "agent.mcp_tool_result",
            "agent.custom_tool_use",
            "user.custom_tool_result",
            "session.status_*",
        ],
    ),
    HasOne(&["id", "processed_at"]),
]);

fn read(document: &Document<'_>, runs: &mut Runs<'_>) {
    let mut sessions = Recordings::of_agent("claude-managed");
    // Calls that the user refused. A result that says the same follows.
    let mut refused = TextSet::default();
    for outer in objects(document, &["events", "data"]) {
        // The event inside a client's wrapper.
        let event = outer.within("raw");
        // The status of a thread is not a step.
        if event.name("type").is_some_and(|kind| kind.starts_with("session.thread_")) {
            continue;
        }
        // The threads of sub-agents are runs of their own.
        let thread = event.ident("session_thread_id");
        let session = ident(event.get("session_id").or_else(|| outer.get("session_id")));
        let run = sessions.run(thread.clone().or_else(|| session.clone()));
        if thread.is_some() {
            run.metadata.parent = session.map(Into::into);
        }
        let (kind, time) = (event.name("type"), event.time("processed_at"));
        let kind = kind.as_deref();
        let is_call = matches!(kind, Some("agent.tool_use" | "agent.mcp_tool_use" | "agent.custom_tool_use"));
        if is_call {
            run.turn_of_call(time);
        } else {
            run.turn(time);
        }
        let id = |key: &str| event.ident(key);
        let content = event.get("content");
        match kind {
            _ if is_call => _ = run.call(id("id"), event.name("name"), event.get("input")),
            Some("user.define_outcome") => run.say(Actor::User, event.text("description")),
            Some("user.message") => run.say(Actor::User, text(content)),
            Some("system.message") => run.say(Actor::System, text(content)),
            Some("agent.message") => run.say(Actor::Agent, text(content)),
            Some(
                "agent.tool_result"
                | "agent.mcp_tool_result"
                | "user.custom_tool_result"
                | "user.tool_result",
            ) => {
                let call =
                    id("tool_use_id").or_else(|| id("mcp_tool_use_id")).or_else(|| id("custom_tool_use_id"));
                let outcome = Outcome::of_flag(event.flag("is_error"));
                if !call.as_ref().is_some_and(|call| refused.contains(call)) {
                    run.answer(call, None, content.and_then(words::result), outcome);
                }
            }
            Some("user.tool_confirmation") if event.name("result").as_deref() == Some("deny") => {
                let observed = event.result("deny_message");
                run.answer(id("tool_use_id"), None, observed, Outcome::REFUSED);
                refused.extend(id("tool_use_id"));
            }
            Some("span.model_request_end") => run.set_usage(event.usage("model_usage")),
            Some("session.error") => run.say(Actor::Environment, event.result("error")),
            Some("span.outcome_evaluation_end") => {
                run.reward = event.name("result").as_deref().and_then(graded);
            }
            Some("session.status_idle") => {
                if let Some(reason) = event.object("stop_reason").name("type") {
                    run.metadata.termination = Some(reason.into_owned());
                }
            }
            Some("session.status_running") => run.metadata.termination = None,
            Some("session.status_terminated") => run.metadata.termination = Some("terminated".to_owned()),
            Some(kind) if kind.starts_with("session.") || kind.starts_with("span.") => {}
            Some("agent.thinking" | "user.tool_confirmation" | "user.interrupt") => {}
            _ => runs.pass_over("events of other types", 1),
        }
    }
    sessions.give(runs);
}

/// Returns the reward for the result of an evaluation, unless the result leaves the outcome open.
fn graded(result: &str) -> Option<f64> {
    match result {
        "satisfied" => Some(1.0),
        "failed" | "not_satisfied" | "unsatisfied" => Some(0.0),
        _ => None,
    }
}
