//! Metrics of BenchTrace and Recovery-Bench.
//!
//! | question | answer | input |
//! |---|---|---|
//! | which rule-based failures does an episode of a text game contain? | [`detect_modes`] | [`ModeEpisode`] |
//! | which calls never reached a tool, and how were expected actions missed? | [`check_calls`] | [`CallRun`] |
//! | how well does a model find and explain the failures of an episode? | [`reflect`] | [`GoldEpisode`], [`Prediction`] |
//! | does an agent avoid a failure when it resumes from a state before the failure? | [`evolve`] | [`EvolutionCase`] |
//! | how close are the failure to learn from and the failure under test? | [`proximity`] | [`ProximityPair`] |
//! | do two annotators agree? | [`agree`] | [`AnnotatedEpisode`] |
//! | does correct reflection correlate with avoided failures? | [`relate`] | [`ReflectionRecord`] |
//! | which failed trials are worth recovering? | [`read_results`], [`select`] | result files, [`Candidate`] |
//! | which commands rebuild the state of a failed trial? | [`replay_commands`] | trajectories |
//! | how does recovery compare with a fresh start? | [`compare`] | [`ComparedTrial`] |
//! | does a recovery run repeat the last error of the failed run? | [`inherit`] | [`InheritancePair`] |
//!
//! [`read_lines`] reads inputs with one JSON object per line; result files and trajectories are whole JSON
//! files. Results serialize to JSON. Where a paper and its public code differ, an option selects the
//! definition; the default is the paper's. Unless documented otherwise, an undefined figure is `None` (null
//! in JSON), never 0 or NaN. Bootstraps are seeded: the same seed gives the same intervals. The guide on
//! [benchmarks](crate::guide::benchmarks) has the commands.
//!
//! ```
//! use serde_json::json;
//! use wrongturn::benchmarks::{Figure, GoldEpisode, Prediction, ReflectOptions, Stage, reflect};
//!
//! let gold: Vec<GoldEpisode> = serde_json::from_value(json!([
//!     {"id": "e", "task": "jericho", "failures": [{"type": "strategy/loop", "where": [0, 9]}]},
//! ]))?;
//! let predicted: Vec<Prediction> = serde_json::from_value(json!([
//!     {"episode": "e", "detection": "yes", "ranges": [[0, 5]], "diagnoses": [
//!         {"failure": 0, "mode": "strategy/loop", "description": "the lamp again", "judge": 1}]},
//! ]))?;
//! let reflection = reflect(&gold, &predicted, &ReflectOptions::default());
//! assert_eq!(reflection.all.figure(Figure::Recall), Some(0.6));
//! assert_eq!(reflection.episodes[0].funnel["figure2"], Stage::Pass);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod agreement;
mod correlation;
mod evolution;
mod modes;
mod read;
mod recovery;
mod reflection;
mod text;

pub use agreement::{
    Agreement, AgreementScore, AnnotatedEpisode, AnnotatedFailure, EpisodeAgreement, FailureTier, Matching,
    agree,
};
pub use correlation::{
    GroupComparison, ReflectionRecord, Relation, RelationLevels, reflection_records, relate,
};
pub use evolution::*;
pub use modes::*;
pub use read::{Line, Lines, Record, StepRange, read_lines};
pub use recovery::*;
pub use reflection::*;
pub use text::token_f1;

use crate::names::named;

named! {
    /// Whether to follow the paper or its public code.
    #[derive(Default)]
    pub enum Definition: "definition" {
        /// The paper.
        #[default]
        Paper = "paper",
        /// The public code.
        Code = "code",
    }
}
