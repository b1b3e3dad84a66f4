//! The HTTP side: bodies in, and the answers that OTLP asks for.

use std::convert::Infallible;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, watch};
use wrongturn::{ReadOptions, read::SpanBatch};

use crate::metrics::Metrics;

/// How long a body may take to arrive.
const SLOWEST: Duration = Duration::from_secs(30);

/// What every request is answered with.
pub(crate) struct Receiver {
    pub(crate) judge: Sender<SpanBatch>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) requests: Semaphore,
    /// The size of the largest body, in bytes.
    pub(crate) most: usize,
    pub(crate) stopped: watch::Receiver<bool>,
}

type Answer = Response<Full<Bytes>>;

/// An answer that is no success.
struct Refusal {
    status: StatusCode,
    message: String,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

/// Answers one request.
pub(crate) async fn answer(
    receiver: Arc<Receiver>,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let answered = match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz") => text(StatusCode::OK, "text/plain", "ok\n"),
        (&Method::GET, "/metrics") => {
            text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", receiver.metrics.render())
        }
        (&Method::POST, "/v1/traces" | "/v1/logs") => receiver.take(request).await,
        (_, "/healthz" | "/metrics" | "/v1/traces" | "/v1/logs") => {
            text(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "another method\n")
        }
        _ => text(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /v1/traces, /v1/logs, /healthz and /metrics\n",
        ),
    };
    Ok(answered)
}

fn text(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    answer
}

impl Receiver {
    async fn take(&self, request: Request<Incoming>) -> Answer {
        self.metrics.requests.fetch_add(1, Ordering::Relaxed);
        let is_json = !holds(request.headers(), "application/x-protobuf");
        let of_logs = request.uri().path() == "/v1/logs";
        match self.receive(request).await {
            Ok(taken) if is_json => text(StatusCode::OK, "application/json", taken.json(of_logs)),
            Ok(taken) => text(StatusCode::OK, "application/x-protobuf", taken.protobuf()),
            Err(Refusal { status, message }) => {
                let retry = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
                let counter = if retry { &self.metrics.refused } else { &self.metrics.faulty };
                counter.fetch_add(1, Ordering::Relaxed);
                let mut answer = if is_json {
                    let body = serde_json::json!({"message": message}).to_string();
                    text(status, "application/json", body)
                } else {
                    text(status, "application/x-protobuf", status_of(&message))
                };
                if retry {
                    answer.headers_mut().insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
                }
                answer
            }
        }
    }

    /// Takes a body over to the judge.
    async fn receive(&self, request: Request<Incoming>) -> Result<Taken, Refusal> {
        if *self.stopped.borrow() {
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the collector stops"));
        }
        let busy = || Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests at one time");
        let _permit = self.requests.try_acquire().map_err(|_| busy())?;
        // A place is taken before the work is done: what is read is judged.
        let place = self.judge.try_reserve().map_err(|error| match error {
            TrySendError::Full(()) => {
                Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many bodies wait to be judged")
            }
            TrySendError::Closed(()) => Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the collector stops"),
        })?;
        let headers = request.headers().clone();
        if !holds(&headers, "application/json") && !holds(&headers, "application/x-protobuf") {
            let message = "the content type is neither application/json nor application/x-protobuf";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let body =
            tokio::time::timeout(SLOWEST, Limited::new(request.into_body(), self.most).collect()).await;
        let body = match body {
            Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body does not arrive")),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(too_large(self.most));
            }
            Ok(Err(error)) => return Err(Refusal::new(StatusCode::BAD_REQUEST, error.to_string())),
            Ok(Ok(body)) => body.to_bytes(),
        };
        let most = self.most;
        let read = tokio::task::spawn_blocking(move || read(&headers, body, most)).await;
        let (batch, taken) =
            read.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))??;
        self.metrics.rejected.fetch_add(taken.rejected, Ordering::Relaxed);
        place.send(batch);
        Ok(taken)
    }
}

fn holds(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with(kind))
}

fn too_large(most: usize) -> Refusal {
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {most} bytes"))
}

/// Reads a body.
fn read(headers: &HeaderMap, body: Bytes, most: usize) -> Result<(SpanBatch, Taken), Refusal> {
    let bad = |message: String| Refusal::new(StatusCode::BAD_REQUEST, message);
    let body = match headers.get(CONTENT_ENCODING).map(hyper::header::HeaderValue::as_bytes) {
        None | Some(b"identity") => body,
        Some(b"gzip") => {
            let mut unpacked = Vec::new();
            let limit = most as u64 + 1;
            let mut reader = flate2::read::MultiGzDecoder::new(&*body).take(limit);
            reader.read_to_end(&mut unpacked).map_err(|error| bad(error.to_string()))?;
            if unpacked.len() > most {
                return Err(too_large(most));
            }
            unpacked.into()
        }
        Some(_) => {
            let message = "the content encoding is neither gzip nor identity";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
    };
    if body.is_empty() || body.trim_ascii() == b"{}" {
        return Ok((SpanBatch::default(), Taken::default()));
    }
    let (batch, reading) = SpanBatch::read(&body, &ReadOptions::default())
        .ok_or_else(|| bad("the body holds no spans and no log records of OTLP".to_owned()))?;
    // What belongs to nothing is not taken either.
    let without = ["spans without ids", "log records of no trace", "further faults"];
    let without = without.iter().filter_map(|reason| Some((*reason, *reading.passed_over.get(*reason)?)));
    let mut taken = Taken { rejected: reading.errors.len() as u64, message: String::new() };
    let mut messages: Vec<String> = reading.errors.first().map(ToString::to_string).into_iter().collect();
    for (reason, count) in without {
        taken.rejected += count;
        messages.push(format!("{count} {reason}"));
    }
    taken.message = messages.join("; ");
    if batch.spans() + batch.logs() == 0 && !reading.errors.is_empty() {
        return Err(bad(taken.message));
    }
    Ok((batch, taken))
}

/// What is answered to a request that was taken: how many of its spans or log records were not, and why.
#[derive(Debug, Default)]
struct Taken {
    rejected: u64,
    message: String,
}

impl Taken {
    fn json(&self, of_logs: bool) -> String {
        if self.rejected == 0 {
            return "{}".to_owned();
        }
        let counted = if of_logs { "rejectedLogRecords" } else { "rejectedSpans" };
        // 64-bit numbers are texts.
        let partial = serde_json::json!({counted: self.rejected.to_string(), "errorMessage": self.message});
        serde_json::json!({"partialSuccess": partial}).to_string()
    }

    /// The answers to spans and to log records have the same fields: 1, the partial success, has the count for its field 1
    /// and the message for its field 2. Without them an answer is empty.
    fn protobuf(&self) -> Vec<u8> {
        if self.rejected == 0 {
            return Vec::new();
        }
        let mut partial = vec![0x08];
        varint(self.rejected, &mut partial);
        text_field(0x12, self.message.as_bytes(), &mut partial);
        let mut answer = Vec::new();
        text_field(0x0a, &partial, &mut answer);
        answer
    }
}

/// A `google.rpc.Status` with this message as protobuf: its field 2, a text.
fn status_of(message: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    text_field(0x12, message.as_bytes(), &mut bytes);
    bytes
}

/// A field of bytes, behind its key.
fn text_field(key: u8, text: &[u8], into: &mut Vec<u8>) {
    into.push(key);
    varint(text.len() as u64, into);
    into.extend_from_slice(text);
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    into.push(u8::try_from(number).unwrap_or_default());
}
