//! Regresses the reward on recovery, errors and calls together.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::analysis::{ReplicationOptions, counted_runs};
use super::clusters::ClusterBy;
use super::relation::Relation;
use super::row::SimulationRow;
use crate::run_outcome::is_success;
use crate::stats::{Effect, Interval, Regression, StatsError, linear_regression, logistic_regression};

/// The measures whose effects the regressions estimate.
const MEASURES: [Relation; 3] = [Relation::Recovery, Relation::ErrorCount, Relation::CallCount];

/// Regressions of the reward on recovery rate, error count and call count together.
///
/// A correlation involves one measure. A regression shows how the reward changes with one measure while the
/// others stay the same. Each pair of model and domain has its own intercept, and standard errors are
/// cluster-robust. Runs of an unknown model or domain are grouped by file.
///
/// [`SimulationRow`] has an example of how to read the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RewardRegression {
    /// The unit of clustering.
    pub cluster: ClusterBy,
    /// The model of the log odds of success (a reward of 1).
    pub logistic: RewardModel,
    /// The model of the reward.
    pub linear: RewardModel,
}

/// One regression of the reward.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RewardModel {
    /// Runs to which the model is fitted.
    pub runs: u64,
    /// Number of clusters of these runs.
    pub clusters: u64,
    /// Number of pairs of model and domain, each with its own intercept.
    pub groups: u64,
    /// Runs excluded because all or none of the runs of their pair succeed; 0 in the linear model.
    pub left_out: u64,
    /// The effects of one unit of each measure; empty if undefined.
    pub effects: Vec<MeasureEffect>,
    /// Why the effects are undefined; `None` if they are defined.
    pub undefined: Option<String>,
}

/// The effect of one unit of a measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasureEffect {
    /// The measure.
    pub measure: Relation,
    /// Its coefficient, with its standard error and interval.
    #[serde(flatten)]
    pub effect: Effect,
    /// The factor by which the odds of success change, with its 95% interval. Logistic only.
    pub odds_ratio: Option<(f64, Interval)>,
}

impl RewardRegression {
    /// Fits both regressions to the runs with a reward. Uses only `cluster` and `keep_duplicates` of the
    /// options.
    #[must_use]
    pub fn of(rows: &[SimulationRow], options: &ReplicationOptions) -> Self {
        let kept = counted_runs(rows, options).0;
        let rows: Vec<&SimulationRow> = kept.iter().filter(|row| row.reward.is_some()).collect();
        let columns = Columns {
            cluster: options.cluster.number(&rows),
            group: ClusterBy::ModelDomain.number(&rows),
            rows,
        };
        Self { cluster: options.cluster, logistic: columns.logistic(), linear: columns.linear() }
    }
}

/// The runs of a regression with their cluster and their pair of model and domain.
struct Columns<'r> {
    rows: Vec<&'r SimulationRow>,
    cluster: Vec<usize>,
    group: Vec<usize>,
}

impl Columns<'_> {
    fn linear(&self) -> RewardModel {
        let all = vec![true; self.rows.len()];
        self.model(&all, false, linear_regression)
    }

    fn logistic(&self) -> RewardModel {
        let mut counts: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
        let successes = self.rows.iter().map(|row| is_success(row.reward));
        for (group, success) in self.group.iter().zip(successes) {
            let [failed, succeeded] = counts.entry(*group).or_default();
            *(if success { succeeded } else { failed }) += 1;
        }
        let varies = |group: &usize| counts.get(group).is_some_and(|counts| !counts.contains(&0));
        let kept: Vec<bool> = self.group.iter().map(varies).collect();
        self.model(&kept, true, |rows, rewards, cluster| {
            let successes: Vec<bool> = rewards.iter().map(|reward| is_success(Some(*reward))).collect();
            logistic_regression(rows, &successes, cluster)
        })
    }

    /// Fits the rewards of the kept runs to the three measures and an indicator for each group.
    fn model(
        &self,
        kept: &[bool],
        has_odds: bool,
        fit: impl Fn(&[Vec<f64>], &[f64], &[usize]) -> Result<Regression, StatsError>,
    ) -> RewardModel {
        let groups = self.group.iter().zip(kept).filter(|(_, kept)| **kept).map(|(group, _)| group);
        let groups: BTreeSet<&usize> = groups.collect();
        let (mut rows, mut rewards, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
        let runs = self.rows.iter().zip(&self.cluster).zip(&self.group).zip(kept);
        for (((run, cluster), group), _) in runs.filter(|(_, kept)| **kept) {
            let measures: Option<Vec<(f64, f64)>> =
                MEASURES.iter().map(|measure| measure.pair(run)).collect();
            let Some(measures) = measures else { continue };
            let indicators = groups.iter().map(|one| f64::from(u8::from(*one == group)));
            rows.push(measures.iter().map(|(measure, _)| *measure).chain(indicators).collect());
            rewards.extend(measures.first().map(|(_, reward)| *reward));
            clusters.push(*cluster);
        }
        let found = fit(&rows, &rewards, &clusters);
        let undefined = found.as_ref().err().map(ToString::to_string);
        let effect = |(measure, effect): (&Relation, &Effect)| MeasureEffect {
            measure: *measure,
            effect: *effect,
            odds_ratio: has_odds.then(|| {
                let Interval { low, high } = effect.ci95;
                (effect.estimate.exp(), Interval { low: low.exp(), high: high.exp() })
            }),
        };
        RewardModel {
            runs: rows.len() as u64,
            clusters: clusters.iter().collect::<BTreeSet<_>>().len() as u64,
            groups: groups.len() as u64,
            left_out: (self.rows.len() - rows.len()) as u64,
            effects: found
                .map(|found| MEASURES.iter().zip(&found.effects).map(effect).collect())
                .unwrap_or_default(),
            undefined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::tests::row;

    /// Runs of three models in one domain, in 20 tasks: errors cost reward, calls do not.
    fn rows() -> Vec<SimulationRow> {
        (0..240_u32)
            .map(|n| {
                let (errors, noise) = (u64::from(n % 4), f64::from(n * n % 11) / 10.0);
                let cost = f64::from(n % 4) * 0.15;
                SimulationRow {
                    domain: Some("x".into()),
                    task: Some((n % 20).to_string()),
                    reward: Some(if noise + cost < 0.6 { 1.0 } else { 0.0 }),
                    errors,
                    recovered: errors / 2,
                    recovery_rate: crate::detect::recovery_rate(errors / 2, errors),
                    tool_calls: u64::from(5 + n * 7 % 13),
                    ..row(["a", "b", "c"][n as usize % 3], n, true, 1.0)
                }
            })
            .collect()
    }

    #[test]
    fn the_effect_of_errors_stands_out() {
        let options = ReplicationOptions { keep_duplicates: true, ..ReplicationOptions::default() };
        let found = RewardRegression::of(&rows(), &options);
        for model in [&found.logistic, &found.linear] {
            assert_eq!((model.runs, model.clusters, model.groups, model.left_out), (240, 20, 3, 0));
            let [_, errors, calls] = &model.effects[..] else { unreachable!("three measures: {model:?}") };
            assert_eq!(errors.measure, Relation::ErrorCount);
            assert!(errors.effect.ci95.high < 0.0, "{errors:?}");
            assert!(calls.effect.ci95.low < 0.0 && calls.effect.ci95.high > 0.0, "{calls:?}");
        }
        let (odds, interval) = found.logistic.effects[1].odds_ratio.unwrap();
        assert!(interval.low < odds && odds < interval.high && interval.high < 1.0, "{odds} {interval:?}");
        assert_eq!(found.linear.effects[1].odds_ratio, None);
    }

    #[test]
    fn only_a_reward_of_1_counts_for_the_odds() {
        let options = ReplicationOptions { keep_duplicates: true, ..ReplicationOptions::default() };
        let mut above = rows();
        for row in above.iter_mut().filter(|row| row.reward == Some(0.0)) {
            row.reward = Some(2.0);
        }
        let [one, other] = [rows(), above].map(|rows| RewardRegression::of(&rows, &options).logistic);
        assert_eq!(one, other);
    }

    #[test]
    fn pairs_in_which_all_succeed_are_left_out_of_the_odds() {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.model.as_deref() == Some("c")) {
            row.reward = Some(1.0);
        }
        let options = ReplicationOptions { keep_duplicates: true, ..ReplicationOptions::default() };
        let found = RewardRegression::of(&rows, &options);
        assert_eq!((found.logistic.runs, found.logistic.groups, found.logistic.left_out), (160, 2, 80));
        assert_eq!((found.linear.runs, found.linear.groups, found.linear.left_out), (240, 3, 0));
        assert!(found.logistic.undefined.is_none());
        let none: Vec<SimulationRow> = rows.into_iter().filter(|row| row.reward == Some(1.0)).collect();
        let found = RewardRegression::of(&none, &options).logistic;
        assert_eq!((found.runs, found.effects.len()), (0, 0));
        assert!(found.undefined.is_some());
    }
}
