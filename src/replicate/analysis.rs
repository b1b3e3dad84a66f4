//! Intervals and tests for the correlations of a corpus.

use rayon::prelude::*;
use serde::Serialize;

use super::association::{Association, ClusteredInterval, clustered};
use super::clusters::{ClusterBy, set_tasks_of_files};
use super::contrast::Contrast;
use super::duplicates::{Duplicate, mark_duplicates};
use super::group::{Coefficient, Group};
use super::published::{Replication, by_pair};
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use super::signals::{Signal, adjust, strongest};
use super::significance::{SignificanceChange, changes};
use crate::error::Result;
use crate::stats::{ClusteredWithin, RandomEffects, Resampling, grouped, random_effects, within_group};

/// Options of a [`ReplicationAnalysis`]: which runs count, and how they are clustered and resampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicationOptions {
    /// The unit of clustering.
    pub cluster: ClusterBy,
    /// Minimum number of runs with errors and a reward for a pair of model and domain to be ranked.
    pub min_n: u64,
    /// Whether all copies of a run count. If not, only one does ([`mark_duplicates`]).
    pub keep_duplicates: bool,
    /// Resamples, seed and confidence.
    pub resampling: Resampling,
}

impl Default for ReplicationOptions {
    fn default() -> Self {
        Self {
            cluster: ClusterBy::Task,
            min_n: 20,
            keep_duplicates: false,
            resampling: Resampling::default(),
        }
    }
}

/// Correlations of each measure with the reward, for one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelAssociations {
    /// The model.
    pub model: String,
    /// One for each relation.
    pub associations: Vec<Association>,
}

/// Correlations of each measure with the reward, for one model in one domain.
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

/// The correlation of a measure with the reward within pairs of model and domain: measure and reward are
/// centred on the means of their pair.
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

/// The correlation of a measure with the reward, pooled over pairs of model and domain in a random-effects
/// model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PooledRelation {
    /// The measure.
    pub relation: Relation,
    /// The pooled correlation; `None` if fewer than two pairs have one that can be pooled.
    #[serde(flatten)]
    pub effects: Option<RandomEffects>,
}

/// Correlations of each measure with the reward, over all runs, by model, and by model and domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Associations {
    /// Over all runs.
    pub overall: Vec<Association>,
    /// By known model.
    pub by_model: Vec<ModelAssociations>,
    /// By known model and domain.
    pub by_model_domain: Vec<PairAssociations>,
}

/// The replication with intervals and tests for its correlations.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{ReplicationAnalysis, ReplicationOptions, SimulationRow}, report::{Detail, ReplicationView, replication_document}, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let file = br#"{"simulations": [
///     {"id": "a", "task_id": "1", "messages": [], "reward_info": {"reward": 1.0}},
///     {"id": "b", "task_id": "2", "messages": [], "reward_info": {"reward": 0.0}}]}"#;
/// let scanned = scanner.scan_slice("runs.json".as_ref(), file);
/// let rows: Vec<SimulationRow> = scanned.traces.iter().filter_map(SimulationRow::of).collect();
/// let analysis = ReplicationAnalysis::of(&rows, &ReplicationOptions::default())?;
/// // Two runs are too few to correlate: the reason takes the place of a number.
/// let why = analysis.tables.overall.r_recovery_reward.0.as_ref().unwrap_err();
/// assert_eq!(why.to_string(), "too few values: 2 given, at least 3 needed");
/// let text = replication_document(&analysis, &ReplicationView::default()).text(Detail::Short);
/// assert!(text.contains("2 runs"), "{text}");
/// # Ok::<(), wrongturn::Error>(())
/// ```
///
/// The result depends only on the rows and the options, not on the number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReplicationAnalysis {
    /// The tables of the published note ([`Replication`]), without groups whose model or domain is unknown.
    #[serde(flatten)]
    pub tables: Replication,
    /// The runs that count. Not in JSON.
    #[serde(skip)]
    pub runs: Vec<SimulationRow>,
    /// The runs without a model or a domain, which are in no pair.
    pub unknown: Option<Group>,
    /// Runs excluded because other copies of them count.
    pub duplicates: Vec<Duplicate>,
    /// The unit of resampling.
    pub cluster: ClusterBy,
    /// Runs without a task if clusters are tasks: each is a cluster of its own. 0 for other clusters.
    pub alone: u64,
    /// Minimum number of runs with errors and a reward for a pair to be ranked.
    pub min_n: u64,
    /// Number of resamples of each bootstrap, and of arrangements of each permutation test that is not exact.
    pub resamples: usize,
    /// The seed of both.
    pub seed: u64,
    /// The correlations of each measure with the reward.
    pub associations: Associations,
    /// Which of two measures predicts the reward better: recovery rate or error count and, if the default
    /// rule ran, goals reached or recovery rate. Each is compared over all runs and over those with errors.
    pub contrasts: Vec<Contrast>,
    /// The correlations within pairs of model and domain.
    pub within: Vec<WithinRelation>,
    /// The correlations pooled over pairs.
    pub pooled: Vec<PooledRelation>,
    /// The correlations of recovery with reward in pairs with at least `min_n` runs with errors and a reward,
    /// strongest evidence first.
    pub signals: Vec<Signal>,
    /// Correlations whose significance changes with clustering.
    pub changes: Vec<SignificanceChange>,
}

impl ReplicationAnalysis {
    /// Correlates recovery and errors with rewards, with intervals and tests.
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) if the options are out of range.
    pub fn of(rows: &[SimulationRow], options: &ReplicationOptions) -> Result<Self> {
        let (kept, duplicates) = counted_runs(rows, options);
        let resampling = &options.resampling;
        let known = |row: &&SimulationRow| row.model.is_some() && row.domain.is_some();
        let rows: Vec<&SimulationRow> = kept.iter().collect();
        let (paired, rest): (Vec<_>, Vec<_>) = rows.iter().copied().partition(known);

        let has_goals = rows.iter().any(|row| row.default_rule.is_some());
        let default_rule = if has_goals { &Relation::DEFAULT_RULE[..] } else { &[] };
        let contrasts = [
            (Relation::Recovery, Relation::ErrorCount),
            (Relation::RecoveryWithErrors, Relation::ErrorCount),
            (Relation::GoalRecovery, Relation::Recovery),
            (Relation::GoalRecoveryWithErrors, Relation::RecoveryWithErrors),
        ];
        let mut kinds = vec![options.cluster];
        kinds.extend(
            [ClusterBy::Task, ClusterBy::File, ClusterBy::ModelDomain]
                .into_iter()
                .filter(|by| *by != options.cluster),
        );
        let relations: Vec<Relation> =
            Relation::ALL.into_iter().chain(default_rule.iter().copied()).collect();
        let associations = |rows: &[&SimulationRow], by: &[ClusterBy]| {
            let of = |relation: &Relation| Association::of(*relation, rows, by, resampling);
            relations.par_iter().map(of).collect::<Result<Vec<_>>>()
        };
        let mut overall = associations(&rows, &kinds)?;
        let one = [options.cluster];
        let mut models = grouped(rows.iter().copied(), |row| row.model.as_deref())
            .into_par_iter()
            .map(|(model, rows)| {
                let associations = associations(&rows, &one)?;
                Ok(ModelAssociations { model: model.to_owned(), associations })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut pairs = by_pair(&kept)
            .into_par_iter()
            .filter_map(|((model, domain), rows)| Some((model?, domain?, rows)))
            .map(|(model, domain, rows)| {
                Ok(PairAssociations {
                    model: model.to_owned(),
                    domain: domain.to_owned(),
                    runs_with_errors: rows.iter().filter(|r| r.errors > 0 && r.reward.is_some()).count()
                        as u64,
                    associations: associations(&rows, &one)?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        adjust(overall.iter_mut());
        adjust(models.iter_mut().flat_map(|model| &mut model.associations));
        adjust(pairs.iter_mut().flat_map(|pair| &mut pair.associations));
        Ok(Self {
            tables: Replication::of(&kept).known(),
            unknown: (!rest.is_empty()).then(|| Group::of(&rest)),
            duplicates,
            cluster: options.cluster,
            min_n: options.min_n,
            resamples: resampling.resamples,
            alone: rows.iter().filter(|row| !options.cluster.is_named(row)).count() as u64,
            seed: resampling.seed,
            contrasts: contrasts
                .into_iter()
                .filter(|(measure, _)| has_goals || Relation::ALL.contains(measure))
                .map(|pair| Contrast::of(pair, &rows, &kinds, resampling))
                .collect::<Result<_>>()?,
            within: relations
                .iter()
                .map(|relation| within(*relation, &paired, options))
                .collect::<Result<_>>()?,
            pooled: relations.iter().map(|relation| pooled(*relation, &pairs)).collect(),
            signals: strongest(&pairs, options.min_n),
            changes: changes(&overall, &models, &pairs),
            runs: kept.clone(),
            associations: Associations { overall, by_model: models, by_model_domain: pairs },
        })
    }
}

/// Returns the runs that count, ready to be clustered, and the excluded copies.
pub(super) fn counted_runs(
    rows: &[SimulationRow],
    options: &ReplicationOptions,
) -> (Vec<SimulationRow>, Vec<Duplicate>) {
    let mut kept = rows.to_vec();
    set_tasks_of_files(&mut kept);
    if options.keep_duplicates {
        return (kept, Vec::new());
    }
    let duplicates = mark_duplicates(&mut kept);
    kept.retain(|row| row.duplicate_of.is_none());
    (kept, duplicates)
}

fn within(
    relation: Relation,
    rows: &[&SimulationRow],
    options: &ReplicationOptions,
) -> Result<WithinRelation> {
    let Columns { rows, x, y } = relation.columns(rows);
    let group = ClusterBy::ModelDomain.number(&rows);
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
