//! Detectors, and the traits for detectors of your own.
//!
//! [`default_detectors`] returns the detectors that run by default, and [`Detector::detect`] returns a [`Verdict`] with
//! its [`Finding`]s. [`Registry`] builds detectors from JSON, and [`ALL`] lists those of this crate. Each rule is one
//! module on top of `shared/`. CONTRIBUTING.md explains how to add a rule.

mod confidence_filter;
mod detector;
mod expected_action;
mod expected_calls;
mod explain;
mod explanation;
mod feedback_blindness;
mod finding;
mod finding_cost;
mod loops;
mod malformed_call;
mod measures;
mod published;
mod registry;
mod route_inefficiency;
mod route_pairs;
mod route_progress;
mod rule;
mod shared;
mod tool_error_recovery;
mod wasted_actions;

pub use confidence_filter::with_min_confidence;
pub use detector::{Detector, Fold};
#[cfg(feature = "benchmarks")]
pub(crate) use expected_calls::{Expectation, ExpectedCalls, Missed};
pub use explanation::{Comparator, Condition, Counterfactual, Explanation, NearMiss};
pub(crate) use finding::FINDING_BYTES;
pub use finding::{Confidence, FailureClass, FailureMode, Finding, Judgement, Verdict};
pub use finding_cost::Cost;
pub(crate) use finding_cost::Meter;
pub use measures::{Measure, Measures};
pub use registry::Registry;
pub(crate) use registry::check_ids;
pub use rule::{Configured, DetectorInfo, Grid, Preset, Rule};
#[cfg(feature = "benchmarks")]
pub(crate) use shared::{CallRules, Written};
pub use shared::{PollingCall, TransientRules};
#[cfg(feature = "statistics")]
pub(crate) use shared::{command_line, is_known_tool, listed_arguments, without_colours};
#[cfg(feature = "statistics")]
pub(crate) use tool_error_recovery::recovery_rate;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};

/// Exports the public items of the rules, and generates `ALL` and `Evidence` from them.
macro_rules! detectors {
    ($($module:ident: $rule:ident, $evidence:ident { $($export:ident),* $(,)? })+) => {
        $(
            pub use $module::{$rule, $evidence, $($export),*};
        )+

        $(
            impl $rule {
                fn finding(place: (u64, u64), message: impl Into<String>, evidence: $evidence) -> Finding {
                    let (id, mode) = (<$rule as Rule>::ID, <$rule as Rule>::MODE);
                    Finding::new(id, mode, place, message, Evidence::$rule(evidence))
                }
            }
        )+

        /// Every detector of this crate, including opt-in ones, sorted by name.
        pub const ALL: &[DetectorInfo] = &[$(DetectorInfo::of::<$rule>()),+];

        /// The facts that support a finding. In JSON they have no tag: the detector in the finding's id determines
        /// their form.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum Evidence {
            $(
                #[doc = concat!("Of [`", stringify!($rule), "`].")]
                $rule($evidence),
            )+
            /// Evidence of a detector from another crate, or of an unexpected form.
            Other(Value),
        }

        impl Evidence {
            /// Parses the evidence of a detector. Keeps it as JSON if the detector is unknown or the form is
            /// unexpected.
            fn read(detector: &str, facts: Value) -> Self {
                $(
                    if detector == <$rule as Rule>::ID && let Ok(known) = serde_json::from_value(facts.clone()) {
                        return Self::$rule(known);
                    }
                )+
                Self::Other(facts)
            }
        }
    };
}

detectors! {
    expected_action: ExpectedAction, ExpectedActionEvidence { Miss, ExpectedActionConfig }
    feedback_blindness: FeedbackBlindness, FeedbackBlindnessEvidence { BlindnessDefinition, FeedbackBlindnessConfig }
    loops: Loop, LoopEvidence { LoopConfig, LoopDefinition, LoopKind }
    malformed_call: MalformedCall, MalformedCallEvidence { MalformedCallConfig, MalformedReason }
    route_inefficiency: RouteInefficiency, RouteInefficiencyEvidence {
        MilestoneEvidence, PairEvidence, RouteInefficiencyConfig, RouteScope, RunEvidence,
    }
    tool_error_recovery: ToolErrorRecovery, ToolErrorRecoveryEvidence {
        OpenReason, RecoveryDefinition, ToolError, ToolErrorRecoveryConfig,
    }
    wasted_actions: WastedActions, WastedActionsEvidence { WasteReason, WastedActionsConfig, WastedTool }
}

/// Returns the entry of a detector of this crate.
///
/// # Errors
/// [`ErrorKind::Config`](crate::ErrorKind::Config) for an unknown detector; the message lists the known ones.
pub fn detector_info(id: &str) -> Result<&'static DetectorInfo> {
    ALL.iter().find(|info| info.id == id).ok_or_else(|| unknown_detector(id, ALL.iter().map(|info| info.id)))
}

pub(crate) fn unknown_detector<'k>(id: &str, known: impl IntoIterator<Item = &'k str>) -> Error {
    crate::names::unknown("detector", shared::quoted(id), &known.into_iter().collect::<Vec<_>>())
}

/// Returns the detectors of this crate, except opt-in ones ([`DetectorInfo::opt_in`]), with their default
/// configurations for tool traces.
#[must_use]
pub fn default_detectors() -> Vec<Arc<dyn Detector>> {
    ALL.iter().filter(|info| !info.opt_in).map(DetectorInfo::default_detector).collect()
}

/// Returns the verdict of detectors that compare actions, for a trace in which no action has its arguments recorded.
fn incomparable() -> Verdict {
    Verdict::NotApplicable { reason: Cow::Borrowed("no action has its arguments recorded") }
}

#[cfg(test)]
mod tests {
    use super::shared::excerpt;

    #[test]
    fn quoted_texts_are_short() {
        assert_eq!(excerpt(" a\n  b ", 4), "a b");
        assert_eq!(excerpt("a b c d", 4), "a b…");
        assert_eq!(excerpt("a        \n        b", 4), "a…", "no more is read than needed");
    }
}
