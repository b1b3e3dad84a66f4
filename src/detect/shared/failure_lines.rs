//! The lines of an answer that state a failure.

use std::borrow::Cow;

use super::call::Call;
use super::failure_phrases::{
    CLEAN, COMPLAINS, DIAGNOSTIC, DIFFERS, FLAW, FRAME, HINTS, JSON_TEXT, NONE, PACKAGE, RAISED, RED,
    START_UP, STATES, TIME, TYPED,
};
use super::phrase_search::Pattern;
use crate::trace::first_chars;

/// Maximum length of a line that can state a failure, in bytes.
const LONGEST: usize = 400;

/// In an output of at most this many lines, messages quote a line even if it has no known phrase of failure.
const SILENT: usize = 3;

/// Returns true if a line says that something failed. A line that the command itself contains does not count.
pub(super) fn complains(line: &str, call: &Call) -> bool {
    if line.len() > LONGEST {
        return false;
    }
    let says_so = || {
        HINTS.occur_in(line.as_bytes())
            && COMPLAINS.is_match(line)
            && (!NONE.is_match(line) || TYPED.is_match(line) || STATES.is_match(line))
    };
    if !says_so() && !names_itself(line, call) {
        return false;
    }
    let lower = line.to_lowercase();
    // Usage lines are not a failure if the command asks for help.
    let is_help = || {
        lower.contains("usage") && call.text.split(' ').any(|word| matches!(word, "--help" | "-h" | "help"))
    };
    !lower.contains("warning")
        && !CLEAN.is_match(line)
        && !is_start_up(line, call)
        && !is_help()
        && (call.text.is_empty() || !call.text.contains(&lower))
}

/// Returns true if a line is a complaint about a shell start-up file that the command does not name.
pub(super) fn is_start_up(line: &str, call: &Call) -> bool {
    START_UP.group(line).is_some_and(|file| !call.text.contains(file))
}

/// Returns true if a line begins with a program of the command line: `grep: Unmatched ( or \(`.
pub(super) fn names_itself(line: &str, call: &Call) -> bool {
    let colon =
        memchr::memchr_iter(b':', line.as_bytes()).find(|at| line.as_bytes().get(at + 1) == Some(&b' '));
    let name = colon.and_then(|at| line.get(..at));
    name.is_some_and(|name| call.is_shell && call.parts.iter().any(|part| part.name() == name))
}

/// Returns the lines of a failed answer that say what failed, at most eight.
pub(super) fn telling<'a>(call: &Call, answer: &'a str, all: &[&'a str]) -> Vec<&'a str> {
    // The report of a syntax error may begin with a place, without a `Traceback` line.
    let is_syntax = all.last().is_some_and(|line| line.starts_with("SyntaxError: "));
    let is_start =
        |line: &&str| line.starts_with("Traceback (most recent") || is_syntax && line.starts_with("File \"");
    let traceback = all.iter().rposition(is_start);
    if let Some(at) = traceback {
        let raised = |pattern: &Pattern| all.iter().skip(at).rfind(|line| pattern.is_match(line));
        if let Some(raised) = raised(&TYPED).or_else(|| raised(&RAISED)) {
            return vec![raised];
        }
    }
    let mut told: Vec<&str> = Vec::new();
    if answer.trim_start().starts_with('{') {
        told.extend(JSON_TEXT.groups(first_chars(answer, 1_000)).take(8));
        // `Failed to execute the code below:`, then the code, then the error; or `Calling f error...`, then the error.
        if let [line] = told[..]
            && (line.ends_with(':') || line.ends_with("...") && answer.contains(&format!("{line}\\n")))
            && let Some(last) = answer.rsplit("\\n").find(|line| line.contains(char::is_alphabetic))
        {
            told = vec![last.split('"').next().unwrap_or(last)];
        }
    }
    if told.is_empty() {
        told.extend(all.iter().filter(|line| tells(line, call) && !line.starts_with("Traceback")).take(8));
    }
    if told.is_empty() {
        let skipped = if call.is_shell { all.len().saturating_sub(2) } else { 0 };
        told.extend(all.iter().skip(skipped).take(2));
    }
    told
}

/// Returns true if a line is a usage message printed next to an error. It does not state the cause.
pub(super) fn is_usage(line: &str, told: &[&str]) -> bool {
    first_chars(line, 6).eq_ignore_ascii_case("usage:") && told.iter().any(|line| line.starts_with("Error"))
}

/// Returns the line that messages quote: the cause, else the first that says something. `None` if no line of
/// a long output does.
pub(super) fn quoted<'a>(
    call: &Call,
    told: &[&'a str],
    all: &[&'a str],
    cause: Option<&'a str>,
    killed: bool,
) -> Option<Cow<'a, str>> {
    // `===== FAILURES =====` says nothing, nor does an error that repeats a line before it, such as the usage.
    let repeats = |line: &str| line.strip_prefix("Error: ").is_some_and(|text| all.contains(&text));
    let is_rule = |line: &str| {
        line.starts_with("==")
            || line.starts_with("--")
            || is_usage(line, told)
            || repeats(line)
            || PACKAGE.is_match(line)
    };
    let rest = if told.iter().all(|line| PACKAGE.is_match(line)) { all } else { &[] };
    let said = told.iter().chain(rest).find(|line| !is_rule(line)).or(told.first());
    let specific = || all.iter().find_map(|line| failed_test(line).or_else(|| flaw(line)));
    let line = cause.or_else(specific).or(said.copied());
    // The message names the command, so only the end is quoted: `Command '[…]' timed out after 60 seconds`.
    let mut lines = line.iter().chain(all);
    let timed_out =
        lines.find_map(|line| line.get(line.rfind("timed out")?..)?.split('<').next()).filter(|_| killed);
    // The last lines of a long output without a stated error say nothing about the failure.
    let is_told = |line: &&str| tells(line, call) || RAISED.is_match(line);
    if timed_out.is_none() && call.is_shell && all.len() > SILENT && !told.iter().any(is_told) {
        return None;
    }
    let line = timed_out.or(line).unwrap_or_default();
    // Keep only the last state of a progress bar, and drop the note that a harness adds to the line.
    let line = line.rsplit('\r').find(|state| !state.trim().is_empty()).unwrap_or(line);
    let notes = ["[Python Interpreter: ", ": SECURITY NOTICE: "];
    let line = notes.iter().fold(line, |line, note| line.split(note).next().unwrap_or(line));
    let untimed = TIME.length(line.as_bytes()).and_then(|length| line.get(length..)).unwrap_or(line);
    // `Validation failed for tool "edit":` goes on in the next line, `1 validation error for Order` in the next two.
    let mut next = all.iter().skip_while(|other| **other != line).skip(1).copied();
    let more = match line {
        _ if line.ends_with(':') => next.next().map(|reason| format!("{untimed} {reason}")),
        _ if counts_validation_errors(line) => {
            next.next().zip(next.next()).map(|(field, reason)| format!("{untimed}: {field}: {reason}"))
        }
        _ => None,
    };
    Some(match more {
        Some(text) => text.into(),
        // Part of a JSON string: its quotes are escaped.
        None if !call.is_shell && untimed.contains("\\\"") => untimed.replace("\\\"", "\"").into(),
        None => Cow::Borrowed(untimed),
    })
}

/// Returns the test and the reason that a line of a summary names: `FAILED tests/a.py::test_b - assert 1 == 2`.
fn failed_test(line: &str) -> Option<&str> {
    let (test, _) = line.strip_prefix("FAILED ")?.split_once(" - ")?;
    let (file, _) = test.rsplit_once("::")?;
    line.get("FAILED ::".len() + file.len()..)
}

/// Returns true for the first line of an error of pydantic: `1 validation error for Order`.
fn counts_validation_errors(line: &str) -> bool {
    let before = line.split_once(" validation error").map(|(before, _)| before);
    before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
}

/// Returns the error in a line as flake8 lists it: `- E999 SyntaxError: unmatched ')'`.
fn flaw(line: &str) -> Option<&str> {
    line.strip_prefix("- ").filter(|_| FLAW.is_match(line))
}

/// Returns true if a line of a failed answer says that something failed, or where. A line of source code does not.
pub(super) fn tells(line: &str, call: &Call) -> bool {
    let may_be_red = || line.starts_with("E  ") || line.starts_with("- ") || !line.is_ascii();
    (HINTS.occur_in(line.as_bytes()) || may_be_red() || names_itself(line, call))
        && (complains(line, call) || RED.is_match(line) || DIAGNOSTIC.is_match(line))
        && !FRAME.is_match(line)
        && !line.starts_with("throw ")
}

/// Returns the lines of a test report that say how the tests failed, at most 60.
pub(super) fn details<'a>(all: &[&'a str]) -> Vec<&'a str> {
    let names_test =
        |at: Option<usize>| at.and_then(|at| all.get(at)).is_some_and(|line| line.starts_with('●'));
    let is_detail = |(at, line): &(usize, &&str)| DIFFERS.is_match(line) || names_test(at.checked_sub(1));
    all.iter().enumerate().filter(is_detail).take(60).map(|(_, line)| *line).collect()
}
