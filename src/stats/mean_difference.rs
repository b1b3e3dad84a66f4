//! The difference between two means, or two rates, of sides whose observations come in the same clusters.
//!
//! Let `N` and `M` be the numbers of observations of the first and second side, and `x̄` and `ȳ` their means.
//! In cluster g of k, let `n(g)` and `m(g)` be the numbers of observations, and `s(g)` and `t(g)` their sums. Then
//!
//! ```text
//! d = ȳ - x̄,  e(g) = (t(g) - m(g) ȳ)/M - (s(g) - n(g) x̄)/N
//! se² = Σ e(g)² * k/(k - 1) * (N + M - 1)/(N + M - 2),  ci95 = d ± t(k - 1) se
//! ```
//!
//! se² is the cluster-robust (CR1) variance of the slope in a regression of the outcome on the side. In the
//! interval, `t(k - 1)` is the two-sided 95% quantile of Student's t, not a sum. If the clusters are
//! tasks that both sides tried, the comparison is paired by task.
//!
//! Reference: Liang & Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73
//! (1986). Oracle: `statsmodels.api.OLS(outcome, [1, side]).fit(cov_type="cluster",
//! cov_kwds={"groups": g}, use_t=True)`.

use serde::Serialize;

use super::cluster_bootstrap::{ClusterBootstrap, ClusterStatistic, cluster_bootstrap};
use super::columns::{add, check_finite};
use super::distributions::t_quantile;
use super::interval::Interval;
use super::{Resampling, StatsError, float};

/// The observations of both sides of a comparison in one cluster, such as a task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TwoSides {
    /// The number of observations of the first side, and their sum.
    pub first: (u64, f64),
    /// The number of observations of the second side, and their sum.
    pub second: (u64, f64),
}

/// The result of [`mean_difference()`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeanDifference {
    /// The mean of the first side.
    pub first: f64,
    /// The mean of the second side.
    pub second: f64,
    /// The second mean minus the first.
    pub difference: f64,
    /// The cluster-robust standard error; `None` with fewer than two clusters or three observations.
    pub se: Option<f64>,
    /// The 95% interval of the difference, from `se` and Student's t; `None` if `se` is `None`.
    pub ci95: Option<Interval>,
    /// The cluster bootstrap of the difference.
    pub bootstrap: ClusterBootstrap,
}

/// Compares the means of two sides whose observations come in the same clusters, such as tasks.
///
/// Clusters without observations are dropped. A cluster may have observations of one side only.
///
/// ```
/// use wrongturn::stats::{Resampling, TwoSides, mean_difference};
///
/// // The successes of both sides in each task, out of two runs each.
/// let tasks = [(1.0, 2.0), (0.0, 1.0), (2.0, 2.0), (1.0, 1.0), (0.0, 2.0), (1.0, 2.0)];
/// let tasks = tasks.map(|(before, after)| TwoSides { first: (2, before), second: (2, after) });
/// let found = mean_difference(&tasks, &Resampling::default())?;
/// assert_eq!((found.first, found.second), (5.0 / 12.0, 10.0 / 12.0));
/// assert!(found.ci95.unwrap().low > 0.0);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::NonFinite`] for a sum that is not finite, with the index of its cluster, [`StatsError::TooFew`] if a
/// side has no observations, and [`StatsError::InvalidArgument`] if `options` are out of range.
pub fn mean_difference(clusters: &[TwoSides], options: &Resampling) -> Result<MeanDifference, StatsError> {
    check_finite(clusters.iter().map(|cluster| (cluster.first.1, cluster.second.1)))?;
    let clusters: Vec<TwoSides> =
        clusters.iter().filter(|cluster| cluster.first.0 > 0 || cluster.second.0 > 0).copied().collect();
    let (n, m) = clusters
        .iter()
        .fold((0_u64, 0_u64), |(n, m), one| (one.first.0.saturating_add(n), one.second.0.saturating_add(m)));
    if n == 0 || m == 0 {
        return Err(StatsError::TooFew { n: 0, needed: 1 });
    }
    let mean = |sum: &dyn Fn(&TwoSides) -> f64, n| clusters.iter().map(sum).sum::<f64>() / float(n);
    let (first, second) = (mean(&|one| one.first.1, n), mean(&|one| one.second.1, m));
    let influence = |one: &TwoSides| {
        (one.second.1 - float(one.second.0) * second) / float(m)
            - (one.first.1 - float(one.first.0) * first) / float(n)
    };
    let (k, all) = (float(clusters.len() as u64), float(n.saturating_add(m)));
    let se = (k > 1.0 && all > 2.0).then(|| {
        let squares: f64 = clusters.iter().map(|one| influence(one).powi(2)).sum();
        (squares * k / (k - 1.0) * (all - 1.0) / (all - 2.0)).sqrt()
    });
    let difference = second - first;
    let ci95 = se.map(|se| {
        let half_width = t_quantile(0.95, k - 1.0) * se;
        Interval { low: difference - half_width, high: difference + half_width }
    });
    let bootstrap = cluster_bootstrap(&Sides(clusters), options)?;
    Ok(MeanDifference { first, second, difference, se, ci95, bootstrap })
}

struct Sides(Vec<TwoSides>);

impl ClusterStatistic for Sides {
    type Sums = [f64; 4];

    fn clusters(&self) -> usize {
        self.0.len()
    }

    fn nothing(&self) -> [f64; 4] {
        [0.0; 4]
    }

    fn add(&self, sums: &mut [f64; 4], cluster: usize, times: f64) {
        if let Some(TwoSides { first, second }) = self.0.get(cluster) {
            add(sums, &[float(first.0), first.1, float(second.0), second.1], times);
        }
    }

    fn value(&self, [n, x, m, y]: &[f64; 4]) -> Option<f64> {
        (*n > 0.0 && *m > 0.0).then(|| y / m - x / n)
    }
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::{Side, assert_close};
    use super::*;

    fn tasks(sums: &[(f64, f64)]) -> Vec<TwoSides> {
        sums.iter().map(|(first, second)| TwoSides { first: (2, *first), second: (2, *second) }).collect()
    }

    /// `cl = i % 12`, `arm = i//12 % 2`, `out = (i*i*7 + 3*i) % 5 < 2 + arm` for `i in range(48)`;
    /// `OLS(out, [1, arm]).fit(cov_type="cluster", cov_kwds={"groups": cl}, use_t=True)`, statsmodels 0.15.0
    #[test]
    fn agrees_with_statsmodels() {
        let sums = [(1.0, 1.0), (2.0, 1.0), (1.0, 1.0), (0.0, 1.0), (0.0, 2.0)].repeat(3);
        let found = mean_difference(&tasks(&sums[..12]), &Resampling::default()).unwrap();
        assert_close(found.difference, 0.125, 1e-15);
        assert_close(found.se.unwrap(), 0.1539646773480294, 1e-12);
        let interval = found.ci95.unwrap();
        assert_close(interval.low, -0.21387397002130992, 1e-9);
        assert_close(interval.high, 0.46387397002131014, 1e-9);
        let bootstrap = found.bootstrap.percentile.unwrap();
        assert!(bootstrap.low > -0.3 && bootstrap.low < 0.0 && bootstrap.high > 0.3, "{bootstrap:?}");
        assert_eq!(found.bootstrap.clusters, 12);
    }

    #[test]
    fn ends() {
        let usual = Resampling::default();
        let nothing = StatsError::TooFew { n: 0, needed: 1 };
        assert_eq!(mean_difference(&[], &usual), Err(nothing.clone()));
        let one_sided = TwoSides { first: (3, 1.0), second: (0, 0.0) };
        assert_eq!(mean_difference(&[one_sided], &usual), Err(nothing));
        let bad = TwoSides { first: (1, 0.0), second: (1, f64::NAN) };
        assert_eq!(mean_difference(&[bad], &usual), Err(StatsError::NonFinite { side: Side::Y, index: 0 }));
        let one = mean_difference(&tasks(&[(1.0, 2.0)]), &usual).unwrap();
        assert_eq!((one.difference, one.se, one.ci95, one.bootstrap.percentile), (0.5, None, None, None));
        // Clusters without observations do not count.
        let mut padded = tasks(&[(1.0, 2.0), (0.0, 1.0)]);
        padded.push(TwoSides::default());
        assert_eq!(mean_difference(&padded, &usual).unwrap().bootstrap.clusters, 2);
    }
}
