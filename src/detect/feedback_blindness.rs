//! `feedback_blindness`: the agent repeats what was refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::feedback_memory::{Attempt, Attempts, Refusals};
use super::finding::{FINDING_BYTES, FailureClass, Finding, Judgement, Verdict};
use super::measures::Measure;
use super::passed_over::PassedOver;
use super::phrases::Phrases;
use super::polling::PollingCall;
use super::rule::{Grid, Rule};
use super::transient::TransientRules;
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Action, Actors, Digest, Digests, Routing, Status, Step};

/// How much of an observation the evidence quotes, in characters.
pub(super) const QUOTED: usize = 200;

/// Which repeats are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Report {
    /// The first blind repeat of each key.
    First,
    /// Every one.
    Every,
}

named! { Report, "choice of repeats" { First => "first", Every => "every" } }

/// What makes two actions the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeedbackKey {
    /// Name and canonical arguments.
    Call,
    /// The action's text alone.
    Name,
}

named! { FeedbackKey, "key" { Call => "call", Name => "name" } }

/// Configuration of [`FeedbackBlindness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedbackBlindnessConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// How many earlier actions are remembered; `null` is all of them.
    pub window: Option<u64>,
    /// Phrases that make an observation negative, anywhere in it, without case.
    pub patterns: Vec<String>,
    /// Calls that are meant to be made again and again.
    pub exempt: Vec<PollingCall>,
    /// Failures that are no negative feedback; `null` is none.
    pub transient: Option<TransientRules>,
    /// Whether only a repeat is blind that fails in turn, with the same feedback, in a later turn.
    pub same_feedback: bool,
    /// Whether a repeat that succeeds is a recovery (without `same_feedback`).
    pub success_recovers: bool,
    /// Novel actions that may have succeeded between an attempt and its blind repeat (`same_feedback`).
    pub max_gap: u64,
    /// Which repeats are reported.
    pub report: Report,
    /// What makes two actions the same.
    pub key: FeedbackKey,
}

impl Default for FeedbackBlindnessConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            window: None,
            patterns: Vec::new(),
            exempt: PollingCall::known(),
            transient: Some(TransientRules::default()),
            same_feedback: true,
            success_recovers: true,
            max_gap: 2,
            report: Report::First,
            key: FeedbackKey::Call,
        }
    }
}

impl FeedbackBlindnessConfig {
    /// The published rule of the `BenchTrace` benchmark: its phrases, every repeat, the action's text alone.
    #[must_use]
    pub fn bench_trace() -> Self {
        let phrases = [
            "you can't",
            "you cant",
            "that's not",
            "doesn't work",
            "doesnt work",
            "nothing happen",
            "no effect",
            "i don't see",
            "i dont see",
            "i don't understand",
            "i dont understand",
            "what?",
            "already",
            "can't go that way",
            "cant go that way",
            "not here",
            "not possible",
        ];
        Self {
            patterns: phrases.iter().map(ToString::to_string).collect(),
            exempt: Vec::new(),
            transient: None,
            same_feedback: false,
            success_recovers: false,
            report: Report::Every,
            key: FeedbackKey::Name,
            ..Self::default()
        }
    }
}

#[doc = include_str!("docs/feedback_blindness.md")]
#[derive(Debug, Clone)]
pub struct FeedbackBlindness(pub(super) Arc<Rules>);

/// The configuration, made ready.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) config: FeedbackBlindnessConfig,
    patterns: Phrases,
    pub(super) passed_over: PassedOver,
}

impl Rules {
    pub(super) fn is_negative(&self, action: &Action<'_>) -> bool {
        action.status == Status::Error
            || (!self.patterns.is_empty()
                && action.observation.present().is_some_and(|text| self.patterns.occur_in(&text.to_str())))
    }

    /// What makes two actions the same. `None`: the action is like no other.
    pub(super) fn key(&self, digests: &Digests) -> Option<Digest> {
        match self.config.key {
            FeedbackKey::Call => digests.exact_call(),
            FeedbackKey::Name => Some(digests.name),
        }
    }
}

impl Default for FeedbackBlindness {
    fn default() -> Self {
        Self::from_checked(FeedbackBlindnessConfig::default())
    }
}

impl FeedbackBlindness {
    /// The detector with this configuration.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the window is 0, a phrase is empty or an
    /// exempt tool has no name.
    pub fn new(config: FeedbackBlindnessConfig) -> Result<Self> {
        if config.window == Some(0) {
            return Err(Error::config(
                "window",
                "0 actions remember nothing; it must be at least 1, or null",
            ));
        }
        if config.patterns.iter().any(String::is_empty) {
            return Err(Error::config("patterns", "an empty phrase would match every observation"));
        }
        PassedOver::validate(&config.exempt, config.transient.as_ref())?;
        Ok(Self::from_checked(config))
    }

    fn from_checked(config: FeedbackBlindnessConfig) -> Self {
        Self(Arc::new(Rules {
            patterns: Phrases::new(config.patterns.iter().map(String::as_str)),
            passed_over: PassedOver::new(&config.exempt, config.transient.as_ref()),
            config,
        }))
    }
}

impl Rule for FeedbackBlindness {
    type Config = FeedbackBlindnessConfig;
    const ID: &'static str = "feedback_blindness";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent repeats what was refused";
    const DOCS: &'static str = include_str!("docs/feedback_blindness.md");

    fn bench_trace() -> FeedbackBlindnessConfig {
        FeedbackBlindnessConfig::bench_trace()
    }

    fn with_actors(config: FeedbackBlindnessConfig, actors: Actors) -> FeedbackBlindnessConfig {
        FeedbackBlindnessConfig { actors, ..config }
    }

    fn configured(config: FeedbackBlindnessConfig) -> Result<Self> {
        Self::new(config)
    }

    fn config(&self) -> &Self::Config {
        &self.0.config
    }

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State {
            rules: Arc::clone(&self.0),
            actions: 0,
            comparable: false,
            refusals: Refusals::default(),
            attempts: Attempts::default(),
            reported: BTreeSet::new(),
            findings: Vec::new(),
        })
    }

    fn needs_argument_texts(&self) -> bool {
        self.0.passed_over.needs_texts()
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "max_gap", values: (0..=10).map(Into::into).collect() })
    }
}

/// Evidence of `feedback_blindness`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackBlindnessEvidence {
    /// The step at which the same action was refused: by default the latest such step, in the preset the earliest
    /// that is remembered.
    pub first_attempt: u64,
    /// What came back then (first 200 characters).
    pub observation: Option<String>,
}

#[derive(Debug)]
struct State {
    rules: Arc<Rules>,
    /// Actions observed so far.
    actions: u64,
    /// Whether an action has its arguments recorded.
    comparable: bool,
    /// What the default rule remembers.
    refusals: Refusals,
    /// What the published rule remembers.
    attempts: Attempts,
    /// The keys that have been reported.
    reported: BTreeSet<Digest>,
    findings: Vec<Finding>,
}

impl State {
    /// The default: a repeat that fails as it did before.
    fn same_feedback(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) {
        let found = self.refusals.observe(&self.rules, self.actions, step, action, digests);
        if let Some((key, before)) = found.filter(|(key, _)| self.is_due(*key)) {
            let name = super::quoted(action.name);
            let message =
                format!("`{name}` fails with the same arguments and the same feedback as at step {before}");
            self.report(key, finding(step.index(), before, quote(action), message));
        }
    }

    /// The published rule: a repeat of what was refused, whatever comes of it.
    fn any_feedback(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) {
        let Some(key) = self.rules.key(digests) else { return };
        let FeedbackBlindnessConfig { window, success_recovers, .. } = self.rules.config;
        let recovers = success_recovers && action.status == Status::Ok;
        if !recovers
            && self.is_due(key)
            && let Some(first) = self.attempts.first(key, window, self.actions)
        {
            let name = super::quoted(action.name);
            let message = format!("`{name}` repeats what was refused at step {}", first.step);
            let found = finding(step.index(), first.step, first.observation.clone(), message);
            self.report(key, found);
        }
        if self.rules.is_negative(action) {
            let (number, step) = (self.actions, step.index());
            self.attempts.add(key, window, || Attempt { number, step, observation: quote(action) });
        }
    }

    /// Whether a blind repeat of this key is still to be reported.
    fn is_due(&self, key: Digest) -> bool {
        self.rules.config.report == Report::Every || !self.reported.contains(&key)
    }

    fn report(&mut self, key: Digest, finding: Finding) {
        self.reported.insert(key);
        self.findings.push(finding);
    }
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.rules.config.actors) else { return };
        self.actions += 1;
        self.comparable |= digests.arguments.is_some();
        if self.rules.passed_over.reason(step, action, &digests).is_some() {
            return;
        }
        if self.rules.config.same_feedback {
            self.same_feedback(step, action, &digests);
        } else {
            self.any_feedback(step, action, &digests);
        }
    }

    /// Every finding, at once and in its final form.
    fn certain(&self) -> &[Finding] {
        &self.findings
    }

    fn verdict(&self) -> Verdict {
        if self.actions > 0 && !self.comparable && self.rules.config.key == FeedbackKey::Call {
            return super::incomparable();
        }
        let findings = self.findings.clone();
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            measures: [
                Measure::count("actions", self.actions),
                Measure::count("blind_repeats", findings.len() as u64),
            ]
            .into(),
            findings,
            ..Judgement::default()
        })
    }

    fn memory(&self) -> usize {
        self.refusals.memory()
            + self.attempts.memory()
            + self.reported.len() * 2 * size_of::<Digest>()
            + self.findings.capacity() * FINDING_BYTES
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.actions = 0;
        self.comparable = false;
        self.refusals.clear();
        self.attempts.clear();
        self.reported.clear();
        self.findings.clear();
        true
    }
}

/// As much of the observation as evidence quotes.
fn quote(action: &Action<'_>) -> Option<String> {
    action.observation.present().map(|text| text.head(QUOTED).into_owned())
}

fn finding(step: u64, first_attempt: u64, observation: Option<String>, message: String) -> Finding {
    let evidence = Evidence::FeedbackBlindness(FeedbackBlindnessEvidence { first_attempt, observation });
    Finding::new(FeedbackBlindness::ID, FeedbackBlindness::MODE, (step, step), message, evidence)
}
