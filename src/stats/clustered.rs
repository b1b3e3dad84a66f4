//! Statistics for the [cluster bootstrap](super::cluster_bootstrap()): correlations and differences.
//!
//! | statistic | sums per cluster |
//! |---|---|
//! | [`ClusteredPearson`] | n, Σx, Σy, Σx², Σy², Σxy around the overall means |
//! | [`ClusteredWithin`] | those of [`ClusteredPearson`], and n, Σx, Σy per group |
//! | [`PairedDifference`] | those of both statistics |
//!
//! Up to rounding, the estimates equal those of [`pearson`](fn@super::pearson) and
//! [`within_group`](fn@super::within_group), whose modules give the references for the formulas.

mod within;

pub use within::ClusteredWithin;

use super::StatsError;
use super::cluster_bootstrap::ClusterStatistic;
use super::columns::{add, check_finite, check_lengths, deviations, pairs, scaled};

/// A spread that is at most this share of the sum of squares around the overall mean is rounding error, so the
/// column counts as constant.
const ROUNDING: f64 = 1e-11;

/// Pearson's r of pairs in clusters, for the [cluster bootstrap](super::cluster_bootstrap()).
///
/// ```
/// use wrongturn::stats::{ClusteredPearson, Resampling, cluster_bootstrap};
///
/// // Ten tasks with two runs each, which are more alike than runs of different tasks.
/// let task: Vec<usize> = (0..20).map(|run| run / 2).collect();
/// let x: Vec<f64> = (0..20).map(|run| f64::from(run / 2 % 5)).collect();
/// let y: Vec<f64> = (0..20).map(|run| f64::from(run / 2 % 5 + run % 2)).collect();
/// let statistic = ClusteredPearson::new(&x, &y, &task)?;
/// let found = cluster_bootstrap(&statistic, &Resampling::default())?;
/// assert_eq!(found.clusters, 10);
/// assert!(found.widened.unwrap().low > 0.0, "clearly above 0, with tasks drawn whole");
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ClusteredPearson {
    clusters: Vec<PairSums>,
}

/// The sums of a correlation: n, Σx, Σy, Σx², Σy², Σxy.
pub(super) type PairSums = [f64; 6];

fn push(sums: &mut PairSums, x: f64, y: f64) {
    add(sums, &[1.0, x, y, x * x, y * y, x * y], 1.0);
}

/// Returns r after subtracting what the means contribute to Σx², Σy² and Σxy, or `None` if a column does not
/// vary.
fn coefficient([_, _, _, xx, yy, xy]: &PairSums, of_means: [f64; 3]) -> Option<f64> {
    let [x_spread, y_spread, product] = [xx - of_means[0], yy - of_means[1], xy - of_means[2]];
    (x_spread > ROUNDING * xx && y_spread > ROUNDING * yy)
        .then(|| (product / (x_spread.sqrt() * y_spread.sqrt())).clamp(-1.0, 1.0))
}

impl ClusteredPearson {
    /// Creates the statistic. `cluster` holds the cluster number of each pair; use numbers from 0 without gaps.
    ///
    /// A skipped number counts as an empty cluster. Pairs whose cluster number is not below the number of
    /// pairs are ignored.
    ///
    /// # Errors
    ///
    /// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`].
    pub fn new(x: &[f64], y: &[f64], cluster: &[usize]) -> Result<Self, StatsError> {
        check_lengths(x, y, [cluster])?;
        check_finite(pairs(x, y))?;
        let (x, y) = (deviations(&scaled(x)), deviations(&scaled(y)));
        let mut clusters = vec![PairSums::default(); table_size(cluster)];
        for ((x, y), cluster) in x.iter().zip(&y).zip(cluster) {
            if let Some(sums) = clusters.get_mut(*cluster) {
                push(sums, *x, *y);
            }
        }
        Ok(Self { clusters })
    }

    /// Creates the statistic from the sums of each cluster, taken around the overall means.
    pub(super) fn of_sums(clusters: Vec<PairSums>) -> Self {
        Self { clusters }
    }
}

impl ClusterStatistic for ClusteredPearson {
    type Sums = PairSums;

    fn clusters(&self) -> usize {
        self.clusters.len()
    }

    fn nothing(&self) -> PairSums {
        PairSums::default()
    }

    fn add(&self, sums: &mut PairSums, cluster: usize, times: f64) {
        if let Some(one) = self.clusters.get(cluster) {
            add(sums, one, times);
        }
    }

    fn value(&self, sums: &PairSums) -> Option<f64> {
        let [n, x, y, ..] = *sums;
        (n > 2.0).then(|| coefficient(sums, [x * x / n, y * y / n, x * y / n])).flatten()
    }
}

/// The difference between two statistics on the same resampled clusters, for the paired bootstrap.
///
/// ```
/// use wrongturn::stats::{ClusteredPearson, PairedDifference, Resampling, cluster_bootstrap};
///
/// let task: Vec<usize> = (0..12).collect();
/// let reward = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0];
/// let rate = [0.1, 0.9, 1.0, 0.2, 0.8, 0.0, 1.0, 0.7, 0.3, 0.9, 0.1, 1.0];
/// let calls = [3.0, 4.0, 5.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0];
/// let first = ClusteredPearson::new(&calls, &reward, &task)?;
/// let second = ClusteredPearson::new(&rate, &reward, &task)?;
/// let found = cluster_bootstrap(&PairedDifference { first, second }, &Resampling::default())?;
/// assert!(found.percentile.unwrap().low > 0.0, "the rate says more than the calls do");
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PairedDifference<A, B> {
    /// The statistic that is subtracted.
    pub first: A,
    /// The statistic from which `first` is subtracted.
    pub second: B,
}

impl<A: ClusterStatistic, B: ClusterStatistic> ClusterStatistic for PairedDifference<A, B> {
    type Sums = (A::Sums, B::Sums);

    fn clusters(&self) -> usize {
        self.first.clusters().max(self.second.clusters())
    }

    fn nothing(&self) -> Self::Sums {
        (self.first.nothing(), self.second.nothing())
    }

    fn add(&self, sums: &mut Self::Sums, cluster: usize, times: f64) {
        self.first.add(&mut sums.0, cluster, times);
        self.second.add(&mut sums.1, cluster, times);
    }

    fn value(&self, sums: &Self::Sums) -> Option<f64> {
        Some(self.second.value(&sums.1)? - self.first.value(&sums.0)?)
    }
}

/// Returns the number of rows of a table that is indexed by these numbers: one more than the greatest, but at
/// most their count, which bounds memory if a number is huge.
fn table_size(numbers: &[usize]) -> usize {
    numbers.iter().max().map_or(0, |most| most.saturating_add(1)).min(numbers.len())
}

#[cfg(test)]
mod tests;
