//! One measure against the reward, with every interval and test that bears on it.

use serde::Serialize;

use super::clusters::{ClusterBy, strata};
use super::group::Coefficient;
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use crate::error::Result;
use crate::stats::{
    ClusterBootstrap, ClusterStatistic, ClusteredPearson, ClusteredSpearman, Interval, PermutationTest,
    Resampling, cluster_bootstrap, pearson, permutation_test, point_biserial, spearman, within_group,
};

/// With fewer clusters, intervals of the bootstrap are doubtful.
const FEW_CLUSTERS: u64 = 20;

/// The intervals of a correlation over clusters of runs, drawn whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusteredInterval {
    /// What a cluster is.
    pub by: ClusterBy,
    /// The intervals.
    #[serde(flatten)]
    pub bootstrap: ClusterBootstrap,
}

impl ClusteredInterval {
    /// The interval by which a verdict is given: percentile, widened for the number of clusters; none with fewer than
    /// five, or where a resample has nothing that varies.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.bootstrap.widened
    }

    /// Whether there are too few clusters to be sure of the interval.
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
    /// cluster are compared with each other. Not in JSON.
    #[serde(skip)]
    pub within: Coefficient,
    /// p-value of the association within model and domain, rewards permuted among runs that are alike.
    pub permutation: Option<PermutationTest>,
    /// That p-value, adjusted for the tests of its table (Benjamini and Hochberg).
    pub q: Option<f64>,
    /// Spearman's rank correlation.
    pub spearman: Coefficient,
    /// Its interval over the chosen clusters.
    pub spearman_clustered: Option<ClusteredInterval>,
    /// The correlation of the measure with success, yes or no (point-biserial).
    pub success: Coefficient,
    /// Its interval over the chosen clusters.
    pub success_clustered: Option<ClusteredInterval>,
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
        let succeeded: Vec<bool> = rows.iter().map(|row| row.succeeded()).collect();
        let success: Vec<f64> = succeeded.iter().map(|yes| f64::from(u8::from(*yes))).collect();
        let clustered = by
            .iter()
            .map(|by| clustered(*by, &ClusteredPearson::new(x, y, &by.number(rows))?, options))
            .collect::<Result<Vec<_>>>()?;
        let chosen = by.first().map(|by| (*by, by.number(rows)));
        let one =
            |statistic: &dyn Fn(&[usize]) -> Result<ClusterBootstrap>| -> Result<Option<ClusteredInterval>> {
                chosen
                    .as_ref()
                    .map(|(by, cluster)| Ok(ClusteredInterval { by: *by, bootstrap: statistic(cluster)? }))
                    .transpose()
            };
        let ranks = one(&|cluster| Ok(cluster_bootstrap(&ClusteredSpearman::new(x, y, cluster)?, options)?))?;
        let binary =
            one(&|cluster| Ok(cluster_bootstrap(&ClusteredPearson::new(x, &success, cluster)?, options)?))?;
        let alike = strata(rows, chosen.as_ref().map_or(&[], |(_, cluster)| cluster));
        Ok(Self {
            relation,
            pearson: Coefficient(pearson(x, y)),
            clustered,
            within: Coefficient(within_group(x, y, &alike)),
            permutation: permutation_test(x, y, &alike, options)?,
            q: None,
            spearman: Coefficient(spearman(x, y)),
            spearman_clustered: ranks,
            success: Coefficient(point_biserial(&succeeded, x)),
            success_clustered: binary,
        })
    }

    /// Where r has another sign than the correlation that the p-value tests, a sentence that says so.
    #[must_use]
    pub fn turned(&self) -> Option<String> {
        let (r, within) = (self.pearson.r()?, self.within.r()?);
        self.permutation?;
        let mut relation = self.relation.to_string();
        if let Some(first) = relation.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        (r * within < 0.0).then(|| {
            format!(
                "{relation}: r is {r:+.3} over all models and domains, but {within:+.3} among the runs that p within \
                 compares; p and q belong to the latter."
            )
        })
    }

    /// The interval over the chosen clusters.
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
