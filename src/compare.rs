//! Two agents, or one before and after a change, on the same tasks.
//!
//! Everything is paired by task: only tasks that both sides tried count, and intervals come from resampling tasks.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use crate::corpus::TraceRecord;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::stats::{
    Interval, MeanDifference, Resampling, Rng, TaskTrials, TwoSides, jensen_shannon, mcnemar,
    mean_difference, pass_hat_k, wilson,
};

/// A reward this close to 1 is a success.
const SUCCESS_TOLERANCE: f64 = 1e-6;

/// One run, as a comparison sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// The domain.
    pub domain: Option<String>,
    /// The task; runs without one cannot be compared.
    pub task: Option<String>,
    /// Which trial of the task.
    pub trial: Option<u64>,
    /// The reward; a run without one has failed.
    pub reward: Option<f64>,
    /// Whether it ended in an infrastructure error, and does not count.
    pub infrastructure_error: bool,
    /// What each detector says; `None` where it does not apply.
    pub detected: Vec<(String, Option<bool>)>,
    /// The fingerprint, where one was taken.
    pub fingerprint: Option<Fingerprint>,
}

impl ComparedRun {
    /// The run of a scan's record.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Self {
        let metadata = &record.metadata;
        Self {
            domain: metadata.domain.as_deref().map(str::to_owned),
            task: metadata.task.clone(),
            trial: metadata.trial,
            reward: record.reward,
            infrastructure_error: metadata.termination.as_deref() == Some("infrastructure_error"),
            detected: record
                .verdicts
                .iter()
                .map(|(id, verdict)| ((*id).to_owned(), verdict.detected()))
                .collect(),
            fingerprint: record.fingerprint.clone(),
        }
    }

    fn succeeded(&self) -> bool {
        self.reward.is_some_and(|reward| (reward - 1.0).abs() <= SUCCESS_TOLERANCE)
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparedSide {
    /// What it is called.
    pub label: String,
    /// Its runs.
    pub runs: u64,
    /// Those that count.
    pub counted: u64,
    /// Left out: they ended in an infrastructure error.
    pub infrastructure_errors: u64,
    /// Left out: they name no task.
    pub without_task: u64,
    /// Left out: the other side has no run of their task.
    pub of_other_tasks: u64,
    /// Successes among those that count.
    pub successes: u64,
    /// The success rate's interval (Wilson), as if runs were independent.
    pub success_ci95: Option<Interval>,
}

/// Runs of both sides, paired by task and, within it, by trial.
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
    /// `McNemar`'s exact p-value, as if pairs of one task were independent.
    pub p: f64,
}

/// How often a detector fires on one side.
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
    /// The rate; none where the detector never applies.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
    pub fn rate(&self) -> Option<f64> {
        (self.applicable > 0).then(|| self.detected as f64 / self.applicable as f64)
    }
}

/// A detector on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DetectorComparison {
    /// The detector.
    pub detector: String,
    /// The first side.
    pub first: DetectionRate,
    /// The second side.
    pub second: DetectionRate,
    /// The second rate less the first, by task; none where a side has no applicable run.
    pub difference: Option<MeanDifference>,
}

/// How far the fingerprints of both sides lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FingerprintComparison {
    /// The Jensen–Shannon distance of the pooled fingerprints, in [0, 1].
    pub distance: f64,
    /// Its 95% range were the sides one agent: runs change sides within their task.
    pub by_chance: Interval,
    /// The share of such exchanges with at least this distance.
    pub p: f64,
    /// Exchanges drawn.
    pub arrangements: u64,
}

/// A task in which the sides differ.
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
    /// Whether one side succeeds in more than half of its runs and the other does not.
    pub flipped: bool,
}

/// Two agents on the same tasks.
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
    /// The success rates, by task; none without a shared task.
    pub success: Option<MeanDifference>,
    /// The mean rewards, by task, of runs that have one.
    pub reward: Option<MeanDifference>,
    /// pass^1, pass^2, … of both sides over the shared tasks.
    pub pass_k: Vec<(f64, f64)>,
    /// The detectors.
    pub detectors: Vec<DetectorComparison>,
    /// The fingerprints, where they were taken.
    pub fingerprints: Option<FingerprintComparison>,
    /// The tasks in which success rates differ, those that differ most first.
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
    /// [`ErrorKind::Statistics`](crate::ErrorKind::Statistics) where the options are out of range.
    pub fn of(
        (first_label, first): (&str, &[ComparedRun]),
        (second_label, second): (&str, &[ComparedRun]),
        options: &Resampling,
    ) -> Result<Self> {
        let mut tasks = Tasks::new();
        let mut sides = [side(first_label, first), side(second_label, second)];
        for (number, runs) in [first, second].into_iter().enumerate() {
            for run in runs.iter().filter(|run| !run.infrastructure_error) {
                let Some(task) = &run.task else { continue };
                let slot = tasks.entry((run.domain.clone(), task.clone())).or_default().get_mut(number);
                if let Some(slot) = slot {
                    slot.push(run);
                }
            }
        }
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
        // Out of range are options; that a side has no runs is none of them.
        mean_difference(&[TwoSides { first: (1, 0.0), second: (1, 0.0) }], options)?;
        Ok(Self {
            first,
            second,
            tasks: tasks.len() as u64,
            paired: paired(&tasks),
            success: difference(&tasks, options, |run| Some(f64::from(u8::from(run.succeeded())))),
            reward: difference(&tasks, options, |run| run.reward),
            pass_k: pass_k(&tasks),
            detectors: detectors(&tasks, options),
            fingerprints: fingerprints(&tasks, options),
            differing: differing(&tasks),
            resamples: options.resamples,
            seed: options.seed,
        })
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

fn paired(tasks: &Tasks<'_>) -> PairedOutcomes {
    let mut outcomes = PairedOutcomes::default();
    for [first, second] in tasks.values() {
        for (first, second) in first.iter().zip(second) {
            *match (first.succeeded(), second.succeeded()) {
                (true, true) => &mut outcomes.both,
                (true, false) => &mut outcomes.first_only,
                (false, true) => &mut outcomes.second_only,
                (false, false) => &mut outcomes.neither,
            } += 1;
        }
    }
    outcomes.p = mcnemar(outcomes.first_only, outcomes.second_only);
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
    #[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
    let gap = |task: &TaskDifference| {
        let rate = |(successes, runs): (u64, u64)| successes as f64 / runs as f64;
        (rate(task.second) - rate(task.first)).abs()
    };
    differing.sort_by(|a, b| gap(b).total_cmp(&gap(a)));
    differing
}

/// The runs of one task: how many of the first side, then all of them with their edges.
type EdgeRuns = (usize, Vec<Vec<(usize, f64)>>);

fn fingerprints(tasks: &Tasks<'_>, options: &Resampling) -> Option<FingerprintComparison> {
    let mut numbers: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut number = |from: String, to: String| {
        let next = numbers.len();
        *numbers.entry((from, to)).or_insert(next)
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of steps are far below 2^53")]
    let mut edges = |run: &&ComparedRun| -> Option<Vec<(usize, f64)>> {
        let fingerprint = run.fingerprint.as_ref()?;
        let count =
            |(from, to, count): (&_, &_, u64)| (number(format!("{from}"), format!("{to}")), count as f64);
        Some(fingerprint.edges().map(count).collect())
    };
    let tasks: Vec<EdgeRuns> = tasks
        .values()
        .map(|[first, second]| {
            let mut runs: Vec<_> = first.iter().filter_map(&mut edges).collect();
            let firsts = runs.len();
            runs.extend(second.iter().filter_map(&mut edges));
            (firsts, runs)
        })
        .collect();
    let size = numbers.len();
    let apart = |rng: &mut Option<Rng>| {
        let mut sums = [vec![0.0; size], vec![0.0; size]];
        for (firsts, runs) in &tasks {
            let mut order: Vec<usize> = (0..runs.len()).collect();
            if let Some(rng) = rng {
                rng.shuffle(&mut order);
            }
            for (place, run) in order.into_iter().enumerate() {
                let Some(sums) = sums.get_mut(usize::from(place >= *firsts)) else { continue };
                for (edge, count) in runs.get(run).into_iter().flatten() {
                    if let Some(sum) = sums.get_mut(*edge) {
                        *sum += count;
                    }
                }
            }
        }
        let [first, second] = sums;
        jensen_shannon(&first, &second)
    };
    let distance = apart(&mut None)?;
    let mut null: Vec<f64> = (0..options.resamples)
        .into_par_iter()
        .map(|number| apart(&mut Some(Rng::stream(options.seed, number as u64))))
        .collect::<Option<_>>()?;
    null.sort_unstable_by(f64::total_cmp);
    let arrangements = null.len() as u64;
    let at_least = null.iter().filter(|chance| **chance >= distance - 1e-12).count() as u64;
    let tail = (1.0 - options.confidence) / 2.0;
    #[expect(clippy::cast_precision_loss, reason = "a count of resamples")]
    let p = (at_least + 1) as f64 / (arrangements + 1) as f64;
    let by_chance = Interval {
        low: crate::stats::quantile(&null, tail)?,
        high: crate::stats::quantile(&null, 1.0 - tail)?,
    };
    Some(FingerprintComparison { distance, by_chance, p, arrangements })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Status, Trace};

    fn run(task: u32, reward: f64, calls: &[&str]) -> ComparedRun {
        let mut trace = Trace::builder();
        for call in calls {
            trace.call(call, &serde_json::json!({}), Status::Ok, "done").unwrap();
        }
        ComparedRun {
            domain: Some("d".to_owned()),
            task: Some(task.to_string()),
            trial: Some(0),
            reward: Some(reward),
            infrastructure_error: false,
            detected: vec![("loop".to_owned(), Some(reward < 0.5)), ("route".to_owned(), None)],
            fingerprint: Some(Fingerprint::of(&trace.build().unwrap())),
        }
    }

    fn compare(first: &[ComparedRun], second: &[ComparedRun]) -> Comparison {
        Comparison::of(("a", first), ("b", second), &Resampling::default()).unwrap()
    }

    #[test]
    fn pairs_by_task_and_names_what_is_left_out() {
        let calls = ["look", "take", "look"];
        let mut first: Vec<ComparedRun> =
            (0..30).map(|task| run(task, f64::from(u8::from(task % 3 == 0)), &calls)).collect();
        let second: Vec<ComparedRun> = (0..30)
            .map(|task| run(task, f64::from(u8::from(task % 3 != 1)), &["push", "pull", "push"]))
            .collect();
        first.push(run(99, 1.0, &calls));
        first.push(ComparedRun { task: None, ..run(0, 1.0, &calls) });
        first.push(ComparedRun { infrastructure_error: true, ..run(0, 1.0, &calls) });
        let found = compare(&first, &second);
        assert_eq!((found.first.runs, found.first.counted, found.second.counted), (33, 30, 30));
        let left_out =
            (found.first.of_other_tasks, found.first.without_task, found.first.infrastructure_errors);
        assert_eq!(left_out, (1, 1, 1));
        let PairedOutcomes { both, first_only, second_only, neither, p } = found.paired;
        assert_eq!((both, first_only, second_only, neither), (10, 0, 10, 10));
        // statsmodels: mcnemar([[10, 0], [10, 10]], exact=True)
        assert!((p - 0.001_953_125).abs() < 1e-12);
        let success = found.success.unwrap();
        assert!((success.difference - 1.0 / 3.0).abs() < 1e-12);
        let interval = success.bootstrap.percentile.unwrap();
        assert!(interval.low > 0.1 && interval.high < 0.6, "{interval:?}");
        assert_eq!(found.differing.len(), 10);
        assert!(found.differing.iter().all(|task| task.flipped));
        assert_eq!(found.pass_k.len(), 1);
        assert!((found.pass_k[0].1 - 2.0 / 3.0).abs() < 1e-12);
        let [looping, route] = &found.detectors[..] else { panic!("{:?}", found.detectors) };
        assert_eq!((looping.first.detected, looping.second.detected), (20, 10));
        assert!((looping.difference.unwrap().difference + 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((route.first.applicable, route.difference), (0, None));
        let fingerprints = found.fingerprints.unwrap();
        assert!((fingerprints.distance - 1.0).abs() < 1e-9 && fingerprints.p < 0.001, "{fingerprints:?}");
    }

    #[test]
    fn a_side_does_not_differ_from_itself() {
        let runs: Vec<ComparedRun> = (0..20)
            .map(|task| {
                run(task, f64::from(task % 2), if task % 5 == 0 { &["a", "b"] } else { &["b", "a", "c"] })
            })
            .collect();
        let found = compare(&runs, &runs);
        assert!(found.success.unwrap().difference.abs() < 1e-15);
        assert!((found.paired.p - 1.0).abs() < 1e-12 && found.differing.is_empty());
        let fingerprints = found.fingerprints.unwrap();
        assert!(fingerprints.distance < 1e-6 && fingerprints.p > 0.5, "{fingerprints:?}");
    }

    #[test]
    fn nothing_in_common() {
        let found = compare(&[run(1, 1.0, &["a", "b"])], &[run(2, 1.0, &["a", "b"])]);
        assert_eq!((found.tasks, found.success, found.fingerprints), (0, None, None));
        assert_eq!(compare(&[], &[]).tasks, 0);
        let bad = Resampling { resamples: 0, ..Resampling::default() };
        assert!(Comparison::of(("a", &[]), ("b", &[]), &bad).is_err());
    }
}
