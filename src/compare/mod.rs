//! Compares two agents, or two versions of one, on the same tasks.
//!
//! Runs are paired by task. Tasks that only one side tried do not count. The intervals of differences are clustered
//! by task: one from a cluster-robust standard error, one from a bootstrap over tasks.

mod fingerprints;
mod run;
mod task;
mod tasks;

use std::collections::BTreeSet;

use serde::Serialize;

use fingerprints::fingerprints;
pub use fingerprints::{FingerprintDistance, FingerprintGroup, FingerprintGroups, GroupedFingerprint};
pub use run::ComparedRun;
use tasks::Tasks;

use crate::error::Result;
use crate::stats::{Interval, MeanDifference, Resampling, TwoSides, float, mean_difference, ratio, wilson};

/// One side of the comparison of two agents: how many runs it has, and how many of them count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparedSide {
    /// The name of the side.
    pub label: String,
    /// Number of its runs.
    pub runs: u64,
    /// Runs that count.
    pub counted: u64,
    /// Runs excluded because they ended in an infrastructure error.
    pub infrastructure_errors: u64,
    /// Runs excluded because they have no task.
    pub without_task: u64,
    /// Runs excluded because the other side has no run of their task.
    pub of_other_tasks: u64,
    /// Successes among the runs that count.
    pub successes: u64,
    /// The interval of the success rate (Wilson), as if runs were independent; `None` if no run counts.
    pub success_ci95: Option<Interval>,
}

/// Outcomes of the runs of both sides, paired within each task in the order of their trials. Surplus runs of
/// one side are not paired.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct PairedOutcomes {
    /// Both succeed.
    pub both: u64,
    /// Only the first does.
    pub first_only: u64,
    /// Only the second does.
    pub second_only: u64,
    /// Neither does.
    pub neither: u64,
    /// McNemar's exact p-value, as if pairs of one task were independent; `None` without a shared task.
    pub p: Option<f64>,
}

/// How often a detector fires in the runs of one side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectionRate {
    /// Runs in which it fires, out of `applicable`.
    pub detected: u64,
    /// Runs to which it applies, in tasks that have such runs on both sides.
    pub applicable: u64,
    /// The interval of the rate (Wilson), as if runs were independent; `None` if it never applies.
    pub ci95: Option<Interval>,
}

impl DetectionRate {
    /// Returns the rate, or `None` if the detector never applies.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        ratio(self.detected, self.applicable)
    }
}

/// How often a detector fires in the runs of both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectorComparison {
    /// The id of the detector.
    pub detector: String,
    /// The first side.
    pub first: DetectionRate,
    /// The second side.
    pub second: DetectionRate,
    /// Pairs of runs of the same task to which it applies, by whether it fires in both, one or neither.
    pub paired: PairedOutcomes,
    /// The second rate minus the first, clustered by task; `None` if no task has applicable runs on both sides.
    pub difference: Option<MeanDifference>,
}

/// A measure of the runs of both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasureComparison {
    /// One of [`ComparedRun::MEASURES`].
    pub measure: &'static str,
    /// Number of runs with the measure on the first and on the second side, in tasks in which both sides have it.
    pub runs: (u64, u64),
    /// The means, and the second minus the first, clustered by task.
    #[serde(flatten)]
    pub difference: MeanDifference,
}

/// The distance between the fingerprints of both sides, and the distance expected by chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FingerprintComparison {
    /// The Jensen–Shannon distance of the pooled fingerprints, in [0, 1].
    pub distance: f64,
    /// The central range (95% by default) of the distance when the runs of each task are shuffled between the sides,
    /// as if both were one agent.
    pub by_chance: Interval,
    /// The share of shuffles with at least this distance; the observed sides count as one shuffle.
    pub p: f64,
    /// Number of shuffles drawn, without the observed sides.
    pub arrangements: u64,
}

/// A task in which the success rates of both sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TaskDifference {
    /// The domain.
    pub domain: Option<String>,
    /// The task.
    pub task: String,
    /// Successes and runs of the first side.
    pub first: (u64, u64),
    /// Successes and runs of the second side.
    pub second: (u64, u64),
    /// Whether only one side succeeds in more than half of its runs.
    pub flipped: bool,
}

/// The comparison of two agents, or of one before and after a change, on the same tasks.
///
/// ```
/// use wrongturn::stats::Resampling;
/// use wrongturn::{Scanner, default_detectors, compare::{ComparedRun, Comparison}, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let runs = |reward: f64| {
///     let file = format!(r#"{{"simulations": [
///         {{"id": "a", "task_id": "1", "messages": [], "reward_info": {{"reward": {reward}}}}},
///         {{"id": "b", "task_id": "2", "messages": [], "reward_info": {{"reward": 1.0}}}}]}}"#);
///     let scanned = scanner.scan_slice("runs.json".as_ref(), file.as_bytes());
///     scanned.traces.iter().map(ComparedRun::of).collect::<Vec<_>>()
/// };
/// let (before, after) = (runs(0.0), runs(1.0));
/// let usual = Resampling::default();
/// let comparison = Comparison::of(("before", &before), ("after", &after), &usual)?;
/// assert_eq!((comparison.tasks, comparison.paired.second_only), (2, 1));
/// assert_eq!(comparison.differing[0].task, "1");
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The first side.
    pub first: ComparedSide,
    /// The second side.
    pub second: ComparedSide,
    /// Number of tasks that both tried.
    pub tasks: u64,
    /// The outcomes of pairs of runs.
    pub paired: PairedOutcomes,
    /// The success rates and their difference, clustered by task; `None` without a shared task.
    pub success: Option<MeanDifference>,
    /// The mean rewards of runs with a reward and their difference, clustered by task; `None` if no task has such
    /// runs on both sides.
    pub reward: Option<MeanDifference>,
    /// The means of other measures, each over the runs that have it, clustered by task.
    pub measures: Vec<MeasureComparison>,
    /// pass^1, pass^2 and so on, each for the first and the second side, over the shared tasks.
    pub pass_k: Vec<(f64, f64)>,
    /// The detectors, sorted by id.
    pub detectors: Vec<DetectorComparison>,
    /// The comparison of the fingerprints; `None` if none were computed or the distance is undefined.
    pub fingerprints: Option<FingerprintComparison>,
    /// The tasks whose success rates differ, largest difference first.
    pub differing: Vec<TaskDifference>,
    /// Number of resamples of each bootstrap, and of shuffles for `fingerprints`.
    pub resamples: usize,
    /// The seed of both.
    pub seed: u64,
}

impl Comparison {
    /// Compares two sides, each given as its label and its runs.
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) if the options are out of range.
    pub fn of(
        (first_label, first): (&str, &[ComparedRun]),
        (second_label, second): (&str, &[ComparedRun]),
        options: &Resampling,
    ) -> Result<Self> {
        let mut sides = [side(first_label, first), side(second_label, second)];
        let mut tasks = Tasks::matched([first, second]);
        tasks.keep_shared(&mut sides);
        for side in &mut sides {
            side.success_ci95 = wilson(side.successes, side.counted, options.confidence).ok();
        }
        let [first, second] = sides;
        // Validates the options with a made-up task: with the real ones, a side without runs would be an error too.
        mean_difference(&[TwoSides { first: (1, 0.0), second: (1, 0.0) }], options)?;
        Ok(Self {
            first,
            second,
            tasks: tasks.len() as u64,
            paired: tasks.paired(|run| Some(run.succeeded())),
            success: difference(&tasks.values(|run| Some(f64::from(u8::from(run.succeeded())))), options),
            reward: difference(&tasks.values(|run| run.reward), options),
            measures: ComparedRun::MEASURES
                .into_iter()
                .filter_map(|name| MeasureComparison::of(name, &tasks, options))
                .collect(),
            pass_k: tasks.pass_k(),
            detectors: detectors(&tasks, options),
            fingerprints: fingerprints(&tasks.fingerprints(), options),
            differing: differing(&tasks),
            resamples: options.resamples,
            seed: options.seed,
        })
    }
}

impl MeasureComparison {
    fn of(measure: &'static str, tasks: &Tasks<'_>, options: &Resampling) -> Option<Self> {
        let values = tasks
            .values(|run| run.measures.iter().find(|(name, _)| *name == measure).map(|(_, value)| *value));
        let runs = values.iter().fold((0, 0), |(first, second), [one, other]| {
            (first + one.len() as u64, second + other.len() as u64)
        });
        Some(Self { measure, runs, difference: difference(&values, options)? })
    }
}

/// Returns the means of both sides and their difference, by task; `None` without a task.
fn difference(values: &[[Vec<f64>; 2]], options: &Resampling) -> Option<MeanDifference> {
    let sums = |values: &Vec<f64>| (values.len() as u64, values.iter().sum());
    let tasks = values.iter().map(|[first, second]| TwoSides { first: sums(first), second: sums(second) });
    mean_difference(&tasks.collect::<Vec<_>>(), options).ok()
}

fn side(label: &str, runs: &[ComparedRun]) -> ComparedSide {
    let count = |which: fn(&ComparedRun) -> bool| runs.iter().filter(|run| which(run)).count() as u64;
    ComparedSide {
        label: label.to_owned(),
        runs: runs.len() as u64,
        counted: 0,
        infrastructure_errors: count(|run| run.infrastructure_error),
        without_task: count(|run| !run.infrastructure_error && run.task.is_none()),
        of_other_tasks: 0,
        successes: 0,
        success_ci95: None,
    }
}

fn detectors(tasks: &Tasks<'_>, options: &Resampling) -> Vec<DetectorComparison> {
    let verdicts = tasks.runs().flat_map(|run| &run.detected);
    let names: BTreeSet<&str> = verdicts.map(|(name, _)| name.as_str()).collect();
    let fires = |run: &ComparedRun, name: &str| {
        run.detected.iter().find(|(id, _)| id == name).and_then(|(_, detected)| *detected)
    };
    names
        .into_iter()
        .map(|name| {
            let values = tasks.values(|run| fires(run, name).map(|fired| f64::from(u8::from(fired))));
            let [first, second] = [0, 1].map(|side: usize| {
                let all = values.iter().filter_map(|sides| sides.get(side)).flatten();
                let detected = all.clone().filter(|value| **value > 0.0).count() as u64;
                let applicable = all.count() as u64;
                let ci95 = wilson(detected, applicable, options.confidence).ok();
                DetectionRate { detected, applicable, ci95 }
            });
            DetectorComparison {
                detector: name.to_owned(),
                first,
                second,
                paired: tasks.paired(|run| fires(run, name)),
                difference: difference(&values, options),
            }
        })
        .collect()
}

fn differing(tasks: &Tasks<'_>) -> Vec<TaskDifference> {
    let successes =
        |runs: &[&ComparedRun]| (runs.iter().filter(|run| run.succeeded()).count() as u64, runs.len() as u64);
    let mostly = |(successes, runs): (u64, u64)| 2 * successes > runs;
    let mut differing: Vec<TaskDifference> = tasks
        .iter()
        .map(|((domain, task), [first, second])| {
            let (first, second) = (successes(first), successes(second));
            let flipped = mostly(first) != mostly(second);
            TaskDifference { domain: domain.clone(), task: task.clone(), first, second, flipped }
        })
        .filter(|task| task.first.0 * task.second.1 != task.second.0 * task.first.1)
        .collect();
    let gap = |task: &TaskDifference| {
        let rate = |(successes, runs): (u64, u64)| float(successes) / float(runs);
        (rate(task.second) - rate(task.first)).abs()
    };
    differing.sort_by(|a, b| gap(b).total_cmp(&gap(a)));
    differing
}

#[cfg(test)]
mod tests;
