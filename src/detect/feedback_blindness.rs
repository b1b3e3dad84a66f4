//! `feedback_blindness`: the agent repeats what was just refused.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::finding::{Confidence, FINDING_BYTES, FailureClass, Finding, Verdict};
use super::measures::Measure;
use super::published::RefusedBefore;
use super::rule::{Grid, Rule};
use super::shared::{
    Attempt, Attempts, Bigrams, Does, Facts, Failure, FailureKind, Gains, NoCall, PassedOver, Phrases,
    PollingCall, TransientRules, after_colon, is_system, names_value,
};
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Action, Actor, Actors, Digest, DigestMap, DigestSet, Event, Routing, Step};

/// How much of an observation the evidence quotes, in characters.
const QUOTED: usize = 200;

/// Which repeats are blind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlindnessDefinition {
    /// A repeat that meets the cause again that it was told, nothing relevant having changed.
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
    /// New answers that may lie between an attempt and its repeat, if it is not a command line (`same_cause`).
    pub max_gap: u64,
    /// How often the same failure is met before any further one is blind; at least 2 (`same_cause`).
    pub max_failures: u64,
    /// Calls that are meant to be made again and again (`same_cause`).
    pub exempt: Vec<PollingCall>,
    /// Failures that are sound to try again (`same_cause`); `null` is none.
    pub transient: Option<TransientRules>,
    /// How many earlier actions are remembered (`phrases`); `null` is all of them.
    pub window: Option<u64>,
    /// Phrases that make an observation negative, anywhere in it, without case (`phrases`).
    pub patterns: Vec<String>,
}

impl Default for FeedbackBlindnessConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            definition: BlindnessDefinition::SameCause,
            max_gap: 2,
            max_failures: 3,
            exempt: PollingCall::known(),
            transient: Some(TransientRules::default()),
            window: None,
            patterns: Vec::new(),
        }
    }
}

impl FeedbackBlindnessConfig {
    /// The published rule of the `BenchTrace` benchmark: its phrases, every repeat, the action's text alone.
    #[must_use]
    #[rustfmt::skip]
    pub fn bench_trace() -> Self {
        let phrases = ["you can't", "you cant", "that's not", "doesn't work", "doesnt work", "nothing happen", "no effect",
            "i don't see", "i dont see", "i don't understand", "i dont understand", "what?", "already",
            "can't go that way", "cant go that way", "not here", "not possible"];
        let patterns = phrases.iter().map(ToString::to_string).collect();
        Self { definition: BlindnessDefinition::Phrases, patterns, exempt: Vec::new(), transient: None, ..Self::default() }
    }
}

#[doc = include_str!("docs/feedback_blindness.md")]
#[derive(Debug, Clone)]
pub struct FeedbackBlindness {
    config: Arc<FeedbackBlindnessConfig>,
    passed_over: Arc<PassedOver>,
    phrases: Arc<Phrases>,
}

impl Default for FeedbackBlindness {
    fn default() -> Self {
        Self::from_checked(FeedbackBlindnessConfig::default())
    }
}

impl FeedbackBlindness {
    /// Returns the detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if a limit is out of range, a phrase is empty, or an exempt tool has
    /// no name.
    pub fn new(config: FeedbackBlindnessConfig) -> Result<Self> {
        if config.window == Some(0) {
            return Err(Error::config("window", "expected at least 1 or null, got 0"));
        }
        if config.max_failures < 2 {
            return Err(Error::config(
                "max_failures",
                format!("expected at least 2, got {}", config.max_failures),
            ));
        }
        if config.patterns.iter().any(String::is_empty) {
            return Err(Error::config("patterns", "an empty phrase would match every observation"));
        }
        PassedOver::validate(&config.exempt, config.transient.as_ref())?;
        Ok(Self::from_checked(config))
    }

    fn from_checked(config: FeedbackBlindnessConfig) -> Self {
        Self {
            phrases: Arc::new(Phrases::new(config.patterns.iter().map(String::as_str))),
            passed_over: Arc::new(PassedOver::new(&config.exempt, config.transient.as_ref())),
            config: Arc::new(config),
        }
    }
}

impl Rule for FeedbackBlindness {
    type Config = FeedbackBlindnessConfig;
    const ID: &'static str = "feedback_blindness";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent repeats what was just refused";
    const DOCS: &'static str = include_str!("docs/feedback_blindness.md");

    fn bench_trace() -> FeedbackBlindnessConfig {
        FeedbackBlindnessConfig::bench_trace()
    }

    fn config(&self) -> &FeedbackBlindnessConfig {
        &self.config
    }

    fn configured(config: FeedbackBlindnessConfig) -> Result<Self> {
        Self::new(config)
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        match self.config.definition {
            BlindnessDefinition::Phrases => Box::new(RefusedBefore::new(&self.config, &self.phrases)),
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
    /// The step at which it was refused before: the latest such step, under the published rule the earliest.
    pub first_attempt: u64,
    /// What came back (first 200 characters).
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

/// As much of the observation as evidence quotes.
pub(super) fn quote(action: &Action<'_>) -> Option<String> {
    action.observation.present().map(|text| text.head(QUOTED).into_owned())
}

/// The default rule.
#[derive(Debug)]
struct Blindness {
    config: Arc<FeedbackBlindnessConfig>,
    attempts: Attempts,
    no_call: NoCall,
    gains: Gains,
    /// How many attempts there were, and how many of them succeeded with a new outcome.
    number: u64,
    novel: u64,
    seen: DigestSet,
    /// The latest changes, with the number of the attempt.
    changes: VecDeque<(u64, Arc<Facts>)>,
    /// By tool, program and cause.
    refused: DigestMap<Refused>,
    /// When the user spoke last, and what was said.
    user_spoke: u64,
    user_said: Vec<u8>,
    findings: Vec<Finding>,
}

/// What was refused for one cause.
#[derive(Debug, Default)]
struct Refused {
    latest: VecDeque<Refusal>,
    /// The step at which it was first met, and in how many turns.
    first: u64,
    turns: u64,
    /// The steps of turns without a call.
    steps: Vec<String>,
    is_reported: bool,
}

#[derive(Debug, Clone)]
struct Refusal {
    step: u64,
    turn: u64,
    number: u64,
    novel: u64,
    wording: Digest,
    call: Arc<Facts>,
}

impl Blindness {
    /// How many refusals of one cause, and how many changes, are remembered.
    const REMEMBERED: usize = 16;
    /// How alike two commands are that were both killed.
    const LIKENESS: f64 = 0.6;

    fn new(rule: &FeedbackBlindness) -> Self {
        Self {
            config: Arc::clone(&rule.config),
            attempts: Attempts::new(rule.config.actors, &rule.passed_over),
            no_call: NoCall::default(),
            gains: Gains::default(),
            number: 0,
            novel: 0,
            seen: DigestSet::default(),
            changes: VecDeque::new(),
            refused: DigestMap::default(),
            user_spoke: 0,
            user_said: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn refusal(&mut self, attempt: &Attempt, failure: &Failure, action: &Action<'_>) {
        let call = &attempt.call.call;
        if matches!(failure.kind, FailureKind::Missing(_)) && only_asks(&call.text) {
            return;
        }
        let by_cause = matches!(failure.kind, FailureKind::Missing(_) | FailureKind::Usage);
        let program = if by_cause { "" } else { &call.program };
        let tool = if call.is_shell { "$" } else { &call.program };
        let cause =
            [tool, program].into_iter().fold(failure.cause, |cause, part| cause.and(Digest::of_text(part)));
        let (number, novel, wording) = (self.number, self.novel, failure.wording);
        let now = Refusal {
            step: attempt.step,
            turn: attempt.turn,
            number,
            novel,
            wording,
            call: Arc::clone(&attempt.call),
        };
        let refused = self.refused.entry(cause).or_default();
        let mut blind = None;
        for earlier in refused.latest.iter().filter(|earlier| earlier.turn != now.turn) {
            let same_write = failure.kind == FailureKind::Refused
                && is_same_write(&earlier.call, &now.call)
                && earlier.wording == wording;
            let changed = || {
                self.changes.iter().any(|(at, change)| {
                    *at > earlier.number && is_relevant(change, call, failure, &attempt.call)
                })
            };
            let too_far = !call.is_shell && now.novel - earlier.novel > self.config.max_gap;
            if !same_write && (changed() || too_far) {
                break;
            }
            if same_write || is_blind(earlier, &now, failure) {
                blind = Some((earlier.step, earlier.call.call.key == call.key && failure.recorded));
                break;
            }
        }
        let last = refused.latest.front();
        if last.is_none_or(|last| last.turn != now.turn) {
            // The user gave something new to try.
            let given = !call.is_shell
                && last.is_some_and(|last| self.user_spoke > last.step)
                && names_value(action, &self.user_said);
            refused.turns = if given { 1 } else { refused.turns + 1 };
        }
        if blind.is_none() && refused.turns > self.config.max_failures {
            blind = last.map(|last| (last.step, false));
        }
        let report = blind.filter(|_| !refused.is_reported);
        refused.is_reported |= blind.is_some();
        refused.latest.truncate(Self::REMEMBERED - 1);
        refused.latest.push_front(now);
        let Some((before, is_certain)) = report else { return };
        let (shown, line) = (attempt.call.shown_with(action), after_colon(&failure.line));
        let message = match refused.turns {
            0..=2 => format!("{shown} fails as it did at step {before}{line}"),
            times => format!("{shown} fails as it did at step {before}, {times} times by now{line}"),
        };
        let confidence = if is_certain { Confidence::Certain } else { Confidence::Likely };
        self.findings.push(finding(attempt.told_at, before, quote(action), message).confidence(confidence));
    }
}

/// Whether a command line only asks whether something is there: `python -c "import numpy"`, `pip show numpy`.
fn only_asks(text: &str) -> bool {
    text.split(';').map(str::trim).filter(|statement| !statement.is_empty()).all(|statement| {
        let code = ["python -c ", "python3 -c "].iter().find_map(|start| statement.strip_prefix(start));
        let statement = code.unwrap_or(statement).trim();
        let starts = |words: &[&str]| words.iter().any(|word| statement.starts_with(word));
        starts(&["import ", "from "]) && !statement.contains(['(', '='])
            || starts(&["print("]) && statement.matches('(').count() == 1
            || starts(&["echo ", "command -v ", "which ", "pip show ", "pip3 show "])
    })
}

/// Whether both calls write the same file.
fn is_same_write(earlier: &Facts, now: &Facts) -> bool {
    now.call.does == Does::Write && now.call.target().is_some() && earlier.call.target() == now.call.target()
}

/// Whether a failed call repeats an earlier one that met the same cause, nothing relevant having changed.
fn is_blind(earlier: &Refusal, now: &Refusal, failure: &Failure) -> bool {
    let (before, call) = (&earlier.call.call, &now.call.call);
    // Another view of the same failure is news: `pytest | tail` after `pytest`.
    let same_line =
        failure.kind != FailureKind::Other || !call.is_shell || earlier.call.line == now.call.line;
    let same = call.key.is_some() && before.key == call.key && same_line;
    let same_limits = failure.kind != FailureKind::Killed || before.limits == call.limits;
    if same && same_limits {
        return true;
    }
    match &failure.kind {
        _ if !call.is_shell => is_same_write(&earlier.call, &now.call) && earlier.wording == now.wording,
        FailureKind::Usage | FailureKind::Missing(_) => true,
        FailureKind::Refused => is_system(&call.program),
        FailureKind::Killed => {
            same_limits && Bigrams::of(&before.text).likeness(&Bigrams::of(&call.text)) >= Blindness::LIKENESS
        }
        FailureKind::Other => false,
    }
}

/// Whether a change may have cured a failure.
fn is_relevant(change: &Facts, call: &super::shared::Call, failure: &Failure, failed: &Facts) -> bool {
    let says = |word: &str| {
        change.call.text.contains(word)
            || change.call.target().is_some_and(|path| path.to_lowercase().contains(word))
    };
    match &failure.kind {
        FailureKind::Missing(name) => says(name),
        _ if !call.is_shell => change.call.is_shell || !change.tool.eq_ignore_ascii_case(&failed.tool),
        _ if is_system(&call.program) => call.paths().any(says),
        _ => true,
    }
}

impl Fold for Blindness {
    fn observe(&mut self, step: &Step<'_>) {
        if let Some(refused) = self.no_call.observe(step) {
            let row = self.refused.entry(refused.answer).or_default();
            row.turns += 1;
            if row.turns <= self.config.max_failures {
                row.steps.push(refused.step.to_string());
            }
            row.first = if row.turns == 1 { refused.step } else { row.first };
            if row.turns == self.config.max_failures {
                let (steps, said) = (std::mem::take(&mut row.steps).join(", "), after_colon(&refused.head));
                let message =
                    format!("the harness found no call in {} turns (steps {steps}){said}", row.turns);
                let finding = finding(refused.last, row.first, Some(refused.head.into_owned()), message);
                self.findings.push(finding.confidence(Confidence::Likely));
            }
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
            (self.seen, self.refused) = (DigestSet::default(), DigestMap::default());
            self.changes.clear();
        }
        self.number += 1;
        if let Some(failure) = attempt.failure() {
            self.refusal(&attempt, failure, action);
        } else {
            let known = attempt.call.call.key.zip(attempt.outcome).map(|(key, outcome)| key.and(outcome));
            self.novel += u64::from(known.is_none_or(|known| self.seen.insert(known)));
        }
        if attempt.changes {
            self.changes.truncate(Self::REMEMBERED - 1);
            self.changes.push_front((self.number, Arc::clone(&attempt.call)));
        }
    }

    /// Every finding, at once and in its final form.
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
        let calls = (refusals + self.changes.len()) * 512 + self.user_said.capacity();
        let findings = self.findings.capacity() * FINDING_BYTES;
        self.attempts.memory() + self.seen.len() * 2 * size_of::<Digest>() + calls + findings
    }
}
