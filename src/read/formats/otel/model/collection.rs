//! Spans and log records by trace id, in any order, with counts of skipped parts.

use std::collections::BTreeMap;

use super::names::Attr;
use super::resource::Resource;
use super::span::{LogRecord, Span};
use super::{cli_log, monocle};
use crate::json::{Fault, Json, Read};
use crate::read::runs::Runs;

/// Maximum number of errors kept per input.
const MOST_FAULTS: usize = 100;

/// Spans and log records of one input, or of several that are joined.
#[derive(Debug, Default)]
pub(crate) struct Collection<'a> {
    pub(crate) traces: BTreeMap<String, Bundle<'a>>,
    /// Counts of skipped parts by reason.
    passed_over: BTreeMap<&'static str, u64>,
    pub(crate) faults: Vec<Fault>,
    /// Number of errors beyond the limit.
    more_faults: u64,
    /// The sender of the spans that are being read.
    pub(crate) resource: Resource,
}

/// The parts of one trace.
#[derive(Debug, Default)]
pub(crate) struct Bundle<'a> {
    pub(crate) spans: Vec<Span<'a>>,
    pub(crate) logs: Vec<LogRecord<'a>>,
}

impl<'a> Collection<'a> {
    /// Adds a span. Spans may come in any order. One without a trace id or a span id is skipped and reported.
    pub(crate) fn push_span(&mut self, mut span: Span<'a>) {
        if span.trace_id.is_empty() || span.span_id.is_empty() {
            return self.pass_over("spans without ids");
        }
        if span.end.is_some_and(|end| end < span.start) {
            self.pass_over("durations of spans that end before they start");
        }
        if span.parent.as_ref() == Some(&span.span_id) {
            span.parent = None;
        }
        monocle::rewrite(&mut span);
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

    /// Adds a log record. Records may come in any order. One without a trace id, or one that is not an event of a
    /// conversation or of a coding agent, is skipped and reported.
    pub(crate) fn push_log(&mut self, mut log: LogRecord<'a>) {
        let is_of_agent = cli_log::claim(&mut log);
        if log.trace_id.is_empty() {
            return self.pass_over("log records without a trace id");
        }
        if log.name.is_empty() {
            log.name = log.attributes.name(Attr::EventName).unwrap_or_default().to_owned().into();
        }
        if !is_of_agent && !log.name.starts_with("gen_ai.") {
            return self.pass_over("log records that are not events of a conversation");
        }
        self.traces.entry(log.trace_id.to_string()).or_default().logs.push(log);
    }

    /// Adds the spans and log records of another input, whose errors have no place in this one.
    pub(crate) fn take_in(&mut self, other: Collection<'_>) {
        for (reason, count) in other.passed_over {
            *self.passed_over.entry(reason).or_default() += count;
        }
        for _ in other.faults {
            self.pass_over("rows with a damaged span");
        }
        for (id, bundle) in other.traces {
            let own = self.traces.entry(id).or_default();
            own.spans.extend(bundle.spans.into_iter().map(|span| -> Span<'a> { span.into_owned() }));
            own.logs.extend(bundle.logs.into_iter().map(|log| -> LogRecord<'a> { log.into_owned() }));
        }
    }

    pub(crate) fn pass_over(&mut self, reason: &'static str) {
        *self.passed_over.entry(reason).or_default() += 1;
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < MOST_FAULTS { self.faults.push(fault) } else { self.more_faults += 1 }
    }

    /// Reads one item. An item of the wrong shape is skipped and reported; invalid JSON is an error.
    pub(crate) fn contained(
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

    /// Reports skipped parts and errors.
    pub(in crate::read) fn account(&mut self, runs: &mut Runs<'_>) {
        for (reason, count) in std::mem::take(&mut self.passed_over) {
            runs.pass_over(reason, count);
        }
        for fault in self.faults.drain(..) {
            runs.fail_at(fault);
        }
        runs.pass_over("further errors", std::mem::take(&mut self.more_faults));
    }
}

impl Bundle<'_> {
    /// Returns when the trace began, in nanoseconds since 1970.
    pub(crate) fn start(&self) -> u64 {
        let span = self.spans.iter().map(|span| span.start).min();
        span.or_else(|| self.logs.iter().map(|log| log.time).min()).unwrap_or_default()
    }
}
