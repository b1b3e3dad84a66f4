//! Trials to compare, and the figures of one side of a comparison.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::read::Record;
use super::compare::FRESH;
use crate::stats::{Interval, float, mean, wilson};

/// A reward within this distance of 1 is full, not partial.
const WHOLE: f64 = 1e-6;

/// A trial from a fresh start or in recovery, for [`compare`](super::compare()).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ComparedTrial {
    /// The model.
    pub model: String,
    /// `fresh`, or the context taken from the failed trial: `env`, `env+summary`, `env+full`.
    pub context: String,
    /// The model of the failed trial, if known. Recoveries from different models are compared separately.
    pub source: Option<String>,
    /// The task.
    pub task: String,
    /// Name of the trial.
    pub trial: String,
    /// Whether the task was solved.
    pub resolved: bool,
    /// Whether the trial was scored; true by default. An unscored trial does not count as resolved.
    pub scored: Option<bool>,
    /// The reward, if known.
    pub reward: Option<f64>,
    /// Number of replies of the model, if known.
    pub interactions: Option<u64>,
    /// Whether the agent declared the task done, if known.
    pub declared_done: Option<bool>,
}

impl Record for ComparedTrial {
    fn key(&self) -> String {
        format!("trial `{}` of `{}` in `{}`", self.trial, self.model, self.condition())
    }
}

impl ComparedTrial {
    /// Returns the context, with the model of the failed trial if there was one and it is known.
    pub(super) fn condition(&self) -> Cow<'_, str> {
        self.source
            .as_ref()
            .filter(|_| self.context != FRESH)
            .map_or(Cow::Borrowed(self.context.as_str()), |source| {
                Cow::Owned(format!("{} after {source}", self.context))
            })
    }

    fn is_unscored(&self) -> bool {
        self.scored == Some(false)
    }

    /// Returns true if the trial was scored and is resolved.
    pub(super) fn counts(&self) -> bool {
        self.resolved && !self.is_unscored()
    }
}

/// The trials of one model in one context, by task.
pub(super) type ByTask<'t> = BTreeMap<&'t str, Vec<&'t ComparedTrial>>;

/// The figures of one side of a comparison: fresh starts, or recovery.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Arm {
    /// Number of trials of the compared tasks.
    pub trials: u64,
    /// Trials that solved their task.
    pub resolved: u64,
    /// Trials that were not scored.
    pub unscored: u64,
    /// Trials with a reward between 0 and 1.
    pub partial: u64,
    /// The share of a task's trials that are resolved, averaged over tasks.
    pub rate: f64,
    /// Wilson 95% interval of the rate, if every task has exactly one trial.
    pub wilson95: Option<Interval>,
    /// Mean number of replies of the model.
    pub mean_interactions: Option<f64>,
    /// The same over resolved trials.
    pub mean_interactions_resolved: Option<f64>,
    /// Trials whose number of replies is known.
    pub with_interactions: u64,
    /// Premature successes: trials declared done that are not resolved. `None` if no trial has
    /// `declared_done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub premature: Option<u64>,
    /// 95% interval of the rate, by a bootstrap that resamples whole tasks.
    pub bootstrap95: Option<Interval>,
}

pub(super) fn share(trials: &[&ComparedTrial]) -> f64 {
    float(trials.iter().filter(|trial| trial.counts()).count() as u64) / float(trials.len() as u64)
}

impl Arm {
    /// Returns the figures over tasks, each with at least one trial; `None` if no task is given.
    pub(super) fn of(tasks: &[&[&ComparedTrial]], bootstrap95: Option<Interval>) -> Option<Self> {
        let trials = || tasks.iter().flat_map(|trials| trials.iter());
        let count = |holds: fn(&ComparedTrial) -> bool| trials().filter(|trial| holds(trial)).count() as u64;
        let interactions = |holds: fn(&ComparedTrial) -> bool| {
            mean(trials().filter(|trial| holds(trial)).filter_map(|trial| trial.interactions).map(float))
        };
        let resolved = count(ComparedTrial::counts);
        let single = tasks.iter().all(|trials| trials.len() == 1);
        Some(Self {
            trials: trials().count() as u64,
            resolved,
            unscored: count(ComparedTrial::is_unscored),
            partial: count(|trial| trial.reward.is_some_and(|reward| reward > 0.0 && reward < 1.0 - WHOLE)),
            rate: mean(tasks.iter().map(|trials| share(trials)))?,
            wilson95: wilson(resolved, tasks.len() as u64, 0.95).ok().filter(|_| single),
            mean_interactions: interactions(|_| true),
            mean_interactions_resolved: interactions(ComparedTrial::counts),
            with_interactions: count(|trial| trial.interactions.is_some()),
            premature: trials()
                .any(|trial| trial.declared_done.is_some())
                .then(|| count(|trial| trial.declared_done == Some(true) && !trial.counts())),
            bootstrap95,
        })
    }
}
