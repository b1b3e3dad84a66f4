//! One run, as the replication sees it.

use std::sync::Arc;

use serde::Serialize;

use crate::corpus::TraceRecord;
use crate::trace::Digest;

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
    /// The digest of what was said and done, by which runs that repeat one another are known.
    #[serde(skip)]
    pub digest: Option<Digest>,
    #[serde(skip)]
    pub(super) termination: Option<String>,
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
            digest: None,
            termination: record.metadata.termination.clone(),
        })
    }

    /// Whether the run succeeded: a reward within 1e-6 of 1.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.reward.is_some_and(|reward| (reward - 1.0).abs() <= SUCCESS_TOLERANCE)
    }

    pub(super) fn ended_by_infrastructure(&self) -> bool {
        self.termination.as_deref() == Some("infrastructure_error")
    }
}
