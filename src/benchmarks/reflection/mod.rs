//! Reflection: detection, localization and diagnosis of the failures in an annotated episode.

mod aggregate;
mod dataset;
mod episode;
mod from_detectors;
mod funnel;

use aggregate::averages;
pub use aggregate::{Averages, Figure, FigureIntervals, FunnelCounts, ReflectionGroup};
pub use dataset::{DatasetGroup, dataset};
pub use episode::{DetectionScore, DiagnosisScore, EpisodeScore, LocalizationScore};
pub use from_detectors::{gold_of_trace, predict};
pub use funnel::{DiagnosisGate, FunnelRule, LocalizationGate, Stage};

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Definition;
use super::read::{Lines, Record, StepRange, null_as_default, ordered, record};
use crate::names::named;
use crate::stats::{float, grouped};

/// The maximum number of predicted ranges that count; further ones are ignored.
const MAX_RANGES: usize = 3;

named! {
    /// Whether an episode contains a failure.
    pub enum Answer: "answer" {
        /// It does.
        Yes = "yes",
        /// It does not.
        No = "no",
    }
}

/// An annotated episode, with its core failures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoldEpisode {
    /// Id of the episode.
    pub id: String,
    /// The environment.
    pub task: String,
    /// The game or setting within it.
    pub subtask: Option<String>,
    /// Whether there is a failure; by default, `yes` if one is listed.
    pub detection: Option<Answer>,
    /// The core failures, in order.
    pub failures: Vec<GoldFailure>,
}

impl GoldEpisode {
    /// Returns whether the episode contains a failure.
    #[must_use]
    pub fn answer(&self) -> Answer {
        self.detection.unwrap_or(if self.failures.is_empty() { Answer::No } else { Answer::Yes })
    }
}

record!(GoldEpisode, "episode", id);

/// An annotated failure, with its mode and steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoldFailure {
    /// The failure mode, `class/name`.
    #[serde(rename = "type")]
    pub mode: String,
    /// Its steps.
    #[serde(rename = "where", deserialize_with = "ordered")]
    pub range: StepRange,
    /// The annotator's description of the failure.
    #[serde(default, deserialize_with = "null_as_default")]
    pub diagnosis: String,
}

/// A model's answers about the failures of one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Id of the episode.
    pub episode: String,
    /// The model.
    pub model: Option<String>,
    /// Whether the model found a failure; `None` if its answer could not be read.
    pub detection: Option<Answer>,
    /// Ranges of failures, best first; only three count.
    pub ranges: Option<Vec<StepRange>>,
    /// Diagnoses of failures whose ranges the model was given.
    #[serde(default, deserialize_with = "null_as_default")]
    pub diagnoses: Vec<PredictedDiagnosis>,
}

/// A model's diagnosis of one failure whose range it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictedDiagnosis {
    /// Position in the episode's list of failures, counted from 0.
    pub failure: usize,
    /// The failure mode.
    pub mode: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// A judge's score of the description: 0, 0.5 or 1.
    pub judge: Option<f64>,
}

impl PredictedDiagnosis {
    fn answer(&self) -> Option<(&str, &str)> {
        self.mode.as_deref().zip(self.description.as_deref())
    }
}

impl Record for Prediction {
    fn key(&self) -> String {
        format!("a prediction for episode `{}`", self.episode)
    }

    fn check(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for diagnosis in &self.diagnoses {
            if !seen.insert(diagnosis.failure) {
                return Err(format!("failure {} is diagnosed twice", diagnosis.failure));
            }
            if let Some(judge) = diagnosis.judge
                && ![0.0, 0.5, 1.0].contains(&judge)
            {
                return Err(format!("the judge's score must be 0, 0.5 or 1, got {judge}"));
            }
        }
        Ok(())
    }
}

impl Lines<Prediction> {
    /// Turns predictions into errors if they diagnose a failure that their episode lacks, or name a model
    /// different from the first one named.
    pub fn check_against(&mut self, gold: &[GoldEpisode]) {
        let failures: BTreeMap<&str, usize> =
            gold.iter().map(|episode| (episode.id.as_str(), episode.failures.len())).collect();
        let mut model: Option<String> = None;
        self.retain(|prediction| {
            if let Some(count) = failures.get(prediction.episode.as_str())
                && let Some(beyond) =
                    prediction.diagnoses.iter().find(|diagnosis| diagnosis.failure >= *count)
            {
                let (place, id) = (beyond.failure, &prediction.episode);
                return Err(format!(
                    "failure {place} (from 0) is diagnosed, but episode `{id}` has only {count}"
                ));
            }
            if let Some(named) = &prediction.model {
                let first = model.get_or_insert_with(|| named.clone());
                if first != named {
                    return Err(format!("model `{named}` in a file of model `{first}`"));
                }
            }
            Ok(())
        });
    }
}

/// Options of [`reflect`].
#[derive(Debug, Clone, PartialEq)]
pub struct ReflectOptions {
    /// The definition to score by.
    pub definition: Definition,
    /// The funnels, by name.
    pub funnels: BTreeMap<String, FunnelRule>,
}

/// The paper's definition, and the three funnels of the benchmark's code:
///
/// - `figure2`, for the published figure: a best Jaccard index of at least 0.6, every failure judged 1.
/// - `cascade`: the same with an index of at least 0.5.
/// - `table5`, for the comparison with avoided failures: a recall of at least 0.6, some failure judged 1.
impl Default for ReflectOptions {
    fn default() -> Self {
        let funnels = [
            ("figure2", LocalizationGate::BestJaccard(0.6), DiagnosisGate::Every),
            ("cascade", LocalizationGate::BestJaccard(0.5), DiagnosisGate::Every),
            ("table5", LocalizationGate::Recall(0.6), DiagnosisGate::Any),
        ];
        let funnel = |(name, localization, diagnosis): (&str, _, _)| {
            (name.to_owned(), FunnelRule { localization, diagnosis })
        };
        Self { definition: Definition::Paper, funnels: funnels.map(funnel).into() }
    }
}

/// Scores of one model's predictions by episode, by task and overall; see [`reflect`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reflection {
    /// The definition that was used.
    #[serde(rename = "mode")]
    pub definition: Definition,
    /// Every annotated episode, in order.
    pub episodes: Vec<EpisodeScore>,
    /// By task.
    pub tasks: BTreeMap<String, ReflectionGroup>,
    /// All episodes pooled.
    pub all: ReflectionGroup,
    /// Ids of predicted episodes that are not annotated.
    pub unknown_predictions: Vec<String>,
    /// Means over tasks, weighted by their number of episodes.
    pub episode_weighted: Averages,
    /// Unweighted means over tasks.
    #[serde(rename = "macro")]
    pub macro_average: Averages,
}

/// Scores one model's predictions against annotated episodes.
///
/// An episode without a prediction counts as unanswered. Of several predictions for an episode, the first
/// counts. [`read_lines`](super::read_lines) and [`Lines::check_against`] report invalid predictions. See the
/// [module documentation](super) for an example.
#[must_use]
pub fn reflect(gold: &[GoldEpisode], predictions: &[Prediction], options: &ReflectOptions) -> Reflection {
    let mut by_episode: BTreeMap<&str, &Prediction> = BTreeMap::new();
    for prediction in predictions {
        by_episode.entry(prediction.episode.as_str()).or_insert(prediction);
    }
    let episodes: Vec<EpisodeScore> = gold
        .iter()
        .map(|episode| EpisodeScore::of(episode, by_episode.get(episode.id.as_str()).copied(), options))
        .collect();
    let known: BTreeSet<&str> = gold.iter().map(|episode| episode.id.as_str()).collect();
    let unknown = predictions.iter().filter(|prediction| !known.contains(prediction.episode.as_str()));
    let unknown_predictions = unknown.map(|prediction| prediction.episode.clone()).collect();

    let tasks: BTreeMap<String, ReflectionGroup> = grouped(&episodes, |episode| Some(episode.task.as_str()))
        .iter()
        .map(|(task, episodes)| ((*task).to_owned(), ReflectionGroup::of(episodes, &options.funnels)))
        .collect();
    let pooled: Vec<&EpisodeScore> = episodes.iter().collect();
    Reflection {
        definition: options.definition,
        all: ReflectionGroup::of(&pooled, &options.funnels),
        episode_weighted: averages(&tasks, |task| float(task.episodes)),
        macro_average: averages(&tasks, |_| 1.0),
        unknown_predictions,
        tasks,
        episodes,
    }
}
