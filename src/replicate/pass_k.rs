//! pass^k by model and domain.

use std::collections::BTreeMap;

use serde::Serialize;

use super::published::{Pair, by_pair};
use super::row::SimulationRow;
use super::state::TaskOfPair;
use super::sums::GroupSums;
use crate::stats::{TaskTrials, pass_hat_k};

/// tau-bench's pass^k of one model in one domain (arXiv:2406.12045): [`pass_k_by_pair`].
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

/// pass^k of every model in every domain, sorted by both.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{SimulationRow, pass_k_by_pair}, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let file = br#"{"simulations": [
///     {"id": "a", "task_id": "1", "trial": 0, "messages": [], "reward_info": {"reward": 1.0}},
///     {"id": "b", "task_id": "1", "trial": 1, "messages": [], "reward_info": {"reward": 0.0}}]}"#;
/// let scanned = scanner.scan_slice("runs.json".as_ref(), file);
/// let rows: Vec<SimulationRow> = scanned.traces.iter().filter_map(SimulationRow::of).collect();
/// assert_eq!(pass_k_by_pair(&rows)[0].pass, [0.5, 0.0]);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn pass_k_by_pair(rows: &[SimulationRow]) -> Vec<PassK> {
    by_pair(rows).into_iter().map(|((model, domain), rows)| pass_k(model, domain, &rows)).collect()
}

fn pass_k(model: Option<&str>, domain: Option<&str>, rows: &[&SimulationRow]) -> PassK {
    let mut tasks: BTreeMap<&str, TaskTrials> = BTreeMap::new();
    let mut result = PassK::of_pair((model, domain));
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
    result.count(&tasks.into_values().collect::<Vec<_>>());
    result
}

impl PassK {
    fn of_pair((model, domain): Pair<'_>) -> Self {
        Self {
            model: model.map(str::to_owned),
            domain: domain.map(str::to_owned),
            tasks: 0,
            runs: 0,
            pass: Vec::new(),
            infrastructure_errors: 0,
            without_task: 0,
        }
    }

    fn count(&mut self, tasks: &[TaskTrials]) {
        self.tasks = tasks.len() as u64;
        self.pass = (1..).map_while(|k| pass_hat_k(tasks, k).ok()).collect();
    }
}

/// The same of sums by task, sorted by model and domain.
pub(super) fn pass_k_of_sums(groups: &BTreeMap<TaskOfPair, GroupSums>) -> Vec<PassK> {
    let mut pairs: BTreeMap<Pair<'_>, (PassK, Vec<TaskTrials>)> = BTreeMap::new();
    for ((model, domain, task), sums) in groups {
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
