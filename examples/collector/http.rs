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
use tracelint::{ReadOptions, SpanBatch};

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
            text(StatusCode::OK, "text/plain; version=0.0.4", receiver.metrics.render())
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
        match self.receive(request).await {
            Ok(body) if is_json => text(StatusCode::OK, "application/json", body),
            // A response without fields is empty as protobuf.
            Ok(_) => text(StatusCode::OK, "application/x-protobuf", Bytes::new()),
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

    /// Takes a body over to the judge; gives what is answered in JSON.
    async fn receive(&self, request: Request<Incoming>) -> Result<String, Refusal> {
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
        let (batch, answer) =
            read.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))??;
        place.send(batch);
        Ok(answer)
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
fn read(headers: &HeaderMap, body: Bytes, most: usize) -> Result<(SpanBatch, String), Refusal> {
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
        return Ok((SpanBatch::default(), "{}".to_owned()));
    }
    let (batch, reading) = SpanBatch::read(&body, &ReadOptions::default())
        .ok_or_else(|| bad("the body holds no spans and no log records of OTLP".to_owned()))?;
    let Some(error) = reading.errors.first() else { return Ok((batch, "{}".to_owned())) };
    if batch.spans() + batch.logs() == 0 {
        return Err(bad(error.to_string()));
    }
    let partial = serde_json::json!({"partialSuccess": {
        "rejectedSpans": reading.errors.len().to_string(),
        "errorMessage": error.to_string(),
    }});
    Ok((batch, partial.to_string()))
}

/// A `google.rpc.Status` with this message as protobuf: its field 2, a text.
fn status_of(message: &str) -> Vec<u8> {
    let mut bytes = vec![0x12];
    let mut length = message.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap_or_default());
    bytes.extend_from_slice(message.as_bytes());
    bytes
}
