//! The detectors. To add one: write a file beside the others (docs, config, evidence, detector, fold), write
//! its page in `docs/`, and add one line to [`ALL`].

mod config;
mod detector;
mod feedback_blindness;
mod finding;
mod loop_;
mod loop_segment;
mod route_inefficiency;
mod route_progress;
mod tool_error_recovery;
mod transient;

pub use config::Preset;
pub use detector::{Detector, Fold, Monitor};
pub use feedback_blindness::{
    FeedbackBlindness, FeedbackBlindnessConfig, FeedbackBlindnessEvidence, FeedbackKey, Report,
};
pub use finding::{Evidence, FailureClass, FailureMode, Finding, Judgement, Measure, Verdict};
pub use loop_::{Loop, LoopConfig, LoopDefinition, LoopEvidence, LoopKind};
pub use route_inefficiency::{
    MilestoneEvidence, RouteInefficiency, RouteInefficiencyConfig, RouteInefficiencyEvidence,
};
pub use tool_error_recovery::{
    ToolError, ToolErrorRecovery, ToolErrorRecoveryConfig, ToolErrorRecoveryEvidence,
};
pub use transient::TransientRules;

use config::Configured;
use serde_json::Value;

use crate::error::Result;
use crate::trace::{Actors, first_chars};

/// An entry of the registry: what is known of a detector before it is made.
#[derive(Debug, Clone, Copy)]
pub struct DetectorInfo {
    /// The detector's name.
    pub id: &'static str,
    /// The failure mode of its findings.
    pub mode: FailureMode,
    /// One line of documentation.
    pub summary: &'static str,
    /// The whole documentation, in Markdown.
    pub docs: &'static str,
    preset: fn(Preset, Actors) -> Value,
    build: fn(Preset, Actors, &Value) -> Result<std::sync::Arc<dyn Detector>>,
}

impl DetectorInfo {
    const fn of<D: Configured>() -> Self {
        Self {
            id: D::ID,
            mode: D::MODE,
            summary: D::SUMMARY,
            docs: D::DOCS,
            preset: config::preset_value::<D>,
            build: config::build_boxed::<D>,
        }
    }

    /// The configuration of a preset, as JSON.
    #[must_use]
    pub fn config(&self, preset: Preset, actors: Actors) -> Value {
        (self.preset)(preset, actors)
    }

    /// The detector of a preset, with the fields of a JSON object put over it (null: none).
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), naming the field, where one is unknown or out of range.
    pub fn build(
        &self,
        preset: Preset,
        actors: Actors,
        overrides: &Value,
    ) -> Result<std::sync::Arc<dyn Detector>> {
        (self.build)(preset, actors, overrides)
    }
}

/// Every detector of this crate, sorted by name.
pub const ALL: &[DetectorInfo] = &[
    DetectorInfo::of::<FeedbackBlindness>(),
    DetectorInfo::of::<Loop>(),
    DetectorInfo::of::<RouteInefficiency>(),
    DetectorInfo::of::<ToolErrorRecovery>(),
];

/// The registry's entry of a detector.
#[must_use]
pub fn detector_info(id: &str) -> Option<&'static DetectorInfo> {
    ALL.iter().find(|info| info.id == id)
}

/// Every detector with its default configuration for tool traces.
#[must_use]
pub fn default_detectors() -> Vec<std::sync::Arc<dyn Detector>> {
    vec![
        std::sync::Arc::new(FeedbackBlindness::default()),
        std::sync::Arc::new(Loop::default()),
        std::sync::Arc::new(RouteInefficiency::default()),
        std::sync::Arc::new(ToolErrorRecovery::default()),
    ]
}

/// As much of a name as a message quotes.
fn quoted(name: &str) -> &str {
    first_chars(name.trim(), 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sorted_documented_and_consistent() {
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
        for (info, default) in ALL.iter().zip(default_detectors()) {
            assert_eq!((info.id, info.mode), (default.id(), default.mode()));
            assert_eq!(info.mode.name, info.id);
            assert!(info.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", info.id);
            assert!(!info.summary.is_empty() && !info.summary.ends_with('.'));
            for section in ["## Limits", "## Source", "```"] {
                assert!(info.docs.contains(section), "{} lacks {section}", info.id);
            }
            for preset in [Preset::Default, Preset::BenchTrace] {
                let built = info.build(preset, Actors::All, &Value::Null).unwrap();
                assert_eq!(built.id(), info.id);
                assert_eq!(info.config(preset, Actors::All)["actors"], "all");
                // Every field is written and read back.
                info.build(preset, Actors::Agent, &info.config(preset, Actors::All)).unwrap();
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
            ("loop", "[]", "must be a JSON object"),
            ("feedback_blindness", r#"{"window": 0}"#, "window"),
            ("feedback_blindness", r#"{"patterns": [""]}"#, "patterns"),
            ("feedback_blindness", r#"{"transient": {"code": []}}"#, "transient"),
            ("route_inefficiency", r#"{"ratio": 0}"#, "ratio"),
            ("route_inefficiency", r#"{"min_extra": -1}"#, "min_extra"),
            ("tool_error_recovery", r#"{"threshold": 0.0}"#, "threshold"),
            ("tool_error_recovery", r#"{"threshold": 1.01}"#, "threshold"),
            ("tool_error_recovery", r#"{"actors": "everyone"}"#, "actors"),
        ];
        for (id, overrides, named) in cases {
            let overrides = serde_json::from_str(overrides).unwrap();
            let error =
                detector_info(id).unwrap().build(Preset::Default, Actors::Agent, &overrides).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Config);
            assert!(error.to_string().starts_with(id) && error.to_string().contains(named), "{error}");
        }
    }
}
