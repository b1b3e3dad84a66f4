//! Whether the text of an answer states a failure, only says no, or says that nothing ran or was found.
//!
//! An answer can state a failure in its text alone. A command line that ends in `|| true`, or whose output is
//! piped, succeeds in any case, and many tools report success while they answer `{"error": …}`.

use super::failure_lines::{complains, names_itself};
use super::failure_phrases::{
    COUNTS, DIAGNOSTIC, HINTS, JSON_HINTS, JSON_STATES, NO_TESTS, NOTHING, RAN, REFUSED, TYPED,
};
use super::shell::last_part;
use super::text::exit_code;
use super::{Call, Check, Does, Meaning, is_search, lines, without_colours, words};
use crate::trace::{Action, Arguments, Text, first_chars};

/// How much of an answer is searched for a failure: `HEAD` characters from its start for structured calls,
/// `TAIL` bytes from its end for command lines and checks.
const HEAD: usize = 400;
pub(super) const TAIL: usize = 2_000;
/// Number of bytes at the end of an answer that usually hold its last five lines.
const END: usize = 500;

/// Returns true if the text of an answer states a failure. The text that a reading call returns may contain anything,
/// so for such calls only an answer that is nothing but a complaint counts.
pub(super) fn states_failure(call: &Call, answer: Text<'_>) -> bool {
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
                _ => {
                    (first.starts_with("Traceback (most recent") || complains(first, call))
                        && (call.does != Does::Read || told.nth(2).is_none())
                }
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
        // A file may hold anything, so only the program itself can say that it failed to show it.
        let shows = call.parts.iter().all(|part| Meaning::of(part.name()).is(Meaning::FILTER));
        let is_own = |line: &str| {
            names_itself(line, call)
                || of_shell(line)
                || REFUSED.is_match(line)
                || line.contains("No such file")
        };
        let says = |line: &str| complains(line, call) && (!shows || is_own(line));
        return last.len() <= 3 && last.last().is_some_and(|first| says(first));
    }
    // These lines are not trimmed: a quoted error is indented, so it does not match.
    let is_typed = || {
        let mut ends = tail.lines().rev().filter(|line| !line.trim().is_empty()).take(3);
        ends.any(|line| TYPED.is_match(line) && !is_caught(line, call, &tail))
    };
    let complains = |line: &str| complains(line, call) && !is_caught(line, call, &tail);
    complains(end)
        || is_typed()
        || last.len() <= 4 && last.iter().any(|line| complains(line))
        || call.does == Does::Run && last.iter().take(4).any(|line| COUNTS.is_match(line))
}

/// Returns true if a line names an exception that code on the command line catches: `except ValueError as e: …`.
fn is_caught(line: &str, call: &Call, tail: &str) -> bool {
    let name = line.split([':', '(']).next().unwrap_or_default().trim().to_lowercase();
    let catches = || call.text.contains("except ") && call.text.contains(&name);
    TYPED.is_match(line) && catches() && !tail.contains("Traceback (most recent")
}

/// Returns true if a shell says what failed: `bash: line 1: …`.
fn of_shell(line: &str) -> bool {
    let program = line.split(':').next().unwrap_or_default();
    Meaning::of(last_part(program)).is(Meaning::SHELL)
}

/// Returns true if an answer holds the failures of a test report, but not its summary, which a recorder or `head` cut
/// off.
fn is_cut_report(call: &Call, answer: Text<'_>, last: &[&str]) -> bool {
    let tests = call.parts.iter().any(|part| part.check == Some(Check::Tests));
    let holds = |header: &str| memchr::memmem::find(answer.spelling(), header.as_bytes()).is_some();
    call.is_shell
        && tests
        && !last.iter().any(|line| RAN.is_match(line) || COUNTS.is_match(line))
        && ["== FAILURES ==", "== ERRORS =="].into_iter().any(holds)
}

/// Returns true if the lines of a failed answer only say no: a test, search or comparison that fails without a
/// complaint.
///
/// Without an exit code, a long answer does not count: it may be that of a harness that refused the call.
pub(super) fn answers_no(call: &Call, all: &[&str], has_code: bool) -> bool {
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
/// `say` do. Such text states no failure.
pub(super) fn is_echo(call: &Call, action: &Action<'_>, answer: Text<'_>) -> bool {
    let arguments = action.arguments.as_ref().present().and_then(Arguments::json);
    let head = answer.head(HEAD);
    let said = lines(&head).next().map(|line| first_chars(line, 80));
    !call.is_shell && said.zip(arguments).is_some_and(|(said, given)| said.len() > 20 && given.contains(said))
}

/// Returns true if the last line of an answer says that the user stopped the call.
pub(super) fn was_aborted(answer: Text<'_>) -> bool {
    const SAYS: [&str; 2] = ["aborted by user", "[Command interrupted]"];
    let spelling = answer.spelling();
    let end = spelling.get(spelling.len().saturating_sub(80)..).unwrap_or_default();
    let may_say = |says: &str| memchr::memmem::find(end, says.as_bytes()).is_some();
    SAYS.iter().any(|says| {
        may_say(says) && lines(&answer.tail(80)).next_back().is_some_and(|line| line.starts_with(says))
    })
}

/// Returns true if the lines of a failed answer say that no test ran, and count no failure or error.
pub(super) fn ran_no_test(all: &[&str]) -> bool {
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

/// Returns true if at least two lines of a failed answer report on files, as those of a linter do.
pub(crate) fn diagnoses(action: &Action<'_>) -> bool {
    let Some(answer) = action.observation.present() else { return false };
    lines(&without_colours(answer.head(TAIL))).filter(|line| DIAGNOSTIC.is_match(line)).nth(1).is_some()
}
