//! Whether recovery tracks reward better than the number of errors does.

use std::fmt;

use serde::Serialize;

use super::association::{ClusteredInterval, clustered};
use super::clusters::ClusterBy;
use super::group::Coefficient;
use super::relation::{Columns, Relation};
use super::row::SimulationRow;
use crate::error::Result;
use crate::stats::{ClusterStatistic, ClusteredPearson, PairedDifference, Resampling, pearson};

/// How recovery and the number of errors go with reward, on the same runs.
///
/// Recovery should go with reward, and errors against it. So the r of errors has its sign turned before it is taken away:
/// what goes the wrong way tracks reward worse than what does not go with it at all, and the difference is smooth in
/// both, as the bootstrap needs. (The difference of absolute values is not: resamples push an r near 0 away from it.)
///
/// ```
/// use std::sync::Arc;
/// use wrongturn::{Scanner, ToolErrorRecovery, detect::ToolErrorRecoveryConfig, replicate::{Inference, InferenceOptions, SimulationRow}, scan::ScanOptions};
///
/// let published = ToolErrorRecovery::new(ToolErrorRecoveryConfig::published())?;
/// let scanner = Scanner::new(vec![Arc::new(published)], ScanOptions::default())?;
/// let files = scanner.collect(["golden/tau2/scripted-careless_airline.json"])?;
/// let runs = files.iter().flat_map(|file| &file.traces);
/// let rows: Vec<SimulationRow> = runs.filter_map(SimulationRow::of).collect();
/// let inference = Inference::of(&rows, &InferenceOptions::default())?;
/// assert!(inference.contrasts[0].to_string().starts_with("On the same 40 runs, r with reward is +0.365 for recovery"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contrast {
    /// The recovery rate that is held against the error count, over all runs or over those with errors.
    pub relation: Relation,
    /// How many runs these are.
    pub runs: u64,
    /// r of recovery rate and reward.
    pub recovery: Coefficient,
    /// r of error count and reward on the same runs.
    pub error_count: Coefficient,
    /// r of recovery rate less r of error count with its sign turned, which is their sum, where both are defined.
    pub difference: Option<f64>,
    /// The intervals of that difference when clusters are resampled, both correlations from the same draw.
    pub clustered: ClusteredInterval,
}

impl Contrast {
    pub(super) fn of(
        relation: Relation,
        rows: &[&SimulationRow],
        by: ClusterBy,
        options: &Resampling,
    ) -> Result<Self> {
        let Columns { rows, x, y } = relation.columns(rows);
        // Whatever has a recovery rate has a number of errors, so that the rows are the same.
        let errors = Relation::ErrorCount.columns(&rows).x;
        let cluster = by.number(&rows);
        let of = |x: &[f64]| ClusteredPearson::new(x, &y, &cluster);
        let statistic = PairedDifference { first: Turned(of(&errors)?), second: of(&x)? };
        let (recovery, error_count) = (Coefficient(pearson(&x, &y)), Coefficient(pearson(&errors, &y)));
        Ok(Self {
            relation,
            runs: rows.len() as u64,
            difference: recovery.r().zip(error_count.r()).map(|(one, other)| one + other),
            recovery,
            error_count,
            clustered: clustered(by, &statistic, options)?,
        })
    }
}

impl fmt::Display for Contrast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_errors = if self.relation == Relation::RecoveryWithErrors { " with errors" } else { "" };
        let runs = if self.runs == 1 { "run" } else { "runs" };
        write!(f, "On the same {} {runs}{with_errors}, ", self.runs)?;
        let (Some(recovery), Some(errors), Some(difference)) =
            (self.recovery.r(), self.error_count.r(), self.difference)
        else {
            return f.write_str("recovery rate and error count cannot both be held against reward");
        };
        f.write_str(&held_against(recovery, errors, difference))?;
        match self.clustered.interval() {
            Some(i) => {
                let better = match (i.low > 0.0, i.high < 0.0) {
                    (true, _) => "recovery tracks reward better",
                    (_, true) => "the error count tracks reward better",
                    _ => "which tracks reward better is open",
                };
                let by = self.clustered.by.unit();
                write!(f, ", resampled by {by} [{:+.3}, {:+.3}]: {better}", i.low, i.high)
            }
            None => write!(f, ", without an interval"),
        }
    }
}

/// What the two correlations are, and how far apart.
pub(crate) fn held_against(recovery: f64, errors: f64, difference: f64) -> String {
    format!(
        "r with reward is {recovery:+.3} for recovery rate and {errors:+.3} for error count. As errors should count \
         against reward, their sign is turned: a difference of {difference:+.3}"
    )
}

/// A statistic with its sign turned.
struct Turned<S>(S);

impl<S: ClusterStatistic> ClusterStatistic for Turned<S> {
    type Sums = S::Sums;

    fn clusters(&self) -> usize {
        self.0.clusters()
    }

    fn nothing(&self) -> S::Sums {
        self.0.nothing()
    }

    fn add(&self, sums: &mut S::Sums, cluster: usize, times: f64) {
        self.0.add(sums, cluster, times);
    }

    fn value(&self, sums: &S::Sums) -> Option<f64> {
        self.0.value(sums).map(|value| -value)
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
        Contrast::of(relation, &rows, ClusterBy::Task, &Resampling::default()).unwrap()
    }

    #[test]
    fn what_follows_reward_is_stronger_than_what_does_not() {
        let found = contrast(&rows(), Relation::Recovery);
        assert_eq!(found.runs, 96);
        // 52 of 96 rewarded, 48 recovered, and all of these rewarded.
        let recovery = (48.0 * 96.0 - 48.0 * 52.0) / (48.0_f64 * 48.0 * 52.0 * 44.0).sqrt();
        assert!((found.recovery.r().unwrap() - recovery).abs() < 1e-12, "{found:?}");
        assert!(found.error_count.r().unwrap().abs() < 1e-12);
        assert!((found.difference.unwrap() - recovery).abs() < 1e-12);
        let interval = found.clustered.interval().unwrap();
        assert!(
            interval.low > 0.0 && interval.low < recovery && recovery < interval.high + 1e-9,
            "{interval:?}"
        );
        let sentence = found.to_string();
        assert!(
            sentence.starts_with(
                "On the same 96 runs, r with reward is +0.920 for recovery rate and +0.000 for error count. As errors \
                 should count against reward, their sign is turned: a difference of +0.920, resampled by task [+0."
            ),
            "{sentence}"
        );
        assert!(sentence.ends_with("]: recovery tracks reward better"), "{sentence}");
    }

    #[test]
    fn errors_count_for_what_they_say_against_reward() {
        // The more errors the less reward, exactly.
        let mut rows = rows();
        for row in &mut rows {
            row.errors = if row.reward == Some(1.0) { 1 } else { 2 };
        }
        let found = contrast(&rows, Relation::RecoveryWithErrors);
        assert!((found.error_count.r().unwrap() + 1.0).abs() < 1e-12);
        assert!((found.difference.unwrap() - (found.recovery.r().unwrap() - 1.0)).abs() < 1e-12);
        assert!(found.clustered.interval().unwrap().high <= 1e-9, "{found:?}");
        // The more errors the more reward: they track it worse than nothing would.
        for row in &mut rows {
            row.errors = if row.reward == Some(1.0) { 2 } else { 1 };
        }
        let turned = contrast(&rows, Relation::RecoveryWithErrors);
        assert!((turned.difference.unwrap() - (found.recovery.r().unwrap() + 1.0)).abs() < 1e-12);
        assert!(turned.to_string().ends_with(": recovery tracks reward better"), "{turned}");
        // Runs without errors are none of those with errors, for both measures.
        rows[0].errors = 0;
        assert_eq!(contrast(&rows, Relation::RecoveryWithErrors).runs, 95);
    }

    #[test]
    fn what_does_not_vary_has_no_strength() {
        let mut rows = rows();
        for row in &mut rows {
            row.errors = 2;
        }
        let found = contrast(&rows, Relation::Recovery);
        assert_eq!((found.difference, found.clustered.interval()), (None, None));
        assert!(found.to_string().ends_with("cannot both be held against reward"));
    }
}
