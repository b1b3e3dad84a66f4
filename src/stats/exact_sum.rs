//! Exact sums of floats: the same bits whatever the order, the grouping and the number of threads.
//!
//! Every float is an integer multiple of 2^-1074, and every product of two of 2^-2148. The sum is
//! kept as such an integer, in limbs of 32 bits with room for carries, so that adding and merging are
//! additions of integers, which associate and commute. Only [`ExactSum::value`] and
//! [`ExactSum::mean`] round, once and correctly: the mean of 1e308 and 1e308 is 1e308.
//!
//! Reference: Kulisch, "Computer arithmetic and validity" (2013), chapter 8 (the long accumulator);
//! Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571. Oracle:
//! Python's `fractions.Fraction` and `math.fsum`.
//!
//! Errors: none. Floats that are not finite are not added, and the answer says so.

use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rational::ratio;

/// Limbs of a sum of floats: 2^-1074 to 2^1024, and 64 bits for their number.
const FLOAT_LIMBS: usize = 69;

/// Limbs of a sum of products of two floats.
const PRODUCT_LIMBS: usize = 136;

/// Exponent of the unit of a sum of floats.
pub(super) const FLOAT_UNIT: i64 = -1074;

/// Additions after which carries are taken: each adds less than 2^33 to a limb of 63 bits.
const CARRY_EVERY: u32 = 1 << 28;

/// An exact sum of floats, whose bits depend neither on order nor on grouping.
///
/// In JSON the sum as text, `<hexadecimal integer>p<exponent of two>`, and the count.
///
/// ```
/// use wrongturn::stats::ExactSum;
///
/// let sum: ExactSum = [1e308, 1e-300, 1e308, -1e308].into_iter().collect();
/// assert_eq!(sum.value(), 1e308);
/// let rewards: ExactSum = [1e308, 1e308].into_iter().collect();
/// assert_eq!(rewards.mean(), Some(1e308));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactSum {
    count: u64,
    sum: Limbs<FLOAT_LIMBS>,
}

impl ExactSum {
    /// Adds a value; `false`: it is not finite and has not been added.
    pub fn add(&mut self, value: f64) -> bool {
        if value.is_finite() {
            let (mantissa, shift) = parts(value);
            self.sum.add(value < 0.0, mantissa.into(), shift);
            self.count = self.count.saturating_add(1);
        }
        value.is_finite()
    }

    /// Adds the values of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
        self.count = self.count.saturating_add(other.count);
    }

    /// How many values were added.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum, rounded to the nearest float; infinite where it exceeds the largest.
    #[must_use]
    pub fn value(&self) -> f64 {
        ratio(&self.sum.integer(), &BigUint::from(1_u32), FLOAT_UNIT)
    }

    /// The mean, rounded to the nearest float; none of no values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| ratio(&self.sum.integer(), &self.count.into(), FLOAT_UNIT))
    }

    /// The sum in units of 2^-1074.
    pub(super) fn integer(&self) -> BigInt {
        self.sum.integer()
    }
}

impl fmt::Debug for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExactSum({:e} of {})", self.value(), self.count)
    }
}

impl FromIterator<f64> for ExactSum {
    /// The sum of the finite values.
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = Self::default();
        for value in values {
            sum.add(value);
        }
        sum
    }
}

/// An exact sum of products of two floats.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ExactProducts(Limbs<PRODUCT_LIMBS>);

impl ExactProducts {
    /// Adds the product of two finite values.
    pub(super) fn add(&mut self, x: f64, y: f64) {
        let ((x_mantissa, x_shift), (y_mantissa, y_shift)) = (parts(x), parts(y));
        let negative = (x < 0.0) != (y < 0.0);
        self.0.add(negative, u128::from(x_mantissa) * u128::from(y_mantissa), x_shift + y_shift);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The sum in units of 2^-2148.
    pub(super) fn integer(&self) -> BigInt {
        self.0.integer()
    }
}

impl fmt::Debug for ExactProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExactProducts({})", self.0.text())
    }
}

/// A finite float in units of 2^-1074.
pub(super) fn integer_of(value: f64) -> BigInt {
    let (mantissa, shift) = parts(value);
    let sign = if value < 0.0 { Sign::Minus } else { Sign::Plus };
    BigInt::from_biguint(sign, BigUint::from(mantissa) << shift)
}

/// The mantissa of a finite float, and how far it is shifted above 2^-1074.
pub(super) fn parts(value: f64) -> (u64, u32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match u32::try_from((bits >> 52) & 0x7ff).unwrap_or(0) {
        0 => (fraction, 0),
        exponent => (fraction | 1 << 52, exponent - 1),
    }
}

/// An integer in limbs of 32 bits, the lowest first. Each limb holds more than its 32 bits and a sign
/// of its own until carries are taken.
#[derive(Clone)]
struct Limbs<const N: usize> {
    limbs: [i64; N],
    /// Additions since carries were taken.
    added: u32,
}

impl<const N: usize> Default for Limbs<N> {
    fn default() -> Self {
        Self { limbs: [0; N], added: 0 }
    }
}

impl<const N: usize> Limbs<N> {
    /// Adds `±integer * 2^shift`.
    fn add(&mut self, negative: bool, integer: u128, shift: u32) {
        let (first, offset) = ((shift / 32) as usize, shift % 32);
        let mut rest = integer;
        let mut carry = 0_i64;
        for limb in self.limbs.iter_mut().skip(first) {
            if rest == 0 && carry == 0 {
                break;
            }
            let word = i64::from(low_word(rest)) << offset;
            let part = (word & 0xffff_ffff) + carry;
            carry = word >> 32;
            rest >>= 32;
            *limb += if negative { -part } else { part };
        }
        self.added += 1;
        if self.added >= CARRY_EVERY {
            self.carry();
        }
    }

    fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (limb, more) in self.limbs.iter_mut().zip(&other.limbs) {
            *limb += more;
        }
        self.added = 1;
    }

    /// Brings every limb but the highest into [0, 2^32): the one form that an integer has.
    fn carry(&mut self) {
        let mut carry = 0;
        if let Some((last, others)) = self.limbs.split_last_mut() {
            for limb in others {
                let value = *limb + carry;
                *limb = value & 0xffff_ffff;
                carry = value >> 32;
            }
            *last += carry;
        }
        self.added = 0;
    }

    fn integer(&self) -> BigInt {
        let mut canonical = self.clone();
        canonical.carry();
        let Some((highest, others)) = canonical.limbs.split_last() else { return BigInt::ZERO };
        let digits = others.iter().map(|limb| u32::try_from(*limb).unwrap_or(0)).collect();
        BigInt::from_biguint(Sign::Plus, BigUint::new(digits)) + (BigInt::from(*highest) << (32 * (N - 1)))
    }

    /// `<hexadecimal odd integer>p<exponent>`, in the unit of the limbs.
    fn text(&self) -> String {
        let integer = self.integer();
        let zeros = integer.trailing_zeros().unwrap_or(0);
        format!("{:x}p{zeros}", integer >> zeros)
    }

    fn parse(text: &str) -> Option<Self> {
        let (digits, zeros) = text.split_once('p')?;
        let zeros: usize = zeros.parse().ok()?;
        let integer = BigInt::parse_bytes(digits.as_bytes(), 16)?;
        // The highest limb keeps 31 of its bits free, so that sums of read sums cannot overflow it.
        if zeros >= 32 * N || integer.bits() + zeros as u64 >= 32 * N as u64 {
            return None;
        }
        let negative = integer.sign() == Sign::Minus;
        let mut limbs = Self::default();
        for (limb, digit) in limbs.limbs.iter_mut().zip((integer.magnitude() << zeros).iter_u32_digits()) {
            *limb = if negative { -i64::from(digit) } else { i64::from(digit) };
        }
        limbs.carry();
        Some(limbs)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lowest 32 bits are meant")]
fn low_word(integer: u128) -> u32 {
    integer as u32
}

impl<const N: usize> PartialEq for Limbs<N> {
    fn eq(&self, other: &Self) -> bool {
        let (mut one, mut another) = (self.clone(), other.clone());
        one.carry();
        another.carry();
        one.limbs == another.limbs
    }
}

impl<const N: usize> Eq for Limbs<N> {}

impl<const N: usize> Serialize for Limbs<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de, const N: usize> Deserialize<'de> for Limbs<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no exact sum")))
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "to the last bit is what is claimed")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> ExactSum {
        values.iter().copied().collect()
    }

    /// `math.fsum`, Python 3.11
    #[test]
    fn agrees_with_python() {
        assert_eq!(of(&[0.1; 10]).value(), 1.0);
        assert_eq!(of(&[1e100, 1.0, -1e100, 1e-5]).value(), 1.00001);
        assert_eq!(of(&[1e16, 1.0, 1e-16]).value(), 10_000_000_000_000_002.0);
        assert_eq!(of(&[f64::from_bits(1); 3]).value(), f64::from_bits(3));
        assert_eq!(of(&[f64::MAX, f64::MAX, -f64::MAX]).value(), f64::MAX);
    }

    #[test]
    fn means_do_not_overflow() {
        assert_eq!(of(&[1e308, 1e308]).mean(), Some(1e308));
        assert_eq!(of(&[f64::MAX; 1000]).mean(), Some(f64::MAX));
        assert_eq!(of(&[f64::MAX; 2]).value(), f64::INFINITY);
        assert_eq!(of(&[-f64::MAX, f64::MAX]).mean(), Some(0.0));
        assert_eq!(of(&[]).mean(), None);
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let mut sum = of(&[1.0]);
        assert!(!sum.add(f64::NAN) && !sum.add(f64::INFINITY) && sum.add(2.0));
        assert_eq!((sum.count(), sum.value()), (2, 3.0));
    }

    #[test]
    fn the_written_form_is_short_and_checked() {
        let sum = of(&[1.5, -4.0]);
        let json = serde_json::to_string(&sum).unwrap();
        assert_eq!(json, r#"{"count":2,"sum":"-5p1073"}"#);
        assert_eq!(serde_json::from_str::<ExactSum>(&json).unwrap(), sum);
        for bad in ["", "5", "p", "5p", "xp1", "5p-1", "1p3000", "1p99999999999999999999", "5p1 "] {
            let json = format!(r#"{{"count":1,"sum":"{bad}"}}"#);
            assert!(serde_json::from_str::<ExactSum>(&json).is_err(), "{bad}");
        }
    }

    #[test]
    fn carries_are_taken_in_time() {
        let mut sum = Limbs::<4> { added: CARRY_EVERY - 2, ..Limbs::default() };
        for _ in 0..4 {
            sum.add(false, u64::MAX.into(), 31);
        }
        assert_eq!(sum.integer(), (BigInt::from(u64::MAX) * 4) << 31_u32);
    }

    proptest! {
        #[test]
        fn order_and_grouping_do_not_show(
            values in proptest::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 0..60),
            cut in 0..60_usize,
        ) {
            let whole = of(&values);
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged = of(right);
            merged.merge(&of(left));
            prop_assert_eq!(&merged, &whole);
            prop_assert_eq!(merged.value().to_bits(), whole.value().to_bits());
            let reversed: ExactSum = values.iter().rev().copied().collect();
            prop_assert_eq!(&reversed, &whole);
            let json = serde_json::to_string(&whole).unwrap();
            prop_assert_eq!(serde_json::from_str::<ExactSum>(&json).unwrap(), whole);
        }

        #[test]
        fn one_value_is_itself(value in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            prop_assert_eq!(of(&[value]).value(), value);
            prop_assert_eq!(of(&[value; 3]).mean(), Some(value));
        }

        #[test]
        fn two_values_add_as_the_processor_adds(x in -1e300..1e300_f64, y in -1e-300..1e300_f64) {
            prop_assert_eq!(of(&[x, y]).value(), x + y);
        }

        #[test]
        fn products_are_exact(x in -1e100..1e100_f64, y in -1e100..1e100_f64) {
            let mut sum = ExactProducts::default();
            sum.add(x, y);
            prop_assert_eq!(ratio(&sum.integer(), &1_u32.into(), 2 * FLOAT_UNIT), x * y);
            sum.add(-x, y);
            prop_assert_eq!(sum, ExactProducts::default());
        }
    }
}
