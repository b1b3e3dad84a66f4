//! Evaluation events: verdicts and findings, with the attribute names of OpenTelemetry's conventions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::detect::{Cost, Finding, Verdict};
use crate::live::{Update, UpdateKind};
use crate::names::named;
use crate::read::{RESOURCE_LABEL, SPAN_LABEL};
use crate::trace::{Metadata, SpanId, TraceId};

pub(super) const NAME: &str = "gen_ai.evaluation.result";

/// The attribute that names a service.
const SERVICE_NAME: &str = "service.name";

/// Maximum size of texts other than evidence, in bytes. Longer texts are cut.
const MOST_TEXT: usize = 4 << 10;

/// Maximum size of evidence in bytes. Larger evidence is replaced by its size, as collectors refuse large records.
const MOST_EVIDENCE: usize = 32 << 10;

/// Cuts a text to at most [`MOST_TEXT`] bytes, at a character boundary.
fn capped(text: &str) -> String {
    let end = (0..=text.len().min(MOST_TEXT)).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default().to_owned()
}

named! {
    /// The label of an evaluation event: pass, fail or not applicable.
    #[derive(PartialOrd, Ord)]
    pub enum EventLabel: "label" {
        /// The failure was not detected, or its finding was withdrawn.
        Pass = "pass",
        /// The failure was detected.
        Fail = "fail",
        /// The detector does not apply to the trace.
        NotApplicable = "not_applicable",
    }
}

/// The value of an attribute of an evaluation event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventValue {
    /// A text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Whole numbers, in order.
    Counts(Vec<u64>),
    /// Texts, in order.
    Texts(Vec<String>),
}

/// Makes evaluation events from the verdicts, findings and updates of one trace.
/// [`otlp_json`](crate::export::otlp_json) has an example.
///
/// The trace id comes from the metadata's label `trace_id`, or else from the id of the trace, if that is 32
/// hexadecimal digits, alone or followed by a `/`. The agent's span comes from the label `span_id`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventContext {
    /// The id of the trace in the tracing system that it comes from.
    pub trace: Option<TraceId>,
    /// The span of the agent.
    pub span: Option<SpanId>,
    /// The time at which the events are made, in nanoseconds since 1970, or 0 if unknown.
    pub observed: u64,
    /// Attributes that every event gets.
    pub attributes: Vec<(&'static str, EventValue)>,
    /// Attributes of the service that sent the trace.
    pub resource: Arc<BTreeMap<String, String>>,
}

impl EventContext {
    /// Makes the context of a trace from its id, in the form that a scan gives it, and its metadata.
    #[must_use]
    pub fn new(id: &str, metadata: &Metadata) -> Self {
        let label = |name: &str| metadata.labels.get(name).map(String::as_str);
        let begun = id.get(..32).filter(|_| matches!(id.as_bytes().get(32), None | Some(b'/')));
        let mut attributes = vec![("wrongturn.trace", EventValue::Text(capped(id)))];
        let mut text = |name, value: Option<&str>| {
            if let Some(value) = value {
                attributes.push((name, EventValue::Text(capped(value))));
            }
        };
        text("wrongturn.trace.parent", metadata.parent.as_deref());
        text("gen_ai.agent.name", metadata.agent.as_deref());
        text("gen_ai.request.model", metadata.model.as_deref());
        text("gen_ai.conversation.id", label("conversation"));
        let resource = metadata
            .labels
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(RESOURCE_LABEL)?.to_owned(), value.clone())));
        Self {
            trace: label("trace_id").or(begun).and_then(|id| id.parse().ok()),
            span: label(SPAN_LABEL).and_then(|id| id.parse().ok()),
            observed: 0,
            attributes,
            resource: Arc::new(resource.collect()),
        }
    }

    /// Sets the time at which the events are made, in nanoseconds since 1970.
    #[must_use]
    pub fn observed(mut self, observed: u64) -> Self {
        self.observed = observed;
        self
    }

    /// Returns the events for a verdict: one for each finding, or one for the verdict itself if it has no
    /// findings.
    #[must_use]
    pub fn of_verdict(&self, detector: &str, verdict: &Verdict) -> Vec<EvaluationEvent> {
        let score = verdict.judgement().and_then(|judgement| judgement.score);
        let stopped = verdict.is_stopped().then_some("memory_limit");
        if !verdict.findings().is_empty() {
            let event = |finding| {
                let mut event = self.of_finding(finding, score);
                event.text("error.type", stopped);
                event
            };
            return verdict.findings().iter().map(event).collect();
        }
        let (label, why) = match verdict {
            Verdict::NotApplicable { reason } => (EventLabel::NotApplicable, Some(reason.as_ref())),
            Verdict::Judged(judgement) if judgement.detected => (EventLabel::Fail, None),
            Verdict::Judged(_) => (EventLabel::Pass, None),
        };
        let mut event = self.event(detector, label, score);
        event.text("gen_ai.evaluation.explanation", why);
        event.text("error.type", stopped);
        vec![event]
    }

    /// Returns the events of all verdicts on a trace, in their order.
    #[must_use]
    pub fn of_verdicts(&self, verdicts: &[(impl AsRef<str>, Verdict)]) -> Vec<EvaluationEvent> {
        verdicts.iter().flat_map(|(detector, verdict)| self.of_verdict(detector.as_ref(), verdict)).collect()
    }

    /// Returns the event for an update of a finding. A withdrawn finding has the label [`EventLabel::Pass`].
    #[must_use]
    pub fn of_update(&self, update: &Update) -> EvaluationEvent {
        let mut event = self.of_finding(&update.finding, None);
        event.push("wrongturn.update", EventValue::Text(update.kind.to_string()));
        event.text("wrongturn.finding.into", update.into.as_deref());
        if update.kind == UpdateKind::Withdrawn {
            event.label = EventLabel::Pass;
        }
        event
    }

    fn of_finding(&self, finding: &Finding, score: Option<f64>) -> EvaluationEvent {
        let mut event = self.event(&finding.detector, EventLabel::Fail, score);
        event.span = finding.span.or(self.span);
        event.text("gen_ai.evaluation.explanation", Some(&finding.message));
        event.text("wrongturn.finding.id", Some(&finding.id));
        event.push("wrongturn.finding.confidence", EventValue::Text(finding.confidence.to_string()));
        event.push("wrongturn.mode", EventValue::Text(finding.mode.to_string()));
        event.push("wrongturn.where", EventValue::Counts(vec![finding.first, finding.last]));
        if !finding.merged.is_empty() {
            event.push("wrongturn.finding.merged", EventValue::Texts(finding.merged.clone()));
        }
        let evidence = serde_json::to_string(&finding.evidence).unwrap_or_default();
        if evidence.len() <= MOST_EVIDENCE {
            event.push("wrongturn.evidence", EventValue::Text(evidence));
        } else {
            event.push("wrongturn.evidence.bytes", EventValue::Count(evidence.len() as u64));
        }
        if let Some(Cost { steps, duration_ns, input_tokens, output_tokens }) = finding.cost {
            let counts = [
                ("wrongturn.cost.steps", Some(steps)),
                ("wrongturn.cost.duration_ns", duration_ns),
                ("wrongturn.cost.input_tokens", input_tokens),
                ("wrongturn.cost.output_tokens", output_tokens),
            ];
            for (name, count) in counts {
                if let Some(count) = count {
                    event.push(name, EventValue::Count(count));
                }
            }
        }
        event
    }

    fn event(&self, detector: &str, label: EventLabel, score: Option<f64>) -> EvaluationEvent {
        EvaluationEvent {
            detector: detector.to_owned(),
            label,
            score,
            trace: self.trace,
            span: self.span,
            observed: self.observed,
            attributes: self.attributes.clone(),
            resource: Arc::clone(&self.resource),
        }
    }
}

/// The evaluation event of OpenTelemetry's conventions for generative AI: `gen_ai.evaluation.result`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EvaluationEvent {
    /// `gen_ai.evaluation.name`: the detector.
    pub detector: String,
    /// `gen_ai.evaluation.score.label`.
    pub label: EventLabel,
    /// `gen_ai.evaluation.score.value`, for detectors that have a score.
    pub score: Option<f64>,
    /// The trace that was judged.
    pub trace: Option<TraceId>,
    /// The span of the finding, or else that of the agent.
    pub span: Option<SpanId>,
    /// The time at which it was made, in nanoseconds since 1970, or 0 if unknown.
    pub observed: u64,
    /// Further attributes.
    pub attributes: Vec<(&'static str, EventValue)>,
    /// Attributes of the service that sent the trace.
    pub resource: Arc<BTreeMap<String, String>>,
}

impl EvaluationEvent {
    fn push(&mut self, name: &'static str, value: EventValue) {
        self.attributes.push((name, value));
    }

    fn text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, EventValue::Text(capped(value)));
        }
    }

    /// Estimates the size of the event in bytes, without its resource, which events share.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let value = |value: &EventValue| match value {
            EventValue::Text(text) => text.len(),
            EventValue::Counts(counts) => size_of_val(&**counts),
            EventValue::Texts(texts) => texts.iter().map(|text| 32 + text.len()).sum(),
            EventValue::Count(_) | EventValue::Number(_) => 0,
        };
        let attributes = self.attributes.iter().map(|(_, own)| 64 + value(own));
        size_of::<Self>() + self.detector.len() + attributes.sum::<usize>()
    }

    /// Returns the attributes of the resource that the event is reported under. `service.name` defaults to the name of
    /// this crate.
    pub(super) fn resource(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = self.resource.iter().map(|(key, value)| (&**key, &**value));
        let own = (!self.resource.contains_key(SERVICE_NAME)).then_some((SERVICE_NAME, super::SERVICE));
        own.into_iter().chain(known)
    }

    /// Returns all attributes, those of the conventions first.
    pub(super) fn all_attributes(&self) -> impl Iterator<Item = (&'static str, EventValue)> {
        let named = [
            ("gen_ai.evaluation.name", Some(EventValue::Text(self.detector.clone()))),
            ("gen_ai.evaluation.score.label", Some(EventValue::Text(self.label.to_string()))),
            ("gen_ai.evaluation.score.value", self.score.map(EventValue::Number)),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        named.chain(self.attributes.iter().cloned())
    }

    /// Returns the number and name of a log record's severity: a warning for a detected failure, else information.
    pub(super) fn severity(&self) -> (i32, &'static str) {
        if self.label == EventLabel::Fail { (13, "WARN") } else { (9, "INFO") }
    }
}
