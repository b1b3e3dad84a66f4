//! The cluster bootstrap: intervals for observations that come in clusters, such as the runs of one task.
//!
//! Each resample draws n of the n clusters with replacement and includes all observations of each. The
//! statistic is a function of sums over clusters, so a resample costs one addition of sums per drawn cluster,
//! whatever the number of observations.
//!
//! ```text
//! percentile: the (1 - c)/2 and (1 + c)/2 quantiles of the B values (Hyndman & Fan type 7)
//! BCa: the quantiles Φ(z0 + (z0 + z)/(1 - a (z0 + z))) for z = Φ⁻¹((1 - c)/2), Φ⁻¹((1 + c)/2), with
//!   z0 = Φ⁻¹(share of values below the estimate, ties counted as half)
//!   a  = Σ U³ / (6 (Σ U²)^(3/2)),  U(i) = mean of θ(-j) - θ(-i), where θ(-i) leaves out cluster i
//! ```
//!
//! With few clusters, both are too narrow. The widened interval compensates with other probabilities:
//!
//! ```text
//! widened: the α and 1 - α quantiles, α = Φ(-sqrt(k/(k - 1)) t),
//!   t = the (1 + c)/2 quantile of Student's t with k - 1 degrees of freedom
//! ```
//!
//! for k clusters. This replaces the normal distribution with Student's t and undoes the factor by which
//! resampling understates a variance. `cargo run --release -p wrongturn-benches --bin coverage` simulates how
//! often each of the three intervals covers the true value.
//!
//! References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Davison & Hinkley,
//! "Bootstrap methods and their application" (1997), section 3.8 (clusters); Cameron, Gelbach & Miller,
//! "Bootstrap-based improvements for inference with clustered errors", Rev. Econ. Stat. 90 (2008) (few
//! clusters); Hesterberg, "What teachers should know about the bootstrap", Am. Stat. 69 (2015) (widened).
//! Oracle: `scipy.stats.bootstrap` with clusters of one.

use rayon::prelude::*;
use serde::Serialize;

use super::distributions::{normal_cdf, normal_quantile, t_quantile};
use super::interval::Interval;
use super::quantile::quantile;
use super::rng::Rng;
use super::{Resampling, StatsError, float};

/// Minimum number of clusters for a widened interval. Fewer clusters allow too few distinct resamples.
const MIN_WIDENED: usize = 5;

/// The widened interval is omitted if at least one in this many resamples is undefined.
const MOST_UNDEFINED: u64 = 100;

/// A statistic of sums over clusters, for [`cluster_bootstrap()`].
///
/// This module provides [`ClusteredPearson`](super::ClusteredPearson) and others. A statistic of your own:
///
/// ```
/// use wrongturn::stats::{ClusterStatistic, Resampling, cluster_bootstrap};
///
/// /// The success rate over tasks, each given by its number of runs and its number of successes.
/// struct SuccessRate(Vec<(f64, f64)>);
///
/// impl ClusterStatistic for SuccessRate {
///     type Sums = (f64, f64);
///
///     fn clusters(&self) -> usize {
///         self.0.len()
///     }
///
///     fn nothing(&self) -> (f64, f64) {
///         (0.0, 0.0)
///     }
///
///     fn add(&self, sums: &mut (f64, f64), cluster: usize, times: f64) {
///         if let Some((runs, successes)) = self.0.get(cluster) {
///             sums.0 += times * runs;
///             sums.1 += times * successes;
///         }
///     }
///
///     fn value(&self, (runs, successes): &(f64, f64)) -> Option<f64> {
///         (*runs > 0.0).then(|| successes / runs)
///     }
/// }
///
/// let successes = [4.0, 0.0, 3.0, 4.0, 1.0, 2.0];
/// let tasks = SuccessRate(successes.map(|successes| (4.0, successes)).into());
/// let found = cluster_bootstrap(&tasks, &Resampling::default())?;
/// assert_eq!(found.estimate, Some(14.0 / 24.0));
/// assert!(found.widened.unwrap().low < 0.4, "six tasks leave much uncertainty");
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
pub trait ClusterStatistic: Sync {
    /// The sums from which the statistic is computed.
    type Sums: Clone + Send + Sync;

    /// Returns the number of clusters.
    fn clusters(&self) -> usize;

    /// Returns the sums over zero clusters.
    fn nothing(&self) -> Self::Sums;

    /// Adds `times` times the sums of `cluster` to `sums`. The jackknife passes -1 to remove a cluster. An
    /// index that is out of range adds nothing.
    fn add(&self, sums: &mut Self::Sums, cluster: usize, times: f64);

    /// Returns the statistic, or `None` if it is undefined.
    fn value(&self, sums: &Self::Sums) -> Option<f64>;

    /// Returns the statistic over all clusters, or `None` if it is undefined.
    fn estimate(&self) -> Option<f64> {
        self.value(&all(self))
    }
}

/// The result of [`cluster_bootstrap()`]: a statistic with its intervals.
///
/// Without an estimate, nothing is resampled and every interval is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct ClusterBootstrap {
    /// The statistic over all clusters; `None` if it is undefined or not finite.
    pub estimate: Option<f64>,
    /// The percentile interval; `None` with fewer than two clusters, or if no resample has a value.
    pub percentile: Option<Interval>,
    /// The bias-corrected and accelerated interval; `None` if the correction is undefined.
    pub bca: Option<Interval>,
    /// The percentile interval, widened to allow for the number of clusters. Of the three, its coverage is
    /// closest to its level. `None` with fewer than five clusters, or if the statistic was undefined on 1% of
    /// the resamples or more: the variation then lies in a few clusters, and the resamples that contain them
    /// are biased.
    pub widened: Option<Interval>,
    /// The number of clusters.
    pub clusters: u64,
    /// The number of resamples drawn; 0 with fewer than two clusters.
    pub resamples: u64,
    /// The number of resamples on which the statistic was undefined. The intervals exclude them.
    pub undefined: u64,
}

/// Returns intervals for a statistic of observations that come in clusters, resampling whole clusters.
///
/// [`ClusteredPearson`](super::ClusteredPearson) and [`ClusterStatistic`] have examples.
///
/// # Errors
///
/// [`StatsError::InvalidArgument`] if `options` are out of range.
pub fn cluster_bootstrap<S: ClusterStatistic>(
    statistic: &S,
    options: &Resampling,
) -> Result<ClusterBootstrap, StatsError> {
    let Resampling { resamples, seed, confidence } = options.checked()?;
    let clusters = statistic.clusters();
    let estimate = statistic.estimate().filter(|value| value.is_finite());
    let mut result = ClusterBootstrap { estimate, clusters: clusters as u64, ..ClusterBootstrap::default() };
    let (Some(estimate), 2..) = (estimate, clusters) else { return Ok(result) };
    let values = resampled(statistic, resamples, seed);
    let tail = (1.0 - confidence) / 2.0;
    let between = |low, high| Some(Interval { low: quantile(&values, low)?, high: quantile(&values, high)? });
    result.resamples = resamples as u64;
    result.undefined = (resamples - values.len()) as u64;
    let wider = widened_tail(confidence, clusters);
    result.percentile = between(tail, 1.0 - tail);
    result.bca = acceleration(&jackknife(statistic))
        .and_then(|a| bca_levels(&values, estimate, a, tail))
        .and_then(|(low, high)| between(low, high));
    let is_defined = result.undefined.saturating_mul(MOST_UNDEFINED) < result.resamples;
    result.widened = (clusters >= MIN_WIDENED && is_defined).then(|| between(wider, 1.0 - wider)).flatten();
    Ok(result)
}

/// Returns the sorted values of the resamples on which the statistic is defined and finite.
fn resampled<S: ClusterStatistic>(statistic: &S, resamples: usize, seed: u64) -> Vec<f64> {
    let (clusters, nothing) = (statistic.clusters(), statistic.nothing());
    let drawn: Vec<Option<f64>> = (0..resamples)
        .into_par_iter()
        .with_min_len(16)
        .map_init(
            || nothing.clone(),
            |sums, number| {
                sums.clone_from(&nothing);
                let mut rng = Rng::stream(seed, number as u64);
                for _ in 0..clusters {
                    let cluster = usize::try_from(rng.below(clusters as u64)).unwrap_or(usize::MAX);
                    statistic.add(sums, cluster, 1.0);
                }
                statistic.value(sums).filter(|value| value.is_finite())
            },
        )
        .collect();
    let mut values: Vec<f64> = drawn.into_iter().flatten().collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn all<S: ClusterStatistic + ?Sized>(statistic: &S) -> S::Sums {
    let mut sums = statistic.nothing();
    for cluster in 0..statistic.clusters() {
        statistic.add(&mut sums, cluster, 1.0);
    }
    sums
}

/// Returns the statistic without each cluster in turn, or nothing if one of these values
/// is undefined; the BCa interval is then `None`.
fn jackknife<S: ClusterStatistic>(statistic: &S) -> Vec<f64> {
    let all = all(statistic);
    let without: Option<Vec<f64>> = (0..statistic.clusters())
        .into_par_iter()
        .with_min_len(64)
        .map_init(
            || all.clone(),
            |sums, cluster| {
                sums.clone_from(&all);
                statistic.add(sums, cluster, -1.0);
                statistic.value(sums).filter(|value| value.is_finite())
            },
        )
        .collect();
    without.unwrap_or_default()
}

/// Returns the acceleration, or `None` if the values do not vary or there are none.
fn acceleration(jackknife: &[f64]) -> Option<f64> {
    let mean = jackknife.iter().sum::<f64>() / float(jackknife.len() as u64);
    let (squares, cubes) = jackknife.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let u = mean - value;
        (squares + u * u, cubes + u * u * u)
    });
    let a = cubes / (6.0 * squares * f64::sqrt(squares));
    a.is_finite().then_some(a)
}

fn widened_tail(confidence: f64, clusters: usize) -> f64 {
    let k = float(clusters as u64);
    normal_cdf(-(k / (k - 1.0)).sqrt() * t_quantile(confidence, k - 1.0))
}

/// Returns the probabilities of the quantiles that bound the bias-corrected and accelerated interval, or
/// `None` if the correction is undefined.
fn bca_levels(values: &[f64], estimate: f64, acceleration: f64, tail: f64) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let below = values.partition_point(|value| *value < estimate);
    let up_to = values.partition_point(|value| *value <= estimate);
    let z0 = normal_quantile(float((below + up_to) as u64) / (2.0 * float(values.len() as u64)));
    let level = |z: f64| {
        let shifted = z0 + z;
        let level = normal_cdf(z0 + shifted / (1.0 - acceleration * shifted));
        (z0.is_finite() && level.is_finite() && acceleration * shifted < 1.0).then_some(level)
    };
    let z = normal_quantile(tail);
    Some((level(z)?, level(-z)?))
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use super::super::assert_close;
    use super::super::pearson::tests::gen_x;
    use super::*;

    /// The root mean square, with one observation per cluster.
    struct RootMeanSquare(Vec<f64>);

    impl ClusterStatistic for RootMeanSquare {
        type Sums = (f64, f64);

        fn clusters(&self) -> usize {
            self.0.len()
        }

        fn nothing(&self) -> (f64, f64) {
            (0.0, 0.0)
        }

        fn add(&self, sums: &mut (f64, f64), cluster: usize, times: f64) {
            if let Some(value) = self.0.get(cluster) {
                sums.0 += times;
                sums.1 += times * value * value;
            }
        }

        fn value(&self, sums: &(f64, f64)) -> Option<f64> {
            (sums.0 > 0.0).then(|| (sums.1 / sums.0).sqrt())
        }
    }

    /// `scipy.stats._resampling._bca_interval((X(40),), rms, -1, 0.025, theta, 100, numpy)`, with
    /// `theta = [(i*i*37 % 1009)/100 + 3 for i in range(500)]`, scipy 1.17.1.
    #[test]
    fn the_correction_agrees_with_scipy() {
        let statistic = RootMeanSquare(gen_x(40, 0.0));
        let a = acceleration(&jackknife(&statistic)).unwrap();
        assert_close(a, 0.017773354470986075, 1e-12);
        let estimate = statistic.estimate().unwrap();
        assert_close(estimate, 8.274006506733565, 1e-12);
        let mut values: Vec<f64> = (0..500_u32).map(|i| f64::from(i * i * 37 % 1009) / 100.0 + 3.0).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (low, high) = bca_levels(&values, estimate, a, 0.025).unwrap();
        assert_close(low, 0.04020273718710654, 1e-9);
        assert_close(high, 0.9856246164372386, 1e-9);
    }

    /// `scipy.stats.bootstrap((X(40),), rms, n_resamples=100000, method="BCa", rng=1)`; the tolerance is
    /// four standard errors of a 2.5% quantile from 10,000 resamples.
    #[test]
    fn the_interval_agrees_with_scipy() {
        let options = Resampling { resamples: 10_000, ..Resampling::default() };
        let found = cluster_bootstrap(&RootMeanSquare(gen_x(40, 0.0)), &options).unwrap();
        let bca = found.bca.unwrap();
        assert_close(bca.low, 7.117349303453561, 0.07);
        assert_close(bca.high, 9.453944595999117, 0.07);
        assert_eq!((found.clusters, found.resamples, found.undefined), (40, 10_000, 0));
    }

    /// `norm.cdf(-sqrt(k/(k - 1)) * t.ppf(0.975, k - 1))`, scipy 1.17.1
    #[test]
    fn the_widening_agrees_with_scipy() {
        let scipy = [(5, 0.0009541005518824907), (20, 0.015880829920347974), (100, 0.023064387207087644)];
        for (clusters, tail) in scipy {
            assert_close(widened_tail(0.95, clusters), tail, 1e-9);
        }
        let usual = Resampling::default();
        let found = cluster_bootstrap(&RootMeanSquare(gen_x(40, 0.0)), &usual).unwrap();
        let (plain, wide) = (found.percentile.unwrap(), found.widened.unwrap());
        assert!(wide.low < plain.low && plain.high < wide.high);
        let few = cluster_bootstrap(&RootMeanSquare(gen_x(4, 0.0)), &usual).unwrap();
        assert!(few.widened.is_none() && few.percentile.is_some());
    }

    /// How often the first few of twenty clusters were drawn. Undefined on a resample that misses them all.
    struct ShareOfFew(usize);

    impl ClusterStatistic for ShareOfFew {
        type Sums = f64;

        fn clusters(&self) -> usize {
            20
        }

        fn nothing(&self) -> f64 {
            0.0
        }

        fn add(&self, sums: &mut f64, cluster: usize, times: f64) {
            if cluster < self.0 {
                *sums += times;
            }
        }

        fn value(&self, sums: &f64) -> Option<f64> {
            (*sums > 0.0).then_some(*sums)
        }
    }

    #[test]
    fn few_undefined_resamples_leave_the_interval() {
        // A resample misses six given clusters of twenty with probability 0.7^20, or 0.08%; three, with 3.9%.
        let run = |few| cluster_bootstrap(&ShareOfFew(few), &Resampling::default()).unwrap();
        let (six, three) = (run(6), run(3));
        assert!((1..20).contains(&six.undefined) && six.widened.is_some(), "{six:?}");
        assert!((40..120).contains(&three.undefined) && three.widened.is_none(), "{three:?}");
        // No resample has a value.
        let rare = |seed| {
            let options = Resampling { resamples: 1, seed, ..Resampling::default() };
            cluster_bootstrap(&ShareOfFew(2), &options).unwrap()
        };
        let found = (0..50).map(rare).find(|found| found.undefined == 1).unwrap();
        assert_eq!((found.percentile, found.bca, found.widened), (None, None, None));
    }

    #[test]
    fn what_cannot_be_resampled_has_no_interval() {
        let usual = Resampling::default();
        for clusters in [vec![], vec![2.0]] {
            let found = cluster_bootstrap(&RootMeanSquare(clusters), &usual).unwrap();
            assert_eq!((found.percentile, found.bca), (None, None));
        }
        let constant = cluster_bootstrap(&RootMeanSquare(vec![2.0; 5]), &usual).unwrap();
        assert_eq!(constant.percentile, Some(Interval { low: 2.0, high: 2.0 }));
        assert_eq!(constant.bca, None);
        for bad in [
            Resampling { resamples: 0, ..usual },
            Resampling { confidence: 1.0, ..usual },
            Resampling { confidence: f64::NAN, ..usual },
        ] {
            assert!(cluster_bootstrap(&RootMeanSquare(vec![1.0, 2.0]), &bad).is_err());
        }
    }
}
