//! Double-double arithmetic: a number as the unevaluated sum of two floats, about 31 digits.
//!
//! In it a sum differs between one order or grouping and another by about 1e-31 of its terms, which
//! rounding to one float then hides; with floats alone it would show.
//!
//! Reference: Dekker, "A floating-point technique for extending the available precision", Numer.
//! Math. 18 (1971); the operations are those of Hida, Li, Bailey, "Algorithms for quad-double
//! precision floating point arithmetic" (2001), sections 2 and 3.
//!
//! Errors: none. Overflow ends in a value for which [`DoubleDouble::is_finite`] is false, and stays
//! there.

use std::ops::{Add, Div, Mul, Sub};

/// `hi + lo`, where `hi` is the sum rounded to one float.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DoubleDouble {
    hi: f64,
    lo: f64,
}

impl DoubleDouble {
    /// `a - b` without rounding error.
    pub(super) fn difference(a: f64, b: f64) -> Self {
        Self::two_sum(a, -b)
    }

    /// The nearest float.
    pub(super) fn value(self) -> f64 {
        self.hi
    }

    pub(super) fn is_finite(self) -> bool {
        self.hi.is_finite() && self.lo.is_finite()
    }

    /// The square root of a positive number, by one Newton step from that of `hi`.
    pub(super) fn sqrt(self) -> Self {
        let root = self.hi.sqrt();
        let rest = self - Self::two_product(root, root);
        Self::quick_two_sum(root, rest.hi / (2.0 * root))
    }

    /// `a + b` without rounding error (Knuth).
    fn two_sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        let b_part = hi - a;
        let lo = (a - (hi - b_part)) + (b - b_part);
        Self { hi, lo }
    }

    /// `a + b` without rounding error, where `a` is the greater in magnitude.
    fn quick_two_sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        Self { hi, lo: b - (hi - a) }
    }

    /// `a * b` without rounding error.
    fn two_product(a: f64, b: f64) -> Self {
        let hi = a * b;
        Self { hi, lo: a.mul_add(b, -hi) }
    }
}

impl From<f64> for DoubleDouble {
    fn from(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let high = Self::two_sum(self.hi, other.hi);
        let low = Self::two_sum(self.lo, other.lo);
        let sum = Self::quick_two_sum(high.hi, high.lo + low.hi);
        Self::quick_two_sum(sum.hi, sum.lo + low.lo)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self { hi: -other.hi, lo: -other.lo }
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::two_product(self.hi, other.hi);
        let cross = self.hi.mul_add(other.lo, self.lo * other.hi);
        Self::quick_two_sum(product.hi, product.lo + cross)
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.hi / other.hi;
        let rest = self - other * Self::from(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * Self::from(second);
        let third = rest.hi / other.hi;
        Self::quick_two_sum(first, second) + Self::from(third)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `|a - b|` in units of `scale`.
    fn distance(a: DoubleDouble, b: DoubleDouble, scale: f64) -> f64 {
        ((a - b).value() / scale).abs()
    }

    proptest! {
        #[test]
        fn a_sum_keeps_what_a_float_would_lose(small in -1.0..1.0_f64) {
            let big = DoubleDouble::from(1e15);
            let sum = (big + DoubleDouble::from(small)) - big;
            prop_assert_eq!(sum, DoubleDouble::from(small));
        }

        #[test]
        fn division_undoes_multiplication(a in 1e-3..1e3_f64, b in 1e-3..1e3_f64, c in 1e-3..1e3_f64) {
            let a = DoubleDouble::from(a) / DoubleDouble::from(c);
            let b = DoubleDouble::from(b);
            prop_assert!(distance(a * b / b, a, a.value()) < 1e-30);
        }

        #[test]
        fn a_root_squares_to_its_radicand(a in 1e-3..1e3_f64, b in 1e-3..1e3_f64) {
            let a = DoubleDouble::from(a) / DoubleDouble::from(b);
            prop_assert!(distance(a.sqrt() * a.sqrt(), a, a.value()) < 1e-30);
        }
    }

    #[test]
    fn overflow_shows_and_stays() {
        let huge = DoubleDouble::from(1e300);
        let square = huge * huge;
        assert!(!square.is_finite());
        assert!(!(square + DoubleDouble::from(1.0)).is_finite());
        assert!(!DoubleDouble::difference(f64::MAX, -f64::MAX).is_finite());
    }
}
