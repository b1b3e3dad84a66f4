//! Computes distances between groups by their behaviour, and the distances expected by chance.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::FingerprintComparison;
use crate::fingerprint::{Fingerprint, Node};
use crate::stats::{Interval, Resampling, Rng, float, jensen_shannon, without_tails};

/// The runs of one task on the first side and on the second.
type Sides<'r> = [Vec<&'r Fingerprint>; 2];

/// The runs of a group, by task.
type RunsByTask<'r> = BTreeMap<&'r str, Vec<&'r Fingerprint>>;

/// The number of a task's runs on the first side, and the edges of all its runs with their counts.
type EdgeRuns = (usize, Vec<Vec<(usize, f64)>>);

/// Returns the distance between the pooled fingerprints of both sides, and its range if the runs of each task are
/// shuffled between the sides. `None` if the distance is undefined for the sides or for any shuffle.
pub(super) fn fingerprints(tasks: &[Sides<'_>], options: &Resampling) -> Option<FingerprintComparison> {
    let mut numbers: BTreeMap<(&Node, &Node), usize> = BTreeMap::new();
    let mut tasks_by_edge: Vec<EdgeRuns> = Vec::new();
    for [first, second] in tasks {
        let mut runs = Vec::new();
        for fingerprint in first.iter().chain(second) {
            let edges = fingerprint.edges().map(|(from, to, count)| {
                let next = numbers.len();
                (*numbers.entry((from, to)).or_insert(next), float(count))
            });
            runs.push(edges.collect());
        }
        tasks_by_edge.push((first.len(), runs));
    }
    let size = numbers.len();
    let apart = |rng: &mut Option<Rng>| {
        let mut sums = [vec![0.0; size], vec![0.0; size]];
        for (firsts, runs) in &tasks_by_edge {
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
    let null: Vec<f64> = (0..options.resamples)
        .into_par_iter()
        .map(|number| apart(&mut Some(Rng::stream(options.seed, number as u64))))
        .collect::<Option<_>>()?;
    let arrangements = null.len() as u64;
    let at_least = null.iter().filter(|chance| **chance >= distance - 1e-12).count() as u64;
    let p = float(at_least + 1) / float(arrangements + 1);
    let by_chance = without_tails(null, (1.0 - options.confidence) / 2.0)?;
    Some(FingerprintComparison { distance, by_chance, p, arrangements })
}

/// The fingerprint of a run, with its group and task.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupedFingerprint {
    /// The group, such as a model.
    pub group: String,
    /// The task, with its domain. Runs are shuffled between groups only within a task.
    pub task: Option<String>,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
}

/// The pooled fingerprint of a group of runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct FingerprintGroup {
    /// The name.
    pub name: String,
    /// The number of runs.
    pub runs: u64,
    /// The sum of their fingerprints.
    pub fingerprint: Fingerprint,
}

/// The distance between the fingerprints of two groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FingerprintDistance {
    /// The names of the groups.
    pub groups: [String; 2],
    /// Number of tasks that both groups tried; only their runs count. 0 if there are none, or if the
    /// distance of these runs is undefined; then all runs count.
    pub tasks: u64,
    /// The Jensen–Shannon distance, in [0, 1].
    pub distance: f64,
    /// The range of the distance expected by chance; `None` if `tasks` is 0.
    pub by_chance: Option<Interval>,
    /// The share of shuffles with at least this distance; the observed groups count as one shuffle. `None` if
    /// `tasks` is 0.
    pub p: Option<f64>,
}

/// The behaviour of groups of runs, and the distance between the groups of each pair.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Status, Trace, fingerprint::Fingerprint};
/// use wrongturn::{compare::{FingerprintGroups, GroupedFingerprint}, report::fingerprint_document, stats::Resampling};
///
/// let run = |group: &str, calls: [&str; 3]| {
///     let mut run = Trace::builder();
///     for call in calls {
///         run.call(call, &json!({}), Status::Ok, "done")?;
///     }
///     let fingerprint = Fingerprint::of(&run.build()?);
///     Ok::<_, wrongturn::Error>(GroupedFingerprint { group: group.into(), task: Some("1".into()), fingerprint })
/// };
/// let runs = [run("careful", ["look", "test", "edit"])?, run("hasty", ["edit", "edit", "edit"])?];
/// let found = FingerprintGroups::of(&runs, &Resampling::default());
/// assert_eq!(found.distances[0].distance, 1.0, "nothing in common");
/// let document = fingerprint_document(&found, "agent");
/// assert!(document.html().contains("<svg"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FingerprintGroups {
    /// The groups, sorted by name.
    pub groups: Vec<FingerprintGroup>,
    /// The distances between all pairs of groups that have transitions, largest first.
    pub distances: Vec<FingerprintDistance>,
    /// Number of shuffles drawn for each pair of groups.
    pub resamples: usize,
    /// Their seed.
    pub seed: u64,
}

impl FingerprintGroups {
    /// Pools the fingerprints of each group and compares the groups pair by pair.
    #[must_use]
    pub fn of(runs: &[GroupedFingerprint], options: &Resampling) -> Self {
        let mut groups: BTreeMap<&str, (FingerprintGroup, RunsByTask<'_>)> = BTreeMap::new();
        for run in runs {
            let (group, tasks) = groups.entry(&run.group).or_default();
            group.name.clone_from(&run.group);
            group.runs += 1;
            group.fingerprint.merge(&run.fingerprint);
            if let Some(task) = &run.task {
                tasks.entry(task).or_default().push(&run.fingerprint);
            }
        }
        let found: Vec<_> = groups.into_values().collect();
        let mut distances = Vec::new();
        for (place, (one, tasks)) in found.iter().enumerate() {
            for (other, other_tasks) in found.iter().skip(place + 1) {
                let sides: Vec<Sides<'_>> = tasks
                    .iter()
                    .filter_map(|(task, runs)| Some([runs.clone(), other_tasks.get(task)?.clone()]))
                    .collect();
                let chance = fingerprints(&sides, options);
                let whole = one.fingerprint.distance(&other.fingerprint).ok();
                let Some(distance) = chance.map(|chance| chance.distance).or(whole) else { continue };
                distances.push(FingerprintDistance {
                    groups: [one.name.clone(), other.name.clone()],
                    tasks: if chance.is_some() { sides.len() as u64 } else { 0 },
                    distance,
                    by_chance: chance.map(|chance| chance.by_chance),
                    p: chance.map(|chance| chance.p),
                });
            }
        }
        distances.sort_by(|a, b| b.distance.total_cmp(&a.distance));
        let groups = found.into_iter().map(|(group, _)| group).collect();
        Self { groups, distances, resamples: options.resamples, seed: options.seed }
    }
}
