//! Statistics for the [cluster bootstrap](super::cluster_bootstrap()): correlations, and differences.
//!
//! | statistic | summed per cluster |
//! |---|---|
//! | [`ClusteredPearson`] | n, Σx, Σy, Σx², Σy², Σxy around the means of all |
//! | [`ClusteredSpearman`] | the count of each distinct pair (x, y); ranks are taken anew in every resample |
//! | [`ClusteredWithin`] | the sums of Pearson, and n, Σx, Σy per group |
//! | [`PairedDifference`] | what both of its statistics sum, of the same draw |
//!
//! Reference: the formulas of [`pearson`](fn@super::pearson), [`spearman`](fn@super::spearman) and
//! [`within_group`](fn@super::within_group), whose values the estimates equal up to rounding.
//!
//! Errors: columns of different length, a value that is not finite.

use std::collections::BTreeMap;

use super::cluster_bootstrap::ClusterStatistic;
use super::{ExactSum, Side, StatsError};

/// Variances below this share of the squares around the mean of all are rounding, not spread.
const ROUNDING: f64 = 1e-11;

/// Pearson's r of clustered pairs.
#[derive(Debug, Clone)]
pub struct ClusteredPearson {
    clusters: Vec<PairSums>,
}

/// Sums over pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct PairSums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl PairSums {
    /// Sums that were taken elsewhere: n, Σx, Σy, Σx², Σy², Σxy.
    pub(super) fn of([n, x, y, xx, yy, xy]: [f64; 6]) -> Self {
        Self { n, x, y, xx, yy, xy }
    }

    fn push(&mut self, x: f64, y: f64) {
        self.add(&Self { n: 1.0, x, y, xx: x * x, yy: y * y, xy: x * y }, 1.0);
    }

    fn add(&mut self, other: &Self, times: f64) {
        self.n += times * other.n;
        self.x += times * other.x;
        self.y += times * other.y;
        self.xx += times * other.xx;
        self.yy += times * other.yy;
        self.xy += times * other.xy;
    }

    /// r, after `(x², y², xy)` of the means have been taken away.
    fn coefficient(&self, (xx, yy, xy): (f64, f64, f64)) -> Option<f64> {
        let (x_spread, y_spread) = (self.xx - xx, self.yy - yy);
        (x_spread > ROUNDING * self.xx && y_spread > ROUNDING * self.yy)
            .then(|| ((self.xy - xy) / (x_spread.sqrt() * y_spread.sqrt())).clamp(-1.0, 1.0))
    }
}

impl ClusteredPearson {
    /// The pairs `(x, y)`, each in the cluster that `cluster` numbers; numbers run from 0.
    ///
    /// # Errors
    ///
    /// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`].
    pub fn new(x: &[f64], y: &[f64], cluster: &[usize]) -> Result<Self, StatsError> {
        check(x, y, cluster)?;
        let (x, y) = (scaled(x), scaled(y));
        let mut clusters = vec![PairSums::default(); size(cluster)];
        for ((x, y), cluster) in x.iter().zip(&y).zip(cluster) {
            if let Some(sums) = clusters.get_mut(*cluster) {
                sums.push(*x, *y);
            }
        }
        Ok(Self { clusters })
    }

    /// The statistic of what was summed up before, cluster by cluster, around means of all.
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
            sums.add(one, times);
        }
    }

    fn value(&self, sums: &PairSums) -> Option<f64> {
        let PairSums { n, x, y, .. } = *sums;
        (n > 2.0).then(|| sums.coefficient((x * x / n, y * y / n, x * y / n))).flatten()
    }
}

/// Spearman's rank correlation of clustered pairs.
#[derive(Debug, Clone)]
pub struct ClusteredSpearman {
    /// The places of each distinct pair among the distinct values of x and of y.
    cells: Vec<(usize, usize)>,
    /// Distinct values of x and of y.
    distinct: (usize, usize),
    /// Per cluster, how often it holds which pair.
    clusters: Vec<Vec<(usize, f64)>>,
}

impl ClusteredSpearman {
    /// As [`ClusteredPearson::new`].
    ///
    /// # Errors
    ///
    /// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`].
    pub fn new(x: &[f64], y: &[f64], cluster: &[usize]) -> Result<Self, StatsError> {
        check(x, y, cluster)?;
        let ((x, x_distinct), (y, y_distinct)) = (places(x), places(y));
        let mut numbers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for cell in x.iter().copied().zip(y.iter().copied()) {
            numbers.insert(cell, 0);
        }
        for (number, slot) in numbers.values_mut().enumerate() {
            *slot = number;
        }
        let mut counts: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); size(cluster)];
        for ((x, y), cluster) in x.iter().zip(&y).zip(cluster) {
            if let (Some(counts), Some(cell)) = (counts.get_mut(*cluster), numbers.get(&(*x, *y))) {
                *counts.entry(*cell).or_default() += 1.0;
            }
        }
        Ok(Self {
            cells: numbers.into_keys().collect(),
            distinct: (x_distinct, y_distinct),
            clusters: counts.into_iter().map(|counts| counts.into_iter().collect()).collect(),
        })
    }
}

impl ClusterStatistic for ClusteredSpearman {
    type Sums = Vec<f64>;

    fn clusters(&self) -> usize {
        self.clusters.len()
    }

    fn nothing(&self) -> Vec<f64> {
        vec![0.0; self.cells.len()]
    }

    fn add(&self, sums: &mut Vec<f64>, cluster: usize, times: f64) {
        for (cell, count) in self.clusters.get(cluster).into_iter().flatten() {
            if let Some(sum) = sums.get_mut(*cell) {
                *sum += times * count;
            }
        }
    }

    fn value(&self, sums: &Vec<f64>) -> Option<f64> {
        let mut weights = (vec![0.0; self.distinct.0], vec![0.0; self.distinct.1]);
        for ((x, y), count) in self.cells.iter().zip(sums) {
            if let (Some(x), Some(y)) = (weights.0.get_mut(*x), weights.1.get_mut(*y)) {
                *x += count;
                *y += count;
            }
        }
        let n: f64 = sums.iter().sum();
        let (x_ranks, y_ranks) = (centred_ranks(&weights.0, n), centred_ranks(&weights.1, n));
        let mut total = PairSums::default();
        for ((x, y), count) in self.cells.iter().zip(sums) {
            let (x, y) = (x_ranks.get(*x)?, y_ranks.get(*y)?);
            total.add(&PairSums { n: 1.0, x: *x, y: *y, xx: x * x, yy: y * y, xy: x * y }, *count);
        }
        // Ranks around their mean sum to 0.
        (n > 2.0).then(|| total.coefficient((0.0, 0.0, 0.0))).flatten()
    }
}

/// The ranks of distinct values that occur so often, less the mean rank.
fn centred_ranks(weights: &[f64], n: f64) -> Vec<f64> {
    let mut before = 0.0;
    let rank = |weight: &f64| {
        let rank = before + (weight - n) / 2.0;
        before += weight;
        rank
    };
    weights.iter().map(rank).collect()
}

/// The within-group correlation of clustered pairs. A cluster may lie in several groups.
#[derive(Debug, Clone)]
pub struct ClusteredWithin {
    groups: usize,
    clusters: Vec<WithinCluster>,
}

#[derive(Debug, Clone, Default)]
struct WithinCluster {
    total: PairSums,
    /// n, Σx, Σy of each group that the cluster touches.
    groups: BTreeMap<usize, [f64; 3]>,
}

impl ClusteredWithin {
    /// As [`ClusteredPearson::new`], with the group of each pair; groups are numbered from 0.
    ///
    /// # Errors
    ///
    /// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`].
    pub fn new(x: &[f64], y: &[f64], group: &[usize], cluster: &[usize]) -> Result<Self, StatsError> {
        check(x, y, cluster)?;
        if group.len() != x.len() {
            return Err(StatsError::LengthMismatch { x: x.len(), y: group.len() });
        }
        let (x, y) = (scaled(x), scaled(y));
        let mut clusters = vec![WithinCluster::default(); size(cluster)];
        for (((x, y), group), cluster) in x.iter().zip(&y).zip(group).zip(cluster) {
            if let Some(one) = clusters.get_mut(*cluster) {
                one.total.push(*x, *y);
                let [n, sum_x, sum_y] = one.groups.entry(*group).or_default();
                (*n, *sum_x, *sum_y) = (*n + 1.0, *sum_x + x, *sum_y + y);
            }
        }
        Ok(Self { groups: size(group), clusters })
    }
}

impl ClusterStatistic for ClusteredWithin {
    type Sums = (PairSums, Vec<[f64; 3]>);

    fn clusters(&self) -> usize {
        self.clusters.len()
    }

    fn nothing(&self) -> Self::Sums {
        (PairSums::default(), vec![[0.0; 3]; self.groups])
    }

    fn add(&self, sums: &mut Self::Sums, cluster: usize, times: f64) {
        let Some(one) = self.clusters.get(cluster) else { return };
        sums.0.add(&one.total, times);
        for (group, more) in &one.groups {
            if let Some(group) = sums.1.get_mut(*group) {
                for (sum, more) in group.iter_mut().zip(more) {
                    *sum += times * more;
                }
            }
        }
    }

    fn value(&self, (total, groups): &Self::Sums) -> Option<f64> {
        let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
        for [n, x, y] in groups {
            if *n > 0.0 {
                (xx, yy, xy) = (xx + x * x / n, yy + y * y / n, xy + x * y / n);
            }
        }
        (total.n > 2.0).then(|| total.coefficient((xx, yy, xy))).flatten()
    }
}

/// The second statistic less the first, on the same draws of the same clusters: the paired bootstrap.
#[derive(Debug, Clone)]
pub struct PairedDifference<A, B> {
    /// The first statistic.
    pub first: A,
    /// The second statistic.
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

fn check(x: &[f64], y: &[f64], cluster: &[usize]) -> Result<(), StatsError> {
    if x.len() != y.len() || x.len() != cluster.len() {
        let y = if x.len() == y.len() { cluster.len() } else { y.len() };
        return Err(StatsError::LengthMismatch { x: x.len(), y });
    }
    for (side, column) in [(Side::X, x), (Side::Y, y)] {
        if let Some(index) = column.iter().position(|value| !value.is_finite()) {
            return Err(StatsError::NonFinite { side, index });
        }
    }
    Ok(())
}

/// One more than the greatest number, or as many as there are numbers: whichever is less.
fn size(numbers: &[usize]) -> usize {
    numbers.iter().max().map_or(0, |most| most.saturating_add(1)).min(numbers.len())
}

/// The values less their mean, in units of the largest deviation: squares neither overflow nor vanish.
fn scaled(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().copied().collect::<ExactSum>().mean().unwrap_or(0.0);
    // Halves, as the difference of two floats can exceed the largest.
    let deviations = values.iter().map(|value| value / 2.0 - mean / 2.0);
    let largest = deviations.clone().fold(0.0, |most: f64, value| most.max(value.abs()));
    deviations.map(|value| if largest > 0.0 { value / largest } else { 0.0 }).collect()
}

/// The place of each value among the distinct values, and how many those are.
fn places(values: &[f64]) -> (Vec<usize>, usize) {
    let mut distinct: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let place = |value: &f64| distinct.partition_point(|other| other < value);
    (values.iter().map(place).collect(), distinct.len())
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use proptest::prelude::*;

    use super::super::pearson::tests::{gen_x, gen_y};
    use super::super::{Resampling, assert_close, cluster_bootstrap, pearson, spearman, within_group};
    use super::*;

    fn each(n: usize) -> Vec<usize> {
        (0..n).collect()
    }

    /// `scipy.stats.bootstrap((X(40), Y(40)), r, paired=True, n_resamples=100000, rng=1)`, `method="BCa"`
    /// and `"percentile"`; the tolerance is four standard errors of a 2.5% quantile from 10,000.
    #[test]
    fn the_interval_of_r_agrees_with_scipy() {
        let statistic = ClusteredPearson::new(&gen_x(40, 0.0), &gen_y(40, 0.0), &each(40)).unwrap();
        let options = Resampling { resamples: 10_000, ..Resampling::default() };
        let found = cluster_bootstrap(&statistic, &options).unwrap();
        let (bca, percentile) = (found.bca.unwrap(), found.percentile.unwrap());
        assert_close(bca.low, 0.27659364512686113, 0.02);
        assert_close(bca.high, 0.7333707256045379, 0.012);
        assert_close(percentile.low, 0.2889409451574238, 0.02);
        assert_close(percentile.high, 0.7402276046882893, 0.012);
    }

    #[test]
    fn copies_of_a_run_widen_nothing_where_they_are_one_cluster() {
        let (x, y) = (gen_x(40, 0.0), gen_y(40, 0.0));
        let width = |x: &[f64], y: &[f64], cluster: &[usize]| {
            let statistic = ClusteredPearson::new(x, y, cluster).unwrap();
            let interval = cluster_bootstrap(&statistic, &Resampling::default()).unwrap().percentile.unwrap();
            interval.high - interval.low
        };
        let (x4, y4): (Vec<f64>, Vec<f64>) = (x.repeat(4), y.repeat(4));
        let once = width(&x, &y, &each(40));
        assert_close(width(&x4, &y4, &each(40).repeat(4)), once, 1e-9);
        assert!(width(&x4, &y4, &each(160)) < 0.6 * once);
    }

    #[test]
    fn the_same_statistic_twice_does_not_differ() {
        let first = ClusteredPearson::new(&gen_x(40, 0.0), &gen_y(40, 0.0), &each(40)).unwrap();
        let difference = PairedDifference { first: first.clone(), second: first };
        let found = cluster_bootstrap(&difference, &Resampling::default()).unwrap();
        assert_eq!((found.estimate, found.percentile.unwrap().high), (Some(0.0), 0.0));
    }

    #[test]
    fn what_cannot_be_summed_is_refused() {
        let nan = [1.0, f64::NAN, 2.0];
        let plain = [1.0, 2.0, 4.0];
        let error = StatsError::NonFinite { side: Side::Y, index: 1 };
        assert_eq!(ClusteredPearson::new(&plain, &nan, &each(3)).unwrap_err(), error);
        assert_eq!(ClusteredSpearman::new(&plain, &nan, &each(3)).unwrap_err(), error);
        assert_eq!(ClusteredWithin::new(&plain, &nan, &[0; 3], &each(3)).unwrap_err(), error);
        let mismatch = StatsError::LengthMismatch { x: 3, y: 2 };
        assert_eq!(ClusteredPearson::new(&plain, &plain, &each(2)).unwrap_err(), mismatch);
        assert_eq!(ClusteredWithin::new(&plain, &plain, &[0; 2], &each(3)).unwrap_err(), mismatch);
        // Numbers of clusters without end are no reason for tables without end.
        let statistic = ClusteredPearson::new(&plain, &plain, &[usize::MAX; 3]).unwrap();
        assert_eq!(statistic.estimate(), None);
    }

    #[test]
    fn the_ends_of_the_range() {
        let huge = [1e308, -1e308, 1.7e308, 0.0];
        let statistic = ClusteredPearson::new(&huge, &[1.0, 2.0, 1.0, 5.0], &each(4)).unwrap();
        let r = pearson(&huge, &[1.0, 2.0, 1.0, 5.0]).unwrap().r;
        assert_close(statistic.estimate().unwrap(), r, 1e-12);
    }

    proptest! {
        #[test]
        fn estimates_are_those_of_the_plain_formulas(
            rows in proptest::collection::vec((-4..4_i8, -4..4_i8, 0..3_usize, 0..6_usize), 5..60),
            offset in prop::sample::select(vec![0.0, 1e6]),
        ) {
            let x: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 4.0 + offset).collect();
            let y: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
            let group: Vec<usize> = rows.iter().map(|row| row.2).collect();
            let cluster: Vec<usize> = rows.iter().map(|row| row.3 % rows.len()).collect();
            let same = |found: Option<f64>, expected: Result<super::super::Correlation, StatsError>| {
                match (found, expected) {
                    (Some(found), Ok(expected)) => (found - expected.r).abs() < 1e-9,
                    // Where every group but one has one member, no degree of freedom may be left.
                    (None, Err(_)) | (Some(_), Err(StatsError::TooFew { .. })) => true,
                    _ => false,
                }
            };
            let found = ClusteredPearson::new(&x, &y, &cluster).unwrap().estimate();
            prop_assert!(same(found, pearson(&x, &y)));
            let found = ClusteredSpearman::new(&x, &y, &cluster).unwrap().estimate();
            prop_assert!(same(found, spearman(&x, &y)));
            let found = ClusteredWithin::new(&x, &y, &group, &cluster).unwrap().estimate();
            prop_assert!(same(found, within_group(&x, &y, &group)), "{:?}", found);
        }
    }
}
