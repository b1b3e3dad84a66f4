//! The spans and log records of one open trace, and what is reported of them before its end.
//!
//! Spans show what happened only when they are seen together: whose run a step is part of is known when the spans around
//! it have come, and those come last, as they end last. What can be said before is provisional.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::open::Rules;
use super::options::nanoseconds;
use super::series::Series;
use super::session::Monitor;
use super::update::Update;
use crate::detect::Finding;
use crate::read::{AgentRun, LogRecord, Span, put_in_order, runs_of_trace, runs_so_far};
use crate::trace::{Assembler, Metadata, Unpaired};

/// What is held of a trace of spans.
#[derive(Debug, Default)]
pub(super) struct HeldSpans {
    spans: Vec<Span<'static>>,
    logs: Vec<LogRecord<'static>>,
    /// How many spans and log records, from the first, have been held for the whole window.
    settled: (usize, usize),
    /// When the others came, and how many of each.
    fresh: VecDeque<(u64, usize, usize)>,
    bytes: usize,
    /// How many must have settled before the trace is looked at next; 0: it has not been looked at.
    next_look: usize,
    /// When so many will have settled.
    due: Option<u64>,
    /// By run, what has been reported of each detector's findings.
    reported: BTreeMap<String, Vec<Series>>,
    reported_bytes: usize,
    /// How many pieces all looks together have gone through.
    pub(super) looked_at: u64,
}

/// What became of a finding of a run that is not over.
pub(super) type RunUpdate = (Arc<Metadata>, Update);

impl HeldSpans {
    pub(super) fn add_span(&mut self, now: u64, span: Span<'static>) {
        self.bytes += span.bytes();
        self.spans.push(span);
        self.came(now, 1, 0);
    }

    pub(super) fn add_log(&mut self, now: u64, log: LogRecord<'static>) {
        self.bytes += log.bytes();
        self.logs.push(log);
        self.came(now, 0, 1);
    }

    fn came(&mut self, now: u64, spans: usize, logs: usize) {
        match self.fresh.back_mut() {
            Some((came, more_spans, more_logs)) if *came == now => {
                *more_spans += spans;
                *more_logs += logs;
            }
            _ => self.fresh.push_back((now, spans, logs)),
        }
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

    /// When it is to be looked at next.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Judges what has settled, where that has grown by half since the last time: all looks together go through three
    /// times what there is at most. Gives what became of findings.
    pub(super) fn look(&mut self, now: u64, rules: &Rules) -> Vec<RunUpdate> {
        let options = &rules.options;
        if options.first_look == 0 {
            return Vec::new();
        }
        let wait = nanoseconds(options.reorder);
        self.plan(now, wait, options.first_look);
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.due = None;
        self.settle(now, wait);
        let settled = self.settled.0 + self.settled.1;
        self.next_look = settled + (settled / 2).max(1);
        self.looked_at += settled as u64;
        self.plan(now, wait, options.first_look);
        self.judge(rules)
    }

    /// Where there are enough, they will have settled when the window is over.
    fn plan(&mut self, now: u64, wait: u64, first_look: usize) {
        if self.due.is_none() && self.len() >= self.next_look.max(first_look) {
            self.due = Some(now.saturating_add(wait));
        }
    }

    /// Puts in order what has been held for the whole window.
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
            let spans = self.spans.iter().map(Span::bytes).sum::<usize>();
            self.bytes = spans + self.logs.iter().map(LogRecord::bytes).sum::<usize>();
        }
    }

    fn judge(&mut self, rules: &Rules) -> Vec<RunUpdate> {
        let spans = self.spans.get(..self.settled.0).unwrap_or_default();
        let logs = self.logs.get(..self.settled.1).unwrap_or_default();
        let mut changes = Vec::new();
        let mut before = std::mem::take(&mut self.reported);
        for run in runs_so_far(spans, logs, rules.options.text_errors) {
            let (mut monitor, _) = follow(&run, rules);
            let certain: Vec<Finding> = monitor.new_findings().collect();
            let known = before.remove(&run.id);
            if certain.is_empty() && known.is_none() {
                continue;
            }
            let mut all = known.unwrap_or_default();
            let mut updates = Vec::new();
            let verdicts = monitor.peek();
            all.resize_with(verdicts.len(), Series::default);
            for (series, (id, verdict)) in all.iter_mut().zip(&verdicts) {
                let own = certain.iter().filter(|finding| finding.detector == *id).cloned();
                series.judge_again(own, verdict, &mut updates);
            }
            if all.iter().any(|series| !series.is_empty()) {
                self.reported.insert(run.id.clone(), all);
            }
            let metadata = Arc::new(run.metadata());
            changes.extend(updates.into_iter().map(|update| (Arc::clone(&metadata), update)));
        }
        // Runs that turned out to be part of others.
        changes.extend(before.into_iter().flat_map(|(id, all)| gone(id, all)));
        let bytes = self.reported.iter().map(|(id, all)| {
            let series = all.iter().map(|series| size_of::<Series>() + series.memory());
            64 + id.len() + series.sum::<usize>()
        });
        self.reported_bytes = bytes.sum();
        changes
    }

    /// The runs of the trace, which is over, and what had been reported of each.
    pub(super) fn close(self, rules: &Rules) -> (Vec<AgentRun>, ReportedRuns) {
        let runs = runs_of_trace(self.spans, self.logs, rules.options.text_errors);
        (runs, ReportedRuns(self.reported))
    }

    /// The runs as they stand, as if the trace were over.
    pub(super) fn peek(&self, rules: &Rules) -> Vec<AgentRun> {
        runs_of_trace(self.spans.clone(), self.logs.clone(), rules.options.text_errors)
    }
}

/// What had been reported of the runs of a trace that is over.
pub(super) struct ReportedRuns(BTreeMap<String, Vec<Series>>);

impl ReportedRuns {
    /// What became of the findings of a run.
    pub(super) fn end(&mut self, run: &str, monitor: &Monitor) -> Vec<Update> {
        let mut updates = Vec::new();
        if let Some(mut reported) = self.0.remove(run) {
            for (series, (_, verdict)) in reported.iter_mut().zip(&monitor.peek()) {
                series.end(verdict, &mut updates);
            }
        }
        updates
    }

    /// Takes back what was reported of runs that turned out not to exist.
    pub(super) fn rest(self) -> impl Iterator<Item = RunUpdate> {
        self.0.into_iter().flat_map(|(id, all)| gone(id, all))
    }
}

/// Takes back what was reported of a run.
fn gone(id: String, all: Vec<Series>) -> Vec<RunUpdate> {
    let mut updates = Vec::new();
    for series in all {
        series.withdraw_all(&mut updates);
    }
    let metadata = Arc::new(Metadata { id: Some(id), ..Metadata::default() });
    updates.into_iter().map(|update| (Arc::clone(&metadata), update)).collect()
}

/// The run of an agent, step by step.
pub(super) fn follow(run: &AgentRun, rules: &Rules) -> (Monitor, Unpaired) {
    let mut monitor = rules.monitor();
    let mut assembler = Assembler::default();
    assembler.begin(true);
    run.put(&mut assembler);
    // The steps of a run bear no numbers of their own that could break a rule.
    let unpaired = assembler.finish(&mut |step| monitor.observe_step(step)).unwrap_or_default();
    (monitor, unpaired)
}
