//! Verdicts, findings and typed evidence.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Cost, Evidence, Measures};
use crate::error::{Error, ErrorKind, Result};
use crate::names::named;
use crate::trace::SpanId;

named! {
    /// The level at which an agent fails (classes of the `BenchTrace` benchmark).
    #[derive(PartialOrd, Ord)]
    pub enum FailureClass: "failure class" {
        /// The harness: formats, limits.
        System = "system",
        /// The goals that the agent pursues.
        Strategy = "strategy",
        /// The execution of a single action.
        Operation = "operation",
    }
}

/// A failure mode, written `class/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FailureMode {
    /// The class.
    pub class: FailureClass,
    /// The name within the class.
    pub name: Cow<'static, str>,
}

impl FailureMode {
    /// Creates the failure mode with this name.
    #[must_use]
    pub const fn new(class: FailureClass, name: &'static str) -> Self {
        Self { class, name: Cow::Borrowed(name) }
    }
}

impl fmt::Display for FailureMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class, self.name)
    }
}

impl FromStr for FailureMode {
    type Err = Error;

    /// Parses `class/name`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for an unknown class or a missing name.
    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('/') {
            Some((class, name)) if !name.is_empty() => {
                Ok(Self { class: class.parse()?, name: name.to_owned().into() })
            }
            _ => Err(Error::new(ErrorKind::Config, format!("`{text}` is not a failure mode (`class/name`)"))),
        }
    }
}

impl Serialize for FailureMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FailureMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

named! {
    /// How sure a finding is.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Confidence: "confidence" {
        /// It rests on heuristics, such as the wording or the similarity of texts.
        Likely = "likely",
        /// It follows from recorded facts alone: equal calls, equal answers, status flags.
        #[default]
        Certain = "certain",
    }
}

/// One failure: the steps in which it occurs, and the facts that show it.
///
/// In JSON: `{"id": "loop:9", "mode": "class/name", "tool"?: "bash", "where": [first, last], "confidence": "certain",
/// "message": "…", "evidence": {…}, "cost"?: {…}, "merged"?: […], "span"?: "…"}`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The id, unique in its trace and stable while the finding grows: the detector, a colon, and usually the step that
    /// confirmed the finding (its last step if only the end of the trace confirmed it).
    pub id: String,
    /// The id of the detector.
    pub detector: Cow<'static, str>,
    /// The failure mode.
    pub mode: FailureMode,
    /// The tool, or the program of a command line, that the finding is mainly about, if any.
    pub tool: Option<String>,
    /// Source index of the first step of the failure.
    pub first: u64,
    /// Source index of the last step of the failure, inclusive.
    pub last: u64,
    /// How sure the finding is; of merged findings, the highest confidence.
    pub confidence: Confidence,
    /// One sentence that describes the failure.
    pub message: String,
    /// The facts that support the finding.
    pub evidence: Evidence,
    /// The cost of the steps from `first` to `last`, if recorded.
    pub cost: Option<Cost>,
    /// The ids of confirmed findings that were merged into this one.
    pub merged: Vec<String>,
    /// The span of the last step in a tracing system, if recorded.
    pub span: Option<SpanId>,
}

/// Estimated size of a finding with its texts, in bytes.
pub(crate) const FINDING_BYTES: usize = size_of::<Finding>() + 256;

impl Finding {
    /// Returns the steps in words: `steps 3-7`, or `step 3` if there is only one.
    #[must_use]
    pub fn steps(&self) -> String {
        let Self { first, last, .. } = self;
        if first == last { format!("step {first}") } else { format!("steps {first}-{last}") }
    }

    /// Creates a finding of this detector in the steps from `first` to `last`, with [`Confidence::Certain`].
    ///
    /// ```
    /// use wrongturn::{Finding, detect::{Evidence, FailureClass, FailureMode}};
    ///
    /// let mode = FailureMode::new(FailureClass::System, "too_long");
    /// let evidence = Evidence::Other(serde_json::json!({"steps": 900}));
    /// let finding = Finding::new("too_long", mode, (3, 902), "900 steps", evidence);
    /// assert_eq!((finding.id.as_str(), finding.steps().as_str()), ("too_long:902", "steps 3-902"));
    /// ```
    #[must_use]
    pub fn new(
        detector: impl Into<Cow<'static, str>>,
        mode: FailureMode,
        (first, last): (u64, u64),
        message: impl Into<String>,
        evidence: Evidence,
    ) -> Self {
        let detector = detector.into();
        let id = Self::id_of(&detector, last);
        Self {
            id,
            detector,
            mode,
            tool: None,
            first,
            last,
            confidence: Confidence::Certain,
            message: message.into(),
            evidence,
            cost: None,
            merged: Vec::new(),
            span: None,
        }
    }

    /// Sets the confidence; the default is [`Confidence::Certain`].
    #[must_use]
    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// Sets the tool, unless the name is empty.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into()).filter(|tool| !tool.is_empty());
        self
    }

    /// Sets the id: the detector's id, a colon, and `what`, which must be unique among the detector's findings in
    /// a trace.
    #[must_use]
    pub fn with_id(mut self, what: impl fmt::Display) -> Self {
        self.id = Self::id_of(&self.detector, what);
        self
    }

    pub(super) fn id_of(detector: &str, what: impl fmt::Display) -> String {
        format!("{detector}:{what}")
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("mode", &self.mode)?;
        if let Some(tool) = &self.tool {
            map.serialize_entry("tool", tool)?;
        }
        map.serialize_entry("where", &[self.first, self.last])?;
        map.serialize_entry("confidence", &self.confidence)?;
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("evidence", &self.evidence)?;
        if let Some(cost) = &self.cost {
            map.serialize_entry("cost", cost)?;
        }
        if !self.merged.is_empty() {
            map.serialize_entry("merged", &self.merged)?;
        }
        if let Some(span) = &self.span {
            map.serialize_entry("span", span)?;
        }
        map.end()
    }
}

/// Evidence of an unknown detector, or of an unexpected form, becomes [`Evidence::Other`].
impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            id: Option<String>,
            mode: FailureMode,
            tool: Option<String>,
            #[serde(rename = "where")]
            range: (u64, u64),
            #[serde(default)]
            confidence: Confidence,
            message: String,
            evidence: Value,
            cost: Option<Cost>,
            #[serde(default)]
            merged: Vec<String>,
            span: Option<SpanId>,
        }
        let Wire { id, mode, tool, range, confidence, message, evidence, cost, merged, span } =
            Wire::deserialize(deserializer)?;
        let named = id.as_deref().and_then(|id| id.rsplit_once(':')).map(|(detector, _)| detector.to_owned());
        let detector = named.unwrap_or_else(|| mode.name.clone().into_owned());
        let evidence = Evidence::read(&detector, evidence);
        let made = Self::new(detector, mode, range, message, evidence);
        Ok(Self { id: id.unwrap_or_else(|| made.id.clone()), tool, confidence, cost, merged, span, ..made })
    }
}

/// The verdict of a detector on one trace.
///
/// In JSON: `{"not_applicable": "why"}`, or `{"detected": bool, "score": number, "findings": […]}`. Detectors without a
/// score omit `score`. `"stopped_at"` is present if the detector stopped early. Measures are not part of the JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Verdict {
    /// The detector does not apply to this trace. This is not a pass.
    NotApplicable {
        /// The reason.
        #[serde(rename = "not_applicable")]
        reason: Cow<'static, str>,
    },
    /// The detector has judged the trace.
    Judged(Judgement),
}

/// The judgement of one trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Judgement {
    /// Whether the failure was detected.
    pub detected: bool,
    /// The detector's score, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The failures. [`Detector::detect`](crate::Detector::detect) sorts them by first and last step.
    pub findings: Vec<Finding>,
    /// The numbers that the judgement rests on; not part of its JSON.
    #[serde(skip)]
    pub measures: Measures,
    /// The last judged step, if a memory limit ended the judgement before the end of the trace
    /// ([`Monitor::with_memory_limit`](crate::Monitor::with_memory_limit)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<u64>,
}

impl Verdict {
    /// Returns the verdict of a rule that detects a failure whenever it has a finding.
    pub(super) fn found(score: Option<f64>, findings: Vec<Finding>, measures: impl Into<Measures>) -> Self {
        let (detected, measures) = (!findings.is_empty(), measures.into());
        Self::Judged(Judgement { detected, score, findings, measures, ..Judgement::default() })
    }

    /// Returns whether the failure was detected, or `None` if the detector is not applicable.
    #[must_use]
    pub fn detected(&self) -> Option<bool> {
        self.judgement().map(|judgement| judgement.detected)
    }

    /// Returns the judgement, or `None` if the detector is not applicable.
    #[must_use]
    pub fn judgement(&self) -> Option<&Judgement> {
        match self {
            Self::Judged(judgement) => Some(judgement),
            Self::NotApplicable { .. } => None,
        }
    }

    /// Returns the findings; empty if the detector is not applicable.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        self.judgement().map_or(&[], |judgement| &judgement.findings)
    }

    /// Drops findings below `least`. If none is left, nothing is detected. Score and measures do not change.
    #[must_use]
    pub fn with_min_confidence(mut self, least: Confidence) -> Self {
        if let Self::Judged(judgement) = &mut self
            && judgement.detected
        {
            judgement.findings.retain(|finding| finding.confidence >= least);
            judgement.detected = !judgement.findings.is_empty();
        }
        self
    }

    /// Returns a measure of the trace by name, or `None` if there is none with this name.
    #[must_use]
    pub fn measure(&self, name: &str) -> Option<f64> {
        self.judgement()?.measures.iter().find(|measure| measure.name == name).map(|measure| measure.value)
    }
}

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            not_applicable: Option<String>,
            detected: Option<bool>,
            score: Option<f64>,
            #[serde(default)]
            findings: Vec<Finding>,
            stopped_at: Option<u64>,
        }
        let Wire { not_applicable, detected, score, findings, stopped_at } = Wire::deserialize(deserializer)?;
        match (not_applicable, detected) {
            (Some(reason), None) => Ok(Self::NotApplicable { reason: reason.into() }),
            (None, Some(detected)) => Ok(Self::Judged(Judgement {
                detected,
                score,
                findings,
                measures: Measures::default(),
                stopped_at,
            })),
            _ => Err(D::Error::custom("a verdict has either `not_applicable` or `detected`")),
        }
    }
}
