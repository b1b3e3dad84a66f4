//! The detectors: one file a rule, on the layer in `shared/`. CONTRIBUTING.md says how to add one; tests name what is
//! missing. A detector that is of no use on most runs is opt-in ([`Rule::OPT_IN`]).

mod confident;
mod cost;
mod detector;
mod expected_action;
mod expected_calls;
mod explain;
mod explanation;
mod feedback_blindness;
mod finding;
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

pub use confident::at_least;
pub use cost::Cost;
pub(crate) use cost::Meter;
pub use detector::{Detector, Fold};
#[cfg(feature = "statistics")]
pub(crate) use expected_calls::{Expectation, ExpectedCalls, Missed};
pub use explanation::{Comparator, Condition, Counterfactual, Explanation, NearMiss};
pub use finding::{Confidence, FailureClass, FailureMode, Finding, Judgement, Verdict};
pub use measures::{Measure, Measures};
pub use registry::Registry;
pub(crate) use registry::check_ids;
pub use rule::{DetectorInfo, Grid, Preset, Rule};
#[cfg(feature = "statistics")]
pub(crate) use shared::is_known_tool;
#[cfg(feature = "statistics")]
pub(crate) use shared::{CallRules, Written};
pub use shared::{PollingCall, TransientRules};
#[cfg(feature = "statistics")]
pub(crate) use tool_error_recovery::recovery_rate;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// Exports what the modules of the rules offer, and makes of them the registry and the kinds of evidence.
macro_rules! detectors {
    ($($module:ident: $rule:ident, $evidence:ident { $($export:ident),* $(,)? })+) => {
        $(
            pub use $module::{$rule, $evidence, $($export),*};
        )+

        /// Every detector of this crate, the opt-in ones included, sorted by name.
        pub const ALL: &[DetectorInfo] = &[$(DetectorInfo::of::<$rule>()),+];

        /// The facts behind a finding. In JSON the facts stand alone, without a tag.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        #[non_exhaustive]
        pub enum Evidence {
            $(
                #[doc = concat!("Of [`", stringify!($rule), "`].")]
                $rule($evidence),
            )+
            /// Of a detector from outside this crate.
            Other(Value),
        }

        impl Evidence {
            /// Reads the evidence of a detector; what is not known, or of another shape, is kept as it is.
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
        MilestoneEvidence, PairEvidence, RouteInefficiencyConfig, Routes, RunEvidence,
    }
    tool_error_recovery: ToolErrorRecovery, ToolErrorRecoveryEvidence {
        OpenReason, RecoveryDefinition, ToolError, ToolErrorRecoveryConfig,
    }
    wasted_actions: WastedActions, WastedActionsEvidence { WasteReason, WastedActionsConfig, WastedTool }
}

/// The registry's entry of a detector of this crate.
#[must_use]
pub fn detector_info(id: &str) -> Option<&'static DetectorInfo> {
    ALL.iter().find(|info| info.id == id)
}

/// The detectors of this crate with their default configurations for tool traces; those that are opt-in
/// ([`DetectorInfo::opt_in`]) are left out.
#[must_use]
pub fn default_detectors() -> Vec<Arc<dyn Detector>> {
    ALL.iter().filter(|info| !info.opt_in).map(DetectorInfo::default_detector).collect()
}

/// The verdict of a detector that compares actions, on a trace of actions that cannot be compared.
fn incomparable() -> Verdict {
    Verdict::NotApplicable { reason: Cow::Borrowed("no action has its arguments recorded") }
}

#[cfg(test)]
mod tests {
    use super::shared::excerpt;
    use super::*;
    use crate::trace::{Actor, Actors, Milestone, ReferenceAction, ReferenceRoute, Status, Trace};

    #[test]
    fn the_registry_is_sorted_documented_and_consistent() {
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id), "the list is not sorted by name");
        let by_default: Vec<&str> = default_detectors().iter().map(|detector| detector.id()).collect();
        assert_eq!(
            by_default,
            ["feedback_blindness", "loop", "route_inefficiency", "tool_error_recovery", "wasted_actions"]
        );
        for info in ALL {
            let (id, default) = (info.id, info.default_detector());
            assert_eq!((id, &info.mode), (default.id(), &default.mode()), "{id}: id or mode differ");
            assert_eq!(info.opt_in, !by_default.contains(&id), "{id}: is it opt-in?");
            // What a benchmark's taxonomy knows by another name keeps that name; the defaults go by their own.
            assert!(info.opt_in || info.mode.name == id, "{id}: the failure mode is named differently");
            let snake = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            assert!(id.bytes().all(snake), "{id}: the id is not in snake_case");
            assert!(!info.summary.is_empty() && !info.summary.ends_with('.'), "{id}: the summary");
            for section in ["## Example", "## Limits", "## Source", "// Passes", "// Fails", "Measures:"] {
                assert!(info.docs.contains(section), "{id}: its page lacks {section}");
            }
            let grid = info.grid().unwrap_or_else(|| panic!("{id}: no values to sweep over"));
            for value in grid.values {
                let fields = Value::Object([(grid.parameter.to_owned(), value)].into_iter().collect());
                info.build(Preset::Default, Actors::Agent, &fields).unwrap();
            }
            for preset in Preset::VARIANTS {
                let built = info.build(*preset, Actors::All, &Value::Null).unwrap();
                assert_eq!(built.id(), id);
                assert_eq!(info.config(*preset, Actors::All)["actors"], "all", "{id}: actors are not set");
                // Every field is written and read back.
                info.build(*preset, Actors::Agent, &info.config(*preset, Actors::All)).unwrap();
            }
        }
    }

    #[test]
    fn a_configuration_error_names_the_field() {
        let cases = [
            ("loop", r#"{"min_repeat": 3}"#, "min_repeat"),
            ("loop", r#"{"min_repeats": 1}"#, "min_repeats"),
            ("loop", r#"{"min_failures": "three"}"#, "min_failures"),
            ("loop", r#"{"definition": "spiral"}"#, "definition"),
            ("loop", r#"{"max_polls": 1}"#, "max_polls"),
            ("loop", r#"{"exempt": [{"argument": "x"}]}"#, "exempt"),
            ("loop", "[]", "must be a JSON object"),
            ("expected_action", r#"{"min_missed": 0}"#, "min_missed"),
            ("feedback_blindness", r#"{"window": 0}"#, "window"),
            ("feedback_blindness", r#"{"patterns": [""]}"#, "patterns"),
            ("feedback_blindness", r#"{"max_gap": -1}"#, "max_gap"),
            ("feedback_blindness", r#"{"transient": {"code": []}}"#, "transient"),
            ("malformed_call", r#"{"min_calls": 0}"#, "min_calls"),
            ("malformed_call", r#"{"rejections": [" "]}"#, "rejections"),
            ("route_inefficiency", r#"{"ratio": 0}"#, "ratio"),
            ("route_inefficiency", r#"{"min_extra": -1}"#, "min_extra"),
            ("route_inefficiency", r#"{"routes": "none"}"#, "routes"),
            ("tool_error_recovery", r#"{"threshold": 0.0}"#, "threshold"),
            ("tool_error_recovery", r#"{"threshold": 1.01}"#, "threshold"),
            ("tool_error_recovery", r#"{"actors": "everyone"}"#, "actors"),
            ("tool_error_recovery", r#"{"subtools": ["bash"]}"#, "subtools"),
            ("wasted_actions", r#"{"min_wasted": 0}"#, "min_wasted"),
            ("wasted_actions", r#"{"min_impact": -1}"#, "min_impact"),
        ];
        for (id, overrides, named) in cases {
            let overrides = serde_json::from_str(overrides).unwrap();
            let error =
                detector_info(id).unwrap().build(Preset::Default, Actors::Agent, &overrides).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Config);
            assert!(error.to_string().starts_with(id) && error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn quoted_texts_are_short() {
        assert_eq!(excerpt(" a\n  b ", 4), "a b");
        assert_eq!(excerpt("a b c d", 4), "a b…");
        assert_eq!(excerpt("a        \n        b", 4), "a…", "no more is read than needed");
        let long = serde_json::json!({"text": "long ".repeat(99)});
        let name = "name".repeat(40);
        let mut run = Trace::builder();
        let (ok, failed) = (Status::Ok, Status::Error);
        run.call(&name, &long["text"], ok, "").unwrap();
        run.call(&name, &long, failed, &format!("unknown tool {name} {name}")).unwrap();
        let action = |name: &str| ReferenceAction::new(Actor::Agent, name, &long, None);
        let other = format!("{name}x");
        let milestones = [(0, &name), (1, &other)];
        let milestones = milestones.map(|(step, name)| Milestone::action(step, action(name)));
        let route = ReferenceRoute::new(milestones.to_vec()).unwrap();
        let trace = run.route(route).build().unwrap();
        for detector in [&MalformedCall::default() as &dyn Detector, &ExpectedAction::default()] {
            let verdict = detector.detect(&trace);
            assert_eq!(verdict.findings().len(), 2, "{verdict:?}");
            for finding in verdict.findings() {
                assert!(finding.message.chars().count() < 200, "{}", finding.message);
            }
        }
    }

    #[test]
    fn a_registry_takes_no_id_twice_and_knows_its_names() {
        let mut registry = Registry::default();
        let error = registry.add(DetectorInfo::of::<Loop>()).unwrap_err();
        assert!(error.to_string().contains("`loop` already"), "{error}");
        let error = registry.build(&["spiral"], Preset::Default, Actors::Agent, &Value::Null).unwrap_err();
        assert!(
            error.to_string().starts_with("unknown detector `spiral`; there are expected_action, "),
            "{error}"
        );
        let mut registry = Registry::empty();
        registry.add(DetectorInfo::of::<Loop>()).unwrap();
        assert_eq!(registry.iter().map(|info| info.id).collect::<Vec<_>>(), ["loop"]);
    }

    #[test]
    fn evidence_is_read_as_what_its_detector_says() {
        let facts =
            serde_json::json!({"wasted": 7.5, "actions": 9, "reasons": {"failed_again": 7}, "by_tool": []});
        assert!(matches!(Evidence::read("wasted_actions", facts.clone()), Evidence::WastedActions(_)));
        assert_eq!(Evidence::read("loop", facts.clone()), Evidence::Other(facts.clone()));
        assert_eq!(Evidence::read("somebody_elses", facts.clone()), Evidence::Other(facts));
    }
}
