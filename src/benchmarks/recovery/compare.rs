//! Recovery compared with fresh starts, paired by task.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::arms::{Arm, ByTask, ComparedTrial, share};
use crate::stats::{Interval, float, kendall, mcnemar, mean, resampled_sums, without_tails};

pub(super) const FRESH: &str = "fresh";

const RESAMPLES: usize = 2_000;

/// Recovery compared with fresh starts, by context and model; see [`compare()`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Keyed by the context of the recovery trials, followed by the model of the failed trials if known: `env after
    /// MODEL`.
    pub contexts: BTreeMap<String, ContextComparison>,
}

/// Recovery compared with fresh starts in one context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ContextComparison {
    /// By model.
    pub models: BTreeMap<String, ModelComparison>,
    /// Mean fresh rate over the compared models.
    pub mean_fresh: Option<f64>,
    /// Mean recovery rate over the compared models.
    pub mean_recovery: Option<f64>,
    /// Relative drop from `mean_fresh` to `mean_recovery`.
    pub relative_drop_of_means: Option<f64>,
    /// Mean of the models' relative drops, where defined. Usually not equal to `relative_drop_of_means`.
    pub mean_of_relative_drops: Option<f64>,
    /// Rank correlation of the models' fresh and recovery rates.
    pub kendall_tau_b: Option<f64>,
    /// Number of pairs of models that fresh and recovery rates rank in opposite order.
    pub discordant_pairs: u64,
    /// The ranks of the compared models.
    pub ranks: BTreeMap<String, Ranks>,
}

/// The ranks of a model among the compared ones. The best has rank 1; equal rates share a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ranks {
    /// By fresh rate.
    pub fresh: usize,
    /// By recovery rate.
    pub recovery: usize,
}

/// Recovery compared with fresh starts for one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelComparison {
    /// Number of tasks with trials on both sides.
    pub tasks: usize,
    /// Tasks with fresh trials only.
    pub fresh_only: Vec<String>,
    /// Tasks with recovery trials only.
    pub recovery_only: Vec<String>,
    /// The reason why nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<&'static str>,
    /// The figures, if there is a comparison.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedComparison>,
}

/// The figures of both sides over their common tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairedComparison {
    /// The fresh side.
    pub fresh: Arm,
    /// The recovery side.
    pub recovery: Arm,
    /// Recovery rate minus fresh rate.
    pub difference: Difference,
    /// The drop as a share of the fresh rate.
    pub relative_drop: RelativeDrop,
    /// The test of the difference, over tasks with one trial on each side.
    pub mcnemar: McNemar,
}

/// The recovery rate minus the fresh rate, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// Its 95% bootstrap interval.
    pub bootstrap95: Option<Interval>,
}

/// How far the recovery rate lies below the fresh rate, as a share of the fresh rate: (fresh − recovery) / fresh.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RelativeDrop {
    /// The drop; `None` if no fresh trial was resolved.
    pub value: Option<f64>,
    /// Its 95% bootstrap interval; `None` if `value` is.
    pub bootstrap95: Option<Interval>,
    /// Number of resamples without a resolved fresh trial, for which the drop is undefined.
    pub resamples_left_out: u64,
}

/// McNemar's exact test, comparing the two sides on the same tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct McNemar {
    /// Number of tasks with one trial on each side.
    pub tasks: u64,
    /// Number of shared tasks that are not tested because a side has several trials.
    pub left_out: u64,
    /// Tasks that only the fresh trial solved.
    pub fresh_only_resolved: u64,
    /// Tasks that only the recovery trial solved.
    pub recovery_only_resolved: u64,
    /// The two-sided p-value; `None` if no task has one trial on each side.
    pub p: Option<f64>,
}

/// Compares recovery with fresh starts, by recovery context and model, over the tasks that have trials on both sides.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{ComparedTrial, compare};
///
/// let trial = |context: &str, task: &str, resolved: bool| {
///     json!({"model": "m", "context": context, "task": task, "trial": task, "resolved": resolved})
/// };
/// let trials: Vec<ComparedTrial> = serde_json::from_value(json!([
///     trial("fresh", "a", true), trial("env", "a", true),
///     trial("fresh", "b", true), trial("env", "b", false),
/// ]))?;
/// let comparison = compare(&trials, 7);
/// let paired = comparison.contexts["env"].models["m"].paired.unwrap();
/// assert_eq!((paired.fresh.rate, paired.recovery.rate), (1.0, 0.5));
/// assert_eq!(paired.relative_drop.value, Some(0.5));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Each bootstrap draws 2,000 resamples of whole tasks, keeping both sides of a task together. The bootstrap of each
/// model in each context is seeded with `seed`.
#[must_use]
pub fn compare(trials: &[ComparedTrial], seed: u64) -> Comparison {
    let mut by_context: BTreeMap<Cow<'_, str>, BTreeMap<&str, ByTask<'_>>> = BTreeMap::new();
    for trial in trials {
        let of_model = by_context.entry(trial.condition()).or_default().entry(&trial.model).or_default();
        of_model.entry(&trial.task).or_default().push(trial);
    }
    let fresh = by_context.remove(FRESH).unwrap_or_default();
    let contexts = by_context.into_iter().map(|(context, recovery)| {
        let names: BTreeSet<&str> = fresh.keys().chain(recovery.keys()).copied().collect();
        let nothing = ByTask::new();
        let of_model = |model: &str| {
            let sides = [&fresh, &recovery].map(|side| side.get(model).unwrap_or(&nothing));
            (model.to_owned(), ModelComparison::of(sides, seed))
        };
        (context.into_owned(), ContextComparison::of(names.into_iter().map(of_model).collect()))
    });
    Comparison { seed, contexts: contexts.collect() }
}

impl ContextComparison {
    fn of(models: BTreeMap<String, ModelComparison>) -> Self {
        let compared: Vec<(&String, &PairedComparison)> =
            models.iter().filter_map(|(name, model)| Some((name, model.paired.as_ref()?))).collect();
        let rates: Vec<(f64, f64)> =
            compared.iter().map(|(_, paired)| (paired.fresh.rate, paired.recovery.rate)).collect();
        let rank =
            |above: &dyn Fn(&(f64, f64)) -> bool| 1 + rates.iter().filter(|rates| above(rates)).count();
        let ranks = compared.iter().zip(&rates).map(|((name, _), (fresh, recovery))| {
            let ranks = Ranks {
                fresh: rank(&|other| other.0 > *fresh),
                recovery: rank(&|other| other.1 > *recovery),
            };
            ((*name).clone(), ranks)
        });
        let ranks = ranks.collect();
        let mean_fresh = mean(rates.iter().map(|rates| rates.0));
        let mean_recovery = mean(rates.iter().map(|rates| rates.1));
        let order = kendall(&rates).ok();
        let drops = compared.iter().filter_map(|(_, paired)| paired.relative_drop.value);
        Self {
            mean_of_relative_drops: mean(drops),
            relative_drop_of_means: mean_fresh
                .zip(mean_recovery)
                .and_then(|(fresh, recovery)| relative_drop(fresh, recovery)),
            mean_fresh,
            mean_recovery,
            kendall_tau_b: order.and_then(|order| order.tau_b),
            discordant_pairs: order.map_or(0, |order| order.discordant),
            ranks,
            models,
        }
    }
}

/// Returns the relative drop from the fresh to the recovery rate; `None` if the fresh rate is 0.
fn relative_drop(fresh: f64, recovery: f64) -> Option<f64> {
    (fresh > 0.0).then(|| (fresh - recovery) / fresh)
}

impl ModelComparison {
    fn of([fresh, recovery]: [&ByTask<'_>; 2], seed: u64) -> Self {
        let only = |side: &ByTask<'_>, other: &ByTask<'_>| {
            side.keys().filter(|task| !other.contains_key(*task)).map(|task| (*task).to_owned()).collect()
        };
        let tasks: Vec<Pair<'_>> = fresh
            .iter()
            .filter_map(|(task, trials)| Some(Pair { fresh: trials, recovery: recovery.get(task)? }))
            .collect();
        let paired = PairedComparison::of(&tasks, seed);
        Self {
            tasks: tasks.len(),
            fresh_only: only(fresh, recovery),
            recovery_only: only(recovery, fresh),
            not_applicable: paired.is_none().then_some("no task in both conditions"),
            paired,
        }
    }
}

struct Pair<'t> {
    fresh: &'t [&'t ComparedTrial],
    recovery: &'t [&'t ComparedTrial],
}

impl PairedComparison {
    fn of<'t>(tasks: &[Pair<'t>], seed: u64) -> Option<Self> {
        let shares: Vec<(f64, f64)> =
            tasks.iter().map(|task| (share(task.fresh), share(task.recovery))).collect();
        let n = float(tasks.len() as u64);
        let means = resampled_sums(&shares, seed).map(|(fresh, recovery)| (fresh / n, recovery / n));
        let means: Vec<(f64, f64)> = means.take(RESAMPLES).collect();
        let of_means = |value: fn(f64, f64) -> Option<f64>| -> Vec<f64> {
            means.iter().filter_map(|(fresh, recovery)| value(*fresh, *recovery)).collect()
        };
        let interval = |values| without_tails(values, 0.025);
        let side = |side: fn(&Pair<'t>) -> &'t [&'t ComparedTrial], value: fn(f64, f64) -> Option<f64>| {
            Arm::of(&tasks.iter().map(side).collect::<Vec<_>>(), interval(of_means(value)))
        };
        let fresh = side(|task| task.fresh, |fresh, _| Some(fresh))?;
        let recovery = side(|task| task.recovery, |_, recovery| Some(recovery))?;
        let (value, drops) = (relative_drop(fresh.rate, recovery.rate), of_means(relative_drop));
        Some(Self {
            difference: Difference {
                value: recovery.rate - fresh.rate,
                bootstrap95: interval(of_means(|fresh, recovery| Some(recovery - fresh))),
            },
            relative_drop: RelativeDrop {
                value,
                resamples_left_out: (RESAMPLES - drops.len()) as u64,
                bootstrap95: interval(drops).filter(|_| value.is_some()),
            },
            mcnemar: McNemar::of(tasks),
            fresh,
            recovery,
        })
    }
}

impl McNemar {
    fn of(tasks: &[Pair<'_>]) -> Self {
        let (mut single, mut fresh_only, mut recovery_only) = (0, 0, 0);
        for task in tasks {
            if let ([fresh], [recovery]) = (task.fresh, task.recovery) {
                single += 1;
                fresh_only += u64::from(fresh.counts() && !recovery.counts());
                recovery_only += u64::from(recovery.counts() && !fresh.counts());
            }
        }
        Self {
            tasks: single,
            left_out: tasks.len() as u64 - single,
            fresh_only_resolved: fresh_only,
            recovery_only_resolved: recovery_only,
            p: (single > 0).then(|| mcnemar(fresh_only, recovery_only)),
        }
    }
}

#[cfg(test)]
mod tests;
