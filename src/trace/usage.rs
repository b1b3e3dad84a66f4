//! The cost of a step, if recorded.

use serde::{Deserialize, Serialize};

/// The time and tokens of a step. Verdicts do not depend on them. The cost of a finding is the time, input
/// tokens and output tokens of the steps in its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Duration in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Input tokens of the model response that produced the step's turn. Every action of the turn has the
    /// same number, as has every message of the agent in a turn without actions; sums count it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens of that response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input tokens of that response that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
}

impl Usage {
    /// Returns true if nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
