//! Linear and logistic regression with cluster-robust standard errors.
//!
//! With the design matrix X (one row per observation), weights W and residuals e,
//!
//! ```text
//! linear:   b = (X'X)⁻¹ X'y,  W = 1,  e = y - Xb
//! logistic: Newton's method from b = 0:  b += (X'WX)⁻¹ X'(y - p),  p = 1/(1 + exp(-Xb)),  W = p (1 - p),  e = y - p
//! cov(b) = c A⁻¹ (Σ s(g) s(g)') A⁻¹,  A = X'WX,  s(g) = Σ x(i) e(i) over cluster g
//! c = G/(G - 1) * (n - 1)/(n - k)   p and interval from Student's t, G - 1 degrees of freedom
//! ```
//!
//! for n observations, k columns and G clusters. X'WX is factored by Cholesky's method.
//!
//! References: McCullagh & Nelder, "Generalized linear models" (1989), section 2.5; Liang & Zeger,
//! "Longitudinal data analysis using generalized linear models", Biometrika 73 (1986); Cameron & Miller, "A
//! practitioner's guide to cluster-robust inference", J. Hum. Resour. 50 (2015). Oracle: `statsmodels` `OLS`
//! and `Logit`, each with `fit(cov_type="cluster", cov_kwds={"groups": g}, use_t=True)`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::columns::add;
use super::distributions::{t_quantile, two_sided_p};
use super::interval::Interval;
use super::{Side, StatsError, float};

/// A pivot that is at most this share of its diagonal is rounding error: the column is a linear combination
/// of earlier ones.
const COLLINEAR: f64 = 1e-10;

/// Maximum number of steps of Newton's method. It usually takes fewer than ten, unless the outcome is separated.
const MOST_STEPS: usize = 40;

/// The coefficient of one column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Effect {
    /// The change of the outcome (logistic: of its log odds) per unit of the column.
    pub estimate: f64,
    /// The cluster-robust standard error of the estimate.
    pub se: f64,
    /// The two-sided p-value under the null hypothesis that the effect is 0; 1 if both the
    /// estimate and its error are 0.
    pub p: f64,
    /// The 95% interval of the effect.
    pub ci95: Interval,
}

/// The result of [`linear_regression()`] or [`logistic_regression()`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Regression {
    /// The number of observations.
    pub n: u64,
    /// The number of clusters.
    pub clusters: u64,
    /// The effects, one per column and in the order of the columns.
    pub effects: Vec<Effect>,
}

/// Regresses `y` on the columns of `rows` by least squares. `cluster[i]` identifies the cluster of row i.
///
/// No intercept is added; to have one, include a column of ones.
///
/// ```
/// use wrongturn::stats::linear_regression;
///
/// let x: Vec<Vec<f64>> = (0..12).map(|i| vec![1.0, f64::from(i)]).collect();
/// let y: Vec<f64> = (0..12).map(|i| 2.0 + 0.5 * f64::from(i) + f64::from(i % 3) * 0.1).collect();
/// let cluster: Vec<usize> = (0..12).map(|i| i / 2).collect();
/// let found = linear_regression(&x, &y, &cluster)?;
/// assert!((found.effects[1].estimate - 0.5).abs() < 0.01);
/// assert_eq!(found.clusters, 6);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], also for rows of different lengths; [`StatsError::NonFinite`] with the
/// index of the row; [`StatsError::TooFew`] if there are no more rows than columns, or fewer than two
/// clusters; and [`StatsError::InvalidArgument`] for collinear columns.
pub fn linear_regression(rows: &[Vec<f64>], y: &[f64], cluster: &[usize]) -> Result<Regression, StatsError> {
    let design = Design::new(rows, y, cluster)?;
    let ones = vec![1.0; rows.len()];
    let factor = design.factor(&ones)?;
    let estimates = factor.solve(design.gradient(y));
    let residuals: Vec<f64> = design.predictions(&estimates).zip(y).map(|(fit, y)| y - fit).collect();
    Ok(design.regression(&factor, &estimates, &residuals))
}

/// Regresses the log odds of a yes/no outcome on the columns of `rows`, by maximum likelihood.
///
/// `exp` of an estimate is the odds ratio per unit of its column, and `exp` of the ends of its interval gives
/// the bounds of that ratio. No intercept is added; to have one, include a column of ones.
///
/// ```
/// use wrongturn::stats::logistic_regression;
///
/// // Of the 20 runs without an error, 15 succeed; of the 20 with one, 5 do.
/// let rows: Vec<Vec<f64>> = (0..40).map(|i| vec![1.0, f64::from(i / 20)]).collect();
/// let success: Vec<bool> = (0..40).map(|i| if i < 20 { i < 15 } else { i < 25 }).collect();
/// let runs: Vec<usize> = (0..40).collect();
/// let found = logistic_regression(&rows, &success, &runs)?;
/// assert!((found.effects[1].estimate.exp() - 1.0 / 9.0).abs() < 1e-9);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// Those of [`linear_regression()`], and [`StatsError::InvalidArgument`] if the columns separate yes from no,
/// which may be reported as collinear columns.
pub fn logistic_regression(
    rows: &[Vec<f64>],
    yes: &[bool],
    cluster: &[usize],
) -> Result<Regression, StatsError> {
    let y: Vec<f64> = yes.iter().map(|yes| f64::from(u8::from(*yes))).collect();
    let design = Design::new(rows, &y, cluster)?;
    let mut estimates = vec![0.0; design.columns];
    for _ in 0..MOST_STEPS {
        let chances: Vec<f64> =
            design.predictions(&estimates).map(|odds| 1.0 / (1.0 + (-odds).exp())).collect();
        let weights: Vec<f64> = chances.iter().map(|p| p * (1.0 - p)).collect();
        let residuals: Vec<f64> = chances.iter().zip(&y).map(|(p, y)| y - p).collect();
        // If the outcome is separated, weights vanish as chances approach 0 or 1, which can make this fail.
        let factor = design.factor(&weights)?;
        let step = factor.solve(design.gradient(&residuals));
        let size = |values: &[f64]| values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        if size(&step) <= 1e-12 * size(&estimates).max(1.0) {
            return Ok(design.regression(&factor, &estimates, &residuals));
        }
        for (estimate, step) in estimates.iter_mut().zip(step) {
            *estimate += step;
        }
    }
    Err(StatsError::InvalidArgument { name: "the outcome", why: "must not be separated by the columns" })
}

/// The observations of a regression.
struct Design<'d> {
    rows: &'d [Vec<f64>],
    cluster: &'d [usize],
    columns: usize,
    clusters: usize,
}

impl<'d> Design<'d> {
    fn new(rows: &'d [Vec<f64>], y: &[f64], cluster: &'d [usize]) -> Result<Self, StatsError> {
        let (n, columns) = (rows.len(), rows.first().map_or(0, Vec::len));
        let lengths = [y.len(), cluster.len()].into_iter().map(|length| (n, length));
        let widths = rows.iter().map(|row| (columns, row.len()));
        if let Some((x, y)) = lengths.chain(widths).find(|(one, other)| one != other) {
            return Err(StatsError::LengthMismatch { x, y });
        }
        for (index, (row, y)) in rows.iter().zip(y).enumerate() {
            let bad = |value: &f64| !value.is_finite();
            if row.iter().any(bad) || bad(y) {
                let side = if bad(y) { Side::Y } else { Side::X };
                return Err(StatsError::NonFinite { side, index });
            }
        }
        let mut numbers = cluster.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        for (n, needed) in [(n, columns + 1), (numbers.len(), 2)] {
            if n < needed {
                return Err(StatsError::TooFew { n, needed });
            }
        }
        Ok(Self { rows, cluster, columns, clusters: numbers.len() })
    }

    /// Returns Xb.
    fn predictions(&self, estimates: &[f64]) -> impl Iterator<Item = f64> {
        self.rows.iter().map(|row| dot(row, estimates))
    }

    /// Returns X'v.
    fn gradient(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for (row, value) in self.rows.iter().zip(values) {
            add(&mut sums, row, *value);
        }
        sums
    }

    /// Returns X'WX, factored.
    fn factor(&self, weights: &[f64]) -> Result<Factor, StatsError> {
        let mut sums = vec![vec![0.0; self.columns]; self.columns];
        for (row, weight) in self.rows.iter().zip(weights) {
            // Group indicators are mostly 0 and add nothing, so zeros are skipped.
            for (sums, value) in sums.iter_mut().zip(row).filter(|(_, value)| **value != 0.0) {
                add(sums, row, weight * value);
            }
        }
        Factor::of(sums)
    }

    fn regression(&self, factor: &Factor, estimates: &[f64], residuals: &[f64]) -> Regression {
        let mut scores: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for ((row, residual), cluster) in self.rows.iter().zip(residuals).zip(self.cluster) {
            add(scores.entry(*cluster).or_insert_with(|| vec![0.0; self.columns]), row, *residual);
        }
        let mut variances = vec![0.0; self.columns];
        for score in scores.into_values() {
            for (variance, influence) in variances.iter_mut().zip(factor.solve(score)) {
                *variance += influence * influence;
            }
        }
        let [n, k, g] = [self.rows.len(), self.columns, self.clusters].map(|count| float(count as u64));
        let correction = g / (g - 1.0) * (n - 1.0) / (n - k);
        let dof = g - 1.0;
        let t_95 = t_quantile(0.95, dof);
        let effect = |(estimate, variance): (&f64, f64)| {
            let (estimate, se) = (*estimate, (variance * correction).sqrt());
            // t / sqrt(dof + t²), which is also defined for an error of 0.
            let r = estimate / estimate.hypot(se * dof.sqrt());
            Effect {
                estimate,
                se,
                p: if r.is_nan() { 1.0 } else { two_sided_p(r, dof) },
                ci95: Interval { low: estimate - t_95 * se, high: estimate + t_95 * se },
            }
        };
        Regression {
            n: self.rows.len() as u64,
            clusters: self.clusters as u64,
            effects: estimates.iter().zip(variances).map(effect).collect(),
        }
    }
}

/// The rows of L in A = LL'. Each ends at the diagonal.
struct Factor(Vec<Vec<f64>>);

impl Factor {
    fn of(matrix: Vec<Vec<f64>>) -> Result<Self, StatsError> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
        for (place, full) in matrix.into_iter().enumerate() {
            let mut row: Vec<f64> = Vec::with_capacity(place + 1);
            for (other, value) in rows.iter().zip(&full) {
                let rest = value - dot(other, &row);
                row.push(rest / other.last().copied().unwrap_or(f64::NAN));
            }
            let diagonal = full.get(place).copied().unwrap_or(0.0);
            let pivot = diagonal - dot(&row, &row);
            if pivot.is_nan() || pivot <= COLLINEAR * diagonal {
                return Err(StatsError::InvalidArgument {
                    name: "the columns",
                    why: "must not be collinear",
                });
            }
            row.push(pivot.sqrt());
            rows.push(row);
        }
        Ok(Self(rows))
    }

    /// Solves LL'x = b: Ly = b from the top, then L'x = y from the bottom.
    fn solve(&self, mut values: Vec<f64>) -> Vec<f64> {
        for (place, row) in self.0.iter().enumerate() {
            let Some((diagonal, before)) = row.split_last() else { continue };
            let sum = dot(before, &values);
            if let Some(value) = values.get_mut(place) {
                *value = (*value - sum) / diagonal;
            }
        }
        for (place, row) in self.0.iter().enumerate().rev() {
            let Some((diagonal, before)) = row.split_last() else { continue };
            let (above, below) = values.split_at_mut(place);
            if let Some(value) = below.first_mut() {
                *value /= diagonal;
                add(above, before, -*value);
            }
        }
        values
    }
}

/// Returns the dot product over the length of the shorter operand.
fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// 120 observations in 17 clusters and three groups:
    /// `i = numpy.arange(120); u = 53*(i*i % 97) % 97 / 97; x1 = (37*i % 101)/50; x2 = (i*i*7 + 3*i) % 5;
    /// g = i % 3; X = column_stack([ones, x1, x2, g == 1, g == 2])`.
    fn sample() -> (Vec<Vec<f64>>, Vec<f64>, Vec<usize>) {
        let row = |i: u32| {
            let is = |group| f64::from(u8::from(i % 3 == group));
            vec![1.0, f64::from(37 * i % 101) / 50.0, f64::from((7 * i * i + 3 * i) % 5), is(1), is(2)]
        };
        let uniform = |i: u32| f64::from(53 * (i * i % 97) % 97) / 97.0;
        ((0..120).map(row).collect(), (0..120).map(uniform).collect(), (0..120).map(|i| i % 17).collect())
    }

    /// `(params, bse, pvalues, conf_int)`
    #[track_caller]
    fn agrees(found: &Regression, statsmodels: &[[f64; 5]]) {
        assert_eq!((found.n, found.clusters, found.effects.len()), (120, 17, statsmodels.len()));
        for (effect, expected) in found.effects.iter().zip(statsmodels) {
            let Effect { estimate, se, p, ci95 } = *effect;
            for (actual, expected) in [estimate, se, p, ci95.low, ci95.high].iter().zip(expected) {
                assert_close(*actual, *expected, 1e-9);
            }
        }
    }

    /// `OLS(0.3*x1 - 0.1*x2 + 0.2*g + u, X).fit(cov_type="cluster", cov_kwds={"groups": i % 17},
    /// use_t=True)`, statsmodels 0.15.0
    #[test]
    fn linear_agrees_with_statsmodels() {
        let (rows, uniform, cluster) = sample();
        let y = |(row, u): (&Vec<f64>, &f64)| dot(row, &[0.0, 0.3, -0.1, 0.2, 0.4]) + u;
        let y: Vec<f64> = rows.iter().zip(&uniform).map(y).collect();
        agrees(
            &linear_regression(&rows, &y, &cluster).unwrap(),
            &[
                [0.429996074388, 0.0701991345905, 1.46299842289e-5, 0.281180556969, 0.578811591807],
                [0.319870870754, 0.0497495245555, 8.32730139044e-6, 0.214406590015, 0.425335151493],
                [-0.0879048163906, 0.0163342765617, 6.11356760027e-5, -0.122531935833, -0.0532776969484],
                [0.224574544362, 0.103048886179, 0.0445985617151, 0.00612066447274, 0.443028424251],
                [0.467936072852, 0.0645798469733, 1.95470195143e-6, 0.33103291303, 0.604839232673],
            ],
        );
    }

    /// `Logit(u < 1/(1 + exp(-(0.8*x1 - 0.4*x2 + 0.5*g - 0.3))), X).fit(...)` with the same arguments
    #[test]
    fn logistic_agrees_with_statsmodels() {
        let (rows, uniform, cluster) = sample();
        let chance = |row: &Vec<f64>| 1.0 / (1.0 + (-dot(row, &[-0.3, 0.8, -0.4, 0.5, 1.0])).exp());
        let yes: Vec<bool> = rows.iter().zip(&uniform).map(|(row, u)| *u < chance(row)).collect();
        agrees(
            &logistic_regression(&rows, &yes, &cluster).unwrap(),
            &[
                [0.0350568139125, 0.471187913405, 0.941613639345, -0.963816940644, 1.03393056847],
                [0.702320948406, 0.383825826734, 0.0859763794582, -0.111353455666, 1.51599535248],
                [-0.371688639568, 0.124190244806, 0.00860605044755, -0.634960197642, -0.108417081493],
                [0.113949336311, 0.623460362264, 0.857274949261, -1.20772758951, 1.43562626213],
                [0.511107192197, 0.471352043217, 0.294282397954, -0.488114502017, 1.51032888641],
            ],
        );
    }

    #[test]
    fn effects_without_an_error_have_p_values() {
        let rows: Vec<Vec<f64>> = (0..12).map(|i| vec![1.0, f64::from(i % 4)]).collect();
        let cluster: Vec<usize> = (0..12).map(|i| i / 4).collect();
        for effect in linear_regression(&rows, &[0.0; 12], &cluster).unwrap().effects {
            assert_eq!((effect.estimate, effect.se, effect.p), (0.0, 0.0, 1.0));
        }
        // Half of each cluster succeeds.
        let ones = vec![vec![1.0]; 12];
        let yes: Vec<bool> = (0..12).map(|i| i % 2 == 0).collect();
        let found = logistic_regression(&ones, &yes, &cluster).unwrap().effects[0];
        assert_eq!((found.estimate, found.se, found.p), (0.0, 0.0, 1.0));
        let found = linear_regression(&ones, &[2.0; 12], &cluster).unwrap().effects[0];
        assert_close(found.estimate, 2.0, 1e-15);
        assert!(found.p < 1e-15, "{found:?}");
    }

    #[test]
    fn refusals() {
        let (rows, y, cluster) = sample();
        let yes: Vec<bool> = rows.iter().map(|row| row[1] > 1.0).collect();
        let error = logistic_regression(&rows, &yes, &cluster).unwrap_err();
        assert!(matches!(error, StatsError::InvalidArgument { .. }), "{error}");
        let collinear: Vec<Vec<f64>> = rows.iter().map(|row| vec![1.0, row[1], 2.0 - row[1]]).collect();
        let error = linear_regression(&collinear, &y, &cluster).unwrap_err();
        assert_eq!(error.to_string(), "the columns must not be collinear");
        let error = StatsError::TooFew { n: 5, needed: 6 };
        assert_eq!(linear_regression(&rows[..5], &y[..5], &cluster[..5]), Err(error));
        assert_eq!(linear_regression(&rows, &y, &[0; 120]), Err(StatsError::TooFew { n: 1, needed: 2 }));
        assert_eq!(
            linear_regression(&rows, &y[..9], &cluster),
            Err(StatsError::LengthMismatch { x: 120, y: 9 })
        );
        let mut ragged = rows.clone();
        ragged[7].pop();
        assert_eq!(linear_regression(&ragged, &y, &cluster), Err(StatsError::LengthMismatch { x: 5, y: 4 }));
        let mut bad = rows;
        bad[3][2] = f64::NAN;
        let error = StatsError::NonFinite { side: Side::X, index: 3 };
        assert_eq!(linear_regression(&bad, &y, &cluster), Err(error));
    }
}
