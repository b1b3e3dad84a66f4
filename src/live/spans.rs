//! The spans and log records of one open trace, and the findings reported before its end.
//!
//! The spans that enclose a step determine its run. They end last and so arrive last; until then, reports are
//! provisional.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::assembler_options::{AssemblerOptions, after};
use super::monitor::Monitor;
use super::open_trace::Rules;
use super::span_text::SpanText;
use super::update::{Update, UpdateKind};
use crate::detect::{FINDING_BYTES, Finding};
use crate::read::{AgentRun, LogRecord, Span, are_whole_below, put_in_order, runs_of_trace, runs_so_far};
use crate::trace::{Metadata, Unpaired};

/// The spans and log records of an open trace, with the reported findings of its runs.
#[derive(Debug, Default)]
pub(super) struct HeldSpans {
    pub(super) text: SpanText,
    /// The counts of settled spans and log records: those held for [`AssemblerOptions::settle`]. They come first in
    /// `text`.
    settled: (usize, usize),
    /// The arrival times of unsettled spans and log records, and how many of each arrived then.
    fresh: VecDeque<(u64, usize, usize)>,
    /// When the trace is to be judged again.
    pub(super) due: Option<u64>,
    /// When the trace was last judged, and how late.
    judged: (u64, u64),
    /// The reported findings that stand, by run.
    pub(super) reported: Reported,
    reported_bytes: usize,
    /// The number of spans and log records judged before the end, counted once per judgement.
    pub(super) looked_at: u64,
}

/// Reported findings that stand, by the id of their run.
pub(super) type Reported = BTreeMap<String, Vec<Finding>>;

/// An update of a finding, with the metadata of its run.
pub(super) type RunUpdate = (Arc<Metadata>, Update);

impl HeldSpans {
    /// Restores the spans and reported findings of a packed trace. All spans count as settled.
    pub(super) fn unpacked(text: SpanText, reported: Reported) -> Self {
        let reported_bytes = bytes_of(&reported);
        Self { settled: text.counts(), text, reported, reported_bytes, ..Self::default() }
    }

    pub(super) fn add_span(&mut self, now: u64, span: Span<'static>, options: &AssemblerOptions) {
        self.text.add_span(span);
        self.came(now, (1, 0), options);
    }

    pub(super) fn add_log(&mut self, now: u64, log: LogRecord<'static>, options: &AssemblerOptions) {
        self.text.add_log(log);
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

    /// Schedules a judgement of the spans, if any, at this time.
    pub(super) fn judge_at(&mut self, time: u64) {
        self.due = (!self.is_empty()).then_some(time);
    }

    pub(super) fn len(&self) -> usize {
        let (spans, logs) = self.text.counts();
        spans + logs
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn memory(&self) -> usize {
        self.text.memory() + self.reported_bytes + self.fresh.len() * size_of::<(u64, usize, usize)>()
    }

    /// Returns true if the trace is over although its root span is missing.
    pub(super) fn are_whole_below(&self) -> bool {
        are_whole_below(&self.text.first(self.text.counts()).0)
    }

    /// Judges the settled spans if that is due.
    pub(super) fn look(&mut self, now: u64, rules: &Rules) -> Vec<RunUpdate> {
        let Some(due) = self.due.filter(|due| *due <= now) else { return Vec::new() };
        (self.due, self.judged) = (None, (now, now - due));
        self.settle(now, rules.options.settle);
        if let Some(&(came, ..)) = self.fresh.front() {
            self.due = Some(rules.options.judge_again(came, self.judged, self.len()));
        }
        self.looked_at += (self.settled.0 + self.settled.1) as u64;
        self.judge(rules)
    }

    /// Marks the spans and log records that have been held for long enough as settled.
    fn settle(&mut self, now: u64, wait: Duration) {
        while let Some(&(came, spans, logs)) = self.fresh.front()
            && after(came, wait) <= now
        {
            self.fresh.pop_front();
            self.settled.0 += spans;
            self.settled.1 += logs;
        }
    }

    fn judge(&mut self, rules: &Rules) -> Vec<RunUpdate> {
        let text = std::mem::take(&mut self.text);
        let (mut spans, mut logs) = text.first(self.settled);
        put_in_order(&mut spans, &mut logs);
        let mut changes = Vec::new();
        let mut before = std::mem::take(&mut self.reported);
        for mut run in runs_so_far(&spans, &logs, rules.options.text_errors) {
            let (mut monitor, _) = follow(&mut run, rules);
            let updates = monitor.continue_from(before.remove(&run.id).unwrap_or_default());
            let reported = monitor.into_reported();
            if !updates.is_empty() {
                let metadata = Arc::new(run.metadata);
                changes.extend(updates.into_iter().map(|update| (Arc::clone(&metadata), update)));
            }
            if !reported.is_empty() {
                self.reported.insert(run.id, reported);
            }
        }
        // The runs left in `before` turned out to be parts of others.
        changes.extend(withdrawn(before));
        self.reported_bytes = bytes_of(&self.reported);
        let left = (spans.len(), logs.len());
        let has_duplicates = left != self.settled;
        self.text = if has_duplicates { text.with_first(self.settled, spans, logs) } else { text };
        self.settled = left;
        changes
    }

    /// Returns the runs of the trace as if it were over now.
    pub(super) fn runs(&self, rules: &Rules) -> Vec<AgentRun> {
        let (spans, logs) = self.text.first(self.text.counts());
        runs_of_trace(spans, logs, rules.options.text_errors)
    }
}

fn bytes_of(reported: &Reported) -> usize {
    reported.iter().map(|(id, findings)| 64 + id.len() + findings.len() * FINDING_BYTES).sum()
}

/// Returns updates that withdraw the findings of runs that no longer exist.
pub(super) fn withdrawn(reported: Reported) -> impl Iterator<Item = RunUpdate> {
    reported.into_iter().flat_map(|(id, findings)| {
        let metadata = Arc::new(Metadata { id: Some(id), ..Metadata::default() });
        let gone = |finding| (Arc::clone(&metadata), Update::new(UpdateKind::Withdrawn, finding));
        findings.into_iter().map(gone).collect::<Vec<_>>()
    })
}

/// Returns a monitor that has seen the run of an agent, with the counts of unpaired calls and answers.
pub(super) fn follow(run: &mut AgentRun, rules: &Rules) -> (Monitor, Unpaired) {
    let mut monitor = rules.monitor(&run.metadata);
    // Cannot fail: the steps are numbered in order.
    let unpaired = run.steps.finish(&mut |step| monitor.observe_step(step)).unwrap_or_default();
    (monitor, unpaired)
}
