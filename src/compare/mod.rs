//! Compares two agents, or two versions of one, on the same tasks.
//!
//! Runs are paired by task. Tasks that only one side tried do not count. Intervals come from resampling tasks.

mod fingerprints;
mod task;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use fingerprints::fingerprints;
pub use fingerprints::{FingerprintDistance, FingerprintGroup, FingerprintGroups, GroupedFingerprint};

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::outcome::{is_infrastructure_error, is_success};
use crate::scan::TraceRecord;
use crate::stats::{
    Interval, MeanDifference, Resampling, TaskTrials, TwoSides, float, mcnemar, mean_difference, pass_hat_k,
    ratio, wilson,
};

/// A run in a comparison: its task, reward and verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// The domain.
    pub domain: Option<String>,
    /// The task. Runs without one are left out. Instances of SWE-bench are named by their id in all formats.
    pub task: Option<String>,
    /// The trial of the task.
    pub trial: Option<u64>,
    /// The reward. A run without one counts as failed.
    pub reward: Option<f64>,
    /// Whether it ended in an infrastructure error. Such a run does not count.
    pub infrastructure_error: bool,
    /// The verdict of each detector; `None` if it does not apply.
    pub detected: Vec<(String, Option<bool>)>,
    /// Its known measures by name, from [`ComparedRun::MEASURES`].
    pub measures: Vec<(&'static str, f64)>,
    /// The fingerprint, if one was taken.
    pub fingerprint: Option<Fingerprint>,
}

impl ComparedRun {
    /// The measures that are compared: recovery in runs with errors, counts, and the recorded cost.
    pub const MEASURES: [&'static str; 7] =
        ["recovery_rate", "errors", "tool_calls", "steps", "seconds", "input_tokens", "output_tokens"];

    /// Creates the run of a scan's record.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Self {
        let metadata = &record.metadata;
        Self {
            domain: metadata.domain.as_deref().map(str::to_owned),
            task: task::task_of(record),
            trial: metadata.trial,
            reward: record.reward,
            infrastructure_error: is_infrastructure_error(metadata.termination.as_deref()),
            detected: record
                .verdicts
                .iter()
                .map(|(id, verdict)| (id.to_string(), verdict.detected()))
                .collect(),
            measures: measures(record),
            fingerprint: record.fingerprint.clone(),
        }
    }

    fn succeeded(&self) -> bool {
        is_success(self.reward)
    }
}

fn measures(record: &TraceRecord) -> Vec<(&'static str, f64)> {
    let verdict = record.verdict("tool_error_recovery");
    let measure = |name| verdict.and_then(|verdict| verdict.measure(name));
    let errors = measure("errors");
    let cost = &record.cost;
    let values = [
        errors.filter(|errors| *errors > 0.0).and(measure("recovery_rate")),
        errors,
        measure("tool_calls"),
        Some(float(cost.steps)),
        cost.duration_ns.map(|ns| float(ns) / 1e9),
        cost.input_tokens.map(float),
        cost.output_tokens.map(float),
    ];
    let named = ComparedRun::MEASURES.into_iter().zip(values);
    named.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// One side of the comparison of two agents: its runs, and which of them count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparedSide {
    /// The name of the side.
    pub label: String,
    /// Its runs.
    pub runs: u64,
    /// Runs that count.
    pub counted: u64,
    /// Runs left out because they ended in an infrastructure error.
    pub infrastructure_errors: u64,
    /// Runs left out because they have no task.
    pub without_task: u64,
    /// Runs left out because the other side has no run of their task.
    pub of_other_tasks: u64,
    /// Successes among the runs that count.
    pub successes: u64,
    /// The success rate's interval (Wilson), as if runs were independent.
    pub success_ci95: Option<Interval>,
}

/// Outcomes of the runs of both sides, paired by task and trial.
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

/// How often a detector fires on one side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectionRate {
    /// Runs in which it fires.
    pub detected: u64,
    /// Runs to which it applies.
    pub applicable: u64,
    /// The rate's interval (Wilson), as if runs were independent.
    pub ci95: Option<Interval>,
}

impl DetectionRate {
    /// Returns the rate, or `None` if the detector never applies.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        ratio(self.detected, self.applicable)
    }
}

/// How often a detector fires on both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectorComparison {
    /// The detector.
    pub detector: String,
    /// The first side.
    pub first: DetectionRate,
    /// The second side.
    pub second: DetectionRate,
    /// Pairs of runs of the same task, by whether the detector fires in both, one or none.
    pub paired: PairedOutcomes,
    /// The second rate minus the first, by task; `None` if a side has no applicable run.
    pub difference: Option<MeanDifference>,
}

/// A measure of the runs of both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasureComparison {
    /// One of [`ComparedRun::MEASURES`].
    pub measure: &'static str,
    /// Runs with the measure, of the first and of the second side.
    pub runs: (u64, u64),
    /// The means, and the second minus the first, by task.
    #[serde(flatten)]
    pub difference: MeanDifference,
}

/// The distance between the fingerprints of both sides, and the distance expected by chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FingerprintComparison {
    /// The Jensen–Shannon distance of the pooled fingerprints, in [0, 1].
    pub distance: f64,
    /// The 95% range of the distance when runs are exchanged within their task, as if both sides were one agent.
    pub by_chance: Interval,
    /// The share of exchanges with at least this distance.
    pub p: f64,
    /// Exchanges drawn.
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

/// Two agents, or one before and after a change, on the same tasks.
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
    /// Tasks that both tried.
    pub tasks: u64,
    /// Runs paired by task and trial.
    pub paired: PairedOutcomes,
    /// The success rates, by task; `None` without a shared task.
    pub success: Option<MeanDifference>,
    /// The mean rewards, by task, of runs with a reward.
    pub reward: Option<MeanDifference>,
    /// The means of other measures, by task, of runs with the measure.
    pub measures: Vec<MeasureComparison>,
    /// pass^1, pass^2, … of both sides over the shared tasks.
    pub pass_k: Vec<(f64, f64)>,
    /// The detectors.
    pub detectors: Vec<DetectorComparison>,
    /// The fingerprints, if taken.
    pub fingerprints: Option<FingerprintComparison>,
    /// The tasks whose success rates differ, largest difference first.
    pub differing: Vec<TaskDifference>,
    /// Resamples and exchanges.
    pub resamples: usize,
    /// Their seed.
    pub seed: u64,
}

type TaskKey = (Option<String>, String);
type Tasks<'r> = BTreeMap<TaskKey, [Vec<&'r ComparedRun>; 2]>;

impl Comparison {
    /// Compares two sides, each with its label.
    ///
    /// # Errors
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) if the options are out of range.
    pub fn of(
        (first_label, first): (&str, &[ComparedRun]),
        (second_label, second): (&str, &[ComparedRun]),
        options: &Resampling,
    ) -> Result<Self> {
        let mut sides = [side(first_label, first), side(second_label, second)];
        let mut tasks = by_task([first, second]);
        tasks.retain(|_, runs| {
            let shared = runs.iter().all(|runs| !runs.is_empty());
            for (side, runs) in sides.iter_mut().zip(&*runs) {
                let slot = if shared { &mut side.counted } else { &mut side.of_other_tasks };
                *slot += runs.len() as u64;
                if shared {
                    side.successes += runs.iter().filter(|run| run.succeeded()).count() as u64;
                }
            }
            shared
        });
        for runs in tasks.values_mut().flatten() {
            runs.sort_by_key(|run| run.trial);
        }
        for side in &mut sides {
            side.success_ci95 = wilson(side.successes, side.counted, options.confidence).ok();
        }
        let [first, second] = sides;
        // Checks the options on one task, because a side without runs is not an error here.
        mean_difference(&[TwoSides { first: (1, 0.0), second: (1, 0.0) }], options)?;
        Ok(Self {
            first,
            second,
            tasks: tasks.len() as u64,
            paired: paired(&tasks, |run| Some(run.succeeded())),
            success: difference(&tasks, options, |run| Some(f64::from(u8::from(run.succeeded())))),
            reward: difference(&tasks, options, |run| run.reward),
            measures: ComparedRun::MEASURES
                .into_iter()
                .filter_map(|name| MeasureComparison::of(name, &tasks, options))
                .collect(),
            pass_k: pass_k(&tasks),
            detectors: detectors(&tasks, options),
            fingerprints: fingerprints(&recorded(&tasks), options),
            differing: differing(&tasks),
            resamples: options.resamples,
            seed: options.seed,
        })
    }
}

/// Groups the runs of both sides by task. A task without a domain takes the domain of the task of that name on the
/// other side, if there is exactly one.
fn by_task(sides: [&[ComparedRun]; 2]) -> Tasks<'_> {
    let runs = |number: usize| {
        let runs = sides.get(number).copied().unwrap_or_default();
        runs.iter()
            .filter(|run| !run.infrastructure_error)
            .filter_map(|run| Some((run.task.as_deref()?, run)))
    };
    let domains = |number| {
        let mut domains: BTreeMap<&str, BTreeSet<Option<&str>>> = BTreeMap::new();
        for (task, run) in runs(number) {
            domains.entry(task).or_default().insert(run.domain.as_deref());
        }
        domains
    };
    let others = [domains(1), domains(0)];
    let mut tasks = Tasks::new();
    for (number, others) in others.iter().enumerate() {
        for (task, run) in runs(number) {
            let adopted = || match others.get(task)?.iter().collect::<Vec<_>>().as_slice() {
                [Some(domain)] => Some((*domain).to_owned()),
                _ => None,
            };
            let domain = run.domain.clone().or_else(adopted);
            if let Some(slot) = tasks.entry((domain, task.to_owned())).or_default().get_mut(number) {
                slot.push(run);
            }
        }
    }
    tasks
}

impl MeasureComparison {
    fn of(measure: &'static str, tasks: &Tasks<'_>, options: &Resampling) -> Option<Self> {
        let value = |run: &ComparedRun| {
            run.measures.iter().find(|(name, _)| *name == measure).map(|(_, value)| *value)
        };
        let count = |number: usize| {
            let runs = tasks.values().filter_map(|sides| sides.get(number)).flatten();
            runs.filter(|run| value(run).is_some()).count() as u64
        };
        Some(Self { measure, runs: (count(0), count(1)), difference: difference(tasks, options, value)? })
    }
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

/// Counts pairs of runs of the same task by the outcomes of both. Pairs without an outcome are skipped.
fn paired(tasks: &Tasks<'_>, outcome: impl Fn(&ComparedRun) -> Option<bool>) -> PairedOutcomes {
    let mut outcomes = PairedOutcomes::default();
    for [first, second] in tasks.values() {
        for pair in first.iter().zip(second).filter_map(|(first, second)| outcome(first).zip(outcome(second)))
        {
            *match pair {
                (true, true) => &mut outcomes.both,
                (true, false) => &mut outcomes.first_only,
                (false, true) => &mut outcomes.second_only,
                (false, false) => &mut outcomes.neither,
            } += 1;
        }
    }
    outcomes.p = (!tasks.is_empty()).then(|| mcnemar(outcomes.first_only, outcomes.second_only));
    outcomes
}

fn difference(
    tasks: &Tasks<'_>,
    options: &Resampling,
    value: impl Fn(&ComparedRun) -> Option<f64>,
) -> Option<MeanDifference> {
    let sums = |runs: &[&ComparedRun]| {
        let values: Vec<f64> = runs.iter().filter_map(|run| value(run)).collect();
        (values.len() as u64, values.iter().sum())
    };
    let clusters: Vec<TwoSides> =
        tasks.values().map(|[first, second]| TwoSides { first: sums(first), second: sums(second) }).collect();
    mean_difference(&clusters, options).ok()
}

/// Returns the fingerprints that were taken, by task and side.
fn recorded<'r>(tasks: &Tasks<'r>) -> Vec<[Vec<&'r Fingerprint>; 2]> {
    let of = |runs: &Vec<&'r ComparedRun>| runs.iter().filter_map(|run| run.fingerprint.as_ref()).collect();
    tasks.values().map(|sides| sides.each_ref().map(of)).collect()
}

fn pass_k(tasks: &Tasks<'_>) -> Vec<(f64, f64)> {
    let trials = |runs: &[&ComparedRun]| TaskTrials {
        trials: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        successes: u32::try_from(runs.iter().filter(|run| run.succeeded()).count()).unwrap_or(u32::MAX),
    };
    let (first, second): (Vec<_>, Vec<_>) =
        tasks.values().map(|[first, second]| (trials(first), trials(second))).unzip();
    (1..).map_while(|k| Some((pass_hat_k(&first, k).ok()?, pass_hat_k(&second, k).ok()?))).collect()
}

fn detectors(tasks: &Tasks<'_>, options: &Resampling) -> Vec<DetectorComparison> {
    let names: BTreeSet<&str> = tasks
        .values()
        .flatten()
        .flatten()
        .flat_map(|run| run.detected.iter().map(|(name, _)| name.as_str()))
        .collect();
    let fires = |run: &ComparedRun, name: &str| {
        run.detected.iter().find(|(id, _)| id == name).and_then(|(_, detected)| *detected)
    };
    names
        .into_iter()
        .map(|name| {
            let rate = |number: usize| {
                let runs = tasks.values().filter_map(|sides| sides.get(number)).flatten();
                let (mut detected, mut applicable) = (0, 0);
                for fired in runs.filter_map(|run| fires(run, name)) {
                    applicable += 1;
                    detected += u64::from(fired);
                }
                let ci95 = wilson(detected, applicable, options.confidence).ok();
                DetectionRate { detected, applicable, ci95 }
            };
            DetectorComparison {
                detector: name.to_owned(),
                first: rate(0),
                second: rate(1),
                paired: paired(tasks, |run| fires(run, name)),
                difference: difference(tasks, options, |run| {
                    fires(run, name).map(|fired| f64::from(u8::from(fired)))
                }),
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
