//! Outcomes of calls, and the words and texts with which formats record them.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::common;
use super::members::Members;
use super::words;
use crate::json::{Json, Kind, Number, Raw};
use crate::trace::{Answer, Content, Provenance, Status, Text, TextCow, UnknownReason};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: Status,
    pub(super) provenance: Provenance,
    pub(super) reason: Option<UnknownReason>,
}

impl Outcome {
    /// The outcome of an answer that nothing marks as failed.
    pub(super) const UNMARKED: Self = Self::ok(Provenance::None);

    /// The outcome of a call that was refused, according to a flag.
    pub(super) const REFUSED: Self = Self::unknown(UnknownReason::Refused, Provenance::Flag);

    pub(super) const RUNNING: Self = Self::unknown(UnknownReason::Running, Provenance::Flag);

    pub(super) const fn ok(provenance: Provenance) -> Self {
        Self { status: Status::Ok, provenance, reason: None }
    }

    pub(super) const fn error(provenance: Provenance) -> Self {
        Self { status: Status::Error, provenance, reason: None }
    }

    pub(super) const fn unknown(reason: UnknownReason, provenance: Provenance) -> Self {
        Self { status: Status::Unknown, provenance, reason: Some(reason) }
    }

    /// Returns the outcome that a flag records.
    pub(super) const fn flag(failed: bool) -> Self {
        if failed { Self::error(Provenance::Flag) } else { Self::ok(Provenance::Flag) }
    }

    /// Returns the outcome of a span. One that has neither failed nor ended is still running.
    pub(super) const fn of_span(failed: bool, is_over: bool) -> Self {
        if failed || is_over { Self::flag(failed) } else { Self::RUNNING }
    }

    /// Returns the outcome that an exit code records. `failed` is true for any code but 0.
    pub(super) const fn exit_code(failed: bool) -> Self {
        if failed { Self::error(Provenance::ExitCode) } else { Self::ok(Provenance::ExitCode) }
    }

    /// Returns the outcome that a flag records; unmarked if there is none.
    pub(super) fn of_flag(failed: Option<bool>) -> Self {
        failed.map_or(Self::UNMARKED, Self::flag)
    }

    /// Returns the outcome that a text reports: a failure, or unmarked if it reports none.
    pub(super) const fn by_text(failed: bool) -> Self {
        if failed { Self::error(Provenance::Text) } else { Self::UNMARKED }
    }

    /// Returns the outcome for a status word, if the word is known.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "success" | "Success" | "completed" | "done" => Self::flag(false),
            "error" | "Error" | "errored" | "failed" | "failure" => Self::flag(true),
            "cancelled" | "canceled" | "declined" | "denied" => Self::REFUSED,
            "running" | "in_progress" => Self::RUNNING,
            _ => return None,
        })
    }

    /// Returns the outcome that an exit code records; unmarked if it is not an integer.
    pub(super) fn of_code(code: Option<Raw<'_>>) -> Self {
        code.and_then(is_failure_code).map_or(Self::UNMARKED, Self::exit_code)
    }

    pub(super) fn answer(self, observation: Content<TextCow<'_>>) -> Answer<'_> {
        Answer { reason: self.reason, ..Answer::new(observation, self.status, self.provenance) }
    }
}

/// Prefixes of the answers to calls that the user or a guard of picoclaw refused.
const REFUSED: [&str; 6] = [
    "Command not executed. The user rejected your command ",
    "Command not executed. Switching to human mode",
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "The user denied this operation",
    "Command blocked by safety guard (",
];

/// Beginnings and later parts of the answers to calls that lacked a permission.
const DENIED: [(&str, &str); 3] = [
    ("Permission to use ", " has been denied"),
    ("Permission to use ", " has been auto-denied"),
    ("Claude requested permissions to ", ", but you haven't granted it yet"),
];

/// Like [`DENIED`], for calls that did not run because of a parallel call: it failed, or only one may run.
const CANCELLED: [(&str, &str); 4] = [
    ("<tool_use_error>Sibling tool call errored", ""),
    ("<tool_use_error>Cancelled: parallel tool call ", ""),
    ("Multiple handoffs detected, ignoring this one", ""),
    ("Tool [", "] was not executed because a tool has already been used in this message"),
];

/// Returns the outcome of a call that never ran, if the text says so: the call was refused, or cancelled for a parallel
/// call. This outcome overrides any flag.
pub(super) fn never_ran(text: Text<'_>) -> Option<Outcome> {
    let has_both = |(start, end): &(&str, &str)| text.starts_with(start) && text.to_str().contains(end);
    if REFUSED.iter().any(|start| text.starts_with(start)) || DENIED.iter().any(has_both) {
        Some(Outcome::unknown(UnknownReason::Refused, Provenance::Text))
    } else if CANCELLED.iter().any(has_both) {
        Some(Outcome::unknown(UnknownReason::Cancelled, Provenance::Text))
    } else {
        None
    }
}

/// Returns the outcome of a call that the user interrupted, if a line of the text says so. Successful output may have
/// such a line, so callers must check first that the result is flagged as an error or that the format has no flags.
pub(super) fn broken_off(text: Text<'_>) -> Option<Outcome> {
    const MARK: &str = "[Request interrupted by user";
    static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(MARK));
    let found = text.may_hold(&FINDER) && text.to_str().split('\n').any(|line| line.starts_with(MARK));
    found.then_some(Outcome::unknown(UnknownReason::Interrupted, Provenance::Text))
}

/// Returns the outcome of a command that runs in the background, if the text says so.
pub(super) fn in_background(text: Text<'_>) -> Option<Outcome> {
    let starts = ["Command running in background with ID: ", "Command is still running in "];
    let is_running = starts.iter().any(|start| text.starts_with(start));
    is_running.then_some(Outcome::unknown(UnknownReason::Running, Provenance::Text))
}

/// Returns the outcome that a harness writes at the beginning of a command's answer: its exit code, or that it never
/// ended. A result of mini-swe-agent that Python printed has its code after the output.
pub(super) fn at_start(text: Text<'_>) -> Option<Outcome> {
    // Each code with what follows it.
    const CODES: [(&str, &str); 4] = [
        ("<returncode>", "</returncode>"),
        ("{\n  \"returncode\": ", ",\n  \"output\": "),
        ("exit_code=", "\n"),
        ("Exit code ", "\n"),
    ];
    if let Some(outcome) = of_kimi(text) {
        return Some(outcome);
    }
    let raised = || text.to_str().contains("</exception>\n<returncode>");
    if text.starts_with("The last command <command>") || text.starts_with("<exception>") && raised() {
        return Some(Outcome::error(Provenance::Text));
    }
    let failed = if let Some((start, end)) = CODES.iter().find(|(start, _)| text.starts_with(start)) {
        let head = text.head(64);
        let rest = head.strip_prefix(start)?;
        let code = if *end == "\n" { words::first_line(rest) } else { rest.split_once(end)?.0 };
        words::exit_line(code, "")
    } else {
        const PRINTED: [&str; 2] = ["{'output': ", "Observation: {'output': "];
        PRINTED.iter().find(|start| text.starts_with(start))?;
        let text = text.to_str();
        let (_, end) = text.trim_end().strip_suffix('}')?.rsplit_once(", 'returncode': ")?;
        words::exit_line(end.split(", 'exception_info': ").next()?, "")
    };
    failed.map(Outcome::exit_code)
}

/// Returns the outcome of a call that failed or did not run, in the text of Kimi's answer.
pub(super) fn of_kimi(text: Text<'_>) -> Option<Outcome> {
    const MARK: &str = "<system>ERROR: ";
    let is_marked = text.starts_with(MARK);
    let message = if is_marked { text.skip_chars(MARK.len()) } else { text };
    let failed = || is_marked.then_some(Outcome::error(Provenance::Text));
    stopped_by_kimi(message).filter(|_| is_marked || message.starts_with(INTERRUPTED)).or_else(failed)
}

const INTERRUPTED: &str = "Tool execution was interrupted before its result was recorded";

/// Returns the outcome of a call that the user rejected or interrupted, according to a message of Kimi.
pub(super) fn stopped_by_kimi(message: Text<'_>) -> Option<Outcome> {
    let reason = if message.starts_with(INTERRUPTED) {
        UnknownReason::Interrupted
    } else if message.starts_with("The tool call is rejected by the user")
        || message.head(120).contains("was not run because the user rejected")
    {
        UnknownReason::Refused
    } else {
        return None;
    };
    Some(Outcome::unknown(reason, Provenance::Text))
}

/// Returns the outcome in the last line of a command's answer: its exit code, also as Go prints it, or that the command
/// still runs. Lines about its time may follow.
pub(super) fn in_last_line(text: &str) -> Option<Outcome> {
    let of_time = ["Elapsed: ", "Wait target not observed: ", "Wait timed out after "];
    let is_of_time = |line: &&str| of_time.iter().any(|start| line.starts_with(start));
    let last = text.trim_end().rsplit('\n').find(|line| !is_of_time(line))?;
    if last.starts_with("Process running. session_id: ") {
        return Some(Outcome::unknown(UnknownReason::Running, Provenance::Text));
    }
    let code =
        || ["Exit code: ", "Exit code: exit status "].iter().find_map(|start| words::exit_line(last, start));
    let failed = if last.starts_with("Exit code: signal: ") { Some(true) } else { code() };
    failed.map(Outcome::exit_code)
}

/// Prefixes of texts that report a failure: of any tools, of Node.js and `MLAgentBench`, of servers of MCP,
/// and of LangGraph.
const REPORTS: [&str; 10] = [
    "Error:",
    "ERROR:",
    "ENOENT:",
    "EISDIR:",
    "EnvError:",
    "MCP error -",
    "Input validation error:",
    "Error executing tool ",
    "Error invoking tool '",
    "Error calling tool '",
];

/// Returns true if a text begins with the report of a failure, which may count invalid arguments, `2 validation errors
/// for …`, or name the tool, `Tool '…' error: `.
pub(super) fn reports_failure(text: Text<'_>) -> bool {
    let head = text.head(48);
    let rest = head.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let kinds = [" validation error for ", " validation errors for "];
    let title =
        || kinds.iter().find_map(|kind| rest.strip_prefix(kind)).and_then(|title| title.lines().next());
    let named = || head.strip_prefix("Tool '")?.split_once('\'');
    let is_of_arguments = || title().is_some_and(|title| !title.contains(' '));
    head.starts_with(|letter: char| matches!(letter, '1'..='9')) && is_of_arguments()
        || named().is_some_and(|(_, rest)| rest.starts_with(" error: "))
        || REPORTS.iter().any(|start| text.starts_with(start))
}

/// Returns true if a text begins with a traceback as `IPython` prints it, below a line of dashes.
pub(super) fn is_of_ipython(text: &str) -> bool {
    let rest = text.trim_start_matches('-');
    let heading = words::first_line(rest.trim_start());
    let name = heading.trim_end().strip_suffix("  Traceback (most recent call last)");
    text.len() - rest.len() >= 10 && name.is_some_and(|name| !name.trim_end().contains([' ', ':']))
}

/// Returns true if the text is a failed result as Python prints it: a message of LangChain, or a result of MCP.
pub(super) fn is_printed_error(text: Text<'_>) -> bool {
    let ends = |end: &str| text.to_str().trim_end().ends_with(end);
    text.starts_with("content=") && ends(" status='error'")
        || ["meta=", "content=["].iter().any(|start| text.starts_with(start)) && ends(" isError=True")
}

/// Returns true if a text is an object that states an error.
pub(super) fn states_error(text: &str) -> bool {
    let is_json = || text.starts_with('{') && Json::new(text.as_bytes()).is_sound();
    is_json() && is_stated_error(&Members::from(Raw::over(text.as_bytes(), 0)))
}

/// Returns true if an object has no member but an `error`, has one next to the `status` of one (the word `error`, or a
/// code of HTTP), or is of the type of results and says that it failed. The state of something else, such as that of a
/// job, has more members.
pub(super) fn is_stated_error(object: &Members<'_>) -> bool {
    let is_typed = object.name("type").as_deref() == Some("tool_result");
    if is_typed && [object, &object.object("result")].into_iter().any(says_failed) {
        return true;
    }
    let is_error = |error: &Raw<'_>| match error.kind() {
        Kind::String => says_error(*error) == Some(true),
        _ => error.member("message").and_then(common::name).is_some(),
    };
    if object.keys().count() == 1 {
        return object.get("error").as_ref().is_some_and(is_error);
    }
    let is_data = |key: &str| matches!(key, "id" | "output" | "result" | "data" | "logs");
    object.name("error").is_some()
        && object.keys().count() <= 4
        && !object.keys().any(is_data)
        && (object.name("status").as_deref() == Some("error")
            || object.integer("status").is_some_and(is_http_failure))
}

/// Returns true if a status of HTTP says that a request failed.
pub(super) fn is_http_failure(status: i64) -> bool {
    (400..600).contains(&status)
}

fn says_failed(result: &Members<'_>) -> bool {
    result.name("error").is_some()
        || result.flag("ok") == Some(false)
        || result.flag("is_error") == Some(true)
        || result.name("status").as_deref() == Some("error")
}

/// Returns true if an object says that a call failed. Unlike in [`is_stated_error`], it must be the tool's own account
/// of the call, because data may have such members, too.
pub(super) fn has_failed(object: &Members<'_>) -> bool {
    // Only a part of the call may have failed.
    let is_ok = object.flag("success") == Some(true) || object.integer("exit_code") == Some(0);
    object.flag("success") == Some(false)
        || object.name("status").as_deref() == Some("error")
        || !is_ok && object.get("error").and_then(says_error) == Some(true)
}

/// Returns whether the value of a member such as `error` says that a call failed; `None` if it says nothing.
pub(super) fn says_error(error: Raw<'_>) -> Option<bool> {
    let is_some = match error.kind() {
        Kind::Null => false,
        Kind::Bool => return error.boolean(),
        Kind::Number => error.integer() != Some(0),
        Kind::String => match common::trim(&error.string()?).to_ascii_lowercase().as_str() {
            "false" => return Some(false),
            text => {
                let said = text.strip_prefix("error:").map_or(text, str::trim_start);
                !matches!(said, "none" | "null" | "no error") && !text.is_empty()
            }
        },
        Kind::List => error.items().is_some_and(|items| !items.is_empty()),
        Kind::Object => Members::from(error).iter().any(|(_, value)| value.kind() != Kind::Null),
    };
    is_some.then_some(true)
}

/// Returns true if the text reports that OpenClaw's `process` tool stops a session. The status next to such a text
/// is that of the session, not of the call.
pub(super) fn stops_session(text: Text<'_>) -> bool {
    ["Termination requested for session ", "Killed session "].iter().any(|start| text.starts_with(start))
}

/// Keys of the exit code of a command in its result.
pub(super) const EXIT_CODES: [&str; 5] =
    ["exit_code", "exitCode", "returncode", "return_code", "exit_status"];

/// Returns whether an exit code is not 0; `None` if it is not an integer.
pub(super) fn is_failure_code(code: Raw<'_>) -> Option<bool> {
    if code.kind() != Kind::Number {
        return None;
    }
    match code.json().number().ok()? {
        Number::Integer(code) => Some(code != 0),
        Number::Large(_) => Some(true),
        Number::Float(_) => code.integer().map(|code| code != 0),
    }
}

/// Returns whether a call failed whose results, in a list, all have the same flag `success`, as Cline writes them.
pub(super) fn have_failed(results: Raw<'_>) -> Option<bool> {
    let results = results.items()?.into_iter();
    let mut flags = results.map(|result| result.member("success").and_then(Raw::boolean));
    let first = flags.next()??;
    flags.all(|flag| flag == Some(first)).then_some(!first)
}

/// For an AI SDK output of type `kind`, returns the key of its content and whether the call failed.
pub(super) fn typed_output(kind: &str) -> Option<(&'static str, bool)> {
    Some(match kind {
        "text" | "json" | "content" => ("value", false),
        "error-text" | "error-json" => ("value", true),
        "execution-denied" => ("reason", true),
        _ => return None,
    })
}
