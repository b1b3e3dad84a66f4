//! The percentile bootstrap: an interval for any statistic of a sample.
//!
//! The statistic is evaluated on `B` samples drawn with replacement from the data; the interval runs
//! between the `(1 - c)/2` and `(1 + c)/2` quantiles of the values, interpolated linearly between
//! order statistics (Hyndman & Fan type 7, numpy's default).
//!
//! Reference: Efron, "Bootstrap methods: another look at the jackknife", Ann. Statist. 7 (1979);
//! Efron & Tibshirani, "An introduction to the bootstrap" (1993), section 13.3. Oracle:
//! `scipy.stats.bootstrap(…, method="percentile")`.
//!
//! Errors: a confidence outside (0, 1). Resamples on which the statistic is undefined are left out
//! and counted.

use serde::Serialize;

use super::interval::{Interval, checked_confidence};
use super::rng::Rng;
use super::{StatsError, float};

/// An interval by bootstrap, with how many resamples it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BootstrapInterval {
    /// The interval; `None` when the statistic was undefined on every resample.
    pub interval: Option<Interval>,
    /// How many resamples were drawn.
    pub resamples: usize,
    /// On how many of them the statistic was undefined.
    pub undefined: usize,
}

/// A resample of the data: an iterator over as many items, drawn with replacement.
#[derive(Debug)]
pub struct Resample<'a, T> {
    items: &'a [T],
    rng: &'a mut Rng,
    left: usize,
}

impl<'a, T> Iterator for Resample<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        self.rng.pick(self.items)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Resample<'_, T> {}

/// Returns the percentile-bootstrap interval of any statistic of a sample.
///
/// ```
/// use wrongturn::stats::bootstrap_percentile;
///
/// let steps = [3.0, 5.0, 4.0, 9.0, 4.0, 6.0, 5.0, 7.0];
/// let found = bootstrap_percentile(&steps, 2000, 7, 0.95, |resample| {
///     let n = resample.len() as f64;
///     Some(resample.sum::<f64>() / n)
/// })?;
/// let interval = found.interval.unwrap();
/// assert!(interval.low < 5.375 && 5.375 < interval.high, "the mean of the sample");
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// The same items in the same order, the same seed and the same number of resamples give the same
/// interval. A statistic of `None`, NaN or infinity is undefined.
///
/// # Errors
///
/// [`StatsError::InvalidArgument`] when `confidence` is not strictly between 0 and 1.
pub fn bootstrap_percentile<T, F>(
    items: &[T],
    resamples: usize,
    seed: u64,
    confidence: f64,
    statistic: F,
) -> Result<BootstrapInterval, StatsError>
where
    F: FnMut(Resample<'_, T>) -> Option<f64>,
{
    let tail = (1.0 - checked_confidence(confidence)?) / 2.0;
    Ok(bootstrap_tails(items, resamples, seed, tail, statistic))
}

/// As [`bootstrap_percentile`], with the probability left out on either side, in (0, 1/2).
pub(super) fn bootstrap_tails<T, F>(
    items: &[T],
    resamples: usize,
    seed: u64,
    tail: f64,
    mut statistic: F,
) -> BootstrapInterval
where
    F: FnMut(Resample<'_, T>) -> Option<f64>,
{
    let mut rng = Rng::new(seed);
    let values: Vec<f64> = (0..resamples)
        .filter_map(|_| statistic(Resample { items, rng: &mut rng, left: items.len() }))
        .filter(|value| value.is_finite())
        .collect();
    let undefined = resamples - values.len();
    BootstrapInterval { interval: without_tails(values, tail), resamples, undefined }
}

/// Returns the interval of values without so much of them on either side; `None` without values.
pub(crate) fn without_tails(mut values: Vec<f64>, tail: f64) -> Option<Interval> {
    values.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: quantile(&values, tail)?, high: quantile(&values, 1.0 - tail)? })
}

/// Returns the `q` quantile of sorted values, `q` in [0, 1].
pub(crate) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let position = q * float(sorted.len().checked_sub(1)? as u64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a non-negative position within the slice"
    )]
    let index = position as usize;
    let below = *sorted.get(index)?;
    let above = *sorted.get(index + 1).unwrap_or(&below);
    let share = position.fract();
    Some(if below < above { below * (1.0 - share) + above * share } else { below })
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    fn mean(resample: Resample<'_, f64>) -> f64 {
        let n = float(resample.len() as u64);
        resample.sum::<f64>() / n
    }

    fn sample() -> Vec<f64> {
        (0..40_u32).map(|i| f64::from(37 * i % 101) / 7.0).collect()
    }

    /// `scipy.stats.bootstrap(([(37*i % 101)/7 for i in range(40)],), numpy.mean,
    /// n_resamples=200000, method="percentile", confidence_level=c, rng=1).confidence_interval`,
    /// scipy 1.17.1. The tolerance is four standard errors of a 2.5% quantile from 10,000 resamples.
    #[test]
    fn the_interval_of_a_mean_agrees_with_scipy() {
        let scipy =
            [(0.95, 5.817857142857143, 8.421428571428573), (0.8, 6.267857142857143, 7.971428571428572)];
        for (confidence, low, high) in scipy {
            let result =
                bootstrap_percentile(&sample(), 10_000, 1, confidence, |resample| Some(mean(resample)))
                    .unwrap();
            let interval = result.interval.unwrap();
            assert_close(interval.low, low, 0.07);
            assert_close(interval.high, high, 0.07);
            assert_eq!((result.resamples, result.undefined), (10_000, 0));
        }
    }

    /// `numpy.quantile([1, 2, 4, 8, 16], q)`, numpy 2.4.6
    #[test]
    fn quantiles_agree_with_numpy() {
        let numpy =
            [(0.0, 1.0), (0.025, 1.1), (0.1, 1.4), (0.5, 4.0), (0.9, 12.8), (0.975, 15.2), (1.0, 16.0)];
        for (q, expected) in numpy {
            assert_close(quantile(&[1.0, 2.0, 4.0, 8.0, 16.0], q).unwrap(), expected, 4e-15);
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[-f64::MAX, f64::MAX], 0.5), Some(0.0));
    }

    #[test]
    fn undefined_resamples_are_left_out_and_counted() {
        let first = |mut resample: Resample<'_, f64>| resample.next().copied();
        let items = [1.0, f64::NAN, f64::INFINITY, 1.0];
        let result = bootstrap_percentile(&items, 1_000, 5, 0.95, first).unwrap();
        assert_eq!(result.interval, Some(Interval { low: 1.0, high: 1.0 }));
        assert!((400..600).contains(&result.undefined), "{result:?}");

        let nothing = BootstrapInterval { interval: None, resamples: 10, undefined: 10 };
        assert_eq!(bootstrap_percentile(&items, 10, 5, 0.95, |_| None), Ok(nothing));
        assert_eq!(bootstrap_percentile(&[], 10, 5, 0.95, first), Ok(nothing));
        let json = serde_json::to_string(&nothing).unwrap();
        assert_eq!(json, r#"{"interval":null,"resamples":10,"undefined":10}"#);
    }
}
