//! One run in a comparison.

use super::task::task_of;
use crate::fingerprint::Fingerprint;
use crate::run_outcome::{is_infrastructure_error, is_success};
use crate::scan::TraceRecord;
use crate::stats::float;

/// A run in a comparison: its task, reward and verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRun {
    /// The domain.
    pub domain: Option<String>,
    /// The task. Runs without one do not count. Instances of SWE-bench are named by their id in all formats.
    pub task: Option<String>,
    /// The trial of the task.
    pub trial: Option<u64>,
    /// The reward. A run without one counts as failed.
    pub reward: Option<f64>,
    /// Whether it ended in an infrastructure error. Such a run does not count.
    pub infrastructure_error: bool,
    /// Whether each detector fires, by its id; `None` if it does not apply.
    pub detected: Vec<(String, Option<bool>)>,
    /// Its known measures by name, of those in [`ComparedRun::MEASURES`].
    pub measures: Vec<(&'static str, f64)>,
    /// The fingerprint, if one was computed.
    pub fingerprint: Option<Fingerprint>,
}

impl ComparedRun {
    /// The measures that are compared. `recovery_rate` is known only in runs with errors; it, `errors` and
    /// `tool_calls` need the detector `tool_error_recovery`.
    pub const MEASURES: [&'static str; 7] =
        ["recovery_rate", "errors", "tool_calls", "steps", "seconds", "input_tokens", "output_tokens"];

    /// Creates the run from the record of a scan.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Self {
        let metadata = &record.metadata;
        Self {
            domain: metadata.domain.as_deref().map(str::to_owned),
            task: task_of(record),
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

    pub(super) fn succeeded(&self) -> bool {
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
