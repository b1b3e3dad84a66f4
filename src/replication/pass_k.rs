//! pass^k by model and domain.

use std::collections::BTreeMap;

use serde::Serialize;

use super::published::by_pair;
use super::row::SimulationRow;
use crate::stats::{TaskTrials, pass_hat_k};

/// tau-bench's pass^k of one model in one domain (arXiv:2406.12045).
///
/// A run succeeds when its reward is within 1e-6 of 1; one without a reward fails.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PassK {
    /// The model; null where the files name none.
    pub model: Option<String>,
    /// The domain; null where the files name none.
    pub domain: Option<String>,
    /// Tasks that count.
    pub tasks: u64,
    /// Runs that count.
    pub runs: u64,
    /// pass^1, pass^2, … up to the smallest number of trials of a task.
    pub pass: Vec<f64>,
    /// Runs left out because they ended in an infrastructure error.
    pub infrastructure_errors: u64,
    /// Runs left out because they name no task.
    pub without_task: u64,
}

/// pass^k per model and domain, sorted.
#[must_use]
pub fn pass_k_by_pair(rows: &[SimulationRow]) -> Vec<PassK> {
    by_pair(rows).into_iter().map(|((model, domain), rows)| pass_k(model, domain, &rows)).collect()
}

fn pass_k(model: Option<&str>, domain: Option<&str>, rows: &[&SimulationRow]) -> PassK {
    let mut tasks: BTreeMap<&str, TaskTrials> = BTreeMap::new();
    let mut result = PassK {
        model: model.map(str::to_owned),
        domain: domain.map(str::to_owned),
        tasks: 0,
        runs: 0,
        pass: Vec::new(),
        infrastructure_errors: 0,
        without_task: 0,
    };
    for row in rows {
        if row.ended_by_infrastructure() {
            result.infrastructure_errors += 1;
        } else if let Some(task) = row.task.as_deref() {
            let trials = tasks.entry(task).or_insert(TaskTrials { trials: 0, successes: 0 });
            trials.trials += 1;
            trials.successes += u32::from(row.succeeded());
            result.runs += 1;
        } else {
            result.without_task += 1;
        }
    }
    let tasks: Vec<TaskTrials> = tasks.into_values().collect();
    result.tasks = tasks.len() as u64;
    result.pass = (1..).map_while(|k| pass_hat_k(&tasks, k).ok()).collect();
    result
}
