//! Computes the replication from sums, for more runs than are kept in memory.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::analysis::ReplicationOptions;
use super::association::{ClusteredInterval, clustered};
use super::clusters::ClusterBy;
use super::group::{Coefficient, Group, ModelGroup, PairGroup};
use super::pass_k::{PassK, pass_k_of_sums};
use super::published::Replication;
use super::relation::Relation;
use super::state::{ReplicationState, Sums, TaskOfPair};
use super::sums::GroupSums;
use crate::error::Result;
use crate::stats::{PearsonAccumulator, Resampling};
use crate::trace::DistinctCount;

/// The correlation of a measure with the reward, from sums.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SummedAssociation {
    /// The measure.
    pub relation: Relation,
    /// Pearson's r.
    pub pearson: Coefficient,
    /// Its interval over clusters; `None` unless clusters are tasks or pairs of model and domain.
    pub clustered: Option<ClusteredInterval>,
}

/// The correlation of recovery with reward, from sums, over the runs of one model in one domain that have errors.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SummedPair {
    /// The model.
    pub model: String,
    /// The domain.
    pub domain: String,
    /// Recovery rate against reward, over runs with errors.
    #[serde(flatten)]
    pub association: SummedAssociation,
}

/// The replication from sums by model, domain and task, for more runs than a [`ReplicationState`] keeps.
///
/// Counts are exact, and so is pass^k for runs with a model and a domain. Means are exact to 1e-12, and
/// correlations to about 1e-12 divided by the standard deviation of the values, because rewards and measures
/// are rounded to multiples of 2^-42. Intervals over clusters come from the same bootstrap as in
/// [`ReplicationAnalysis`](super::ReplicationAnalysis), but if the task, domain or model of a run
/// is unknown, the run is clustered by those that are known. Every run counts: copies cannot be identified,
/// although the number of different runs can be estimated. Rank correlations, permutation tests and tables by
/// other groups need the runs and are not computed.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{ReplicationOptions, ReplicationState, SimulationRow, SummedReplication}, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let file = br#"{"simulations": [
///     {"id": "a", "task_id": "1", "messages": [], "reward_info": {"reward": 1.0}},
///     {"id": "b", "task_id": "2", "messages": [], "reward_info": {"reward": 0.0}}]}"#;
/// let scanned = scanner.scan_slice("runs.json".as_ref(), file);
/// // A state that may keep one run holds only sums once it has two.
/// let mut state = ReplicationState::new(1);
/// state.extend(scanned.traces.iter().filter_map(SimulationRow::of));
/// assert_eq!(state.rows(), None);
/// let summed = SummedReplication::of(&state, &ReplicationOptions::default())?.unwrap();
/// assert_eq!(summed.tables.overall.mean_reward, Some(0.5));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SummedReplication {
    /// The tables of the note, with groups of known models and domains only.
    #[serde(flatten)]
    pub tables: Replication,
    /// The tables as in the note: runs without a model or a domain form groups of their own. Not in JSON.
    #[serde(skip)]
    pub published: Replication,
    /// The runs without a model or a domain, which belong to no pair in `pairs`; `None` if there are none.
    pub unknown: Option<Group>,
    /// Number of runs with a reward excluded from means and correlations because the reward or a count is
    /// beyond ±2^20.
    pub out_of_range: u64,
    /// The number of different contents among the runs with a digest, estimated if it is large.
    pub different_contents: DistinctCount,
    /// The unit of resampling.
    pub cluster: ClusterBy,
    /// Number of resamples of each bootstrap.
    pub resamples: usize,
    /// The seed of the resampling.
    pub seed: u64,
    /// The correlations of the measures in [`Relation::ALL`] with the reward, over all runs.
    pub overall: Vec<SummedAssociation>,
    /// The correlations of recovery with reward, by known model and domain.
    pub pairs: Vec<SummedPair>,
    /// pass^k by model and domain, without runs of an unknown model. Not in JSON.
    #[serde(skip)]
    pub pass_k: Vec<PassK>,
}

impl SummedReplication {
    /// Returns the replication from the sums of a state, or `None` if the state keeps its runs.
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) if the options are out of range.
    pub fn of(state: &ReplicationState, options: &ReplicationOptions) -> Result<Option<Self>> {
        state.sums().map(|sums| Self::of_sums(sums, options)).transpose()
    }

    fn of_sums(sums: &Sums, options: &ReplicationOptions) -> Result<Self> {
        let Sums { contents, groups } = sums;
        let mut all = GroupSums::default();
        let mut unknown = GroupSums::default();
        let (mut models, mut pairs) = (BTreeMap::new(), BTreeMap::new());
        for (key @ (model, domain, _), one) in groups {
            let (model, domain) = (model.as_deref(), domain.as_deref());
            all.merge(one);
            models.entry(model).or_insert_with(GroupSums::default).merge(one);
            let (pair, members) = pairs
                .entry((model, domain))
                .or_insert_with(|| (GroupSums::default(), Vec::<(&TaskOfPair, &GroupSums)>::new()));
            pair.merge(one);
            members.push((key, one));
            if model.is_none() || domain.is_none() {
                unknown.merge(one);
            }
        }
        let by_model = models
            .into_iter()
            .map(|(model, sums)| ModelGroup { model: model.map(str::to_owned), group: sums.figures() });
        let by_pair = pairs.iter().map(|((model, domain), (sums, _))| PairGroup {
            model: model.map(str::to_owned),
            domain: domain.map(str::to_owned),
            group: sums.figures(),
        });
        let members: Vec<(&TaskOfPair, &GroupSums)> = groups.iter().collect();
        let overall = Relation::ALL
            .par_iter()
            .map(|relation| SummedAssociation::of(*relation, &all, &members, options))
            .collect::<Result<Vec<_>>>()?;
        let published = Replication::with(all.figures(), by_model.collect(), by_pair.collect());
        let pairs = pairs
            .into_par_iter()
            .filter_map(|((model, domain), (sums, members))| Some((model?, domain?, sums, members)))
            .map(|(model, domain, sums, members)| {
                let relation = Relation::RecoveryWithErrors;
                Ok(SummedPair {
                    model: model.to_owned(),
                    domain: domain.to_owned(),
                    association: SummedAssociation::of(relation, &sums, &members, options)?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let Resampling { resamples, seed, .. } = options.resampling;
        Ok(Self {
            tables: published.clone().known(),
            published,
            unknown: (unknown.sims > 0).then(|| unknown.figures()),
            out_of_range: all.out_of_range,
            different_contents: contents.count(),
            cluster: options.cluster,
            resamples,
            seed,
            overall,
            pairs,
            pass_k: pass_k_of_sums(groups),
        })
    }
}

impl SummedAssociation {
    fn of(
        relation: Relation,
        all: &GroupSums,
        members: &[(&TaskOfPair, &GroupSums)],
        options: &ReplicationOptions,
    ) -> Result<Self> {
        let mut clusters: BTreeMap<_, PearsonAccumulator> = BTreeMap::new();
        for ((model, domain, task), sums) in members {
            // Runs without a task or a domain are kept apart by model.
            let cluster = match (options.cluster, domain, task) {
                (ClusterBy::Task, Some(domain), Some(task)) => (None, Some(domain), Some(task)),
                (ClusterBy::Task, domain, task) => (Some(model), domain.as_ref(), task.as_ref()),
                (ClusterBy::ModelDomain, domain, _) => (Some(model), domain.as_ref(), None),
                (ClusterBy::File | ClusterBy::None, ..) => continue,
            };
            let totals = sums.pairs(relation);
            if totals.count() > 0 {
                clusters.entry(cluster).or_default().merge(&totals);
            }
        }
        let clusters: Vec<PearsonAccumulator> = clusters.into_values().collect();
        let is_known = matches!(options.cluster, ClusterBy::Task | ClusterBy::ModelDomain);
        let interval = is_known
            .then(|| {
                clustered(options.cluster, &PearsonAccumulator::clustered(&clusters), &options.resampling)
            })
            .transpose()?;
        Ok(Self { relation, pearson: Coefficient(all.pairs(relation).correlation()), clustered: interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::{ReplicationAnalysis, SimulationRow, pass_k_by_pair, tests::row};

    /// Runs of four models in two domains, some without a task or a reward.
    fn rows() -> Vec<SimulationRow> {
        (0..600_u32)
            .map(|n| {
                let model = ["a", "b", "c", "d"][n as usize % 4];
                let errors = u64::from(n % 5);
                let recovered = errors.min(u64::from(n % 3));
                SimulationRow {
                    domain: (n % 50 != 7).then(|| ["x", "y"][n as usize / 4 % 2].into()),
                    task: (n % 41 != 3).then(|| (n % 23).to_string()),
                    reward: (n % 31 != 5).then(|| f64::from(n * n % 7) / 6.0),
                    errors,
                    recovered,
                    recovery_rate: crate::detect::recovery_rate(recovered, errors),
                    position: u64::from(n),
                    termination: (n % 29 == 0).then(|| "infrastructure_error".to_owned()),
                    ..row(model, n, true, 1.0)
                }
            })
            .collect()
    }

    fn state(most: u64, rows: &[SimulationRow]) -> ReplicationState {
        let mut state = ReplicationState::new(most);
        state.extend(rows.iter().cloned());
        state
    }

    /// Returns true if figures agree: counts exactly, means and correlations within 1e-11.
    fn agree(one: &serde_json::Value, other: &serde_json::Value) -> bool {
        use serde_json::Value::{Array, Number, Object};
        match (one, other) {
            (Number(one), Number(other)) => match (one.as_u64(), other.as_u64()) {
                (Some(one), Some(other)) => one == other,
                _ => (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-11,
            },
            (Array(one), Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| agree(one, other))
            }
            (Object(one), Object(other)) => {
                one.keys().eq(other.keys()) && one.values().zip(other.values()).all(|(a, b)| agree(a, b))
            }
            _ => one == other,
        }
    }

    #[track_caller]
    fn assert_agree(one: &impl Serialize, other: &impl Serialize) {
        let (one, other) = (serde_json::to_value(one).unwrap(), serde_json::to_value(other).unwrap());
        assert!(agree(&one, &other), "{one:#} {other:#}");
    }

    #[test]
    fn figures_of_sums_are_those_of_runs() {
        let rows = rows();
        let options = ReplicationOptions::default();
        assert_eq!(SummedReplication::of(&state(600, &rows), &options).unwrap(), None);
        let summed = SummedReplication::of(&state(599, &rows), &options).unwrap().unwrap();
        let exact = ReplicationAnalysis::of(&rows, &options).unwrap();
        assert_agree(&summed.tables, &exact.tables);
        assert_agree(&summed.published, &Replication::of(&rows));
        assert_agree(&summed.unknown, &exact.unknown);
        assert_eq!(summed.pass_k, pass_k_by_pair(&rows));
        for (one, other) in summed.overall.iter().zip(&exact.associations.overall) {
            assert_eq!(one.relation, other.relation);
            assert_agree(&one.pearson, &other.pearson);
        }
    }

    #[test]
    fn runs_beyond_the_range_of_sums_are_left_out_and_counted() {
        let mut rows = rows();
        let without =
            SummedReplication::of(&state(3, &rows), &ReplicationOptions::default()).unwrap().unwrap();
        rows.push(SimulationRow { reward: Some(1e300), ..row("a", 600, true, 1.0) });
        let with = SummedReplication::of(&state(3, &rows), &ReplicationOptions::default()).unwrap().unwrap();
        assert_eq!((without.out_of_range, with.out_of_range), (0, 1));
        assert_eq!(with.tables.overall.sims, without.tables.overall.sims + 1);
        assert_eq!(with.tables.overall.mean_reward, without.tables.overall.mean_reward);
        assert_eq!(with.overall, without.overall);
    }

    #[test]
    fn intervals_over_tasks_are_those_of_the_runs_where_all_name_theirs() {
        let rows: Vec<SimulationRow> =
            rows().into_iter().filter(|row| row.task.is_some() && row.domain.is_some()).collect();
        for cluster in [ClusterBy::Task, ClusterBy::ModelDomain, ClusterBy::File, ClusterBy::None] {
            let resampling = Resampling { resamples: 200, ..Resampling::default() };
            let options = ReplicationOptions { cluster, resampling, ..ReplicationOptions::default() };
            let summed = SummedReplication::of(&state(3, &rows), &options).unwrap().unwrap();
            let exact = ReplicationAnalysis::of(&rows, &options).unwrap();
            for (one, other) in summed.overall.iter().zip(&exact.associations.overall) {
                if matches!(cluster, ClusterBy::File | ClusterBy::None) {
                    assert_eq!(one.clustered, None);
                    continue;
                }
                let (one, other) = (one.clustered.unwrap().bootstrap, other.clustered[0].bootstrap);
                assert_eq!(one.clusters, other.clusters);
                let ends = |found: &crate::stats::ClusterBootstrap| found.percentile.map(|i| (i.low, i.high));
                let (one, other) = (ends(&one).unwrap(), ends(&other).unwrap());
                assert!(
                    (one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-9,
                    "{one:?} {other:?}"
                );
            }
        }
    }
}
