//! Whether an action failed, what it said, and what kind of failure that is.
//!
//! An answer can state a failure in its text alone. A command line that ends in `|| true`, or whose output is
//! piped, succeeds in any case, and many tools report success while they answer `{"error": …}`. An exit code
//! of 0 is trusted only if nothing on the line can hide a failure, or its last command is a code snippet.

use std::borrow::Cow;

use super::arguments::each_text;
use super::call::Call;
use super::call_status::is_unparsed;
use super::check::Check;
use super::does::{Does, is_search};
use super::failure_lines::{complains, details, is_usage, names_itself, quoted, telling};
use super::failure_phrases::{
    ASSERTS, CAUSE, COUNTS, DIAGNOSTIC, DIFFERS, DONE, HINTS, JSON_HINTS, JSON_NO_TESTS, JSON_STATES, KILLED,
    MISSING, NO_TESTS, NO_TOOL, NOTHING, RAN, RED, SHAPE, TYPED, USAGE,
};
use super::lexicon::{Meaning, words};
use super::shell::last_part;
use super::text::{exit_code, form_digest, lines, template, without_colours, without_numbers};
use crate::trace::{Action, Arguments, Digest, Provenance, Status, Text, UnknownReason, first_chars};

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
    /// The line that says what failed, shortened, for the messages of findings.
    pub(crate) line: String,
    /// Whether a recorded flag, exit code or error type says that it failed, rather than the text of the answer.
    pub(crate) recorded: bool,
    /// Whether a flag says so, such as the one that a harness sets when it refuses a call.
    pub(crate) is_flagged: bool,
    /// Whether another command on the line printed something first: part of the call may have been useful.
    pub(crate) is_partial: bool,
    /// Set if the failure is a test's or linter's report on the code being worked on.
    pub(crate) report: Option<Report>,
}

/// How a test or linter reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It tells what failed.
    Told,
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
    /// Not allowed.
    Refused,
    /// A run of tests that ran none.
    NoTests,
    /// The state that the call was to bring about exists already.
    Done,
    /// The harness does not know the tool.
    NoTool,
    /// Anything else.
    Other,
}

/// How much of an answer is searched for a failure: `HEAD` characters from its start for structured calls,
/// `TAIL` bytes from its end for command lines and checks.
const HEAD: usize = 400;
const TAIL: usize = 2_000;
/// Bytes of the end that usually hold the last five lines.
const END: usize = 500;
/// The exit code of `xargs` if a command that it ran did not end with 0.
const XARGS: i64 = 123;

impl Failure {
    /// Returns the failure of an action, if it failed.
    pub(crate) fn of(call: &Call, action: &Action<'_>) -> Option<Self> {
        let is_error = action.status == Status::Error;
        let answer = action.observation.present();
        // A code snippet that exits with 0 may print an error on purpose.
        let is_code = call.parts.last().is_some_and(|last| last.check == Some(Check::Snippet));
        let is_trusted = (call.is_strict || is_code) && action.provenance == Provenance::ExitCode;
        let ended_well = is_trusted && action.status == Status::Ok;
        let was_stopped =
            action.reason == Some(UnknownReason::Interrupted) || answer.is_some_and(was_aborted);
        let states = |answer| {
            call.does != Does::Note
                && !ended_well
                && !was_stopped
                && states_failure(call, answer)
                && !is_echo(call, action, answer)
        };
        let is_meant = || was_stopped || interrupts(action);
        if (!is_error || is_meant()) && !answer.is_some_and(states) {
            return None;
        }
        let answer = without_colours(answer.map(|answer| answer.to_str()).unwrap_or_default());
        // A line of dashes says nothing, nor does `[object Object]`, which a JavaScript harness prints in place of an
        // error, nor the time at which a call was made.
        let is_stamp = |line: &str| line.starts_with("Created At: ") || line.starts_with("Completed At: ");
        let says = |line: &&str| {
            line.contains(char::is_alphanumeric) && *line != "[object Object]" && !is_stamp(line)
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
        let templates: Vec<String> = told.iter().chain(&details).map(|line| template(line)).collect();
        // The values that an assertion saw tell failures apart, so its numbers are kept.
        let is_assertion = |line: &str| is_report && (DIFFERS.is_match(line) || ASSERTS.is_match(line));
        let mask = |line: &String| {
            if is_assertion(line) { first_chars(line, 300).to_owned() } else { without_numbers(line) }
        };
        let masked: Vec<String> = templates.iter().map(mask).collect();
        let masked_cause = cause.and_then(|at| masked.get(at)).map(|line| Digest::of_text(line));
        let (signature, wording) = (joined(masked), joined(templates));
        let cause = cause.and_then(|at| told.get(at)).copied();
        let shown = quoted(call, &told, &all, cause, killed)
            .unwrap_or_else(|| code.map_or(Cow::Borrowed(""), |code| format!("exit code {code}").into()));
        let shown = if shown.is_empty() { action.error_type.unwrap_or_default().into() } else { shown };
        let kind = match cause {
            _ if killed => FailureKind::Killed,
            _ if call.is_shell && ran_no_test(&all) => FailureKind::NoTests,
            _ if !call.is_shell && checks && JSON_NO_TESTS.is_match(&answer) => FailureKind::NoTests,
            _ if !call.is_shell && NO_TOOL.is_match(&shown) => FailureKind::NoTool,
            None if DONE.is_match(&shown) => FailureKind::Done,
            None => FailureKind::Other,
            Some(line) => kind_of(line, call),
        };
        let only_counts = is_report && details.is_empty() && told.iter().all(|line| COUNTS.is_match(line));
        let diagnoses = || checks && told.iter().any(|line| DIAGNOSTIC.is_match(line));
        // The output of a linter without a stated cause is taken for a list of its findings, whatever its format.
        let last_check = call.parts.iter().rev().find_map(|part| part.check);
        let lists = last_check == Some(Check::Form) && kind == FailureKind::Other && !all.is_empty();
        let report = if is_report && all_passed(call, &all) {
            Some(Report::Passed)
        } else if only_counts {
            Some(Report::Counted)
        } else {
            (is_report || lists || diagnoses()).then_some(Report::Told)
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

    /// Returns true if only another call can help: Windows PowerShell does not know `&&`, or the tool has no such
    /// parameter. The shell says so in the language of the system.
    pub(crate) fn is_final(&self) -> bool {
        const SEPARATOR: [&str; 2] = ["not a valid statement separator", ": InvalidEndOfLine"];
        const SCHEMA: [&str; 2] = ["unexpected keyword argument", "unexpected parameter"];
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| self.line.contains(phrase));
        says(&SEPARATOR) || self.kind == FailureKind::Usage && says(&SCHEMA)
    }

    /// Returns true if the failure says that `program` is missing.
    pub(crate) fn misses(&self, program: &str) -> bool {
        matches!(&self.kind, FailureKind::Missing(name) if name == program)
    }

    /// Returns true if the shell says that it did not find the program.
    pub(crate) fn is_of_shell(&self) -> bool {
        const SHELLS: [&str; 5] = ["/bin/bash: ", "/bin/sh: ", "bash: ", "sh: ", "zsh: "];
        self.report.is_none()
            && !self.is_partial
            && self.line.ends_with("not found")
            && SHELLS.iter().any(|shell| self.line.starts_with(shell))
    }

    /// Returns true if the line with the cause names the type of an error.
    pub(crate) fn is_raised(&self) -> bool {
        TYPED.is_match(&self.line)
    }
}

/// Returns true if the only check of a call ran tests, and no line of the answer says that one failed.
fn all_passed(call: &Call, all: &[&str]) -> bool {
    let mut checks = call.parts.iter().filter_map(|part| part.check);
    let fails = |line: &str| {
        line.starts_with("error") || line.contains("***") || RED.is_match(line) || DIAGNOSTIC.is_match(line)
    };
    checks.next() == Some(Check::Tests) && checks.next().is_none() && !all.iter().any(|line| fails(line))
}

/// Returns true if the last line of an answer says that the user stopped the call.
fn was_aborted(answer: Text<'_>) -> bool {
    const SAYS: &str = "aborted by user";
    let spelling = answer.spelling();
    let end = spelling.get(spelling.len().saturating_sub(80)..).unwrap_or_default();
    memchr::memmem::find(end, SAYS.as_bytes()).is_some()
        && lines(&answer.tail(80)).next_back().is_some_and(|line| line.starts_with(SAYS))
}

/// Returns true if a call sends an interrupt: the command that it stops was meant to end.
fn interrupts(action: &Action<'_>) -> bool {
    let mut interrupts = false;
    each_text(action, |_, text, _| interrupts |= matches!(text, "\u{3}" | "^C" | "C-c" | "ctrl+c"));
    interrupts
}

/// Returns true if a call ends something: a session that is gone already is what it was to bring about.
pub(crate) fn stops(action: &Action<'_>) -> bool {
    let mut stops = false;
    each_text(action, |_, text, _| stops |= matches!(text, "kill" | "stop" | "terminate"));
    stops
}

/// Returns true if the lines of a failed answer only say no: a test, search or comparison that fails without a
/// complaint.
///
/// Without an exit code in the answer, the call may not have run: a harness that refuses it says so at length.
fn answers_no(call: &Call, all: &[&str], has_code: bool) -> bool {
    let compares = call.does == Does::Read && matches!(call.last_program(), "cmp" | "diff" | "git diff");
    if compares && all.iter().all(|line| !names_itself(line, call)) {
        let complains = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
        return !all.first().is_some_and(complains);
    }
    let is_short = || all.iter().map(|line| line.len()).sum::<usize>() <= 40;
    // `ssh -T` authenticates and exits with 1, because it gets no shell.
    let succeeds = || all.iter().any(|line| line.contains("successfully"));
    let may_say_no = call.may_say_no() && is_short() || has_code && (call.ends_asking() || succeeds());
    may_say_no && !all.iter().any(|line| complains(line, call))
}

/// Returns true if the answer to a structured call begins with text from its arguments, as the answers of `finish` and
/// `say` do.
fn is_echo(call: &Call, action: &Action<'_>, answer: Text<'_>) -> bool {
    let arguments = action.arguments.as_ref().present().and_then(Arguments::json);
    let head = answer.head(HEAD);
    let said = lines(&head).next().map(|line| first_chars(line, 80));
    !call.is_shell && said.zip(arguments).is_some_and(|(said, given)| said.len() > 20 && given.contains(said))
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

/// Returns true if a failed answer reports on files as a linter does, line by line.
pub(crate) fn diagnoses(action: &Action<'_>) -> bool {
    let Some(answer) = action.observation.present() else { return false };
    lines(&without_colours(answer.head(TAIL))).filter(|line| DIAGNOSTIC.is_match(line)).nth(1).is_some()
}

/// Returns true if the lines of a failed answer report that no test ran, and no error.
fn ran_no_test(all: &[&str]) -> bool {
    all.iter().any(|line| NO_TESTS.is_match(line)) && !all.iter().any(|line| COUNTS.is_match(line))
}

/// Returns true if a command line that can hide a failure invoked a test runner, and no test ran.
pub(crate) fn runs_no_test(call: &Call, action: &Action<'_>) -> bool {
    let tests = || call.parts.iter().any(|part| part.check == Some(Check::Tests));
    let Some(answer) = action.observation.present().filter(|_| call.is_shell && !call.is_strict && tests())
    else {
        return false;
    };
    let tail = without_colours(answer.tail(END));
    ran_no_test(&lines(&tail).collect::<Vec<_>>())
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

/// Returns true if the text of an answer states a failure. The text that a reading call returns may contain anything,
/// so for such calls only an answer that is nothing but a complaint counts.
fn states_failure(call: &Call, answer: Text<'_>) -> bool {
    if !call.is_shell {
        let start = answer.start(HEAD + 40);
        let checks = call.parts.iter().any(|part| part.check.is_some());
        let is_json = !checks && matches!(start, [b'{' | b'[', ..]);
        let hints = if is_json { &JSON_HINTS } else { &HINTS };
        if !hints.occur_in(start) {
            return false;
        }
        if !checks {
            let head = answer.head(HEAD);
            let mut told = lines(&head);
            let Some(first) = told.next() else { return false };
            return match first.as_bytes() {
                [b'{' | b'[', ..] => JSON_STATES.is_match(&head),
                _ => complains(first, call) && (call.does != Does::Read || told.nth(2).is_none()),
            };
        }
    }
    match exit_code(answer, TAIL) {
        Some(0) if call.is_strict => return false,
        None | Some(0) => {}
        Some(_) => return !is_search(call.last_program()),
    }
    let mut tail = without_colours(answer.tail(END));
    if answer.len() > END && lines(&tail).rev().nth(4).is_none() {
        tail = without_colours(answer.tail(TAIL));
    }
    let last: Vec<&str> = lines(&tail).rev().take(5).collect();
    let Some(end) = last.first() else { return false };
    if is_cut_report(call, answer, &last) {
        return true;
    }
    if !HINTS.occur_in(tail.as_bytes()) && !last.iter().any(|line| names_itself(line, call)) {
        return false;
    }
    if call.does == Does::Read {
        return last.len() <= 3 && last.last().is_some_and(|first| complains(first, call));
    }
    // These lines are not trimmed: a quoted error is indented, so it does not match.
    let is_typed =
        || tail.lines().rev().filter(|line| !line.trim().is_empty()).take(3).any(|line| TYPED.is_match(line));
    complains(end, call)
        || is_typed()
        || last.len() <= 4 && last.iter().any(|line| complains(line, call))
        || call.does == Does::Run && last.iter().take(4).any(|line| COUNTS.is_match(line))
}

/// Returns true if an answer holds the failures of a test report, but not its summary: a recorder cut it off, or
/// `head` did.
fn is_cut_report(call: &Call, answer: Text<'_>, last: &[&str]) -> bool {
    let tests = call.parts.iter().any(|part| part.check == Some(Check::Tests));
    let holds = |header: &str| memchr::memmem::find(answer.spelling(), header.as_bytes()).is_some();
    call.is_shell
        && tests
        && !last.iter().any(|line| RAN.is_match(line) || COUNTS.is_match(line))
        && ["== FAILURES ==", "== ERRORS =="].into_iter().any(holds)
}

/// Returns true if an action is a search that found nothing: its answer is empty, or says that there is nothing.
pub(crate) fn found_nothing(call: &Call, action: &Action<'_>) -> bool {
    /// Commands that answer by their exit status and print nothing.
    const TESTS: [&str; 5] = ["[", "cmp", "diff", "git diff", "test"];
    let Some(answer) = action.observation.present().filter(|answer| answer.len() <= HEAD) else {
        return false;
    };
    let text = answer.to_str();
    let told: Vec<&str> = lines(&text).take(2).collect();
    let is_empty = matches!(told.as_slice(), [] | ["[]" | "{}" | "null"]);
    if !is_empty && !told.first().is_some_and(|first| NOTHING.is_match(first)) {
        return false;
    }
    let program = call.last_program();
    let only_reads = call.does == Does::Read && is_search(program) && !TESTS.contains(&program);
    only_reads || !is_empty && Meaning::of_any(words(program)).is(Meaning::FIND)
}
