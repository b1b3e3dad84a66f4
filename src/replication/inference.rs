//! How far the correlations of a corpus can be trusted.

use std::collections::BTreeMap;
use std::fmt;

use rayon::prelude::*;
use serde::Serialize;

use super::clusters::{ClusterBy, pairs, strata};
use super::group::{Coefficient, Group};
use super::published::{Replication, by_pair};
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use super::signals::{Signal, adjust, strongest};
use crate::error::Result;
use crate::stats::{
    ClusterBootstrap, ClusterStatistic, ClusteredPearson, ClusteredSpearman, ClusteredWithin, Correlation,
    Interval, PermutationTest, RandomEffects, Resampling, cluster_bootstrap, pearson, permutation_test,
    point_biserial, random_effects, spearman, within_group,
};
use crate::trace::Digest;

/// With fewer clusters, intervals of the bootstrap are doubtful.
const FEW_CLUSTERS: u64 = 20;

/// What counts, and how it is resampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InferenceOptions {
    /// Which runs depend on each other.
    pub cluster: ClusterBy,
    /// Pairs with fewer runs with errors are not ranked.
    pub min_n: u64,
    /// Whether runs that repeat another run's messages count again.
    pub keep_duplicates: bool,
    /// Resamples, seed and confidence.
    pub resampling: Resampling,
}

impl Default for InferenceOptions {
    fn default() -> Self {
        Self {
            cluster: ClusterBy::Task,
            min_n: 20,
            keep_duplicates: false,
            resampling: Resampling::default(),
        }
    }
}

/// A run that repeats another one's messages, and is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Duplicate {
    /// Its file.
    pub file: String,
    /// Its id.
    pub id: Option<String>,
    /// The file of the run that it repeats.
    pub of_file: String,
    /// The id of the run that it repeats.
    pub of_id: Option<String>,
}

/// The intervals of a correlation when clusters are resampled.
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
    /// five.
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

/// A measure against the reward, with all that is known of how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Association {
    /// The measure.
    pub relation: Relation,
    /// Pearson's r. Its interval and p-value assume that runs are independent.
    pub pearson: Coefficient,
    /// Intervals of r over clusters, those chosen first.
    pub clustered: Vec<ClusteredInterval>,
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
    fn of(
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
            permutation: permutation_test(x, y, &alike, options)?,
            q: None,
            spearman: Coefficient(spearman(x, y)),
            spearman_clustered: ranks,
            success: Coefficient(point_biserial(&succeeded, x)),
            success_clustered: binary,
        })
    }

    /// The interval over the chosen clusters.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        self.clustered.first().and_then(ClusteredInterval::interval)
    }
}

fn clustered(
    by: ClusterBy,
    statistic: &impl ClusterStatistic,
    options: &Resampling,
) -> Result<ClusteredInterval> {
    Ok(ClusteredInterval { by, bootstrap: cluster_bootstrap(statistic, options)? })
}

/// The associations of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelAssociations {
    /// The model.
    pub model: String,
    /// One for each relation.
    pub associations: Vec<Association>,
}

/// The associations of one model in one domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairAssociations {
    /// The model.
    pub model: String,
    /// The domain.
    pub domain: String,
    /// Runs with errors and a reward.
    pub runs_with_errors: u64,
    /// One for each relation.
    pub associations: Vec<Association>,
}

/// A relation inside of pairs of model and domain: both columns are measured from the means of their pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WithinRelation {
    /// The measure.
    pub relation: Relation,
    /// The within-group correlation.
    pub r: Coefficient,
    /// Its interval over the chosen clusters.
    pub clustered: ClusteredInterval,
}

/// The correlations of the pairs of model and domain, pooled by random effects.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PooledRelation {
    /// The measure.
    pub relation: Relation,
    /// The pooled correlation.
    #[serde(flatten)]
    pub effects: Option<RandomEffects>,
}

/// A correlation that is called significant or not depending on whether runs are taken for independent.
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
        let differs = |one: &ClusteredInterval| {
            one.interval().is_some_and(|interval| excludes_zero(interval) != independent)
                && (independent || !one.is_doubtful())
        };
        association.clustered.iter().any(differs).then(|| Self {
            scope: scope.to_owned(),
            relation: association.relation,
            r,
            clustered: association.clustered.clone(),
        })
    }
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
            write!(f, "{joint} by {} it is {}, which {}", one.by, show(interval), says(excludes))?;
            joint = ", and";
        }
        let excluding = |one: &&ClusteredInterval| one.interval().is_some_and(excludes_zero);
        let still: Vec<&str> = self.clustered.iter().filter(excluding).map(|one| one.by.name()).collect();
        match (independent, still.as_slice()) {
            (true, []) => f.write_str(": not significant."),
            (true, still) => write!(f, ": significant by {} only.", still.join(" and ")),
            (false, _) => f.write_str(": clusters agree more than chance would have them."),
        }
    }
}

/// The associations of all groups of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Associations {
    /// Of all runs.
    pub overall: Vec<Association>,
    /// By model, where it is known.
    pub by_model: Vec<ModelAssociations>,
    /// By model and domain, where both are known.
    pub by_model_domain: Vec<PairAssociations>,
}

/// The replication, of the runs that count, with what can be inferred from it.
///
/// The result depends on the rows and the options alone, not on the number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inference {
    /// The tables of the note; pairs only where model and domain are known.
    #[serde(flatten)]
    pub tables: Replication,
    /// The runs that name no model or no domain, which form no pair.
    pub unknown: Option<Group>,
    /// Runs left out because they repeat another run's messages.
    pub duplicates: Vec<Duplicate>,
    /// What a cluster is.
    pub cluster: ClusterBy,
    /// Runs with errors that a pair needs to be ranked.
    pub min_n: u64,
    /// Resamples of each bootstrap, and arrangements of each permutation test that is not exact.
    pub resamples: usize,
    /// Their seed.
    pub seed: u64,
    /// The measures against the reward.
    pub associations: Associations,
    /// Inside of pairs.
    pub within: Vec<WithinRelation>,
    /// Pooled over pairs.
    pub pooled: Vec<PooledRelation>,
    /// The pairs in which recovery tells most about reward, the surest first.
    pub signals: Vec<Signal>,
    /// Where clustering changes a verdict.
    pub changes: Vec<VerdictChange>,
}

impl Inference {
    /// What can be inferred from these runs.
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) where the options are out of range.
    pub fn of(rows: &[SimulationRow], options: &InferenceOptions) -> Result<Self> {
        let (kept, duplicates) =
            if options.keep_duplicates { (rows.to_vec(), Vec::new()) } else { distinct(rows) };
        let resampling = &options.resampling;
        let known = |row: &&SimulationRow| row.model.is_some() && row.domain.is_some();
        let rows: Vec<&SimulationRow> = kept.iter().collect();
        let (paired, rest): (Vec<_>, Vec<_>) = rows.iter().copied().partition(known);

        let mut kinds = vec![options.cluster];
        kinds.extend(
            [ClusterBy::Task, ClusterBy::File, ClusterBy::ModelDomain]
                .into_iter()
                .filter(|by| *by != options.cluster),
        );
        let mut overall = associations(&rows, &kinds, resampling)?;
        let one = [options.cluster];
        let mut models = by_model(&rows)
            .into_par_iter()
            .map(|(model, rows)| {
                let associations = associations(&rows, &one, resampling)?;
                Ok(ModelAssociations { model: model.to_owned(), associations })
            })
            .collect::<Result<Vec<_>>>()?;
        let groups: Vec<(&str, &str, Vec<&SimulationRow>)> = by_pair(&kept)
            .into_iter()
            .filter_map(|((model, domain), rows)| Some((model?, domain?, rows)))
            .collect();
        let mut pairs = groups
            .into_par_iter()
            .map(|(model, domain, rows)| {
                Ok(PairAssociations {
                    model: model.to_owned(),
                    domain: domain.to_owned(),
                    runs_with_errors: rows.iter().filter(|r| r.errors > 0 && r.reward.is_some()).count()
                        as u64,
                    associations: associations(&rows, &one, resampling)?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        adjust(overall.iter_mut());
        adjust(models.iter_mut().flat_map(|model| &mut model.associations));
        adjust(pairs.iter_mut().flat_map(|pair| &mut pair.associations));
        Ok(Self {
            tables: Replication::of_known(&kept),
            unknown: (!rest.is_empty()).then(|| Group::of(&rest)),
            duplicates,
            cluster: options.cluster,
            min_n: options.min_n,
            resamples: resampling.resamples,
            seed: resampling.seed,
            within: Relation::ALL
                .iter()
                .map(|relation| within(*relation, &paired, options))
                .collect::<Result<_>>()?,
            pooled: Relation::ALL.iter().map(|relation| pooled(*relation, &pairs)).collect(),
            signals: strongest(&pairs, options.min_n),
            changes: changes(&overall, &models, &pairs),
            associations: Associations { overall, by_model: models, by_model_domain: pairs },
        })
    }
}

fn associations(rows: &[&SimulationRow], by: &[ClusterBy], options: &Resampling) -> Result<Vec<Association>> {
    Relation::ALL.par_iter().map(|relation| Association::of(*relation, rows, by, options)).collect()
}

fn by_model<'r>(rows: &[&'r SimulationRow]) -> Vec<(&'r str, Vec<&'r SimulationRow>)> {
    let mut models: BTreeMap<&str, Vec<&SimulationRow>> = BTreeMap::new();
    for row in rows {
        if let Some(model) = row.model.as_deref() {
            models.entry(model).or_default().push(row);
        }
    }
    models.into_iter().collect()
}

fn within(relation: Relation, rows: &[&SimulationRow], options: &InferenceOptions) -> Result<WithinRelation> {
    let Columns { rows, x, y } = relation.columns(rows);
    let group = pairs(&rows);
    let cluster = options.cluster.number(&rows);
    let statistic = ClusteredWithin::new(&x, &y, &group, &cluster)?;
    Ok(WithinRelation {
        relation,
        r: Coefficient(within_group(&x, &y, &group)),
        clustered: clustered(options.cluster, &statistic, &options.resampling)?,
    })
}

fn pooled(relation: Relation, pairs: &[PairAssociations]) -> PooledRelation {
    let of_pair = |pair: &PairAssociations| {
        let association = pair.associations.iter().find(|one| one.relation == relation)?;
        association.pearson.0.as_ref().ok().map(|correlation| (correlation.r, correlation.n))
    };
    let coefficients: Vec<(f64, usize)> = pairs.iter().filter_map(of_pair).collect();
    PooledRelation { relation, effects: random_effects(&coefficients).ok() }
}

fn changes(
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

/// The first run of each digest, and the others. A run without a digest repeats none.
fn distinct(rows: &[SimulationRow]) -> (Vec<SimulationRow>, Vec<Duplicate>) {
    let mut first: BTreeMap<Digest, &SimulationRow> = BTreeMap::new();
    let (mut kept, mut duplicates) = (Vec::new(), Vec::new());
    for row in rows {
        if let Some(original) = row.digest.and_then(|digest| first.get(&digest)) {
            duplicates.push(Duplicate {
                file: row.file.clone(),
                id: row.id.clone(),
                of_file: original.file.clone(),
                of_id: original.id.clone(),
            });
            continue;
        }
        if let Some(digest) = row.digest {
            first.insert(digest, row);
        }
        kept.push(row.clone());
    }
    (kept, duplicates)
}
