//! Spearman's rank correlation for the cluster bootstrap.

use std::collections::BTreeMap;

use super::{PairSums, table_size};
use crate::stats::StatsError;
use crate::stats::cluster_bootstrap::ClusterStatistic;
use crate::stats::columns::{check_finite, check_lengths, pairs};

/// Spearman's rank correlation of pairs that lie in clusters; made and used as [`ClusteredPearson`](super::ClusteredPearson).
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
    /// As [`ClusteredPearson::new`](super::ClusteredPearson::new).
    ///
    /// # Errors
    ///
    /// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`].
    pub fn new(x: &[f64], y: &[f64], cluster: &[usize]) -> Result<Self, StatsError> {
        check_lengths(x, y, [cluster])?;
        check_finite(pairs(x, y))?;
        let ((x, x_distinct), (y, y_distinct)) = (places(x), places(y));
        let mut numbers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for cell in x.iter().copied().zip(y.iter().copied()) {
            numbers.insert(cell, 0);
        }
        for (number, slot) in numbers.values_mut().enumerate() {
            *slot = number;
        }
        let mut counts: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); table_size(cluster)];
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

/// The place of each value among the distinct values, and how many those are.
fn places(values: &[f64]) -> (Vec<usize>, usize) {
    let mut distinct: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let place = |value: &f64| distinct.partition_point(|other| other < value);
    (values.iter().map(place).collect(), distinct.len())
}
