//! What statistics of paired columns ask of them: equal lengths, finite values.
//!
//! Errors: columns of different length, a value that is not finite.

use super::{Side, StatsError};

/// Checks that both columns are as long as each other and as every list of numbers beside them (of groups, strata or
/// clusters). The error names the length of x and the first that differs from it.
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

/// Checks that all values are finite. The error names the first pair in which one is not, and its x where neither is.
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

/// The pairs of two columns.
pub(super) fn pairs(x: &[f64], y: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    x.iter().copied().zip(y.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_length_that_differs_is_named() {
        let (x, y) = ([0.0; 3], [0.0; 3]);
        assert_eq!(check_lengths(&x, &y, [&[0; 3]]), Ok(()));
        assert_eq!(check_lengths(&x, &y[..2], [&[0; 5]]), Err(StatsError::LengthMismatch { x: 3, y: 2 }));
        assert_eq!(check_lengths(&x, &y, [&[0; 3], &[0; 5]]), Err(StatsError::LengthMismatch { x: 3, y: 5 }));
    }

    #[test]
    fn the_first_pair_that_is_not_finite_is_named() {
        let found = |columns| check_finite(columns);
        assert_eq!(found([(0.0, 1.0), (2.0, 3.0)]), Ok(()));
        let error = StatsError::NonFinite { side: Side::Y, index: 0 };
        assert_eq!(found([(0.0, f64::NAN), (f64::INFINITY, 3.0)]), Err(error));
        let error = StatsError::NonFinite { side: Side::X, index: 1 };
        assert_eq!(found([(0.0, 1.0), (f64::NAN, f64::NAN)]), Err(error));
    }
}
