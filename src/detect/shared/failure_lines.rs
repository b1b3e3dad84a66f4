//! The lines of an answer that state a failure.

use super::call::Call;
use super::failure_phrases::{
    CLEAN, COMPLAINS, DIAGNOSTIC, DIFFERS, HINTS, JSON_TEXT, NONE, RAISED, RED, STATES, TYPED,
};
use super::phrases::Pattern;
use crate::trace::first_chars;

/// Longer lines state nothing, in bytes.
const LONGEST: usize = 400;

/// Returns true if a line says that something failed. The words of the command itself say nothing.
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
    // Help that was asked for.
    let is_help = || {
        lower.contains("usage") && call.text.split(' ').any(|word| matches!(word, "--help" | "-h" | "help"))
    };
    !lower.contains("warning")
        && !CLEAN.is_match(line)
        && !is_help()
        && (call.text.is_empty() || !call.text.contains(&lower))
}

/// Returns true if a line begins with a program of the command line: `grep: Unmatched ( or \(`.
pub(super) fn names_itself(line: &str, call: &Call) -> bool {
    let colon =
        memchr::memchr_iter(b':', line.as_bytes()).find(|at| line.as_bytes().get(at + 1) == Some(&b' '));
    let name = colon.and_then(|at| line.get(..at));
    name.is_some_and(|name| call.is_shell && call.parts.iter().any(|part| part.name() == name))
}

/// Returns the lines of a failed answer that tell what failed, at most eight.
pub(super) fn telling<'a>(call: &Call, answer: &'a str, all: &[&'a str]) -> Vec<&'a str> {
    let traceback = all.iter().rposition(|line| line.starts_with("Traceback (most recent"));
    if let Some(at) = traceback {
        let raised = |pattern: &Pattern| all.iter().skip(at).rfind(|line| pattern.is_match(line));
        if let Some(raised) = raised(&TYPED).or_else(|| raised(&RAISED)) {
            return vec![raised];
        }
    }
    let mut told: Vec<&str> = Vec::new();
    if answer.trim_start().starts_with('{') {
        told.extend(JSON_TEXT.groups(first_chars(answer, 1_000)).take(8));
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

/// Returns true if a line of a failed answer tells that something failed, or where.
pub(super) fn tells(line: &str, call: &Call) -> bool {
    let may_be_red = || line.starts_with("E  ") || !line.is_ascii();
    (HINTS.occur_in(line.as_bytes()) || may_be_red() || names_itself(line, call))
        && (complains(line, call) || RED.is_match(line) || DIAGNOSTIC.is_match(line))
}

/// Returns the lines of a test report that say how the tests failed, at most 60.
pub(super) fn details<'a>(all: &[&'a str]) -> Vec<&'a str> {
    let names_test =
        |at: Option<usize>| at.and_then(|at| all.get(at)).is_some_and(|line| line.starts_with('●'));
    let is_detail = |(at, line): &(usize, &&str)| DIFFERS.is_match(line) || names_test(at.checked_sub(1));
    all.iter().enumerate().filter(is_detail).take(60).map(|(_, line)| *line).collect()
}
