//! The default rule of `feedback_blindness`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::failed_call::FailedCall;
use super::refused_programs::{PROGRAMS, RefusedPrograms};
use super::{FeedbackBlindness, FeedbackBlindnessConfig, finding, quote};
use crate::detect::shared::{
    Attempt, Attempts, Baseline, Call, Check, Does, Facts, Failure, FailureKind, NoCall, ProgressTracker,
    Report, Shown, UserSays, after_colon, no_call, shell,
};
use crate::detect::{Confidence, FINDING_BYTES, Finding, Fold, Measure, Verdict, incomparable};
use crate::trace::{Action, Actors, Digest, DigestMap, DigestSet, Step, UnknownReason};

/// The default rule: a failed call is blind if an earlier one met the same cause and nothing relevant changed
/// since.
#[derive(Debug, Default)]
pub(super) struct Blindness {
    actors: Actors,
    max_failures: u64,
    attempts: Attempts,
    no_call: NoCall,
    progress: ProgressTracker,
    /// The number of attempts so far.
    number: u64,
    /// The latest changes, each with the number of its attempt.
    changes: VecDeque<(u64, Arc<Facts>)>,
    /// Failures by program and cause, and turns without a call by the harness's answer.
    refused: DigestMap<Refused>,
    refused_programs: RefusedPrograms,
    /// The number of the latest attempt that ran something.
    ran: u64,
    /// The number of the latest attempt that succeeded, by the tool if it writes, by the program if it checks, and by
    /// the key of the call if that had failed before.
    went_through: DigestMap<u64>,
    /// The number of the latest successful read of each file, by its name; at most [`MOST_CALLS`].
    read: DigestMap<u64>,
    /// The keys of the first [`MOST_CALLS`] calls that have failed.
    failed: DigestSet,
    user: UserSays,
    baseline: Baseline,
    findings: Vec<Finding>,
}

/// The failures of one cause.
#[derive(Debug, Default)]
struct Refused {
    latest: VecDeque<FailedCall>,
    /// The number of turns with this cause since the count last started over.
    turns: u64,
    /// The steps of the first [`NAMED`] of these turns, for turns without a call.
    steps: Vec<u64>,
    /// The number of calls before the first turn without a call, and before the last one.
    calls: (u64, u64),
    is_reported: bool,
}

/// An earlier failure that makes a call blind: its step, whether its call is the same, and whether that is certain.
type Blind = (u64, bool, bool);

/// Maximum number of refusals remembered for each cause, and of changes remembered.
const REMEMBERED: usize = 16;

/// Maximum number of failed calls remembered.
const MOST_CALLS: usize = 256;

/// Maximum number of turns without a call whose steps a message names.
const NAMED: usize = 3;

/// If more calls than this separate two failures with the same cause, the count of turns starts over.
const FAR: u64 = 30;

/// If more calls than this separate two turns without a call, the count starts over: the agent cannot be expected to
/// remember the earlier one.
const NEAR: u64 = 8;

impl Blindness {
    pub(super) fn new(rule: &FeedbackBlindness) -> Self {
        let FeedbackBlindnessConfig { actors, max_failures, .. } = *rule.config;
        let attempts = Attempts::new(actors, &rule.ready.0);
        Self { actors, max_failures, attempts, ..Self::default() }
    }

    fn failed(&mut self, attempt: &Attempt, failure: &Failure, action: &Action<'_>) {
        let call = &attempt.call.call;
        let refused_programs = self.refused_programs.refused(attempt, failure);
        let by_cause = matches!(failure.kind, FailureKind::Missing(_) | FailureKind::Usage);
        let program = Digest::of_text(if by_cause && call.is_shell { "$" } else { &call.program });
        let now = FailedCall {
            step: attempt.step,
            turn: attempt.turn,
            number: self.number,
            wording: failure.wording,
            form: failure.form,
            call: Arc::clone(&attempt.call),
        };
        let cause = failure.cause.and(program);
        let mut refused = self.refused.remove(&cause).unwrap_or_default();
        let by_user = action.reason == Some(UnknownReason::Refused);
        let repeated = self.repeated(&refused, &now, failure, by_user);
        let last = refused.latest.front();
        let changed_since =
            |earlier: &FailedCall| self.changes.front().is_some_and(|(at, _)| *at > earlier.number);
        if let Some(last) = last.filter(|last| last.turn != now.turn) {
            // The count starts over if the user spoke, and either refused the call or gave a value that it uses.
            let user_spoke = self.user.latest > last.step;
            let given = user_spoke && (by_user || !call.is_shell && self.user.gave(action));
            // After a change, it also starts over if the same call or a check gets a different answer.
            let is_comparable = last.is_same_call(&now) || failure.report.is_some();
            // The command line may write the code that it then compiles.
            let rewrites = || call.parts.iter().any(|part| part.file.is_some()) && !last.is_same_call(&now);
            let changed = is_comparable && last.form != now.form && (changed_since(last) || rewrites());
            let success = self.went_through.get(&program);
            let went_through = success.is_some_and(|number| last.number < *number);
            let read_again = self.read_again(call, failure) > last.number;
            if given
                || changed
                || read_again
                || now.number - last.number > FAR
                || went_through && !call.is_shell
            {
                refused.turns = 0;
            } else if went_through {
                // A check passed in between, so the cause may be gone. This turn does not exceed the limit yet.
                refused.turns = refused.turns.min(self.max_failures - 1);
            }
        }
        refused.turns += u64::from(last.is_none_or(|last| last.turn != now.turn));
        // A linter may go on listing old errors in files that the agent leaves alone.
        let names_file = |(_, change): &(u64, Arc<Facts>)| {
            let file = change.call.target.as_deref().map(shell::last_part);
            file.is_some_and(|file| failure.line.contains(file))
        };
        let lists_again = || {
            failure.report.is_some()
                && call.parts.iter().rev().find_map(|part| part.check) == Some(Check::Form)
                && last.is_some_and(changed_since)
                && !self.changes.iter().any(names_file)
        };
        // A command that was stopped does not say why, so only the same command, script or check repeats it.
        let has_cause = failure.kind != FailureKind::Killed
            || refused.latest.iter().any(|earlier| earlier.is_same_call(&now) || earlier.runs_as(&now));
        let is_over = refused.turns > self.max_failures
            && has_cause
            && failure.report != Some(Report::Counted)
            && !lists_again();
        let blind =
            repeated.or(last.filter(|_| is_over).map(|last| (last.step, last.is_same_call(&now), false)));
        let report = blind.filter(|_| !refused.is_reported);
        refused.is_reported |= blind.is_some();
        let all_equal = refused.latest.iter().all(|earlier| earlier.is_same_call(&now));
        refused.latest.truncate(REMEMBERED - 1);
        refused.latest.push_front(now);
        let turns = refused.turns;
        self.refused.insert(cause, refused);
        let elsewhere = report.is_none();
        let refused_programs = refused_programs.map(|before| (before, false, false));
        let Some((before, is_equal, is_certain)) = report.or(refused_programs) else { return };
        let (shown, line) = (Shown::with(&attempt.call, action), after_colon(&failure.line));
        let times = match turns {
            0..=2 => String::new(),
            times if is_equal && all_equal => format!(", {times} times so far"),
            times => format!(", in {times} turns so far"),
        };
        let message = if elsewhere {
            format!("{shown} is refused, as {PROGRAMS} other programs have been since step {before}{line}")
        } else if is_equal {
            format!("{shown} fails as it did at step {before}{times}{line}")
        } else {
            format!("{shown} fails for the same reason as step {before}{times}{line}")
        };
        let confidence = if is_certain { Confidence::Certain } else { Confidence::Likely };
        let finding = finding(attempt.outcome_step, before, quote(action), message);
        self.findings.push(finding.tool(attempt.call.named()).confidence(confidence));
    }

    /// Returns the number of the latest read of the file that a call changes, if the failure is that the file must
    /// first be read; otherwise 0.
    fn read_again(&self, call: &Call, failure: &Failure) -> u64 {
        let file = call.target.as_deref().filter(|_| failure.is_stale(call)).map(Digest::of_text);
        file.and_then(|file| self.read.get(&file)).copied().unwrap_or(0)
    }

    /// Returns the latest failure of another turn that a call repeats, unless something in between excuses that.
    fn repeated(
        &self,
        refused: &Refused,
        now: &FailedCall,
        failure: &Failure,
        by_user: bool,
    ) -> Option<Blind> {
        let call = &now.call.call;
        // If the call has succeeded since, it may now fail for another cause.
        let went_through = call.key.and_then(|key| self.went_through.get(&key)).copied().unwrap_or(0);
        let went_through = went_through.max(self.read_again(call, failure));
        let looks = call.does == Does::Read && (call.is_shell || call.target.is_some());
        let is_excused = |earlier: &FailedCall| {
            // The user may have done something in between.
            let user_spoke =
                call.is_shell && self.user.latest > earlier.step || self.user.asks_again(earlier.step);
            // A command in between may have created what the earlier read did not find.
            let looks_again = looks && failure.kind != FailureKind::Refused && self.ran > earlier.number;
            // If the same file or command is refused again, no change in between counts.
            let is_final = || failure.kind == FailureKind::Refused && earlier.is_refused_as(now, failure);
            let mut since = self.changes.iter().take_while(|(number, _)| *number > earlier.number);
            user_spoke
                || looks_again
                || went_through > earlier.number
                || !is_final() && since.any(|(_, change)| earlier.is_cured_by(change, now, failure))
        };
        let others = refused.latest.iter().filter(|earlier| earlier.turn != now.turn);
        let mut earlier = others.take_while(|earlier| !is_excused(earlier));
        // A user who refuses a call says what to change in it, so only an equal call is a repeat.
        let repeats = |earlier: &&FailedCall| {
            (!by_user || earlier.is_same_call(now)) && earlier.is_repeated_by(now, failure)
        };
        let earlier = earlier.find(repeats)?;
        let is_equal = earlier.is_same_call(now);
        Some((earlier.step, is_equal, is_equal && failure.recorded))
    }

    /// Reports a turn without a call if it is the `max_failures`-th that the harness refuses in the same way.
    fn no_call(&mut self, attempt: &no_call::Attempt<'_>) {
        let row = self.refused.entry(attempt.answer).or_default();
        row.turns = if self.number - row.calls.1 > NEAR { 0 } else { row.turns };
        row.calls.1 = self.number;
        if row.turns == 0 {
            row.calls.0 = self.number;
            row.steps.clear();
        }
        row.turns += attempt.turns;
        if row.steps.len() < NAMED {
            row.steps.push(attempt.step);
        }
        if row.turns >= self.max_failures && !row.is_reported {
            row.is_reported = true;
            let (turns, last, said) = (row.turns, attempt.last_turn(), after_colon(&attempt.head));
            let first = row.steps.first().copied().unwrap_or(last);
            let steps = if row.calls.0 == row.calls.1 {
                format!("{first}-{last}")
            } else {
                let named: Vec<String> = row.steps.iter().map(u64::to_string).collect();
                let more = if turns > named.len() as u64 { ", …" } else { "" };
                named.join(", ") + more
            };
            let message = format!("the harness has sent back {turns} turns so far (steps {steps}){said}");
            let observation = Some(attempt.head.clone().into_owned());
            let finding = finding(last, first, observation, message);
            self.findings.push(finding.confidence(Confidence::Likely));
        }
    }
}

impl Fold for Blindness {
    fn observe(&mut self, step: &Step<'_>) {
        if let Some(attempt) = self.no_call.observe(step).filter(|attempt| attempt.refused) {
            self.no_call(&attempt);
        } else {
            self.user.observe(step);
        }
        let Some(action) = step.action_of(self.actors) else { return };
        let attempt = self.attempts.observe(step);
        let Some(attempt) = attempt.filter(|attempt| attempt.excuse.is_none()) else { return };
        if self.progress.observe(step) {
            self.refused.clear();
            self.refused_programs = RefusedPrograms::default();
            self.changes.clear();
        }
        self.number += 1;
        let without_changes = self.baseline.excuses(&attempt);
        // The trace does not say why a background command was stopped, so its failure is skipped.
        let unexplained = |failure: &Failure| failure.kind == FailureKind::Killed && attempt.was_polled();
        if let Some(failure) = attempt.failure().filter(|failure| !without_changes && !unexplained(failure)) {
            self.failed(&attempt, failure, action);
        }
        let does = attempt.call.call.does;
        if does == Does::Run {
            self.ran = self.number;
        }
        let file = attempt.call.call.target.as_deref().filter(|_| does == Does::Read).map(Digest::of_text);
        if let Some(file) = file.filter(|_| attempt.failure().is_none()) {
            if self.read.len() >= MOST_CALLS && !self.read.contains_key(&file) {
                self.read.clear();
            }
            self.read.insert(file, self.number);
        }
        let key = attempt.call.call.key;
        if attempt.failure().is_some() {
            self.failed.extend(key.filter(|_| self.failed.len() < MOST_CALLS));
        } else if let Some(key) = key.filter(|key| self.failed.contains(key)) {
            self.went_through.insert(key, self.number);
        }
        if attempt.failure().is_none() && matches!(does, Does::Run | Does::Write) {
            self.refused_programs = RefusedPrograms::default();
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
    fn confirmed(&self) -> &[Finding] {
        if self.attempts.comparable { &self.findings } else { &[] }
    }

    fn verdict(&self) -> Verdict {
        if self.attempts.are_incomparable() {
            return incomparable();
        }
        let blind = Measure::count("blind_repeats", self.findings.len() as u64);
        Verdict::found(None, self.findings.clone(), [Measure::count("actions", self.attempts.actions), blind])
    }

    fn memory(&self) -> usize {
        let refusals: usize = self.refused.values().map(|refused| 1 + refused.latest.len()).sum();
        let digests =
            (self.failed.len() + self.went_through.len() + self.read.len()) * 2 * size_of::<(Digest, u64)>();
        let calls = (refusals + self.refused_programs.len() + self.changes.len()) * 512
            + self.user.memory()
            + self.baseline.memory()
            + digests;
        let findings = self.findings.capacity() * FINDING_BYTES;
        self.attempts.memory() + calls + findings
    }
}
