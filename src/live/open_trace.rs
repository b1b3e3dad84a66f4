//! One open trace: its pieces, detectors and spans.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assembler_options::{AssemblerOptions, after};
use super::event::{CloseReason, ClosedTrace, LiveEvent, OpenRun};
use super::monitor::Monitor;
use super::piece::Piece;
use super::pieces::{Pieces, Place};
use super::spans::{HeldSpans, follow, withdrawn};
use super::update::{Update, UpdateKind};
use crate::detect::{Detector, FINDING_BYTES, Finding};
use crate::read::Span;
use crate::trace::{Metadata, RouteStatus, Unpaired};

const NO_ROUTE: &str = "live traces do not record a reference route";

/// The detectors and options that all open traces share.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) detectors: Vec<Arc<dyn Detector>>,
    pub(super) profiles: Vec<Profile>,
    pub(super) options: AssemblerOptions,
}

/// Detectors for the runs that have all of these labels.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) detectors: Vec<Arc<dyn Detector>>,
}

impl Rules {
    /// Returns a monitor with the detectors that apply to a run with this metadata.
    pub(super) fn monitor(&self, metadata: &Metadata) -> Monitor {
        let fits = |profile: &&Profile| {
            profile.labels.iter().all(|(key, value)| metadata.labels.get(key) == Some(value))
        };
        let profile = self.profiles.iter().find(fits);
        let detectors = profile.map_or(&self.detectors, |profile| &profile.detectors);
        let routing = RouteStatus::Unknown(NO_ROUTE.into());
        Monitor::open(detectors, &routing).with_memory_limit(self.options.max_memory)
    }
}

/// An open trace.
///
/// Its calls go to the detectors as they are answered, each under its index in call order. If a call is
/// answered after a later one, or a piece arrives out of order, the trace is judged again from its beginning.
#[derive(Debug, Default)]
pub(super) struct OpenTrace {
    pub(super) metadata: Arc<Metadata>,
    pub(super) pieces: Pieces,
    monitor: Option<Monitor>,
    /// One more than the index of the last step that the monitor has seen.
    next: u64,
    /// When the pieces are to be judged again.
    judge_again: Option<u64>,
    /// When they were last judged again.
    judged: u64,
    /// Findings that were reported before the trace was parked.
    pub(super) reported: Vec<Finding>,
    pub(super) spans: HeldSpans,
    /// When the latest piece arrived.
    pub(super) last: u64,
    /// When the completed root span of the trace arrived.
    pub(super) ended: Option<u64>,
    /// True if the trace was checked for an end without a root span after its latest span.
    quiet_checked: bool,
}

pub(super) type Emit<'e> = &'e mut dyn FnMut(LiveEvent);

impl OpenTrace {
    /// Adds a piece. Feeds a step that it completes to the detectors, or schedules a new judgement.
    pub(super) fn take(
        &mut self,
        (now, trace): (u64, &Arc<str>),
        time: u64,
        piece: Piece,
        rules: &Rules,
        emit: Emit<'_>,
    ) {
        let complete = self.pieces.add(time, piece);
        if let Some(place) = complete
            && !self.feed(place, trace, rules, emit)
        {
            let due = rules.options.judge_again(now, (self.judged, 0), self.pieces.len());
            self.judge_again.get_or_insert(due);
        }
    }

    /// Feeds a step to the detectors. Returns false if they have already seen a later step or must see all steps
    /// again.
    fn feed(&mut self, place: Place, trace: &Arc<str>, rules: &Rules, emit: Emit<'_>) -> bool {
        let Some((number, input)) = self.pieces.step(place) else { return false };
        if number < self.next || self.monitor.is_none() && self.judge_again.is_some() {
            return false;
        }
        let monitor = self.monitor.get_or_insert_with(|| rules.monitor(&self.metadata));
        // Cannot fail: the progress was checked when the step was taken, and its index is higher than all
        // before it.
        if monitor.observe(input).is_ok() {
            self.next = number + 1;
            for update in monitor.updates() {
                emit(event(trace, &self.metadata, update));
            }
        }
        true
    }

    pub(super) fn add_span(&mut self, now: u64, span: Span<'static>, options: &AssemblerOptions) {
        if span.parent.is_none() && span.end.is_some() {
            self.ended = Some(now);
        }
        self.quiet_checked = false;
        self.spans.add_span(now, span, options);
    }

    /// Schedules a judgement of the whole trace. An unpacked trace needs it because it has no detector state.
    pub(super) fn resume(&mut self, now: u64, options: &AssemblerOptions) {
        if self.pieces.len() > 0 {
            self.judge_again = Some(now);
        }
        if options.min_spans_to_judge > 0 {
            self.spans.judge_at(now);
        }
        self.quiet_checked = false;
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len() + self.spans.len()
    }

    pub(super) fn memory(&self) -> usize {
        let monitor = self.monitor.as_ref().map_or(0, Monitor::memory);
        let reported = self.reported.len() * FINDING_BYTES;
        size_of::<Self>()
            + bytes_of(&self.metadata)
            + self.pieces.bytes
            + self.spans.memory()
            + monitor
            + reported
    }

    /// Returns the time at which the trace next needs attention if nothing more arrives.
    pub(super) fn next_due(&self, options: &AssemblerOptions) -> u64 {
        let end = match self.ended {
            Some(ended) => after(ended, options.grace),
            None if self.spans.is_empty() || self.quiet_checked => after(self.last, options.idle),
            None => after(self.last, options.idle.min(options.quiet)),
        };
        self.judge_again.into_iter().chain(self.spans.due).fold(end, u64::min)
    }

    /// Returns the reason to close the trace at this time, or `None` to keep it open.
    pub(super) fn is_over(&mut self, now: u64, options: &AssemblerOptions) -> Option<CloseReason> {
        if self.is_idle(now, options) && self.expires(options) <= now {
            return Some(CloseReason::Expired);
        }
        if let Some(ended) = self.ended {
            return (after(ended, options.grace) <= now).then_some(CloseReason::Ended);
        }
        if !self.quiet_checked && !self.spans.is_empty() && after(self.last, options.quiet) <= now {
            self.quiet_checked = true;
            return self.spans.are_whole_below().then_some(CloseReason::Quiet);
        }
        None
    }

    /// Returns when the trace is closed if nothing more arrives and its root span has not ended.
    pub(super) fn expires(&self, options: &AssemblerOptions) -> u64 {
        after(self.last, options.expire.max(options.idle))
    }

    /// Returns true if the root span has not ended and the trace has been silent long enough to be parked.
    pub(super) fn is_idle(&self, now: u64, options: &AssemblerOptions) -> bool {
        self.ended.is_none() && after(self.last, options.idle) <= now
    }

    /// Judges pieces and spans again if that is due at this time.
    pub(super) fn work(&mut self, now: u64, trace: &Arc<str>, rules: &Rules, emit: Emit<'_>) {
        if self.judge_again.is_some_and(|due| due <= now) {
            (self.judge_again, self.judged) = (None, now);
            self.pieces.sort();
            let before = self.take_reported();
            let mut monitor = self.follow(rules, false);
            for update in monitor.continue_from(before) {
                emit(event(trace, &self.metadata, update));
            }
            self.next = monitor.next_index();
            self.monitor = Some(monitor);
        }
        for (metadata, update) in self.spans.look(now, rules) {
            emit(event(trace, &metadata, update));
        }
    }

    /// Takes the findings that were reported on pieces and still stand.
    pub(super) fn take_reported(&mut self) -> Vec<Finding> {
        match self.monitor.take() {
            Some(monitor) => monitor.into_reported(),
            None => std::mem::take(&mut self.reported),
        }
    }

    /// Like [`OpenTrace::take_reported`], as copies.
    pub(super) fn reported(&self) -> Vec<Finding> {
        match &self.monitor {
            Some(monitor) => monitor.reported().cloned().collect(),
            None => self.reported.clone(),
        }
    }

    /// Returns a monitor that has seen all pieces in call order, with or without open calls.
    fn follow(&self, rules: &Rules, with_open_calls: bool) -> Monitor {
        let mut monitor = rules.monitor(&self.metadata);
        for (_, input) in self.pieces.in_order(with_open_calls) {
            // Cannot fail, as in `feed`.
            let _ = monitor.observe(input);
        }
        monitor
    }

    /// Judges all pieces and spans. Returns the number of findings, or `None` if the trace holds no run.
    pub(super) fn close(
        mut self,
        trace: &Arc<str>,
        reason: CloseReason,
        rules: &Rules,
        emit: Emit<'_>,
    ) -> Option<u64> {
        let mut findings = None;
        let mut give = |monitor: &mut Monitor, metadata: Arc<Metadata>, unpaired: Unpaired| {
            let conclusion = monitor.conclude();
            let new =
                conclusion.verdicts.iter().map(|(_, verdict)| verdict.findings().len() as u64).sum::<u64>();
            findings = Some(findings.unwrap_or_default() + new);
            for update in conclusion.updates {
                if update.kind != UpdateKind::Closed {
                    emit(event(trace, &metadata, update));
                }
            }
            emit(LiveEvent::Closed(Box::new(ClosedTrace {
                trace: Arc::clone(trace),
                metadata: Arc::unwrap_or_clone(metadata),
                reason,
                steps: monitor.steps(),
                cost: monitor
                    .cost_inside(conclusion.verdicts.iter().flat_map(|(_, verdict)| verdict.findings())),
                verdicts: conclusion.verdicts,
                unpaired,
            })));
        };
        if self.spans.is_empty() || self.pieces.len() > 0 {
            self.pieces.sort();
            let is_current = self.judge_again.is_none() && self.pieces.unpaired.calls == 0;
            let mut monitor = self.monitor.take_if(|_| is_current).unwrap_or_else(|| {
                let before = self.take_reported();
                let mut monitor = self.follow(rules, true);
                monitor.take_over(before);
                monitor
            });
            give(&mut monitor, Arc::clone(&self.metadata), self.pieces.unpaired);
        }
        let mut reported = std::mem::take(&mut self.spans.reported);
        for mut run in self.spans.runs(rules) {
            let (mut monitor, unpaired) = follow(&mut run, rules);
            monitor.take_over(reported.remove(&run.id).unwrap_or_default());
            give(&mut monitor, Arc::new(run.metadata), unpaired);
        }
        for (metadata, update) in withdrawn(reported) {
            emit(event(trace, &metadata, update));
        }
        findings
    }

    /// Returns the verdicts on each run so far, as if the trace were over. Skips unanswered calls.
    pub(super) fn peek(&self, rules: &Rules) -> Vec<OpenRun> {
        let open = |metadata: Metadata, monitor: &Monitor| OpenRun {
            metadata,
            steps: monitor.steps(),
            verdicts: monitor.peek(),
        };
        let mut runs = Vec::new();
        match &self.monitor {
            Some(monitor) if self.judge_again.is_none() => {
                runs.push(open((*self.metadata).clone(), monitor));
            }
            _ if self.pieces.len() > 0 => {
                let mut pieces = Pieces::default();
                pieces.append(self.pieces.iter().map(|(time, piece)| (time, piece.clone())));
                let sorted = Self { pieces, metadata: Arc::clone(&self.metadata), ..Self::default() };
                runs.push(open((*self.metadata).clone(), &sorted.follow(rules, false)));
            }
            _ => {}
        }
        for mut run in self.spans.runs(rules) {
            let (monitor, _) = follow(&mut run, rules);
            runs.push(open(run.metadata, &monitor));
        }
        runs
    }
}

/// Returns an estimate of the bytes of metadata.
fn bytes_of(metadata: &Metadata) -> usize {
    let Metadata { id, agent, parent, model, domain, task, trial: _, source, termination, labels } = metadata;
    let texts = [id, parent, task, source, termination].into_iter().flatten().map(String::len);
    let shared = [agent, model, domain].into_iter().flatten().map(|text| text.len());
    let labels = labels.iter().map(|(key, value)| 96 + key.len() + value.len());
    size_of::<Metadata>() + texts.chain(shared).chain(labels).sum::<usize>()
}

fn event(trace: &Arc<str>, metadata: &Arc<Metadata>, update: Update) -> LiveEvent {
    LiveEvent::Update { trace: Arc::clone(trace), metadata: Arc::clone(metadata), update: Box::new(update) }
}
