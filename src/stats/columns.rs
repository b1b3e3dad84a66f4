//! Checks and scaling of paired columns.

use super::{Side, StatsError, mean};

/// Checks that both columns and all columns of group, stratum or cluster numbers have the same length.
/// The error holds the length of x and the first length that differs from it.
pub(super) fn check_lengths<const N: usize>(
    x: &[f64],
    y: &[f64],
    numbers: [&[usize]; N],
) -> Result<(), StatsError> {
    let others = std::iter::once(y.len()).chain(numbers.into_iter().map(<[usize]>::len));
    match others.into_iter().find(|length| *length != x.len()) {
        Some(y) => Err(StatsError::LengthMismatch { x: x.len(), y }),
        None => Ok(()),
    }
}

/// Checks that all values are finite. The error names the first one that is not, x before y in a pair.
pub(super) fn check_finite(pairs: impl IntoIterator<Item = (f64, f64)>) -> Result<(), StatsError> {
    for (index, (x, y)) in pairs.into_iter().enumerate() {
        for (side, value) in [(Side::X, x), (Side::Y, y)] {
            if !value.is_finite() {
                return Err(StatsError::NonFinite { side, index });
            }
        }
    }
    Ok(())
}

pub(super) fn pairs(x: &[f64], y: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    x.iter().copied().zip(y.iter().copied())
}

/// Multiplies the values by a power of two that brings the largest magnitude near 1, which keeps squares from
/// overflowing and the largest square from underflowing.
pub(super) fn scaled(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let exponent = i32::try_from(largest.to_bits() >> 52).unwrap_or(0) - 1023;
    // In two steps, because a single power could exceed the largest float.
    let (half, rest) = (2.0_f64.powi(-exponent / 2), 2.0_f64.powi(exponent / 2 - exponent));
    values.iter().map(|value| value * half * rest).collect()
}

/// Returns the values minus their mean. If all values are equal, all deviations are exactly 0.
pub(super) fn deviations(values: &[f64]) -> Vec<f64> {
    let first = values.first().copied().unwrap_or(0.0);
    let mean = mean(values.iter().map(|value| value - first)).unwrap_or(0.0);
    values.iter().map(|value| (value - first) - mean).collect()
}

/// Adds `column`, multiplied by `times`, to `sums`.
pub(super) fn add(sums: &mut [f64], column: &[f64], times: f64) {
    for (sum, value) in sums.iter_mut().zip(column) {
        *sum += times * value;
    }
}
