//! The sinks of events. Each has a queue, limited in bytes, and a task that delivers from it.

mod file;
mod otlp;
mod remote;
mod webhook;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wrongturn::export::EvaluationEvent;

use crate::Failure;
use crate::config::{self, Kind};
use crate::stop::Stopped;

pub(crate) use remote::Client;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pause after the first failure, and the longest pause.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How long a sink may fail before the collector reports that it is not ready.
const TROUBLE: Duration = Duration::from_secs(10);

type Batch = Arc<[EvaluationEvent]>;

/// The events that wait for one sink.
#[derive(Debug)]
pub(crate) struct Queue {
    name: String,
    most: u64,
    to: UnboundedSender<Batch>,
    bytes: AtomicU64,
    waiting: AtomicU64,
    sent: AtomicU64,
    dropped: AtomicU64,
    /// Since when deliveries fail, and why.
    failing: Mutex<Option<(Instant, String)>>,
}

/// Why a batch was not delivered.
pub(crate) struct NotSent {
    message: String,
    /// True if another attempt would fail in the same way.
    is_final: bool,
}

impl NotSent {
    fn now(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), is_final: false }
    }

    fn ever(message: impl std::fmt::Display) -> Self {
        Self { message: message.to_string(), is_final: true }
    }
}

enum Sink {
    Lines(file::Lines),
    Otlp(Box<otlp::Otlp>),
    Webhook(Box<webhook::Webhook>),
}

/// A sink that has not been started, with its queue.
pub(crate) struct Ready {
    pub(crate) queue: Arc<Queue>,
    sink: Sink,
    batches: UnboundedReceiver<Batch>,
}

type Count = fn(&Queue) -> u64;

impl Queue {
    pub(crate) const METRICS: [(&'static str, &'static str, Count); 4] = [
        ("events_waiting", "Events that wait to be sent.", |queue| queue.waiting.load(Ordering::Relaxed)),
        ("events_waiting_bytes", "Memory of events that wait.", |queue| queue.bytes.load(Ordering::Relaxed)),
        ("events_sent_total", "Events that were sent.", |queue| queue.sent.load(Ordering::Relaxed)),
        ("events_dropped_total", "Events that were not sent.", |queue| queue.dropped()),
    ];

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Adds events, or drops them if the events that wait hold too many bytes.
    pub(crate) fn push(&self, events: &Batch) {
        let (bytes, count) = weight(events);
        let waiting = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.waiting.fetch_add(count, Ordering::Relaxed);
        if waiting > self.most || self.to.send(Arc::clone(events)).is_err() {
            self.done(bytes, count, false);
        }
    }

    fn done(&self, bytes: u64, count: u64, is_sent: bool) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        if is_sent {
            self.sent.fetch_add(count, Ordering::Relaxed);
        } else if self.dropped.fetch_add(count, Ordering::Relaxed) == 0 {
            tracing::error!(sink = self.name, "events are dropped");
        }
    }

    fn failing(&self) -> std::sync::MutexGuard<'_, Option<(Instant, String)>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, message: &str) {
        let mut failing = self.failing();
        if failing.is_none() {
            tracing::warn!(sink = self.name, error = message, "events cannot be sent");
            *failing = Some((Instant::now(), message.to_owned()));
        }
    }

    fn worked(&self) {
        if let Some((since, _)) = self.failing().take() {
            tracing::info!(sink = self.name, seconds = since.elapsed().as_secs(), "events are sent again");
        }
    }

    /// Returns the first error of a failing sink if it has failed for some time, or if its queue is more than
    /// half full.
    pub(crate) fn trouble(&self) -> Option<String> {
        let failing = self.failing();
        let (since, message) = failing.as_ref()?;
        let is_lasting = since.elapsed() >= TROUBLE || self.bytes.load(Ordering::Relaxed) > self.most / 2;
        is_lasting.then(|| format!("sink {}: {message}", self.name))
    }
}

fn weight(events: &Batch) -> (u64, u64) {
    (events.iter().map(EvaluationEvent::bytes).sum::<usize>() as u64, events.len() as u64)
}

impl Ready {
    /// Opens a sink, and creates its queue.
    pub(crate) fn new(config: &config::Sink) -> Result<Self, Failure> {
        let (kind, sink) = match config.kind {
            Kind::Stdout => ("stdout", Sink::Lines(file::Lines::stdout())),
            Kind::File => {
                let path = config.path.as_deref().ok_or("sink file: expected `path`")?;
                ("file", Sink::Lines(file::Lines::append(path)?))
            }
            Kind::OtlpHttp => ("otlp_http", Sink::Otlp(Box::new(otlp::Otlp::http(config)?))),
            Kind::OtlpGrpc => ("otlp_grpc", Sink::Otlp(Box::new(otlp::Otlp::grpc(config)?))),
            Kind::Webhook => ("webhook", Sink::Webhook(Box::new(webhook::Webhook::new(config)?))),
        };
        let (to, batches) = unbounded_channel();
        let queue = Queue {
            name: config.name.clone().unwrap_or_else(|| kind.to_owned()),
            most: config.max_waiting_mib.saturating_mul(1 << 20) as u64,
            to,
            bytes: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failing: Mutex::default(),
        };
        Ok(Self { queue: Arc::new(queue), sink, batches })
    }

    /// Delivers until the judge has ended and no events wait. When the time is over, drops those that still
    /// wait.
    pub(crate) async fn run(mut self, mut stopped: Stopped, mut judged: tokio::sync::watch::Receiver<bool>) {
        loop {
            let batch = tokio::select! {
                biased;
                batch = self.batches.recv() => batch,
                _ = judged.wait_for(|judged| *judged) => self.batches.try_recv().ok(),
            };
            let Some(batch) = batch else { return };
            let is_sent = tokio::select! {
                biased;
                is_sent = deliver(&mut self.sink, &batch, &self.queue) => is_sent,
                () = stopped.expired() => false,
            };
            let (bytes, count) = weight(&batch);
            self.queue.done(bytes, count, is_sent);
        }
    }
}

/// Sends a batch until an attempt succeeds or a failure is final. Returns true if the batch was sent.
async fn deliver(sink: &mut Sink, batch: &Batch, queue: &Queue) -> bool {
    let (mut pause, longest) = PAUSES;
    loop {
        let attempt = async {
            match sink {
                Sink::Lines(lines) => lines.write(batch),
                Sink::Otlp(otlp) => otlp.send(batch).await,
                Sink::Webhook(webhook) => webhook.send(batch).await,
            }
        };
        let sent = tokio::time::timeout(PATIENCE, attempt).await;
        match sent.unwrap_or_else(|_| Err(NotSent::now("no answer"))) {
            Ok(()) => {
                queue.worked();
                return true;
            }
            Err(error) => {
                queue.failed(&error.message);
                if error.is_final {
                    return false;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}
