//! Failed checks: tests, builds, linters and scripts that have not passed since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{OpenReason, finding};
use crate::detect::finding::Finding;
use crate::detect::shared::{
    Attempt, Attempts, Baseline, Check, Does, Excuse, FailureKind, Meaning, Part, Report, Shown, Undo,
    after_colon, diagnoses, is_blank, newly_installed,
};
use crate::trace::{Action, Provenance, Status, UnknownReason};

/// Follows the checks of a run, and the files that it changes.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Failures and changes since any check last passed, and since a check of the work did: a test, build or linter, or
    /// a script that the agent wrote.
    all: Since,
    work: Since,
    pub(super) any_failed: bool,
    /// Scripts that were run, and files that were written.
    scripts: BTreeSet<String>,
    files: BTreeSet<String>,
    /// Programs that reported on files as linters do.
    linters: BTreeSet<Arc<str>>,
    baseline: Baseline,
    /// The check that the run ends with, if it was not answered.
    pub(super) pending: Option<Box<Part>>,
}

/// Failed checks and changed files since a check last passed.
#[derive(Debug, Default)]
struct Since {
    failed: Vec<FailedCheck>,
    /// When each file was first changed, and when any file was last changed.
    changed: BTreeMap<String, u64>,
    latest: u64,
}

#[derive(Debug, Clone)]
struct FailedCheck {
    program: Arc<str>,
    script: Option<String>,
    step: u64,
    check: Check,
    shown: Shown,
    line: String,
    /// Whether its program was found. If not, the message says that the check could not run.
    ran: bool,
    /// The module or command that it did not find, as installers name it.
    missing: Option<String>,
}

impl Checks {
    /// Returns true if the program of a part is a linter: it fails with reports on files now, or has done so.
    pub(super) fn is_linter(&mut self, part: &Part, failed: bool, action: &Action<'_>) -> bool {
        if failed && diagnoses(action) {
            self.linters.insert(Arc::clone(&part.program));
        }
        self.linters.contains(&part.program)
    }

    /// Records the changes and the check of an attempt. Returns whether the check passed.
    pub(super) fn observe(&mut self, attempt: &Attempt, told: &Part, action: &Action<'_>) -> bool {
        let failure = attempt.failure().filter(|failure| failure.report != Some(Report::Passed));
        let without_changes = self.baseline.excuses(attempt);
        for part in &attempt.call.call.parts {
            if let Some(file) = part.file.as_ref().filter(|_| failure.is_none()) {
                self.files.insert(file.to_owned());
            }
            let restored = part.undo == Undo::Restores;
            let changed = part.file.clone().or_else(|| restored.then(|| "?".to_owned()));
            if let Some(file) = changed.filter(|_| failure.is_none()) {
                for since in [&mut self.all, &mut self.work] {
                    since.changed.entry(file.clone()).or_insert(attempt.step);
                    since.latest = attempt.step;
                }
            }
            self.scripts.extend(part.script.clone());
        }
        // A snippet that writes files is not a check. If it also asserts something or ends with a status, its success
        // clears the failed snippets of its program.
        let text = &attempt.call.call.text;
        if told.check.is_none()
            && told.does == Does::Write
            && (text.contains("assert ") || text.contains("sys.exit("))
            && failure.is_none()
            && action.status == Status::Ok
        {
            let is_settled =
                |failed: &FailedCheck| failed.check == Check::Snippet && failed.program == told.program;
            for since in [&mut self.all, &mut self.work] {
                since.failed.retain(|failed| !is_settled(failed));
            }
        }
        // A module that a script did not find was installed.
        let names = newly_installed(&attempt.call.call);
        if !names.is_empty() && action.status == Status::Ok && failure.is_none() {
            let misses = |failed: &FailedCheck| {
                failed.check < Check::Form && failed.missing.as_ref().is_some_and(|name| names.contains(name))
            };
            for since in [&mut self.all, &mut self.work] {
                since.failed.retain(|failed| !misses(failed));
            }
        }
        let Some(check) = told.check else { return false };
        let is_test = check >= Check::Form;
        let of_work = is_test || told.script.as_ref().is_some_and(|script| self.files.contains(script));
        let is_ok = action.status == Status::Ok || attempt.failure().is_some();
        // Tests that print nothing may not have run.
        let is_silent = action.provenance == Provenance::None
            && check == Check::Tests
            && action.observation.present().is_none_or(is_blank);
        let passed = failure.is_none() && !is_silent && (is_ok || is_free_of_errors(attempt, action));
        if action.reason == Some(UnknownReason::Unanswered) && action.observation.is_absent() {
            self.pending = Some(Box::new(told.clone()));
        }
        let states = [Some(&mut self.all), Some(&mut self.work).filter(|_| of_work)];
        for since in states.into_iter().flatten() {
            match failure {
                // A snippet may print an error on purpose.
                Some(failure) if check == Check::Snippet && !failure.recorded && !failure.is_raised() => {}
                // Style is often left as it is, on purpose.
                Some(failure) if check == Check::Form && is_style(told, &failure.line) => {}
                // A script may report a result by its exit code, so a failure without a message does not count.
                Some(failure) if !is_test && failure.line.trim().is_empty() => {}
                Some(_) if without_changes => {
                    since.failed.retain(|failed| failed.program != told.program);
                }
                // A script may look for something that is not there.
                Some(failure) if !is_test && is_of_reader(&failure.line) => {}
                // A time-out or a run without tests says nothing about what was checked.
                Some(failure)
                    if attempt.excuse != Some(Excuse::Transient)
                        && !matches!(failure.kind, FailureKind::Killed | FailureKind::NoTests) =>
                {
                    since.failed.push(FailedCheck {
                        program: Arc::clone(&told.program),
                        script: told.script.clone(),
                        step: attempt.step,
                        check,
                        shown: Shown::part(&attempt.call, told),
                        line: failure.line.clone(),
                        ran: !failure.misses(told.name()) && !failure.is_of_shell(),
                        missing: match &failure.kind {
                            FailureKind::Missing(name) => Some(name.replace('_', "-")),
                            _ => None,
                        },
                    });
                    self.any_failed = true;
                }
                None if passed && check == Check::Form => {
                    since.failed.retain(|failed| failed.check != Check::Form);
                }
                // A passing build says nothing about tests, and clears everything else.
                None if passed && check == Check::Build => {
                    since.failed.retain(|failed| failed.check == Check::Tests);
                }
                None if passed => *since = Since::default(),
                _ => {}
            }
        }
        passed
    }

    /// Returns the failed checks that no later check cleared, if a source file was changed before the last of them.
    /// Returns none if the agent has since changed something and was then stopped or is still running the last of them
    /// again, or if the run ends before that is answered.
    fn failing(&self, is_stopped: bool, attempts: &Attempts) -> &[FailedCheck] {
        let is_source = |file: &str| {
            !file.contains("test")
                && ![".md", ".txt", ".patch", ".diff"].iter().any(|end| file.ends_with(end))
        };
        let only_scripts = !self.files.iter().any(|file| is_source(file) && !self.scripts.contains(file));
        let since = if only_scripts { &self.work } else { &self.all };
        let Some(last) = since.failed.last() else { return &[] };
        let counts = |file: &str| is_source(file) && (only_scripts || !self.scripts.contains(file));
        // A script that was written once may be there to show the error.
        let start = since.failed.first().filter(|_| only_scripts && last.ran).map_or(0, |first| first.step);
        let is_worked_on = |step: u64| step < last.step && (start == 0 || since.latest > start);
        let changed = since.changed.iter().any(|(file, step)| counts(file) && is_worked_on(*step));
        let is_last = |part: &Part| part.program == last.program && part.script == last.script;
        let in_repair =
            since.latest > last.step && (is_stopped || attempts.ends_running(is_last, since.latest));
        let is_pending = self.pending.as_deref().is_some_and(is_last);
        if changed && !in_repair && !is_pending { &since.failed } else { &[] }
    }

    /// Returns the number of failing checks, and the finding on them.
    pub(super) fn finding(&self, is_stopped: bool, attempts: &Attempts) -> Option<(u64, Finding)> {
        let failing = self.failing(is_stopped, attempts);
        let ([first, .., last] | [first @ last]) = failing else { return None };
        let (count, line) = (failing.len() as u64, after_colon(&last.line));
        let of = if count == 1 { String::new() } else { format!(" the last of {count} failed checks,") };
        let failed = if last.ran { "failed" } else { "could not run" };
        let none = if last.check == Check::Tests { "no test" } else { "no check" };
        let message = format!("{} {failed},{of} and {none} passed after it{line}", last.shown);
        let place = (first.step, last.step);
        Some((count, finding(place, OpenReason::FailedCheck, &last.program, count, message)))
    }

    pub(super) fn memory(&self) -> usize {
        let failed = self.all.failed.len() + self.work.failed.len();
        let files = self.all.changed.len() + self.work.changed.len() + self.files.len() + self.scripts.len();
        let files = files + self.linters.len();
        failed * 512 + files * 96 + self.baseline.memory()
    }
}

/// Returns true if a program that reads does not find a file: `grep: a/b: No such file or directory`.
fn is_of_reader(line: &str) -> bool {
    let reads = |program: &str| program != "env" && Meaning::of(program).is(Meaning::READS);
    line.ends_with(": No such file or directory")
        && line.split_once(": ").is_some_and(|(program, _)| reads(program))
}

/// Returns true if a failed check of form concerns style, not code that cannot run.
fn is_style(told: &Part, line: &str) -> bool {
    const BROKEN: [&str; 5] = ["SyntaxError", "E9", "F821", "E0602", "could not compile"];
    !Meaning::of_any(told.program.split(' ')).is(Meaning::CHECKS_TYPES)
        && !BROKEN.iter().any(|sign| line.contains(sign))
}

/// Returns true if the errors of a check were searched for and none was found: `tsc | grep error`.
fn is_free_of_errors(attempt: &Attempt, action: &Action<'_>) -> bool {
    let call = &attempt.call.call;
    let searches = |part: &&Part| matches!(&*part.program, "grep" | "egrep" | "rg");
    let last = call.parts.last().filter(searches).map(|part| call.text_of(part));
    let for_errors = last.is_some_and(|last| last.contains("error") || last.contains("fail"));
    for_errors && call.is_shell && action.observation.present().is_some_and(is_blank)
}
