//! Does recovering from tool errors track reward better than making few of them does?
//!
//! The tables of the note "Tool-error recovery replicates on tau2-bench" (Pisama, 2026-05-27) for any corpus: per
//! group of runs the Pearson correlations of recovery rate, error count and call count with the reward.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::corpus::TraceRecord;
use crate::stats::{Correlation, StatsError, TaskTrials, pass_hat_k, pearson};

/// A reward this close to 1 is a success.
const SUCCESS_TOLERANCE: f64 = 1e-6;

/// One run as the replication sees it. In JSON, what is not known is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimulationRow {
    /// The file.
    pub file: String,
    /// The source's own id.
    pub id: Option<String>,
    /// The model.
    pub model: Option<Arc<str>>,
    /// The domain.
    pub domain: Option<Arc<str>>,
    /// The task.
    pub task: Option<String>,
    /// Which trial of the task.
    pub trial: Option<u64>,
    /// The reward.
    pub reward: Option<f64>,
    /// Actions of the chosen actors.
    pub tool_calls: u64,
    /// Those that failed.
    pub errors: u64,
    /// Those of the failed whose tool succeeded later.
    pub recovered: u64,
    /// `recovered / errors`; 1 without errors.
    pub recovery_rate: f64,
    /// Whether `tool_error_recovery` was detected.
    pub detected: bool,
    #[serde(skip)]
    termination: Option<String>,
}

impl SimulationRow {
    /// The row of a scanned run; `None` where `tool_error_recovery` was not among the detectors.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Option<Self> {
        let verdict = record.verdict("tool_error_recovery")?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the measure is a count")]
        let count = |name| verdict.measure(name).map(|value| value as u64);
        Some(Self {
            file: record.file.display().to_string(),
            id: record.metadata.id.clone(),
            model: record.metadata.model.clone(),
            domain: record.metadata.domain.clone(),
            task: record.metadata.task.clone(),
            trial: record.metadata.trial,
            reward: record.reward,
            tool_calls: count("tool_calls")?,
            errors: count("errors")?,
            recovered: count("recovered")?,
            recovery_rate: verdict.measure("recovery_rate")?,
            detected: verdict.detected()?,
            termination: record.metadata.termination.clone(),
        })
    }
}

/// A correlation, or why there is none. In JSON `{"r", "n", "p", "ci95": [low, high]}` or `{"undefined": "why"}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficient(pub Result<Correlation, StatsError>);

impl Coefficient {
    /// r, where it is defined.
    #[must_use]
    pub fn r(&self) -> Option<f64> {
        self.0.as_ref().ok().map(|correlation| correlation.r)
    }
}

impl Serialize for Coefficient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ok(correlation) => correlation.serialize(serializer),
            Err(why) => serializer.collect_map([("undefined", why.to_string())]),
        }
    }
}

/// The figures of one group of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// Runs.
    pub sims: u64,
    /// Runs with a reward.
    pub sims_with_reward: u64,
    /// Runs with at least one error.
    pub sims_with_errors: u64,
    /// Errors.
    pub errors: u64,
    /// Errors recovered.
    pub recovered: u64,
    /// Actions of the chosen actors.
    pub tool_calls: u64,
    /// Mean reward of the runs that have one.
    pub mean_reward: Option<f64>,
    /// Mean reward of those among them that have errors.
    pub mean_reward_with_errors: Option<f64>,
    /// Recovery rate against reward, all runs with a reward.
    pub r_recovery_reward: Coefficient,
    /// Recovery rate against reward, those with errors only.
    pub r_recovery_reward_errors_only: Coefficient,
    /// Error count against reward.
    pub r_error_count_reward: Coefficient,
    /// Call count against reward.
    pub r_tool_calls_reward: Coefficient,
}

impl Group {
    #[expect(clippy::cast_precision_loss, reason = "counts of calls are far below 2^53")]
    fn of(rows: &[&SimulationRow]) -> Self {
        let rewarded: Vec<(&SimulationRow, f64)> =
            rows.iter().filter_map(|row| Some((*row, row.reward?))).collect();
        let failing: Vec<(&SimulationRow, f64)> =
            rewarded.iter().filter(|(row, _)| row.errors > 0).copied().collect();
        let total = |count: fn(&SimulationRow) -> u64| rows.iter().map(|row| count(row)).sum();
        Self {
            sims: rows.len() as u64,
            sims_with_reward: rewarded.len() as u64,
            sims_with_errors: rows.iter().filter(|row| row.errors > 0).count() as u64,
            errors: total(|row| row.errors),
            recovered: total(|row| row.recovered),
            tool_calls: total(|row| row.tool_calls),
            mean_reward: mean(&rewarded),
            mean_reward_with_errors: mean(&failing),
            r_recovery_reward: coefficient(&rewarded, |row| row.recovery_rate),
            r_recovery_reward_errors_only: coefficient(&failing, |row| row.recovery_rate),
            r_error_count_reward: coefficient(&rewarded, |row| row.errors as f64),
            r_tool_calls_reward: coefficient(&rewarded, |row| row.tool_calls as f64),
        }
    }
}

fn coefficient(rows: &[(&SimulationRow, f64)], measure: impl Fn(&SimulationRow) -> f64) -> Coefficient {
    let (x, y): (Vec<f64>, Vec<f64>) = rows.iter().map(|(row, reward)| (measure(row), *reward)).unzip();
    Coefficient(pearson(&x, &y))
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
fn mean(rows: &[(&SimulationRow, f64)]) -> Option<f64> {
    (!rows.is_empty()).then(|| rows.iter().map(|(_, reward)| reward).sum::<f64>() / rows.len() as f64)
}

/// The figures of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelGroup {
    /// The model; null where the files name none.
    pub model: Option<String>,
    /// Its figures.
    #[serde(flatten)]
    pub group: Group,
}

/// The figures of one model in one domain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairGroup {
    /// The model; null where the files name none.
    pub model: Option<String>,
    /// The domain; null where the files name none.
    pub domain: Option<String>,
    /// Their figures.
    #[serde(flatten)]
    pub group: Group,
}

/// How many pairs of model and domain have a correlation of a sign, out of those where it is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SignCount {
    /// Pairs whose correlation has the sign.
    pub count: u64,
    /// Pairs whose correlation is defined.
    pub defined: u64,
}

impl SignCount {
    fn of(pairs: &[PairGroup], r: fn(&Group) -> &Coefficient, has_sign: fn(f64) -> bool) -> Self {
        let defined: Vec<f64> = pairs.iter().filter_map(|pair| r(&pair.group).r()).collect();
        Self { count: defined.iter().filter(|r| has_sign(**r)).count() as u64, defined: defined.len() as u64 }
    }
}

/// The directions of the correlations over the pairs of model and domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Direction {
    /// Pairs of model and domain.
    pub pairs: u64,
    /// Recovery rate against reward, all runs: positive.
    pub recovery_positive: SignCount,
    /// Recovery rate against reward, runs with errors: positive.
    pub recovery_errors_only_positive: SignCount,
    /// Error count against reward: negative.
    pub error_count_negative: SignCount,
}

/// The replication over a corpus.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replication {
    /// All runs.
    pub overall: Group,
    /// By model, sorted.
    pub by_model: Vec<ModelGroup>,
    /// By model and domain, sorted.
    pub by_model_domain: Vec<PairGroup>,
    /// Signs over the pairs.
    pub direction: Direction,
}

impl Replication {
    /// The replication over these runs.
    #[must_use]
    pub fn of(rows: &[SimulationRow]) -> Self {
        let all: Vec<&SimulationRow> = rows.iter().collect();
        let mut models: BTreeMap<Option<&str>, Vec<&SimulationRow>> = BTreeMap::new();
        for row in rows {
            models.entry(row.model.as_deref()).or_default().push(row);
        }
        let by_model = models
            .into_iter()
            .map(|(model, rows)| ModelGroup { model: model.map(str::to_owned), group: Group::of(&rows) })
            .collect();
        let by_model_domain: Vec<PairGroup> = by_pair(rows)
            .into_iter()
            .map(|((model, domain), rows)| PairGroup {
                model: model.map(str::to_owned),
                domain: domain.map(str::to_owned),
                group: Group::of(&rows),
            })
            .collect();
        let direction = Direction {
            pairs: by_model_domain.len() as u64,
            recovery_positive: SignCount::of(&by_model_domain, |g| &g.r_recovery_reward, |r| r > 0.0),
            recovery_errors_only_positive: SignCount::of(
                &by_model_domain,
                |g| &g.r_recovery_reward_errors_only,
                |r| r > 0.0,
            ),
            error_count_negative: SignCount::of(&by_model_domain, |g| &g.r_error_count_reward, |r| r < 0.0),
        };
        Self { overall: Group::of(&all), by_model, by_model_domain, direction }
    }
}

type Pair<'r> = (Option<&'r str>, Option<&'r str>);

fn by_pair(rows: &[SimulationRow]) -> BTreeMap<Pair<'_>, Vec<&SimulationRow>> {
    let mut pairs: BTreeMap<Pair<'_>, Vec<&SimulationRow>> = BTreeMap::new();
    for row in rows {
        pairs.entry((row.model.as_deref(), row.domain.as_deref())).or_default().push(row);
    }
    pairs
}

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
        if row.termination.as_deref() == Some("infrastructure_error") {
            result.infrastructure_errors += 1;
        } else if let Some(task) = row.task.as_deref() {
            let trials = tasks.entry(task).or_insert(TaskTrials { trials: 0, successes: 0 });
            trials.trials += 1;
            trials.successes += u32::from(row.reward.is_some_and(|r| (r - 1.0).abs() <= SUCCESS_TOLERANCE));
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
