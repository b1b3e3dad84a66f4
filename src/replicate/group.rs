//! The figures of groups of runs, as in the published note.

use serde::{Serialize, Serializer};

use super::relation::Relation;
use super::row::SimulationRow;
use crate::stats::{Correlation, StatsError, mean};

/// A correlation, or the reason why it is undefined.
///
/// In JSON: `{"r", "n", "p", "ci95": [low, high]}` or `{"undefined": "why"}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficient(pub Result<Correlation, StatsError>);

impl Coefficient {
    /// Returns r, if defined.
    #[must_use]
    pub fn r(&self) -> Option<f64> {
        self.0.as_ref().ok().map(|correlation| correlation.r)
    }
}

impl Serialize for Coefficient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ok(correlation) => correlation.serialize(serializer),
            Err(why) => serializer.collect_map([("undefined", why.to_string())]),
        }
    }
}

/// The counts, mean rewards and correlations of a group of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// Runs.
    pub sims: u64,
    /// Runs with a reward.
    pub sims_with_reward: u64,
    /// Runs with at least one error.
    pub sims_with_errors: u64,
    /// Errors.
    pub errors: u64,
    /// Errors recovered.
    pub recovered: u64,
    /// Calls of the chosen actors.
    pub tool_calls: u64,
    /// Runs without a call, which count as having a recovery rate of 1 and no errors. Not in JSON.
    #[serde(skip)]
    pub sims_without_calls: u64,
    /// Mean reward of the runs with a reward; `None` if there are none.
    pub mean_reward: Option<f64>,
    /// Mean reward of the runs with a reward and errors.
    pub mean_reward_with_errors: Option<f64>,
    /// Mean reward of the runs with a reward and no error. Not in JSON.
    #[serde(skip)]
    pub mean_reward_without_errors: Option<f64>,
    /// Recovery rate against reward, all runs with a reward.
    pub r_recovery_reward: Coefficient,
    /// Recovery rate against reward, runs with errors only.
    pub r_recovery_reward_errors_only: Coefficient,
    /// Error count against reward.
    pub r_error_count_reward: Coefficient,
    /// Call count against reward.
    pub r_tool_calls_reward: Coefficient,
}

impl Group {
    pub(super) fn of(rows: &[&SimulationRow]) -> Self {
        let rewards = |which: fn(&SimulationRow) -> bool| {
            rows.iter().filter(move |row| which(row)).filter_map(|row| row.reward)
        };
        let total = |count: fn(&SimulationRow) -> u64| rows.iter().map(|row| count(row)).sum();
        Self {
            sims: rows.len() as u64,
            sims_with_reward: rewards(|_| true).count() as u64,
            sims_with_errors: rows.iter().filter(|row| row.errors > 0).count() as u64,
            errors: total(|row| row.errors),
            recovered: total(|row| row.recovered),
            tool_calls: total(|row| row.tool_calls),
            sims_without_calls: total(|row| u64::from(row.tool_calls == 0)),
            mean_reward: mean(rewards(|_| true)),
            mean_reward_with_errors: mean(rewards(|row| row.errors > 0)),
            mean_reward_without_errors: mean(rewards(|row| row.errors == 0)),
            r_recovery_reward: Relation::Recovery.r(rows),
            r_recovery_reward_errors_only: Relation::RecoveryWithErrors.r(rows),
            r_error_count_reward: Relation::ErrorCount.r(rows),
            r_tool_calls_reward: Relation::CallCount.r(rows),
        }
    }
}

/// The counts, mean rewards and correlations of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelGroup {
    /// The model; null if unknown.
    pub model: Option<String>,
    /// Its figures.
    #[serde(flatten)]
    pub group: Group,
}

/// The counts, mean rewards and correlations of one model in one domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairGroup {
    /// The model; null if unknown.
    pub model: Option<String>,
    /// The domain; null if unknown.
    pub domain: Option<String>,
    /// Their figures.
    #[serde(flatten)]
    pub group: Group,
}

/// Number of pairs of model and domain whose correlation has a given sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct SignCount {
    /// Pairs whose correlation has the sign.
    pub count: u64,
    /// Pairs whose correlation is defined.
    pub defined: u64,
}

impl SignCount {
    fn of(pairs: &[PairGroup], r: fn(&Group) -> &Coefficient, has_sign: fn(f64) -> bool) -> Self {
        let defined: Vec<f64> = pairs.iter().filter_map(|pair| r(&pair.group).r()).collect();
        Self { count: defined.iter().filter(|r| has_sign(**r)).count() as u64, defined: defined.len() as u64 }
    }
}

/// The signs of the correlations over the pairs of model and domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Direction {
    /// Pairs of model and domain.
    pub pairs: u64,
    /// Pairs in which recovery rate and reward correlate positively, over all runs.
    pub recovery_positive: SignCount,
    /// Pairs in which recovery rate and reward correlate positively, over runs with errors.
    pub recovery_errors_only_positive: SignCount,
    /// Pairs in which error count and reward correlate negatively.
    pub error_count_negative: SignCount,
}

impl Direction {
    pub(super) fn of(pairs: &[PairGroup]) -> Self {
        Self {
            pairs: pairs.len() as u64,
            recovery_positive: SignCount::of(pairs, |g| &g.r_recovery_reward, |r| r > 0.0),
            recovery_errors_only_positive: SignCount::of(
                pairs,
                |g| &g.r_recovery_reward_errors_only,
                |r| r > 0.0,
            ),
            error_count_negative: SignCount::of(pairs, |g| &g.r_error_count_reward, |r| r < 0.0),
        }
    }
}
