//! What a detector says: verdict, finding, typed evidence.

use std::borrow::Cow;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::feedback_blindness::FeedbackBlindnessEvidence;
use super::loop_::LoopEvidence;
use super::route_inefficiency::RouteInefficiencyEvidence;
use super::tool_error_recovery::ToolErrorRecoveryEvidence;

/// The level at which an agent fails (classes of the `BenchTrace` benchmark).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureClass {
    /// The frame around the agent: formats, limits.
    System,
    /// What the agent sets out to do.
    Strategy,
    /// How it carries out a single action.
    Operation,
}

/// A failure mode, written `class/name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FailureMode {
    /// The class.
    pub class: FailureClass,
    /// The name within the class.
    pub name: &'static str,
}

impl fmt::Display for FailureMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            FailureClass::System => "system",
            FailureClass::Strategy => "strategy",
            FailureClass::Operation => "operation",
        };
        write!(f, "{class}/{}", self.name)
    }
}

impl Serialize for FailureMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One failure, with its place and the facts that show it.
///
/// In JSON: `{"mode": "class/name", "where": [first, last], "message": "…", "evidence": {…}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Id of the detector that says so.
    pub detector: &'static str,
    /// The failure mode.
    pub mode: FailureMode,
    /// Source index of the first step of the failure.
    pub first: u64,
    /// Source index of the last step of the failure, inclusive.
    pub last: u64,
    /// One sentence for a reader.
    pub message: String,
    /// The facts.
    pub evidence: Evidence,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("mode", &self.mode)?;
        map.serialize_entry("where", &[self.first, self.last])?;
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("evidence", &self.evidence)?;
        map.end()
    }
}

/// The facts behind a finding. In JSON the facts stand alone, without a tag.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Evidence {
    /// Of `tool_error_recovery`.
    ToolErrorRecovery(ToolErrorRecoveryEvidence),
    /// Of `loop`.
    Loop(LoopEvidence),
    /// Of `feedback_blindness`.
    FeedbackBlindness(FeedbackBlindnessEvidence),
    /// Of `route_inefficiency`.
    RouteInefficiency(RouteInefficiencyEvidence),
    /// Of a detector from outside this crate.
    Other(Value),
}

/// A number that a detector took on a trace, for correlations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// What was measured.
    pub name: &'static str,
    /// The value; counts are whole numbers.
    pub value: f64,
}

impl Measure {
    #[expect(clippy::cast_precision_loss, reason = "counts of steps are far below 2^53")]
    pub(crate) fn count(name: &'static str, count: u64) -> Self {
        Self { name, value: count as f64 }
    }
}

/// What a detector says of one trace.
///
/// In JSON: `{"not_applicable": "why"}`, or `{"detected": bool, "score": number, "findings": […]}`, where
/// `score` is left out by detectors that have none.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The detector can say nothing of this trace, which is not the same as a pass.
    NotApplicable {
        /// Why not.
        reason: Cow<'static, str>,
    },
    /// The detector has judged the trace.
    Judged(Judgement),
}

/// The judgement of one trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgement {
    /// Whether the failure was detected.
    pub detected: bool,
    /// The detector's score, where it has one.
    pub score: Option<f64>,
    /// The failures in the order of their places; those of a route, in the order of its milestones.
    pub findings: Vec<Finding>,
    /// The numbers behind the judgement; not part of its JSON.
    pub measures: Vec<Measure>,
}

impl Verdict {
    /// Whether the failure was detected; `None` where the detector is not applicable.
    #[must_use]
    pub fn detected(&self) -> Option<bool> {
        self.judgement().map(|judgement| judgement.detected)
    }

    /// The judgement, where there is one.
    #[must_use]
    pub fn judgement(&self) -> Option<&Judgement> {
        match self {
            Self::Judged(judgement) => Some(judgement),
            Self::NotApplicable { .. } => None,
        }
    }

    /// The findings; none where the detector is not applicable.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        self.judgement().map_or(&[], |judgement| &judgement.findings)
    }

    /// A number that the detector took on the trace.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<f64> {
        self.judgement()?.measures.iter().find(|measure| measure.name == name).map(|measure| measure.value)
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::NotApplicable { reason } => map.serialize_entry("not_applicable", reason)?,
            Self::Judged(Judgement { detected, score, findings, .. }) => {
                map.serialize_entry("detected", detected)?;
                if let Some(score) = score {
                    map.serialize_entry("score", score)?;
                }
                map.serialize_entry("findings", findings)?;
            }
        }
        map.end()
    }
}

const _: () = {
    const fn thread_safe<T: Send + Sync>() {}
    thread_safe::<Finding>();
    thread_safe::<Verdict>();
};
