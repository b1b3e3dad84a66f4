//! Correlates one measure with the reward, with intervals and tests.

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

/// With fewer clusters, bootstrap intervals are marked as doubtful.
const FEW_CLUSTERS: u64 = 20;

/// The intervals of a correlation from resampling whole clusters of runs.
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
    /// Returns the interval that conclusions rest on: the percentile interval, widened for the number of
    /// clusters. `None` with fewer than five clusters, or if the statistic was undefined in at least 1% of
    /// the resamples.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.bootstrap.widened
    }

    /// Returns true if there are too few clusters for a reliable interval.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.bootstrap.clusters < FEW_CLUSTERS
    }
}

/// The correlation of a measure with the reward, with its intervals and tests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Association {
    /// The measure.
    pub relation: Relation,
    /// Pearson's r. Its interval and p-value assume that runs are independent.
    pub pearson: Coefficient,
    /// Intervals of r from resampling clusters, the chosen kind of clusters first.
    pub clustered: Vec<ClusteredInterval>,
    /// The correlation that `permutation` tests: within model, domain and cluster. In each model and domain,
    /// runs that are alone in their cluster are compared with each other.
    pub within: Coefficient,
    /// The test of `within`, which permutes rewards among comparable runs. `None` if no set of comparable
    /// runs varies in both the measure and the reward.
    pub permutation: Option<PermutationTest>,
    /// The p-value of `permutation`, adjusted for the number of tests in the table (Benjamini and Hochberg).
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
