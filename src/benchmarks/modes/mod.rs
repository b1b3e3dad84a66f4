//! Rule-based failure modes of text games and of tool calls.

mod calls;
mod episode;
mod format;
mod milestones;
mod rooms;
mod unexplored;

pub use calls::{CallReport, CallRun, CheckedCall, ExpectedCall, check_calls};
pub use episode::{ModeEpisode, ModeMilestone, ModeStep};

pub use crate::detect::MalformedReason;

use serde::Serialize;
use serde_json::Value;

use super::Definition;
use crate::names::named;

named! {
    /// The rules for failures of text games.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum ModeRules: "rules" {
        /// The paper's taxonomy and annotation guide.
        #[default]
        Paper = "paper",
        /// The rules of the public code.
        Code = "code",
        /// The rule that produced the published labels of `system/format`, the only mode that it covers.
        Dataset = "dataset",
    }
}

/// The verdict of one rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ModeVerdict {
    /// The rule's inputs are missing.
    NotApplicable {
        /// The missing inputs.
        #[serde(rename = "not_applicable")]
        reason: &'static str,
    },
    /// The rule was applied.
    Judged {
        /// True if there are findings.
        detected: bool,
        /// The findings.
        findings: Vec<ModeFinding>,
    },
}

impl ModeVerdict {
    fn not_applicable(reason: &'static str) -> Self {
        Self::NotApplicable { reason }
    }

    fn of(findings: Vec<ModeFinding>) -> Self {
        Self::Judged { detected: !findings.is_empty(), findings }
    }

    /// Returns the findings; none if the rule is not applicable.
    #[must_use]
    pub fn findings(&self) -> &[ModeFinding] {
        match self {
            Self::NotApplicable { .. } => &[],
            Self::Judged { findings, .. } => findings,
        }
    }
}

/// A failure, with its steps and evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModeFinding {
    /// The failure mode, `class/name`.
    pub mode: &'static str,
    /// The first and the last step of the failure.
    #[serde(rename = "where")]
    pub range: [i64; 2],
    /// The facts that support the finding.
    pub evidence: Value,
}

/// The verdict of each rule on an episode of a text game; see [`detect_modes`].
///
/// With [`ModeRules::Dataset`], only `format` has a verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModeReport {
    /// Id of the episode.
    pub id: String,
    /// Malformed actions.
    #[serde(rename = "system/format")]
    pub format: ModeVerdict,
    /// Exits that were named but never tried.
    #[serde(rename = "strategy/unexplored_direction", skip_serializing_if = "Option::is_none")]
    pub unexplored_direction: Option<ModeVerdict>,
    /// Milestone actions that were not tried in their room.
    #[serde(rename = "operation/perception_error", skip_serializing_if = "Option::is_none")]
    pub perception_error: Option<ModeVerdict>,
    /// Milestone actions that were tried at the wrong time or on the wrong object.
    #[serde(rename = "operation/decision_error", skip_serializing_if = "Option::is_none")]
    pub decision_error: Option<ModeVerdict>,
}

/// Applies the rule-based failure modes to an episode of a text game.
///
/// `unexplored_direction`, `perception_error` and `decision_error` need observations with room headings. The
/// first also needs exits in the wording of text games; the other two need the milestones of a walkthrough.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{ModeEpisode, ModeRules, detect_modes};
///
/// let episode: ModeEpisode = serde_json::from_value(json!({"id": "e", "trajectory": [
///     {"step": 0, "obs": "Kitchen\nObvious exits: north, south.", "action": "s"},
///     {"step": 1, "obs": "Attic\nDust.", "action": ""},
///     {"step": 2, "obs": "Kitchen\nObvious exits: north, south.", "action": "look"},
/// ]}))?;
/// let report = detect_modes(&episode, ModeRules::Paper);
/// assert_eq!(report.format.findings()[0].evidence, json!({"reason": "empty"}));
/// let unexplored = report.unexplored_direction.unwrap();
/// assert_eq!(unexplored.findings()[0].evidence["directions"], json!(["north"]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn detect_modes(episode: &ModeEpisode, rules: ModeRules) -> ModeReport {
    let format = format::verdict(episode, rules);
    let definition = match rules {
        ModeRules::Paper => Definition::Paper,
        ModeRules::Code => Definition::Code,
        ModeRules::Dataset => {
            let (unexplored_direction, perception_error, decision_error) = (None, None, None);
            let id = episode.id.clone();
            return ModeReport { id, format, unexplored_direction, perception_error, decision_error };
        }
    };
    let (perception_error, decision_error) = milestones::verdicts(episode, definition);
    ModeReport {
        id: episode.id.clone(),
        format,
        unexplored_direction: Some(unexplored::verdict(episode, definition)),
        perception_error: Some(perception_error),
        decision_error: Some(decision_error),
    }
}
