//! The score of one episode: detection, localization, diagnosis.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::Definition;
use super::super::read::StepRange;
use super::super::text::token_f1;
use super::{
    Answer, GoldEpisode, GoldFailure, MAX_RANGES, PredictedDiagnosis, Prediction, ReflectOptions, Stage,
};
use crate::stats::{jaccard, localization_recall, localization_similarity};

/// Detection, localization and diagnosis of one episode's failures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EpisodeScore {
    /// Id of the episode.
    pub id: String,
    /// The environment.
    pub task: String,
    /// The game or setting within it.
    pub subtask: Option<String>,
    /// The model, if a prediction names it.
    pub model: Option<String>,
    /// True if there is a prediction.
    pub predicted: bool,
    /// Detection of a failure.
    pub detection: DetectionScore,
    /// Localization. `None` without an annotated failure.
    pub localization: Option<LocalizationScore>,
    /// Diagnosis of each failure.
    pub diagnosis: Vec<DiagnosisScore>,
    /// The stage at which the episode ends, by funnel.
    pub funnel: BTreeMap<String, Stage>,
}

/// Detection of a failure in an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DetectionScore {
    /// The answer; `None` if it is missing or could not be read.
    pub answer: Option<Answer>,
    /// The annotated answer.
    pub gold: Answer,
    /// True if the answer is the annotated one; under the code's definition, if it is yes.
    pub correct: bool,
}

/// Match of a model's ranges with the annotated ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LocalizationScore {
    /// Mean over predicted ranges of the best Jaccard index with an annotated one; 0 without predictions.
    pub similarity: f64,
    /// Mean over annotated ranges of the best Jaccard index with a predicted one.
    pub recall: f64,
    /// Number of predicted ranges that count, at most three.
    pub ranges: usize,
    /// Number of predicted ranges beyond the third.
    pub ignored_ranges: usize,
    #[serde(skip)]
    pub(super) best: f64,
}

/// Diagnosis of one annotated failure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DiagnosisScore {
    /// Position in the episode's list of failures, counted from 0.
    pub failure: usize,
    /// True if mode and description could be read.
    pub answered: bool,
    /// True if the mode is the annotated one.
    pub mode_correct: bool,
    /// Token F1 of the descriptions; 0 if unanswered.
    pub token_f1: f64,
    /// The judge's score; under the paper's definition, 0 if unanswered. The mean ignores `None`.
    pub judge: Option<f64>,
}

impl DiagnosisScore {
    fn of(
        place: usize,
        failure: &GoldFailure,
        predicted: Option<&PredictedDiagnosis>,
        definition: Definition,
    ) -> Self {
        let Some((mode, description)) = predicted.and_then(PredictedDiagnosis::answer) else {
            let judge = (definition == Definition::Paper).then_some(0.0);
            return Self { failure: place, answered: false, mode_correct: false, token_f1: 0.0, judge };
        };
        Self {
            failure: place,
            answered: true,
            mode_correct: mode == failure.mode,
            token_f1: token_f1(description, &failure.diagnosis),
            judge: predicted.and_then(|predicted| predicted.judge),
        }
    }

    pub(super) fn judged_right(&self) -> bool {
        self.answered && self.judge.is_some_and(|judge| judge >= 1.0)
    }
}

impl LocalizationScore {
    fn of(predicted: &[StepRange], failures: &[GoldFailure]) -> Option<Self> {
        if failures.is_empty() {
            return None;
        }
        let kept: Vec<_> = predicted.iter().take(MAX_RANGES).map(|range| range.steps()).collect();
        let gold: Vec<_> = failures.iter().map(|failure| failure.range.steps()).collect();
        let pairs = kept.iter().flat_map(|range| gold.iter().map(move |gold| jaccard(range, gold)));
        Some(Self {
            similarity: localization_similarity(&kept, &gold).unwrap_or(0.0),
            recall: localization_recall(&kept, &gold).unwrap_or(0.0),
            ranges: kept.len(),
            ignored_ranges: predicted.len() - kept.len(),
            best: pairs.fold(0.0, f64::max),
        })
    }
}

impl EpisodeScore {
    pub(super) fn of(gold: &GoldEpisode, prediction: Option<&Prediction>, options: &ReflectOptions) -> Self {
        let answer = prediction.and_then(|prediction| prediction.detection);
        let right = match options.definition {
            Definition::Paper => gold.answer(),
            Definition::Code => Answer::Yes,
        };
        let detection = DetectionScore { answer, gold: gold.answer(), correct: answer == Some(right) };
        let ranges = prediction.and_then(|prediction| prediction.ranges.as_deref()).unwrap_or_default();
        let localization = LocalizationScore::of(ranges, &gold.failures);
        let explained = prediction.map_or(&[][..], |prediction| &prediction.diagnoses);
        let diagnosis: Vec<DiagnosisScore> = gold
            .failures
            .iter()
            .enumerate()
            .map(|(place, failure)| {
                let predicted = explained.iter().find(|one| one.failure == place);
                DiagnosisScore::of(place, failure, predicted, options.definition)
            })
            .collect();
        let stage = |(name, rule): (&String, &super::FunnelRule)| {
            (name.clone(), rule.stage(detection.correct, localization.as_ref(), &diagnosis))
        };
        Self {
            id: gold.id.clone(),
            task: gold.task.clone(),
            subtask: gold.subtask.clone(),
            model: prediction.and_then(|prediction| prediction.model.clone()),
            predicted: prediction.is_some(),
            funnel: options.funnels.iter().map(stage).collect(),
            detection,
            localization,
            diagnosis,
        }
    }
}
