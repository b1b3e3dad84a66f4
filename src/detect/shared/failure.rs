//! Whether an action failed, what it said, and what kind of failure that is.
//!
//! An exit code of 0 is trusted if nothing on the command line can hide a failure, or if its last command is a code
//! snippet, but not if a client such as `curl` gives a short answer, which may be an error of the server. In all other
//! cases, the text of the answer decides.

use std::borrow::Cow;

use super::call_status::is_unparsed;
use super::failure_lines::{complains, details, is_start_up, is_usage, quoted, telling};
use super::failure_phrases::{
    ASSERTS, CAUSE, COUNTS, DIAGNOSTIC, DIFFERS, DONE, JSON_NO_TESTS, KILLED, MISSING, NO_TOOL, RAN, RED,
    REFUSED, SHAPE, TYPED, USAGE,
};
use super::failure_text::{TAIL, answers_no, is_echo, ran_no_test, states_failure, was_aborted};
use super::shell::last_part;
use super::text::{exit_code, form_digest, template, without_numbers};
use super::{Call, Check, Does, Meaning, Part, each_text, lines, without_colours};
use crate::trace::{Action, Digest, Provenance, Status, UnknownReason, first_chars};

/// A failed action.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// The digest of its message with numbers and volatile parts masked. Failures with equal signatures failed in the
    /// same way.
    pub(crate) signature: Digest,
    /// The digest of the beginning and end of the answer, with volatile parts and most numbers masked, as 64
    /// bits.
    pub(crate) form: u64,
    /// Like `signature`, but with numbers kept.
    pub(crate) wording: Digest,
    /// The digest of the line with the cause, with numbers masked; the signature if no line states one.
    pub(crate) cause: Digest,
    /// The line that says what failed, at most 160 characters. Findings quote it, and rules look for phrases in it.
    pub(crate) line: String,
    /// Whether a recorded flag, exit code or error type says that it failed, rather than the text of the answer.
    pub(crate) recorded: bool,
    /// Whether a recorded flag says that it failed, such as the one that a harness sets when it refuses a call.
    pub(crate) is_flagged: bool,
    /// Whether another command on the line printed something first: part of the call may have been useful.
    pub(crate) is_partial: bool,
    /// Set if the failure is the report of a test or linter on the code being worked on.
    pub(crate) report: Option<Report>,
}

/// How a test or linter reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It says what failed.
    Detailed,
    /// It only counts failures.
    Counted,
    /// All tests passed: what failed is something else, such as the clean-up after them.
    Passed,
}

/// The kind of cause that a failure states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Killed, or stopped at a time limit.
    Killed,
    /// A module, command or package is missing: its name, in lower case.
    Missing(String),
    /// The arguments do not fit the tool, or the options do not fit the program.
    Usage,
    Refused,
    /// A run of tests that ran none.
    NoTests,
    /// The state that the call was meant to bring about already exists.
    Done,
    /// The harness does not know the tool.
    NoTool,
    Other,
}

/// The exit code of `xargs` if a command that it ran failed.
const XARGS: i64 = 123;

impl Failure {
    pub(crate) fn of(call: &Call, action: &Action<'_>) -> Option<Self> {
        if !has_failed(call, action) {
            return None;
        }
        let is_error = action.status == Status::Error;
        let answer = action.observation.present();
        let answer = without_colours(answer.map(|answer| answer.to_str()).unwrap_or_default());
        // Skip lines that say nothing: dashes, `[object Object]` (which JavaScript harnesses print in place of an
        // error), timestamps of the call, and complaints about shell start-up files.
        let is_stamp = |line: &str| line.starts_with("Created At: ") || line.starts_with("Completed At: ");
        let says = |line: &&str| {
            let is_noise = *line == "[object Object]" || is_stamp(line) || is_start_up(line, call);
            line.contains(char::is_alphanumeric) && !is_noise
        };
        let all: Vec<&str> = lines(&answer).filter(says).collect();
        let code = action.observation.present().and_then(|answer| exit_code(answer, TAIL));
        let has_code = code.is_some() || action.provenance == Provenance::ExitCode;
        if call.is_shell
            && code.is_none_or(|code| code <= 2 || code == XARGS)
            && answers_no(call, &all, has_code)
        {
            return None;
        }
        let told = telling(call, &answer, &all);
        let checks = call.parts.iter().any(|part| part.check >= Some(Check::Form));
        let is_report = checks && all.iter().any(|line| RAN.is_match(line));
        let is_cause = |line: &&str| {
            CAUSE.is_match(line) && speaks_of_call(line, call, is_report) && !is_usage(line, &told)
        };
        let cause = told.iter().position(is_cause);
        let killed = KILLED.is_match(last_chars(&answer, 300)) || KILLED.is_match(first_chars(&answer, 300));
        let joined = |mut forms: Vec<String>| {
            forms.dedup();
            if killed { Digest::of_text("killed") } else { Digest::of_text(&forms.join("\n")) }
        };
        // The names of failed tests do not say how they failed, so the lines that do are added.
        let details = if is_report { details(&all) } else { Vec::new() };
        // A harness may quote the call that it refused, which says nothing about the failure.
        let says_more = told.iter().any(|line| !quotes_call(line, call));
        let say = |line: &&str| {
            if says_more && quotes_call(line, call) { String::new() } else { template(line) }
        };
        let templates: Vec<String> = told.iter().chain(&details).map(say).collect();
        // Failed assertions differ in their values, so the numbers in them are kept.
        let is_assertion = |line: &str| is_report && (DIFFERS.is_match(line) || ASSERTS.is_match(line));
        // An edit that does not apply quotes the text that it looked for, so that text is cut off.
        let edits = !call.is_shell && call.does == Does::Write;
        let mask = |line: &String| {
            let line = line.split("old_str `").next().filter(|_| edits).unwrap_or(line);
            if is_assertion(line) { first_chars(line, 300).to_owned() } else { without_numbers(line) }
        };
        let masked: Vec<String> = templates.iter().map(mask).collect();
        let masked_cause = cause
            .and_then(|at| masked.get(at))
            .filter(|line| !line.is_empty())
            .map(|line| Digest::of_text(line));
        let (signature, wording) = (joined(masked), joined(templates));
        let cause = cause.and_then(|at| told.get(at)).copied();
        let stated = cause.filter(|line| !(says_more && quotes_call(line, call)));
        let shown = quoted(call, &told, &all, stated, killed)
            .unwrap_or_else(|| code.map_or(Cow::Borrowed(""), |code| format!("exit code {code}").into()));
        let shown = if shown.is_empty() { action.error_type.unwrap_or_default().into() } else { shown };
        let kind = match cause {
            _ if installs_all(call, &answer) => FailureKind::Done,
            _ if killed => FailureKind::Killed,
            _ if call.is_shell && ran_no_test(&all) => FailureKind::NoTests,
            _ if !call.is_shell && checks && JSON_NO_TESTS.is_match(&answer) => FailureKind::NoTests,
            _ if !call.is_shell && (NO_TOOL.is_match(&shown) || names_no_tool(&shown, call)) => {
                FailureKind::NoTool
            }
            None if DONE.is_match(&shown) => FailureKind::Done,
            None => FailureKind::Other,
            Some(line) => kind_of(line, call),
        };
        let only_counts = is_report && details.is_empty() && told.iter().all(|line| COUNTS.is_match(line));
        // Compilers that are not known as checks also say where the error is.
        let places = |line: &&str| DIAGNOSTIC.is_match(line) && (checks || line.contains("error"));
        let diagnoses = || (checks || call.is_shell) && told.iter().any(places);
        // If the output of a linter states no cause, it is taken as a list of findings, whatever its format.
        let last_check = call.parts.iter().rev().find_map(|part| part.check);
        let lists = last_check == Some(Check::Form) && kind == FailureKind::Other && !all.is_empty();
        let report = if is_report && all_passed(call, &all) {
            Some(Report::Passed)
        } else if only_counts {
            Some(Report::Counted)
        } else {
            (is_report || lists || diagnoses()).then_some(Report::Detailed)
        };
        let is_frame = |line: &str| line.starts_with("Traceback") || line.starts_with("File \"");
        let helps = |first: &&str| !told.contains(first) && !is_frame(first) && !complains(first, call);
        Some(Self {
            is_partial: call.is_shell
                && call.parts.iter().filter(|part| !part.feeds).nth(1).is_some()
                && all.first().is_some_and(helps),
            report,
            cause: masked_cause.filter(|_| !killed).unwrap_or(signature),
            kind,
            form: action.observation.present().map_or(0, |answer| form_digest(answer).leading_bits()),
            signature,
            wording,
            line: first_chars(&shown, 160).to_owned(),
            recorded: is_error && action.provenance != Provenance::Text,
            is_flagged: is_error && action.provenance == Provenance::Flag,
        })
    }

    /// Returns true if a shell says that it could not parse the line: none of it ran.
    pub(crate) fn is_unparsed(&self) -> bool {
        is_unparsed(&self.line)
    }

    /// Returns true if the shell rejected the form of the command line, which no change makes valid: Windows PowerShell
    /// rejects `&&` (its message is localized, but the error id is not), OpenClaw code between other commands.
    pub(crate) fn is_of_form(&self) -> bool {
        let says = ["not a valid statement separator", ": InvalidEndOfLine", "exec preflight: "];
        says.iter().any(|part| self.line.contains(part))
    }

    /// Returns true if the tool does not have a parameter or an action that the call names, or requires one that the
    /// call lacks.
    pub(crate) fn misfits(&self) -> bool {
        const SAYS: [&str; 5] = [
            "unexpected keyword argument",
            "unexpected parameter",
            "Unknown action ",
            "required positional argument",
            "must have required property",
        ];
        // `sessionId is required`, not `Approval is required`.
        let is_name =
            |word: &str| word.contains(['_', '`', '\'', '"']) || word.chars().skip(1).any(char::is_uppercase);
        let required = self.line.split_once(" is required").and_then(|(before, _)| before.rsplit(' ').next());
        SAYS.iter().any(|part| self.line.contains(part)) || required.is_some_and(is_name)
    }

    /// Returns true if a tool says that the key of its service is not set.
    pub(crate) fn lacks_key(&self) -> bool {
        let line = self.line.to_lowercase().replace('_', " ");
        let says = ["no api key", "missing", "not set", "not configured", "needs a"];
        line.contains("api key") && says.iter().any(|part| line.contains(part))
    }

    /// Returns true if the file to be changed must first be read: it was never read, or has changed since.
    pub(crate) fn is_stale(&self, call: &Call) -> bool {
        let edits = !call.is_shell && call.does == Does::Write && call.target.is_some();
        edits
            && ["modified since", "changed since", "not been read"]
                .iter()
                .any(|part| self.line.contains(part))
    }

    /// Returns true if the failure says that `program` is missing.
    pub(crate) fn misses(&self, program: &str) -> bool {
        matches!(&self.kind, FailureKind::Missing(name) if name == program)
    }

    /// Returns true if the shell says that it did not find the program, and nothing else was printed first.
    pub(crate) fn is_of_shell(&self) -> bool {
        const SHELLS: [&str; 5] = ["/bin/bash: ", "/bin/sh: ", "bash: ", "sh: ", "zsh: "];
        self.report.is_none()
            && !self.is_partial
            && self.line.ends_with("not found")
            && SHELLS.iter().any(|shell| self.line.starts_with(shell))
    }

    /// Returns true if the line that says what failed begins with the type of an error.
    pub(crate) fn is_raised(&self) -> bool {
        TYPED.is_match(&self.line)
    }
}

/// Returns true if a line of a refusal quotes the command line. Only letters and digits are compared, because the line
/// may escape the others.
fn quotes_call(line: &str, call: &Call) -> bool {
    /// Number of letters and digits compared.
    const COMPARED: usize = 30;
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    if !call.is_shell || !REFUSED.is_match(line) {
        return false;
    }
    let start: String = plain(first_chars(&call.text, 4 * COMPARED)).chars().take(COMPARED).collect();
    start.len() >= COMPARED / 2 && plain(line).contains(&start)
}

/// Returns true if a command installs something, and its answer ends by saying so.
fn installs_all(call: &Call, answer: &str) -> bool {
    let after = answer.rsplit_once("Successfully installed ").map(|(_, after)| after);
    call.parts.last().is_some_and(Part::installs) && after.is_some_and(|after| !after.contains("ERROR"))
}

/// Returns true if an action failed by its status (unless the command was meant to end) or by its answer.
fn has_failed(call: &Call, action: &Action<'_>) -> bool {
    let answer = action.observation.present();
    let was_stopped = action.reason == Some(UnknownReason::Interrupted) || answer.is_some_and(was_aborted);
    if action.status == Status::Error && !was_stopped && !interrupts(action) {
        return true;
    }
    // A code snippet that exits with 0 may print an error on purpose.
    let is_code = call.parts.last().is_some_and(|last| last.check == Some(Check::Snippet));
    let is_trusted = (call.is_strict || is_code) && action.provenance == Provenance::ExitCode;
    // A client such as `curl` exits with 0 if the server answers that the request failed.
    let answers = call.parts.last().is_some_and(|last| {
        let is_code = last.script.is_some() || Meaning::of(last.name()).is(Meaning::INTERPRETER);
        last.does == Does::Run && last.check.is_none() && !is_code
    });
    let is_refused = || {
        let said = answer.filter(|answer| answer.len() <= 300).map(|answer| answer.to_str());
        let codes = ["Error: ", "Error 4", "Error 5"];
        let is_client = matches!(call.last_program(), "curl" | "http" | "wget" | "xh");
        said.is_some_and(|said| is_client || codes.iter().any(|code| said.starts_with(code)))
    };
    let ended_well = is_trusted && action.status == Status::Ok && !(answers && is_refused());
    let may_state = call.does != Does::Note && !ended_well && !was_stopped;
    answer.is_some_and(|answer| may_state && states_failure(call, answer) && !is_echo(call, action, answer))
}

/// Returns true if the only check of a call ran tests, and no line of the answer says that one failed.
fn all_passed(call: &Call, all: &[&str]) -> bool {
    let mut checks = call.parts.iter().filter_map(|part| part.check);
    let fails = |line: &str| {
        line.starts_with("error") || line.contains("***") || RED.is_match(line) || DIAGNOSTIC.is_match(line)
    };
    checks.next() == Some(Check::Tests) && checks.next().is_none() && !all.iter().any(|line| fails(line))
}

/// Returns true if a call sends an interrupt. The command was meant to end, so its error status is not a failure.
fn interrupts(action: &Action<'_>) -> bool {
    let mut interrupts = false;
    each_text(action, |_, text, _| interrupts |= matches!(text, "\u{3}" | "^C" | "C-c" | "ctrl+c"));
    interrupts
}

/// Returns true if a call ends something. For such a call, a session that is already gone is a success.
pub(crate) fn stops(action: &Action<'_>) -> bool {
    let mut stops = false;
    each_text(action, |_, text, _| stops |= matches!(text, "kill" | "stop" | "terminate"));
    stops
}

/// Returns about the last `bytes` bytes of a text, starting at a character boundary.
fn last_chars(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|at| text.is_char_boundary(*at));
    start.and_then(|start| text.get(start..)).unwrap_or_default()
}

/// Returns true if a line that states a cause is about the call itself. Lines of a report, and exceptions raised by the
/// code being worked on, are about that code instead.
fn speaks_of_call(line: &str, call: &Call, is_report: bool) -> bool {
    let of_code = is_report || DIAGNOSTIC.is_match(line);
    let is_raised = || TYPED.is_match(line) || line.starts_with("E  ");
    !(call.is_shell && (of_code || kind_of(line, call) == FailureKind::Usage && is_raised()))
}

/// Classifies the cause that a line states.
fn kind_of(line: &str, call: &Call) -> FailureKind {
    if let Some(name) = MISSING.group(line).filter(|_| call.is_shell) {
        return FailureKind::Missing(last_part(name).to_lowercase());
    }
    if USAGE.is_match(line) || !call.is_shell && SHAPE.is_match(line) {
        FailureKind::Usage
    } else if SHAPE.is_match(line) {
        FailureKind::Other
    } else {
        FailureKind::Refused
    }
}

/// Returns true if Python, to which the calls were given as code, does not know the tool.
fn names_no_tool(line: &str, call: &Call) -> bool {
    let name = line.strip_suffix("' is not defined").and_then(|line| line.rsplit_once("name '"));
    name.is_some_and(|(_, name)| name.eq_ignore_ascii_case(&call.program))
}
