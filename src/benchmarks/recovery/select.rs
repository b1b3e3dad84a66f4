//! Selects failed trials for recovery.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::read::record;
use super::results::Trial;
use crate::names::named;

/// The minimum number of interactions of a trial; the paper requires one more.
const INTERACTIONS: u64 = 10;
/// The maximum size of a recovery prompt, in UTF-8 bytes.
const CONTEXT_BYTES: u64 = 64_000;

/// A trial to select from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Candidate {
    /// Name of the trial.
    pub trial: String,
    /// The task.
    pub task: String,
    /// Whether the task was solved.
    pub resolved: bool,
    /// Number of replies of the model, if known.
    pub interactions: Option<u64>,
    /// Size of the recovery prompt, including the whole transcript, in UTF-8 bytes, if known.
    pub context_bytes: Option<u64>,
}

impl Candidate {
    /// Makes a candidate from a trial's result. A trial without a name is named after its task.
    #[must_use]
    pub fn of(trial: &Trial, interactions: Option<u64>, context_bytes: Option<u64>) -> Self {
        Self {
            trial: trial.trial.clone().unwrap_or_else(|| trial.task.clone()),
            task: trial.task.clone(),
            resolved: trial.resolved,
            interactions,
            context_bytes,
        }
    }
}

record!(Candidate, "trial", trial);

named! {
    /// The rule by which trials are selected.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum SelectionRule: "rule" {
        /// The paper: more than ten interactions.
        #[default]
        Paper = "paper",
        /// The code of 2025: at least ten interactions, and only the longest failed trial of each task.
        CodeV1 = "code_v1",
        /// The code of 2026: a recovery prompt of at most 64,000 bytes, or of unknown size.
        CodeV2 = "code_v2",
    }
}

named! {
    /// The reason why a trial was not selected.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum LeftOut: "reason" {
        /// Its recovery prompt is too large.
        ContextTooLarge = "context_too_large",
        /// Its number of interactions is unknown.
        InteractionsUnknown = "interactions_unknown",
        /// It did not fail.
        Resolved = "resolved",
        /// Another failed trial of the task was longer, or was equally long and came first.
        ShorterDuplicate = "shorter_duplicate",
        /// It had too few interactions.
        TooShort = "too_short",
    }
}

/// The selected trials, and why the others were not; see [`select`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Selection {
    /// The rule.
    #[serde(rename = "mode")]
    pub rule: SelectionRule,
    /// Names of the selected trials, in the order of the input.
    pub kept: Vec<String>,
    /// Number of trials not selected, by reason.
    pub left_out: BTreeMap<LeftOut, u64>,
}

/// Selects failed trials for recovery.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{Candidate, LeftOut, SelectionRule, select};
///
/// let candidates: Vec<Candidate> = serde_json::from_value(json!([
///     {"trial": "a", "task": "t", "resolved": false, "interactions": 12},
///     {"trial": "b", "task": "t", "resolved": false, "interactions": 3},
/// ]))?;
/// let selection = select(&candidates, SelectionRule::Paper);
/// assert_eq!(selection.kept, ["a"]);
/// assert_eq!(selection.left_out[&LeftOut::TooShort], 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn select(candidates: &[Candidate], rule: SelectionRule) -> Selection {
    // Per task, the position and length of the longest trial that is long enough; only `CodeV1` uses it.
    let mut longest: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for (place, candidate) in candidates.iter().enumerate() {
        if let Ok(Some(length)) = long_enough(candidate, SelectionRule::CodeV1) {
            let best = longest.entry(&candidate.task).or_insert((place, length));
            if length > best.1 {
                *best = (place, length);
            }
        }
    }
    let verdict = |place: usize, candidate: &Candidate| {
        long_enough(candidate, rule)?;
        let beaten = longest.get(candidate.task.as_str()).is_some_and(|(best, _)| *best != place);
        if rule == SelectionRule::CodeV1 && beaten { Err(LeftOut::ShorterDuplicate) } else { Ok(()) }
    };
    let mut selection = Selection { rule, kept: Vec::new(), left_out: BTreeMap::new() };
    for (place, candidate) in candidates.iter().enumerate() {
        match verdict(place, candidate) {
            Ok(()) => selection.kept.push(candidate.trial.clone()),
            Err(why) => *selection.left_out.entry(why).or_default() += 1,
        }
    }
    selection
}

/// Returns the number of interactions, if known, of a failed trial whose size suits the rule, or the reason why the
/// trial is not selected.
fn long_enough(candidate: &Candidate, rule: SelectionRule) -> Result<Option<u64>, LeftOut> {
    if candidate.resolved {
        return Err(LeftOut::Resolved);
    }
    if rule == SelectionRule::CodeV2 {
        let too_large = candidate.context_bytes.is_some_and(|bytes| bytes > CONTEXT_BYTES);
        return if too_large { Err(LeftOut::ContextTooLarge) } else { Ok(candidate.interactions) };
    }
    let length = candidate.interactions.ok_or(LeftOut::InteractionsUnknown)?;
    let least = if rule == SelectionRule::Paper { INTERACTIONS + 1 } else { INTERACTIONS };
    if length < least { Err(LeftOut::TooShort) } else { Ok(Some(length)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_own_threshold() {
        let trial = |trial: &str, task: &str, interactions, context_bytes| Candidate {
            trial: trial.to_owned(),
            task: task.to_owned(),
            resolved: trial == "won",
            interactions,
            context_bytes,
        };
        let trials = [
            trial("won", "t", Some(99), None),
            trial("a", "t", Some(10), Some(64_000)),
            trial("b", "t", Some(12), Some(64_001)),
            trial("c", "t", Some(12), None),
            trial("d", "u", None, None),
            trial("e", "u", Some(9), Some(1)),
        ];
        for (rule, kept, left_out) in [
            (SelectionRule::Paper, vec!["b", "c"], vec![(LeftOut::TooShort, 2)]),
            (SelectionRule::CodeV1, vec!["b"], vec![(LeftOut::ShorterDuplicate, 2), (LeftOut::TooShort, 1)]),
            (SelectionRule::CodeV2, vec!["a", "c", "d", "e"], vec![(LeftOut::ContextTooLarge, 1)]),
        ] {
            let found = select(&trials, rule);
            assert_eq!(found.kept, kept, "{rule:?}");
            let mut expected: BTreeMap<LeftOut, u64> = left_out.into_iter().collect();
            expected.insert(LeftOut::Resolved, 1);
            if rule != SelectionRule::CodeV2 {
                expected.insert(LeftOut::InteractionsUnknown, 1);
            }
            assert_eq!(found.left_out, expected, "{rule:?}");
        }
    }
}
