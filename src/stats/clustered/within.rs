//! The within-group correlation for the cluster bootstrap.

use std::collections::BTreeMap;

use super::{PairSums, table_size};
use crate::stats::StatsError;
use crate::stats::cluster_bootstrap::ClusterStatistic;
use crate::stats::columns::{check_finite, check_lengths, deviations, pairs, scaled};

/// The within-group correlation of pairs that lie in clusters; used as [`ClusteredPearson`](super::ClusteredPearson).
///
/// A cluster may lie in several groups.
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
    /// As [`ClusteredPearson::new`](super::ClusteredPearson::new), with the group of each pair; groups are numbered from 0.
    ///
    /// # Errors
    ///
    /// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`].
    pub fn new(x: &[f64], y: &[f64], group: &[usize], cluster: &[usize]) -> Result<Self, StatsError> {
        check_lengths(x, y, [group, cluster])?;
        check_finite(pairs(x, y))?;
        let (x, y) = (deviations(&scaled(x)), deviations(&scaled(y)));
        let mut clusters = vec![WithinCluster::default(); table_size(cluster)];
        for (((x, y), group), cluster) in x.iter().zip(&y).zip(group).zip(cluster) {
            if let Some(one) = clusters.get_mut(*cluster) {
                one.total.push(*x, *y);
                let [n, sum_x, sum_y] = one.groups.entry(*group).or_default();
                (*n, *sum_x, *sum_y) = (*n + 1.0, *sum_x + x, *sum_y + y);
            }
        }
        Ok(Self { groups: table_size(group), clusters })
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
