//! `feedback_blindness`: the agent repeats what was refused.

use std::collections::VecDeque;
use std::sync::Arc;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use super::config::Configured;
use super::detector::{Detector, Fold};
use super::finding::{Evidence, FailureClass, FailureMode, Finding, Judgement, Measure, Verdict};
use super::transient::{Matcher, TransientRules};
use crate::error::{Error, Result};
use crate::trace::{Action, Actors, DigestMap, Digests, Routing, Status, Step, empty};

/// How much of an observation the evidence quotes, in characters.
const QUOTED: usize = 200;

/// Which repeats are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// The first blind repeat of each key.
    First,
    /// Every one.
    Every,
}

/// What makes two actions the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeedbackKey {
    /// Name and canonical arguments.
    Call,
    /// The action's text alone.
    Name,
}

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
    /// Failures that are no negative feedback; `null` is none.
    pub transient: Option<TransientRules>,
    /// Whether a repeat that succeeds is a recovery.
    pub success_recovers: bool,
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
            transient: Some(TransientRules::default()),
            success_recovers: true,
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
            transient: None,
            success_recovers: false,
            report: Report::Every,
            key: FeedbackKey::Name,
            ..Self::default()
        }
    }
}

#[doc = include_str!("docs/feedback_blindness.md")]
#[derive(Debug, Clone)]
pub struct FeedbackBlindness(Arc<Rules>);

/// The configuration, made ready.
#[derive(Debug)]
struct Rules {
    config: FeedbackBlindnessConfig,
    patterns: Vec<Finder<'static>>,
    transient: Option<Matcher>,
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
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where the window is 0 or a phrase is empty.
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
        if let Some(rules) = &config.transient {
            rules.validate("transient")?;
        }
        Ok(Self::made_ready(config))
    }

    fn made_ready(config: FeedbackBlindnessConfig) -> Self {
        let finder = |pattern: &String| Finder::new(pattern.to_lowercase().as_bytes()).into_owned();
        Self(Arc::new(Rules {
            patterns: config.patterns.iter().map(finder).collect(),
            transient: config.transient.as_ref().map(Matcher::new),
            config,
        }))
    }
}

impl Configured for FeedbackBlindness {
    type Config = FeedbackBlindnessConfig;
    const ID: &'static str = "feedback_blindness";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent repeats what was refused";
    const DOCS: &'static str = include_str!("docs/feedback_blindness.md");

    fn bench_trace() -> Self::Config {
        Self::Config::bench_trace()
    }

    fn with_actors(config: Self::Config, actors: Actors) -> Self::Config {
        Self::Config { actors, ..config }
    }

    fn build(config: Self::Config) -> Result<Self> {
        Self::new(config)
    }
}

/// Evidence of `feedback_blindness`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeedbackBlindnessEvidence {
    /// The earliest remembered step at which the same action was refused.
    pub first_attempt: u64,
    /// What it was told then (first 200 characters).
    pub observation: Option<String>,
}

impl Detector for FeedbackBlindness {
    fn id(&self) -> &'static str {
        Self::ID
    }

    fn mode(&self) -> FailureMode {
        Self::MODE
    }

    fn reads_argument_texts(&self) -> bool {
        false
    }

    fn start(&self, _routing: &Routing) -> Box<dyn Fold> {
        Box::new(State {
            rules: Arc::clone(&self.0),
            actions: 0,
            refused: DigestMap::default(),
            findings: Vec::new(),
        })
    }
}

#[derive(Debug)]
struct State {
    rules: Arc<Rules>,
    /// Actions observed so far.
    actions: u64,
    refused: DigestMap<Refused>,
    findings: Vec<Finding>,
}

/// The remembered refusals of one key: the first alone, or all within the window.
#[derive(Debug, Default)]
struct Refused {
    attempts: VecDeque<Attempt>,
    reported: bool,
}

#[derive(Debug, Clone)]
struct Attempt {
    action: u64,
    step: u64,
    observation: Option<String>,
}

impl State {
    fn is_negative(&self, action: &Action<'_>, transient: bool) -> bool {
        if transient {
            return false;
        }
        action.status == Status::Error
            || (!self.rules.patterns.is_empty()
                && action.observation.present().is_some_and(|observation| {
                    let text = observation.to_str().to_lowercase();
                    self.rules.patterns.iter().any(|pattern| pattern.find(text.as_bytes()).is_some())
                }))
    }

    /// `None`: the action is like no other.
    fn key(&self, digests: &Digests) -> Option<crate::trace::Digest> {
        match self.rules.config.key {
            FeedbackKey::Call => digests.arguments.map(|arguments| digests.name.and(arguments)),
            FeedbackKey::Name => Some(digests.name),
        }
    }
}

impl Fold for State {
    fn observe(&mut self, step: &Step<'_>) {
        let Some((action, digests)) = step.digested(self.rules.config.actors) else { return };
        let position = self.actions;
        self.actions += 1;
        let transient = self.rules.transient.as_ref().is_some_and(|rules| rules.matches(action));
        let Some(key) = self.key(&digests) else { return };
        let window = self.rules.config.window;
        if let Some(refused) = self.refused.get_mut(&key) {
            if let Some(window) = window {
                while refused.attempts.front().is_some_and(|first| position - first.action > window) {
                    refused.attempts.pop_front();
                }
            }
            let excused = transient || (self.rules.config.success_recovers && action.status == Status::Ok);
            let due = self.rules.config.report == Report::Every || !refused.reported;
            if let Some(first) = refused.attempts.front().filter(|_| due && !excused) {
                self.findings.push(finding(step.index(), action.name, first));
                refused.reported = true;
            }
        }
        if self.is_negative(action, transient) {
            let refused = self.refused.entry(key).or_default();
            if window.is_some() || refused.attempts.is_empty() {
                let observation = action.observation.present().map(|text| text.head(QUOTED).into_owned());
                refused.attempts.push_back(Attempt { action: position, step: step.index(), observation });
            }
        }
    }

    /// Every finding, at once and in its final form.
    fn certain(&self) -> &[Finding] {
        &self.findings
    }

    fn finish(&mut self) -> Verdict {
        let findings = std::mem::take(&mut self.findings);
        Verdict::Judged(Judgement {
            detected: !findings.is_empty(),
            score: None,
            measures: vec![
                Measure::count("actions", self.actions),
                Measure::count("blind_repeats", findings.len() as u64),
            ],
            findings,
        })
    }

    fn restart(&mut self, _routing: &Routing) -> bool {
        self.actions = 0;
        empty(&mut self.refused);
        self.findings.clear();
        true
    }
}

fn finding(step: u64, name: &str, first: &Attempt) -> Finding {
    Finding {
        detector: FeedbackBlindness::ID,
        mode: FeedbackBlindness::MODE,
        first: step,
        last: step,
        message: format!("`{}` repeats what was refused at step {}", super::quoted(name), first.step),
        evidence: Evidence::FeedbackBlindness(FeedbackBlindnessEvidence {
            first_attempt: first.step,
            observation: first.observation.clone(),
        }),
    }
}
