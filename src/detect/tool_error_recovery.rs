//! `tool_error_recovery`: the agent does not get over its failures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::explanation::{Comparator, Condition, NearMiss};
use super::finding::{Confidence, FailureClass, Finding, Judgement, Verdict};
use super::measures::Measure;
use super::published::RecoveryRate;
use super::rule::{Grid, Rule};
use super::shared::{
    Attempt, Attempts, Check, Does, Excuse, FailureKind, Part, PassedOver, PollingCall, TransientRules,
    after_colon, identifiers,
};
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Action, Actor, Actors, Digest, DigestMap, DigestSet, Event, Routing, Status, Step};

/// What counts as poor recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecoveryDefinition {
    /// A goal that mattered is left open.
    Goals,
    /// Too few errors are followed by a success of the same tool: the published rule.
    Rate,
}

named! { RecoveryDefinition, "definition" { Goals => "goals", Rate => "rate" } }

/// Configuration of [`ToolErrorRecovery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolErrorRecoveryConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// What counts as poor recovery.
    pub definition: RecoveryDefinition,
    /// Recovery rate below which a run is flagged (`rate`); in (0, 1].
    pub threshold: f64,
    /// Attempts in vain after which look-ups, or failures that end the run, leave a goal open (`goals`); at least 2.
    pub min_attempts: u64,
    /// Whether the recovery rate tells the programs of a shell apart.
    pub by_program: bool,
}

impl Default for ToolErrorRecoveryConfig {
    fn default() -> Self {
        let (definition, by_program) = (RecoveryDefinition::Goals, true);
        Self { actors: Actors::Agent, definition, threshold: 0.5, min_attempts: 3, by_program }
    }
}

impl ToolErrorRecoveryConfig {
    /// The published rule: an error is recovered by any later success of its tool.
    #[must_use]
    pub fn published() -> Self {
        Self { definition: RecoveryDefinition::Rate, by_program: false, ..Self::default() }
    }
}

#[doc = include_str!("docs/tool_error_recovery.md")]
#[derive(Debug, Clone)]
pub struct ToolErrorRecovery {
    config: ToolErrorRecoveryConfig,
    passed_over: Arc<PassedOver>,
}

impl Default for ToolErrorRecovery {
    fn default() -> Self {
        Self::from_checked(ToolErrorRecoveryConfig::default())
    }
}

impl ToolErrorRecovery {
    /// Returns the detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if a limit is out of range.
    pub fn new(config: ToolErrorRecoveryConfig) -> Result<Self> {
        if !(config.threshold > 0.0 && config.threshold <= 1.0) {
            return Err(Error::config(
                "threshold",
                format!("expected a number in (0, 1], got {}", config.threshold),
            ));
        }
        if config.min_attempts < 2 {
            return Err(Error::config(
                "min_attempts",
                format!("expected at least 2, got {}", config.min_attempts),
            ));
        }
        Ok(Self::from_checked(config))
    }

    fn from_checked(config: ToolErrorRecoveryConfig) -> Self {
        let passed_over = PassedOver::new(&PollingCall::known(), Some(&TransientRules::default()));
        Self { config, passed_over: Arc::new(passed_over) }
    }
}

impl Rule for ToolErrorRecovery {
    type Config = ToolErrorRecoveryConfig;
    const ID: &'static str = "tool_error_recovery";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent does not get over its failures";
    const DOCS: &'static str = include_str!("docs/tool_error_recovery.md");

    fn bench_trace() -> ToolErrorRecoveryConfig {
        ToolErrorRecoveryConfig::published()
    }

    fn with_actors(config: ToolErrorRecoveryConfig, actors: Actors) -> ToolErrorRecoveryConfig {
        ToolErrorRecoveryConfig { actors, ..config }
    }

    fn config(&self) -> &ToolErrorRecoveryConfig {
        &self.config
    }

    fn configured(config: ToolErrorRecoveryConfig) -> Result<Self> {
        Self::new(config)
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        let ToolErrorRecoveryConfig { actors, definition, threshold, by_program, .. } = self.config;
        let rate = RecoveryRate::new(actors, threshold, by_program);
        match definition {
            RecoveryDefinition::Rate => Box::new(rate),
            RecoveryDefinition::Goals => Box::new(Recovery::new(self, rate)),
        }
    }

    fn needs_argument_texts(&self) -> bool {
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
    /// The failures that belong to the goal (`goals`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
}

/// Why a goal is left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OpenReason {
    /// The last check after a change failed, and none passed since.
    FailedCheck,
    /// It was tried again and never went through.
    NeverThrough,
    /// It was looked up again and again in vain.
    InVain,
    /// It was refused and handed over to a human without another look.
    HandedOver,
    /// It failed, and the agent went on without a word about it.
    PassedOver,
    /// The run ends in failures.
    EndsFailing,
}

named! {
    OpenReason, "reason of an open goal" {
        FailedCheck => "failed_check",
        NeverThrough => "never_through",
        InVain => "in_vain",
        HandedOver => "handed_over",
        PassedOver => "passed_over",
        EndsFailing => "ends_failing",
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
    /// Later calls of the tool, up to and including the recovering one; without one, all later calls.
    pub attempts: u64,
    /// Whether the recovering call had other arguments than the failed one; `None` also if either was not recorded.
    pub changed_arguments: Option<bool>,
    /// Whether the tool was never called again.
    pub abandoned: bool,
}

/// Returns the share of errors that were recovered; 1 without errors.
#[expect(clippy::cast_precision_loss, reason = "counts of errors are far below 2^53")]
pub(crate) fn recovery_rate(recovered: u64, errors: u64) -> f64 {
    if errors == 0 { 1.0 } else { recovered as f64 / errors as f64 }
}

/// The failures of one purpose: the same tool or program, the same target.
#[derive(Debug)]
struct Goal {
    does: Does,
    is_shell: bool,
    shown: String,
    program: Arc<str>,
    place: (u64, u64),
    failures: u64,
    turns: Vec<u64>,
    targets: BTreeSet<String>,
    /// How often each call failed.
    calls: Vec<(Option<Digest>, u64)>,
    line: String,
    state: GoalState,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum GoalState {
    Waiting,
    Reached,
    /// Something else was found instead.
    Elsewhere,
}

/// Failed checks and changed files since a check last passed.
#[derive(Debug, Default)]
struct Checks {
    failed: Vec<FailedCheck>,
    /// When each file was first changed.
    changed: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
struct FailedCheck {
    program: Arc<str>,
    step: u64,
    check: Check,
    key: Digest,
    /// The module or command that is missing.
    missing: Option<String>,
    shown: String,
    line: String,
}

/// The default rule: every failure belongs to a goal, which is reached, dropped or left open.
#[derive(Debug)]
struct Recovery {
    config: ToolErrorRecoveryConfig,
    rate: RecoveryRate,
    passed_over: Arc<PassedOver>,
    attempts: Attempts,
    goals: Vec<Goal>,
    /// By key: places in the list of goals.
    by_key: DigestMap<Vec<usize>>,
    /// All checks, and those of the work if that is scripts: tests, and scripts that the agent wrote.
    all: Checks,
    work: Checks,
    a_check_failed: bool,
    scripts: BTreeSet<String>,
    files: BTreeSet<String>,
    /// Look-ups that were answered.
    looked_up: DigestSet,
    /// The latest new look-up, the latest hand-over to a human and the look-up before it.
    new_look: Option<u64>,
    handed_over: Option<(u64, Option<u64>)>,
    /// The latest message of the agent, and the latest that admits a failure.
    spoke: Option<u64>,
    admitted: Option<u64>,
    /// The failures that end the run.
    tail: Vec<u64>,
}

/// The key of goals to change a file.
const CHANGE: &str = "change";
/// Words by which an agent admits a failure, in lower case.
#[rustfmt::skip]
const ADMITS: [&str; 32] = ["sorry", "apolog", "unfortunat", "unable", "cannot", "can't", "couldn't", "could not", "wasn't",
    "was not", "won't", "didn't", "did not", "error", "fail", "issue", "problem", "insufficient", "refus", "reject",
    "declin", "unsuccessful", "block", "missing", "however", "instead", "limitation", "not possible", "not available",
    "not found", "not allow", "not enough"];

impl Recovery {
    fn new(rule: &ToolErrorRecovery, rate: RecoveryRate) -> Self {
        Self {
            config: rule.config.clone(),
            rate,
            passed_over: Arc::clone(&rule.passed_over),
            attempts: Attempts::default(),
            goals: Vec::new(),
            by_key: DigestMap::default(),
            all: Checks::default(),
            work: Checks::default(),
            a_check_failed: false,
            scripts: BTreeSet::new(),
            files: BTreeSet::new(),
            looked_up: DigestSet::default(),
            new_look: None,
            handed_over: None,
            spoke: None,
            admitted: None,
            tail: Vec::new(),
        }
    }

    fn message(&mut self, step: u64, text: &str) {
        let text = text.to_lowercase().replace('\u{2019}', "'");
        // The words of admission are English.
        if text.contains(" the ") {
            self.spoke = Some(step);
        }
        if ADMITS.iter().any(|word| text.contains(word)) {
            self.admitted = Some(step);
        }
    }

    fn attempt(&mut self, attempt: &Attempt, action: &Action<'_>) {
        let call = &attempt.call.call;
        let failed = attempt.failure().is_some();
        let user_refused = failed
            && action
                .observation
                .present()
                .is_some_and(|answer| answer.head(300).to_lowercase().contains("tool use was rejected"));
        let is_note = call.does == Does::Note && action.status != Status::Error;
        // The answer speaks of the last check, else of what was run or written, else of what was read.
        let last = |wanted: fn(&Part) -> bool| call.parts().rfind(|part| wanted(part));
        let told = last(|part| part.check.is_some())
            .or_else(|| last(|part| part.does != Does::Read))
            .or_else(|| last(|_| true));
        let Some(told) = told.filter(|_| !user_refused && !is_note) else { return };
        if !failed && attempt.call.hands_over {
            self.handed_over = Some((attempt.step, self.new_look));
        }
        let known = call.key.is_some_and(|key| self.looked_up.contains(&key));
        if call.does == Does::Read && !call.is_shell && !failed && !known {
            self.new_look = Some(attempt.step);
            self.looked_up.extend(call.key);
        }
        if failed && told.does != Does::Read {
            self.tail.push(attempt.step);
        } else {
            self.tail.clear();
        }
        let passed = self.check(attempt, told, action);
        if told.check.is_some() {
            if passed {
                if told.check != Some(Check::Snippet) {
                    let changes = self.by_key.get(&key_of("", CHANGE)).into_iter().flatten();
                    for goal in changes.copied().collect::<Vec<_>>() {
                        self.reach(goal, GoalState::Reached);
                    }
                }
                self.success(attempt, action, known);
            }
        } else if failed && action.status == Status::Error && !(call.is_shell && told.does == Does::Read) {
            self.failure(attempt, told, action);
        } else if !failed && action.status == Status::Ok {
            self.success(attempt, action, known);
        }
    }

    /// Notes what an attempt changed and checked. Returns whether its check passed.
    fn check(&mut self, attempt: &Attempt, told: &Part, action: &Action<'_>) -> bool {
        let failure = attempt.failure();
        for part in attempt.call.call.parts() {
            if let Some(file) = part.file.as_ref().filter(|_| failure.is_none()) {
                self.files.insert(file.clone());
                for checks in [&mut self.all, &mut self.work] {
                    checks.changed.entry(file.clone()).or_insert(attempt.step);
                }
            }
            self.scripts.extend(part.script.clone());
        }
        if failure.is_none() && attempt.call.call.does != Does::Read {
            for failed in self.all.failed.iter_mut().chain(&mut self.work.failed) {
                failed.missing.take_if(|name| attempt.call.call.text.contains(&**name));
            }
        }
        let Some(check) = told.check else { return false };
        let is_test = matches!(check, Check::Tests | Check::Form);
        let of_work = is_test || told.script.as_ref().is_some_and(|script| self.files.contains(script));
        let passed = failure.is_none()
            && action.status == Status::Ok
            && (is_test
                || !action
                    .observation
                    .present()
                    .is_some_and(|text| text.to_str().contains("Traceback (most recent call last)")));
        let states = [Some(&mut self.all), Some(&mut self.work).filter(|_| of_work)];
        for checks in states.into_iter().flatten() {
            match failure {
                // A time-out tells nothing of what was checked.
                Some(failure)
                    if attempt.excuse != Some(Excuse::Transient) && failure.kind != FailureKind::Killed =>
                {
                    checks.failed.push(FailedCheck {
                        program: Arc::clone(&told.program),
                        step: attempt.step,
                        check,
                        key: key(told, true),
                        missing: match &failure.kind {
                            FailureKind::Missing(name) => Some(name.clone()),
                            _ => None,
                        },
                        shown: attempt.call.shown_part(Some(told)),
                        line: failure.line.clone(),
                    });
                    self.a_check_failed = true;
                }
                None if passed && check == Check::Form => {
                    checks.failed.retain(|failed| failed.check != Check::Form);
                }
                None if passed => {
                    // Code of the agent's own says nothing of a check that could not run.
                    let could_not_run =
                        |last: &FailedCheck| last.missing.is_some() && last.key != key(told, true);
                    if is_test || !checks.failed.last().is_some_and(could_not_run) {
                        *checks = Checks::default();
                    }
                }
                _ => {}
            }
        }
        passed
    }

    fn reach(&mut self, goal: usize, state: GoalState) {
        if let Some(goal) = self.goals.get_mut(goal).filter(|goal| goal.state == GoalState::Waiting) {
            goal.state = state;
        }
    }

    fn success(&mut self, attempt: &Attempt, action: &Action<'_>, known: bool) {
        if self.goals.is_empty() {
            return;
        }
        let call = &attempt.call.call;
        let mine = if call.is_shell { BTreeSet::new() } else { identifiers(action) };
        let files: BTreeSet<String> = call.parts().filter_map(|part| part.file.clone()).collect();
        for part in call.parts() {
            let goals = self.by_key.get(&key(part, call.is_shell)).cloned().unwrap_or_default();
            for place in goals {
                // What was sent in the same turn did not know of the failure.
                let Some(goal) = self.goals.get(place).filter(|goal| !goal.turns.contains(&attempt.turn))
                else {
                    continue;
                };
                let common = |other: &BTreeSet<String>| !goal.targets.is_disjoint(other);
                let state = if part.file.is_some() {
                    if !common(&files) && !goal.targets.contains("?") {
                        continue;
                    }
                    GoalState::Reached
                } else if goal.does != Does::Read
                    || goal.targets.is_empty()
                    || mine.is_empty()
                    || common(&mine)
                {
                    GoalState::Reached
                } else if goal.most_repeated() < 2 && !known {
                    GoalState::Elsewhere
                } else {
                    continue;
                };
                self.reach(place, state);
            }
        }
    }

    fn failure(&mut self, attempt: &Attempt, told: &Part, action: &Action<'_>) {
        let call = &attempt.call.call;
        let mine: BTreeSet<String> = match &told.file {
            Some(file) => BTreeSet::from([file.clone()]),
            None if call.is_shell => BTreeSet::new(),
            None => identifiers(action),
        };
        let next = self.goals.len();
        let known = self.by_key.entry(key(told, call.is_shell)).or_default();
        let find = |wanted: &dyn Fn(&Goal) -> bool| {
            known.iter().rev().copied().find(|place| self.goals.get(*place).is_some_and(wanted))
        };
        let place = find(&|goal| {
            goal.state == GoalState::Waiting
                && (goal.targets.is_empty() || mine.is_empty() || !goal.targets.is_disjoint(&mine))
        })
        .or_else(|| {
            find(&|goal| {
                goal.state == GoalState::Elsewhere && goal.calls.iter().any(|(key, _)| *key == call.key)
            })
        });
        let place = place.unwrap_or_else(|| {
            known.push(next);
            self.goals.push(Goal {
                does: told.does,
                is_shell: call.is_shell,
                shown: String::new(),
                program: told.program.clone(),
                place: (attempt.step, attempt.step),
                failures: 0,
                turns: Vec::new(),
                targets: BTreeSet::new(),
                calls: Vec::new(),
                line: String::new(),
                state: GoalState::Waiting,
            });
            next
        });
        let Some(goal) = self.goals.get_mut(place) else { return };
        goal.state = GoalState::Waiting;
        goal.place.1 = attempt.told_at;
        goal.failures += 1;
        goal.shown =
            if call.is_shell { attempt.call.shown_part(Some(told)) } else { attempt.call.shown_with(action) };
        goal.line = attempt.failure().map(|failure| failure.line.clone()).unwrap_or_default();
        if goal.turns.last() != Some(&attempt.turn) {
            goal.turns.push(attempt.turn);
        }
        goal.targets.extend(mine);
        match goal.calls.iter_mut().find(|(key, _)| *key == call.key) {
            Some((_, count)) => *count += 1,
            None => goal.calls.push((call.key, 1)),
        }
    }

    /// Why a goal is left open at the end, if it is.
    fn open_reason(&self, goal: &Goal) -> Option<OpenReason> {
        if goal.state != GoalState::Waiting {
            return None;
        }
        let (turns, last, min) = (goal.turns.len() as u64, goal.place.1, self.config.min_attempts);
        if goal.does == Does::Read {
            let of_tool = self.goals.iter().filter(|other| {
                other.state == GoalState::Waiting && other.does == Does::Read && other.program == goal.program
            });
            let all: u64 = of_tool.map(|other| other.turns.len() as u64).sum();
            return (turns >= 2 && goal.most_repeated() >= 2 || all >= min).then_some(OpenReason::InVain);
        }
        let is_tool = !goal.is_shell && goal.does != Does::Read;
        let since = |step: Option<u64>| step.is_some_and(|step| step > last);
        if turns >= 2 {
            Some(OpenReason::NeverThrough)
        } else if is_tool && self.handed_over.is_some_and(|(step, look)| step > last && !since(look)) {
            Some(OpenReason::HandedOver)
        } else if is_tool && since(self.spoke) && !since(self.admitted) && !since(self.new_look) {
            Some(OpenReason::PassedOver)
        } else if self.tail.len() as u64 >= min && self.tail.contains(&last) {
            Some(OpenReason::EndsFailing)
        } else {
            None
        }
    }

    /// The failed checks that nothing made good, if a source file was changed before the last of them.
    fn failing_checks(&self) -> &[FailedCheck] {
        let is_source = |file: &str| {
            !file.contains("test")
                && ![".md", ".txt", ".patch", ".diff"].iter().any(|end| file.ends_with(end))
        };
        let only_scripts = !self.files.iter().any(|file| is_source(file) && !self.scripts.contains(file));
        let checks = if only_scripts { &self.work } else { &self.all };
        let Some(last) = checks.failed.last() else { return &[] };
        let counts = |file: &str| is_source(file) && (only_scripts || !self.scripts.contains(file));
        let changed = checks.changed.iter().any(|(file, step)| counts(file) && *step < last.step);
        if changed { &checks.failed } else { &[] }
    }

    /// The open goals, those in vain of one tool and those that end the run as one; and the failing checks.
    fn findings(&self) -> Vec<Finding> {
        let mut groups: Vec<(OpenReason, Group<'_>)> = Vec::new();
        for goal in &self.goals {
            let Some(reason) = self.open_reason(goal) else { continue };
            let joins = |group: &&mut (OpenReason, Group<'_>)| {
                group.0 == reason
                    && match reason {
                        OpenReason::InVain => group.1.goal.program == goal.program,
                        OpenReason::EndsFailing => true,
                        _ => false,
                    }
            };
            let group = Group { goal, place: goal.place, failures: goal.failures };
            match groups.iter_mut().find(joins) {
                Some((_, other)) => other.add(&group),
                None => groups.push((reason, group)),
            }
        }
        let mut found: Vec<Finding> =
            groups.iter().map(|(reason, group)| self.finding(*reason, group)).collect();
        let checks = self.failing_checks();
        if let [first, .., last] | [first @ last] = checks {
            let (count, line) = (checks.len() as u64, after_colon(&last.line));
            let (failed, none) = match last.missing {
                Some(_) => ("could not run", "no test"),
                None => ("failed", "no check"),
            };
            let of = if count == 1 { String::new() } else { format!(" the last of {count} failed checks,") };
            let message = format!("{} {failed},{of} and {none} passed after it{line}", last.shown);
            found.push(finding(
                (first.step, last.step),
                OpenReason::FailedCheck,
                &last.program,
                count,
                message,
            ));
        }
        found.sort_by_key(|finding| (finding.first, finding.last));
        found
    }

    fn finding(&self, reason: OpenReason, group: &Group<'_>) -> Finding {
        let (shown, count, line) = (&group.goal.shown, group.failures, after_colon(&group.goal.line));
        let message = match reason {
            OpenReason::NeverThrough if group.goal.most_repeated() < count => {
                format!("{count} calls like {shown} failed, and none went through{line}")
            }
            OpenReason::NeverThrough => format!("{shown} failed {count} times and never went through{line}"),
            OpenReason::InVain if group.goal.most_repeated() < count => {
                format!("{count} look-ups like {shown} were in vain{line}")
            }
            OpenReason::InVain => format!("{shown} could not be looked up ({count} tries){line}"),
            OpenReason::HandedOver => format!("{shown} failed, and the run was handed over to a human{line}"),
            OpenReason::PassedOver => {
                format!("{shown} failed, and no later message mentions a failure{line}")
            }
            _ => format!("the run ends in {} failures, the last of {shown}{line}", self.tail.len()),
        };
        finding(group.place, reason, &group.goal.program, count, message)
    }
}

/// Open goals that make one finding; the latest of them.
struct Group<'g> {
    goal: &'g Goal,
    place: (u64, u64),
    failures: u64,
}

impl<'g> Group<'g> {
    fn add(&mut self, other: &Group<'g>) {
        let place = (self.place.0.min(other.place.0), self.place.1.max(other.place.1));
        let failures = self.failures + other.failures;
        let goal = if other.goal.place.1 >= self.goal.place.1 { other.goal } else { self.goal };
        *self = Self { goal, place, failures };
    }
}

impl Goal {
    fn most_repeated(&self) -> u64 {
        self.calls.iter().map(|(_, count)| *count).max().unwrap_or(0)
    }
}

/// What goals of one purpose have in common.
fn key(part: &Part, is_shell: bool) -> Digest {
    let key = match (&part.file, &part.script, part.check) {
        (Some(_), ..) => CHANGE.to_owned(),
        (None, Some(script), _) => format!("{} {script}", part.program),
        (None, None, Some(Check::Snippet)) => format!("{} -c", part.program),
        _ => part.program.to_string(),
    };
    key_of(if is_shell && part.file.is_none() { "$" } else { "" }, &key)
}

fn key_of(shell: &str, key: &str) -> Digest {
    Digest::of_text(shell).and(Digest::of_text(key))
}

fn finding(place: (u64, u64), reason: OpenReason, tool: &str, failures: u64, message: String) -> Finding {
    let (reason, tool, failures) = (Some(reason), Some(tool.to_owned()), Some(failures));
    let evidence = ToolErrorRecoveryEvidence { errors: Vec::new(), reason, tool, failures };
    let evidence = Evidence::ToolErrorRecovery(evidence);
    Finding::new(ToolErrorRecovery::ID, ToolErrorRecovery::MODE, place, message, evidence)
        .confidence(Confidence::Likely)
}

impl Fold for Recovery {
    fn observe(&mut self, step: &Step<'_>) {
        self.rate.observe(step);
        if let Event::Message(text) = step.event() {
            // What was said before the first failure admits none.
            if step.actor() == Actor::Agent && !self.goals.is_empty() {
                self.message(step.index(), &text.to_str());
            }
            return;
        }
        let Some(action) = step.action_of(self.config.actors) else { return };
        let attempt = self.attempts.observe(step, self.config.actors, &self.passed_over);
        if let Some(attempt) = attempt.filter(|attempt| !attempt.polls) {
            self.attempt(&attempt, action);
        }
    }

    /// Nothing is confirmed before the end: a later success still reaches every goal.
    fn certain(&self) -> &[Finding] {
        &[]
    }

    fn verdict(&self) -> Verdict {
        let findings = self.findings();
        let open = self.goals.iter().filter(|goal| self.open_reason(goal).is_some()).count() as u64;
        let failing = u64::from(!self.failing_checks().is_empty());
        let counted =
            self.goals.iter().filter(|goal| goal.does != Does::Read || self.open_reason(goal).is_some());
        let reached = counted.clone().filter(|goal| goal.state == GoalState::Reached).count() as u64;
        let checks = u64::from(self.a_check_failed);
        let (goals, reached) = (counted.count() as u64 + checks, reached + checks - failing.min(checks));
        let goal_recovery = recovery_rate(reached, goals);
        let measures = self.rate.measures().into_iter().chain([
            Measure::count("goals", goals),
            Measure::count("reached", reached),
            Measure::count("open", open + failing),
            Measure { name: "goal_recovery", value: goal_recovery },
        ]);
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            score: Some(goal_recovery),
            findings,
            measures: measures.collect::<Vec<_>>().into(),
            ..Judgement::default()
        })
    }

    fn near_misses(&self) -> Vec<NearMiss> {
        let waiting = self
            .goals
            .iter()
            .filter(|goal| goal.state == GoalState::Waiting && self.open_reason(goal).is_none());
        let near = waiting.map(|goal| {
            // A look-up is in vain when the same call has failed twice, anything else when it was tried twice.
            let tried = if goal.does == Does::Read { goal.most_repeated() } else { goal.turns.len() as u64 };
            let attempts = Condition::count("attempts", tried, Comparator::AtLeast, 2);
            NearMiss::new("open_goal", vec![attempts]).tool(&goal.program).at(goal.place)
        });
        near.collect()
    }

    fn memory(&self) -> usize {
        let checks =
            self.all.failed.len() + self.work.failed.len() + self.all.changed.len() + self.files.len();
        self.rate.memory()
            + self.attempts.memory()
            + self.goals.len() * 1_024
            + (checks + self.looked_up.len()) * 128
    }
}
