//! Puts traces together from pieces that arrive in any order, and runs the detectors over them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::event::{AssemblerCounts, CloseReason, LiveEvent, OpenRun};
use super::open::{OpenTrace, Rules};
use super::options::AssemblerOptions;
use super::piece::{Kept, KeptReply, Piece, Reply};
use super::remembered::Remembered;
use super::session::Monitor;
use crate::detect::Detector;
use crate::error::{Error, Result};
use crate::read::SpanBatch;
use crate::trace::{Metadata, StepInput};

/// Puts many open traces together from pieces in any order, and runs detectors over each.
///
/// Pieces are what a pipeline receives: calls now and their answers later, messages, complete steps, or spans.
///
/// Pieces of one trace are put in the order of their times, as far as they come within a window
/// ([`AssemblerOptions::reorder`]); a piece without a time has the time at which it comes. A call goes on when its
/// answer is there. What becomes of findings meanwhile, and the verdicts in the end, are events.
///
/// Spans show what happened only when they are seen together: model spans often end after the tools that they called,
/// and whose run a step is part of is known when the spans around it have ended, which come last. A trace of spans is
/// judged when it is closed, a while after the end of its root span. Before, what has been held for the window is
/// judged whenever there is half as much again ([`AssemblerOptions::first_look`]), and what detectors are certain of is
/// reported. That is provisional: steps below different spans that have not come are taken for different runs, and where
/// later spans put steps into another run, another turn or another place, a finding is withdrawn, or has another id at
/// the end. Every finding that was opened is in the last verdicts, merged into one of them, or withdrawn.
///
/// Time is what the caller says, in nanoseconds since whenever; it never goes back. Nothing happens by itself:
/// [`TraceAssembler::advance`] is to be called now and then. The guide on [embedding](crate::guide::embedding) has a
/// pipeline in full.
///
/// ```
/// use wrongturn::{
///     Action, Actor, AssemblerOptions, LiveEvent, Reply, Status, StepInput, TraceAssembler,
///     default_detectors,
/// };
///
/// let mut traces = TraceAssembler::new(default_detectors(), AssemblerOptions::default())?;
/// let second = 1_000_000_000;
/// for number in 0..5 {
///     let (now, id) = (number * second, format!("call-{number}"));
///     let call = StepInput::action(Actor::Agent, Action::new("get_order").call_id(&id));
///     traces.call(now, "support-17", &call)?;
///     traces.answer(now + second / 2, "support-17", &Reply::new(&id, Status::Ok, "pending"));
/// }
/// traces.advance(9 * second);
/// let Some(LiveEvent::Update { update, .. }) = traces.next_event() else { panic!("a loop") };
/// assert_eq!(update.finding.id, "loop:2");
/// traces.close(9 * second, "support-17");
/// let Some(LiveEvent::Closed(closed)) = traces.next_event() else { panic!("it is over") };
/// assert_eq!((closed.steps, closed.verdicts[1].1.detected()), (5, Some(true)));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug)]
pub struct TraceAssembler {
    rules: Rules,
    now: u64,
    open: BTreeMap<Arc<str>, OpenTrace>,
    /// When something is to be done for each.
    due: BTreeSet<(u64, Arc<str>)>,
    /// The open traces, the one that was silent longest first.
    silent: BTreeSet<(u64, Arc<str>)>,
    turns: u64,
    bytes: usize,
    closed: Remembered,
    events: VecDeque<LiveEvent>,
    counts: AssemblerCounts,
}

impl TraceAssembler {
    /// An assembler without traces.
    ///
    /// # Errors
    /// As [`Monitor::new`].
    pub fn new(detectors: Vec<Arc<dyn Detector>>, options: AssemblerOptions) -> Result<Self> {
        Monitor::new(&detectors, &None.into())?;
        let closed = Remembered::new(options.remembered);
        Ok(Self {
            rules: Rules { detectors, options },
            now: 0,
            open: BTreeMap::new(),
            due: BTreeSet::new(),
            silent: BTreeSet::new(),
            turns: 0,
            bytes: 0,
            closed,
            events: VecDeque::new(),
            counts: AssemblerCounts::default(),
        })
    }

    /// Takes a message, or an action that is complete.
    ///
    /// Its index is not looked at: steps are numbered as they are put in order.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) where the progress is not finite; the step is then not taken.
    pub fn step(&mut self, now: u64, trace: &str, step: &StepInput<'_>) -> Result<()> {
        check(step)?;
        let piece = Piece::Step(Box::new(Kept::of(step)));
        self.piece(now, trace, step.time, piece);
        Ok(())
    }

    /// Takes a call whose answer comes later. Calls of one id are answered in the order of their times.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) where it is no action with a call id, or the progress is not finite;
    /// it is then not taken.
    pub fn call(&mut self, now: u64, trace: &str, call: &StepInput<'_>) -> Result<()> {
        check(call)?;
        let kept = Box::new(Kept::of(call));
        if kept.call_id().is_none() {
            return Err(Error::trace("a call without an id finds no answer: hand it in when it is complete"));
        }
        self.piece(now, trace, call.time, Piece::Call(kept));
        Ok(())
    }

    /// Takes the answer to a call; it may come before the call.
    pub fn answer(&mut self, now: u64, trace: &str, reply: &Reply<'_>) {
        let piece = Piece::Answer(Box::new(KeptReply::of(reply)));
        self.piece(now, trace, reply.recorded_time(), piece);
    }

    /// Sets what a trace is known by; replaces what was said before.
    pub fn describe(&mut self, now: u64, trace: &str, metadata: Metadata) {
        self.clock(now);
        if let Some(id) = self.opened(trace, 0) {
            self.change(&id, |open, _| open.metadata = Arc::new(metadata));
        }
    }

    /// Takes spans and log records, of whatever traces.
    pub fn spans(&mut self, now: u64, batch: SpanBatch) {
        let now = self.clock(now);
        for span in batch.spans {
            if let Some(id) = self.opened(&span.trace_id, 1) {
                self.change(&id, |open, _| open.add_span(now, span));
            }
        }
        for log in batch.logs {
            if let Some(id) = self.opened(&log.trace_id, 1) {
                self.change(&id, |open, _| open.spans.add_log(now, log));
            }
        }
        self.advance(now);
    }

    /// Lets time pass: what has waited long enough goes on, and traces that are over are closed.
    pub fn advance(&mut self, now: u64) {
        let now = self.clock(now);
        while let Some((due, id)) = self.due.first().cloned()
            && due <= now
        {
            let over = self.open.get(&id).and_then(|open| open.is_over(now, &self.rules.options));
            match over {
                Some(reason) => self.end(&id, reason),
                None => self.change(&id, |_, _| ()),
            }
        }
    }

    /// Closes a trace; `false` where none of that id is open.
    pub fn close(&mut self, now: u64, trace: &str) -> bool {
        self.clock(now);
        let id = self.open.get_key_value(trace).map(|(id, _)| Arc::clone(id));
        id.is_some_and(|id| {
            self.end(&id, CloseReason::Requested);
            true
        })
    }

    /// Closes all traces, in the order of their ids.
    pub fn close_all(&mut self, now: u64) {
        self.clock(now);
        while let Some(id) = self.open.first_key_value().map(|(id, _)| Arc::clone(id)) {
            self.end(&id, CloseReason::Requested);
        }
    }

    /// The verdicts on what has come of a trace so far, one for each of its runs, as if it were over now.
    ///
    /// `None` where none of that id is open. What waits for earlier pieces or for an answer is not among the steps; spans all are,
    /// and each question costs what judging them costs.
    #[must_use]
    pub fn peek(&self, trace: &str) -> Option<Vec<OpenRun>> {
        Some(self.open.get(trace)?.peek(&self.rules))
    }

    /// The next of the events, in order; `None` where there are no more.
    pub fn next_event(&mut self) -> Option<LiveEvent> {
        self.events.pop_front()
    }

    /// What became of the pieces so far.
    #[must_use]
    pub fn counts(&self) -> AssemblerCounts {
        self.counts
    }

    /// How many traces are open.
    #[must_use]
    pub fn open_traces(&self) -> usize {
        self.open.len()
    }

    /// How many pieces wait for earlier ones, for their answers or, of spans, for the end of their traces.
    #[must_use]
    pub fn held(&self) -> usize {
        self.open.values().map(OpenTrace::held).sum()
    }

    /// About how many bytes all open traces hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The closed traces that are remembered and for which something came too late, and how much, in the order of
    /// their ids.
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
            self.change(&id, |open, now| open.pairing.hold(now, time.unwrap_or(now), piece));
        }
        self.advance(now);
    }

    /// The trace to which so many pieces come; `None` where they are too late.
    fn opened(&mut self, trace: &str, pieces: u64) -> Option<Arc<str>> {
        self.counts.received += pieces;
        let known = self.open.get_key_value(trace).map(|(id, _)| Arc::clone(id));
        let id = match known {
            Some(id) => id,
            None if self.is_late(trace, pieces) => return None,
            None => {
                while self.open.len() >= self.rules.options.max_open.max(1) {
                    self.evict(CloseReason::TooManyOpen);
                }
                let id: Arc<str> = trace.into();
                self.open.insert(Arc::clone(&id), OpenTrace::default());
                id
            }
        };
        self.counts.open += pieces;
        let turn = self.turns;
        self.turns += 1;
        let now = self.now;
        if let Some(open) = self.open.get_mut(&id) {
            self.silent.remove(&(open.turn, Arc::clone(&id)));
            self.silent.insert((turn, Arc::clone(&id)));
            open.turn = turn;
            open.pieces += pieces;
            open.last = now;
        }
        Some(id)
    }

    /// Whether the trace has been closed; if so, what comes is counted.
    fn is_late(&mut self, trace: &str, pieces: u64) -> bool {
        let Some((trace, count)) = self.closed.count(trace, pieces) else { return false };
        self.counts.late += pieces;
        if count == pieces && pieces > 0 {
            self.events.push_back(LiveEvent::Late { trace });
        }
        true
    }

    /// Changes an open trace, hands on what is ready, and keeps the lists and caps.
    fn change(&mut self, id: &Arc<str>, change: impl FnOnce(&mut OpenTrace, u64)) {
        let now = self.now;
        let Some(open) = self.open.get_mut(id) else { return };
        let (out_of_order, late_answers) = (open.pairing.out_of_order, open.pairing.late_answers);
        let looked_at = open.spans.looked_at;
        change(open, now);
        let events = &mut self.events;
        open.work(now, id, &self.rules, &mut |event| events.push_back(event));
        self.counts.out_of_order += open.pairing.out_of_order - out_of_order;
        self.counts.late_answers += open.pairing.late_answers - late_answers;
        self.counts.looked_at += open.spans.looked_at - looked_at;
        let bytes = open.memory();
        self.bytes = self.bytes.saturating_sub(open.bytes).saturating_add(bytes);
        open.bytes = bytes;
        let due = open.next_due(&self.rules.options);
        if due != open.due || open.due == 0 {
            self.due.remove(&(open.due, Arc::clone(id)));
            self.due.insert((due, Arc::clone(id)));
            open.due = due;
        }
        if open.spans.len() > self.rules.options.max_spans {
            self.end(id, CloseReason::TooManySpans);
        }
        while self.bytes > self.rules.options.max_bytes && !self.open.is_empty() {
            self.evict(CloseReason::TooManyBytes);
        }
    }

    /// Closes the trace that was silent longest.
    fn evict(&mut self, reason: CloseReason) {
        let Some((_, id)) = self.silent.first().cloned() else { return };
        self.end(&id, reason);
    }

    fn end(&mut self, id: &Arc<str>, reason: CloseReason) {
        let Some(open) = self.open.remove(id) else { return };
        self.due.remove(&(open.due, Arc::clone(id)));
        self.silent.remove(&(open.turn, Arc::clone(id)));
        self.bytes = self.bytes.saturating_sub(open.bytes);
        let pieces = open.pieces;
        let events = &mut self.events;
        let findings = open.close(self.now, id, reason, &self.rules, &mut |event| events.push_back(event));
        self.counts.open -= pieces;
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
        self.closed.insert(Arc::clone(id));
    }
}

fn check(step: &StepInput<'_>) -> Result<()> {
    match step.progress.filter(|progress| !progress.is_finite()) {
        Some(progress) => Err(Error::trace(format!("the progress is {progress}, not finite"))),
        None => Ok(()),
    }
}
