//! Whether one measure predicts reward better than another.

use serde::Serialize;

use super::association::{ClusteredInterval, clustered};
use super::clusters::ClusterBy;
use super::group::Coefficient;
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use crate::error::Result;
use crate::stats::{ClusterStatistic, ClusteredPearson, PairedDifference, Resampling, pearson};

/// Two measures against the reward, on the same runs.
///
/// A measure that should lower the reward, such as the error count, enters with the sign of its r reversed. The
/// difference is smooth in both correlations, as the bootstrap needs. (The difference of absolute values is not:
/// resamples push an r near 0 away from it.)
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
/// assert_eq!((recovery.runs, recovery.better()), (40, Better::Neither));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contrast {
    /// The measure.
    pub measure: Relation,
    /// The other measure.
    pub against: Relation,
    /// Runs.
    pub runs: u64,
    /// r of the measure and reward.
    pub r: Coefficient,
    /// r of the other measure and reward.
    pub r_against: Coefficient,
    /// `r` minus `r_against`, each with its expected sign; `None` if either is undefined.
    pub difference: Option<f64>,
    /// Intervals of the difference from resampling clusters, the chosen clusters first. Each resample gives both
    /// correlations.
    pub clustered: Vec<ClusteredInterval>,
}

/// Which of two measures predicts reward better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The interval lies above 0.
    First,
    /// The interval lies below 0.
    Second,
    /// The interval contains 0.
    Neither,
    /// There is no interval.
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
        let intervals = by.iter().map(|by| {
            let cluster = by.number(&rows);
            let side = |relation: Relation, x: &[f64]| {
                Ok::<_, crate::Error>(Signed(
                    relation.expected_sign(),
                    ClusteredPearson::new(x, &y, &cluster)?,
                ))
            };
            let statistic = PairedDifference { first: side(against, &other)?, second: side(measure, &x)? };
            clustered(*by, &statistic, options)
        });
        let clustered = intervals.collect::<Result<_>>()?;
        let (r, r_against) = (Coefficient(pearson(&x, &y)), Coefficient(pearson(&other, &y)));
        let signed = |relation: Relation, r: &Coefficient| Some(relation.expected_sign() * r.r()?);
        let difference = signed(measure, &r).zip(signed(against, &r_against)).map(|(one, other)| one - other);
        Ok(Self { measure, against, runs: rows.len() as u64, r, r_against, difference, clustered })
    }

    /// Returns the answer for the chosen clusters.
    #[must_use]
    pub fn better(&self) -> Better {
        self.clustered.first().map_or(Better::Unknown, Better::of)
    }
}

impl Better {
    /// Returns the answer of an interval.
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

/// A statistic times 1 or -1.
struct Signed<S>(f64, S);

impl<S: ClusterStatistic> ClusterStatistic for Signed<S> {
    type Sums = S::Sums;

    fn clusters(&self) -> usize {
        self.1.clusters()
    }

    fn nothing(&self) -> S::Sums {
        self.1.nothing()
    }

    fn add(&self, sums: &mut S::Sums, cluster: usize, times: f64) {
        self.1.add(sums, cluster, times);
    }

    fn value(&self, sums: &S::Sums) -> Option<f64> {
        self.1.value(sums).map(|value| self.0 * value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    /// 24 tasks: reward follows recovery in all but one, and has nothing to do with how many errors there are.
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
        assert_eq!(found.better(), Better::First);
        // One pair of model and domain is one cluster.
        assert_eq!(Better::of(&found.clustered[1]), Better::Unknown);
    }

    #[test]
    fn errors_count_against_reward() {
        // The more errors the less reward, exactly.
        let mut rows = rows();
        for row in &mut rows {
            row.errors = if row.reward == Some(1.0) { 1 } else { 2 };
        }
        let found = contrast(&rows, Relation::RecoveryWithErrors);
        assert!((found.r_against.r().unwrap() + 1.0).abs() < 1e-12);
        assert!((found.difference.unwrap() - (found.r.r().unwrap() - 1.0)).abs() < 1e-12);
        assert!(found.clustered[0].interval().unwrap().high <= 1e-9, "{found:?}");
        // The more errors the more reward: they predict it worse than nothing would.
        for row in &mut rows {
            row.errors = if row.reward == Some(1.0) { 2 } else { 1 };
        }
        let turned = contrast(&rows, Relation::RecoveryWithErrors);
        assert!((turned.difference.unwrap() - (found.r.r().unwrap() + 1.0)).abs() < 1e-12);
        assert_eq!(turned.better(), Better::First);
        // A run without errors is left out of both measures.
        rows[0].errors = 0;
        assert_eq!(contrast(&rows, Relation::RecoveryWithErrors).runs, 95);
    }

    #[test]
    fn a_constant_measure_has_no_difference() {
        let mut rows = rows();
        for row in &mut rows {
            row.errors = 2;
        }
        let found = contrast(&rows, Relation::Recovery);
        assert_eq!((found.difference, found.better()), (None, Better::Unknown));
    }
}
