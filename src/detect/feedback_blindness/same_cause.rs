//! The default rule of `feedback_blindness`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::barred::{Barred, PROGRAMS};
use super::{FeedbackBlindness, FeedbackBlindnessConfig, finding, quote};
use crate::detect::detector::Fold;
use crate::detect::finding::{Confidence, FINDING_BYTES, Finding, Verdict};
use crate::detect::incomparable;
use crate::detect::measures::Measure;
use crate::detect::shared::{
    Attempt, Attempts, Baseline, Call, Check, Does, Facts, Failure, FailureKind, Meaning, NoCall, Part,
    ProgressTracker, Report, Shown, UserSays, after_colon, installed, installs, no_call, shell,
};
use crate::trace::{Action, Digest, DigestMap, DigestSet, Step, UnknownReason};

/// The default rule: a failed call is blind if an earlier one met the same cause and nothing relevant changed
/// since.
#[derive(Debug)]
pub(super) struct Blindness {
    config: Arc<FeedbackBlindnessConfig>,
    attempts: Attempts,
    no_call: NoCall,
    gains: ProgressTracker,
    /// The number of attempts.
    number: u64,
    /// The latest changes, each with the number of its attempt.
    changes: VecDeque<(u64, Arc<Facts>)>,
    /// By program and cause; for turns without a call, by the harness's answer.
    refused: DigestMap<Refused>,
    barred: Barred,
    /// The number of the latest attempt that ran something.
    ran: u64,
    /// By tool that writes, by program that checks and by call that has failed, the number of the latest call that
    /// succeeded.
    went_through: DigestMap<u64>,
    /// The first [`MOST_CALLS`] calls that have failed.
    failed: DigestSet,
    user: UserSays,
    baseline: Baseline,
    findings: Vec<Finding>,
}

/// The failures of one cause.
#[derive(Debug, Default)]
struct Refused {
    latest: VecDeque<Refusal>,
    /// The number of turns with this cause since the count last started over.
    turns: u64,
    /// The steps of the first [`NAMED`] of these turns, for turns without a call.
    steps: Vec<u64>,
    /// The number of calls before the first turn without a call, and before the last one.
    calls: (u64, u64),
    is_reported: bool,
}

#[derive(Debug)]
struct Refusal {
    step: u64,
    turn: u64,
    number: u64,
    wording: Digest,
    form: u64,
    call: Arc<Facts>,
}

/// How many refusals of one cause, and how many changes, are remembered.
const REMEMBERED: usize = 16;

/// How many calls that have failed are remembered.
const MOST_CALLS: usize = 256;

/// The most turns without a call that a message names.
const NAMED: usize = 3;

/// After more calls than this, another failure of the same cause is not held against the agent if something changed.
const FAR: u64 = 30;

/// After more calls than this, the agent cannot be expected to remember an earlier turn without a call.
const NEAR: u64 = 8;

impl Blindness {
    pub(super) fn new(rule: &FeedbackBlindness) -> Self {
        Self {
            config: Arc::clone(&rule.config),
            attempts: Attempts::new(rule.config.actors, &rule.ready.0),
            no_call: NoCall::default(),
            gains: ProgressTracker::default(),
            number: 0,
            changes: VecDeque::new(),
            refused: DigestMap::default(),
            barred: Barred::default(),
            ran: 0,
            went_through: DigestMap::default(),
            failed: DigestSet::default(),
            user: UserSays::default(),
            baseline: Baseline::default(),
            findings: Vec::new(),
        }
    }

    fn refusal(&mut self, attempt: &Attempt, failure: &Failure, action: &Action<'_>) {
        let call = &attempt.call.call;
        let barred = self.barred.refused(attempt, failure);
        let by_cause = matches!(failure.kind, FailureKind::Missing(_) | FailureKind::Usage);
        let program = if by_cause && call.is_shell { "$" } else { &call.program };
        let now = Refusal {
            step: attempt.step,
            turn: attempt.turn,
            number: self.number,
            wording: failure.wording,
            form: failure.form,
            call: Arc::clone(&attempt.call),
        };
        let refused = self.refused.entry(failure.cause.and(Digest::of_text(program))).or_default();
        let earlier_turns = refused.latest.iter().filter(|earlier| earlier.turn != now.turn);
        let unchanged = |earlier: &&Refusal| {
            let since = self.changes.iter().take_while(|(number, _)| *number > earlier.number);
            // If the same file or command is refused again, no change in between counts.
            failure.kind == FailureKind::Refused && earlier.is_refused_as(&now, failure)
                || !since
                    .map(|(_, change)| change)
                    .any(|change| cures(change, failure, earlier) && !is_next_edit(change, earlier, call))
        };
        // A call that went through since may fail again for a cause of its own.
        let latest = call.key.and_then(|key| self.went_through.get(&key)).copied().unwrap_or(0);
        // The user may have done something in between.
        let spoke = |earlier: &Refusal| call.is_shell && self.user.latest > earlier.step;
        // A command in between may have created what the earlier read did not find.
        let looks = call.does == Does::Read && (call.is_shell || call.target.is_some());
        let looks_again = |earlier: &Refusal| looks && self.ran > earlier.number;
        let is_new = |earlier: &Refusal| spoke(earlier) || looks_again(earlier) || latest > earlier.number;
        let earlier_turns = earlier_turns.take_while(|earlier| !is_new(earlier));
        let blind = earlier_turns.take_while(unchanged).find(|earlier| earlier.is_repeated_by(&now, failure));
        let is_equal = |earlier: &Refusal| call.key.is_some() && earlier.call.call.key == call.key;
        let mut blind =
            blind.map(|earlier| (earlier.step, is_equal(earlier), is_equal(earlier) && failure.recorded));
        let last = refused.latest.front();
        if last.is_none_or(|last| last.turn != now.turn) {
            // The user has spoken since: they either gave a value that the call uses or refused the call.
            let spoke = last.is_some_and(|last| self.user.latest > last.step);
            let by_user = action.reason == Some(UnknownReason::Refused);
            let given = spoke && (by_user || !call.is_shell && self.user.gave(action));
            let success = self.went_through.get(&Digest::of_text(program));
            // After a change, a different answer to the same call or to a check is news.
            let changed = last.is_some_and(|last| {
                (is_equal(last) || failure.report.is_some())
                    && last.form != now.form
                    && self.changes.front().is_some_and(|(at, _)| *at > last.number)
            });
            let went_through = success.is_some_and(|number| last.is_some_and(|last| last.number < *number));
            let is_far = last.is_some_and(|last| now.number - last.number > FAR);
            refused.turns = if given || changed || is_far || went_through && !call.is_shell {
                1
            } else if went_through {
                // A check that passed in between may have overcome the cause.
                (refused.turns + 1).min(self.config.max_failures)
            } else {
                refused.turns + 1
            };
        }
        // A linter may go on listing old errors in files that the agent leaves alone.
        let names_file = |change: &Facts| {
            let file = change.call.target.as_deref().map(shell::last_part);
            file.is_some_and(|file| failure.line.contains(file))
        };
        let last_check = call.parts.iter().rev().find_map(|part| part.check);
        let lists_again = || {
            failure.report.is_some()
                && last_check == Some(Check::Form)
                && last.is_some_and(|last| self.changes.front().is_some_and(|(at, _)| *at > last.number))
                && !self.changes.iter().any(|(_, change)| names_file(change))
        };
        if refused.turns > self.config.max_failures
            && failure.report != Some(Report::Counted)
            && !lists_again()
        {
            blind = blind.or(last.map(|last| (last.step, is_equal(last), false)));
        }
        let report = blind.filter(|_| !refused.is_reported);
        refused.is_reported |= blind.is_some();
        let all_equal = refused.latest.iter().all(is_equal);
        refused.latest.truncate(REMEMBERED - 1);
        refused.latest.push_front(now);
        let elsewhere = report.is_none();
        let Some((before, is_equal, is_certain)) = report.or_else(|| Some((barred?, false, false))) else {
            return;
        };
        let (shown, line) = (Shown::with(&attempt.call, action), after_colon(&failure.line));
        let times = match refused.turns {
            0..=2 => String::new(),
            times if is_equal && all_equal => format!(", {times} times by now"),
            times => format!(", in {times} turns by now"),
        };
        let message = if elsewhere {
            format!("{shown} is refused, as {PROGRAMS} other programs have been since step {before}{line}")
        } else if is_equal {
            format!("{shown} fails as it did at step {before}{times}{line}")
        } else {
            format!("{shown} fails for the same reason as step {before}{times}{line}")
        };
        let confidence = if is_certain { Confidence::Certain } else { Confidence::Likely };
        let finding = finding(attempt.told_at, before, quote(action), message);
        self.findings.push(finding.tool(&*call.program).confidence(confidence));
    }

    /// Reports the turn without a call that the harness answers in the same way for the `max_failures`-th time.
    fn no_call(&mut self, attempt: &no_call::Attempt<'_>) {
        let row = self.refused.entry(attempt.answer).or_default();
        row.turns = if self.number - row.calls.1 > NEAR { 1 } else { row.turns + 1 };
        row.calls.1 = self.number;
        if row.turns == 1 {
            row.calls.0 = self.number;
            row.steps.clear();
        }
        if row.steps.len() < NAMED {
            row.steps.push(attempt.step);
        }
        if row.turns == self.config.max_failures && !row.is_reported {
            row.is_reported = true;
            let (turns, last, said) = (row.turns, attempt.step, after_colon(&attempt.head));
            let first = row.steps.first().copied().unwrap_or(last);
            let steps = if row.calls.0 == row.calls.1 {
                format!("{first}-{last}")
            } else {
                let named: Vec<String> = row.steps.iter().map(u64::to_string).collect();
                let more = if turns > named.len() as u64 { ", …" } else { "" };
                named.join(", ") + more
            };
            let message = format!("the harness has sent back {turns} turns by now (steps {steps}){said}");
            let observation = Some(attempt.head.clone().into_owned());
            let finding = finding(last, first, observation, message);
            self.findings.push(finding.confidence(Confidence::Likely));
        }
    }
}

impl Refusal {
    /// Returns true if both calls write the same file and failed with the same wording.
    fn writes_as(&self, now: &Self) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        let same_file =
            call.target.as_deref().is_some() && before.target.as_deref() == call.target.as_deref();
        let has_words = self.call.failure.as_ref().is_some_and(|failure| !failure.line.is_empty());
        call.does == Does::Write && same_file && has_words && self.wording == now.wording
    }

    /// Returns true if both calls write the same file, or the harness refused the same command in both. In either
    /// case, the wording of the failures must be the same.
    fn is_refused_as(&self, now: &Self, failure: &Failure) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        // Only the beginning of a long command is known. A command line narrowed to commands that only read is
        // a new attempt.
        let runs = |part: &Part| {
            !part.shown.contains('…') && before.parts.iter().any(|other| other.shown == part.shown)
        };
        let is_narrowed = call.does == Does::Read && call.parts.len() < before.parts.len();
        let same_command = call.is_shell && failure.is_flagged && !is_narrowed && call.parts.iter().any(runs);
        self.writes_as(now) || same_command && self.wording == now.wording
    }

    /// Returns true if a later call is the same, meets a cause that does not depend on the call, or fails with the
    /// same wording on the same file or command.
    fn is_repeated_by(&self, now: &Self, failure: &Failure) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        // A different view of the same failure is news: `pytest | tail` after `pytest`.
        let has_cause =
            matches!(failure.kind, FailureKind::Missing(_) | FailureKind::Usage | FailureKind::Refused);
        let same_line = has_cause || !call.is_shell || self.call.line == now.call.line;
        let same_call =
            call.key.is_some() && before.key == call.key && before.assigned == call.assigned && same_line;
        same_call
            || match &failure.kind {
                FailureKind::Usage if call.is_shell => true,
                // `python -c "import numpy"` checks whether the module is there now.
                FailureKind::Missing(_) if call.is_shell => {
                    let sets_path = call.text.contains("export path=");
                    // `pip install setuptools && python setup.py build`
                    let installs_more =
                        !ends_installing(call) && !installed(&call.text).is_subset(&installed(&before.text));
                    !sets_path && !installs_more && !call.parts.iter().any(|part| is_probe(&part.shown))
                }
                FailureKind::Refused => self.is_refused_as(now, failure),
                _ => !call.is_shell && self.writes_as(now),
            }
    }
}

/// Returns true if the last command of a line installs something.
fn ends_installing(call: &Call) -> bool {
    call.last_program().split_once(' ').is_some_and(|(program, subcommand)| installs(program, subcommand))
}

/// Returns true if a command only imports modules and prints text or versions.
fn is_probe(command: &str) -> bool {
    let Some((_, code)) = command.split_once(" -c ") else { return false };
    let code = code.trim_start_matches(['\'', '"']);
    let prints =
        |part: &str| part.starts_with("print('") || part.starts_with("print(\"") || part.contains(".__");
    let imports = |part: &str| part.starts_with("import ") || part.starts_with("from ");
    code.split(';').map(str::trim).all(|part| imports(part) || prints(part))
}

/// Returns true if a command line installs everything that a project needs (`uv sync`, `npm ci`): it names no packages,
/// or only files and folders.
fn installs_all(text: &str) -> bool {
    let installs =
        |command: &str| ["ci", "install", "sync"].contains(&command.split(' ').nth(1).unwrap_or_default());
    let packages = installed(text);
    let is_file = |name: &String| name.contains(['.', '/']) || Meaning::of(name).is(Meaning::INSTALLER);
    text.split(" ; ").any(installs) && !packages.is_empty() && packages.iter().all(is_file)
}

/// Returns true if a change may have removed the cause of a failure. If something is missing, the change must
/// name it, install all that the project needs, or edit the script that failed earlier.
fn cures(change: &Facts, failure: &Failure, earlier: &Refusal) -> bool {
    let FailureKind::Missing(name) = &failure.kind else {
        return !failure.has_unknown_separator();
    };
    // Installing `numpy` brings `numpy.distutils`.
    let name = name.split('.').next().unwrap_or_default();
    let target = change.call.target.as_deref().map(str::to_lowercase);
    let is_run =
        |target: &str| failure.is_raised() && earlier.call.call.text.contains(shell::last_part(target));
    installs_all(&change.call.text)
        || change.call.text.contains(name)
        || target.is_some_and(|target| target.contains(name) || is_run(&target))
}

/// Returns true if a change is an edit with the same tool of the file whose edit failed, and the failed one is sent
/// again. What it looked for is still not there.
fn is_next_edit(change: &Facts, earlier: &Refusal, now: &Call) -> bool {
    let edits = now.does == Does::Write && !now.is_shell && now.target.is_some();
    let is_same_file = change.call.program == now.program && change.call.target == now.target;
    edits && is_same_file && earlier.call.call.key == now.key
}

impl Fold for Blindness {
    fn observe(&mut self, step: &Step<'_>) {
        if let Some(attempt) = self.no_call.observe(step).filter(|attempt| attempt.refused) {
            self.no_call(&attempt);
        } else {
            self.user.observe(step);
        }
        let Some(action) = step.action_of(self.config.actors) else { return };
        let attempt = self.attempts.observe(step);
        let Some(attempt) = attempt.filter(|attempt| attempt.excuse.is_none()) else { return };
        if self.gains.observe(step) {
            self.refused.clear();
            self.barred = Barred::default();
            self.changes.clear();
        }
        self.number += 1;
        let without_changes = self.baseline.excuses(&attempt);
        // The trace does not say why a command in the background was stopped.
        let unexplained = |failure: &Failure| failure.kind == FailureKind::Killed && attempt.was_polled();
        if let Some(failure) = attempt.failure().filter(|failure| !without_changes && !unexplained(failure)) {
            self.refusal(&attempt, failure, action);
        }
        let does = attempt.call.call.does;
        if does == Does::Run {
            self.ran = self.number;
        }
        let key = attempt.call.call.key;
        if attempt.failure().is_some() {
            self.failed.extend(key.filter(|_| self.failed.len() < MOST_CALLS));
        } else if let Some(key) = key.filter(|key| self.failed.contains(key)) {
            self.went_through.insert(key, self.number);
        }
        if attempt.failure().is_none() && matches!(does, Does::Run | Does::Write) {
            self.barred = Barred::default();
            let checks = attempt.call.call.parts.iter().any(|part| part.check > Some(Check::Snippet));
            if does == Does::Write && !attempt.call.call.is_shell || checks {
                self.went_through.insert(Digest::of_text(&attempt.call.call.program), self.number);
            }
        }
        if attempt.changes {
            self.changes.truncate(REMEMBERED - 1);
            self.changes.push_front((self.number, Arc::clone(&attempt.call)));
        }
    }

    /// Returns all findings so far, or none while no arguments have been recorded. Each is final as soon as it is
    /// made.
    fn certain(&self) -> &[Finding] {
        if self.attempts.comparable { &self.findings } else { &[] }
    }

    fn verdict(&self) -> Verdict {
        if self.attempts.are_incomparable() {
            return incomparable();
        }
        Verdict::found(self.findings.clone(), |found| {
            vec![Measure::count("actions", self.attempts.actions), Measure::count("blind_repeats", found)]
        })
    }

    fn memory(&self) -> usize {
        let refusals: usize = self.refused.values().map(|refused| 1 + refused.latest.len()).sum();
        let digests = (self.failed.len() + self.went_through.len()) * 2 * size_of::<(Digest, u64)>();
        let calls = (refusals + self.barred.len() + self.changes.len()) * 512
            + self.user.memory()
            + self.baseline.memory()
            + digests;
        let findings = self.findings.capacity() * FINDING_BYTES;
        self.attempts.memory() + calls + findings
    }
}
