//! Metrics of BenchTrace and Recovery-Bench.
//!
//! | question | answer | input |
//! |---|---|---|
//! | which rule-based failures does a text game's episode hold? | [`detect_modes`] | [`ModeEpisode`] |
//! | which calls never reached a tool, and why was an expected action missed? | [`check_calls`] | [`CallRun`] |
//! | how well does a model find and explain the failures of an episode? | [`reflect`] | [`GoldEpisode`], [`Prediction`] |
//! | does an agent avoid the failure when it plays on from before it? | [`evolve`] | [`EvolutionCase`] |
//! | how close is a signal's failure to the one under test? | [`proximity`] | [`ProximityPair`] |
//! | do two annotators agree? | [`agree`] | [`AnnotatedEpisode`] |
//! | does good reflection come with avoided failures? | [`relate`] | [`ReflectionRecord`] |
//! | which trials failed, and are worth recovering? | [`read_results`], [`select`] | result files, [`Candidate`] |
//! | what has to be typed again to stand where the failed trial stood? | [`replay_commands`] | trajectories |
//! | what does recovery cost against a fresh start? | [`compare`] | [`ComparedTrial`] |
//! | does the recovery run fall into the same error again? | [`inherit`] | [`InheritancePair`] |
//!
//! Inputs are one JSON object per line, read by [`read_lines`]; results serialize to JSON. Where the papers and
//! their public code differ, both readings are offered, the paper's by default. What is undefined is `None` (null),
//! never 0 and never NaN. Bootstraps are seeded; sums run in the order of the data. The guide on
//! [benchmarks](crate::guide::benchmarks) has the commands.
//!
//! ```
//! use serde_json::json;
//! use wrongturn::benchmarks::{GoldEpisode, Prediction, ReflectOptions, Stage, reflect};
//!
//! let gold: Vec<GoldEpisode> = serde_json::from_value(json!([
//!     {"id": "e", "task": "jericho", "failures": [{"type": "strategy/loop", "where": [0, 9]}]},
//! ]))?;
//! let predicted: Vec<Prediction> = serde_json::from_value(json!([
//!     {"episode": "e", "detection": "yes", "ranges": [[0, 5]], "diagnoses": [
//!         {"failure": 0, "mode": "strategy/loop", "description": "the lamp again", "judge": 1}]},
//! ]))?;
//! let reflection = reflect(&gold, &predicted, &ReflectOptions::default());
//! assert_eq!(reflection.all.recall, Some(0.6));
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
