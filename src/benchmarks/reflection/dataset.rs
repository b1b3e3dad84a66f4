//! Statistics of annotated episodes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Answer, GoldEpisode};

/// Counts of one task's annotated episodes and failures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct DatasetGroup {
    /// Number of episodes.
    pub episodes: u64,
    /// Episodes annotated as containing a failure.
    pub with_failures: u64,
    /// Number of failures by mode.
    pub modes: BTreeMap<String, u64>,
    /// Number of steps in annotated failures; a step in several failures counts once for each.
    pub failing_steps: u64,
}

impl DatasetGroup {
    /// Returns the number of failures.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.modes.values().sum()
    }
}

/// Counts annotated episodes and their failures by task.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{GoldEpisode, dataset};
///
/// let gold: GoldEpisode = serde_json::from_value(json!({
///     "id": "e", "task": "jericho", "failures": [{"type": "operation/decision_error", "where": [3, 5]}],
/// }))?;
/// let found = &dataset(&[gold])["jericho"];
/// assert_eq!((found.with_failures, found.failures(), found.failing_steps), (1, 1, 3));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn dataset(gold: &[GoldEpisode]) -> BTreeMap<String, DatasetGroup> {
    let mut tasks: BTreeMap<String, DatasetGroup> = BTreeMap::new();
    for episode in gold {
        let group = tasks.entry(episode.task.clone()).or_default();
        group.episodes += 1;
        group.with_failures += u64::from(episode.answer() == Answer::Yes);
        for failure in &episode.failures {
            *group.modes.entry(failure.mode.clone()).or_default() += 1;
            let steps = failure.range.last.saturating_sub(failure.range.first).saturating_add(1);
            group.failing_steps = group.failing_steps.saturating_add(u64::try_from(steps).unwrap_or(0));
        }
    }
    tasks
}
