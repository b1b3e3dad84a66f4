//! A line of a Claude Code session.

use super::chat_content::{self, Block};
use super::claude_code::SESSION;
use super::prelude::*;

/// A line without a message. A file may have no other lines.
const NOTE: Mark = Any(&[
    All(&[Says("type", &["summary"]), Is(Kind::String, &["summary", "leafUuid"])]),
    All(&[Says("type", &["file-history-snapshot"]), Has(&["messageId"]), Is(Kind::Object, &["snapshot"])]),
    All(&[
        Says("type", &["*title", "*prompt", "*mode", "*name", "*operation", "progress", "system"]),
        HasOne(&[
            "agentName",
            "aiTitle",
            "customTitle",
            "isSidechain",
            "lastPrompt",
            "leafUuid",
            "mode",
            "operation",
            "permissionMode",
        ]),
        SESSION,
    ]),
    // The start of a printed session.
    All(&[
        Says("type", &["system"]),
        Says("subtype", &["init", "hook_started", "hook_response"]),
        Is(Kind::String, &["session_id", "uuid"]),
    ]),
]);

pub(super) fn are_notes(document: &Document<'_>) -> bool {
    let is_note = |line: &Raw<'_>| NOTE.fits_value(*line);
    matches!(document, Document::Lines(lines) if !lines.is_empty() && lines.iter().all(is_note))
}

/// The model of messages that the harness writes in the assistant's name.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// The members of a line, whatever its type.
pub(super) struct Line<'a> {
    kind: Option<Cow<'a, str>>,
    /// `None` if it is from neither the assistant nor the user.
    pub(super) is_assistant: Option<bool>,
    pub(super) has_message: bool,
    pub(super) session: Option<Cow<'a, str>>,
    pub(super) uuid: Option<Cow<'a, str>>,
    pub(super) parent: Option<Cow<'a, str>>,
    pub(super) agent: Option<Cow<'a, str>>,
    pub(super) is_sidechain: bool,
    /// True if the program wrote the line for itself.
    pub(super) is_skipped: bool,
    /// Who wrote a user message, as far as the line says: the user or the harness.
    pub(super) writer: Actor,
    /// The operation on the queue, or `queued_command` for a text from the queue.
    pub(super) queue: Option<Cow<'a, str>>,
    pub(super) time: Option<u64>,
    pub(super) message_id: Option<Cow<'a, str>>,
    pub(super) model: Option<Cow<'a, str>>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    pub(super) usage: Usage,
    /// The text of the message, unless it is blank.
    pub(super) text: Option<TextCow<'a>>,
    pub(super) blocks: Vec<Block<'a>>,
    /// The reason, if the outcome of the call whose result the line holds is unknown.
    pub(super) unknown: Option<UnknownReason>,
    /// The duration of the call whose result the line holds, in nanoseconds.
    pub(super) duration: Option<u64>,
}

/// Line types that are named in the reason for skipping a line. Skipped lines of other types share one count.
const KINDS: [&str; 14] = [
    "progress",
    "system",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "attachment",
    "last-prompt",
    "permission-mode",
    "pr-link",
    "ai-title",
    "custom-title",
    "mode",
    "user",
    "assistant",
];

impl Line<'_> {
    /// Returns the reason for skipping the line by its type.
    pub(super) fn reason_of_kind(&self) -> Cow<'static, str> {
        match self.kind.as_deref().map(|kind| KINDS.into_iter().find(|known| *known == kind)) {
            Some(Some(kind @ ("user" | "assistant"))) => {
                format!("lines of type {kind} without a message").into()
            }
            Some(Some(kind)) => format!("lines of type {kind}").into(),
            Some(None) => "lines of other types".into(),
            None => "lines without a type".into(),
        }
    }

    /// Returns true if the line is the result of a run, at the end of printed output.
    pub(super) fn ends_run(&self) -> bool {
        self.kind.as_deref() == Some("result")
    }

    /// Returns true if the line says that the lines of a sub-agent continue a session.
    pub(super) fn is_fork(&self) -> bool {
        self.kind.as_deref() == Some("fork-context-ref")
    }

    /// Returns true if the line is a call of Cursor's CLI, whose other lines are like those of Claude Code.
    pub(super) fn is_of_cursor(&self) -> bool {
        self.kind.as_deref() == Some("tool_call")
    }

    /// Returns true if the line is a call with its answer.
    pub(super) fn is_answered_call(&self) -> bool {
        self.kind.as_deref() == Some("tool")
    }
}

/// Reads a line. A progress line of a sub-agent contains the sub-agent's line.
pub(super) fn read_line<'a>(members: &Members<'a>) -> Line<'a> {
    let mut line = read_outer(members);
    let is_progress = line.kind.as_deref() == Some("progress");
    let inner = if is_progress { progress_of_agent(&members.object("data"), &mut line) } else { None };
    match line.kind.as_deref() {
        Some("tool_call") => call_of_cursor(members, &mut line),
        Some("tool") => answered_call(&members.object("message"), &mut line),
        Some("system") => line.model = members.name("model"),
        Some("queue-operation") => {
            line.queue = members.name("operation");
            line.text = members.message("content");
        }
        Some("attachment") => queued_command(&members.object("attachment"), &mut line),
        _ => {}
    }
    inner.unwrap_or(line)
}

/// Reads a text that the user or the harness queued while the agent worked.
fn queued_command<'a>(attached: &Members<'a>, line: &mut Line<'a>) {
    line.queue = attached.name("type").filter(|kind| kind == "queued_command");
    if line.queue.is_some() {
        (line.has_message, line.is_assistant) = (true, Some(false));
        line.text = attached.message("prompt");
        let by_harness = attached.name("commandMode").as_deref() == Some("task-notification");
        if by_harness || attached.flag("isMeta") == Some(true) {
            line.writer = Actor::Environment;
        }
    }
}

/// Reads a call with its answer, which tools that convert sessions of other agents write as one line.
fn answered_call<'a>(message: &Members<'a>, line: &mut Line<'a>) {
    let Some(name) = message.name("tool_name") else { return };
    line.is_assistant = Some(true);
    let arguments = message.arguments("tool_input");
    line.blocks = vec![Block { is_call: true, name: Some(name), arguments, ..Block::default() }];
    let word = message.name("status").unwrap_or_default();
    let unknown = match &*word {
        "pending" => Some(UnknownReason::Running),
        "interrupted" | "aborted" => Some(UnknownReason::Interrupted),
        word => Outcome::of_word(word).and_then(|outcome| outcome.reason),
    };
    let is_error = Outcome::of_word(&word).map(|outcome| outcome.status == Status::Error);
    let content = message.get("tool_output").and_then(words::result);
    if content.is_some() || unknown.is_some() || is_error == Some(true) {
        line.blocks.push(Block { content, is_error, unknown, ..Block::default() });
    }
}

/// Reads a call of Cursor's CLI, `{"shellToolCall": {"args": …, "result": …}}`. The call has a line for its
/// start, and one for its end with the result under a word for the outcome.
fn call_of_cursor<'a>(members: &Members<'a>, line: &mut Line<'a>) {
    let call = members.object("tool_call");
    let Some((key, value)) = call.iter().find(|(_, value)| value.kind() == Kind::Object) else { return };
    let (tool, id) = (Members::from(value), members.name("call_id"));
    line.has_message = true;
    line.is_assistant = Some(members.name("subtype").as_deref() == Some("started"));
    if line.is_assistant == Some(true) {
        let inner = tool.object("args");
        let name = tool.name("name").or_else(|| inner.name("toolName"));
        let name = name.unwrap_or_else(|| key.strip_suffix("ToolCall").unwrap_or(key).to_owned().into());
        let arguments = inner.get("args").or_else(|| tool.first(&["args", "arguments"]));
        let arguments = arguments.map_or(Content::Absent, common::arguments);
        line.blocks = vec![Block { is_call: true, id, name: Some(name), arguments, ..Block::default() }];
        return;
    }
    let result = tool.object("result");
    let (word, said) = result.iter().next().map_or(("", None), |(word, value)| (word, Some(value)));
    line.unknown = (word == "rejected").then_some(UnknownReason::Refused);
    let code = said.and_then(|said| said.member("exitCode")).and_then(is_failure_code);
    let part =
        |key: &str| said?.member(key).and_then(words::result).filter(|text| !wire::is_blank(text.text()));
    let texts =
        ["content", "stdout", "stderr", "errorMessage", "error", "reason"].into_iter().filter_map(part);
    let content = wire::joined(texts.collect()).or_else(|| said.and_then(words::result));
    let is_error = code.or_else(|| (!word.is_empty() && word != "rejected").then_some(word != "success"));
    line.blocks = vec![Block { answers: id, content, is_error, ..Block::default() }];
}

fn read_outer<'a>(members: &Members<'a>) -> Line<'a> {
    let message = members.object("message");
    let kind = members.name("type");
    // Printed output names a sub-agent only by the call that started it.
    let caller = ident(members, "parent_tool_use_id");
    let model = message.name("model");
    let is_synthetic = model.as_deref() == Some(SYNTHETIC);
    // Failed requests and limits that are reached are written in the assistant's name.
    // Until version 2.0, no error names them.
    let is_unnamed =
        members.flag("isApiErrorMessage") == Some(true) && message.is("stop_reason", Kind::String);
    let is_failure = is_synthetic && (members.is("error", Kind::String) || is_unnamed);
    let skips = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"];
    let is_assistant = kind.as_deref().and_then(is_assistant).map(|is_assistant| is_assistant && !is_failure);
    let read = if is_assistant == Some(true) { chat_content::in_order } else { chat_content::message };
    let (text, blocks) = message.get("content").map(read).unwrap_or_default();
    // Printed output spells this key like its others.
    let facts = members.first(&["toolUseResult", "tool_use_result"]);
    let (stated, duration) = facts.map(|facts| beside_result(&facts.into())).unwrap_or_default();
    let unknown = if members.has("toolDenialKind") { Some(UnknownReason::Refused) } else { stated };
    let origin = members.object("origin").name("kind");
    let is_delivered = matches!(origin.as_deref(), Some("coordinator" | "peer"));
    let is_notice = origin.as_deref() == Some("task-notification");
    let by_harness = is_failure || is_delivered || is_notice || members.flag("isSynthetic") == Some(true);
    Line {
        is_assistant,
        kind,
        has_message: members.is("message", Kind::Object),
        session: ident(members, "sessionId").or_else(|| ident(members, "session_id")),
        uuid: ident(members, "uuid"),
        parent: ident(members, "parentUuid"),
        is_sidechain: caller.is_some() || members.flag("isSidechain") == Some(true),
        agent: caller.or_else(|| ident(members, "agentId")),
        queue: None,
        writer: if by_harness { Actor::Environment } else { Actor::User },
        is_skipped: !is_failure
            && (is_synthetic
                || skips
                    .iter()
                    .any(|key| members.flag(key) == Some(true) && !(is_delivered && *key == "isMeta"))),
        time: members.time("timestamp"),
        // Lines of one response of Cursor share this id.
        message_id: message.name("id").or_else(|| ident(members, "model_call_id")),
        model,
        stop_reason: message.name("stop_reason"),
        usage: message.usage("usage").unwrap_or_default(),
        text,
        blocks,
        unknown,
        duration,
    }
}

/// Returns an id, or `None` for a placeholder such as `<redacted>`, which exporters write for any id.
fn ident<'a>(members: &Members<'a>, key: &str) -> Option<Cow<'a, str>> {
    members.name(key).filter(|id| !id.starts_with(['<', '[']))
}

/// Returns true for the assistant and false for the user, by the type or role of a line.
fn is_assistant(kind: &str) -> Option<bool> {
    match kind {
        "assistant" => Some(true),
        "user" => Some(false),
        _ => None,
    }
}

/// Reads the sub-agent's line in a progress line.
fn progress_of_agent<'a>(data: &Members<'a>, outer: &mut Line<'a>) -> Option<Line<'a>> {
    let agent = data.name("agentId")?;
    let message = data.object("message");
    let mut line = Some(read_outer(&message)).filter(|line| line.has_message)?;
    let role = || message.object("message").name("role");
    line.is_assistant = line.is_assistant.or_else(|| is_assistant(&role()?));
    line.agent = Some(agent);
    line.session = outer.session.take().or(line.session);
    line.uuid = line.uuid.or(outer.uuid.take());
    line.time = line.time.or(outer.time);
    line.is_sidechain = true;
    Some(line)
}

/// Returns the facts next to a result: whether the call is running or was interrupted, and its duration in
/// nanoseconds.
pub(super) fn beside_result(facts: &Members<'_>) -> (Option<UnknownReason>, Option<u64>) {
    let is_late = matches!(facts.name("retrieval_status").as_deref(), Some("not_ready" | "timeout"));
    let is_shell = facts.has("shellId") && facts.name("status").as_deref() == Some("running");
    let is_running = is_late
        || is_shell
        || facts.name("backgroundTaskId").is_some()
        || facts.flag("isAsync") == Some(true);
    let unknown = if is_running {
        Some(UnknownReason::Running)
    } else {
        (facts.flag("interrupted") == Some(true)).then_some(UnknownReason::Interrupted)
    };
    let duration = facts.count("durationMs").or_else(|| facts.count("totalDurationMs"));
    (unknown, duration.and_then(|ms| ms.checked_mul(1_000_000)))
}

/// Number of characters at the start of a result that are searched for the header of a shell.
const HEAD: usize = 400;

/// Returns the answer in a result, which may have the header of a shell.
pub(super) fn answer(block: Block<'_>) -> Answer<'_> {
    let mut answer = block.into_answer();
    let Content::Present(text) = &answer.observation else { return answer };
    if let Some((outcome, output)) = of_shell(text.text()).filter(|_| answer.status != Status::Unknown) {
        let outcome = if answer.status == Status::Ok { outcome } else { Outcome::flag(true) };
        let output = output.map(|output| TextCow::from(output).into_made());
        answer = outcome.answer(output.map_or(answer.observation, Content::Present));
    }
    answer
}

/// Returns the outcome in the header of a shell's result, of a background task that failed or of a terminal of ACP.
/// Returns the output as well if the header says no more than an exit code.
fn of_shell(text: Text<'_>) -> Option<(Outcome, Option<Text<'_>>)> {
    let is_task = ["<retrieval_status>", "<status>failed</status>\n\n<exit_code>"];
    if !is_task.iter().any(|start| text.starts_with(start)) {
        return of_terminal(text);
    }
    let head = text.head(HEAD);
    let header = ["<output>", "<stdout>", "<stderr>"]
        .iter()
        .fold(&*head, |header, tag| header.split_once(tag).map_or(header, |(before, _)| before));
    let tag = |name: &str| header.split_once(name)?.1.split('<').next();
    let outcome = match tag("<exit_code>").and_then(|code| words::exit_line(code, "")) {
        Some(true) => Outcome::exit_code(true),
        _ if tag("<status>") == Some("failed") => Outcome::flag(true),
        _ => return None,
    };
    Some((outcome, None))
}

/// Reads the sentences of a terminal of ACP: if its time was up or it was killed, the exit code, and the signal. A
/// command whose time is up is killed after its output is read.
fn of_terminal(text: Text<'_>) -> Option<(Outcome, Option<Text<'_>>)> {
    const ENDS: [&str; 2] = ["Timed out. ", "Killed. "];
    const EXITED: &str = "Exited with code ";
    const SIGNAL: &str = "Signal `";
    if !ENDS.iter().chain(&[EXITED, SIGNAL]).any(|start| text.starts_with(start)) {
        return None;
    }
    let head = text.head(HEAD);
    let end = ENDS.into_iter().find(|end| head.starts_with(end)).unwrap_or_default();
    let rest = head.strip_prefix(end)?;
    let (code, rest) = match rest.strip_prefix(EXITED) {
        Some(rest) => rest.split_once('.').map(|(code, rest)| (words::exit_line(code, ""), rest))?,
        None => (None, rest),
    };
    let signal = rest.strip_prefix(SIGNAL).and_then(|rest| rest.split_once("`. "));
    let rest = signal.map_or(rest, |(_, rest)| rest);
    let output =
        ["Final output:\n\n", "New output:\n\n"].iter().find_map(|words| rest.strip_prefix(words))?;
    let outcome = match (code, end) {
        (Some(true), _) => Outcome::exit_code(true),
        (_, "Killed. ") => Outcome::unknown(UnknownReason::Interrupted, Provenance::Text),
        (Some(false), "") if signal.is_none() => Outcome::exit_code(false),
        (None, "") if signal.is_none() => return None,
        _ => Outcome::by_text(true),
    };
    let length = head.chars().count() - output.chars().count();
    let is_only_code = end.is_empty() && code.is_some();
    Some((outcome, is_only_code.then(|| text.skip_chars(length))))
}
