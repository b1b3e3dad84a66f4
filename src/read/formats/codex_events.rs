//! Lines of Codex sessions: the marks of old ones, who wrote a message, and the ends of calls in events.

use super::chat_items::Item;
use super::prelude::*;
use crate::read::text_calls;

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
            let invocation = event.present("invocation").map_or_else(|| event.clone(), Members::from);
            invocation.present("tool")?;
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
    let content = [result.object("Ok"), result.clone()].iter().find_map(|result| result.get("content"));
    let answered = content.or_else(|| result.get("Err")).or_else(|| event.object("error").get("message"));
    let printed = || wire::joined(["stdout", "stderr"].iter().filter_map(|key| event.text(key)).collect());
    let output = event.string("aggregated_output").or_else(|| answered.and_then(words::result));
    output.or_else(printed)
}

/// Returns the outcome that the end of a call states: that it was declined, a flag, an exit code, or a status.
pub(super) fn outcome_of(kind: &str, event: &Members<'_>) -> Option<Outcome> {
    let status = event.outcome("status");
    let failed = match kind {
        "exec_command_end" => None,
        "patch_apply_end" => event.flag("success").map(|is_ok| !is_ok),
        _ => mcp_failed(event),
    };
    let code = || event.get("exit_code").and_then(is_failure_code).map(Outcome::exit_code);
    let declined = status.filter(|status| *status == Outcome::REFUSED);
    declined.or(failed.map(Outcome::flag)).or_else(code).or(status)
}

/// Returns whether an MCP call failed: `result` is `{Err}`, `{Ok: {is_error}}` or `{isError}`, or there is an `error`.
fn mcp_failed(event: &Members<'_>) -> Option<bool> {
    let result = event.object("result");
    let flag = |result: &Members<'_>| result.flag("is_error").or_else(|| result.flag("isError"));
    let has_error = result.has("Err") || event.present("error").is_some();
    if has_error { Some(true) } else { flag(&result.object("Ok")).or_else(|| flag(&result)) }
}

/// Returns the duration of a call in nanoseconds, from `{secs, nanos}`.
pub(super) fn duration(event: &Members<'_>) -> Option<u64> {
    let duration = event.object("duration");
    duration.count("secs")?.checked_mul(1_000_000_000)?.checked_add(duration.count("nanos")?)
}

/// The scripts of a session, whose own calls are only in events.
#[derive(Default)]
pub(super) struct Scripts<'a> {
    /// True if a call ran a script.
    pub(super) are_any: bool,
    /// The calls of the current turn that start a script or wait for one, and have no output.
    pub(super) open: Vec<Cow<'a, str>>,
    /// The time of the call that started the last script.
    began: Option<u64>,
}

impl<'a> Scripts<'a> {
    pub(super) fn begin(&mut self, kind: Item, call: &Call<'a>) {
        let is_script = kind == Item::Custom && call.name == "exec";
        if is_script {
            (self.are_any, self.began) = (true, call.time);
        }
        if is_script || self.are_any && call.name == "wait" {
            self.open.extend(call.id.clone());
        }
    }

    pub(super) fn end(&mut self, id: Option<&Cow<'a, str>>) {
        self.open.retain(|open| Some(open) != id);
    }

    /// Returns the only open call whose script may have made the call that ended in an event. A call from before the
    /// script, such as a server that stops, is not its own; times differ by less than a second.
    pub(super) fn caller(&self, event: &Members<'a>, time: Option<u64>) -> Option<Cow<'a, str>> {
        let began = time.map(|time| time.saturating_sub(duration(event).unwrap_or(0)));
        let is_earlier =
            began.zip(self.began).is_some_and(|(call, script)| call.saturating_add(1_000_000_000) < script);
        let is_of_user = event.name("source").as_deref() == Some("user_shell");
        match &*self.open {
            [id] if !is_earlier && !is_of_user => Some(id.clone()),
            _ => None,
        }
    }
}

/// Returns true for the first line of a session of the earliest Codex versions, where the other lines are bare items.
pub(super) fn is_old_header(line: &Members<'_>) -> bool {
    line.is("id", Kind::String)
        && ["timestamp", "instructions"].iter().all(|key| line.has(key))
        && line.keys().all(|key| matches!(key, "id" | "timestamp" | "instructions" | "git"))
}

/// Returns the name of a call. A tool of MCP has its server in the namespace, `mcp__<server>__`.
pub(super) fn name_of<'a>(item: &Members<'a>) -> Option<Cow<'a, str>> {
    let name = item.name("name")?;
    match item.name("namespace").filter(|space| space.starts_with("mcp__") && !name.starts_with("mcp__")) {
        Some(space) if space.ends_with('_') || name.starts_with('_') => Some(format!("{space}{name}").into()),
        Some(space) => Some(format!("{space}__{name}").into()),
        None => Some(name),
    }
}

/// Returns who wrote a message in an item. What the harness adds has the user's role; its text or the kinds of
/// its parts say so. The kind `unknown` says nothing.
pub(super) fn writer_of(item: &Members<'_>, text: Option<&TextCow<'_>>) -> Actor {
    let kinds = item.object("internal_chat_message_metadata_passthrough").list("content_item_kinds");
    let is_added = |kind: Cow<'_, str>| kind != "unknown" && !kind.starts_with("user.");
    let are_added =
        || !kinds.is_empty() && kinds.iter().all(|kind| common::name(*kind).is_some_and(is_added));
    match item.name("role").as_deref() {
        Some("assistant") => Actor::Agent,
        Some("user") if are_added() || text.is_some_and(|text| text_calls::is_notice(text.text())) => {
            Actor::Environment
        }
        Some("user") => Actor::User,
        _ => Actor::System,
    }
}
