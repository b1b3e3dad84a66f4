//! `wasted_actions`: the run took clearly more actions than it needed.

mod waste;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) use self::waste::Waste;
use super::rule::{positive, rule};
use super::shared::{PollingCall, SkipRules, TransientRules};
use super::{FailureClass, Fold, Grid, Rule};
use crate::error::{Error, Result};
use crate::names::named;
use crate::trace::{Actors, RouteStatus};

/// Configuration of [`WastedActions`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WastedActionsConfig {
    /// Whose actions count.
    pub actors: Actors,
    /// Minimum total weight of wasted actions ([`WasteReason`]) that counts as the failure; above 0.
    pub min_wasted: f64,
    /// Minimum share of this weight in all actions, unless a stretch of the run reaches `min_stretch`; from 0 to 1.
    pub min_share: f64,
    /// Minimum weight in some 20 consecutive actions, unless the whole run reaches `min_share`; at least 0. It suffices
    /// only if the weight in the whole run is at least a tenth of all actions.
    pub min_stretch: f64,
    /// Calls that are meant to be made again and again.
    pub exempt: Vec<PollingCall>,
    /// Failures that are not counted; `null` for none.
    pub transient: Option<TransientRules>,
}

impl Default for WastedActionsConfig {
    fn default() -> Self {
        Self {
            actors: Actors::Agent,
            min_wasted: 3.0,
            min_share: 0.33,
            min_stretch: 4.0,
            exempt: PollingCall::known(),
            transient: Some(TransientRules::default()),
        }
    }
}

impl WastedActionsConfig {
    pub(super) fn check(&self) -> Result<()> {
        positive("min_wasted", self.min_wasted)?;
        if !(0.0..=1.0).contains(&self.min_share) {
            let message = format!("expected a number from 0 to 1, got {}", self.min_share);
            return Err(Error::config("min_share", message));
        }
        if !(self.min_stretch >= 0.0 && self.min_stretch.is_finite()) {
            let message = format!("expected a number of at least 0, got {}", self.min_stretch);
            return Err(Error::config("min_stretch", message));
        }
        SkipRules::check(&self.exempt, self.transient.as_ref())
    }
}

rule! {
    #[doc = include_str!("../docs/wasted_actions.md")]
    WastedActions(WastedActionsConfig),
    ready: SkipRules = |config| SkipRules::new(&config.exempt, config.transient.as_ref())
}

impl Rule for WastedActions {
    const ID: &'static str = "wasted_actions";
    const CLASS: FailureClass = FailureClass::Strategy;
    const SUMMARY: &'static str = "clearly more actions than the run needed";
    const DOCS: &'static str = include_str!("../docs/wasted_actions.md");

    fn fold(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(Waste::new(self))
    }

    fn grid() -> Option<Grid> {
        let values = (2..=14).map(|halves| (f64::from(halves) / 2.0).into());
        Some(Grid { parameter: "min_wasted", values: values.collect() })
    }
}

named! {
    /// Why an action was wasted. `FailedAgain` and `KnownAgain` weigh 1, the others 1/2.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum WasteReason: "reason of waste" {
        /// Its program failed in a new way, or is a test runner and ran no tests.
        Failed = "failed",
        /// Its program failed as it had in an earlier turn.
        FailedAgain = "failed_again",
        /// Its answer was known.
        KnownAnswer = "known_answer",
        /// Its answer was known, and the user asked for nothing in between. In addition, the call is
        /// structured, was repeated before, or directly follows the earlier one.
        KnownAgain = "known_again",
        /// It showed only lines of a file that had been shown.
        NothingNew = "nothing_new",
        /// It searched and found nothing.
        NothingFound = "nothing_found",
        /// It had the same result as an earlier run, despite a change in between.
        SameResult = "same_result",
        /// A turn without a call, which the harness refused.
        NoCall = "no_call",
    }
}

impl WasteReason {
    fn describe(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::FailedAgain => "failed as before",
            Self::KnownAnswer => "got a known answer",
            Self::KnownAgain => "repeated a call with the same answer",
            Self::NothingNew => "showed lines seen before",
            Self::NothingFound => "searched and found nothing",
            Self::SameResult => "gave the same result as before",
            Self::NoCall => "sent back by the harness",
        }
    }

    /// Returns its weight in half actions.
    fn halves(self) -> u64 {
        match self {
            Self::FailedAgain | Self::KnownAgain => 2,
            _ => 1,
        }
    }
}

/// Evidence of `wasted_actions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WastedActionsEvidence {
    /// The weight of all wasted actions.
    pub wasted: f64,
    /// Number of actions that do not poll, wait or take notes, and of turns without a call that the harness refused.
    pub actions: u64,
    /// Number of wasted actions by reason.
    pub reasons: BTreeMap<WasteReason, u64>,
    /// The steps of the first wasted actions by reason, at most 20 each.
    #[serde(default)]
    pub steps: BTreeMap<WasteReason, Vec<u64>>,
    /// The tools with the most wasted actions, at most ten.
    pub by_tool: Vec<WastedTool>,
}

/// The wasted actions of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WastedTool {
    /// The tool, or the program of a command line.
    pub tool: String,
    /// The number of its wasted actions.
    pub wasted: u64,
}
