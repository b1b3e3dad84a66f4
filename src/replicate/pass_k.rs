//! pass^k by model and domain.

use std::collections::BTreeMap;

use serde::Serialize;

use super::clusters::set_tasks_of_files;
use super::published::Pair;
use super::row::SimulationRow;
use super::state::TaskOfPair;
use super::sums::GroupSums;
use crate::stats::{TaskTrials, grouped, pass_hat_k};

/// tau-bench's pass^k of one model in one domain (arXiv:2406.12045), from [`pass_k_by_pair`].
///
/// Runs without a model are grouped by agent or, without an agent, by file: runs of different agents are not
/// trials of one agent. A run succeeds if its reward is within 1e-6 of 1; a run without a reward fails.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct PassK {
    /// The model; null if unknown.
    pub model: Option<String>,
    /// The agent, if the model is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The file, if model and agent are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The domain; null if unknown.
    pub domain: Option<String>,
    /// Tasks with at least one run that counts.
    pub tasks: u64,
    /// Runs that count: those with a task, except infrastructure errors.
    pub runs: u64,
    /// pass^1, pass^2 and so on, up to the smallest number of trials of a task; empty without tasks.
    pub pass: Vec<f64>,
    /// Runs excluded because they ended in an infrastructure error.
    pub infrastructure_errors: u64,
    /// Other runs excluded because they have no task.
    pub without_task: u64,
}

/// Returns pass^k for every model (or agent, or file) in every domain, sorted by model, agent, file and
/// domain.
///
/// [`SimulationRow`] has an example of how to read the runs.
#[must_use]
pub fn pass_k_by_pair(rows: &[SimulationRow]) -> Vec<PassK> {
    let mut rows = rows.to_vec();
    set_tasks_of_files(&mut rows);
    let groups = grouped(&rows, |row| {
        let agent = row.agent.as_deref().filter(|_| row.model.is_none());
        let file = Some(row.file.as_str()).filter(|_| row.model.is_none() && agent.is_none());
        Some((row.model.as_deref(), agent, file, row.domain.as_deref()))
    });
    let group = |((model, agent, file, domain), rows): (Key<'_>, Vec<&SimulationRow>)| {
        let mut result = PassK::of_pair((model, domain));
        (result.agent, result.file) = (agent.map(str::to_owned), file.map(str::to_owned));
        result.add(&rows);
        result
    };
    groups.into_iter().map(group).collect()
}

/// Model, agent, file and domain.
type Key<'r> = (Option<&'r str>, Option<&'r str>, Option<&'r str>, Option<&'r str>);

impl PassK {
    fn of_pair((model, domain): Pair<'_>) -> Self {
        Self { model: model.map(str::to_owned), domain: domain.map(str::to_owned), ..Self::default() }
    }

    /// Returns the model or, if it is unknown, the agent or the file.
    #[must_use]
    pub fn name(&self) -> &str {
        self.model.as_ref().or(self.agent.as_ref()).or(self.file.as_ref()).map_or("", String::as_str)
    }

    fn add(&mut self, rows: &[&SimulationRow]) {
        let mut tasks: BTreeMap<_, TaskTrials> = BTreeMap::new();
        for row in rows {
            if row.ended_by_infrastructure() {
                self.infrastructure_errors += 1;
            } else if let Some(task) = row.task.as_deref() {
                // Two benchmarks without a domain may both have a task `1`, so the tasks of the file are in the key.
                let key = (row.tasks_of_file.filter(|_| row.domain.is_none()), task);
                let trials = tasks.entry(key).or_insert(TaskTrials { trials: 0, successes: 0 });
                trials.trials += 1;
                trials.successes += u32::from(row.succeeded());
                self.runs += 1;
            } else {
                self.without_task += 1;
            }
        }
        self.count(&tasks.into_values().collect::<Vec<_>>());
    }

    fn count(&mut self, tasks: &[TaskTrials]) {
        self.tasks = tasks.len() as u64;
        self.pass = (1..).map_while(|k| pass_hat_k(tasks, k).ok()).collect();
    }
}

/// Like [`pass_k_by_pair`], but from sums by task. Sums do not keep files apart, so runs without a model are
/// excluded, and, without a domain, tasks of the same name count as one.
pub(super) fn pass_k_of_sums(groups: &BTreeMap<TaskOfPair, GroupSums>) -> Vec<PassK> {
    let mut pairs: BTreeMap<Pair<'_>, (PassK, Vec<TaskTrials>)> = BTreeMap::new();
    for ((model, domain, task), sums) in groups.iter().filter(|((model, ..), _)| model.is_some()) {
        let pair = (model.as_deref(), domain.as_deref());
        let (result, tasks) = pairs.entry(pair).or_insert_with(|| (PassK::of_pair(pair), Vec::new()));
        let GroupSums { trials, successes, infrastructure_errors, .. } = sums;
        result.infrastructure_errors = result.infrastructure_errors.saturating_add(*infrastructure_errors);
        let sum = if task.is_some() { &mut result.runs } else { &mut result.without_task };
        *sum = sum.saturating_add(*trials);
        if task.is_some() && *trials > 0 {
            let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
            tasks.push(TaskTrials { trials: count(*trials), successes: count(*successes) });
        }
    }
    let finish = |(mut result, tasks): (PassK, Vec<TaskTrials>)| {
        result.count(&tasks);
        result
    };
    pairs.into_values().map(finish).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn runs_of_unknown_agents_are_trials_within_their_file() {
        let bare = |file: &str, reward| SimulationRow {
            file: file.to_owned(),
            model: None,
            ..row("m", 1, true, reward)
        };
        let scaffold = |reward| SimulationRow { agent: Some("scaffold".into()), ..bare("c", reward) };
        let rows = [bare("a", 1.0), bare("a", 1.0), bare("b", 0.0), scaffold(1.0), scaffold(0.0)];
        let found = pass_k_by_pair(&rows);
        let found: Vec<(&str, &[f64])> = found.iter().map(|group| (group.name(), &group.pass[..])).collect();
        assert_eq!(found, [("a", &[1.0, 1.0][..]), ("b", &[0.0]), ("scaffold", &[0.5, 0.0])]);
    }
}
