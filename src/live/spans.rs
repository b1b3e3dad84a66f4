//! The spans and log records of one open trace, and what is reported of them before its end.
//!
//! Which run a step is part of shows when the spans around it arrive, and those come last, as they end last. What is
//! reported before is provisional.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::monitor::Monitor;
use super::open::Rules;
use super::options::{AssemblerOptions, nanoseconds};
use super::series::FINDING_BYTES;
use super::update::{Update, UpdateKind};
use crate::detect::Finding;
use crate::read::{
    AgentRun, LogRecord, Resource, Span, are_whole_below, put_in_order, resource_bytes, runs_of_trace,
    runs_so_far,
};
use crate::trace::{Assembler, Metadata, Unpaired};

/// What is held of a trace of spans.
#[derive(Debug, Default)]
pub(super) struct HeldSpans {
    pub(super) spans: Vec<Span<'static>>,
    pub(super) logs: Vec<LogRecord<'static>>,
    /// How many spans and log records, from the first, have settled.
    settled: (usize, usize),
    /// When the others came, and how many of each.
    fresh: VecDeque<(u64, usize, usize)>,
    bytes: usize,
    /// When the trace is to be judged again, and when it last was.
    due: Option<u64>,
    judged: u64,
    /// By run, the findings that were reported and stand.
    pub(super) reported: Reported,
    reported_bytes: usize,
    /// How many pieces were judged before the end, each as often as it was.
    pub(super) looked_at: u64,
}

/// By run, findings that were reported and stand.
pub(super) type Reported = BTreeMap<String, Vec<Finding>>;

/// What became of a finding of a run.
pub(super) type RunUpdate = (Arc<Metadata>, Update);

impl HeldSpans {
    /// Spans, log records and reported findings of a trace that was packed.
    pub(super) fn unpacked(
        spans: Vec<Span<'static>>,
        logs: Vec<LogRecord<'static>>,
        reported: Reported,
    ) -> Self {
        let mut spans = spans;
        let mut last: Option<Resource> = None;
        for span in &mut spans {
            if let Some(same) = last.as_ref().filter(|last| **last == span.resource) {
                span.resource.clone_from(same);
            }
            last = Some(span.resource.clone());
        }
        let mut held = Self { reported, settled: (spans.len(), logs.len()), spans, logs, ..Self::default() };
        held.weigh();
        held.reported_bytes = bytes_of(&held.reported);
        held
    }

    pub(super) fn add_span(&mut self, now: u64, span: Span<'static>, options: &AssemblerOptions) {
        self.bytes += span_bytes(&span, self.spans.last());
        self.spans.push(span);
        self.came(now, (1, 0), options);
    }

    pub(super) fn add_log(&mut self, now: u64, log: LogRecord<'static>, options: &AssemblerOptions) {
        self.bytes += log.bytes();
        self.logs.push(log);
        self.came(now, (0, 1), options);
    }

    fn came(&mut self, now: u64, (spans, logs): (usize, usize), options: &AssemblerOptions) {
        match self.fresh.back_mut() {
            Some((came, more_spans, more_logs)) if *came == now => {
                *more_spans += spans;
                *more_logs += logs;
            }
            _ => self.fresh.push_back((now, spans, logs)),
        }
        if options.min_spans_to_judge > 0 && self.len() >= options.min_spans_to_judge {
            let due = options.judge_again(now, self.judged, self.len());
            self.due.get_or_insert(due);
        }
    }

    /// Has the spans judged at this time, if there are any.
    pub(super) fn judge_at(&mut self, time: u64) {
        self.due = (!self.is_empty()).then_some(time);
    }

    /// How many spans and log records there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len() + self.logs.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how many bytes they take.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.reported_bytes + self.fresh.len() * size_of::<(u64, usize, usize)>()
    }

    /// When the trace is to be judged next.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Whether all agents have ended, below parents that do not arrive here.
    pub(super) fn are_whole_below(&self) -> bool {
        are_whole_below(&self.spans)
    }

    /// Judges what has settled, if that is due.
    pub(super) fn look(&mut self, now: u64, rules: &Rules) -> Vec<RunUpdate> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        (self.due, self.judged) = (None, now);
        self.settle(now, nanoseconds(rules.options.settle));
        if let Some(&(came, ..)) = self.fresh.front() {
            self.due = Some(rules.options.judge_again(came, now, self.len()));
        }
        self.looked_at += (self.settled.0 + self.settled.1) as u64;
        self.judge(rules)
    }

    /// Puts in order what has been held for long enough.
    fn settle(&mut self, now: u64, wait: u64) {
        let (mut spans, mut logs) = self.settled;
        while let Some(&(came, more_spans, more_logs)) = self.fresh.front()
            && came.saturating_add(wait) <= now
        {
            self.fresh.pop_front();
            spans += more_spans;
            logs += more_logs;
        }
        let fresh_spans = self.spans.split_off(spans.min(self.spans.len()));
        let fresh_logs = self.logs.split_off(logs.min(self.logs.len()));
        let before = (self.spans.len(), self.logs.len());
        put_in_order(&mut self.spans, &mut self.logs);
        self.settled = (self.spans.len(), self.logs.len());
        self.spans.extend(fresh_spans);
        self.logs.extend(fresh_logs);
        if before != self.settled {
            // Something had come twice.
            self.weigh();
        }
    }

    fn weigh(&mut self) {
        let mut last = None;
        let spans = self.spans.iter().map(|span| span_bytes(span, last.replace(span))).sum::<usize>();
        self.bytes = spans + self.logs.iter().map(LogRecord::bytes).sum::<usize>();
    }

    fn judge(&mut self, rules: &Rules) -> Vec<RunUpdate> {
        let spans = self.spans.get(..self.settled.0).unwrap_or_default();
        let logs = self.logs.get(..self.settled.1).unwrap_or_default();
        let mut changes = Vec::new();
        let mut before = std::mem::take(&mut self.reported);
        for run in runs_so_far(spans, logs, rules.options.text_errors) {
            let (mut monitor, _) = follow(&run, rules);
            let updates = monitor.continue_from(before.remove(&run.id).unwrap_or_default());
            let reported = monitor.into_reported();
            if !updates.is_empty() {
                let metadata = Arc::new(run.metadata());
                changes.extend(updates.into_iter().map(|update| (Arc::clone(&metadata), update)));
            }
            if !reported.is_empty() {
                self.reported.insert(run.id, reported);
            }
        }
        // Runs that turned out to be part of others.
        changes.extend(withdrawn(before));
        self.reported_bytes = bytes_of(&self.reported);
        changes
    }

    /// The runs of the trace, which is over, and what had been reported of each.
    pub(super) fn close(self, rules: &Rules) -> (Vec<AgentRun>, Reported) {
        (runs_of_trace(self.spans, self.logs, rules.options.text_errors), self.reported)
    }

    /// The runs as they stand, as if the trace were over.
    pub(super) fn peek(&self, rules: &Rules) -> Vec<AgentRun> {
        runs_of_trace(self.spans.clone(), self.logs.clone(), rules.options.text_errors)
    }
}

/// About how many bytes a span takes after another one; the attributes of one sender are shared.
fn span_bytes(span: &Span<'_>, before: Option<&Span<'_>>) -> usize {
    let is_shared = match (&span.resource, before.map(|span| &span.resource)) {
        (Some(own), Some(Some(other))) => Arc::ptr_eq(own, other),
        _ => false,
    };
    span.bytes() + if is_shared { 0 } else { resource_bytes(&span.resource) }
}

fn bytes_of(reported: &Reported) -> usize {
    reported.iter().map(|(id, findings)| 64 + id.len() + findings.len() * FINDING_BYTES).sum()
}

/// Takes back what was reported of runs that turned out not to exist.
pub(super) fn withdrawn(reported: Reported) -> impl Iterator<Item = RunUpdate> {
    reported.into_iter().flat_map(|(id, findings)| {
        let metadata = Arc::new(Metadata { id: Some(id), ..Metadata::default() });
        let gone = |finding| (Arc::clone(&metadata), Update::new(UpdateKind::Withdrawn, finding));
        findings.into_iter().map(gone).collect::<Vec<_>>()
    })
}

/// The run of an agent, step by step.
pub(super) fn follow(run: &AgentRun, rules: &Rules) -> (Monitor, Unpaired) {
    let mut monitor = rules.monitor(&run.metadata());
    let mut assembler = Assembler::default();
    assembler.begin(true);
    run.put(&mut assembler);
    // The steps of a run bear no numbers of their own that could break a rule.
    let unpaired = assembler.finish(&mut |step| monitor.observe_step(step)).unwrap_or_default();
    (monitor, unpaired)
}
