//! Computes the figures of groups from sums, for corpora with too many runs to keep.

use serde::{Deserialize, Serialize};

use super::group::{Coefficient, Group};
use super::relation::Relation;
use super::row::SimulationRow;
use crate::stats::{PearsonAccumulator, float};

/// The sums over runs, such as those of one task, model and domain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupSums {
    pub(super) sims: u64,
    sims_with_errors: u64,
    errors: u64,
    recovered: u64,
    tool_calls: u64,
    /// Runs without actions of the chosen actors.
    idle: u64,
    /// For pass^k: the runs that count.
    pub(super) trials: u64,
    pub(super) successes: u64,
    /// Runs that ended in an infrastructure error, which do not count.
    pub(super) infrastructure_errors: u64,
    /// Runs with a reward excluded from means and correlations because the reward or a count is
    /// beyond ±2^20.
    pub(super) out_of_range: u64,
    /// The sums of each measure of [`Relation::ALL`] and the reward.
    relations: [PearsonAccumulator; 4],
}

impl GroupSums {
    pub(super) fn of(row: &SimulationRow) -> Self {
        let counts = !row.ended_by_infrastructure();
        let mut relations = <[PearsonAccumulator; 4]>::default();
        let fits = relations.iter_mut().zip(Relation::ALL).all(|(sums, relation)| {
            relation.pair(row).is_none_or(|(measure, reward)| sums.push(measure, reward).is_ok())
        });
        Self {
            sims: 1,
            sims_with_errors: u64::from(row.errors > 0),
            errors: row.errors,
            recovered: row.recovered,
            tool_calls: row.tool_calls,
            idle: u64::from(row.tool_calls == 0),
            trials: u64::from(counts),
            successes: u64::from(counts && row.succeeded()),
            infrastructure_errors: u64::from(!counts),
            out_of_range: u64::from(!fits),
            relations: if fits { relations } else { Default::default() },
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.sims, other.sims),
            (&mut self.sims_with_errors, other.sims_with_errors),
            (&mut self.errors, other.errors),
            (&mut self.recovered, other.recovered),
            (&mut self.tool_calls, other.tool_calls),
            (&mut self.idle, other.idle),
            (&mut self.trials, other.trials),
            (&mut self.successes, other.successes),
            (&mut self.infrastructure_errors, other.infrastructure_errors),
            (&mut self.out_of_range, other.out_of_range),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (sums, more) in self.relations.iter_mut().zip(&other.relations) {
            sums.merge(more);
        }
    }

    /// Returns the sums of a measure and the reward, empty for a measure that is not in [`Relation::ALL`].
    pub(super) fn pairs(&self, relation: Relation) -> PearsonAccumulator {
        let place = Relation::ALL.iter().position(|one| *one == relation);
        place.and_then(|place| self.relations.get(place)).cloned().unwrap_or_default()
    }

    pub(super) fn figures(&self) -> Group {
        let [all, failing, errors, calls] = &self.relations;
        let r = |sums: &PearsonAccumulator| Coefficient(sums.correlation());
        let count = |sums: &PearsonAccumulator| float(sums.count() as u64);
        let total = |sums: &PearsonAccumulator| sums.mean_y().map_or(0.0, |mean| mean * count(sums));
        let others = count(all) - count(failing);
        Group {
            sims: self.sims,
            sims_with_reward: all.count() as u64,
            sims_with_errors: self.sims_with_errors,
            errors: self.errors,
            recovered: self.recovered,
            tool_calls: self.tool_calls,
            sims_without_calls: self.idle,
            mean_reward: all.mean_y(),
            mean_reward_with_errors: failing.mean_y(),
            mean_reward_without_errors: (others > 0.0).then(|| (total(all) - total(failing)) / others),
            r_recovery_reward: r(all),
            r_recovery_reward_errors_only: r(failing),
            r_error_count_reward: r(errors),
            r_tool_calls_reward: r(calls),
        }
    }
}
