//! Turns the verdicts of detectors into predictions like a model's.

use super::{Answer, GoldEpisode, GoldFailure, PredictedDiagnosis, Prediction, StepRange};
use crate::detect::{Detector, Finding, Verdict};
use crate::stats::jaccard;
use crate::trace::Trace;

/// Returns the annotated episode of a trace with labelled failures. The episode has only the core
/// failures, in order.
///
/// Returns `None` for a trace without an id, or if a core failure has no range or an inverted one.
///
/// ```
/// use serde_json::json;
/// use wrongturn::Trace;
/// use wrongturn::benchmarks::gold_of_trace;
///
/// let trace: Trace = serde_json::from_value(json!({"version": 1, "id": "e", "task": "jericho",
///     "failures": [{"mode": "strategy/loop", "where": [0, 1], "core": true}],
///     "steps": [{"name": "look", "status": "ok"}, {"name": "look", "status": "ok"}]}))?;
/// let gold = gold_of_trace(&trace).unwrap();
/// assert_eq!((gold.failures[0].mode.as_str(), gold.failures[0].range), ("strategy/loop", [0, 1].into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn gold_of_trace(trace: &Trace) -> Option<GoldEpisode> {
    let metadata = trace.metadata();
    let failures = trace.failures().iter().filter(|failure| failure.core).map(|failure| {
        let range = failure.range.and_then(|(first, last)| range(first, last))?;
        let diagnosis = failure.diagnosis.clone().unwrap_or_default();
        Some(GoldFailure { mode: failure.mode.clone(), range, diagnosis })
    });
    let subtask = metadata.domain.as_deref().map(str::to_owned);
    Some(GoldEpisode {
        id: metadata.id.clone()?,
        task: metadata.task.clone().or_else(|| subtask.clone()).unwrap_or_default(),
        subtask,
        detection: None,
        failures: failures.collect::<Option<_>>()?,
    })
}

/// Returns the findings of detectors as a prediction for the trace's annotated episode.
///
/// Detection is "yes" if there is a finding. The ranges are those of the findings, in the order of the
/// detectors, without duplicates. Each failure is diagnosed with the mode and message of the finding whose
/// range overlaps that of the failure most, by the Jaccard index. A failure that no finding overlaps gets no
/// diagnosis. No judge is involved.
///
/// ```
/// use serde_json::json;
/// use wrongturn::benchmarks::{Answer, GoldEpisode, predict};
/// use wrongturn::{Status, Trace, default_detectors};
///
/// let mut run = Trace::builder();
/// for _ in 0..4 {
///     run.call("look", &json!({}), Status::Ok, "a wall")?;
/// }
/// let gold: GoldEpisode = serde_json::from_value(json!({"id": "e", "task": "jericho",
///     "failures": [{"type": "strategy/loop", "where": [0, 3]}]}))?;
/// let prediction = predict(&run.build()?, &gold, &default_detectors());
/// assert_eq!(prediction.detection, Some(Answer::Yes));
/// assert_eq!(prediction.diagnoses[0].mode.as_deref(), Some("strategy/loop"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn predict(trace: &Trace, gold: &GoldEpisode, detectors: &[std::sync::Arc<dyn Detector>]) -> Prediction {
    let verdicts: Vec<_> = detectors.iter().map(|detector| detector.detect(trace)).collect();
    let findings: Vec<(StepRange, &Finding)> = verdicts
        .iter()
        .flat_map(Verdict::findings)
        .filter_map(|finding| Some((range(finding.first, finding.last)?, finding)))
        .collect();
    let mut ranges: Vec<StepRange> = Vec::new();
    for (range, _) in &findings {
        if !ranges.contains(range) {
            ranges.push(*range);
        }
    }
    let diagnose = |(place, failure): (usize, &GoldFailure)| {
        let mut best: Option<(f64, &Finding)> = None;
        for (range, finding) in &findings {
            let overlap = jaccard(&range.steps(), &failure.range.steps());
            if overlap > best.map_or(0.0, |(overlap, _)| overlap) {
                best = Some((overlap, finding));
            }
        }
        let (_, finding) = best?;
        let (mode, description) = (finding.mode.to_string(), finding.message.clone());
        Some(PredictedDiagnosis {
            failure: place,
            mode: Some(mode),
            description: Some(description),
            judge: None,
        })
    };
    Prediction {
        episode: gold.id.clone(),
        model: Some("detectors".to_owned()),
        detection: Some(if findings.is_empty() { Answer::No } else { Answer::Yes }),
        ranges: Some(ranges),
        diagnoses: gold.failures.iter().enumerate().filter_map(diagnose).collect(),
    }
}

fn range(first: u64, last: u64) -> Option<StepRange> {
    let range = StepRange { first: i64::try_from(first).ok()?, last: i64::try_from(last).ok()? };
    (range.first <= range.last).then_some(range)
}
