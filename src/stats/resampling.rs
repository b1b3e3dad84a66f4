//! Settings for resampling.
//!
//! Every resample has its own random number generator, seeded with the seed and the index of the resample, so results do
//! not depend on the number of threads.

use super::StatsError;
use super::interval::checked_confidence;

/// Settings for resampling: the number of resamples, the seed, and the confidence level.
///
/// ```
/// use wrongturn::stats::Resampling;
///
/// let usual = Resampling::default();
/// assert_eq!((usual.resamples, usual.seed, usual.confidence), (2000, 0, 0.95));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// The number of resamples, from 1 to 10,000,000.
    pub resamples: usize,
    /// The seed. Each resample's random number generator is derived from it and the resample's index.
    pub seed: u64,
    /// The confidence level of intervals, in (0, 1).
    pub confidence: f64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { resamples: 2000, seed: 0, confidence: 0.95 }
    }
}

impl Resampling {
    /// Returns the settings if they are valid.
    ///
    /// # Errors
    ///
    /// [`StatsError::InvalidArgument`] if `resamples` is not from 1 to 10,000,000 or `confidence` is not in (0, 1).
    pub(super) fn checked(&self) -> Result<Self, StatsError> {
        checked_confidence(self.confidence)?;
        if !(1..=10_000_000).contains(&self.resamples) {
            return Err(StatsError::InvalidArgument {
                name: "resamples",
                why: "must be from 1 to 10,000,000",
            });
        }
        Ok(*self)
    }
}
