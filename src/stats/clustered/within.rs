//! The within-group correlation, for the cluster bootstrap.

use std::collections::BTreeMap;

use super::{PairSums, coefficient, push, table_size};
use crate::stats::StatsError;
use crate::stats::cluster_bootstrap::ClusterStatistic;
use crate::stats::columns::{add, check_finite, check_lengths, deviations, pairs, scaled};

/// The within-group correlation of pairs in clusters. It is used like
/// [`ClusteredPearson`](super::ClusteredPearson).
///
/// A cluster may span several groups.
#[derive(Debug, Clone)]
pub struct ClusteredWithin {
    groups: usize,
    clusters: Vec<WithinCluster>,
}

#[derive(Debug, Clone, Default)]
struct WithinCluster {
    total: PairSums,
    /// n, Σx, Σy of each group with pairs in the cluster.
    groups: BTreeMap<usize, [f64; 3]>,
}

impl ClusteredWithin {
    /// Creates the statistic as [`ClusteredPearson::new`](super::ClusteredPearson::new) does. `group` holds
    /// the group number of each pair, from 0. Group numbers must be below the number of pairs: pairs with a larger
    /// number are not centred on their group's means.
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
                push(&mut one.total, *x, *y);
                add(one.groups.entry(*group).or_default(), &[1.0, *x, *y], 1.0);
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
        add(&mut sums.0, &one.total, times);
        for (group, more) in &one.groups {
            if let Some(group) = sums.1.get_mut(*group) {
                add(group, more, times);
            }
        }
    }

    fn value(&self, (total, groups): &Self::Sums) -> Option<f64> {
        let mut of_means = [0.0; 3];
        for [n, x, y] in groups.iter().filter(|[n, ..]| *n > 0.0) {
            add(&mut of_means, &[x * x / n, y * y / n, x * y / n], 1.0);
        }
        (total[0] > 2.0).then(|| coefficient(total, of_means)).flatten()
    }
}
