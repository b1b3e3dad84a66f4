//! The figures of groups from sums: what is kept of runs when there are too many to keep them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::group::{Coefficient, Group};
use super::relation::Relation;
use super::row::SimulationRow;
use crate::stats::{Dyadic, PairTotals};

/// The sums over the runs of one task of a model in a domain. All of them are exact.
///
/// In JSON two lists, of the counts and of the sums, in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GroupSums {
    sims: u64,
    sims_with_errors: u64,
    errors: u64,
    recovered: u64,
    tool_calls: u64,
    /// Runs with a reward, and those of them with errors.
    rewarded: u64,
    failing: u64,
    reward: Dyadic,
    reward_squares: Dyadic,
    failing_reward: Dyadic,
    failing_reward_squares: Dyadic,
    /// The recovery rate of runs with errors and a reward; without errors it is 1.
    rate: Dyadic,
    rate_squares: Dyadic,
    rate_reward: Dyadic,
    error_count: Dyadic,
    error_squares: Dyadic,
    error_reward: Dyadic,
    call_count: Dyadic,
    call_squares: Dyadic,
    call_reward: Dyadic,
    /// For pass^k: runs that count, those of them that succeeded, runs that ended in an infrastructure error.
    pub(super) trials: u64,
    pub(super) successes: u64,
    pub(super) infrastructure_errors: u64,
    /// Runs without actions of the chosen actors.
    idle: u64,
}

impl GroupSums {
    pub(super) fn of(row: &SimulationRow) -> Self {
        let mut sums = Self {
            sims: 1,
            sims_with_errors: u64::from(row.errors > 0),
            errors: row.errors,
            recovered: row.recovered,
            tool_calls: row.tool_calls,
            trials: u64::from(!row.ended_by_infrastructure()),
            successes: u64::from(!row.ended_by_infrastructure() && row.succeeded()),
            infrastructure_errors: u64::from(row.ended_by_infrastructure()),
            idle: u64::from(row.tool_calls == 0),
            ..Self::default()
        };
        let Some(reward) = row.reward else { return sums };
        let reward = Dyadic::of(reward);
        let squares = reward.times(&reward);
        let (errors, calls) = (Dyadic::of_count(row.errors), Dyadic::of_count(row.tool_calls));
        sums.rewarded = 1;
        (sums.error_squares, sums.error_reward) = (errors.times(&errors), errors.times(&reward));
        (sums.call_squares, sums.call_reward) = (calls.times(&calls), calls.times(&reward));
        (sums.error_count, sums.call_count) = (errors, calls);
        if row.errors > 0 {
            let rate = Dyadic::of(row.recovery_rate);
            sums.failing = 1;
            (sums.failing_reward, sums.failing_reward_squares) = (reward.clone(), squares.clone());
            (sums.rate_squares, sums.rate_reward) = (rate.times(&rate), rate.times(&reward));
            sums.rate = rate;
        }
        (sums.reward, sums.reward_squares) = (reward, squares);
        sums
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (sum, more) in self.counts_mut().into_iter().zip(other.counts()) {
            *sum = sum.saturating_add(more);
        }
        for (sum, more) in self.sums_mut().into_iter().zip(other.sums()) {
            sum.add(more);
        }
    }

    /// How many runs there are.
    pub(super) fn sims(&self) -> u64 {
        self.sims
    }

    /// The sums behind a correlation with the reward; of relations by program nothing is summed.
    pub(super) fn pairs(&self, relation: Relation) -> PairTotals {
        // Runs without errors enter with a rate of 1.
        let clean = Dyadic::of_count(self.rewarded.saturating_sub(self.failing));
        let (n, y, yy) = (self.rewarded, self.reward.clone(), self.reward_squares.clone());
        match relation {
            Relation::Recovery => PairTotals {
                n,
                x: self.rate.plus(&clean),
                xx: self.rate_squares.plus(&clean),
                xy: self.rate_reward.plus(&y.minus(&self.failing_reward)),
                y,
                yy,
            },
            Relation::RecoveryWithErrors => PairTotals {
                n: self.failing,
                x: self.rate.clone(),
                y: self.failing_reward.clone(),
                xx: self.rate_squares.clone(),
                yy: self.failing_reward_squares.clone(),
                xy: self.rate_reward.clone(),
            },
            Relation::ErrorCount => PairTotals {
                n,
                x: self.error_count.clone(),
                y,
                xx: self.error_squares.clone(),
                yy,
                xy: self.error_reward.clone(),
            },
            Relation::CallCount => PairTotals {
                n,
                x: self.call_count.clone(),
                y,
                xx: self.call_squares.clone(),
                yy,
                xy: self.call_reward.clone(),
            },
            Relation::RecoveryByProgram | Relation::RecoveryByProgramWithErrors => PairTotals::default(),
        }
    }

    /// The figures, which have the very bits of those of the runs themselves.
    pub(super) fn figures(&self) -> Group {
        let r = |relation| Coefficient(self.pairs(relation).correlation());
        Group {
            sims: self.sims,
            sims_with_reward: self.rewarded,
            sims_with_errors: self.sims_with_errors,
            errors: self.errors,
            recovered: self.recovered,
            tool_calls: self.tool_calls,
            sims_without_calls: self.idle,
            mean_reward: self.reward.mean(self.rewarded),
            mean_reward_with_errors: self.failing_reward.mean(self.failing),
            r_recovery_reward: r(Relation::Recovery),
            r_recovery_reward_errors_only: r(Relation::RecoveryWithErrors),
            r_error_count_reward: r(Relation::ErrorCount),
            r_tool_calls_reward: r(Relation::CallCount),
        }
    }
}

/// How many counts and sums there are.
const COUNTS: usize = 11;
const SUMS: usize = 13;

impl GroupSums {
    fn counts(&self) -> [u64; COUNTS] {
        [
            self.sims,
            self.sims_with_errors,
            self.errors,
            self.recovered,
            self.tool_calls,
            self.rewarded,
            self.failing,
            self.trials,
            self.successes,
            self.infrastructure_errors,
            self.idle,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u64; COUNTS] {
        [
            &mut self.sims,
            &mut self.sims_with_errors,
            &mut self.errors,
            &mut self.recovered,
            &mut self.tool_calls,
            &mut self.rewarded,
            &mut self.failing,
            &mut self.trials,
            &mut self.successes,
            &mut self.infrastructure_errors,
            &mut self.idle,
        ]
    }

    fn sums(&self) -> [&Dyadic; SUMS] {
        [
            &self.reward,
            &self.reward_squares,
            &self.failing_reward,
            &self.failing_reward_squares,
            &self.rate,
            &self.rate_squares,
            &self.rate_reward,
            &self.error_count,
            &self.error_squares,
            &self.error_reward,
            &self.call_count,
            &self.call_squares,
            &self.call_reward,
        ]
    }

    fn sums_mut(&mut self) -> [&mut Dyadic; SUMS] {
        [
            &mut self.reward,
            &mut self.reward_squares,
            &mut self.failing_reward,
            &mut self.failing_reward_squares,
            &mut self.rate,
            &mut self.rate_squares,
            &mut self.rate_reward,
            &mut self.error_count,
            &mut self.error_squares,
            &mut self.error_reward,
            &mut self.call_count,
            &mut self.call_squares,
            &mut self.call_reward,
        ]
    }
}

impl Serialize for GroupSums {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.counts(), self.sums()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GroupSums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (counts, sums) = <([u64; COUNTS], [Dyadic; SUMS])>::deserialize(deserializer)?;
        let mut read = Self::default();
        for (slot, count) in read.counts_mut().into_iter().zip(counts) {
            *slot = count;
        }
        for (slot, sum) in read.sums_mut().into_iter().zip(sums) {
            *slot = sum;
        }
        Ok(read)
    }
}
