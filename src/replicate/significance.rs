//! Finds correlations whose significance depends on clustering.

use serde::Serialize;

use super::analysis::{ModelAssociations, PairAssociations};
use super::association::{Association, ClusteredInterval};
use super::relation::Relation;
use crate::stats::{Correlation, Interval};

/// A correlation whose significance depends on whether runs are treated as independent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SignificanceChange {
    /// The runs: `all runs`, a model, or a model and its domain.
    pub scope: String,
    /// The measure.
    pub relation: Relation,
    /// r, with the interval for independent runs.
    pub r: Correlation,
    /// The intervals over clusters, the chosen kind of clusters first.
    pub clustered: Vec<ClusteredInterval>,
}

impl SignificanceChange {
    /// Returns the change if Fisher's interval and one over clusters disagree about 0. An interval over few
    /// clusters can only remove significance, not add it.
    fn of(scope: &str, association: &Association) -> Option<Self> {
        let r = *association.pearson.0.as_ref().ok()?;
        let independent = excludes_zero(r.ci95?);
        association.clustered.iter().any(|one| differs(one, independent)).then(|| Self {
            scope: scope.to_owned(),
            relation: association.relation,
            r,
            clustered: association.clustered.clone(),
        })
    }

    /// Returns the first interval over clusters that disagrees with the interval for independent runs about
    /// 0.
    #[must_use]
    pub fn differing(&self) -> Option<&ClusteredInterval> {
        let independent = excludes_zero(self.r.ci95?);
        self.clustered.iter().find(|one| differs(one, independent))
    }
}

/// Returns true if an interval over clusters disagrees about 0 with Fisher's, which excludes 0 if
/// `independent`, and is reliable enough to do so.
fn differs(one: &ClusteredInterval, independent: bool) -> bool {
    one.interval().is_some_and(|interval| excludes_zero(interval) != independent)
        && (independent || !one.is_doubtful())
}

fn excludes_zero(interval: Interval) -> bool {
    interval.low > 0.0 || interval.high < 0.0
}

/// Returns the changes: those over all runs, then those of models, then those of pairs.
pub(super) fn changes(
    overall: &[Association],
    models: &[ModelAssociations],
    pairs: &[PairAssociations],
) -> Vec<SignificanceChange> {
    let all = overall.iter().map(|one| ("all runs".to_owned(), one));
    let models = models.iter().flat_map(|m| m.associations.iter().map(|one| (m.model.clone(), one)));
    let pairs = pairs
        .iter()
        .flat_map(|p| p.associations.iter().map(|one| (format!("{}/{}", p.model, p.domain), one)));
    all.chain(models).chain(pairs).filter_map(|(scope, one)| SignificanceChange::of(&scope, one)).collect()
}
