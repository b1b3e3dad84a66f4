//! One measure against the reward, with every interval and test that bears on it.

use serde::Serialize;

use super::clusters::{ClusterBy, strata};
use super::group::Coefficient;
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use crate::error::Result;
use crate::stats::{
    ClusterBootstrap, ClusterStatistic, ClusteredPearson, Interval, PermutationTest, Resampling,
    cluster_bootstrap, pearson, permutation_test, spearman, within_group,
};

/// With fewer clusters, intervals of the bootstrap are doubtful.
const FEW_CLUSTERS: u64 = 20;

/// The intervals of a correlation over clusters of runs, drawn whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusteredInterval {
    /// The unit of resampling.
    pub by: ClusterBy,
    /// The intervals.
    #[serde(flatten)]
    pub bootstrap: ClusterBootstrap,
}

impl ClusteredInterval {
    /// Returns the interval by which a verdict is given: percentile, widened for the number of clusters; none with
    /// fewer than five, or where r was undefined in 1% of the resamples.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.bootstrap.widened
    }

    /// Returns true if there are too few clusters to be sure of the interval.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.bootstrap.clusters < FEW_CLUSTERS
    }
}

/// A measure against the reward, with its intervals and tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Association {
    /// The measure.
    pub relation: Relation,
    /// Pearson's r. Its interval and p-value assume that runs are independent.
    pub pearson: Coefficient,
    /// Intervals of r over clusters, those chosen first.
    pub clustered: Vec<ClusteredInterval>,
    /// The correlation that the next p-value tests: within model, domain and cluster; runs that are alone in their
    /// cluster are compared with each other.
    pub within: Coefficient,
    /// p-value of the association within model and domain, rewards permuted among runs that are alike.
    pub permutation: Option<PermutationTest>,
    /// That p-value, adjusted for the tests of its table (Benjamini and Hochberg).
    pub q: Option<f64>,
    /// Spearman's rank correlation.
    pub spearman: Coefficient,
}

impl Association {
    pub(super) fn of(
        relation: Relation,
        rows: &[&SimulationRow],
        by: &[ClusterBy],
        options: &Resampling,
    ) -> Result<Self> {
        let columns = relation.columns(rows);
        let Columns { rows, x, y } = &columns;
        let clustered = by
            .iter()
            .map(|by| clustered(*by, &ClusteredPearson::new(x, y, &by.number(rows))?, options))
            .collect::<Result<Vec<_>>>()?;
        let chosen = by.first().map(|by| by.number(rows)).unwrap_or_default();
        let alike = strata(rows, &chosen);
        Ok(Self {
            relation,
            pearson: Coefficient(pearson(x, y)),
            clustered,
            within: Coefficient(within_group(x, y, &alike)),
            permutation: permutation_test(x, y, &alike, options)?,
            q: None,
            spearman: Coefficient(spearman(x, y)),
        })
    }

    /// Returns the interval over the chosen clusters.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.clustered.first().and_then(ClusteredInterval::interval)
    }
}

pub(super) fn clustered(
    by: ClusterBy,
    statistic: &impl ClusterStatistic,
    options: &Resampling,
) -> Result<ClusteredInterval> {
    Ok(ClusteredInterval { by, bootstrap: cluster_bootstrap(statistic, options)? })
}
