//! `feedback_blindness`: the agent repeats what was just refused.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::finding::{Confidence, FINDING_BYTES, FailureClass, Finding, Verdict};
use super::measures::Measure;
use super::published::RefusedBefore;
use super::rule::{Grid, Rule, at_least, rule};
use super::shared::{
    Attempt, Attempts, Does, Facts, Failure, FailureKind, NoCall, PassedOver, Phrases, PollingCall,
    ProgressTracker, Shown, TransientRules, after_colon, names_value, no_call,
};
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Action, Actor, Actors, Digest, DigestMap, Event, RouteStatus, Step};

/// How much of an observation the evidence quotes, in characters.
const QUOTED: usize = 200;

/// Which repeats are blind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlindnessDefinition {
    /// A repeat that fails for a cause that the agent has seen, with nothing relevant changed.
    SameCause,
    /// Any repeat of a text that drew a negative phrase, as `BenchTrace` publishes it.
    Phrases,
}

named! { BlindnessDefinition, "definition" { SameCause => "same_cause", Phrases => "phrases" } }

/// Configuration of [`FeedbackBlindness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedbackBlindnessConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// Which repeats are blind.
    pub definition: BlindnessDefinition,
    /// The number of turns with the same failure after which any further one is blind; at least 2 (`same_cause`).
    pub max_failures: u64,
    /// Calls that are meant to be made again and again (`same_cause`).
    pub exempt: Vec<PollingCall>,
    /// Failures that may be retried (`same_cause`); `null` for none.
    pub transient: Option<TransientRules>,
    /// How many earlier actions are remembered (`phrases`); `null` for all.
    pub window: Option<u64>,
    /// Phrases that make an observation negative, ignoring case (`phrases`).
    pub patterns: Vec<String>,
}

impl Default for FeedbackBlindnessConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            definition: BlindnessDefinition::SameCause,
            max_failures: 3,
            exempt: PollingCall::known(),
            transient: Some(TransientRules::default()),
            window: None,
            patterns: Vec::new(),
        }
    }
}

impl FeedbackBlindnessConfig {
    /// Creates the published rule of the `BenchTrace` benchmark: its phrases, every repeat, only the text of the
    /// action.
    #[must_use]
    #[rustfmt::skip]
    pub fn bench_trace() -> Self {
        let phrases = ["you can't", "you cant", "that's not", "doesn't work", "doesnt work", "nothing happen", "no effect",
            "i don't see", "i dont see", "i don't understand", "i dont understand", "what?", "already",
            "can't go that way", "cant go that way", "not here", "not possible"];
        let patterns = phrases.iter().map(ToString::to_string).collect();
        Self { definition: BlindnessDefinition::Phrases, patterns, exempt: Vec::new(), transient: None, ..Self::default() }
    }

    fn check(&self) -> Result<()> {
        if self.window == Some(0) {
            return Err(Error::config("window", "expected at least 1 or null, got 0"));
        }
        if self.patterns.iter().any(String::is_empty) {
            return Err(Error::config("patterns", "an empty phrase would match every observation"));
        }
        at_least("max_failures", self.max_failures, 2)?;
        PassedOver::check(&self.exempt, self.transient.as_ref())
    }
}

rule! {
    #[doc = include_str!("docs/feedback_blindness.md")]
    FeedbackBlindness(FeedbackBlindnessConfig),
    ready: (Arc<PassedOver>, Arc<Phrases>) = |config| {
        let passed_over = PassedOver::new(&config.exempt, config.transient.as_ref());
        let phrases = Phrases::new(config.patterns.iter().map(String::as_str));
        (Arc::new(passed_over), Arc::new(phrases))
    }
}

impl Rule for FeedbackBlindness {
    const ID: &'static str = "feedback_blindness";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent repeats what was just refused";
    const DOCS: &'static str = include_str!("docs/feedback_blindness.md");

    fn bench_trace() -> FeedbackBlindnessConfig {
        FeedbackBlindnessConfig::bench_trace()
    }

    fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        match self.config.definition {
            BlindnessDefinition::Phrases => Box::new(RefusedBefore::new(&self.config, &self.ready.1)),
            BlindnessDefinition::SameCause => Box::new(Blindness::new(self)),
        }
    }

    fn needs_argument_texts(&self) -> bool {
        self.config.definition == BlindnessDefinition::SameCause
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "max_failures", values: (2..=8).map(Into::into).collect() })
    }
}

/// Evidence of `feedback_blindness`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackBlindnessEvidence {
    /// The step of an earlier refusal: the latest, or under the published rule the earliest.
    pub first_attempt: u64,
    /// The first 200 characters of the answer.
    pub observation: Option<String>,
}

pub(super) fn finding(
    step: u64,
    first_attempt: u64,
    observation: Option<String>,
    message: String,
) -> Finding {
    let evidence = Evidence::FeedbackBlindness(FeedbackBlindnessEvidence { first_attempt, observation });
    Finding::new(FeedbackBlindness::ID, FeedbackBlindness::MODE, (step, step), message, evidence)
}

/// Returns the part of the observation that evidence quotes.
pub(super) fn quote(action: &Action<'_>) -> Option<String> {
    action.observation.present().map(|text| text.head(QUOTED).into_owned())
}

/// The default rule: a failed call is blind if an earlier one met the same cause and nothing was changed since.
#[derive(Debug)]
struct Blindness {
    config: Arc<FeedbackBlindnessConfig>,
    attempts: Attempts,
    no_call: NoCall,
    gains: ProgressTracker,
    /// The number of attempts.
    number: u64,
    /// The latest changes, each with the number of its attempt.
    changes: VecDeque<(u64, Arc<Facts>)>,
    /// By tool and cause.
    refused: DigestMap<Refused>,
    /// By wording: the refusals of the harness.
    barred: DigestMap<Barred>,
    /// The step of the last user message, and its text.
    user_spoke: u64,
    user_said: Vec<u8>,
    findings: Vec<Finding>,
}

/// The failures of one cause.
#[derive(Debug, Default)]
struct Refused {
    latest: VecDeque<Refusal>,
    /// The first step, and the number of turns with this cause.
    first: u64,
    turns: u64,
    is_reported: bool,
}

/// One refusal of the harness, of different programs.
#[derive(Debug)]
struct Barred {
    first: u64,
    turn: u64,
    /// The refused programs, no two of them in one turn.
    programs: Vec<Arc<str>>,
}

#[derive(Debug)]
struct Refusal {
    step: u64,
    turn: u64,
    number: u64,
    wording: Digest,
    call: Arc<Facts>,
}

/// How many programs the harness refuses in the same words before a further one is blind, and the fewest bytes of a
/// line that says so in its own words.
const BARRED: usize = 2;
const OWN_WORDS: usize = 40;
/// How many refusals of one cause, and how many changes, are remembered.
const REMEMBERED: usize = 16;

impl Blindness {
    fn new(rule: &FeedbackBlindness) -> Self {
        Self {
            config: Arc::clone(&rule.config),
            attempts: Attempts::new(rule.config.actors, &rule.ready.0),
            no_call: NoCall::default(),
            gains: ProgressTracker::default(),
            number: 0,
            changes: VecDeque::new(),
            refused: DigestMap::default(),
            barred: DigestMap::default(),
            user_spoke: 0,
            user_said: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn refusal(&mut self, attempt: &Attempt, failure: &Failure, action: &Action<'_>) {
        let call = &attempt.call.call;
        let barred = self.barred(attempt, failure);
        let by_cause = matches!(failure.kind, FailureKind::Missing(_) | FailureKind::Usage);
        let program = if by_cause && call.is_shell { "$" } else { &call.program };
        let now = Refusal {
            step: attempt.step,
            turn: attempt.turn,
            number: self.number,
            wording: failure.wording,
            call: Arc::clone(&attempt.call),
        };
        let refused = self.refused.entry(failure.cause.and(Digest::of_text(program))).or_default();
        let earlier_turns = refused.latest.iter().filter(|earlier| earlier.turn != now.turn);
        let unchanged = |earlier: &&Refusal| {
            let since = self.changes.iter().take_while(|(number, _)| *number > earlier.number);
            // A change elsewhere does not lift a refusal.
            failure.kind == FailureKind::Refused && earlier.is_refused_as(&now, failure)
                || !since.map(|(_, change)| change).any(|change| cures(change, failure))
        };
        let blind = earlier_turns.take_while(unchanged).find(|earlier| earlier.is_repeated_by(&now, failure));
        let mut blind =
            blind.map(|earlier| (earlier.step, earlier.call.call.key == call.key && failure.recorded));
        let last = refused.latest.front();
        if last.is_none_or(|last| last.turn != now.turn) {
            // The user gave something new to try.
            let given = !call.is_shell
                && last.is_some_and(|last| self.user_spoke > last.step)
                && names_value(action, &self.user_said);
            refused.turns = if given { 1 } else { refused.turns + 1 };
        }
        if refused.turns > self.config.max_failures {
            blind = blind.or(last.map(|last| (last.step, false)));
        }
        let report = blind.filter(|_| !refused.is_reported);
        refused.is_reported |= blind.is_some();
        refused.latest.truncate(REMEMBERED - 1);
        refused.latest.push_front(now);
        let elsewhere = report.is_none();
        let Some((before, is_certain)) = report.or_else(|| Some((barred?, false))) else { return };
        let (shown, line) = (Shown::with(&attempt.call, action), after_colon(&failure.line));
        let times = match refused.turns {
            0..=2 => String::new(),
            times => format!(", {times} times by now"),
        };
        let message = if elsewhere {
            format!("{shown} is refused as {BARRED} other programs were since step {before}{line}")
        } else {
            format!("{shown} fails as it did at step {before}{times}{line}")
        };
        let confidence = if is_certain { Confidence::Certain } else { Confidence::Likely };
        let finding = finding(attempt.told_at, before, quote(action), message);
        self.findings.push(finding.tool(&*call.program).confidence(confidence));
    }

    /// Returns the step at which the harness first refused a program in these words, if it now refuses the third.
    fn barred(&mut self, attempt: &Attempt, failure: &Failure) -> Option<u64> {
        let is_own = failure.kind == FailureKind::Refused && failure.line.len() >= OWN_WORDS;
        if !is_own || !failure.recorded {
            return None;
        }
        let program = &attempt.call.call.program;
        let new = || Barred { first: attempt.step, turn: attempt.turn, programs: Vec::new() };
        let barred = self.barred.entry(failure.wording).or_insert_with(new);
        let is_sent_before = !barred.programs.is_empty() && barred.turn == attempt.turn;
        if is_sent_before || barred.programs.len() > BARRED || barred.programs.contains(program) {
            return None;
        }
        barred.turn = attempt.turn;
        barred.programs.push(Arc::clone(program));
        (barred.programs.len() > BARRED).then_some(barred.first)
    }

    /// Reports the turn without a call that the harness answers in the same way for the `max_failures`-th time.
    fn no_call(&mut self, attempt: &no_call::Attempt<'_>) {
        let row = self.refused.entry(attempt.answer).or_default();
        row.turns += 1;
        row.first = if row.turns == 1 { attempt.step } else { row.first };
        if row.turns == self.config.max_failures {
            let (turns, first, last, said) = (row.turns, row.first, attempt.step, after_colon(&attempt.head));
            let message = format!("the harness found no call in {turns} turns (steps {first}-{last}){said}");
            let observation = Some(attempt.head.clone().into_owned());
            let finding = finding(attempt.last, first, observation, message);
            self.findings.push(finding.confidence(Confidence::Likely));
        }
    }
}

impl Refusal {
    /// Returns true if both calls write one file and failed in the same words.
    fn writes_as(&self, now: &Self) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        let same_file =
            call.target.as_deref().is_some() && before.target.as_deref() == call.target.as_deref();
        call.does == Does::Write && same_file && self.wording == now.wording
    }

    /// Returns true if both calls write one file, or the harness refused the same command in both, in the same words.
    fn is_refused_as(&self, now: &Self, failure: &Failure) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        let runs = |shown: &str| before.parts.iter().any(|part| *part.shown == *shown);
        let same_command =
            call.is_shell && failure.is_flagged && call.parts.iter().any(|part| runs(&part.shown));
        self.writes_as(now) || same_command && self.wording == now.wording
    }

    /// Returns true if a later call is the same, or meets a cause that does not depend on the call.
    fn is_repeated_by(&self, now: &Self, failure: &Failure) -> bool {
        let (before, call) = (&self.call.call, &now.call.call);
        // Another view of the same failure is news: `pytest | tail` after `pytest`.
        let same_line =
            failure.kind != FailureKind::Other || !call.is_shell || self.call.line == now.call.line;
        let same_call = call.key.is_some() && before.key == call.key && same_line;
        same_call
            || match &failure.kind {
                FailureKind::Usage if call.is_shell => true,
                // `python -c "import numpy"` checks whether the module is there now.
                FailureKind::Missing(_) if call.is_shell => {
                    !call.parts.iter().any(|part| is_probe(&part.shown))
                }
                FailureKind::Refused => self.is_refused_as(now, failure),
                _ => !call.is_shell && self.writes_as(now),
            }
    }
}

/// Returns true if a command only imports, and prints a text or a version.
fn is_probe(command: &str) -> bool {
    let Some((_, code)) = command.split_once(" -c ") else { return false };
    let prints =
        |part: &str| part.starts_with("print('") || part.starts_with("print(\"") || part.contains(".__");
    let imports = |part: &str| part.starts_with("import ") || part.starts_with("from ");
    code.split(';').map(str::trim).all(|part| imports(part) || prints(part))
}

/// Returns true if a change may have removed the cause of a failure. If something is missing, the change must name it.
fn cures(change: &Facts, failure: &Failure) -> bool {
    let FailureKind::Missing(name) = &failure.kind else { return true };
    // Installing `numpy` brings `numpy.distutils`.
    let name = name.split('.').next().unwrap_or_default();
    let target = change.call.target.as_deref().map(str::to_lowercase);
    change.call.text.contains(name) || target.is_some_and(|target| target.contains(name))
}

impl Fold for Blindness {
    fn observe(&mut self, step: &Step<'_>) {
        if let Some(attempt) = self.no_call.observe(step) {
            self.no_call(&attempt);
        } else if let Event::Message(text) = step.event()
            && step.actor() == Actor::User
            && !text.is_empty()
        {
            self.user_said.clear();
            self.user_said.extend_from_slice(text.start(2_000));
            self.user_spoke = step.index();
        }
        let Some(action) = step.action_of(self.config.actors) else { return };
        let attempt = self.attempts.observe(step);
        let Some(attempt) = attempt.filter(|attempt| attempt.excuse.is_none()) else { return };
        if self.gains.observe(step) {
            self.refused.clear();
            self.barred.clear();
            self.changes.clear();
        }
        self.number += 1;
        if let Some(failure) = attempt.failure() {
            self.refusal(&attempt, failure, action);
        }
        if attempt.changes {
            self.changes.truncate(REMEMBERED - 1);
            self.changes.push_front((self.number, Arc::clone(&attempt.call)));
        }
    }

    /// Returns every finding immediately and in its final form.
    fn certain(&self) -> &[Finding] {
        if self.attempts.comparable { &self.findings } else { &[] }
    }

    fn verdict(&self) -> Verdict {
        if self.attempts.are_incomparable() {
            return super::incomparable();
        }
        Verdict::found(self.findings.clone(), |found| {
            vec![Measure::count("actions", self.attempts.actions), Measure::count("blind_repeats", found)]
        })
    }

    fn memory(&self) -> usize {
        let refusals: usize = self.refused.values().map(|refused| 1 + refused.latest.len()).sum();
        let calls = (refusals + self.barred.len() + self.changes.len()) * 512 + self.user_said.capacity();
        let findings = self.findings.capacity() * FINDING_BYTES;
        self.attempts.memory() + calls + findings
    }
}
