//! Tests whether one measure predicts reward better than another.

use std::collections::BTreeMap;

use serde::Serialize;

use super::association::{ClusteredInterval, clustered};
use super::clusters::ClusterBy;
use super::group::Coefficient;
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use crate::error::Result;
use crate::stats::{ClusteredPearson, ClusteredWithin, PairedDifference, Resampling, pearson, within_group};

/// A comparison of how two measures predict the reward, on the same runs.
///
/// A measure that should lower the reward, such as the error count, enters with the sign of its r reversed.
/// The difference is smooth in both correlations, as the bootstrap needs. (The difference between absolute values
/// is not: resamples push an r near 0 away from it.)
///
/// ```
/// use std::sync::Arc;
/// use wrongturn::{Scanner, ToolErrorRecovery, detect::ToolErrorRecoveryConfig, replicate::{Better, ReplicationAnalysis, ReplicationOptions, SimulationRow}, scan::ScanOptions};
///
/// let published = ToolErrorRecovery::new(ToolErrorRecoveryConfig::published())?;
/// let scanner = Scanner::new(vec![Arc::new(published)], ScanOptions::default())?;
/// let files = scanner.collect(["golden/tau2/scripted-careless_airline.json"])?;
/// let runs = files.iter().flat_map(|file| &file.traces);
/// let rows: Vec<SimulationRow> = runs.filter_map(SimulationRow::of).collect();
/// let analysis = ReplicationAnalysis::of(&rows, &ReplicationOptions::default())?;
/// let recovery = &analysis.contrasts[0];
/// assert_eq!((recovery.runs, Better::of(&recovery.clustered[0])), (40, Better::Neither));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contrast {
    /// The first measure.
    pub measure: Relation,
    /// The second measure.
    pub against: Relation,
    /// Number of runs that are compared.
    pub runs: u64,
    /// r of the first measure and the reward.
    pub r: Coefficient,
    /// r of the second measure and the reward.
    pub r_against: Coefficient,
    /// `r` minus `r_against`, each with its expected sign; `None` if either is undefined.
    pub difference: Option<f64>,
    /// Intervals of the difference from resampling clusters, the chosen kind of clusters first. Each resample
    /// gives both correlations. Of the kinds that divide the runs in the same way, only one is listed.
    pub clustered: Vec<ClusteredInterval>,
    /// The same comparison within pairs of model and domain; `None` if all runs are in one group.
    pub within: Option<WithinContrast>,
}

/// The difference between two correlations within pairs of model and domain: measures and rewards are centred on
/// the means of their pair, so differences between models do not count. Runs of an unknown model or domain
/// are grouped by file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WithinContrast {
    /// r of the first measure and the reward; `None` if undefined.
    pub r: Option<f64>,
    /// r of the second measure and the reward; `None` if undefined.
    pub r_against: Option<f64>,
    /// The difference, each r with its expected sign; `None` if either is undefined.
    pub difference: Option<f64>,
    /// Its interval over the chosen clusters.
    pub clustered: ClusteredInterval,
}

/// Which of two measures predicts reward better, by an interval of their difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The first: the interval lies above 0.
    First,
    /// The second: the interval lies below 0.
    Second,
    /// The interval contains 0.
    Neither,
    /// The interval is undefined.
    Unknown,
}

impl Contrast {
    pub(super) fn of(
        (measure, against): (Relation, Relation),
        rows: &[&SimulationRow],
        by: &[ClusterBy],
        options: &Resampling,
    ) -> Result<Self> {
        let Columns { rows, x, y } = measure.columns(rows);
        let other = against.columns(&rows).x;
        let [r, r_against] = [&x, &other].map(|x| Coefficient(pearson(x, &y)));
        // With these signs, every measure is expected to rise with the reward.
        let signed = |sign: f64, x: &[f64]| x.iter().map(|x| sign * x).collect::<Vec<f64>>();
        let (x, other) = (signed(measure.expected_sign(), &x), signed(against.expected_sign(), &other));
        let signs = (measure.expected_sign(), against.expected_sign());
        let intervals = distinct(by, &rows).into_iter().map(|(by, cluster)| {
            let second = ClusteredPearson::new(&x, &y, &cluster)?;
            let first = ClusteredPearson::new(&other, &y, &cluster)?;
            clustered(by, &PairedDifference { first, second }, options)
        });
        let group = ClusterBy::ModelDomain.number(&rows);
        let within = by.first().filter(|_| group.iter().any(|number| *number > 0)).map(|by| {
            let cluster = by.number(&rows);
            let second = ClusteredWithin::new(&x, &y, &group, &cluster)?;
            let first = ClusteredWithin::new(&other, &y, &group, &cluster)?;
            let [r, r_other] = [&x, &other].map(|x| within_group(x, &y, &group).ok().map(|found| found.r));
            Ok::<_, crate::Error>(WithinContrast {
                r: r.map(|r| signs.0 * r),
                r_against: r_other.map(|r| signs.1 * r),
                difference: r.zip(r_other).map(|(r, other)| r - other),
                clustered: clustered(*by, &PairedDifference { first, second }, options)?,
            })
        });
        Ok(Self {
            measure,
            against,
            runs: rows.len() as u64,
            difference: r.r().zip(r_against.r()).map(|(r, other)| signs.0 * r - signs.1 * other),
            r,
            r_against,
            clustered: intervals.collect::<Result<_>>()?,
            within: within.transpose()?,
        })
    }
}

/// Returns the kinds of clusters that divide the runs differently, with the cluster number of each run. If
/// pairs of model and domain divide the runs as files do, they replace files, unless files are the first
/// kind.
fn distinct(by: &[ClusterBy], rows: &[&SimulationRow]) -> Vec<(ClusterBy, Vec<usize>)> {
    let mut kinds: Vec<(ClusterBy, Vec<usize>)> = Vec::new();
    for by in by {
        let numbers = by.number(rows);
        match kinds.iter_mut().enumerate().find(|(_, (_, known))| divides_alike(known, &numbers)) {
            Some((place, (known, _))) if place > 0 && *known == ClusterBy::File => *known = *by,
            Some(_) => {}
            None => kinds.push((*by, numbers)),
        }
    }
    kinds
}

fn divides_alike(one: &[usize], other: &[usize]) -> bool {
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    one.iter().zip(other).all(|(one, other)| {
        there.entry(one).or_insert(other) == &other && back.entry(other).or_insert(one) == &one
    })
}

impl Better {
    /// Returns the better measure by the interval over these clusters.
    #[must_use]
    pub fn of(clustered: &ClusteredInterval) -> Self {
        match clustered.interval() {
            None => Self::Unknown,
            Some(interval) if interval.low > 0.0 => Self::First,
            Some(interval) if interval.high < 0.0 => Self::Second,
            Some(_) => Self::Neither,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    /// 24 tasks: reward follows recovery in all but one, and does not depend on the number of errors.
    fn rows() -> Vec<SimulationRow> {
        (0..96)
            .map(|number| {
                let task = number % 24;
                let recovered = task % 2 == 0;
                let reward = f64::from(u8::from(recovered != (task == 3)));
                let mut row = row("m", task, recovered, reward);
                row.errors = 1 + u64::from(number / 24);
                row
            })
            .collect()
    }

    fn contrast(rows: &[SimulationRow], relation: Relation) -> Contrast {
        let rows: Vec<&SimulationRow> = rows.iter().collect();
        let by = [ClusterBy::Task, ClusterBy::ModelDomain];
        Contrast::of((relation, Relation::ErrorCount), &rows, &by, &Resampling::default()).unwrap()
    }

    #[test]
    fn a_measure_that_follows_reward_predicts_it_better() {
        let found = contrast(&rows(), Relation::Recovery);
        assert_eq!(found.runs, 96);
        // 52 of 96 rewarded, 48 recovered, and all of these rewarded.
        let recovery = (48.0 * 96.0 - 48.0 * 52.0) / (48.0_f64 * 48.0 * 52.0 * 44.0).sqrt();
        assert!((found.r.r().unwrap() - recovery).abs() < 1e-12, "{found:?}");
        assert!(found.r_against.r().unwrap().abs() < 1e-12);
        assert!((found.difference.unwrap() - recovery).abs() < 1e-12);
        let interval = found.clustered[0].interval().unwrap();
        assert!(
            interval.low > 0.0 && interval.low < recovery && recovery < interval.high + 1e-9,
            "{interval:?}"
        );
        assert_eq!(Better::of(&found.clustered[0]), Better::First);
        // One pair of model and domain is one cluster.
        assert_eq!(Better::of(&found.clustered[1]), Better::Unknown);
    }

    #[test]
    fn clusters_that_divide_the_runs_alike_count_once() {
        let rows: Vec<SimulationRow> = (0..40)
            .map(|number| {
                let model = if number % 2 == 0 { "a" } else { "b" };
                SimulationRow { file: model.to_owned(), ..row(model, number / 4, number % 3 == 0, 1.0) }
            })
            .collect();
        let rows: Vec<&SimulationRow> = rows.iter().collect();
        let kinds = |by: &[ClusterBy]| distinct(by, &rows).into_iter().map(|(by, _)| by).collect::<Vec<_>>();
        let all = [ClusterBy::Task, ClusterBy::File, ClusterBy::ModelDomain];
        assert_eq!(kinds(&all), [ClusterBy::Task, ClusterBy::ModelDomain]);
        assert_eq!(kinds(&[ClusterBy::File, ClusterBy::ModelDomain]), [ClusterBy::File]);
    }

    #[test]
    fn errors_count_against_reward() {
        // The more errors, the less reward, exactly.
        let mut rows = rows();
        for row in &mut rows {
            row.errors = if row.reward == Some(1.0) { 1 } else { 2 };
        }
        let found = contrast(&rows, Relation::RecoveryWithErrors);
        assert!((found.r_against.r().unwrap() + 1.0).abs() < 1e-12);
        assert!((found.difference.unwrap() - (found.r.r().unwrap() - 1.0)).abs() < 1e-12);
        assert!(found.clustered[0].interval().unwrap().high <= 1e-9, "{found:?}");
        // The more errors, the more reward: the sign is not the expected one.
        for row in &mut rows {
            row.errors = if row.reward == Some(1.0) { 2 } else { 1 };
        }
        let turned = contrast(&rows, Relation::RecoveryWithErrors);
        assert!((turned.difference.unwrap() - (found.r.r().unwrap() + 1.0)).abs() < 1e-12);
        assert_eq!(Better::of(&turned.clustered[0]), Better::First);
        // A run without errors is left out of both measures.
        rows[0].errors = 0;
        assert_eq!(contrast(&rows, Relation::RecoveryWithErrors).runs, 95);
    }

    #[test]
    fn differences_between_models_do_not_count_within_them() {
        // In each model, runs that recover are rewarded more; the model that recovers more is rewarded less.
        let rows: Vec<SimulationRow> = (0..80)
            .map(|number| {
                let (other, task) = (number % 2 == 1, number / 4);
                let recovered = number / 2 % 2 == 0 && !other || other && number % 8 != 1;
                let reward = match (other, recovered) {
                    (false, true) => 1.0,
                    (false, false) => 0.9,
                    (true, true) => 0.1,
                    (true, false) => 0.0,
                };
                let mut row = row(if other { "b" } else { "a" }, task, recovered, reward);
                row.errors = 1 + u64::from(number % 3 == 0);
                row
            })
            .collect();
        let found = contrast(&rows, Relation::Recovery);
        let within = found.within.unwrap();
        assert!(found.r.r().unwrap() < 0.0 && within.difference.unwrap() > 0.9, "{within:?}");
        assert_eq!(Better::of(&within.clustered), Better::First);
        let alone: Vec<SimulationRow> =
            rows.into_iter().filter(|row| row.model.as_deref() == Some("a")).collect();
        assert_eq!(contrast(&alone, Relation::Recovery).within, None);
    }

    #[test]
    fn a_constant_measure_has_no_difference() {
        let mut rows = rows();
        for row in &mut rows {
            row.errors = 2;
        }
        let found = contrast(&rows, Relation::Recovery);
        assert_eq!((found.difference, Better::of(&found.clustered[0])), (None, Better::Unknown));
    }
}
