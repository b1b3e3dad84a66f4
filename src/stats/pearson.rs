//! Pearson's correlation coefficient with its p-value and interval.
//!
//! ```text
//! r = C / sqrt(Mx * My),  C = Σ(x - x̄)(y - ȳ),  Mx = Σ(x - x̄)²,  My = Σ(y - ȳ)²
//! p = P(|T| >= |r| * sqrt((n - 2)/(1 - r²)))    T: Student's t, n - 2 degrees of freedom
//! ci95 = tanh(artanh(r) ± 1.96/sqrt(n - 3))     Fisher's z, n > 3
//! ```
//!
//! Before squaring, columns are scaled by a power of two, which keeps squares from overflowing or vanishing.
//! They are also centred on their means, which keeps precision if all values share a large offset. An r
//! within 1e-15 of 0, 1 or -1 is set to that value, because the difference is rounding error. A
//! [`PearsonAccumulator`] sums in [fixed point](super::fixed). Because its addends are rounded, its r differs
//! from that of [`pearson`] by about 1e-13 divided by the standard deviation of the values.
//!
//! References: Pearson, "Notes on regression and inheritance in the case of two parents", Proc. R.
//! Soc. 58 (1895); Fisher, "On the probable error of a coefficient of correlation", Metron 1 (1921).
//! Oracle: `scipy.stats.pearsonr(x, y)` and its `confidence_interval()`.

use serde::{Deserialize, Serialize, Serializer};

use super::columns::{check_finite, check_lengths, deviations, pairs, scaled};
use super::distributions::{normal_quantile, two_sided_p};
use super::fixed_point::{Fixed, ProductSum, Sum};
use super::interval::Interval;
use super::{ClusteredPearson, Side, StatsError, float};

/// Minimum number of pairs. With two, r is always 1 or -1.
pub(super) const MIN_PAIRS: usize = 3;

/// A column whose variance, computed from sums, is at most this (2^-50) counts as constant. A
/// variance that small may be rounding error.
const LEAST_VARIANCE: f64 = 1.0 / 1_125_899_906_842_624.0;

/// A correlation coefficient with its p-value and interval.
///
/// Serializes as `{"r", "n", "p", "ci95": [low, high]}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Correlation {
    /// The coefficient, in [-1, 1].
    pub r: f64,
    /// The number of pairs used.
    pub n: usize,
    /// The two-sided p-value under the null hypothesis of no correlation. With three pairs and r near ±1, a
    /// change in the last digit of r can move p by some 1e-8.
    pub p: f64,
    /// The 95% interval. `None`, serialized as `[null, null]`, for fewer than four pairs; after
    /// [`within_group`](fn@super::within_group) with g groups, for fewer than g + 3.
    #[serde(serialize_with = "interval_or_nulls")]
    pub ci95: Option<Interval>,
}

/// Returns Pearson's correlation of `x` with `y`.
///
/// ```
/// use wrongturn::stats::{StatsError, pearson};
///
/// let correlation = pearson(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 4.0, 3.0])?;
/// assert_eq!((correlation.r, correlation.n), (0.6, 4));
/// assert!(correlation.p > 0.3 && correlation.ci95.is_some());
/// // Columns that cannot be correlated give an error that says why, never NaN.
/// let error = pearson(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).unwrap_err();
/// assert_eq!(error.to_string(), "x does not vary");
/// # Ok::<(), StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], [`StatsError::TooFew`] for fewer than three pairs,
/// [`StatsError::NonFinite`] and [`StatsError::ZeroVariance`], checked in this order.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    check_lengths(x, y, [])?;
    if x.len() < MIN_PAIRS {
        return Err(StatsError::TooFew { n: x.len(), needed: MIN_PAIRS });
    }
    check_finite(pairs(x, y))?;
    let (x, y) = (deviations(&scaled(x)), deviations(&scaled(y)));
    let n = float(x.len() as u64);
    let total = |values: &[f64]| values.iter().sum::<f64>();
    // Deviations sum to 0 up to rounding, which the second term removes.
    let products =
        |x: &[f64], y: &[f64]| pairs(x, y).map(|(x, y)| x * y).sum::<f64>() - total(x) * total(y) / n;
    Correlation::from_spreads(x.len(), [products(&x, &x), products(&y, &y), products(&x, &y)])
}

/// Pearson's correlation of pairs that arrive one by one, or in shards that are merged.
///
/// The result is bit-identical for every order of the pairs and every division into shards.
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
/// assert!((one.correlation()?.r - pearson(&x, &y)?.r).abs() < 1e-12);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PearsonAccumulator {
    n: u64,
    /// Σx, Σy.
    sums: [Sum; 2],
    /// Σx², Σy², Σxy.
    products: [ProductSum; 3],
}

impl PearsonAccumulator {
    /// Creates an accumulator without pairs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one pair.
    ///
    /// # Errors
    ///
    /// [`StatsError::NonFinite`] and, for values beyond ±2^20, [`StatsError::OutOfRange`]. The index is the
    /// number of pairs added before. A refused pair is not added.
    pub fn push(&mut self, x: f64, y: f64) -> Result<(), StatsError> {
        let index = self.count();
        let fixed = |side, value: f64| match Fixed::of(value) {
            Some(fixed) => Ok(fixed),
            None if value.is_finite() => Err(StatsError::OutOfRange { side, index }),
            None => Err(StatsError::NonFinite { side, index }),
        };
        let (x, y) = (fixed(Side::X, x)?, fixed(Side::Y, y)?);
        self.n = self.n.saturating_add(1);
        for (sum, value) in self.sums.iter_mut().zip([x, y]) {
            sum.add(value);
        }
        for (sum, (one, other)) in self.products.iter_mut().zip([(x, x), (y, y), (x, y)]) {
            sum.add(one, other);
        }
        Ok(())
    }

    /// Adds the pairs of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.n = self.n.saturating_add(other.n);
        for (sum, more) in self.sums.iter_mut().zip(other.sums) {
            sum.merge(more);
        }
        for (sum, more) in self.products.iter_mut().zip(other.products) {
            sum.merge(more);
        }
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn count(&self) -> usize {
        usize::try_from(self.n).unwrap_or(usize::MAX)
    }

    /// Returns the mean of x, or `None` without pairs.
    #[must_use]
    pub fn mean_x(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sums[0].value() / float(self.n))
    }

    /// Returns the mean of y, or `None` without pairs.
    #[must_use]
    pub fn mean_y(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sums[1].value() / float(self.n))
    }

    /// Returns the correlation of the pairs. A column with a standard deviation below 3e-8 counts as
    /// constant.
    ///
    /// # Errors
    ///
    /// [`StatsError::TooFew`] for fewer than three pairs, and [`StatsError::ZeroVariance`] if a column is constant.
    pub fn correlation(&self) -> Result<Correlation, StatsError> {
        if self.count() < MIN_PAIRS {
            return Err(StatsError::TooFew { n: self.count(), needed: MIN_PAIRS });
        }
        Correlation::from_spreads(self.count(), self.spreads())
    }

    /// Returns Σ(x - x̄)², Σ(y - ȳ)², Σ(x - x̄)(y - ȳ). A sum of squares that may be rounding error is 0.
    fn spreads(&self) -> [f64; 3] {
        let ([x, y], [xx, yy, xy], n) = (self.sums, self.products, self.n);
        let squares = |products: ProductSum, sum| {
            let squares = products.around_means(sum, sum, n);
            if squares > LEAST_VARIANCE * float(n) { squares } else { 0.0 }
        };
        [squares(xx, x), squares(yy, y), xy.around_means(x, y, n)]
    }

    /// Returns the correlation as a statistic for the cluster bootstrap, given the accumulator of each
    /// cluster.
    pub(crate) fn clustered(clusters: &[Self]) -> ClusteredPearson {
        let mut all = Self::default();
        for one in clusters {
            all.merge(one);
        }
        let (x_mean, y_mean) = (all.mean_x().unwrap_or(0.0), all.mean_y().unwrap_or(0.0));
        // Σ(x - a)(y - b) is the sum around the cluster's own means plus n (x̄ - a)(ȳ - b).
        let centred = |one: &Self| {
            let n = float(one.n);
            let [xx, yy, xy] = one.spreads();
            let dx = one.mean_x().unwrap_or(x_mean) - x_mean;
            let dy = one.mean_y().unwrap_or(y_mean) - y_mean;
            [n, n * dx, n * dy, xx + n * dx * dx, yy + n * dy * dy, xy + n * dx * dy]
        };
        ClusteredPearson::of_sums(clusters.iter().map(centred).collect())
    }
}

impl Correlation {
    /// Creates the correlation of `n` pairs from Σ(x - x̄)², Σ(y - ȳ)² and Σ(x - x̄)(y - ȳ).
    fn from_spreads(n: usize, [x, y, product]: [f64; 3]) -> Result<Self, StatsError> {
        for (side, squares) in [(Side::X, x), (Side::Y, y)] {
            if squares <= 0.0 {
                return Err(StatsError::ZeroVariance { side });
            }
        }
        let r = product / (x * y).sqrt();
        let nearest = r.round_ties_even();
        let r = if (r - nearest).abs() < 1e-15 { nearest + 0.0 } else { r };
        Ok(Self::of(r, n, float(n as u64) - 2.0))
    }

    /// Creates the correlation from a coefficient over `n` pairs with `dof >= 1` degrees of freedom. Adds its
    /// p-value and, if `dof > 1`, Fisher's interval.
    pub(super) fn of(r: f64, n: usize, dof: f64) -> Self {
        let r = r.clamp(-1.0, 1.0);
        let half_width = normal_quantile(0.975) / (dof - 1.0).sqrt();
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
#[expect(clippy::ref_option, reason = "the signature that serde requires")]
fn interval_or_nulls<S: Serializer>(interval: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    [interval.map(|i| i.low), interval.map(|i| i.high)].serialize(serializer)
}

#[cfg(test)]
pub(super) mod tests;
