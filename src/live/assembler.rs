//! Puts traces together from pieces that arrive in any order, and runs the detectors over them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::event::{AssemblerCounts, CloseReason, LiveEvent, OpenRun};
use super::monitor::Monitor;
use super::open::{Emit, OpenTrace, Profile, Rules};
use super::options::{AssemblerOptions, nanoseconds};
use super::packed::Packed;
use super::piece::{Kept, KeptReply, Piece, Reply};
use super::remembered::Remembered;
use crate::detect::Detector;
use crate::error::{Error, Result};
use crate::read::SpanBatch;
use crate::trace::{Metadata, StepInput};

/// Puts many open traces together from pieces in any order, and runs detectors over each.
///
/// Pieces are what a pipeline receives: calls now and their answers later, messages, complete steps, or spans.
///
/// **Calls and messages.** Detectors see a call when it is answered; an open call holds nothing back. Steps keep their
/// numbers in call order: what detectors know is at any time the run in call order without its open calls, and a finding
/// that they confirm is reported at once. If a call is answered after a later one, or a piece comes out of order (pieces
/// are ordered by their times; one without a time has the time at which it comes), the trace is judged again from its
/// beginning within [`AssemblerOptions::settle`]. What was reported is provisional until then: a finding that no longer
/// holds is withdrawn.
///
/// **Spans.** Model spans often end after the tools that they called, and the spans around a step, which show whose run
/// it is part of, end last. A trace of spans is judged within `settle` whenever some have come, and as a file of them
/// would be when it is closed, a while after the end of its root span. Steps below different spans that have not come
/// are provisionally taken for different runs.
///
/// At the end of a trace its verdicts equal those of the batch over the same run. Every finding that was opened is in
/// these verdicts, merged into one of them, or withdrawn.
///
/// **Pauses.** A trace for which nothing comes is not closed but *parked*: packed in memory, and resumed by the next
/// piece, under the same finding ids. Only a trace that was closed or evicted makes what comes later *late*, which is
/// counted.
///
/// The caller says what time it is, in nanoseconds since any fixed moment; it never goes back. Nothing happens by
/// itself: call [`TraceAssembler::advance`] some 50 times a second. The guide on [embedding](crate::guide::embedding) has
/// a pipeline in full.
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
    pub(super) traces: BTreeMap<Arc<str>, Slot>,
    /// When something is to be done for each.
    due: BTreeSet<(u64, Arc<str>)>,
    open: Share,
    parked: Share,
    turns: u64,
    pub(super) closed: Remembered,
    events: VecDeque<LiveEvent>,
    pub(super) counts: AssemblerCounts,
}

/// A trace that is not closed.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) state: State,
    pub(super) due: u64,
    /// When it last changed, in the order of changes.
    turn: u64,
    bytes: usize,
    pub(super) pieces: u64,
}

#[derive(Debug)]
pub(super) enum State {
    Open(Box<OpenTrace>),
    Parked(Packed),
}

/// What a slot and its entries in the lists take.
const SLOT_BYTES: usize = size_of::<Slot>() + 160;

/// The open or the parked traces, the one that was silent longest first.
#[derive(Debug, Default)]
struct Share {
    silent: BTreeSet<(u64, Arc<str>)>,
    bytes: usize,
}

impl TraceAssembler {
    /// An assembler without traces.
    ///
    /// # Errors
    /// As [`Monitor::new`].
    pub fn new(detectors: Vec<Arc<dyn Detector>>, options: AssemblerOptions) -> Result<Self> {
        Monitor::new(&detectors)?;
        let closed = Remembered::new(options.remembered);
        Ok(Self {
            rules: Rules { detectors, profiles: Vec::new(), options },
            now: 0,
            traces: BTreeMap::new(),
            due: BTreeSet::new(),
            open: Share::default(),
            parked: Share::default(),
            turns: 0,
            closed,
            events: VecDeque::new(),
            counts: AssemblerCounts::default(),
        })
    }

    /// With other detectors for the runs that have all of these labels. The first profile that fits is used.
    ///
    /// Runs of spans have the attributes of their sender as labels, such as `resource.service.name`.
    ///
    /// # Errors
    /// As [`Monitor::new`].
    ///
    /// ```
    /// use wrongturn::{TraceAssembler, default_detectors, live::AssemblerOptions};
    ///
    /// let shop = [("resource.service.name".to_owned(), "shop".to_owned())].into();
    /// let traces = TraceAssembler::new(default_detectors(), AssemblerOptions::default())?;
    /// let traces = traces.with_profile(shop, Vec::new())?;
    /// # Ok::<(), wrongturn::Error>(())
    /// ```
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
    /// Its index is ignored: steps are numbered in their order.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the progress is not finite; the step is then not taken.
    pub fn step(&mut self, now: u64, trace: &str, step: &StepInput<'_>) -> Result<()> {
        check(step)?;
        let piece = Piece::Step(Box::new(Kept::of(step)));
        self.piece(now, trace, step.time, piece);
        Ok(())
    }

    /// Takes a call whose answer comes later. Calls of one id are answered in the order of their times.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if it is not an action with a call id, or the progress is not
    /// finite; it is then not taken.
    pub fn call(&mut self, now: u64, trace: &str, call: &StepInput<'_>) -> Result<()> {
        check(call)?;
        let kept = Box::new(Kept::of(call));
        if kept.call_id().is_none() {
            return Err(Error::trace("expected a call with an id; hand in one without when it is complete"));
        }
        self.piece(now, trace, call.time, Piece::Call(kept));
        Ok(())
    }

    /// Takes the answer to a call; it may come before the call.
    pub fn answer(&mut self, now: u64, trace: &str, reply: &Reply<'_>) {
        let piece = Piece::Answer(Box::new(KeptReply::of(reply)));
        self.piece(now, trace, reply.recorded_time(), piece);
    }

    /// Sets the metadata of a trace in place of those it had.
    pub fn describe(&mut self, now: u64, trace: &str, metadata: Metadata) {
        self.clock(now);
        if let Some(id) = self.opened(trace, 0) {
            self.change(&id, |open, _, _| open.metadata = Arc::new(metadata));
        }
    }

    /// Takes spans and log records, of whatever traces.
    pub fn spans(&mut self, now: u64, batch: SpanBatch) {
        let now = self.clock(now);
        for span in batch.spans {
            if let Some(id) = self.opened(&span.trace_id, 1) {
                self.change(&id, |open, rules, _| open.add_span(now, span, &rules.options));
            }
        }
        for log in batch.logs {
            if let Some(id) = self.opened(&log.trace_id, 1) {
                self.change(&id, |open, rules, _| open.add_log(now, log, &rules.options));
            }
        }
        self.advance(now);
    }

    /// Lets time pass: judges what has settled, closes traces that are over, parks silent ones.
    pub fn advance(&mut self, now: u64) {
        let now = self.clock(now);
        while let Some((due, id)) = self.due.first().cloned()
            && due <= now
        {
            self.unpark(&id);
            let options = &self.rules.options;
            let expire = nanoseconds(options.expire.max(options.idle));
            let Some(Slot { state: State::Open(open), .. }) = self.traces.get_mut(&id) else { break };
            let is_idle = open.is_idle(now, options);
            if is_idle && open.last.saturating_add(expire) <= now {
                self.end(&id, CloseReason::Expired);
            } else if let Some(reason) = open.is_over(now, options) {
                self.end(&id, reason);
            } else {
                self.change(&id, |_, _, _| ());
                if is_idle {
                    self.park(&id);
                }
                self.keep_few_open();
            }
        }
    }

    /// Closes a trace; `false` if none of that id is open or parked.
    pub fn close(&mut self, now: u64, trace: &str) -> bool {
        self.clock(now);
        let id = self.traces.get_key_value(trace).map(|(id, _)| Arc::clone(id));
        id.is_some_and(|id| {
            self.end(&id, CloseReason::Requested);
            true
        })
    }

    /// Closes all traces, in the order of their ids.
    pub fn close_all(&mut self, now: u64) {
        self.clock(now);
        while let Some(id) = self.traces.first_key_value().map(|(id, _)| Arc::clone(id)) {
            self.end(&id, CloseReason::Requested);
        }
    }

    /// The verdicts on what has come of a trace so far, one for each of its runs, as if it were over now.
    ///
    /// `None` if none of that id is open or parked. Calls without an answer are not among the steps; spans all are. Each
    /// question about spans costs what judging them costs.
    #[must_use]
    pub fn peek(&self, trace: &str) -> Option<Vec<OpenRun>> {
        Some(match &self.traces.get(trace)?.state {
            State::Open(open) => open.peek(&self.rules),
            State::Parked(packed) => packed.open().peek(&self.rules),
        })
    }

    /// The next of the events, in order; `None` if there are no more.
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
        self.open.silent.len()
    }

    /// How many traces are parked.
    #[must_use]
    pub fn parked_traces(&self) -> usize {
        self.parked.silent.len()
    }

    /// How many calls of open traces wait for their answers, and answers for their calls.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let open = self.traces.values().filter_map(|slot| match &slot.state {
            State::Open(open) => Some(open.pieces.waiting()),
            State::Parked(_) => None,
        });
        open.sum()
    }

    /// About how many bytes all open and parked traces hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.open.bytes + self.parked.bytes
    }

    /// About how many bytes the parked traces hold.
    #[must_use]
    pub fn parked_bytes(&self) -> usize {
        self.parked.bytes
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
            let time = time.unwrap_or(now);
            self.change(&id, |open, rules, emit| open.take((now, &id), time, piece, rules, emit));
        }
        self.advance(now);
    }

    /// The open trace to which so many pieces come; `None` if they are too late.
    fn opened(&mut self, trace: &str, pieces: u64) -> Option<Arc<str>> {
        self.counts.received += pieces;
        let known = self.traces.get_key_value(trace).map(|(id, _)| Arc::clone(id));
        let id = match known {
            Some(id) => id,
            None if self.is_late(trace, pieces) => return None,
            None => {
                let id: Arc<str> = trace.into();
                self.insert(&id, State::Open(Box::default()), 0);
                id
            }
        };
        self.unpark(&id);
        self.counts.open += pieces;
        self.turns += 1;
        let (now, turn) = (self.now, self.turns);
        if let Some(slot) = self.traces.get_mut(&id) {
            self.open.silent.remove(&(slot.turn, Arc::clone(&id)));
            self.open.silent.insert((turn, Arc::clone(&id)));
            slot.turn = turn;
            slot.pieces += pieces;
            if let State::Open(open) = &mut slot.state {
                open.last = now;
            }
        }
        self.keep_few_open();
        Some(id)
    }

    fn keep_few_open(&mut self) {
        while self.open.silent.len() > self.rules.options.max_open.max(1)
            && let Some((_, silent)) = self.open.silent.first().cloned()
        {
            self.park(&silent);
        }
    }

    /// Adds a trace of so many pieces, as the one that changed last.
    pub(super) fn insert(&mut self, id: &Arc<str>, state: State, pieces: u64) {
        self.turns += 1;
        let turn = self.turns;
        let bytes = state.memory() + SLOT_BYTES + id.len();
        let (share, of_state) = match &state {
            State::Open(_) => (&mut self.open, &mut self.counts.open),
            State::Parked(_) => (&mut self.parked, &mut self.counts.parked),
        };
        share.silent.insert((turn, Arc::clone(id)));
        share.bytes += bytes;
        *of_state += pieces;
        self.traces.insert(Arc::clone(id), Slot { state, due: u64::MAX, turn, bytes, pieces });
        self.due.insert((u64::MAX, Arc::clone(id)));
    }

    /// Takes a trace out of all lists.
    pub(super) fn remove(&mut self, id: &Arc<str>) -> Option<Slot> {
        let slot = self.traces.remove(id)?;
        self.due.remove(&(slot.due, Arc::clone(id)));
        let (share, of_state) = match &slot.state {
            State::Open(_) => (&mut self.open, &mut self.counts.open),
            State::Parked(_) => (&mut self.parked, &mut self.counts.parked),
        };
        share.silent.remove(&(slot.turn, Arc::clone(id)));
        share.bytes -= slot.bytes;
        *of_state -= slot.pieces;
        Some(slot)
    }

    pub(super) fn set_due(&mut self, id: &Arc<str>, due: u64) {
        let Some(slot) = self.traces.get_mut(id) else { return };
        if due != slot.due {
            self.due.remove(&(slot.due, Arc::clone(id)));
            self.due.insert((due, Arc::clone(id)));
            slot.due = due;
        }
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

    /// Changes an open trace, judges what is due, and keeps the lists and caps.
    fn change(&mut self, id: &Arc<str>, change: impl FnOnce(&mut OpenTrace, &Rules, Emit<'_>)) {
        let now = self.now;
        let Some(slot) = self.traces.get_mut(id) else { return };
        let State::Open(open) = &mut slot.state else { return };
        let (out_of_order, looked_at) = (open.pieces.out_of_order, open.spans.looked_at);
        let events = &mut self.events;
        let mut emit = |event| events.push_back(event);
        change(open, &self.rules, &mut emit);
        open.work(now, id, &self.rules, &mut emit);
        self.counts.out_of_order += open.pieces.out_of_order - out_of_order;
        self.counts.looked_at += open.spans.looked_at - looked_at;
        let bytes = open.memory() + SLOT_BYTES + id.len();
        self.open.bytes = self.open.bytes - slot.bytes + bytes;
        slot.bytes = bytes;
        let due = open.next_due(&self.rules.options);
        let is_full = open.len() > self.rules.options.max_pieces;
        self.set_due(id, due);
        if is_full {
            self.end(id, CloseReason::TooManyPieces);
        }
        self.keep_below_cap();
    }

    pub(super) fn keep_below_cap(&mut self) {
        let most = self.rules.options.max_bytes;
        while self.bytes() > most {
            let first = |share: &Share| share.silent.first().map(|(_, id)| Arc::clone(id));
            let open = first(&self.open).filter(|_| self.open.bytes > most / 2);
            match (open, first(&self.parked)) {
                (Some(open), _) if self.open.silent.len() > 1 => self.park(&open),
                (Some(id), _) | (None, Some(id)) => self.end(&id, CloseReason::TooManyBytes),
                (None, None) => break,
            }
        }
    }

    /// Packs an open trace.
    fn park(&mut self, id: &Arc<str>) {
        let Some(slot) = self.remove(id) else { return };
        let State::Open(open) = &slot.state else { return };
        let options = &self.rules.options;
        let due = if open.is_idle(self.now, options) {
            open.last.saturating_add(nanoseconds(options.expire.max(options.idle)))
        } else {
            open.next_due(options)
        };
        self.insert(id, State::Parked(Packed::of(&open.to_json())), slot.pieces);
        self.set_due(id, due);
        self.counts.traces_parked += 1;
        self.events.push_back(LiveEvent::Parked { trace: Arc::clone(id) });
    }

    /// Unpacks a parked trace.
    fn unpark(&mut self, id: &Arc<str>) {
        if !matches!(self.traces.get(id), Some(Slot { state: State::Parked(_), .. })) {
            return;
        }
        let Some(slot) = self.remove(id) else { return };
        let State::Parked(packed) = &slot.state else { return };
        let mut open = packed.open();
        open.resume(self.now);
        self.insert(id, State::Open(Box::new(open)), slot.pieces);
        self.counts.traces_resumed += 1;
    }

    fn end(&mut self, id: &Arc<str>, reason: CloseReason) {
        let Some(Slot { state, pieces, .. }) = self.remove(id) else { return };
        let open = match state {
            State::Open(open) => *open,
            State::Parked(packed) => packed.open(),
        };
        let events = &mut self.events;
        let findings = open.close(id, reason, &self.rules, &mut |event| events.push_back(event));
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

impl State {
    fn memory(&self) -> usize {
        match self {
            Self::Open(open) => open.memory(),
            Self::Parked(packed) => packed.bytes(),
        }
    }
}

fn check(step: &StepInput<'_>) -> Result<()> {
    match step.progress.filter(|progress| !progress.is_finite()) {
        Some(progress) => Err(Error::trace(format!("expected a finite progress, got {progress}"))),
        None => Ok(()),
    }
}
