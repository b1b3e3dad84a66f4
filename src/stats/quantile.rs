//! Quantiles, interpolated linearly between order statistics (Hyndman & Fan type 7, numpy's default). Two of them bound
//! the interval of a percentile bootstrap.

use super::float;
use super::interval::Interval;

/// Returns the interval between the `tail` and `1 - tail` quantiles of the values, or `None` without values.
pub(crate) fn without_tails(mut values: Vec<f64>, tail: f64) -> Option<Interval> {
    values.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: quantile(&values, tail)?, high: quantile(&values, 1.0 - tail)? })
}

/// Returns the `q` quantile of sorted values, with `q` in [0, 1], or `None` without values.
pub(super) fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
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
mod tests {
    use super::super::assert_close;
    use super::*;

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
}
