//! Collects spans and log records by trace id.

use std::collections::BTreeMap;

use super::assemble;
use super::batch::SpanBatch;
use super::model::{self, LogRecord, Span};
use super::otlp_json;
#[cfg(feature = "otlp")]
use super::otlp_proto;
use super::protobuf;
use super::relatives;
use super::resource::Resource;
use super::run::AgentRun;
use super::shape::{Shape, is_otlp, shape};
#[cfg(not(feature = "otlp"))]
use crate::error::{Error, ErrorKind};
use crate::json::{Fault, Json, Kind, Raw, Read};
use crate::read::document::Document;
use crate::read::members::Members;
use crate::read::runs::Runs;
use crate::trace::{Assembler, RouteStatus, RunSummary};

/// Limit of errors that are kept for an input.
const MOST_FAULTS: usize = 100;

/// Spans and log records of inputs that belong together.
#[derive(Debug, Default)]
pub(crate) struct SpanCollection<'a> {
    pub(super) traces: BTreeMap<String, Bundle<'a>>,
    /// Skipped elements by reason.
    pub(super) passed_over: BTreeMap<&'static str, u64>,
    pub(super) faults: Vec<Fault>,
    /// Number of errors beyond the limit.
    pub(super) more_faults: u64,
    /// The sender of the spans that are being read.
    pub(super) resource: Resource,
}

/// The parts of one trace.
#[derive(Debug, Default)]
pub(super) struct Bundle<'a> {
    pub(super) spans: Vec<Span<'a>>,
    pub(super) logs: Vec<LogRecord<'a>>,
}

impl<'a> SpanCollection<'a> {
    /// Adds a span, in any order. A span without ids is skipped.
    pub(crate) fn push_span(&mut self, mut span: Span<'a>) {
        if span.trace_id.is_empty() || span.span_id.is_empty() {
            return self.pass_over("spans without ids");
        }
        if span.end.is_some_and(|end| end < span.start) {
            self.pass_over("ends of spans before their starts");
        }
        if span.parent.as_ref() == Some(&span.span_id) {
            span.parent = None;
        }
        span.resource.clone_from(&self.resource);
        if let Some(bundle) = self.traces.get_mut(&*span.trace_id) {
            bundle.spans.push(span);
        } else {
            let id = span.trace_id.to_string();
            let mut spans = Vec::with_capacity(8);
            spans.push(span);
            self.traces.insert(id, Bundle { spans, logs: Vec::new() });
        }
    }

    /// Adds a log record, in any order. A record without a trace id is skipped.
    pub(crate) fn push_log(&mut self, log: LogRecord<'a>) {
        if log.trace_id.is_empty() {
            return self.pass_over("log records of no trace");
        }
        if !log.record.name.starts_with("gen_ai.") {
            return self.pass_over("log records that are no events of a conversation");
        }
        self.traces.entry(log.trace_id.to_string()).or_default().logs.push(log);
    }

    pub(super) fn pass_over(&mut self, reason: &'static str) {
        *self.passed_over.entry(reason).or_default() += 1;
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < MOST_FAULTS { self.faults.push(fault) } else { self.more_faults += 1 }
    }

    /// Reads one item. An item of the wrong shape is skipped and reported.
    pub(super) fn contained(
        &mut self,
        json: &mut Json<'a>,
        read: &mut dyn FnMut(&mut Json<'a>, &mut Self) -> Read<()>,
    ) -> Read<()> {
        json.space();
        let mut own = json.clone();
        match read(&mut own, self) {
            Ok(()) => {
                *json = own;
                Ok(())
            }
            Err(fault) if fault.is_sound_json() => {
                self.fault(fault);
                json.skip()
            }
            Err(fault) => Err(fault),
        }
    }

    /// Adds the spans and log records of a document.
    pub(super) fn take(&mut self, document: &Document<'a>) -> Read<()> {
        match document {
            Document::Object(members) => self.take_object(members),
            Document::List(_) | Document::Lines(_) => {
                let items = document.items();
                for item in items {
                    if item.kind() == Kind::Object {
                        self.take_item(*item)?;
                    } else {
                        self.pass_over("items that are no object");
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn take_item(&mut self, item: Raw<'a>) -> Read<()> {
        let members = Members::of(&mut item.json());
        match self.take_object(&members) {
            Err(fault) if fault.is_sound_json() => {
                self.fault(fault);
                Ok(())
            }
            other => other,
        }
    }

    pub(super) fn take_object(&mut self, members: &Members<'a>) -> Read<()> {
        let Some(shape) = shape(members) else {
            self.pass_over("objects that are no spans");
            return Ok(());
        };
        match shape {
            Shape::Otlp(_) => {
                for (key, value) in members.iter() {
                    if is_resources(key.as_bytes()) {
                        otlp_json::resources(&mut value.json(), self)?;
                    }
                }
                Ok(())
            }
            Shape::Within(key) => match members.get(key) {
                Some(inner) => self.take_object(&Members::of(&mut inner.json())),
                None => Ok(()),
            },
            Shape::Jaeger => match members.get("data") {
                Some(data) => relatives::jaeger(&mut data.json(), self),
                None => Ok(()),
            },
            Shape::Nested => {
                let trace = members.name("trace_id").and_then(model::id);
                match members.get("spans") {
                    Some(spans) => relatives::nested(trace.as_ref(), &mut spans.json(), self),
                    None => Ok(()),
                }
            }
            Shape::Row => match members.whole() {
                Some(object) => relatives::row(&mut object.json(), None, None, self),
                None => Ok(()),
            },
        }
    }

    /// Reports skipped elements and errors.
    pub(super) fn account(&mut self, runs: &mut Runs<'_>) {
        for (reason, count) in std::mem::take(&mut self.passed_over) {
            runs.pass_over(reason, count);
        }
        for fault in self.faults.drain(..) {
            runs.fail_at(fault);
        }
        runs.pass_over("further faults", std::mem::take(&mut self.more_faults));
    }

    /// Returns the contents without the input.
    pub(super) fn into_batch(self) -> SpanBatch {
        let mut batch = SpanBatch::default();
        for bundle in self.traces.into_values() {
            batch.spans.extend(bundle.spans.into_iter().map(Span::into_owned));
            batch.logs.extend(bundle.logs.into_iter().map(LogRecord::into_owned));
        }
        batch
    }

    /// Emits the runs of the agents of all traces, in the order in which the traces began, or sets the spans aside if
    /// several inputs are to be joined.
    pub(super) fn give(self, runs: &mut Runs<'_>) {
        if runs.joins {
            return runs.set_aside(self.into_batch());
        }
        let text_rule = runs.options.text_errors;
        let mut traces: Vec<Bundle<'_>> = self.traces.into_values().collect();
        // Traces with the same start are ordered by trace id.
        traces.sort_by_cached_key(Bundle::start);
        for bundle in traces {
            let agents = runs_of_trace(bundle.spans, bundle.logs, text_rule);
            if agents.is_empty() {
                runs.pass_over("traces without a span of an agent, a model or a tool", 1);
            }
            for run in &agents {
                let mut assembler = Assembler::default();
                assembler.begin(true);
                run.put(&mut assembler);
                let routing = RouteStatus::Unknown("spans tell no expected route".into());
                runs.give(&mut assembler, RunSummary::new(run.metadata(), None), &routing);
            }
        }
    }
}

impl Bundle<'_> {
    pub(super) fn start(&self) -> u64 {
        let span = self.spans.iter().map(|span| span.start).min();
        span.or_else(|| self.logs.iter().map(|log| log.time).min()).unwrap_or_default()
    }
}

/// Returns the runs of the agents of one trace, from its spans and log records in any order, with duplicates. A live
/// assembler calls it for a trace that is over.
pub(crate) fn runs_of_trace(
    mut spans: Vec<Span<'_>>,
    mut logs: Vec<LogRecord<'_>>,
    text_rule: bool,
) -> Vec<AgentRun> {
    put_in_order(&mut spans, &mut logs);
    assemble::runs(&spans, &logs, text_rule)
}

/// Sorts spans and log records, and drops duplicates.
pub(crate) fn put_in_order(spans: &mut Vec<Span<'_>>, logs: &mut Vec<LogRecord<'_>>) {
    model::in_order(spans);
    model::records_in_order(logs);
}

pub(super) fn is_resources(key: &[u8]) -> bool {
    is_otlp(key) || key == b"batches"
}

impl SpanCollection<'_> {
    /// Adds a request of OTLP as protobuf, or returns `None` if the bytes are not one.
    #[cfg_attr(not(feature = "otlp"), expect(clippy::unused_self, reason = "the feature takes it"))]
    pub(super) fn add_protobuf(&mut self, bytes: &[u8]) -> Option<crate::error::Result<()>> {
        if !protobuf::looks_like_request(bytes) {
            return None;
        }
        #[cfg(feature = "otlp")]
        return Some(otlp_proto::take(bytes, self));
        #[cfg(not(feature = "otlp"))]
        Some(Err(Error::new(
            ErrorKind::Format,
            "the input is OTLP as protobuf, which this build cannot read: enable the feature `otlp`",
        )))
    }
}
