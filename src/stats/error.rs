//! Why a statistic has no value.

use std::fmt;

use thiserror::Error;

/// One of the two columns of a paired sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first column.
    X,
    /// The second column.
    Y,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X => "x",
            Self::Y => "y",
        })
    }
}

/// Why a statistic has no value for the given input.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum StatsError {
    /// The columns of a sample, or the rows of a design matrix, differ in length.
    #[error("x has {x} values, y has {y}")]
    LengthMismatch {
        /// Length of the first column, or of the first row.
        x: usize,
        /// The first other length that differs from it.
        y: usize,
    },
    /// There are fewer observations, clusters, groups or tasks than the statistic needs.
    #[error("too few values: {n} given, at least {needed} needed")]
    TooFew {
        /// Number given.
        n: usize,
        /// The smallest number for which the statistic is defined.
        needed: usize,
    },
    /// A value is NaN or infinite.
    #[error("the value of {side} at index {index} is not finite")]
    NonFinite {
        /// The column that holds the value.
        side: Side,
        /// The 0-based position of the value, or of its row or cluster.
        index: usize,
    },
    /// The magnitude of a value is too large for fixed-point summation.
    #[error("the value of {side} at index {index} is beyond ±2^20")]
    OutOfRange {
        /// The column that holds the value.
        side: Side,
        /// Its 0-based position.
        index: usize,
    },
    /// A column does not vary, overall or within its groups. If neither column varies, `side` is `X`.
    #[error("{side} does not vary")]
    ZeroVariance {
        /// The constant column.
        side: Side,
    },
    /// An argument lies outside its domain.
    #[error("{name} {why}")]
    InvalidArgument {
        /// The name of the argument.
        name: &'static str,
        /// The requirement that it violates.
        why: &'static str,
    },
    /// There are more successes than trials.
    #[error("{successes} successes in {trials} trials")]
    SuccessesExceedTrials {
        /// Number of successes given.
        successes: u64,
        /// Number of trials given.
        trials: u64,
    },
    /// Some task has fewer than `k` trials, so pass^k is undefined.
    #[error("k = {k} exceeds {trials}, the smallest number of trials of a task")]
    KTooLarge {
        /// The requested `k`.
        k: u32,
        /// The largest possible `k`: the smallest number of trials of a task.
        trials: u32,
    },
}
