//! Reads request bodies: limits their size, unpacks gzip, parses spans, and passes these to the judge.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wrongturn::read::SpanBatch;
use wrongturn::{Error, ErrorKind, ReadOptions};

use crate::config::Receive;
use crate::judge::Work;
use crate::metrics::Metrics;
use crate::net::Connections;
use crate::sinks::Queue;
use crate::stop::Stopped;

/// How long the rest of a refused body is read.
const REST: Duration = Duration::from_secs(2);

/// The state that all requests share.
pub(crate) struct Intake {
    pub(crate) judge: Sender<Work>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) token: Option<String>,
    pub(crate) stopped: Stopped,
    pub(crate) sinks: Vec<Arc<Queue>>,
    pub(crate) connections: Arc<Connections>,
    /// The bytes still available to bodies and spans that have not been judged.
    budget: Arc<Semaphore>,
    most_in_flight: usize,
    /// Limits the number of bodies that are parsed at the same time.
    readers: Semaphore,
    most: usize,
    patience: Duration,
}

/// An answer other than success.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    fn busy() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too many bytes wait to be judged")
    }

    fn too_large(most: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("expected a body of at most {most} bytes"))
    }

    /// Returns true if the client should send the same request again later.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
    }
}

/// The number of spans or log records of a request that were rejected, and the reasons.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) rejected: u64,
    pub(crate) message: String,
}

/// Bytes with their part of the budget.
struct Held {
    bytes: Vec<u8>,
    permit: OwnedSemaphorePermit,
}

impl Intake {
    pub(crate) fn new(
        receive: &Receive,
        judge: Sender<Work>,
        metrics: Arc<Metrics>,
        token: Option<String>,
        stopped: Stopped,
        sinks: Vec<Arc<Queue>>,
        connections: Arc<Connections>,
    ) -> Self {
        let mib = |count: usize| count.saturating_mul(1 << 20).min(Semaphore::MAX_PERMITS);
        let most_in_flight = mib(receive.max_in_flight_mib);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            judge,
            metrics,
            token,
            stopped,
            sinks,
            connections,
            budget: Arc::new(Semaphore::new(most_in_flight)),
            most_in_flight,
            readers: Semaphore::new(cores),
            most: mib(receive.max_body_mib),
            patience: Duration::from_secs(receive.body_seconds),
        }
    }

    /// Reads a body and hands its spans to the judge. `message` returns the message in the body, and true if
    /// it is compressed with gzip.
    pub(crate) async fn take(
        self: &Arc<Self>,
        mut body: Incoming,
        message: impl FnOnce(&[u8]) -> Result<(&[u8], bool), Refusal> + Send + 'static,
    ) -> Result<Taken, Refusal> {
        if self.stopped.is_stopping() {
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the collector is stopping"));
        }
        let arrived = tokio::time::timeout(self.patience, self.arrived(&mut body)).await;
        let arrived =
            arrived.map_err(|_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body does not arrive"))?;
        if arrived.is_err() {
            // A client that is still sending does not see an answer, so read the rest.
            let rest = async { while let Some(Ok(_)) = body.frame().await {} };
            let _ = tokio::time::timeout(REST, rest).await;
        }
        let body = arrived?;
        let failed = |error: &dyn std::fmt::Display| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
        };
        let _reader = self.readers.acquire().await.map_err(|error| failed(&error))?;
        let own = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            let (message, is_gzipped) = message(&body.bytes)?;
            if is_gzipped {
                let unpacked = own.unpacked(message)?;
                drop(body);
                own.read(&unpacked.bytes, unpacked.permit)
            } else {
                own.read(message, body.permit)
            }
        });
        let (batch, permit, taken) = read.await.map_err(|error| failed(&error))??;
        self.metrics.rejected(taken.rejected);
        let stopped = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the collector is stopping");
        self.judge.send(Work::Spans(batch, permit)).map_err(|_| stopped())?;
        Ok(taken)
    }

    /// Takes more of the budget for a permit, or refuses the request if the budget is used up.
    fn grow(&self, permit: &mut OwnedSemaphorePermit, bytes: usize) -> Result<(), Refusal> {
        permit.merge(self.permit(bytes)?);
        Ok(())
    }

    fn permit(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let bytes = u32::try_from(bytes).map_err(|_| Refusal::busy())?;
        Arc::clone(&self.budget).try_acquire_many_owned(bytes).map_err(|_| Refusal::busy())
    }

    async fn arrived(&self, body: &mut Incoming) -> Result<Held, Refusal> {
        let mut held = Held { bytes: Vec::new(), permit: self.permit(0)? };
        if body.size_hint().lower() > self.most as u64 {
            return Err(Refusal::too_large(self.most));
        }
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error.to_string()))?;
            let data: Bytes = frame.into_data().unwrap_or_default();
            if held.bytes.len() + data.len() > self.most {
                return Err(Refusal::too_large(self.most));
            }
            self.grow(&mut held.permit, data.len())?;
            held.bytes.extend_from_slice(&data);
        }
        Ok(held)
    }

    fn unpacked(&self, compressed: &[u8]) -> Result<Held, Refusal> {
        let mut held = Held { bytes: Vec::new(), permit: self.permit(0)? };
        let mut reader = flate2::read::MultiGzDecoder::new(compressed);
        loop {
            let before = held.bytes.len();
            let read = reader.by_ref().take(1 << 16).read_to_end(&mut held.bytes);
            read.map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error.to_string()))?;
            let more = held.bytes.len() - before;
            if more == 0 {
                return Ok(held);
            }
            if held.bytes.len() > self.most {
                return Err(Refusal::too_large(self.most));
            }
            self.grow(&mut held.permit, more)?;
        }
    }

    /// Parses the spans and log records of a body. The returned permit covers them instead of the body.
    fn read(
        &self,
        body: &[u8],
        mut permit: OwnedSemaphorePermit,
    ) -> Result<(SpanBatch, OwnedSemaphorePermit, Taken), Refusal> {
        if body.is_empty() || body.trim_ascii() == b"{}" {
            return Ok((SpanBatch::default(), permit, Taken::default()));
        }
        let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
        let (mut batch, reading) = SpanBatch::read(body, &ReadOptions::default())
            .ok_or_else(|| bad("expected spans or log records of OTLP".to_owned()))?;
        // A truncated or damaged body is refused as a whole, wherever the damage lies.
        let is_damaged = |error: &&Error| matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Syntax);
        if let Some(error) = reading.errors.iter().find(is_damaged) {
            return Err(bad(error.to_string()));
        }
        let mut reasons = vec![("spans or log records with malformed ids", batch.drop_malformed_ids())];
        for reason in ["spans without ids", "log records of no trace", "further faults"] {
            reasons.push((reason, reading.counts.passed_over.get(reason).copied().unwrap_or_default()));
        }
        let mut messages: Vec<String> = reading.errors.first().map(ToString::to_string).into_iter().collect();
        let mut rejected = reading.errors.len() as u64;
        for (reason, count) in reasons.into_iter().filter(|(_, count)| *count > 0) {
            rejected += count;
            messages.push(format!("{count} {reason}"));
        }
        let taken = Taken { rejected, message: messages.join("; ") };
        if batch.spans() + batch.logs() == 0 && rejected > 0 {
            return Err(bad(taken.message));
        }
        let bytes = batch.bytes();
        match bytes.checked_sub(permit.num_permits()) {
            Some(more) => self.grow(&mut permit, more)?,
            None => drop(permit.split(permit.num_permits() - bytes)),
        }
        Ok((batch, permit, taken))
    }

    /// Returns the number of bytes that bodies and spans hold until they are judged.
    pub(crate) fn in_flight(&self) -> u64 {
        (self.most_in_flight - self.budget.available_permits()) as u64
    }

    /// Returns the reason if the collector is not ready.
    pub(crate) fn not_ready(&self) -> Option<String> {
        if self.stopped.is_stopping() {
            return Some("stopping".to_owned());
        }
        self.sinks.iter().find_map(|sink| sink.trouble())
    }
}
