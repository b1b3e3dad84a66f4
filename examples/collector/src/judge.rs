//! The thread that has the traces: it takes batches of spans, and gives events.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, UnboundedSender};
use wrongturn::{
    TraceAssembler,
    export::{EvaluationEvent, EventContext},
    live::LiveEvent,
    read::SpanBatch,
};

use crate::metrics::Metrics;

/// How long the thread sleeps where nothing comes.
const NAP: Duration = Duration::from_millis(20);

/// At most so many events make a request.
const MOST_EVENTS: usize = 500;

/// Where events go.
pub(crate) struct Outlet {
    pub(crate) events: UnboundedSender<Vec<EvaluationEvent>>,
    pub(crate) metrics: Arc<Metrics>,
    /// How many may wait.
    pub(crate) most: u64,
    pub(crate) updates: bool,
}

/// Judges until nobody sends any more; then closes all traces.
pub(crate) fn run(mut traces: TraceAssembler, mut batches: Receiver<SpanBatch>, outlet: &Outlet) {
    loop {
        match batches.try_recv() {
            Ok(batch) => traces.spans(now(), batch),
            Err(TryRecvError::Empty) => {
                traces.advance(now());
                std::thread::sleep(NAP);
            }
            Err(TryRecvError::Disconnected) => break,
        }
        outlet.tell(&mut traces);
    }
    traces.close_all(now());
    outlet.tell(&mut traces);
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Outlet {
    fn tell(&self, traces: &mut TraceAssembler) {
        self.metrics.see(traces);
        let mut events = Vec::new();
        while let Some(event) = traces.next_event() {
            match event {
                LiveEvent::Update { trace, metadata, update } if self.updates => {
                    let id = metadata.id.as_deref().unwrap_or(&trace);
                    let context = EventContext::new(id, &metadata).observed(now());
                    events.push(context.of_update(&update));
                }
                LiveEvent::Closed(closed) => {
                    let id = closed.metadata.id.as_deref().unwrap_or(&closed.trace);
                    let context = EventContext::new(id, &closed.metadata).observed(now());
                    events.extend(context.of_verdicts(&closed.verdicts));
                    let findings = closed.verdicts.iter().flat_map(|(_, verdict)| verdict.findings());
                    findings
                        .filter_map(|finding| finding.cost.as_ref())
                        .for_each(|cost| self.metrics.add_cost(cost));
                }
                _ => {}
            }
            if events.len() >= MOST_EVENTS {
                self.send(std::mem::take(&mut events));
            }
        }
        self.send(events);
    }

    fn send(&self, events: Vec<EvaluationEvent>) {
        let count = events.len() as u64;
        if count == 0 {
            return;
        }
        let waiting = self.metrics.events_waiting.fetch_add(count, Ordering::Relaxed) + count;
        if waiting > self.most || self.events.send(events).is_err() {
            self.metrics.events_waiting.fetch_sub(count, Ordering::Relaxed);
            self.metrics.events_dropped.fetch_add(count, Ordering::Relaxed);
        }
    }
}
