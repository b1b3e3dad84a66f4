//! Where it matters that runs belong together.

use std::fmt;

use serde::Serialize;

use super::association::{Association, ClusteredInterval};
use super::inference::{ModelAssociations, PairAssociations};
use super::relation::Relation;
use crate::stats::{Correlation, Interval};

/// A correlation whose significance depends on whether runs are taken for independent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerdictChange {
    /// Whose correlation: `all runs`, a model, a model and its domain.
    pub scope: String,
    /// The measure.
    pub relation: Relation,
    /// r, with the interval that takes runs for independent.
    pub r: Correlation,
    /// The intervals over clusters.
    pub clustered: Vec<ClusteredInterval>,
}

impl VerdictChange {
    /// Where Fisher's interval and one over clusters disagree about 0. Few clusters can only take certainty away.
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

    /// The first interval over clusters that says other of 0 than independent runs would.
    #[must_use]
    pub fn differing(&self) -> Option<&ClusteredInterval> {
        let independent = excludes_zero(self.r.ci95?);
        self.clustered.iter().find(|one| differs(one, independent))
    }
}

/// Whether an interval says other of 0 than that of independent runs, and can be trusted in it.
fn differs(one: &ClusteredInterval, independent: bool) -> bool {
    one.interval().is_some_and(|interval| excludes_zero(interval) != independent)
        && (independent || !one.is_doubtful())
}

fn excludes_zero(interval: Interval) -> bool {
    interval.low > 0.0 || interval.high < 0.0
}

impl fmt::Display for VerdictChange {
    /// `Clustering changes the verdict on recovery rate, runs with errors (all runs): …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |i: Interval| format!("[{:+.3}, {:+.3}]", i.low, i.high);
        let says = |excludes| if excludes { "excludes 0" } else { "includes 0" };
        write!(
            f,
            "Clustering changes the verdict on {} ({}): r = {:+.3}",
            self.relation, self.scope, self.r.r
        )?;
        let mut independent = false;
        if let Some(interval) = self.r.ci95 {
            independent = excludes_zero(interval);
            let interval_says = says(independent);
            write!(f, ", and if runs were independent its interval {} {interval_says}", show(interval))?;
        }
        let mut joint = "; but resampled";
        for one in &self.clustered {
            let Some(interval) = one.interval() else { continue };
            let excludes = excludes_zero(interval);
            write!(f, "{joint} by {} it is {}, which {}", one.by.unit(), show(interval), says(excludes))?;
            if one.is_doubtful() {
                write!(f, " (doubtful, of {} clusters)", one.bootstrap.clusters)?;
            }
            joint = ", and";
        }
        let excluding = |one: &&ClusteredInterval| one.interval().is_some_and(excludes_zero);
        let still: Vec<&str> = self.clustered.iter().filter(excluding).map(|one| one.by.unit()).collect();
        match (independent, still.as_slice()) {
            (true, []) => f.write_str(": not significant."),
            (true, still) => write!(f, ": significant by {} only.", still.join(" and ")),
            (false, _) => f.write_str(": the runs of a cluster differ more than independent runs would."),
        }
    }
}

/// The changed verdicts: of all runs, of models, of pairs.
pub(super) fn changes(
    overall: &[Association],
    models: &[ModelAssociations],
    pairs: &[PairAssociations],
) -> Vec<VerdictChange> {
    let all = overall.iter().map(|one| ("all runs".to_owned(), one));
    let models = models.iter().flat_map(|m| m.associations.iter().map(|one| (m.model.clone(), one)));
    let pairs = pairs
        .iter()
        .flat_map(|p| p.associations.iter().map(|one| (format!("{}/{}", p.model, p.domain), one)));
    all.chain(models).chain(pairs).filter_map(|(scope, one)| VerdictChange::of(&scope, one)).collect()
}
