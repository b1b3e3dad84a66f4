//! `feedback_blindness`: the agent repeats what was just refused.

mod failed_call;
mod refused_programs;
mod same_cause;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::published::RefusedBefore;
use super::rule::{at_least, rule};
use super::shared::{Phrases, PollingCall, SkipRules, TransientRules};
use super::{FailureClass, Finding, Fold, Grid, Rule};
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Action, Actors, RouteStatus};
use same_cause::Blindness;

/// Maximum number of characters of an observation that the evidence quotes.
const QUOTED: usize = 200;

named! {
    /// Which repeats are blind.
    #[non_exhaustive]
    pub enum BlindnessDefinition: "definition" {
        /// A repeat that fails for a cause that the agent has seen before, with nothing relevant changed since.
        SameCause = "same_cause",
        /// Any repeat of an action whose text failed or got a negative answer, as published by `BenchTrace`.
        Phrases = "phrases",
    }
}

/// Configuration of [`FeedbackBlindness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeedbackBlindnessConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// Which repeats are blind.
    pub definition: BlindnessDefinition,
    /// After this many turns that failed for the same cause, every further one is blind. Turns without a call that are
    /// refused in the same way are blind from this number on. At least 2 (`same_cause`).
    pub max_failures: u64,
    /// Calls that are meant to be made again and again (`same_cause`).
    pub exempt: Vec<PollingCall>,
    /// Failures that may be retried (`same_cause`); `null` for none.
    pub transient: Option<TransientRules>,
    /// Number of preceding actions whose refusals count (`phrases`); `null` for all.
    pub window: Option<u64>,
    /// Phrases that make an observation negative; case is ignored (`phrases`).
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
    /// Creates the published rule of the `BenchTrace` benchmark, with its phrases. Every repeat counts, and actions are
    /// compared by their text alone.
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
        SkipRules::check(&self.exempt, self.transient.as_ref())
    }
}

rule! {
    #[doc = include_str!("../docs/feedback_blindness.md")]
    FeedbackBlindness(FeedbackBlindnessConfig),
    ready: (Arc<SkipRules>, Arc<Phrases>) = |config| {
        let skip_rules = SkipRules::new(&config.exempt, config.transient.as_ref());
        let phrases = Phrases::new(config.patterns.iter().map(String::as_str));
        (Arc::new(skip_rules), Arc::new(phrases))
    }
}

impl Rule for FeedbackBlindness {
    const ID: &'static str = "feedback_blindness";
    const CLASS: FailureClass = FailureClass::Operation;
    const SUMMARY: &'static str = "the agent repeats what was just refused";
    const DOCS: &'static str = include_str!("../docs/feedback_blindness.md");

    fn bench_trace() -> FeedbackBlindnessConfig {
        FeedbackBlindnessConfig::bench_trace()
    }

    fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        match self.config.definition {
            BlindnessDefinition::Phrases => Box::new(RefusedBefore::new(&self.config, &self.ready.1)),
            BlindnessDefinition::SameCause => Box::new(Blindness::new(self)),
        }
    }

    fn reads_argument_texts(&self) -> bool {
        self.config.definition == BlindnessDefinition::SameCause
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "max_failures", values: (2..=8).map(Into::into).collect() })
    }
}

/// Evidence of `feedback_blindness`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackBlindnessEvidence {
    /// The step of an earlier refusal: usually the latest, but under the published rule the earliest
    /// that is remembered.
    pub first_attempt: u64,
    /// The beginning of the answer to the repeat; under the published rule, to the earlier attempt.
    pub observation: Option<String>,
}

pub(super) fn finding(
    step: u64,
    first_attempt: u64,
    observation: Option<String>,
    message: String,
) -> Finding {
    let evidence = FeedbackBlindnessEvidence { first_attempt, observation };
    FeedbackBlindness::finding((step, step), message, evidence)
}

/// Returns the part of the observation that evidence quotes.
pub(super) fn quote(action: &Action<'_>) -> Option<String> {
    action.observation.present().map(|text| text.head(QUOTED).into_owned())
}
