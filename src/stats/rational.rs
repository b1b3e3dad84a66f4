//! Correctly rounded floats from exact integers.
//!
//! A result that is an exact rational number, or the root of one, is rounded once, to the nearest
//! float with ties to even, as IEEE 754 asks of a single operation: by integer division or integer
//! square root to more than 53 bits, of which the rest says only whether it is nothing.
//!
//! Reference: IEEE 754-2019, 4.3.1. Oracle: Python's `fractions.Fraction`, whose conversion to float
//! rounds correctly.
//!
//! Errors: none. What is too large is infinite.

use num_bigint::{BigInt, BigUint, Sign};

/// Bits of a quotient or root before rounding: 53, one to round by, and some to spare.
const WORKING_BITS: u64 = 58;

/// `numerator / denominator * 2^exponent`, correctly rounded; 0 where the denominator is 0.
pub(super) fn ratio(numerator: &BigInt, denominator: &BigUint, exponent: i64) -> f64 {
    let (sign, magnitude) = (numerator.sign(), numerator.magnitude());
    if sign == Sign::NoSign || denominator.bits() == 0 {
        return 0.0;
    }
    let shift = (WORKING_BITS + denominator.bits()).saturating_sub(magnitude.bits());
    let shifted = magnitude << shift;
    let quotient = &shifted / denominator;
    let inexact = &quotient * denominator != shifted;
    signed(sign, round(&quotient, inexact, exponent.saturating_sub_unsigned(shift)))
}

/// `numerator / sqrt(square)`, correctly rounded; 0 where the square is 0.
pub(super) fn ratio_to_root(numerator: &BigInt, square: &BigUint) -> f64 {
    let (sign, magnitude) = (numerator.sign(), numerator.magnitude());
    if sign == Sign::NoSign || square.bits() == 0 {
        return 0.0;
    }
    let top = magnitude * magnitude;
    let missing = (2 * WORKING_BITS + square.bits()).saturating_sub(top.bits());
    let half_shift = missing.div_ceil(2);
    let shifted = top << (2 * half_shift);
    let quotient = &shifted / square;
    let root = quotient.sqrt();
    let inexact = &root * &root * square != shifted;
    signed(sign, round(&root, inexact, 0_i64.saturating_sub_unsigned(half_shift)))
}

fn signed(sign: Sign, magnitude: f64) -> f64 {
    if sign == Sign::Minus { -magnitude } else { magnitude }
}

/// `(integer + rest) * 2^exponent` to the nearest float, where the rest is in [0, 1), and 0 unless
/// `inexact`. The integer has more than 54 bits where it is inexact.
fn round(integer: &BigUint, inexact: bool, exponent: i64) -> f64 {
    /// Exponent of the smallest float.
    const LEAST: i64 = -1074;
    /// Exponent of the last bit of the largest float.
    const GREATEST: i64 = 971;
    let bits = i64::try_from(integer.bits()).unwrap_or(i64::MAX);
    let last = exponent.saturating_add(bits - 53).max(LEAST);
    let drop = last.saturating_sub(exponent);
    let mantissa = if let Ok(drop @ 1..) = u64::try_from(drop) {
        let kept = first_word(&(integer >> drop));
        let half = integer.bit(drop - 1);
        let below = inexact || integer.trailing_zeros().is_some_and(|zeros| zeros < drop - 1);
        kept + u64::from(half && (below || kept & 1 == 1))
    } else {
        first_word(&(integer << drop.unsigned_abs()))
    };
    if mantissa == 0 {
        return 0.0;
    }
    match u64::try_from(last.saturating_sub(LEAST)) {
        // The implicit bit of the mantissa adds 1 to the exponent, as does a carry out of it.
        Ok(biased) if last <= GREATEST => f64::from_bits((biased << 52) + mantissa),
        _ => f64::INFINITY,
    }
}

fn first_word(integer: &BigUint) -> u64 {
    integer.iter_u64_digits().next().unwrap_or(0)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "to the last bit is what is claimed")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(numerator: i128, denominator: u128, exponent: i64) -> f64 {
        ratio(&numerator.into(), &denominator.into(), exponent)
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!(of(1, 1, -1074), f64::from_bits(1));
        // Half the smallest float is a tie with 0; more than half is not.
        assert_eq!(of(1, 1, -1075), 0.0);
        assert_eq!(of(3, 2, -1075), f64::from_bits(1));
        assert_eq!(of(3, 1, -1075), f64::from_bits(2));
        assert_eq!(of(1, 1, -1022), f64::MIN_POSITIVE);
        assert_eq!(of((1 << 53) - 1, 1, 971), f64::MAX);
        assert_eq!(of(-((1 << 53) - 1), 1, 971), -f64::MAX);
        // Less than half a unit above the largest rounds down to it, half a unit up.
        assert_eq!(of((1 << 55) - 3, 1, 969), f64::MAX);
        assert_eq!(of((1 << 55) - 2, 1, 969), f64::INFINITY);
        assert_eq!(of(1, 1, 1024), f64::INFINITY);
        assert_eq!(of(1, 1, i64::MAX), f64::INFINITY);
        assert_eq!(of(1, 1, i64::MIN), 0.0);
        assert_eq!((of(0, 5, 0), of(5, 0, 0)), (0.0, 0.0));
    }

    #[test]
    fn roots() {
        let root = |numerator: i64, square: u64| ratio_to_root(&numerator.into(), &square.into());
        assert_eq!(root(3, 9), 1.0);
        assert_eq!(root(-1, 4), -0.5);
        assert_eq!(root(1, 2), std::f64::consts::FRAC_1_SQRT_2);
        assert_eq!((root(0, 4), root(4, 0)), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn a_quotient_is_the_processors(a in any::<i64>(), b in 1_u64..) {
            // Operands of 53 bits are floats, and the processor divides those correctly.
            let (a, b) = (a >> 11, (b >> 11).max(1));
            #[expect(clippy::cast_precision_loss, reason = "53 bits")]
            let (x, y) = (a as f64, b as f64);
            prop_assert_eq!(of(a.into(), b.into(), 0), x / y);
        }

        #[test]
        fn a_root_is_the_processors(square in 1_u64..1 << 53) {
            #[expect(clippy::cast_precision_loss, reason = "53 bits")]
            let root = (square as f64).sqrt();
            prop_assert_eq!(ratio_to_root(&square.into(), &square.into()), root);
        }
    }
}
