//! The thread that owns the traces: it takes spans and sends events.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use wrongturn::TraceAssembler;
use wrongturn::export::{EvaluationEvent, EventContext};
use wrongturn::live::{LiveEvent, UpdateKind};
use wrongturn::read::SpanBatch;

use crate::metrics::Metrics;
use crate::sinks::Queue;
use crate::state::State;

/// The interval at which the traces advance while no work comes.
const TICK: Duration = Duration::from_millis(5);

/// The interval at which losses are logged.
const REPORT: Duration = Duration::from_secs(10);

/// A batch is sent once it holds this many events.
const MOST_EVENTS: usize = 200;

/// A task for the judge.
pub(crate) enum Work {
    /// Spans with their part of the budget.
    Spans(SpanBatch, OwnedSemaphorePermit),
    /// Asks for the verdicts so far on a trace, as JSON.
    Peek(String, oneshot::Sender<Option<String>>),
    Stop,
}

/// Judges traces and hands their events to the sinks.
pub(crate) struct Judge {
    pub(crate) traces: TraceAssembler,
    pub(crate) state: Option<State>,
    pub(crate) sinks: Vec<Arc<Queue>>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Judge {
    /// Works until it is stopped; then saves the open traces or, without a directory for the state, closes
    /// them.
    pub(crate) fn run(mut self, work: &Receiver<Work>) {
        let mut next = None;
        let mut reported = (Instant::now(), self.traces.counts());
        loop {
            let received = next.take().map_or_else(|| work.recv_timeout(TICK), Ok);
            match received {
                Ok(Work::Spans(batch, permit)) => next = self.take(batch, permit, work),
                Ok(Work::Peek(id, to)) => {
                    let runs = self.traces.peek(&id);
                    let _ = to.send(runs.and_then(|runs| serde_json::to_string(&runs).ok()));
                }
                Ok(Work::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.traces.advance(now()),
            }
            self.tell();
            if let Some(state) = self.state.as_mut().filter(|state| state.is_due()) {
                state.save(&self.traces, &self.metrics);
            }
            if reported.0.elapsed() >= REPORT {
                let counts = self.traces.counts();
                let (evicted, late) =
                    (counts.traces_evicted - reported.1.traces_evicted, counts.late - reported.1.late);
                if evicted + late > 0 {
                    tracing::warn!(evicted_traces = evicted, late_spans = late, "traces lost or incomplete");
                }
                reported = (Instant::now(), counts);
            }
        }
        match &mut self.state {
            Some(state) => state.save(&self.traces, &self.metrics),
            None => self.traces.close_all(now()),
        }
        self.tell();
    }

    /// Takes spans and those queued directly after them, so a trace is judged once for all of its new spans. Returns
    /// the next task of another kind, if any.
    fn take(
        &mut self,
        mut batch: SpanBatch,
        mut permit: OwnedSemaphorePermit,
        work: &Receiver<Work>,
    ) -> Option<Work> {
        let mut next = None;
        while let Ok(more) = work.try_recv() {
            match more {
                Work::Spans(other, held) => {
                    batch.append(other);
                    permit.merge(held);
                }
                other => {
                    next = Some(other);
                    break;
                }
            }
        }
        self.traces.spans(now(), batch);
        next
    }

    /// Sends the events of the traces to the sinks.
    fn tell(&mut self) {
        self.metrics.see(&self.traces);
        let mut events: Vec<EvaluationEvent> = Vec::new();
        while let Some(event) = self.traces.next_event() {
            match event {
                LiveEvent::Update { trace, metadata, update } => {
                    if update.kind == UpdateKind::Opened {
                        self.metrics.opened(&metadata, &update.finding);
                    }
                    let id = metadata.id.as_deref().unwrap_or(&trace);
                    let context = EventContext::new(id, &metadata).observed(now());
                    events.push(context.of_update(&update));
                }
                LiveEvent::Closed(closed) => {
                    self.metrics.closed(&closed);
                    tracing::debug!(trace = &*closed.trace, reason = %closed.reason, steps = closed.steps, "closed");
                    let id = closed.metadata.id.as_deref().unwrap_or(&closed.trace);
                    let context = EventContext::new(id, &closed.metadata).observed(now());
                    events.extend(context.of_verdicts(&closed.verdicts));
                }
                _ => {}
            }
            if events.len() >= MOST_EVENTS {
                self.send(std::mem::take(&mut events));
            }
        }
        if !events.is_empty() {
            self.send(events);
        }
    }

    fn send(&self, events: Vec<EvaluationEvent>) {
        let events: Arc<[EvaluationEvent]> = events.into();
        for sink in &self.sinks {
            sink.push(&events);
        }
    }
}

/// Returns the time in nanoseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
