//! `feedback_blindness`: the agent repeats what was refused.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use super::Evidence;
use super::detector::Fold;
use super::explanation::Explanation;
use super::feedback_explain;
use super::finding::{FINDING_BYTES, FailureClass, Finding, Judgement, Measure, Verdict};
use super::passed_over::{Passed, PassedOver};
use super::polling::PollingCall;
use super::rule::{Grid, Rule};
use super::seen::{Gains, Seen, observation};
use super::transient::TransientRules;
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{
    Action, Actors, Digest, DigestMap, DigestTable, Digests, Routing, Status, Step, Trace, empty, map_bytes,
};

/// How much of an observation the evidence quotes, in characters.
const QUOTED: usize = 200;

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
    patterns: Vec<Finder<'static>>,
    pub(super) passed_over: PassedOver,
}

impl Rules {
    pub(super) fn is_negative(&self, action: &Action<'_>) -> bool {
        action.status == Status::Error
            || (!self.patterns.is_empty()
                && action.observation.present().is_some_and(|observation| {
                    let text = observation.to_str().to_lowercase();
                    self.patterns.iter().any(|pattern| pattern.find(text.as_bytes()).is_some())
                }))
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
        Self::made_ready(FeedbackBlindnessConfig::default())
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
        Ok(Self::made_ready(config))
    }

    fn made_ready(config: FeedbackBlindnessConfig) -> Self {
        let finder = |pattern: &String| Finder::new(pattern.to_lowercase().as_bytes()).into_owned();
        Self(Arc::new(Rules {
            patterns: config.patterns.iter().map(finder).collect(),
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

    fn fold(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State {
            rules: Arc::clone(&self.0),
            actions: 0,
            comparable: false,
            gains: Gains::default(),
            seen: Seen::default(),
            novel_successes: 0,
            refused: DigestTable::default(),
            earlier: BTreeMap::new(),
            remembered: DigestMap::default(),
            reported: BTreeSet::new(),
            findings: Vec::new(),
        })
    }

    fn needs_argument_texts(&self) -> bool {
        self.0.passed_over.needs_texts()
    }

    fn account(&self, trace: &Trace, explanation: &mut Explanation) {
        feedback_explain::explain(self, trace, explanation);
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
    /// What it was told then (first 200 characters).
    pub observation: Option<String>,
}

#[derive(Debug)]
struct State {
    rules: Arc<Rules>,
    /// Actions observed so far.
    actions: u64,
    /// Whether an action has its arguments recorded.
    comparable: bool,
    gains: Gains,
    seen: Seen<()>,
    /// Novel actions that succeeded, so far.
    novel_successes: u64,
    /// By key and feedback, the latest refusal (`same_feedback`).
    refused: DigestTable<Refusal>,
    /// Of the few of them that have one, the latest of a turn before, by their numbers.
    earlier: BTreeMap<u32, Refusal>,
    /// By key, for the published rule: the first refusal alone, or all within the window.
    remembered: DigestMap<VecDeque<Attempt>>,
    /// The keys that have been reported.
    reported: BTreeSet<Digest>,
    findings: Vec<Finding>,
}

/// A refusal of a key with one feedback.
///
/// Counts in four bytes: more actions of one trace than that do not fit in memory.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    step: u64,
    turn: u64,
    action: u32,
    novel_successes: u32,
}

const _: () = assert!(size_of::<Refusal>() <= 24);

/// A refusal as the published rule remembers it.
#[derive(Debug)]
struct Attempt {
    action: u64,
    step: u64,
    observation: Option<String>,
}

impl State {
    /// Whether a blind repeat of this key is still to be reported.
    fn is_due(&self, key: Digest) -> bool {
        self.rules.config.report == Report::Every || !self.reported.contains(&key)
    }

    fn report(&mut self, key: Digest, finding: Finding) {
        self.reported.insert(key);
        self.findings.push(finding);
    }

    /// The default: a repeat that fails as it did before.
    fn same_feedback(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests) {
        if self.gains.observe(step) {
            self.seen.clear();
        }
        let novel = self.seen.observe(step, digests, ()).is_none();
        if !self.rules.is_negative(action) {
            self.novel_successes += u64::from(novel && action.status == Status::Ok);
            return;
        }
        let (Some(key), Some(feedback)) = (self.rules.key(digests), observation(digests)) else { return };
        let now = Refusal {
            step: step.index(),
            turn: step.turn(),
            action: to_u32(self.actions),
            novel_successes: to_u32(self.novel_successes),
        };
        let (number, fresh) = self.refused.find_or_add(key.and(feedback), || now);
        let Some(latest) = self.refused.at_mut(number).filter(|_| !fresh) else { return };
        let number = to_u32(number as u64);
        if latest.turn != now.turn {
            self.earlier.insert(number, *latest);
        }
        *latest = now;
        let FeedbackBlindnessConfig { window, max_gap, .. } = self.rules.config;
        let near = |before: &Refusal| {
            window.is_none_or(|window| u64::from(now.action - before.action) <= window)
                && u64::from(now.novel_successes - before.novel_successes) <= max_gap
        };
        if let Some(before) = self.earlier.get(&number).copied().filter(near)
            && self.is_due(key)
        {
            let name = super::quoted(action.name);
            let message = format!(
                "`{name}` fails with the same arguments and the same feedback as at step {}",
                before.step
            );
            self.report(key, finding(step.index(), before.step, quote(action), message));
        }
    }

    /// The published rule: a repeat of what was refused, whatever comes of it.
    fn any_feedback(&mut self, step: &Step<'_>, action: &Action<'_>, digests: &Digests, transient: bool) {
        let Some(key) = self.rules.key(digests) else { return };
        let (window, now) = (self.rules.config.window, self.actions);
        let mut first = None;
        if let Some(attempts) = self.remembered.get_mut(&key) {
            if let Some(window) = window {
                while attempts.front().is_some_and(|first| now - first.action > window) {
                    attempts.pop_front();
                }
            }
            first = attempts.front().map(|first| (first.step, first.observation.clone()));
        }
        if let Some((first, observation)) = first
            && !transient
            && !(self.rules.config.success_recovers && action.status == Status::Ok)
            && self.is_due(key)
        {
            let message =
                format!("`{}` repeats what was refused at step {first}", super::quoted(action.name));
            self.report(key, finding(step.index(), first, observation, message));
        }
        if !transient && self.rules.is_negative(action) {
            let attempts = self.remembered.entry(key).or_default();
            if window.is_some() || attempts.is_empty() {
                attempts.push_back(Attempt { action: now, step: step.index(), observation: quote(action) });
            }
        }
    }
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.rules.config.actors) else { return };
        self.actions += 1;
        self.comparable |= digests.arguments.is_some();
        let passed = self.rules.passed_over.reason(step, action, &digests);
        match (passed, self.rules.config.same_feedback) {
            (None, true) => self.same_feedback(step, action, &digests),
            (None | Some(Passed::Transient), false) => {
                self.any_feedback(step, action, &digests, passed.is_some());
            }
            (Some(_), _) => {}
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
            measures: vec![
                Measure::count("actions", self.actions),
                Measure::count("blind_repeats", findings.len() as u64),
            ],
            findings,
            ..Judgement::default()
        })
    }

    fn memory(&self) -> usize {
        let attempts = self.remembered.len() * 4 * (size_of::<Attempt>() + QUOTED);
        self.seen.memory()
            + self.refused.memory()
            + self.earlier.len() * 2 * size_of::<(u32, Refusal)>()
            + map_bytes(&self.remembered)
            + attempts
            + self.reported.len() * 2 * size_of::<Digest>()
            + self.findings.capacity() * FINDING_BYTES
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.actions = 0;
        self.comparable = false;
        self.gains.clear();
        self.seen.clear();
        self.novel_successes = 0;
        self.refused.clear();
        self.earlier.clear();
        empty(&mut self.remembered);
        self.reported.clear();
        self.findings.clear();
        true
    }
}

fn to_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// As much of the observation as evidence quotes.
fn quote(action: &Action<'_>) -> Option<String> {
    action.observation.present().map(|text| text.head(QUOTED).into_owned())
}

fn finding(step: u64, first_attempt: u64, observation: Option<String>, message: String) -> Finding {
    let evidence = Evidence::FeedbackBlindness(FeedbackBlindnessEvidence { first_attempt, observation });
    Finding::new(FeedbackBlindness::ID, FeedbackBlindness::MODE, (step, step), message, evidence)
}
