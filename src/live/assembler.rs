//! Assembles traces from pieces that arrive in any order, and runs detectors over them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::assembler_options::AssemblerOptions;
use super::closed_traces::Remembered;
use super::event::{AssemblerCounts, CloseReason, LiveEvent, OpenRun};
use super::monitor::Monitor;
use super::open_trace::{Emit, OpenTrace, Profile, Rules};
use super::open_traces::{Slot, Slots, State};
use super::piece::{Piece, Reply};
use crate::detect::Detector;
use crate::error::{Error, Result};
use crate::read::SpanBatch;
use crate::trace::{Metadata, StepInput, WireStep};

/// Assembles many open traces from pieces in any order, and runs detectors over each.
///
/// A piece is a call, an answer, a message, a complete step, or a span.
///
/// **Calls and messages.** Detectors see a call once it is answered; an open call does not delay later steps.
/// Steps are numbered in call order. A finding is reported as soon as a detector confirms it. If a call is
/// answered after a later call was, or a piece arrives out of order, the trace is judged again from its beginning
/// once [`AssemblerOptions::settle`] has passed. Reported findings are therefore provisional: one that no
/// longer holds is withdrawn. Pieces are ordered by time; a piece without one gets its time of arrival.
///
/// **Spans.** Model spans often end after the spans of the tools they call. The spans that enclose a step determine
/// its run, and they end last. A trace of spans is judged once `settle` has passed since spans arrived. It closes
/// [`AssemblerOptions::grace`] after its root span has ended, and is then judged like a file of the same spans.
/// Until the enclosing spans arrive, steps below different missing spans provisionally count as steps of different
/// runs.
///
/// When a trace closes, its verdicts are the same as those of a scan of the same run, unless a detector
/// exceeded [`AssemblerOptions::max_memory`]. Every finding that was opened either appears in these verdicts,
/// has been merged into one that does, or is withdrawn.
///
/// **Pauses.** A silent trace is first *parked*: it is packed in memory, and its next piece resumes it with
/// the same finding ids. It is closed after [`AssemblerOptions::expire`]. A piece is *late* only if its trace
/// has been closed; late pieces are counted and dropped.
///
/// The caller passes the time, `now`, in nanoseconds since a fixed moment; it must not go back. If only some
/// pieces of a trace have a time of their own, that moment must be the start of 1970. The assembler has no timers: call
/// [`TraceAssembler::advance`] about 50 times a second. [A guide](crate::guide::embedding) shows a pipeline.
///
/// ```
/// use wrongturn::{Action, Status, TraceAssembler, default_detectors, live::{AssemblerOptions, LiveEvent, Reply}, trace::{Actor, StepInput}};
///
/// let mut traces = TraceAssembler::new(default_detectors(), AssemblerOptions::default())?;
/// let second = 1_000_000_000;
/// for number in 0..5 {
///     let (now, id) = (number * second, format!("call-{number}"));
///     let call = StepInput::action(Actor::Agent, Action::new("get_order").call_id(&id));
///     traces.call(now, "support-17", &call)?;
///     traces.answer(now + second / 2, "support-17", &Reply::new(&id, Status::Ok, "pending"));
/// }
/// let Some(LiveEvent::Update { update, .. }) = traces.next_event() else { panic!("a loop") };
/// assert_eq!(update.finding.id, "loop:2");
/// traces.close(9 * second, "support-17");
/// let end = std::iter::from_fn(|| traces.next_event()).last();
/// let Some(LiveEvent::Closed(closed)) = end else { panic!("it is over") };
/// assert_eq!((closed.steps, closed.verdicts[1].1.detected()), (5, Some(true)));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug)]
pub struct TraceAssembler {
    pub(super) rules: Rules,
    pub(super) now: u64,
    pub(super) slots: Slots,
    pub(super) closed: Remembered,
    pub(super) events: VecDeque<LiveEvent>,
    /// The fields `open` and `parked` stay 0: the slots count these pieces.
    pub(super) counts: AssemblerCounts,
}

impl TraceAssembler {
    /// Creates an assembler without traces.
    ///
    /// # Errors
    /// Same as [`Monitor::new`].
    pub fn new(detectors: Vec<Arc<dyn Detector>>, options: AssemblerOptions) -> Result<Self> {
        Monitor::new(&detectors)?;
        let closed = Remembered::new(options.remembered);
        Ok(Self {
            rules: Rules { detectors, profiles: Vec::new(), options },
            now: 0,
            slots: Slots::default(),
            closed,
            events: VecDeque::new(),
            counts: AssemblerCounts::default(),
        })
    }

    /// Uses these detectors, not the assembler's own, for runs that have all of these labels. If several profiles
    /// match, the one added first applies.
    ///
    /// The labels of a run read from spans include the resource attributes of its sender, such as
    /// `resource.service.name`. Other runs have the labels that [`TraceAssembler::describe`] sets before
    /// their first step.
    ///
    /// # Errors
    /// Same as [`Monitor::new`].
    pub fn with_profile(
        mut self,
        labels: BTreeMap<String, String>,
        detectors: Vec<Arc<dyn Detector>>,
    ) -> Result<Self> {
        Monitor::new(&detectors)?;
        self.rules.profiles.push(Profile { labels, detectors });
        Ok(self)
    }

    /// Takes a message, or an action that is complete.
    ///
    /// The index of the step is ignored; the assembler numbers steps itself.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if its progress is not finite; the step is then
    /// discarded.
    pub fn step(&mut self, now: u64, trace: &str, step: &StepInput<'_>) -> Result<()> {
        check(step)?;
        let piece = Piece::Step(Box::new(step.into()));
        self.piece(now, trace, step.time, piece);
        Ok(())
    }

    /// Takes a call whose answer comes separately. Calls with the same id take their answers in order of
    /// time.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if `call` is not an action with a call id, or if its
    /// progress is not finite; the call is then discarded.
    pub fn call(&mut self, now: u64, trace: &str, call: &StepInput<'_>) -> Result<()> {
        check(call)?;
        let kept = Box::new(WireStep::from(call));
        if kept.call_id.is_none() {
            return Err(Error::trace(
                "expected a call with an id; pass others to `step` when they are complete",
            ));
        }
        self.piece(now, trace, call.time, Piece::Call(kept));
        Ok(())
    }

    /// Takes the answer to a call, which may come before the call.
    pub fn answer(&mut self, now: u64, trace: &str, reply: &Reply<'_>) {
        let piece = Piece::Answer(Box::new(reply.into()));
        self.piece(now, trace, reply.time, piece);
    }

    /// Replaces the metadata of a trace, and opens the trace if necessary. Runs read from spans have metadata
    /// of their own.
    pub fn describe(&mut self, now: u64, trace: &str, metadata: Metadata) {
        self.clock(now);
        if let Some(id) = self.opened(trace, 0) {
            self.change(&id, |open, _, _| open.metadata = Arc::new(metadata));
        }
    }

    /// Takes spans and log records, which may belong to different traces.
    pub fn spans(&mut self, now: u64, batch: SpanBatch) {
        let now = self.clock(now);
        for span in batch.spans {
            if let Some(id) = self.opened(&span.trace_id, 1) {
                self.change(&id, |open, rules, _| open.add_span(now, span, &rules.options));
            }
        }
        for log in batch.logs {
            if let Some(id) = self.opened(&log.trace_id, 1) {
                self.change(&id, |open, rules, _| open.spans.add_log(now, log, &rules.options));
            }
        }
        self.advance(now);
    }

    /// Advances the time: judges settled pieces, closes traces that are over, and parks silent ones.
    pub fn advance(&mut self, now: u64) {
        let now = self.clock(now);
        while let Some(id) = self.slots.due_by(now) {
            self.unpark(&id);
            let options = &self.rules.options;
            let over =
                self.slots.change(&id, |open| (open.is_idle(now, options), open.is_over(now, options)));
            let Some((is_idle, reason)) = over else { break };
            if let Some(reason) = reason {
                self.end(&id, reason);
                continue;
            }
            self.change(&id, |_, _, _| ());
            if is_idle {
                self.park(&id);
            }
            self.keep_few_open();
        }
    }

    /// Closes a trace. Returns false if no trace with that id is open or parked.
    pub fn close(&mut self, now: u64, trace: &str) -> bool {
        self.clock(now);
        self.slots.id(trace).is_some_and(|id| {
            self.end(&id, CloseReason::Requested);
            true
        })
    }

    /// Closes all traces, in the order of their ids.
    pub fn close_all(&mut self, now: u64) {
        self.clock(now);
        while let Some(id) = self.slots.first() {
            self.end(&id, CloseReason::Requested);
        }
    }

    /// Returns the verdicts so far on each run of a trace, as if the trace were over now.
    ///
    /// Returns `None` if no trace with that id is open or parked. Calls without an answer are skipped; spans
    /// count even if they have not settled. Each call judges all spans of the trace again.
    #[must_use]
    pub fn peek(&self, trace: &str) -> Option<Vec<OpenRun>> {
        Some(match &self.slots.traces.get(trace)?.state {
            State::Open(open) => open.peek(&self.rules),
            State::Parked(parked) => OpenTrace::unpacked(parked).peek(&self.rules),
        })
    }

    /// Removes and returns the oldest event, if any.
    pub fn next_event(&mut self) -> Option<LiveEvent> {
        self.events.pop_front()
    }

    /// Returns counts of the pieces received so far.
    #[must_use]
    pub fn counts(&self) -> AssemblerCounts {
        AssemblerCounts { open: self.slots.open.pieces, parked: self.slots.parked.pieces, ..self.counts }
    }

    /// Returns the number of open traces.
    #[must_use]
    pub fn open_traces(&self) -> usize {
        self.slots.open.len()
    }

    /// Returns the number of parked traces.
    #[must_use]
    pub fn parked_traces(&self) -> usize {
        self.slots.parked.len()
    }

    /// Returns the number of unpaired calls and answers in open traces.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let open = self.slots.traces.values().filter_map(|slot| match &slot.state {
            State::Open(open) => Some(open.pieces.unpaired.calls + open.pieces.unpaired.messages),
            State::Parked(_) => None,
        });
        open.sum()
    }

    /// Returns an estimate of the bytes that open and parked traces hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Returns an estimate of the bytes that parked traces hold.
    #[must_use]
    pub fn parked_bytes(&self) -> usize {
        self.slots.parked.bytes
    }

    /// Returns the closed traces that received late pieces, each with the number of late pieces, sorted by id.
    /// Includes only traces that are still [remembered](AssemblerOptions::remembered).
    pub fn late(&self) -> impl Iterator<Item = (&str, u64)> {
        self.closed.late()
    }

    fn clock(&mut self, now: u64) -> u64 {
        self.now = self.now.max(now);
        self.now
    }

    fn piece(&mut self, now: u64, trace: &str, time: Option<u64>, piece: Piece) {
        let now = self.clock(now);
        if let Some(id) = self.opened(trace, 1) {
            let time = time.unwrap_or(now);
            self.change(&id, |open, rules, emit| open.take((now, &id), time, piece, rules, emit));
        }
        self.advance(now);
    }

    /// Counts pieces of a trace and returns its id. Opens or unpacks the trace if necessary; returns `None` if
    /// the pieces are late.
    fn opened(&mut self, trace: &str, pieces: u64) -> Option<Arc<str>> {
        self.counts.received += pieces;
        let id = match self.slots.id(trace) {
            Some(id) => id,
            None if self.is_late(trace, pieces) => return None,
            None => {
                let id: Arc<str> = trace.into();
                self.slots.insert(&id, State::Open(Box::default()), 0);
                id
            }
        };
        self.unpark(&id);
        self.slots.came(self.now, &id, pieces);
        self.keep_few_open();
        Some(id)
    }

    fn keep_few_open(&mut self) {
        while self.slots.open.len() > self.rules.options.max_open.max(1)
            && let Some(silent) = self.slots.open.longest_silent()
        {
            self.park(&silent);
        }
    }

    /// Returns true, and counts the pieces as late, if the trace has been closed.
    fn is_late(&mut self, trace: &str, pieces: u64) -> bool {
        let Some((trace, count)) = self.closed.count(trace, pieces) else { return false };
        self.counts.late += pieces;
        if count == pieces && pieces > 0 {
            self.events.push_back(LiveEvent::Late { trace });
        }
        true
    }

    /// Changes an open trace, judges what is due, and enforces the limits.
    fn change(&mut self, id: &Arc<str>, change: impl FnOnce(&mut OpenTrace, &Rules, Emit<'_>)) {
        let (now, rules, events) = (self.now, &self.rules, &mut self.events);
        let changed = self.slots.change(id, |open| {
            let before = (open.pieces.out_of_order, open.spans.looked_at);
            let mut emit = |event| events.push_back(event);
            change(open, rules, &mut emit);
            open.work(now, id, rules, &mut emit);
            self.counts.out_of_order += open.pieces.out_of_order - before.0;
            self.counts.looked_at += open.spans.looked_at - before.1;
            (open.next_due(&rules.options), open.len() > rules.options.max_pieces)
        });
        let Some((due, is_full)) = changed else { return };
        self.slots.set_due(id, due);
        if is_full {
            self.end(id, CloseReason::TooManyPieces);
        }
        self.keep_below_cap();
    }

    pub(super) fn keep_below_cap(&mut self) {
        let most = self.rules.options.max_bytes;
        while self.slots.bytes() > most {
            let open = self.slots.open.longest_silent().filter(|_| self.slots.open.bytes > most / 2);
            match (open, self.slots.parked.longest_silent()) {
                (Some(open), _) if self.slots.open.len() > 1 => self.park(&open),
                (Some(id), _) | (None, Some(id)) => self.end(&id, CloseReason::TooManyBytes),
                (None, None) => break,
            }
        }
    }

    fn end(&mut self, id: &Arc<str>, reason: CloseReason) {
        let Some(Slot { state, pieces, .. }) = self.slots.remove(id) else { return };
        let events = &mut self.events;
        let findings = state.into_open().close(id, reason, &self.rules, &mut |event| events.push_back(event));
        match findings {
            None => self.counts.ignored += pieces,
            Some(findings) => {
                self.counts.findings += findings;
                let (of_pieces, of_traces) = if reason.is_eviction() {
                    (&mut self.counts.evicted, &mut self.counts.traces_evicted)
                } else {
                    (&mut self.counts.judged, &mut self.counts.traces_closed)
                };
                *of_pieces += pieces;
                *of_traces += 1;
            }
        }
        self.closed.insert(Arc::clone(id), 0);
    }
}

fn check(step: &StepInput<'_>) -> Result<()> {
    match step.progress.filter(|progress| !progress.is_finite()) {
        Some(progress) => Err(Error::trace(format!("expected finite progress, got {progress}"))),
        None => Ok(()),
    }
}
