//! Lines of Codex sessions: the marks of old ones, who wrote a message, and the ends of calls in events.

use super::chat_items::Item;
use super::codex_text;
use super::prelude::*;
use crate::read::text_results;
use crate::trace::Entry;

/// A step that waits.
pub(super) enum Step<'a> {
    Whole(Entry<'a>),
    Output {
        turn: u64,
        id: Option<Cow<'a, str>>,
        output: Option<Raw<'a>>,
    },
    /// A message in an event after a number of requests, which is a copy if the actor's messages are items.
    Told {
        requests: u64,
        actor: Actor,
        turn: u64,
        text: TextCow<'a>,
        time: Option<u64>,
    },
    /// The end of a call, in an event. It counts unless the output is an item.
    Ended(Box<Call<'a>>, Option<TextCow<'a>>),
}

impl<'a> Step<'a> {
    /// Returns the digest of a message of the agent in an event if it is the start of a message in an item, which may
    /// have notes at its end.
    pub(super) fn start_of(&self, item: &TextCow<'a>) -> Option<Digest> {
        let Step::Told { actor: Actor::Agent, text, .. } = self else { return None };
        item.text().starts_with(&text.text().to_str()).then(|| text.text().digest())
    }
}

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

/// Returns the type of the event that older versions recorded for the end of a call, by the type of its item.
pub(super) fn event_of_item(kind: &str) -> Option<&'static str> {
    match kind {
        "CommandExecution" => Some("exec_command_end"),
        "FileChange" => Some("patch_apply_end"),
        "McpToolCall" => Some("mcp_tool_call_end"),
        _ => None,
    }
}

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
            let described = event.present("invocation").map(Members::from);
            let invocation = described.or_else(|| event.present("tool").map(|_| event.clone()))?;
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

/// Returns the outcome that the end of a call states: that it was declined, a flag, or an exit code.
fn outcome_of(kind: &str, event: &Members<'_>) -> Option<Outcome> {
    let is_declined = event.name("status").as_deref() == Some("declined");
    let code = || event.get("exit_code").and_then(is_failure_code).map(Outcome::exit_code);
    let stated = match kind {
        "exec_command_end" => code(),
        "patch_apply_end" => event.flag("success").map(|is_ok| Outcome::flag(!is_ok)),
        _ => mcp_failed(event).map(Outcome::flag),
    };
    is_declined.then_some(Outcome::REFUSED).or(stated)
}

/// Returns whether an MCP call failed: `result` is `{Err}`, `{Ok: {is_error}}` or `{isError}`, or there is an `error`.
fn mcp_failed(event: &Members<'_>) -> Option<bool> {
    let result = event.object("result");
    let flag = |result: &Members<'_>| result.flag("is_error").or_else(|| result.flag("isError"));
    if result.has("Err") {
        return Some(true);
    }
    if result.has("Ok") {
        return flag(&result.object("Ok"));
    }
    let has_error = event.text("error").is_some() || event.object("error").keys().next().is_some();
    if has_error { Some(true) } else { flag(&result) }
}

/// The outcomes that events state, by call id.
#[derive(Default)]
pub(super) struct Stated<'a> {
    outcomes: TextMap<Cow<'a, str>, Outcome>,
    /// Bare words for a status. Each counts only if neither a code nor the output of the call states an outcome.
    words: TextMap<Cow<'a, str>, Outcome>,
}

impl<'a> Stated<'a> {
    /// Adds and returns the outcome that the end of a call states.
    pub(super) fn add(&mut self, id: Cow<'a, str>, kind: &str, event: &Members<'a>) -> Option<Outcome> {
        let Some(stated) = outcome_of(kind, event) else {
            let word = event.outcome("status").filter(|word| word.status != Status::Unknown);
            self.words.extend(word.map(|word| (id, word)));
            return word;
        };
        let known = self.outcomes.entry(id).or_insert(stated);
        // A flag takes precedence, whichever comes first.
        if known.provenance != Provenance::Flag || stated.provenance == Provenance::Flag {
            *known = stated;
        }
        Some(stated)
    }

    /// Sets the outcome of a script: that of its last call, if it failed.
    pub(super) fn set_script(&mut self, id: Cow<'a, str>, of_call: Option<Outcome>) {
        match of_call.filter(|outcome| outcome.status == Status::Error) {
            Some(outcome) => _ = self.outcomes.insert(id, outcome),
            None => _ = self.outcomes.remove(&id),
        }
    }

    /// Adds the failure that a script printed.
    pub(super) fn extend(&mut self, printed: Option<(Cow<'a, str>, Outcome)>) {
        self.outcomes.extend(printed.filter(|(_, outcome)| outcome.status == Status::Error));
    }

    pub(super) fn outcome(&self, id: &str) -> Option<Outcome> {
        self.outcomes.get(id).copied()
    }

    /// Returns an answer with the outcome of the word for its status, if nothing else states one.
    pub(super) fn completed(&self, id: &str, answer: Answer<'a>) -> Answer<'a> {
        let word = self.words.get(id).filter(|_| answer.provenance == Provenance::None);
        match word {
            Some(word) => word.answer(answer.observation),
            None => answer,
        }
    }
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
    open: TextMap<Cow<'a, str>, Script>,
    /// The last of these calls.
    last: Option<Cow<'a, str>>,
    /// The ids of the scripts that still run after a call, which Codex calls cells.
    running: TextSet<String>,
    /// The time of the call that started the last script.
    began: Option<u64>,
}

#[derive(Default)]
struct Script {
    /// The cell for which the call waits.
    cell: Option<String>,
    /// True if a call of the script ended in an event.
    has_ended_call: bool,
}

impl<'a> Scripts<'a> {
    /// Notes a call that starts a script, or waits for one.
    pub(super) fn begin(&mut self, kind: Item, call: &Call<'a>, item: &Members<'a>) {
        let is_script = kind == Item::Custom && call.name == "exec";
        if is_script {
            (self.are_any, self.began) = (true, call.time);
        }
        let is_wait = self.are_any && call.name == "wait" && item.name("namespace").is_none();
        let waited_for = if is_wait { cell_of(item) } else { None };
        if (is_script || waited_for.is_some())
            && let Some(id) = &call.id
        {
            self.open.insert(id.clone(), Script { cell: waited_for, has_ended_call: false });
            self.last = Some(id.clone());
        }
    }

    /// Notes the output of a call. Returns the outcome of the last command that a script printed, unless an event
    /// ended a call of the script.
    pub(super) fn end(&mut self, id: Option<&Cow<'a, str>>, output: Option<Raw<'a>>) -> Option<Outcome> {
        let script = self.open.remove(id?)?;
        let parts = output.map(|output| output.items().unwrap_or_else(|| vec![output])).unwrap_or_default();
        let texts: Vec<_> = parts.into_iter().filter_map(words::text).collect();
        let [first, .., last] = &*texts else {
            return self.note_state(script.cell, texts.first()?);
        };
        self.note_state(script.cell, first);
        let is_completed = first.text().starts_with("Script completed") && !script.has_ended_call;
        is_completed.then(|| codex_text::command_result(last.text()))?
    }

    /// Notes if a script still runs after a call, which may have waited for it.
    fn note_state(&mut self, cell: Option<String>, header: &TextCow<'a>) -> Option<Outcome> {
        let head = header.text().head(64);
        if let Some(rest) = head.strip_prefix("Script running with cell ID ") {
            self.running.extend(rest.split_whitespace().next().map(str::to_owned));
        } else if let Some(cell) = cell {
            self.running.remove(&cell);
        }
        None
    }

    /// Forgets the calls without an output, at the start of a turn.
    pub(super) fn forget_open(&mut self) {
        self.open = TextMap::default();
    }

    /// Returns the call whose script made the call that ended in an event: the only one that is open, unless another
    /// script still runs. A call from before the script, such as a server that stops, is not its own; times differ by
    /// less than a second.
    pub(super) fn caller(&mut self, event: &Members<'a>, time: Option<u64>) -> Option<Cow<'a, str>> {
        let began = time.map(|time| time.saturating_sub(duration(event).unwrap_or(0)));
        let is_earlier =
            began.zip(self.began).is_some_and(|(call, script)| call.saturating_add(1_000_000_000) < script);
        let is_of_user = event.name("source").as_deref() == Some("user_shell");
        if is_earlier || is_of_user || self.open.len() != 1 {
            return None;
        }
        let id = self.last.as_ref()?;
        let script = self.open.get_mut(id)?;
        let is_waited_for = script.cell.as_ref().is_some_and(|cell| self.running.contains(cell));
        if self.running.len() > usize::from(is_waited_for) {
            return None;
        }
        script.has_ended_call = true;
        Some(id.clone())
    }
}

/// Returns the script for which a call waits.
fn cell_of(item: &Members<'_>) -> Option<String> {
    let arguments = item.name("arguments")?;
    let arguments = Members::of(&mut Json::new(arguments.as_bytes()));
    arguments.ident("cell_id").map(Cow::into_owned)
}

/// Returns true if the end of a call is an item for a command of a script, which is never a call of its own.
pub(super) fn is_of_script(call: &Call<'_>, kind: &str, event: &Members<'_>) -> bool {
    let is_item = !event.has("call_id");
    let has_id = call.id.as_ref().is_some_and(|id| id.starts_with("exec-"));
    is_item && has_id && kind == "exec_command_end" && call.actor != Actor::User
}

/// Returns true for the first line of a session of the earliest Codex versions, where the other lines are bare items.
pub(super) fn is_old_header(line: &Members<'_>) -> bool {
    line.is("id", Kind::String)
        && ["timestamp", "instructions"].iter().all(|key| line.has(key))
        && line.keys().all(|key| matches!(key, "id" | "timestamp" | "instructions" | "git"))
}

/// Reads the first line of a session.
pub(super) fn read_meta(metadata: &mut Metadata, payload: &Members<'_>) {
    let spawn = payload.object("source").object("subagent").object("thread_spawn");
    // A part of a thread repeats nothing of the history that it continues.
    let base = payload.object("history_base").name("thread_id").filter(|_| metadata.id.is_none());
    metadata.labels.extend(base.map(|base| ("continues".into(), base.into_owned())));
    let parent = [&spawn, payload].iter().find_map(|at| at.name("parent_thread_id"));
    set_ids(metadata, payload.name("id").or_else(|| payload.name("session_id")), parent);
}

/// Returns the id in the header of a session.
pub(super) fn id_of_header<'a>(line: &Members<'a>) -> Option<Cow<'a, str>> {
    let is_header = line.name("type").as_deref() == Some("session_meta");
    if is_header { line.object("payload").name("id") } else { None }
}

/// Sets the ids, unless they are already set: a resumed session repeats them.
pub(super) fn set_ids(metadata: &mut Metadata, id: Option<Cow<'_, str>>, parent: Option<Cow<'_, str>>) {
    if metadata.id.is_none() {
        metadata.parent = metadata.parent.take().or(parent.map(Cow::into_owned));
        metadata.id = id.map(Cow::into_owned);
    }
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
    let is_added = |kind: Cow<'_, str>| kind != "unknown" && !kind.starts_with("user");
    let are_added =
        || !kinds.is_empty() && kinds.iter().all(|kind| common::name(*kind).is_some_and(is_added));
    match item.name("role").as_deref() {
        Some("assistant") => Actor::Agent,
        Some("user") if are_added() || text.is_some_and(|text| text_results::is_notice(text.text())) => {
            Actor::Environment
        }
        Some("user") => Actor::User,
        _ => Actor::System,
    }
}

/// Returns as whom another agent wrote a message. One from above in the tree of agents is an instruction.
pub(super) fn sender_of(item: &Members<'_>) -> Actor {
    let [author, recipient] = ["author", "recipient"].map(|key| item.name(key).unwrap_or_default());
    let below = recipient.strip_prefix(&*author);
    let is_told = !author.is_empty() && below.is_some_and(|path| path.starts_with('/'));
    if is_told { Actor::User } else { Actor::Environment }
}
