//! `tool_error_recovery`: the agent does not recover from failed tool calls.

mod checks;
mod goals;
mod last_words;
mod purpose;
mod unsent;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use checks::Checks;
use goals::{End, Goals};
use last_words::{LastWords, ends_run};
use purpose::{CHANGE, INSTALL};
use unsent::Unsent;

use super::published::RecoveryRate;
use super::rule::{at_least, rule};
use super::shared::{
    Attempt, Attempts, Check, Does, Excuse, FailureKind, NoCall, Part, PollingCall, SkipRules,
    TransientRules, UserSays, after_colon, each_text, lines, stops,
};
use super::{Confidence, FailureClass, Finding, Fold, Grid, Measure, NearMiss, Rule, Verdict};
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Action, Actor, Actors, Event, RouteStatus, Status, Step, UnknownReason};

named! {
    /// The definition of poor recovery.
    #[non_exhaustive]
    pub enum RecoveryDefinition: "definition" {
        /// A goal that mattered is left open.
        Goals = "goals",
        /// Too few errors are followed by a success of the same tool: the published rule.
        Rate = "rate",
    }
}

/// Configuration of [`ToolErrorRecovery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolErrorRecoveryConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// The definition of poor recovery.
    pub definition: RecoveryDefinition,
    /// Recovery rate below which a run is flagged (`rate`); in (0, 1].
    pub threshold: f64,
    /// Number of failed turns that leave a goal open (`goals`); at least 2. It applies to different look-ups with one
    /// tool, to calls that share only the tool or program, to agents that were stopped, and to failures at the end of
    /// the run. In all other cases, two failed turns are enough.
    pub min_attempts: u64,
    /// Whether the recovery rate treats each program run in a shell as a separate tool.
    pub by_program: bool,
}

impl Default for ToolErrorRecoveryConfig {
    fn default() -> Self {
        let (definition, by_program) = (RecoveryDefinition::Goals, true);
        Self { actors: Actors::Agent, definition, threshold: 0.5, min_attempts: 3, by_program }
    }
}

impl ToolErrorRecoveryConfig {
    /// Creates the published rule: any later success of the same tool recovers an error.
    #[must_use]
    pub fn published() -> Self {
        Self { definition: RecoveryDefinition::Rate, by_program: false, ..Self::default() }
    }

    fn check(&self) -> Result<()> {
        if !(self.threshold > 0.0 && self.threshold <= 1.0) {
            let message = format!("expected a number in (0, 1], got {}", self.threshold);
            return Err(Error::config("threshold", message));
        }
        at_least("min_attempts", self.min_attempts, 2)
    }
}

rule! {
    #[doc = include_str!("../docs/tool_error_recovery.md")]
    ToolErrorRecovery(ToolErrorRecoveryConfig),
    ready: SkipRules = |_| SkipRules::new(&PollingCall::known(), Some(&TransientRules::default()))
}

impl Rule for ToolErrorRecovery {
    const ID: &'static str = "tool_error_recovery";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent does not recover from failed tool calls";
    const DOCS: &'static str = include_str!("../docs/tool_error_recovery.md");

    fn bench_trace() -> ToolErrorRecoveryConfig {
        ToolErrorRecoveryConfig::published()
    }

    fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        let ToolErrorRecoveryConfig { actors, definition, threshold, by_program, .. } = *self.config;
        let rate = RecoveryRate::new(actors, threshold, by_program);
        match definition {
            RecoveryDefinition::Rate => Box::new(rate),
            RecoveryDefinition::Goals => Box::new(Recovery::new(self, rate)),
        }
    }

    fn reads_argument_texts(&self) -> bool {
        self.config.definition == RecoveryDefinition::Goals
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_attempts", values: (2..=6).map(Into::into).collect() })
    }
}

/// Evidence of `tool_error_recovery`: the errors of the trace (`rate`), or a goal that was left open (`goals`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ToolErrorRecoveryEvidence {
    /// Every error of the trace, in order (`rate`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ToolError>,
    /// Why the goal is open (`goals`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<OpenReason>,
    /// The tool, or the program of a command line (`goals`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Number of failures that belong to the goal (`goals`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
}

named! {
    /// Why a goal is left open.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum OpenReason: "reason of an open goal" {
        /// The last check after a change failed, and none has passed since.
        FailedCheck = "failed_check",
        /// A call failed in several turns and has not succeeded since.
        NeverThrough = "never_through",
        /// Repeated look-ups failed.
        InVain = "in_vain",
        /// A call failed, and the agent handed the task over to a human without looking up anything new.
        HandedOver = "handed_over",
        /// A call failed, and the agent sent a message without admitting the failure.
        PassedOver = "passed_over",
        /// A change was rejected because of its format and never sent again.
        NeverSent = "never_sent",
        /// The run ends with several failed calls, or refused turns without a call, in a row.
        EndsFailing = "ends_failing",
    }
}

/// One tool error and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    /// The step that failed.
    pub step: u64,
    /// The tool.
    pub tool: String,
    /// The first later step at which the tool succeeded.
    pub recovered_by: Option<u64>,
    /// Number of later calls of the tool, up to and including the recovering one if there is one.
    pub attempts: u64,
    /// Whether the arguments of the recovering call differ from those of the failed one; `None` if no call recovered
    /// it, or if the arguments of either were not recorded.
    pub changed_arguments: Option<bool>,
    /// Whether the tool was never called again.
    pub abandoned: bool,
}

/// Returns the share of errors that were recovered; 1 if there are none.
#[expect(clippy::cast_precision_loss, reason = "counts of errors are far below 2^53")]
pub(crate) fn recovery_rate(recovered: u64, errors: u64) -> f64 {
    if errors == 0 { 1.0 } else { recovered as f64 / errors as f64 }
}

fn finding(place: (u64, u64), reason: OpenReason, tool: &str, failures: u64, message: String) -> Finding {
    let evidence = ToolErrorRecoveryEvidence {
        errors: Vec::new(),
        reason: Some(reason),
        tool: Some(tool.to_owned()),
        failures: Some(failures),
    };
    ToolErrorRecovery::finding(place, message, evidence).tool(tool).confidence(Confidence::Likely)
}

/// The default rule. Failed checks are judged separately; most other failures belong to goals. Nothing is confirmed
/// before the end, because a later success can still reach any goal.
#[derive(Debug, Default)]
struct Recovery {
    actors: Actors,
    rate: RecoveryRate,
    attempts: Attempts,
    goals: Goals,
    checks: Checks,
    unsent: Unsent,
    no_call: NoCall,
    user: UserSays,
    /// The turns without a call that the harness has sent back since the last call: their steps, their number, and
    /// its answer.
    sent_back: Option<((u64, u64), u64, String)>,
    last_words: LastWords,
}

impl Recovery {
    fn new(rule: &ToolErrorRecovery, rate: RecoveryRate) -> Self {
        let ToolErrorRecoveryConfig { actors, min_attempts, .. } = *rule.config;
        let attempts = Attempts::new(actors, &rule.ready);
        Self { actors, rate, attempts, goals: Goals::new(min_attempts), ..Self::default() }
    }

    /// Returns true if something failed that a report may be about.
    fn any_failed(&self) -> bool {
        self.goals.any_waiting() || self.checks.any_failed
    }

    fn end(&self) -> End {
        End { asked: self.user.latest, is_stopped: self.user.stopped, is_confessed: self.last_words.admit }
    }

    fn attempt(&mut self, attempt: &Attempt, action: &Action<'_>) {
        let call = &attempt.call.call;
        let kind = attempt.failure().map(|failure| &failure.kind);
        let failed = kind.is_some();
        // A command that waits for something may be stopped at a time limit. That opens no goal.
        let is_wait = kind == Some(&FailureKind::Killed) && attempt.excuse == Some(Excuse::Waiting);
        let is_note = call.does == Does::Note && action.status != Status::Error;
        // The part that the answer is attributed to: the one that failed, else the last check, else the last part that
        // does more than read, else the last part.
        let last = |wanted: fn(&Part) -> bool| call.parts.iter().rfind(|part| wanted(part));
        let failed_part = attempt.failure().and_then(|failure| call.failed_part(&failure.line));
        let told = failed_part
            .or_else(|| last(|part| part.check.is_some()))
            .or_else(|| last(|part| part.does != Does::Read))
            .or_else(|| call.parts.last());
        // If the failing part is unknown and the parts are joined by `&&`, take the first part with the same program.
        let first =
            |told: &Part| call.parts.iter().find(|part| call.is_strict && part.program == told.program);
        let told = told.map(|told| first(told).filter(|_| failed && failed_part.is_none()).unwrap_or(told));
        let Some(mut told) = told.map(Cow::Borrowed) else { return };
        if is_note {
            self.goals.noted(&told.program, attempt.turn);
            return;
        }
        if told.check.is_none() && told.does == Does::Run && self.checks.is_linter(&told, failed, action) {
            told.to_mut().check = Some(Check::Form);
        }
        let told = &told;
        // A `curl` command that neither sends nor saves anything only looks, unless `curl` is missing.
        let fetches =
            told.does == Does::Run && told.name() == "curl" && !matches!(kind, Some(FailureKind::Missing(_)));
        let looks = call.is_shell && (told.does == Does::Read || fetches);
        // A refusal of the whole look, unlike `find: '/root': Permission denied` after other lines.
        let is_alone =
            || action.observation.present().is_some_and(|text| lines(&text.to_str()).nth(1).is_none());
        let is_barred = attempt.failure().is_some_and(|failure| {
            failure.kind == FailureKind::Refused && (!failure.line.starts_with(told.name()) || is_alone())
        });
        let known = self.goals.observe(attempt, told);
        let passed = self.checks.observe(attempt, told, action);
        if told.check.is_some() {
            if passed {
                if told.check != Some(Check::Snippet) {
                    self.goals.reach_all(CHANGE);
                }
                let imports = told.check == Some(Check::Snippet) && call.text.contains("import ");
                if told.check != Some(Check::Form) {
                    self.unsent.passed();
                }
                if told.check >= Some(Check::Build) || imports {
                    self.goals.reach_all(INSTALL);
                }
                self.goals.success(attempt, action, known);
            }
        } else if !failed && action.status != Status::Unknown
            || kind == Some(&FailureKind::Done) && (call.is_shell || stops(action))
        {
            self.goals.success(attempt, action, known);
        } else if failed && (!looks || is_barred) && !is_wait {
            self.goals.failure(attempt, told, action);
        }
    }
}

impl Fold for Recovery {
    fn observe(&mut self, step: &Step<'_>) {
        self.rate.observe(step);
        self.checks.pending = None;
        let sent_back = self.no_call.observe(step);
        let is_sent_back = sent_back.is_some();
        let counts = self.actors.include(Actor::Agent);
        if counts {
            self.unsent.observe(step, sent_back.as_ref());
        }
        if let Some(sent_back) = sent_back.filter(|sent_back| sent_back.refused && counts) {
            let place = (sent_back.row_start, sent_back.last);
            self.sent_back = Some((place, sent_back.row, after_colon(&sent_back.head)));
        }
        if let Event::Message(text) = step.event() {
            if !is_sent_back {
                self.user.observe(step);
            }
            if step.actor() == Actor::Agent {
                self.sent_back = None;
                self.goals.message(step.index(), *text);
                if self.any_failed() {
                    self.last_words.add(&text.to_str(), self.checks.any_failed);
                }
            }
            return;
        }
        let Some(action) = step.action_of(self.actors) else { return };
        (self.user.stopped, self.last_words, self.sent_back) = (false, LastWords::default(), None);
        if self.any_failed() && ends_run(action.name) {
            let mut said = String::new();
            each_text(action, |_, text, _| said.extend([text, "\n"]));
            self.last_words.add(&said, self.checks.any_failed);
        }
        self.unsent.sent(action);
        let attempt = self.attempts.observe(step);
        // A call that the user refused did not run, so the agent need not recover from it.
        let ran = action.reason != Some(UnknownReason::Refused);
        if let Some(attempt) = attempt.filter(|attempt| ran && !attempt.polls) {
            self.attempt(&attempt, action);
        }
    }

    fn verdict(&self) -> Verdict {
        let failing = self.checks.finding(self.user.stopped, &self.attempts);
        let (is_unmet, last_check) =
            failing.as_ref().map_or((0, None), |(_, finding)| (1, Some(finding.last)));
        // If two or more checks failed and the agent says so in the end, they are not reported.
        let failing = failing.filter(|(count, _)| *count < 2 || !self.last_words.admit_check);
        let failing = failing.map(|(_, finding)| finding);
        let mut findings = self.goals.findings(self.end(), last_check);
        let (a_check_failed, is_failing) = (u64::from(self.checks.any_failed), u64::from(failing.is_some()));
        findings.extend(failing);
        findings.extend(self.unsent.findings());
        let sent_back = self.sent_back.as_ref().filter(|(_, turns, _)| *turns >= self.goals.min_attempts);
        let sent_back = sent_back.map(|(place, turns, said)| {
            let message =
                format!("the run ends with {turns} turns without a call, which the harness sent back{said}");
            finding(*place, OpenReason::EndsFailing, "", *turns, message)
        });
        let is_sent_back = u64::from(sent_back.is_some());
        findings.extend(sent_back);
        findings.sort_by_key(|finding| (finding.first, finding.last));
        let (goals, reached, open) = self.goals.counts(self.end());
        // All checks together count as one goal, if any of them failed.
        let goals = goals + a_check_failed + self.unsent.all + is_sent_back;
        let reached =
            reached + a_check_failed.saturating_sub(is_unmet) + self.unsent.all - self.unsent.open();
        let goal_recovery = recovery_rate(reached, goals);
        let measures = self.rate.measures().into_iter().chain([
            Measure::count("goals", goals),
            Measure::count("reached", reached),
            Measure::count("open", open + is_failing + self.unsent.open() + is_sent_back),
            Measure { name: "goal_recovery", value: goal_recovery },
        ]);
        Verdict::found(Some(goal_recovery), findings, measures.collect::<Vec<_>>())
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        self.goals.near_misses(self.end())
    }

    fn memory(&self) -> usize {
        let failures = self.goals.memory() + self.checks.memory() + self.unsent.memory();
        self.rate.memory() + self.attempts.memory() + self.user.memory() + failures
    }
}
