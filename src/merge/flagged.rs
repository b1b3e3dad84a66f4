//! Flagged runs, and their steps and findings as a report draws them.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::detect::{Confidence, Finding};
use crate::scan::{StoredPath, TraceRecord, path_text};
use crate::trace::{Actor, Content, Digest, Event, Status, Step, Trace};

/// A run as a report draws it: a row of steps with the findings under them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunStrip {
    /// The heading: the id, model and file of the run.
    pub title: String,
    /// Its steps, in order.
    pub steps: Vec<StripStep>,
    /// The findings.
    pub findings: Vec<StripFinding>,
}

/// A step of a [`RunStrip`].
#[derive(Debug, Clone, PartialEq)]
pub struct StripStep {
    /// The index in the source, which findings point to.
    pub index: u64,
    /// The actor.
    pub actor: Actor,
    /// The tool; `None` for a message.
    pub tool: Option<String>,
    /// How the action ended; `None` for a message.
    pub status: Option<Status>,
    /// The step as text: the message, or the call and its answer.
    pub raw: String,
}

impl StripStep {
    /// Renders a step of a trace.
    #[must_use]
    pub fn of(step: &Step<'_>) -> Self {
        let (tool, status, raw) = match step.event() {
            Event::Message(text) => (None, None, text.to_str().into_owned()),
            Event::Action(action) => {
                let arguments = match &action.arguments {
                    Content::Absent => String::new(),
                    Content::NotRecorded => "arguments not recorded".to_owned(),
                    Content::Present(arguments) => arguments.json().unwrap_or_default().to_owned(),
                };
                let answer = match &action.observation {
                    Content::Absent => "no answer".to_owned(),
                    Content::NotRecorded => "answer not recorded".to_owned(),
                    Content::Present(text) => text.to_str().into_owned(),
                };
                let raw = format!("{}({arguments})\n→ {}: {answer}", action.name, action.status);
                (Some(action.name.to_owned()), Some(action.status), raw)
            }
        };
        Self { index: step.index(), actor: step.actor(), tool, status, raw }
    }
}

/// A finding in a [`RunStrip`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StripFinding {
    /// The id of the detector.
    pub detector: String,
    /// Index of the first step.
    pub first: u64,
    /// Index of the last step, inclusive.
    pub last: u64,
    /// The confidence of the finding.
    pub confidence: Confidence,
    /// The message of the finding.
    pub message: String,
    /// The evidence, as JSON.
    pub evidence: String,
}

impl StripFinding {
    /// Copies a finding of a verdict, with its evidence as JSON.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        Self {
            detector: finding.detector.to_string(),
            first: finding.first,
            last: finding.last,
            confidence: finding.confidence,
            message: finding.message.clone(),
            evidence: serde_json::to_string(&finding.evidence).unwrap_or_default(),
        }
    }
}

/// A flagged run: its position, metadata and findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FlaggedRun {
    /// The file that holds the run.
    #[serde(serialize_with = "write_path", deserialize_with = "read_path")]
    pub file: Arc<Path>,
    /// The 0-based position of the run in its file.
    pub(super) position: u64,
    /// The id of the run, see [`TraceRecord::trace_id`].
    pub run: String,
    /// The model that drove the agent, if known.
    pub model: Option<Arc<str>>,
    /// The reward of the run, if known.
    pub reward: Option<f64>,
    /// The number of steps of the run.
    pub steps: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    pub(super) title: String,
    /// The findings of all detectors.
    pub findings: Vec<StripFinding>,
    #[serde(skip)]
    pub(super) covered: u64,
}

fn write_path<S: Serializer>(path: &Arc<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    StoredPath(path).serialize(serializer)
}

fn read_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Path>, D::Error> {
    StoredPath::deserialize(deserializer).map(|StoredPath(path): StoredPath| path.into())
}

impl FlaggedRun {
    /// Returns the flagged run of a record; `None` if it has no findings.
    #[must_use]
    pub fn of(record: &TraceRecord) -> Option<Self> {
        let findings: Vec<StripFinding> = record
            .verdicts
            .iter()
            .flat_map(|(_, verdict)| verdict.findings())
            .map(StripFinding::of)
            .collect();
        if findings.is_empty() {
            return None;
        }
        let model = record.metadata.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
        let title = format!("{}{model}, in {}", record.trace_id(), path_text(record.file.as_os_str()));
        Some(Self {
            file: Arc::clone(&record.file),
            position: record.position,
            run: record.trace_id(),
            model: record.metadata.model.clone(),
            reward: record.reward,
            steps: record.cost.steps,
            digest: record.digest,
            title,
            covered: covered(&findings),
            findings,
        })
    }

    /// Returns false if the digest of the trace differs, as after its file has changed. Returns true if no digest is
    /// known.
    pub(super) fn is(&self, trace: &Trace) -> bool {
        let digest = || trace.steps().fold(Digest::of_nothing(), |digest, step| digest.with_step(&step));
        self.digest.is_none_or(|known| known == digest())
    }

    /// Returns a sort key: steps inside findings (most first), findings (most first), then scan order.
    pub(super) fn order(&self) -> impl Ord + '_ {
        let worst = Reverse((self.covered, self.findings.len()));
        (worst, &*self.file, self.position, &self.title, &self.findings)
    }
}

/// Returns how many step indices lie in at least one of the findings.
pub(super) fn covered(findings: &[StripFinding]) -> u64 {
    union(findings.iter().map(|finding| (finding.first, finding.last)).collect())
}

/// Returns how many indices lie in at least one of the inclusive ranges.
pub(super) fn union(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut sum, mut next) = (0_u64, 0);
    for (first, last) in ranges {
        let first = first.max(next);
        if first <= last {
            sum = sum.saturating_add((last - first).saturating_add(1));
            next = last.saturating_add(1);
        }
    }
    sum
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::merge) fn run(name: &str, ranges: &[(u64, u64)]) -> FlaggedRun {
        let finding = |&(first, last): &(u64, u64)| StripFinding {
            detector: "d".to_owned(),
            first,
            last,
            confidence: Confidence::Certain,
            message: String::new(),
            evidence: String::new(),
        };
        let findings: Vec<_> = ranges.iter().map(finding).collect();
        FlaggedRun {
            file: Path::new("f").into(),
            position: 0,
            run: name.to_owned(),
            model: None,
            reward: None,
            steps: 20,
            digest: None,
            title: name.to_owned(),
            covered: covered(&findings),
            findings,
        }
    }

    #[test]
    fn ranges_that_overlap_count_once() {
        assert_eq!(run("", &[(2, 6), (5, 9), (1, 3), (20, 20)]).covered, 10);
        assert_eq!(run("", &[(0, u64::MAX), (5, 9)]).covered, u64::MAX);
    }
}
