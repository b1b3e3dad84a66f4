//! Sums in fixed point, which do not depend on order or grouping until they saturate.
//!
//! An addend is rounded once, to a multiple of 2^-42 (a product to a multiple of 2^-60), and then added as an
//! integer. Integer addition is associative and commutative, so merged sums equal a single sum bit for bit.
//!
//! | bound | value |
//! |---|---|
//! | largest addend | 2^20 = 1,048,576 |
//! | rounding of an addend | 2^-43 < 1.2e-13; none for integers |
//! | error of a mean | at most that of one addend, plus two float roundings |
//! | rounding of a product of two rounded addends | 2^-61 |
//! | largest sum of squares | 2^67, reached by 2^27 addends of 2^20; it saturates there |

use serde::{Deserialize, Serialize};

use super::float;

/// Maximum magnitude of an addend. [`Fixed::of`] refuses larger values.
pub(crate) const MOST: f64 = 1_048_576.0;

/// Fractional bits of values and of products.
const VALUE_BITS: u32 = 42;
const PRODUCT_BITS: u32 = 60;

/// A value in units of 2^-42.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixed(i128);

impl Fixed {
    /// Returns the nearest multiple of 2^-42; `None` for values beyond ±2^20.
    pub(super) fn of(value: f64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^63")]
        let units = |value: f64| (value * scale(VALUE_BITS)).round_ties_even() as i128;
        (value.abs() <= MOST).then(|| Self(units(value)))
    }
}

/// A sum, held as an integer number of units of 2^-`BITS`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Units<const BITS: u32>(i128);

pub(super) type Sum = Units<VALUE_BITS>;

pub(super) type ProductSum = Units<PRODUCT_BITS>;

impl<const BITS: u32> Units<BITS> {
    pub(super) fn merge(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sum {
    pub(super) fn add(&mut self, value: Fixed) {
        self.merge(Units(value.0));
    }

    pub(super) fn value(self) -> f64 {
        nearest(self.0) / scale(VALUE_BITS)
    }
}

impl ProductSum {
    pub(super) fn add(&mut self, x: Fixed, y: Fixed) {
        const DROPPED: u32 = 2 * VALUE_BITS - PRODUCT_BITS;
        // Both are below 2^63 in magnitude, so the product fits. Adding half a unit before dropping bits
        // rounds to nearest.
        let product = x.0 * y.0 + (1 << (DROPPED - 1));
        self.merge(Units(product >> DROPPED));
    }

    /// Returns `Σxy - Σx Σy / n` for n pairs, the sum of products around the means; 0 if n is 0.
    ///
    /// If the means are large, the subtraction cancels most digits. Both terms are therefore pairs of floats.
    pub(super) fn around_means(self, x: Sum, y: Sum, n: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let ((x_high, x_low), (y_high, y_low), n) = (pair(x.0), pair(y.0), float(n));
        let product = x_high * y_high;
        let rest = x_high.mul_add(y_high, -product) + (x_high * y_low + x_low * y_high);
        let quotient = product / n;
        let rest = (quotient.mul_add(-n, product) + rest) / n;
        let (high, low) = pair(self.0);
        let unit = scale(2 * VALUE_BITS - PRODUCT_BITS);
        ((high * unit - quotient) + (low * unit - rest)) / scale(2 * VALUE_BITS)
    }
}

/// 2^bits.
fn scale(bits: u32) -> f64 {
    2.0_f64.powi(bits.cast_signed())
}

#[expect(clippy::cast_precision_loss, reason = "the nearest float is meant")]
fn nearest(integer: i128) -> f64 {
    integer as f64
}

/// Returns the integer as the sum of two floats, off by less than one part in 2^105.
fn pair(integer: i128) -> (f64, f64) {
    let high = nearest(integer);
    #[expect(clippy::cast_possible_truncation, reason = "a float that was an integer of 128 bits")]
    let rest = integer.saturating_sub(high as i128);
    (high, nearest(rest))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "integers and halves are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(values: &[f64]) -> Sum {
        let mut sum = Sum::default();
        for value in values {
            sum.add(Fixed::of(*value).unwrap());
        }
        sum
    }

    #[test]
    fn values_beyond_the_bound_are_refused() {
        for bad in [MOST * 1.000_001, -MOST * 2.0, f64::NAN, f64::INFINITY] {
            assert!(Fixed::of(bad).is_none(), "{bad}");
        }
        assert_eq!(sum(&[MOST, -MOST, 0.5]).value(), 0.5);
    }

    #[test]
    fn the_largest_products_have_room() {
        let most = Fixed::of(MOST).unwrap();
        let mut squares = ProductSum::default();
        squares.add(most, most);
        assert_eq!(squares.0, 1 << 100);
        let mut many = squares;
        for _ in 0..200 {
            many.merge(many);
        }
        assert_eq!(many.0, i128::MAX);
    }

    /// `sum((fractions.Fraction(x) - 1000001) ** 2 for x in ...)` of 1000000.5, 1000001 and 1000001.5
    #[test]
    fn large_means_cost_no_digits() {
        let values = [1_000_000.5, 1_000_001.0, 1_000_001.5];
        let mut squares = ProductSum::default();
        for value in values {
            let value = Fixed::of(value).unwrap();
            squares.add(value, value);
        }
        assert_eq!(squares.around_means(sum(&values), sum(&values), 3), 0.5);
    }

    proptest! {
        #[test]
        fn a_mean_is_off_by_no_more_than_an_addend(
            values in proptest::collection::vec(-2.0..2.0_f64, 1..60),
        ) {
            let n = float(values.len() as u64);
            let mean = values.iter().sum::<f64>() / n;
            prop_assert!((sum(&values).value() / n - mean).abs() <= 2.0_f64.powi(-43) + 1e-15);
        }
    }
}
