//! How close a failure that an agent can learn from is to the failure under test.

use serde::{Deserialize, Serialize};

use super::super::Definition;
use super::super::read::{StepRange, ordered, record};
use crate::names::named;

/// Maximum distance between the first steps of two failures in one subtask for proximity 1, in the public code.
const NEAR: u64 = 15;
/// The same for tasks with few, long steps.
const NEAR_IN_LONG_STEPS: u64 = 2;

/// A failure, with the snapshot, task and steps in which it occurs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlacedFailure {
    /// Its snapshot.
    pub episode: String,
    /// The environment.
    pub task: String,
    /// The game or setting within it.
    pub subtask: Option<String>,
    /// The failure mode, `class/name`.
    #[serde(rename = "type")]
    pub mode: String,
    /// Its steps.
    #[serde(rename = "where", deserialize_with = "ordered")]
    pub range: StepRange,
}

/// The failure that an agent can learn from, and the failure under test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProximityPair {
    /// Id of the pair.
    pub id: String,
    /// The failure to learn from.
    pub signal: PlacedFailure,
    /// The failure under test.
    pub test: PlacedFailure,
}

record!(ProximityPair, "pair", id);

named! {
    /// The reason why two failures have no proximity.
    #[non_exhaustive]
    pub enum Unrelated: "reason" {
        /// Their modes differ.
        DifferentMode = "different_mode",
        /// Their tasks differ.
        DifferentTask = "different_task",
        /// They are in the same snapshot; the public code excludes such pairs.
        SameEpisode = "same_episode",
    }
}

/// The proximity of a signal's failure to the one under test; see [`proximity()`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Proximity {
    /// Id of the pair.
    pub id: String,
    /// 1 (closest), 2 or 3; `None` if the failures are unrelated.
    pub proximity: Option<u8>,
    /// The reason why the proximity is undefined.
    pub why: Option<Unrelated>,
}

/// Returns the proximity of a signal's failure to the one under test.
///
/// It is defined only if both failures have the same mode and task. In the paper, it is 1 in the same snapshot,
/// 2 in another snapshot of the same subtask, and 3 in another subtask. In the public code, it is 1 in the same
/// subtask if the first steps are at most 15 steps apart (at most 2 in web shopping and travel planning), 2 in
/// the same subtask otherwise, and 3 in another subtask. The code excludes pairs in the same snapshot.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{Definition, ProximityPair, proximity};
///
/// let pair: ProximityPair = serde_json::from_value(json!({"id": "p",
///     "signal": {"episode": "a", "task": "jericho", "subtask": "zork1",
///         "type": "strategy/loop", "where": [3, 9]},
///     "test": {"episode": "b", "task": "jericho", "subtask": "zork1",
///         "type": "strategy/loop", "where": [40, 44]},
/// }))?;
/// assert_eq!(proximity(&pair, Definition::Paper).proximity, Some(2));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn proximity(pair: &ProximityPair, definition: Definition) -> Proximity {
    let kind = kind(&pair.signal, &pair.test, definition);
    Proximity { id: pair.id.clone(), proximity: kind.ok(), why: kind.err() }
}

fn kind(signal: &PlacedFailure, test: &PlacedFailure, definition: Definition) -> Result<u8, Unrelated> {
    if signal.mode != test.mode {
        return Err(Unrelated::DifferentMode);
    }
    if signal.task != test.task {
        return Err(Unrelated::DifferentTask);
    }
    let same_episode = signal.episode == test.episode;
    let same_subtask = signal.subtask == test.subtask;
    Ok(match definition {
        Definition::Paper if same_episode => 1,
        Definition::Paper if same_subtask => 2,
        Definition::Code if same_episode => return Err(Unrelated::SameEpisode),
        Definition::Code if same_subtask => {
            let long_steps = ["bundled_web_shopping", "group_travel_planning"].contains(&test.task.as_str());
            let near = if long_steps { NEAR_IN_LONG_STEPS } else { NEAR };
            if signal.range.first.abs_diff(test.range.first) <= near { 1 } else { 2 }
        }
        Definition::Paper | Definition::Code => 3,
    })
}
