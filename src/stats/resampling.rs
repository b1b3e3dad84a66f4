//! Settings for resampling.
//!
//! Every resample has its own generator, made from the seed and the index of the resample, so results do not
//! depend on the number of threads.

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
    /// The number of resamples, at least 1.
    pub resamples: usize,
    /// The seed from which the generator of every resample is made.
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
    /// [`StatsError::InvalidArgument`] if `resamples` is 0 or `confidence` is not in (0, 1).
    pub(super) fn checked(&self) -> Result<Self, StatsError> {
        checked_confidence(self.confidence)?;
        if self.resamples == 0 {
            return Err(StatsError::InvalidArgument { name: "resamples", why: "must be at least 1" });
        }
        Ok(*self)
    }
}
