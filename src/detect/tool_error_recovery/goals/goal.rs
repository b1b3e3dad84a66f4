//! One goal, and the end of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::detect::shared::{Does, Lines};
use crate::trace::{Digest, DigestSet};

/// The failed attempts at one purpose: by the same tool or program, at the same target.
#[derive(Debug, Default)]
pub(super) struct Goal {
    pub(super) does: Does,
    pub(super) is_shell: bool,
    pub(super) program: Arc<str>,
    pub(super) place: (u64, u64),
    pub(super) failures: u64,
    pub(super) turns: Vec<u64>,
    pub(super) targets: BTreeSet<String>,
    /// How often each call failed.
    pub(super) calls: Vec<(Option<Digest>, u64)>,
    pub(super) lines: Lines,
    /// The file of the latest call.
    pub(super) file: Option<String>,
    /// The lines that the latest call was to write.
    pub(super) content: DigestSet,
    /// The arguments of the latest call, if its tool does not exist.
    pub(super) arguments: Option<Digest>,
    /// The longest text among the arguments of each call, such as a query.
    pub(super) subjects: DigestSet,
    /// Whether every failure was transient, such as a time-out.
    pub(super) is_transient: bool,
    /// Whether one of its calls succeeded before it failed.
    pub(super) went_before: bool,
    /// The programs and modules that its calls did not find, if that is all that failed.
    pub(super) missing: Option<BTreeSet<String>>,
    pub(super) state: GoalState,
}

/// How a run ends, or would end at the current step.
#[derive(Debug, Clone, Copy)]
pub(in crate::detect::tool_error_recovery) struct End {
    /// The step of the user's latest request.
    pub(in crate::detect::tool_error_recovery) asked: u64,
    pub(in crate::detect::tool_error_recovery) is_stopped: bool,
    /// Whether the agent ends by saying that it could not do something.
    pub(in crate::detect::tool_error_recovery) is_confessed: bool,
}

/// The state of a goal.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) enum GoalState {
    Waiting,
    Reached,
    /// The look-up found something else instead.
    #[default]
    Replaced,
}

impl Goal {
    /// Returns how often its most repeated call failed.
    pub(super) fn most_repeated(&self) -> u64 {
        self.calls.iter().map(|(_, count)| *count).max().unwrap_or(0)
    }

    /// Returns true if its calls share nothing but the tool or program: no call, id or file, nor the failure.
    pub(super) fn is_varied(&self) -> bool {
        self.most_repeated() < 2 && self.targets.is_empty() && self.lines.iter().all(|said| said.times < 2)
    }

    /// Returns in how many turns it failed.
    pub(super) fn turns(&self) -> u64 {
        self.turns.len() as u64
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.state == GoalState::Waiting
    }
}
