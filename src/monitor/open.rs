//! One open trace: its pieces on their way, its detectors, its spans.

use std::sync::Arc;

use super::event::{CloseReason, ClosedTrace, LiveEvent, OpenRun};
use super::options::{AssemblerOptions, nanoseconds};
use super::pairing::Pairing;
use super::session::Monitor;
use super::spans::{HeldSpans, follow};
use super::update::{Update, UpdateKind};
use crate::detect::Detector;
use crate::read::Span;
use crate::trace::{Metadata, Routing, Unpaired};

/// Why a live trace has no route.
const NO_ROUTE: &str = "a live trace tells no expected route";

/// The same for everything that is open.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) detectors: Vec<Arc<dyn Detector>>,
    pub(super) options: AssemblerOptions,
}

impl Rules {
    pub(super) fn monitor(&self) -> Monitor {
        let routing = Routing::Unknown(NO_ROUTE.into());
        Monitor::open(&self.detectors, &routing).with_memory_limit(self.options.max_memory)
    }
}

/// An open trace.
#[derive(Debug, Default)]
pub(super) struct OpenTrace {
    pub(super) metadata: Arc<Metadata>,
    pub(super) pairing: Pairing,
    monitor: Option<Monitor>,
    pub(super) spans: HeldSpans,
    /// How many pieces have come.
    pub(super) pieces: u64,
    /// When the latest did.
    pub(super) last: u64,
    /// When the end of its root span came.
    ended: Option<u64>,
    /// Under which it stands in the lists of the assembler.
    pub(super) due: u64,
    pub(super) turn: u64,
    pub(super) bytes: usize,
}

impl OpenTrace {
    pub(super) fn add_span(&mut self, now: u64, span: Span<'static>) {
        if span.parent.is_none() && span.end.is_some() {
            self.ended = Some(now);
        }
        self.spans.add_span(now, span);
    }

    /// How many pieces wait for something.
    pub(super) fn held(&self) -> usize {
        self.pairing.len() + self.spans.len()
    }

    /// About how many bytes it holds.
    pub(super) fn memory(&self) -> usize {
        let monitor = self.monitor.as_ref().map_or(0, Monitor::memory);
        size_of::<Self>() + self.pairing.bytes + self.spans.memory() + monitor
    }

    /// When something is to be done for it next, if nothing comes.
    pub(super) fn next_due(&self, options: &AssemblerOptions) -> u64 {
        let close = self.last.saturating_add(nanoseconds(options.idle));
        let close =
            self.ended.map_or(close, |ended| close.min(ended.saturating_add(nanoseconds(options.grace))));
        let piece = self.pairing.due(nanoseconds(options.reorder), nanoseconds(options.answer));
        // When the end is near, it is awaited.
        let look = self.spans.due().filter(|_| self.ended.is_none());
        piece.into_iter().chain(look).fold(close, u64::min)
    }

    /// Why it is to be closed at this time.
    pub(super) fn is_over(&self, now: u64, options: &AssemblerOptions) -> Option<CloseReason> {
        if self.ended.is_some_and(|ended| ended.saturating_add(nanoseconds(options.grace)) <= now) {
            return Some(CloseReason::Ended);
        }
        (self.last.saturating_add(nanoseconds(options.idle)) <= now).then_some(CloseReason::Idle)
    }

    /// Hands on what is ready at this time.
    pub(super) fn work(
        &mut self,
        now: u64,
        trace: &Arc<str>,
        rules: &Rules,
        emit: &mut dyn FnMut(LiveEvent),
    ) {
        let options = &rules.options;
        if self.ended.is_none() {
            for (metadata, update) in self.spans.look(now, rules) {
                emit(event(trace, &metadata, update));
            }
        }
        self.pairing.release(now, nanoseconds(options.reorder));
        if self.pairing.len() > options.max_held {
            self.pairing.release_all(now);
        }
        loop {
            let wait = if self.pairing.len() > options.max_held { 0 } else { nanoseconds(options.answer) };
            let Some(step) = self.pairing.next(now, wait) else { break };
            let monitor = self.monitor.get_or_insert_with(|| rules.monitor());
            // The progress was looked at when the step was taken, and its index follows the one before.
            if monitor.observe(step.input()).is_ok() {
                for update in monitor.updates() {
                    emit(event(trace, &self.metadata, update));
                }
            }
        }
    }

    /// Judges what there is. Gives how many findings there were, or `None` where nobody acts.
    pub(super) fn close(
        mut self,
        now: u64,
        trace: &Arc<str>,
        reason: CloseReason,
        rules: &Rules,
        emit: &mut dyn FnMut(LiveEvent),
    ) -> Option<u64> {
        let held = self.pairing.held() as u64;
        self.pairing.release_all(now);
        while let Some(step) = self.pairing.next(now, 0) {
            let monitor = self.monitor.get_or_insert_with(|| rules.monitor());
            let _ = monitor.observe(step.input());
        }
        let mut findings = None;
        let mut give = |monitor: &mut Monitor, over: Over, updates: Vec<Update>| {
            let conclusion = monitor.conclude();
            let new =
                conclusion.verdicts.iter().map(|(_, verdict)| verdict.findings().len() as u64).sum::<u64>();
            findings = Some(findings.unwrap_or_default() + new);
            for update in updates.into_iter().chain(conclusion.updates) {
                if update.kind != UpdateKind::Closed {
                    emit(event(trace, &over.metadata, update));
                }
            }
            emit(LiveEvent::Closed(Box::new(ClosedTrace {
                trace: Arc::clone(trace),
                metadata: Arc::unwrap_or_clone(over.metadata),
                reason,
                steps: monitor.steps(),
                verdicts: conclusion.verdicts,
                unpaired: over.unpaired,
                held: over.held,
            })));
        };
        if self.spans.is_empty() || self.monitor.is_some() {
            let mut monitor = self.monitor.take().unwrap_or_else(|| rules.monitor());
            let over = Over { metadata: self.metadata, unpaired: self.pairing.unpaired(), held };
            give(&mut monitor, over, Vec::new());
        }
        let (runs, mut reported) = self.spans.close(rules);
        for run in &runs {
            let (mut monitor, unpaired) = follow(run, rules);
            let updates = reported.end(&run.id, &monitor);
            give(&mut monitor, Over { metadata: Arc::new(run.metadata()), unpaired, held: 0 }, updates);
        }
        for (metadata, update) in reported.rest() {
            emit(event(trace, &metadata, update));
        }
        findings
    }

    /// The verdicts on what has come so far, of each run, as if the trace were over.
    pub(super) fn peek(&self, rules: &Rules) -> Vec<OpenRun> {
        let open = |metadata: Metadata, monitor: &Monitor| OpenRun {
            metadata,
            steps: monitor.steps(),
            verdicts: monitor.peek(),
        };
        let pieces = self.monitor.as_ref().map(|monitor| open((*self.metadata).clone(), monitor));
        let runs = self.spans.peek(rules);
        let spans = runs.iter().map(|run| open(run.metadata(), &follow(run, rules).0));
        pieces.into_iter().chain(spans).collect()
    }
}

/// What is known of a run that is over, beside its verdicts.
struct Over {
    metadata: Arc<Metadata>,
    unpaired: Unpaired,
    held: u64,
}

fn event(trace: &Arc<str>, metadata: &Arc<Metadata>, update: Update) -> LiveEvent {
    LiveEvent::Update { trace: Arc::clone(trace), metadata: Arc::clone(metadata), update: Box::new(update) }
}
