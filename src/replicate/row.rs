//! One run in a replication.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::default_rule::DefaultMeasures;
use crate::run_outcome::{is_infrastructure_error, is_success};
use crate::scan::{TraceRecord, path_text};
use crate::trace::Digest;

/// A run in a replication: its metadata, reward, calls, errors and recovery.
///
/// In JSON, unknown values are null.
///
/// ```
/// use wrongturn::{Scanner, default_detectors, replicate::{Replication, SimulationRow}, scan::ScanOptions};
///
/// let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
/// let file = br#"{"simulations": [
///     {"id": "a", "messages": [], "reward_info": {"reward": 1.0}}]}"#;
/// let scanned = scanner.scan_slice("a.json".as_ref(), file);
/// let rows: Vec<SimulationRow> = scanned.traces.iter().filter_map(SimulationRow::of).collect();
/// assert!(rows[0].succeeded());
/// assert_eq!(Replication::of(&rows).overall.mean_reward, Some(1.0));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct SimulationRow {
    /// The path of the file.
    pub file: String,
    /// The 0-based position of the run in its file. Not in JSON.
    #[serde(skip)]
    pub position: u64,
    /// The id in the source.
    pub id: Option<String>,
    /// The model.
    pub model: Option<Arc<str>>,
    /// The domain.
    pub domain: Option<Arc<str>>,
    /// The task.
    pub task: Option<String>,
    /// The number of the trial within the task, as recorded.
    pub trial: Option<u64>,
    /// The reward.
    pub reward: Option<f64>,
    /// Calls of the chosen actors.
    pub tool_calls: u64,
    /// Failed calls.
    pub errors: u64,
    /// Failed calls whose tool succeeded later, as `tool_error_recovery` counts them.
    pub recovered: u64,
    /// `recovered / errors`; 1 if the run has no errors.
    pub recovery_rate: f64,
    /// Whether `tool_error_recovery` was detected.
    pub detected: bool,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// The measures of [`DefaultRecovery`](super::DefaultRecovery), if it was among the detectors.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub default_rule: Option<DefaultMeasures>,
    /// The digest of the run's messages and actions, if the scan computes digests
    /// ([`ScanOptions::digests`](crate::scan::ScanOptions)) and the run has steps. It identifies copies of a
    /// run. Not in JSON.
    #[serde(skip)]
    pub digest: Option<Digest>,
    /// The copy that counts instead, as `file#id`, or `file#position` if it has no id
    /// ([`mark_duplicates`](super::mark_duplicates)).
    pub duplicate_of: Option<String>,
    #[serde(skip)]
    pub(super) termination: Option<String>,
    #[serde(skip)]
    pub(super) tasks_of_file: Option<Digest>,
}

impl SimulationRow {
    /// Returns the row of a scanned run; `None` if `tool_error_recovery` did not judge it.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Option<Self> {
        let verdict = record.verdict("tool_error_recovery")?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the measure is a count")]
        let count = |name| verdict.measure(name).map(|value| value as u64);
        Some(Self {
            file: path_text(record.file.as_os_str()).into_owned(),
            position: record.position,
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
            agent: record.metadata.agent.clone(),
            default_rule: DefaultMeasures::of(record),
            // Empty runs have equal digests but are not copies, so they get none.
            digest: record.digest.filter(|digest| *digest != Digest::of_nothing()),
            termination: record.metadata.termination.clone(),
            ..Self::default()
        })
    }

    /// Returns `file#id`, or `file#position` if the run has no id.
    pub(super) fn name(&self) -> String {
        match &self.id {
            Some(id) => format!("{}#{id}", self.file),
            None => format!("{}#{}", self.file, self.position),
        }
    }

    /// Returns true if the run succeeded: its reward is within 1e-6 of 1.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        is_success(self.reward)
    }

    /// Compares in scan order: by path, then by position. Rows of standard input from several processes may
    /// have equal positions; their other values break such ties.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        fn key(row: &SimulationRow) -> impl Ord {
            let counts = (row.tool_calls, row.errors, row.recovered, row.detected);
            let default_rule = row.default_rule.map(|rule| (rule.recovered, rule.goals, rule.reached));
            (
                (Path::new(&row.file), row.position, &row.id),
                (&row.model, &row.domain, &row.task, row.trial, &row.agent),
                (row.reward.map(f64::to_bits), counts, default_rule, row.digest, &row.termination),
            )
        }
        key(self).cmp(&key(other))
    }

    pub(super) fn ended_by_infrastructure(&self) -> bool {
        is_infrastructure_error(self.termination.as_deref())
    }
}
