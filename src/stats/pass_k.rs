//! pass^k: the chance that `k` independent trials of a task all succeed.
//!
//! From `c` successes in `n` trials of a task, the unbiased estimate is `C(c, k) / C(n, k)`; pass^k is its
//! mean over tasks. With `f = n - c` failures, the ratio is symmetric in `k` and `f`:
//!
//! ```text
//! C(n - f, k) / C(n, k) = prod over i < min(k, f) of (n - max(k, f) - i) / (n - i)
//! ```
//!
//! The product does not overflow.
//!
//! Reference: Yao et al., "τ-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains",
//! arXiv:2406.12045. The tests compare with Python's `math.comb`.

use super::{StatsError, float};

/// How often a task was tried, and how often it succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskTrials {
    /// How often the task was tried.
    pub trials: u32,
    /// How often it succeeded.
    pub successes: u32,
}

/// Returns an estimate of pass^k: the chance that `k` independent trials of a task all succeed, averaged over
/// tasks.
///
/// ```
/// use wrongturn::stats::{TaskTrials, pass_hat_k};
///
/// let tasks = [TaskTrials { trials: 4, successes: 4 }, TaskTrials { trials: 4, successes: 2 }];
/// assert_eq!(pass_hat_k(&tasks, 1)?, 0.75);
/// assert_eq!(pass_hat_k(&tasks, 2)?, (1.0 + 1.0 / 6.0) / 2.0);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// Checked in this order: [`StatsError::TooFew`] without tasks,
/// [`StatsError::SuccessesExceedTrials`] if a task has more successes than trials,
/// [`StatsError::InvalidArgument`] if `k` is 0, and [`StatsError::KTooLarge`] if a task has fewer than `k`
/// trials.
pub fn pass_hat_k(tasks: &[TaskTrials], k: u32) -> Result<f64, StatsError> {
    let Some(fewest) = tasks.iter().map(|task| task.trials).min() else {
        return Err(StatsError::TooFew { n: 0, needed: 1 });
    };
    if let Some(task) = tasks.iter().find(|task| task.successes > task.trials) {
        let (successes, trials) = (task.successes.into(), task.trials.into());
        return Err(StatsError::SuccessesExceedTrials { successes, trials });
    }
    if k == 0 {
        return Err(StatsError::InvalidArgument { name: "k", why: "must be at least 1" });
    }
    if k > fewest {
        return Err(StatsError::KTooLarge { k, trials: fewest });
    }
    let sum: f64 = tasks.iter().map(|task| all_succeed(*task, k)).sum();
    Ok(sum / float(tasks.len() as u64))
}

/// Returns `C(c, k) / C(n, k)` for `k <= n`.
fn all_succeed(task: TaskTrials, k: u32) -> f64 {
    let failures = task.trials.saturating_sub(task.successes);
    let steps = k.min(failures);
    let left = task.trials.saturating_sub(k.max(failures));
    if steps > left {
        return 0.0;
    }
    let mut chance = 1.0;
    for i in 0..steps {
        chance *= f64::from(left - i) / f64::from(task.trials - i);
        if chance < f64::MIN_POSITIVE {
            return 0.0;
        }
    }
    chance
}

#[cfg(test)]
mod tests {
    use super::super::assert_close;
    use super::*;

    fn task(trials: u32, successes: u32) -> TaskTrials {
        TaskTrials { trials, successes }
    }

    /// `sum(math.comb(c, k)/math.comb(n, k) for n, c in [(4,4), (4,3), (8,5), (5,0)]) / 4`
    #[test]
    fn tasks_weigh_the_same_whatever_their_trials() {
        let tasks = [task(4, 4), task(4, 3), task(8, 5), task(5, 0)];
        let python = [
            (1, 0.59375),
            (2, 0.464_285_714_285_714_3),
            (3, 0.357_142_857_142_857_15),
            (4, 0.267_857_142_857_142_85),
        ];
        for (k, expected) in python {
            assert_close(pass_hat_k(&tasks, k).unwrap(), expected, 1e-15);
        }
        assert_eq!(pass_hat_k(&tasks, 5), Err(StatsError::KTooLarge { k: 5, trials: 4 }));
    }

    #[test]
    fn refuses_what_has_no_value() {
        assert_eq!(pass_hat_k(&[], 1), Err(StatsError::TooFew { n: 0, needed: 1 }));
        assert_eq!(
            pass_hat_k(&[task(4, 4), task(2, 3)], 1),
            Err(StatsError::SuccessesExceedTrials { successes: 3, trials: 2 })
        );
        assert_eq!(pass_hat_k(&[task(0, 0)], 1), Err(StatsError::KTooLarge { k: 1, trials: 0 }));
        let zero = pass_hat_k(&[task(4, 4)], 0).unwrap_err();
        assert_eq!(zero.to_string(), "k must be at least 1");
    }

    #[test]
    fn the_largest_counts_are_quick_and_in_range() {
        let half = u32::MAX / 2;
        assert_eq!(pass_hat_k(&[task(u32::MAX, half)], half), Ok(0.0));
        assert_eq!(pass_hat_k(&[task(u32::MAX, u32::MAX)], u32::MAX), Ok(1.0));
        let one_failure = pass_hat_k(&[task(u32::MAX, u32::MAX - 1)], half).unwrap();
        assert_close(one_failure, 0.5, 1e-9);
    }
}
