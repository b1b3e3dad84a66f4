//! Matches runs by task, and computes figures over the shared tasks.

use std::collections::{BTreeMap, BTreeSet};

use super::{ComparedRun, ComparedSide, PairedOutcomes};
use crate::fingerprint::Fingerprint;
use crate::stats::{TaskTrials, mcnemar, pass_hat_k};

/// The runs of both sides by task, sorted by trial.
pub(super) struct Tasks<'r>(BTreeMap<TaskKey, [Vec<&'r ComparedRun>; 2]>);

type TaskKey = (Option<String>, String);

impl<'r> Tasks<'r> {
    /// Matches the runs of both sides, except those without a task or with an infrastructure error. A task
    /// without a domain takes the domain of the task of that name on the other side, if there is exactly one.
    pub(super) fn matched(sides: [&'r [ComparedRun]; 2]) -> Self {
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
        let mut tasks: BTreeMap<TaskKey, [Vec<&ComparedRun>; 2]> = BTreeMap::new();
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
        for runs in tasks.values_mut().flatten() {
            runs.sort_by_key(|run| run.trial);
        }
        Self(tasks)
    }

    /// Removes the tasks that only one side tried. Counts the runs that are kept, those that are removed, and the
    /// successes in `sides`.
    pub(super) fn keep_shared(&mut self, sides: &mut [ComparedSide; 2]) {
        self.0.retain(|_, runs| {
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
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns each task's domain and name, and the runs of both sides.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&TaskKey, &[Vec<&'r ComparedRun>; 2])> {
        self.0.iter()
    }

    /// Returns the values of the runs of both sides, for each task in which both sides have some.
    pub(super) fn values(&self, value: impl Fn(&ComparedRun) -> Option<f64>) -> Vec<[Vec<f64>; 2]> {
        let of = |runs: &Vec<&ComparedRun>| runs.iter().filter_map(|run| value(run)).collect::<Vec<f64>>();
        let tasks = self.0.values().map(|sides| sides.each_ref().map(of));
        tasks.filter(|sides| sides.iter().all(|values| !values.is_empty())).collect()
    }

    /// Returns the runs of both sides.
    pub(super) fn runs(&self) -> impl Iterator<Item = &'r ComparedRun> {
        self.0.values().flatten().flatten().copied()
    }

    /// Counts pairs of runs of the same task by the outcomes of both. Skips pairs in which a run has no
    /// outcome.
    pub(super) fn paired(&self, outcome: impl Fn(&ComparedRun) -> Option<bool>) -> PairedOutcomes {
        let mut outcomes = PairedOutcomes::default();
        for [first, second] in self.0.values() {
            let pairs = first.iter().zip(second);
            for pair in pairs.filter_map(|(first, second)| outcome(first).zip(outcome(second))) {
                *match pair {
                    (true, true) => &mut outcomes.both,
                    (true, false) => &mut outcomes.first_only,
                    (false, true) => &mut outcomes.second_only,
                    (false, false) => &mut outcomes.neither,
                } += 1;
            }
        }
        outcomes.p = (!self.0.is_empty()).then(|| mcnemar(outcomes.first_only, outcomes.second_only));
        outcomes
    }

    /// Returns pass^1, pass^2 and so on of both sides, up to the largest k for which both are defined.
    pub(super) fn pass_k(&self) -> Vec<(f64, f64)> {
        let trials = |runs: &[&ComparedRun]| TaskTrials {
            trials: u32::try_from(runs.len()).unwrap_or(u32::MAX),
            successes: u32::try_from(runs.iter().filter(|run| run.succeeded()).count()).unwrap_or(u32::MAX),
        };
        let (first, second): (Vec<_>, Vec<_>) =
            self.0.values().map(|[first, second]| (trials(first), trials(second))).unzip();
        (1..).map_while(|k| Some((pass_hat_k(&first, k).ok()?, pass_hat_k(&second, k).ok()?))).collect()
    }

    /// Returns the fingerprints that were computed, by task and side.
    pub(super) fn fingerprints(&self) -> Vec<[Vec<&'r Fingerprint>; 2]> {
        let of =
            |runs: &Vec<&'r ComparedRun>| runs.iter().filter_map(|run| run.fingerprint.as_ref()).collect();
        self.0.values().map(|sides| sides.each_ref().map(of)).collect()
    }
}
