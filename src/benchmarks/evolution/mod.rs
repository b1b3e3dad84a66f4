//! Evolution: does an agent that learned from a failure avoid it when resuming from a state before the failure?

mod code;
mod groups;
mod paper;
mod proximity;

pub use groups::{Cell, EvolutionGroup, EvolutionIntervals, EvolutionSetting, FrameworkGroup};
pub use proximity::{PlacedFailure, Proximity, ProximityPair, Unrelated, proximity};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::read::{Record, StepRange, null_as_default, ordered};
use crate::names::named;

/// A test case of evolution: an episode with a failure, and an agent's new steps from a state before the failure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EvolutionCase {
    /// Id of the case.
    pub id: String,
    /// The framework under test.
    pub framework: Option<String>,
    /// The model under test.
    pub model: Option<String>,
    /// The environment.
    pub task: String,
    /// The game or setting within it.
    pub subtask: Option<String>,
    /// Proximity of the signal to the failure: 1, 2 or 3.
    pub proximity: Option<u8>,
    /// Number of snapshots between the signal and the test.
    pub distance: Option<u64>,
    /// The snapshot that the agent can learn from.
    pub signal: Option<String>,
    /// The failure under test.
    pub target: TargetFailure,
    /// The last step before the failure, where play resumes.
    pub truncation: i64,
    /// The original episode.
    pub original: Vec<EvolutionStep>,
    /// The steps of the new run.
    pub post: Vec<EvolutionStep>,
    /// The timing of `obs` in the original.
    #[serde(default, deserialize_with = "null_as_default")]
    pub original_obs: Timing,
    /// The timing of `obs` in the new run.
    #[serde(default, deserialize_with = "null_as_default")]
    pub post_obs: Timing,
    /// The observation after the last action of the original.
    pub original_final_obs: Option<String>,
    /// The observation after the last action of the new run.
    pub post_final_obs: Option<String>,
    /// Score of the new run.
    pub score: Option<f64>,
    /// The maximum score of the new run.
    pub score_max: Option<f64>,
    /// Score of the original episode.
    pub original_score: Option<f64>,
    /// The maximum score of the original.
    pub max_score: Option<f64>,
    /// Progress at the end of the new run, as a share of the maximum score.
    pub final_progress: Option<f64>,
}

/// The failure under test, with its steps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TargetFailure {
    /// The failure mode, `class/name`.
    #[serde(rename = "type")]
    pub mode: String,
    /// Its steps in the original.
    #[serde(rename = "where", deserialize_with = "ordered")]
    pub range: StepRange,
}

impl TargetFailure {
    /// Returns the part of the mode before the slash, or the whole mode if it has no slash.
    #[must_use]
    pub fn class(&self) -> &str {
        self.mode.split_once('/').map_or(self.mode.as_str(), |(class, _)| class)
    }
}

/// A step of an episode in a test case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EvolutionStep {
    /// The step number.
    pub step: i64,
    /// The observation.
    pub obs: Option<String>,
    /// The action.
    pub action: Option<String>,
    /// The subtask of the step.
    pub subtask_idx: Option<i64>,
}

named! {
    /// Whether the `obs` of a step precedes the step's action or results from it.
    #[derive(Default)]
    pub enum Timing: "timing" {
        /// It precedes the action.
        #[default]
        Before = "before",
        /// It results from the action.
        After = "after",
    }
}

named! {
    /// The rule by which a failure counts as avoided.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum EvolutionScorer: "scorer" {
        /// The paper's definition.
        #[default]
        Paper = "paper",
        /// The scorer that the published analyses used.
        Code = "code",
        /// An older scorer of the same code.
        Cosine = "cosine",
    }
}

named! {
    /// The reason why avoidance is undefined for a test case.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Exclusion: "exclusion" {
        /// The place of the failure was not visited again.
        LocationNotVisited = "location_not_visited",
        /// There are no new steps.
        NoPostSteps = "no_post_steps",
        /// The results of the failing steps are unknown.
        NoProducedObservation = "no_produced_observation",
        /// The original made no progress.
        OriginalProgressZero = "original_progress_zero",
        /// No product chosen in the failing steps can be compared with one chosen in the new run.
        ProductUnknown = "product_unknown",
        /// The range contains no step of the original. For the scorers of the public code: it starts
        /// outside the original.
        RangeOutsideEpisode = "range_outside_episode",
        /// No observation from around the failure was seen again.
        RegionNotVisited = "region_not_visited",
        /// The class of the mode is not system, strategy or operation.
        UnknownClass = "unknown_class",
    }
}

/// The result of one test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CaseAnswer {
    /// Id of the case.
    pub id: String,
    /// Whether the failure was avoided; `None` if undefined.
    pub avoided: Option<bool>,
    /// The number of recurrences, which only the paper's rule counts.
    pub repeats: Option<u64>,
    /// The reason, if avoidance is undefined.
    pub excluded: Option<Exclusion>,
}

/// Failure avoidance in each test case and by group; see [`evolve`].
///
/// Cases without a value for a grouping, such as a framework, are missing from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evolution {
    /// The rule.
    #[serde(rename = "mode")]
    pub scorer: EvolutionScorer,
    /// The answer for each case, in order.
    pub cases: Vec<CaseAnswer>,
    /// Over all cases.
    pub all: EvolutionGroup,
    /// By framework, with the cells of proximity and distance.
    pub by_framework: BTreeMap<String, FrameworkGroup>,
    /// By class of the failure.
    pub by_class: BTreeMap<String, EvolutionGroup>,
    /// By failure mode.
    pub by_mode: BTreeMap<String, EvolutionGroup>,
    /// By task.
    pub by_task: BTreeMap<String, EvolutionGroup>,
    /// By subtask.
    pub by_subtask: BTreeMap<String, EvolutionGroup>,
    /// By proximity of the signal.
    pub by_proximity: BTreeMap<u8, EvolutionGroup>,
    /// By distance of the signal.
    pub by_distance: BTreeMap<u64, EvolutionGroup>,
}

impl Record for EvolutionCase {
    fn key(&self) -> String {
        format!("case `{}`", self.id)
    }

    fn check(&self) -> Result<(), String> {
        match self.proximity {
            Some(proximity) if !(1..=3).contains(&proximity) => {
                Err(format!("proximity must be 1, 2 or 3, got {proximity}"))
            }
            _ => Ok(()),
        }
    }
}

impl EvolutionCase {
    /// Decides by this rule whether the failure was avoided.
    #[must_use]
    pub fn answer(&self, scorer: EvolutionScorer) -> CaseAnswer {
        let (avoided, repeats) = match scorer {
            EvolutionScorer::Paper => {
                let repeats = paper::repeats(self);
                (repeats.map(|repeats| repeats == 0), repeats.ok())
            }
            EvolutionScorer::Code => (code::avoided(self), None),
            EvolutionScorer::Cosine => (code::avoided_by_cosine(self), None),
        };
        CaseAnswer { id: self.id.clone(), avoided: avoided.ok(), repeats, excluded: avoided.err() }
    }

    /// Returns the new run's share of the maximum score; `None` if a score is missing or the maximum is 0.
    fn relative_score(&self) -> Option<f64> {
        let max = self.score_max.filter(|max| *max != 0.0)?;
        Some(self.score? / max)
    }
}

/// Computes failure avoidance (FAR), repeats (FRC) and score of test cases, overall and by group.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{EvolutionCase, EvolutionScorer, evolve};
///
/// let eats_the_lamp = json!([
///     {"step": 1, "obs": "Kitchen", "action": "eat lamp"},
///     {"step": 2, "obs": "You can't eat that.", "action": "look"},
/// ]);
/// let case: EvolutionCase = serde_json::from_value(json!({
///     "id": "c", "task": "jericho", "truncation": 0,
///     "target": {"type": "operation/decision_error", "where": [1, 1]},
///     "original": eats_the_lamp, "post": eats_the_lamp,
/// }))?;
/// let evolution = evolve(&[case], EvolutionScorer::Paper);
/// assert_eq!((evolution.all.far, evolution.all.frc), (Some(0.0), Some(1.0)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn evolve(cases: &[EvolutionCase], scorer: EvolutionScorer) -> Evolution {
    let answers: Vec<CaseAnswer> = cases.iter().map(|case| case.answer(scorer)).collect();
    let rows: Vec<groups::Row<'_>> = cases.iter().zip(&answers).collect();
    Evolution {
        scorer,
        all: EvolutionGroup::of(&rows),
        by_framework: groups::by_framework(&rows),
        by_class: groups::by(&rows, |case| Some(case.target.class().to_owned())),
        by_mode: groups::by(&rows, |case| Some(case.target.mode.clone())),
        by_task: groups::by(&rows, |case| Some(case.task.clone())),
        by_subtask: groups::by(&rows, |case| case.subtask.clone()),
        by_proximity: groups::by(&rows, |case| case.proximity),
        by_distance: groups::by(&rows, |case| case.distance),
        cases: answers,
    }
}
