//! Pearson's correlation coefficient with its p-value and interval.
//!
//! ```text
//! r = C / sqrt(Mx * My),  C = Σ(x - x̄)(y - ȳ),  Mx = Σ(x - x̄)²,  My = Σ(y - ȳ)²
//! p = P(|T| >= |r| * sqrt((n - 2)/(1 - r²)))    T: Student's t, n - 2 degrees of freedom
//! ci95 = tanh(artanh(r) ± 1.96/sqrt(n - 3))     Fisher's z, n > 3
//! ```
//!
//! Sums, squares and products are [exact](super::exact_sum), and r is rounded once, correctly, from
//!
//! ```text
//! r = sign(C) * sqrt(C² / (Mx * My)),  n*C = n*Σxy - Σx*Σy,  n*M = n*Σx² - (Σx)²
//! ```
//!
//! in integers: a common offset costs no digits, no value is too large or too small, exactly collinear
//! columns have `r = ±1` exactly, and how a sample is split into shards cannot show in any bit.
//!
//! References: Pearson, "Notes on regression and inheritance in the case of two parents", Proc. R.
//! Soc. 58 (1895); Fisher, "On the probable error of a coefficient of correlation", Metron 1 (1921).
//! Oracle: `scipy.stats.pearsonr(x, y)` and its `confidence_interval()`.
//!
//! Errors: columns of different length, fewer than 3 pairs, a value that is not finite, a constant
//! column.

use num_bigint::{BigInt, Sign};
use serde::{Deserialize, Serialize, Serializer};

use super::columns::check_lengths;
use super::exact_sum::{ExactProducts, ExactSum};
use super::interval::Interval;
use super::rational::ratio_to_root;
use super::student_t::two_sided_p;
use super::{Side, StatsError, float};

/// The least number of pairs: with two, r is always 1 or -1.
pub(super) const MIN_PAIRS: usize = 3;

/// `scipy.special.ndtri(0.975)`
const Z_95: f64 = 1.959_963_984_540_054;

/// A correlation coefficient with its p-value and interval.
///
/// In JSON `{"r", "n", "p", "ci95": [low, high]}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Correlation {
    /// The coefficient, in [-1, 1].
    pub r: f64,
    /// The number of pairs.
    pub n: usize,
    /// The two-sided p-value of no correlation. As a function of r it is steepest at ±1: with three
    /// pairs a change of r in its last digit moves p by up to 1e-8.
    pub p: f64,
    /// The 95% interval; `None`, serialized as `[null, null]`, for fewer than four pairs.
    #[serde(serialize_with = "interval_or_nulls")]
    pub ci95: Option<Interval>,
}

/// Pearson's correlation of `x` with `y`.
///
/// ```
/// use wrongturn::stats::{StatsError, pearson};
///
/// let correlation = pearson(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 4.0, 3.0])?;
/// assert_eq!((correlation.r, correlation.n), (0.6, 4));
/// assert!(correlation.p > 0.3 && correlation.ci95.is_some());
/// // What cannot be correlated is an error that says why, never NaN.
/// let error = pearson(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).unwrap_err();
/// assert_eq!(error.to_string(), "all values of x are equal");
/// # Ok::<(), StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], [`StatsError::TooFew`] for fewer than three pairs,
/// [`StatsError::NonFinite`] and [`StatsError::ZeroVariance`], in this order.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    check_lengths(x, y, [])?;
    if x.len() < MIN_PAIRS {
        return Err(StatsError::TooFew { n: x.len(), needed: MIN_PAIRS });
    }
    let mut pairs = PearsonAccumulator::default();
    for (&x, &y) in x.iter().zip(y) {
        pairs.push(x, y)?;
    }
    pairs.correlation()
}

/// Pearson's correlation of pairs that arrive one by one, or in shards that are merged.
///
/// The result has the same bits as that of [`pearson`] in any order and from any partition. The JSON form holds the sums
/// exactly.
///
/// ```
/// use wrongturn::stats::{PearsonAccumulator, pearson};
///
/// let (x, y) = ([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 4.0, 3.0]);
/// let (mut one, mut other) = (PearsonAccumulator::new(), PearsonAccumulator::new());
/// for (place, (x, y)) in x.into_iter().zip(y).enumerate() {
///     let shard = if place % 2 == 0 { &mut one } else { &mut other };
///     shard.push(x, y)?;
/// }
/// one.merge(&other);
/// assert_eq!(one.correlation()?, pearson(&x, &y)?);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PearsonAccumulator {
    x: ExactSum,
    y: ExactSum,
    xx: ExactProducts,
    yy: ExactProducts,
    xy: ExactProducts,
}

impl PearsonAccumulator {
    /// An accumulator without pairs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one pair.
    ///
    /// # Errors
    ///
    /// [`StatsError::NonFinite`], with the number of pairs so far as index; the pair is not added.
    pub fn push(&mut self, x: f64, y: f64) -> Result<(), StatsError> {
        for (side, value) in [(Side::X, x), (Side::Y, y)] {
            if !value.is_finite() {
                return Err(StatsError::NonFinite { side, index: self.count() });
            }
        }
        self.x.add(x);
        self.y.add(y);
        self.xx.add(x, x);
        self.yy.add(y, y);
        self.xy.add(x, y);
        Ok(())
    }

    /// Adds the pairs of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.x.merge(&other.x);
        self.y.merge(&other.y);
        self.xx.merge(&other.xx);
        self.yy.merge(&other.yy);
        self.xy.merge(&other.xy);
    }

    /// The number of pairs.
    #[must_use]
    pub fn count(&self) -> usize {
        usize::try_from(self.x.count()).unwrap_or(usize::MAX)
    }

    /// The mean of x; none without pairs.
    #[must_use]
    pub fn mean_x(&self) -> Option<f64> {
        self.x.mean()
    }

    /// The mean of y; none without pairs.
    #[must_use]
    pub fn mean_y(&self) -> Option<f64> {
        self.y.mean()
    }

    /// The correlation of the pairs so far.
    ///
    /// # Errors
    ///
    /// [`StatsError::TooFew`] for fewer than three pairs and [`StatsError::ZeroVariance`].
    pub fn correlation(&self) -> Result<Correlation, StatsError> {
        let pairs = PairIntegers {
            n: self.count(),
            x: self.x.integer(),
            y: self.y.integer(),
            xx: self.xx.integer(),
            yy: self.yy.integer(),
            xy: self.xy.integer(),
        };
        pairs.correlation()
    }
}

/// The sums of pairs as integers: of values in units of 2^-1074, of products in units of 2^-2148.
#[derive(Debug)]
pub(super) struct PairIntegers {
    pub(super) n: usize,
    pub(super) x: BigInt,
    pub(super) y: BigInt,
    pub(super) xx: BigInt,
    pub(super) yy: BigInt,
    pub(super) xy: BigInt,
}

impl PairIntegers {
    /// The correlation, which any common change of the units leaves alone.
    pub(super) fn correlation(&self) -> Result<Correlation, StatsError> {
        let Self { n, x, y, .. } = self;
        let n = *n;
        if n < MIN_PAIRS {
            return Err(StatsError::TooFew { n, needed: MIN_PAIRS });
        }
        let deviations =
            |products: &BigInt, one: &BigInt, other: &BigInt| products * BigInt::from(n) - one * other;
        let (x_squares, y_squares) = (deviations(&self.xx, x, x), deviations(&self.yy, y, y));
        for (side, squares) in [(Side::X, &x_squares), (Side::Y, &y_squares)] {
            // Never negative but in a form that was not written by this crate.
            if squares.sign() != Sign::Plus {
                return Err(StatsError::ZeroVariance { side });
            }
        }
        let square = x_squares.magnitude() * y_squares.magnitude();
        let r = ratio_to_root(&deviations(&self.xy, x, y), &square);
        Ok(Correlation::of(r, n, float(n as u64) - 2.0))
    }
}

impl Correlation {
    /// What follows from a coefficient that was taken over `n` observations and left `dof` degrees of
    /// freedom, at least 1: its p-value, and Fisher's interval where more than one is left.
    pub(super) fn of(r: f64, n: usize, dof: f64) -> Self {
        let r = r.clamp(-1.0, 1.0);
        let half_width = Z_95 / (dof - 1.0).sqrt();
        Self {
            r,
            n,
            p: two_sided_p(r, dof),
            ci95: (dof > 1.0).then(|| Interval {
                low: (r.atanh() - half_width).tanh(),
                high: (r.atanh() + half_width).tanh(),
            }),
        }
    }
}

/// Serializes a missing interval as two nulls.
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn interval_or_nulls<S: Serializer>(interval: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    [interval.map(|i| i.low), interval.map(|i| i.high)].serialize(serializer)
}

#[cfg(test)]
pub(super) mod tests;
