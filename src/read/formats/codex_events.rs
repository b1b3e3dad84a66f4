//! Events of Codex: the marks of those that were printed, and the ends of calls.

use super::prelude::*;

/// An event as it was printed, by itself or as the parameters of a notification.
pub(super) const PRINTED: Mark = All(&[
    Is(Kind::String, &["id"]),
    In(
        "msg",
        &Says(
            "type",
            &[
                "agent_message",
                "agent_reasoning",
                "exec_command_begin",
                "exec_command_end",
                "mcp_tool_call_begin",
                "session_configured",
                "task_complete",
                "task_started",
                "token_count",
            ],
        ),
    ),
]);

/// Returns the call that an event ends, with its output. `None` if the event does not describe it.
pub(super) fn ended_call<'a>(kind: &str, event: &Members<'a>) -> Option<(Call<'a>, Option<TextCow<'a>>)> {
    let (name, arguments) = match kind {
        "exec_command_end" => {
            ("exec_command".into(), wire::sole_argument("cmd", Some(event.present("command")?)))
        }
        "patch_apply_end" => {
            ("apply_patch".into(), wire::sole_argument("changes", Some(event.present("changes")?)))
        }
        _ => {
            let invocation = Members::from(event.present("invocation")?);
            let [server, tool] = ["server", "tool"].map(|key| invocation.name(key).unwrap_or_default());
            (Cow::Owned(format!("{server}/{tool}")), invocation.arguments("arguments"))
        }
    };
    let mut call = Call::new(0, None, name).with(arguments);
    if event.name("source").as_deref() == Some("user_shell") {
        call.actor = Actor::User;
    }
    Some((call, output_of(event)))
}

/// Returns the output that the end of a call records.
pub(super) fn output_of<'a>(event: &Members<'a>) -> Option<TextCow<'a>> {
    let result = event.object("result");
    let answered = result.object("Ok").get("content").or_else(|| result.get("Err"));
    let printed = || wire::joined(["stdout", "stderr"].iter().filter_map(|key| event.text(key)).collect());
    let output = event.string("aggregated_output").or_else(|| answered.and_then(words::result));
    output.or_else(printed)
}

/// Returns whether an MCP call failed: `{Err}`, or `{Ok: {is_error}}`.
pub(super) fn mcp_failed(result: &Members<'_>) -> Option<bool> {
    if result.has("Err") {
        return Some(true);
    }
    let answered = result.object("Ok");
    answered.flag("is_error").or_else(|| answered.flag("isError"))
}

/// Converts `{secs, nanos}` to nanoseconds.
pub(super) fn duration(duration: &Members<'_>) -> Option<u64> {
    duration.count("secs")?.checked_mul(1_000_000_000)?.checked_add(duration.count("nanos")?)
}
