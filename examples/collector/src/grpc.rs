//! gRPC on top of the HTTP server and client: one message each way, with the same limits as HTTP.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};

use crate::intake::{Intake, Refusal, Taken};
use crate::proto;
use crate::routes::{self, Body};

const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
pub(crate) const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
pub(crate) const KIND: &str = "application/grpc";
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The size of the head of a message: a byte that says whether it is compressed, and four for its length.
const HEAD: usize = 5;

pub(crate) fn is_export(path: &str) -> bool {
    matches!(path, TRACES | LOGS)
}

/// Takes the spans or log records of an export.
pub(crate) async fn take(intake: &Arc<Intake>, request: Request<Incoming>) -> Result<Taken, Refusal> {
    if !routes::has(request.headers(), &CONTENT_TYPE, &[KIND, "application/grpc+proto"]) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "expected the content type application/grpc",
        ));
    }
    let can_unpack = routes::is_gzipped(request.headers(), &ENCODING)?;
    intake
        .take(request.into_body(), move |body| {
            let bad = |message| Refusal::new(StatusCode::BAD_REQUEST, message);
            let (head, message) =
                body.split_at_checked(HEAD).ok_or_else(|| bad("expected the head of a message"))?;
            let (compressed, length) =
                head.split_first().ok_or_else(|| bad("expected the head of a message"))?;
            let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            if message.len() != length || (*compressed == 1 && !can_unpack) || *compressed > 1 {
                return Err(bad("expected one message of the length in its head"));
            }
            Ok((message, *compressed == 1))
        })
        .await
}

/// Returns a message with its head.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(HEAD + message.len());
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// Answers an export that was taken.
pub(crate) fn taken(taken: &Taken) -> Response<Body> {
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    let message = Full::new(framed(&proto::response(taken)));
    let body = message.with_trailers(std::future::ready(Some(Ok(trailers)))).boxed_unsync();
    let mut answer = Response::new(body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(KIND));
    answer
}

/// Answers an export that was not taken.
pub(crate) fn refused(refusal: &Refusal) -> Response<Body> {
    let mut answer = Response::new(routes::body(Bytes::new()));
    let status = match refusal.status {
        StatusCode::UNAUTHORIZED => "16",
        StatusCode::INTERNAL_SERVER_ERROR => "13",
        StatusCode::REQUEST_TIMEOUT => "4",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "12",
        // Exporters retry after "unavailable".
        _ if refusal.is_temporary() => "14",
        _ => "3",
    };
    let escaped: String = refusal
        .message
        .bytes()
        .flat_map(|byte| {
            match byte {
                b' '..=b'~' if byte != b'%' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            }
            .into_bytes()
        })
        .map(char::from)
        .collect();
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(KIND));
    headers.insert(STATUS, HeaderValue::from_static(status));
    if let Ok(message) = HeaderValue::from_str(&escaped) {
        headers.insert(MESSAGE, message);
    }
    answer
}

/// Returns the gRPC status of an answer with these headers and trailers, or `None` if it has none.
pub(crate) fn status(headers: &HeaderMap, trailers: Option<&HeaderMap>) -> Option<u8> {
    let status = headers.get(STATUS).or_else(|| trailers?.get(STATUS))?;
    status.to_str().ok()?.parse().ok()
}
