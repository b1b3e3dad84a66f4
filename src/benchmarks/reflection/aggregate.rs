//! Figures for several episodes: those of one task, or all.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{EpisodeScore, FunnelRule, Reflection, Stage};
use crate::names::named;
use crate::stats::{Interval, float, mean, ratio, ratio_bootstrap};

/// The scores of a model over a group of episodes.
///
/// The mean of zero values is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReflectionGroup {
    /// Number of annotated episodes.
    pub episodes: u64,
    /// Episodes without a prediction.
    pub without_prediction: u64,
    /// Episodes in which detection is unanswered.
    pub unanswered_detection: u64,
    /// Episodes with annotated ranges.
    pub localized_episodes: u64,
    /// Episodes with annotated but without predicted ranges.
    pub episodes_without_ranges: u64,
    /// Mean similarity over episodes with annotated and predicted ranges.
    pub similarity_answered: Option<f64>,
    /// Number of annotated failures.
    pub items: u64,
    /// Failures without a readable diagnosis.
    pub unanswered_items: u64,
    /// Failures with a judge's score; under the paper's definition, unanswered failures have the score 0.
    pub judged_items: u64,
    /// The figures; in JSON, each is a field of the group.
    #[serde(flatten)]
    pub figures: Averages,
    /// Number of episodes that end at each stage, by funnel.
    pub funnel: BTreeMap<String, FunnelCounts>,
}

/// How many episodes end at each stage of a funnel.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct FunnelCounts {
    /// At detection.
    pub detection: u64,
    /// At localization.
    pub localization: u64,
    /// At diagnosis.
    pub diagnosis: u64,
    /// Past all stages.
    pub pass: u64,
    /// Share of episodes that pass.
    pub pass_rate: Option<f64>,
}

named! {
    /// A score of reflection that is averaged over tasks.
    #[derive(PartialOrd, Ord)]
    pub enum Figure: "figure" {
        /// Share of episodes in which detection is answered correctly.
        DetectionAccuracy = "detection_accuracy",
        /// Localization similarity over episodes with annotated ranges.
        Similarity = "similarity",
        /// Localization recall over the same episodes.
        Recall = "recall",
        /// Share of failures with the correct mode.
        ModeAccuracy = "mode_accuracy",
        /// Token F1 of the descriptions.
        TokenF1 = "token_f1",
        /// The judge's score.
        Judge = "judge",
    }
}

impl Figure {
    /// Returns the values of one episode, over all of which the figure is the mean.
    fn values(self, episode: &EpisodeScore) -> Vec<f64> {
        let localized =
            |value: fn(&super::LocalizationScore) -> f64| episode.localization.iter().map(value).collect();
        let over_failures = |value: fn(&super::DiagnosisScore) -> Option<f64>| {
            episode.diagnosis.iter().filter_map(value).collect()
        };
        match self {
            Self::DetectionAccuracy => vec![f64::from(u8::from(episode.detection.correct))],
            Self::Similarity => localized(|score| score.similarity),
            Self::Recall => localized(|score| score.recall),
            Self::ModeAccuracy => over_failures(|score| Some(f64::from(u8::from(score.mode_correct)))),
            Self::TokenF1 => over_failures(|score| Some(score.token_f1)),
            Self::Judge => over_failures(|score| score.judge),
        }
    }
}

/// The scores of reflection, averaged over tasks.
pub type Averages = BTreeMap<Figure, Option<f64>>;

/// The 95% bootstrap intervals of the scores of reflection; see [`Reflection::intervals`].
pub type FigureIntervals = BTreeMap<Figure, Option<Interval>>;

impl FunnelCounts {
    fn of<'e>(stages: impl Iterator<Item = &'e Stage>) -> Self {
        let mut counts = Self::default();
        for stage in stages {
            match stage {
                Stage::Detection => counts.detection += 1,
                Stage::Localization => counts.localization += 1,
                Stage::Diagnosis => counts.diagnosis += 1,
                Stage::Pass => counts.pass += 1,
            }
        }
        let episodes = counts.detection + counts.localization + counts.diagnosis + counts.pass;
        counts.pass_rate = ratio(counts.pass, episodes);
        counts
    }
}

impl ReflectionGroup {
    pub(super) fn of(episodes: &[&EpisodeScore], funnels: &BTreeMap<String, FunnelRule>) -> Self {
        let count = |holds: fn(&EpisodeScore) -> bool| {
            episodes.iter().filter(|episode| holds(episode)).count() as u64
        };
        let located = || episodes.iter().filter_map(|episode| episode.localization.as_ref());
        let items = || episodes.iter().flat_map(|episode| &episode.diagnosis);
        let figure =
            |figure: &Figure| (*figure, mean(episodes.iter().flat_map(|episode| figure.values(episode))));
        let funnel =
            |name: &String| FunnelCounts::of(episodes.iter().filter_map(|episode| episode.funnel.get(name)));
        Self {
            episodes: episodes.len() as u64,
            without_prediction: count(|episode| !episode.predicted),
            unanswered_detection: count(|episode| episode.detection.answer.is_none()),
            localized_episodes: located().count() as u64,
            episodes_without_ranges: located().filter(|score| score.ranges == 0).count() as u64,
            similarity_answered: mean(
                located().filter(|score| score.ranges > 0).map(|score| score.similarity),
            ),
            items: items().count() as u64,
            unanswered_items: items().filter(|item| !item.answered).count() as u64,
            judged_items: items().filter(|item| item.judge.is_some()).count() as u64,
            figures: Figure::VARIANTS.iter().map(figure).collect(),
            funnel: funnels.keys().map(|name| (name.clone(), funnel(name))).collect(),
        }
    }

    /// Returns a figure of the group.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        self.figures.get(&figure).copied().flatten()
    }
}

/// Returns the weighted means of the figures over the tasks in which they are defined.
pub(super) fn averages(
    tasks: &BTreeMap<String, ReflectionGroup>,
    weight: fn(&ReflectionGroup) -> f64,
) -> Averages {
    let average = |figure: &Figure| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for task in tasks.values() {
            if let Some(value) = task.figure(*figure) {
                sum += weight(task) * value;
                weights += weight(task);
            }
        }
        (*figure, (weights > 0.0).then(|| sum / weights))
    };
    Figure::VARIANTS.iter().map(average).collect()
}

impl Reflection {
    /// Returns the 95% percentile bootstrap intervals of the pooled figures of a task, or of all tasks if `task` is
    /// `None`.
    ///
    /// The bootstrap resamples whole episodes, with all their failures. The same seed gives the same intervals.
    ///
    /// ```
    /// use serde_json::json;
    /// use wrongturn::benchmarks::{Figure, GoldEpisode, ReflectOptions, reflect};
    ///
    /// let gold: Vec<GoldEpisode> =
    ///     serde_json::from_value(json!([{"id": "e", "task": "jericho", "failures": []}]))?;
    /// let reflection = reflect(&gold, &[], &ReflectOptions::default());
    /// let intervals = reflection.intervals(None, 2000, 7);
    /// let accuracy = intervals[&Figure::DetectionAccuracy].unwrap();
    /// assert_eq!((accuracy.low, accuracy.high), (0.0, 0.0), "nothing was answered");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn intervals(&self, task: Option<&str>, resamples: u32, seed: u64) -> FigureIntervals {
        let chosen = || self.episodes.iter().filter(|episode| task.is_none_or(|task| task == episode.task));
        let interval = |figure: Figure| {
            let share = |values: Vec<f64>| (values.iter().sum(), float(values.len() as u64));
            let shares: Vec<(f64, f64)> = chosen().map(|episode| share(figure.values(episode))).collect();
            (figure, ratio_bootstrap(&shares, resamples, seed))
        };
        Figure::VARIANTS.iter().copied().map(interval).collect()
    }
}
