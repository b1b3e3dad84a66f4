//! `loop`: the agent repeats itself without making progress.

mod same_answer;
mod same_question;
mod span;
mod stuck;

use serde::{Deserialize, Serialize};

use super::published::LoopRepeat;
use super::rule::{at_least, rule};
use super::shared::{PollingCall, SkipRules, TransientRules};
use super::{FailureClass, Fold, Grid, Rule};
use crate::error::Result;
use crate::names::named;
use crate::trace::{Actors, RouteStatus};
use stuck::Stuck;

named! {
    /// The definition of a loop.
    #[non_exhaustive]
    pub enum LoopDefinition: "definition" {
        /// The agent is stuck: equal calls with equal answers, equal failures, looks that show nothing new,
        /// turns without a call, or equal questions.
        Stuck = "stuck",
        /// Any action that repeats without progress, regardless of the answer, as published by `BenchTrace`.
        Repeat = "repeat",
    }
}

/// Configuration of [`Loop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// The definition of a loop. Of the limits below, `repeat` uses only `min_repeats`.
    pub definition: LoopDefinition,
    /// How many equal calls with equal answers, and no change in between, make a loop; at least 2. One fewer suffices
    /// if they are consecutive, or if they write and are not command lines. This many turns without a call, or equal
    /// questions, also make a loop.
    pub min_repeats: u64,
    /// Maximum number of other calls with new answers between two of the equal calls.
    pub max_gap: u64,
    /// How many equal failures make a loop; at least 2. One fewer suffices if they are consecutive, two fewer
    /// if two of these are also the same call, and three fewer if each exactly repeats an earlier failed call of the
    /// same program.
    pub min_failures: u64,
    /// How many consecutive looks that show nothing new make a loop; at least 2.
    pub min_looks: u64,
    /// Calls that are meant to be made again and again.
    pub exempt: Vec<PollingCall>,
    /// The number of equal answers in a row at which even an exempt call makes a loop; at least 2.
    pub max_polls: u64,
    /// Failures that may be retried a few times; `null` for none.
    pub transient: Option<TransientRules>,
}

impl Default for LoopConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            definition: LoopDefinition::Stuck,
            min_repeats: 4,
            max_gap: 3,
            min_failures: 5,
            min_looks: 4,
            exempt: PollingCall::known(),
            max_polls: 50,
            transient: Some(TransientRules::default()),
        }
    }
}

impl LoopConfig {
    /// Creates the published rule of the `BenchTrace` benchmark: an action that occurs twice without
    /// progress in between is a loop.
    #[must_use]
    pub fn bench_trace() -> Self {
        let (exempt, transient) = (Vec::new(), None);
        Self { definition: LoopDefinition::Repeat, min_repeats: 2, exempt, transient, ..Self::default() }
    }

    fn check(&self) -> Result<()> {
        at_least("min_repeats", self.min_repeats, 2)?;
        at_least("min_failures", self.min_failures, 2)?;
        at_least("min_looks", self.min_looks, 2)?;
        at_least("max_polls", self.max_polls, 2)?;
        SkipRules::check(&self.exempt, self.transient.as_ref())
    }
}

rule! {
    #[doc = include_str!("../docs/loop.md")]
    Loop(LoopConfig), ready: SkipRules = |config| SkipRules::new(&config.exempt, config.transient.as_ref())
}

impl Rule for Loop {
    const ID: &'static str = "loop";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "the agent repeats an action without making progress";
    const DOCS: &'static str = include_str!("../docs/loop.md");

    fn bench_trace() -> LoopConfig {
        LoopConfig::bench_trace()
    }

    fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        match self.config.definition {
            LoopDefinition::Repeat => Box::new(LoopRepeat::new(&self.config)),
            LoopDefinition::Stuck => Box::new(Stuck::new(self)),
        }
    }

    fn reads_argument_texts(&self) -> bool {
        self.config.definition == LoopDefinition::Stuck
    }

    fn grid() -> Option<Grid> {
        Some(Grid { parameter: "min_repeats", values: (2..=8).map(Into::into).collect() })
    }
}

named! {
    /// The kind of repetition in a loop.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum LoopKind: "kind of loop" {
        /// One call, with the same answer each time.
        RepeatedCall = "repeated_call",
        /// The same failure of equal or different calls, or failed calls of one program that repeat earlier ones.
        RepeatedFailure = "repeated_failure",
        /// Looks that show nothing new.
        IdleLooks = "idle_looks",
        /// Turns without a call, each answered by the same message.
        NoCall = "no_call",
        /// The same question of the agent in answer to different messages, without a call in between.
        SameQuestion = "same_question",
        /// Any repeated action, regardless of the answer ([`LoopDefinition::Repeat`]).
        Repeat = "repeat",
    }
}

/// Evidence of `loop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopEvidence {
    /// The kind of repetition; for overlapping loops, that of the most certain one or, among equals, of the one with
    /// the most repeats, where looks count half.
    pub kind: LoopKind,
    /// Number of occurrences.
    pub repeat_count: u64,
    /// Number of different actions that occur at least twice in the range (`repeat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeating_keys: Option<u64>,
    /// The tool, or the program of a command line; empty for questions and turns without a call.
    pub action: String,
    /// The location, if recorded.
    pub location: Option<String>,
    /// The length of the cycle in actions, if the range is one cycle repeated (`repeat`).
    pub period: Option<u64>,
}
