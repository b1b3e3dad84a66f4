//! What a step took, where the source says.

use serde::{Deserialize, Serialize};

/// Time and tokens. No detector decides by them; findings carry their sums as their cost.
///
/// ```
/// use wrongturn::{Action, trace::{Actor, StepInput, Usage}};
///
/// let usage = Usage { input_tokens: Some(900), output_tokens: Some(40), ..Usage::default() };
/// let step = StepInput::action(Actor::Agent, Action::new("look")).usage(usage);
/// # let _ = step;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// How long the step took, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Tokens that the model read for the response that issued the step's turn. Every action of one turn carries
    /// them, or, of a turn without actions, every message of the agent; sums count them once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote in that response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Those of the tokens read that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
}

impl Usage {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
