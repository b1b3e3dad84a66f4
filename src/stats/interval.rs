//! An interval of real numbers, and the Wilson score interval of a proportion.
//!
//! For `k` successes in `n` trials, with `p = k / n` and `z` the two-sided normal quantile of the confidence, the ends
//! of the interval are
//!
//! ```text
//! (p + z²/2n ± z * sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n)
//! ```
//!
//! Reference: Wilson, "Probable inference, the law of succession, and statistical inference", JASA
//! 22 (1927). Oracle: `scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`.

use serde::Serialize;

use super::distributions::normal_quantile;
use super::{StatsError, float};

/// A closed interval of numbers.
///
/// Serializes as `[low, high]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(into = "[f64; 2]")]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> Self {
        [interval.low, interval.high]
    }
}

/// Returns the Wilson score interval of the proportion `successes / trials` at a confidence such as 0.95.
///
/// ```
/// use wrongturn::stats::wilson;
///
/// let interval = wilson(9, 10, 0.95)?;
/// assert!(0.59 < interval.low && interval.low < 0.60 && interval.high < 0.99);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::TooFew`] if `trials` is 0, [`StatsError::SuccessesExceedTrials`] if there are more successes
/// than trials, and [`StatsError::InvalidArgument`] if `confidence` is not strictly between 0 and 1.
pub fn wilson(successes: u64, trials: u64, confidence: f64) -> Result<Interval, StatsError> {
    if trials == 0 {
        return Err(StatsError::TooFew { n: 0, needed: 1 });
    }
    if successes > trials {
        return Err(StatsError::SuccessesExceedTrials { successes, trials });
    }
    let z = normal_quantile(f64::midpoint(1.0, checked_confidence(confidence)?));
    let n = float(trials);
    let p = float(successes) / n;
    let shrink = 1.0 + z * z / n;
    let center = (p + z * z / (2.0 * n)) / shrink;
    let half_width = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / shrink;
    Ok(Interval {
        low: if successes == 0 { 0.0 } else { (center - half_width).max(0.0) },
        high: if successes == trials { 1.0 } else { (center + half_width).min(1.0) },
    })
}

/// Returns `confidence` if it lies strictly between 0 and 1.
pub(super) fn checked_confidence(confidence: f64) -> Result<f64, StatsError> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok(confidence)
    } else {
        Err(StatsError::InvalidArgument { name: "confidence", why: "must lie strictly between 0 and 1" })
    }
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// `(k, n, c, low, high)` from
    /// `scipy.stats.binomtest(k, n).proportion_ci(c, method="wilson")`, scipy 1.17.1.
    const SCIPY: [(u64, u64, f64, f64, f64); 6] = [
        (9, 10, 0.95, 0.5958499732047615, 0.9821237869049271),
        (10, 10, 0.95, 0.7224672001371109, 1.0),
        (0, 10, 0.95, 0.0, 0.27753279986288926),
        (13, 21, 0.99, 0.35080493593991174, 0.8301257211270385),
        (1, 1_000_000_000, 0.95, 1.765245549569633e-10, 5.664934243297439e-09),
        (3, 7, 0.999, 0.08385472008997263, 0.8600523735409235),
    ];

    #[test]
    fn agrees_with_scipy() {
        for (k, n, confidence, low, high) in SCIPY {
            let interval = wilson(k, n, confidence).unwrap();
            assert_close(interval.low, low, 1e-14);
            assert_close(interval.high, high, 1e-14);
        }
    }

    #[test]
    fn refuses_what_is_no_proportion() {
        assert_eq!(wilson(0, 0, 0.95), Err(StatsError::TooFew { n: 0, needed: 1 }));
        assert_eq!(wilson(3, 2, 0.95), Err(StatsError::SuccessesExceedTrials { successes: 3, trials: 2 }));
        for confidence in [0.0, 1.0, -0.5, 95.0, f64::NAN, f64::INFINITY] {
            let error = wilson(1, 2, confidence).unwrap_err();
            assert_eq!(error.to_string(), "confidence must lie strictly between 0 and 1");
        }
    }
}
