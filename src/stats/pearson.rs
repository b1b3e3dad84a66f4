//! Pearson's correlation coefficient with its p-value and interval.
//!
//! ```text
//! r = C / sqrt(Mx * My),  C = Σ(x - x̄)(y - ȳ),  Mx = Σ(x - x̄)²,  My = Σ(y - ȳ)²
//! p = P(|T| >= |r| * sqrt((n - 2)/(1 - r²)))    T: Student's t, n - 2 degrees of freedom
//! ci95 = tanh(artanh(r) ± 1.96/sqrt(n - 3))     Fisher's z, n > 3
//! ```
//!
//! Two samples are pooled by the pairwise update, with `δ` the difference of their means,
//!
//! ```text
//! M = Ma + Mb + δ² * na*nb/n,  C = Ca + Cb + δx*δy * na*nb/n
//! ```
//!
//! and one value is a sample of one. Means are kept relative to the first value and all moments in
//! [double-double](super::double_double) arithmetic: a large common offset costs no digits, exactly
//! collinear columns have `r = ±1` exactly, and how a sample is split into shards shows, if at all,
//! in the last digit.
//!
//! References: Chan, Golub & `LeVeque`, "Updating formulae and a pairwise algorithm for computing
//! sample variances" (1979) and Am. Stat. 37 (1983); Fisher, "On the probable error of a coefficient
//! of correlation", Metron 1 (1921). Oracle: `scipy.stats.pearsonr(x, y)` and its
//! `confidence_interval()`.
//!
//! Errors: columns of different length, fewer than 3 pairs, a value that is not finite, a constant
//! column, a spread whose square overflows or underflows.

use serde::{Serialize, Serializer};

use super::double_double::DoubleDouble;
use super::interval::Interval;
use super::student_t::two_sided_p;
use super::{Side, StatsError, float};

/// The least number of pairs: with two, r is always 1 or -1.
const MIN_PAIRS: usize = 3;

/// `scipy.special.ndtri(0.975)`
const Z_95: f64 = 1.959_963_984_540_054;

/// Below this sum of squared deviations, single squares lose digits to underflow.
const MIN_SQUARES: f64 = 1e-280;

/// A correlation coefficient, serialized as `{"r", "n", "p", "ci95": [low, high]}`.
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

/// The correlation of `x` with `y`.
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], [`StatsError::TooFew`] for fewer than three pairs,
/// [`StatsError::NonFinite`], [`StatsError::ZeroVariance`] and [`StatsError::OutOfRange`], in this
/// order.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    if x.len() != y.len() {
        return Err(StatsError::LengthMismatch { x: x.len(), y: y.len() });
    }
    if x.len() < MIN_PAIRS {
        return Err(StatsError::TooFew { n: x.len(), needed: MIN_PAIRS });
    }
    let mut pairs = PearsonAccumulator::default();
    for (&x, &y) in x.iter().zip(y) {
        pairs.push(x, y)?;
    }
    pairs.correlation()
}

/// [`pearson`] for pairs that arrive one by one, or in shards that are merged.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PearsonAccumulator {
    count: usize,
    x: Moments,
    y: Moments,
    comoment: DoubleDouble,
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
                return Err(StatsError::NonFinite { side, index: self.count });
            }
        }
        self.merge(&Self {
            count: 1,
            x: Moments::of_one(x),
            y: Moments::of_one(y),
            comoment: DoubleDouble::default(),
        });
        Ok(())
    }

    /// Adds the pairs of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let n_a = DoubleDouble::from(float(self.count as u64));
        let n_b = DoubleDouble::from(float(other.count as u64));
        let share = n_b / (n_a + n_b);
        let weight = n_a * share;
        let delta_x = self.x.delta(&other.x);
        let delta_y = self.y.delta(&other.y);
        self.x.pool(&other.x, delta_x, share, weight);
        self.y.pool(&other.y, delta_y, share, weight);
        self.comoment = self.comoment + other.comoment + delta_x * delta_y * weight;
        self.count = self.count.saturating_add(other.count);
    }

    /// The number of pairs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The correlation of the pairs so far.
    ///
    /// # Errors
    ///
    /// [`StatsError::TooFew`] for fewer than three pairs, [`StatsError::ZeroVariance`] and
    /// [`StatsError::OutOfRange`].
    pub fn correlation(&self) -> Result<Correlation, StatsError> {
        if self.count < MIN_PAIRS {
            return Err(StatsError::TooFew { n: self.count, needed: MIN_PAIRS });
        }
        for (side, moments) in [(Side::X, &self.x), (Side::Y, &self.y)] {
            if moments.min >= moments.max {
                return Err(StatsError::ZeroVariance { side });
            }
        }
        for (side, moments) in [(Side::X, &self.x), (Side::Y, &self.y)] {
            if !moments.squares.is_finite() || moments.squares.value() < MIN_SQUARES {
                return Err(StatsError::OutOfRange { side });
            }
        }
        let r = self.comoment / (self.x.squares.sqrt() * self.y.squares.sqrt());
        if !r.is_finite() {
            let x_is_wider = self.x.squares.value() >= self.y.squares.value();
            let side = if x_is_wider { Side::X } else { Side::Y };
            return Err(StatsError::OutOfRange { side });
        }
        let r = r.value().clamp(-1.0, 1.0);
        let n = float(self.count as u64);
        let half_width = Z_95 / (n - 3.0).sqrt();
        Ok(Correlation {
            r,
            n: self.count,
            p: two_sided_p(r, n - 2.0),
            ci95: (self.count > 3).then(|| Interval {
                low: (r.atanh() - half_width).tanh(),
                high: (r.atanh() + half_width).tanh(),
            }),
        })
    }
}

/// The moments of one column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Moments {
    /// The first value, from which the mean is measured.
    origin: f64,
    mean: DoubleDouble,
    /// The sum of squared deviations from the mean.
    squares: DoubleDouble,
    min: f64,
    max: f64,
}

impl Moments {
    fn of_one(value: f64) -> Self {
        Self { origin: value, min: value, max: value, ..Self::default() }
    }

    /// The mean of `other` less that of `self`, whatever their origins.
    fn delta(&self, other: &Self) -> DoubleDouble {
        DoubleDouble::difference(other.origin, self.origin) + other.mean - self.mean
    }

    /// Adds the values of `other`, which make up `share` of the whole.
    fn pool(&mut self, other: &Self, delta: DoubleDouble, share: DoubleDouble, weight: DoubleDouble) {
        self.mean = self.mean + delta * share;
        self.squares = self.squares + other.squares + delta * delta * weight;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// Serializes a missing interval as two nulls.
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn interval_or_nulls<S: Serializer>(interval: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    [interval.map(|i| i.low), interval.map(|i| i.high)].serialize(serializer)
}

#[cfg(test)]
mod tests;
