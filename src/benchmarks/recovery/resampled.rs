//! Bootstrap of a paired comparison: tasks are drawn whole, both sides together.

use super::compare::relative_drop;
use crate::stats::{Interval, SplitMix, float, without_tails};

/// Number of resamples.
const RESAMPLES: u32 = 2_000;

/// Share that a 95% interval leaves out on each side.
const TAIL: f64 = 0.025;

/// The 95% intervals of a comparison.
pub(super) struct Resampled {
    pub(super) fresh: Option<Interval>,
    pub(super) recovery: Option<Interval>,
    pub(super) difference: Option<Interval>,
    pub(super) drop: Option<Interval>,
    /// Resamples without a resolved fresh trial.
    pub(super) left_out: u32,
}

impl Resampled {
    /// Computes intervals from the tasks' shares of resolved trials, fresh and in recovery.
    pub(super) fn of(shares: &[(f64, f64)], seed: u64) -> Self {
        let mut draws = SplitMix::new(seed);
        let n = float(shares.len() as u64);
        let [mut fresh, mut recovery, mut differences, mut drops] = [const { Vec::new() }; 4];
        let mut left_out = 0;
        for _ in 0..RESAMPLES {
            let (mut sum_fresh, mut sum_recovery) = (0.0, 0.0);
            for _ in shares {
                if let Some((of_fresh, of_recovery)) = draws.pick(shares) {
                    sum_fresh += of_fresh;
                    sum_recovery += of_recovery;
                }
            }
            let (mean_fresh, mean_recovery) = (sum_fresh / n, sum_recovery / n);
            fresh.push(mean_fresh);
            recovery.push(mean_recovery);
            differences.push(mean_recovery - mean_fresh);
            match relative_drop(mean_fresh, mean_recovery) {
                Some(drop) => drops.push(drop),
                None => left_out += 1,
            }
        }
        Self {
            fresh: without_tails(fresh, TAIL),
            recovery: without_tails(recovery, TAIL),
            difference: without_tails(differences, TAIL),
            drop: without_tails(drops, TAIL),
            left_out,
        }
    }
}
