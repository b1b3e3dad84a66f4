//! Exact sums that take no more room than their digits need.
//!
//! Sums and products of floats are integers times a power of two. [`ExactSum`](super::ExactSum) keeps such a number at
//! full width, which is fast and takes 560 bytes or more; where there are many sums that are seldom added to, such as
//! those of every task of a corpus, a [`Dyadic`] keeps the odd integer and the power. Adding is exact, so that any
//! order and grouping gives the same number, and a number has one form.
//!
//! [`PairTotals`] are the sums behind a correlation: the correlation has the very bits of [`pearson`](fn@super::pearson)
//! over the pairs themselves.
//!
//! Errors: a text that is no such number. Values that are not finite are not added.

use num_bigint::{BigInt, BigUint, Sign};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::clustered::{ClusteredPearson, PairSums};
use super::exact_sum::{FLOAT_UNIT, parts};
use super::pearson::{Correlation, PairIntegers};
use super::rational::ratio;
use super::{StatsError, float};

/// Exponents that a sum of products of floats can have, and bits, with room for the number of values.
const EXPONENTS: std::ops::RangeInclusive<i64> = 2 * FLOAT_UNIT..=2 * 1024 + 64;
const MOST_BITS: u64 = 4400;

/// `mantissa * 2^exponent` with an odd mantissa, or 0.
///
/// In JSON `"<hexadecimal integer>p<exponent of two>"`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dyadic {
    mantissa: BigInt,
    exponent: i64,
}

impl Dyadic {
    /// The number that a finite float is; 0 for others.
    pub(crate) fn of(value: f64) -> Self {
        if !value.is_finite() {
            return Self::default();
        }
        let (mantissa, shift) = parts(value);
        let sign = if value < 0.0 { Sign::Minus } else { Sign::Plus };
        Self {
            mantissa: BigInt::from_biguint(sign, mantissa.into()),
            exponent: FLOAT_UNIT + i64::from(shift),
        }
        .reduced()
    }

    pub(crate) fn of_count(count: u64) -> Self {
        Self { mantissa: count.into(), exponent: 0 }.reduced()
    }

    fn reduced(mut self) -> Self {
        match self.mantissa.trailing_zeros() {
            None => self.exponent = 0,
            Some(0) => {}
            Some(zeros) => {
                self.mantissa >>= zeros;
                self.exponent = self.exponent.saturating_add_unsigned(zeros);
            }
        }
        self
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if other.mantissa.sign() == Sign::NoSign {
            return;
        }
        if self.mantissa.sign() == Sign::NoSign {
            self.clone_from(other);
            return;
        }
        let exponent = self.exponent.min(other.exponent);
        let mantissa = self.in_units(exponent) + other.in_units(exponent);
        *self = Self { mantissa, exponent }.reduced();
    }

    #[must_use]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add(other);
        sum
    }

    #[must_use]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.plus(&Self { mantissa: -&other.mantissa, exponent: other.exponent })
    }

    #[must_use]
    pub(crate) fn times(&self, other: &Self) -> Self {
        let exponent = self.exponent.saturating_add(other.exponent);
        Self { mantissa: &self.mantissa * &other.mantissa, exponent }.reduced()
    }

    /// The number in units of 2^exponent, which must not be above its own.
    fn in_units(&self, exponent: i64) -> BigInt {
        &self.mantissa << u64::try_from(self.exponent.saturating_sub(exponent)).unwrap_or(0)
    }

    /// The nearest float.
    pub(crate) fn value(&self) -> f64 {
        ratio(&self.mantissa, &BigUint::from(1_u32), self.exponent)
    }

    /// The nearest float to the mean of so many values with this sum; none of no values.
    pub(crate) fn mean(&self, count: u64) -> Option<f64> {
        (count > 0).then(|| ratio(&self.mantissa, &count.into(), self.exponent))
    }
}

impl Serialize for Dyadic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:x}p{}", self.mantissa, self.exponent))
    }
}

impl<'de> Deserialize<'de> for Dyadic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = || {
            let (digits, exponent) = text.split_once('p')?;
            let exponent: i64 = exponent.parse().ok().filter(|exponent| EXPONENTS.contains(exponent))?;
            let fits = (digits.len() as u64) < MOST_BITS / 4;
            let mantissa = BigInt::parse_bytes(digits.as_bytes(), 16).filter(|_| fits)?;
            Some(Self { mantissa, exponent }.reduced())
        };
        read().ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no exact sum")))
    }
}

/// The sums of pairs of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PairTotals {
    pub(crate) n: u64,
    pub(crate) x: Dyadic,
    pub(crate) y: Dyadic,
    pub(crate) xx: Dyadic,
    pub(crate) yy: Dyadic,
    pub(crate) xy: Dyadic,
}

impl PairTotals {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n = self.n.saturating_add(other.n);
        self.x.add(&other.x);
        self.y.add(&other.y);
        self.xx.add(&other.xx);
        self.yy.add(&other.yy);
        self.xy.add(&other.xy);
    }

    /// Pearson's correlation of the pairs.
    pub(crate) fn correlation(&self) -> Result<Correlation, StatsError> {
        let pairs = PairIntegers {
            n: usize::try_from(self.n).unwrap_or(usize::MAX),
            x: self.x.in_units(FLOAT_UNIT),
            y: self.y.in_units(FLOAT_UNIT),
            xx: self.xx.in_units(2 * FLOAT_UNIT),
            yy: self.yy.in_units(2 * FLOAT_UNIT),
            xy: self.xy.in_units(2 * FLOAT_UNIT),
        };
        pairs.correlation()
    }

    /// The correlation as a statistic of the cluster bootstrap, of the sums of each cluster. They are taken around the
    /// means of all exactly, and rounded once.
    pub(crate) fn clustered(clusters: &[Self]) -> ClusteredPearson {
        let mut all = Self::default();
        for one in clusters {
            all.merge(one);
        }
        let mean = |sum: &Dyadic| Dyadic::of(sum.mean(all.n).unwrap_or(0.0));
        let (x_mean, y_mean) = (mean(&all.x), mean(&all.y));
        let centred = |one: &Self| {
            let n = Dyadic::of_count(one.n);
            // Σ(x - a)(y - b) = Σxy - aΣy - bΣx + nab
            let product = |sum: &Dyadic, (x, a): (&Dyadic, &Dyadic), (y, b): (&Dyadic, &Dyadic)| {
                sum.minus(&a.times(y)).minus(&b.times(x)).plus(&n.times(&a.times(b))).value()
            };
            let (x, y) = ((&one.x, &x_mean), (&one.y, &y_mean));
            PairSums::of([
                float(one.n),
                one.x.minus(&n.times(&x_mean)).value(),
                one.y.minus(&n.times(&y_mean)).value(),
                product(&one.xx, x, x),
                product(&one.yy, y, y),
                product(&one.xy, x, y),
            ])
        };
        ClusteredPearson::of_sums(clusters.iter().map(centred).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{ClusterStatistic, ExactSum, pearson};
    use super::*;

    fn sum(values: &[f64]) -> Dyadic {
        let mut sum = Dyadic::default();
        for value in values {
            sum.add(&Dyadic::of(*value));
        }
        sum
    }

    fn totals(pairs: &[(f64, f64)]) -> PairTotals {
        let mut totals = PairTotals::default();
        for (x, y) in pairs {
            let (x, y) = (Dyadic::of(*x), Dyadic::of(*y));
            let (xx, yy, xy) = (x.times(&x), y.times(&y), x.times(&y));
            totals.merge(&PairTotals { n: 1, x, y, xx, yy, xy });
        }
        totals
    }

    fn finite() -> impl Strategy<Value = f64> {
        any::<f64>().prop_filter("finite", |x| x.is_finite())
    }

    #[test]
    fn the_written_form_is_short_and_checked() {
        for (value, text) in [(0.0, "0p0"), (1.0, "1p0"), (-6.0, "-3p1"), (0.375, "3p-3"), (1e300, "")] {
            let json = serde_json::to_string(&Dyadic::of(value)).unwrap();
            assert!(text.is_empty() || json == format!("\"{text}\""), "{json}");
            assert_eq!(serde_json::from_str::<Dyadic>(&json).unwrap(), Dyadic::of(value));
        }
        for bad in ["", "p", "1", "xp1", "1p", "1p-9999", "1p99999999999999999999", "1p9999"] {
            assert!(serde_json::from_str::<Dyadic>(&format!("\"{bad}\"")).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<Dyadic>(&format!("\"{}p0\"", "f".repeat(2000))).is_err());
        assert_eq!(Dyadic::of(f64::NAN), Dyadic::default());
    }

    proptest! {
        #[test]
        fn sums_are_those_at_full_width(values in proptest::collection::vec(finite(), 0..40), cut in 0..40_usize) {
            let whole = sum(&values);
            let exact: ExactSum = values.iter().copied().collect();
            prop_assert_eq!(whole.value().to_bits(), exact.value().to_bits());
            prop_assert_eq!(whole.mean(exact.count()).map(f64::to_bits), exact.mean().map(f64::to_bits));
            let (left, right) = values.split_at(cut.min(values.len()));
            prop_assert_eq!(sum(right).plus(&sum(left)), whole.clone());
            prop_assert_eq!(whole.minus(&sum(right)), sum(left));
        }

        #[test]
        fn correlations_have_the_bits_of_those_of_the_pairs(
            pairs in proptest::collection::vec((-9..9_i8, prop_oneof![Just(0.0), Just(1.0), -2.0..2.0_f64]), 0..40),
        ) {
            let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|(x, y)| (f64::from(x) / 3.0, y)).collect();
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            prop_assert_eq!(totals(&pairs).correlation(), pearson(&x, &y));
            let clusters: Vec<usize> = (0..x.len()).map(|place| place / 3).collect();
            let parts: Vec<PairTotals> = pairs.chunks(3).map(totals).collect();
            let of_sums = PairTotals::clustered(&parts).estimate();
            let of_pairs = ClusteredPearson::new(&x, &y, &clusters).unwrap().estimate();
            match (of_sums, of_pairs) {
                (Some(one), Some(other)) => prop_assert!((one - other).abs() < 1e-9, "{} {}", one, other),
                (one, other) => prop_assert_eq!(one, other),
            }
        }
    }
}
