//! Answers requests by path, over HTTP and gRPC.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use hyper::{Method, Request, Response, StatusCode};

use crate::intake::{Intake, Refusal, Taken};
use crate::{grpc, proto};

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/x-protobuf";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answers one request.
pub(crate) async fn answer(intake: Arc<Intake>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let is_grpc = grpc::is_export(&path);
    let is_open = matches!(&*path, "/healthz" | "/readyz");
    let is_known = is_open
        || is_grpc
        || matches!(&*path, "/metrics" | "/v1/traces" | "/v1/logs")
        || path.starts_with("/traces/");
    if !is_known {
        let known = "expected /v1/traces, /v1/logs, /traces/ID, /metrics, /healthz or /readyz\n";
        return text(StatusCode::NOT_FOUND, TEXT, known);
    }
    let is_post = is_grpc || path.starts_with("/v1/");
    let method = if is_post { Method::POST } else { Method::GET };
    if request.method() != method {
        let message = format!("expected {method}, got {}\n", request.method());
        return text(StatusCode::METHOD_NOT_ALLOWED, TEXT, message);
    }
    if !is_open && !is_allowed(&intake, request.headers()) {
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "expected the token of this collector");
        intake.metrics.request(if is_grpc { "grpc" } else { "http" }, refusal.status);
        return if is_grpc { grpc::refused(&refusal) } else { refused(&refusal, true) };
    }
    if is_grpc {
        let answered = grpc::take(&intake, request).await;
        intake
            .metrics
            .request("grpc", answered.as_ref().map_or_else(|refusal| refusal.status, |_| StatusCode::OK));
        return answered.map_or_else(|refusal| grpc::refused(&refusal), |taken| grpc::taken(&taken));
    }
    match &*path {
        "/healthz" => text(StatusCode::OK, TEXT, "ok\n"),
        "/readyz" => match intake.not_ready() {
            None => text(StatusCode::OK, TEXT, "ok\n"),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{reason}\n")),
        },
        "/metrics" => {
            let metrics =
                intake.metrics.render(&intake.sinks, intake.connections.count() as u64, intake.in_flight());
            text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics)
        }
        "/v1/traces" | "/v1/logs" => {
            let is_json = !has(request.headers(), &CONTENT_TYPE, &[PROTOBUF]);
            let answered = take(&intake, request).await;
            intake
                .metrics
                .request("http", answered.as_ref().map_or_else(|refusal| refusal.status, |_| StatusCode::OK));
            match answered {
                Err(refusal) => refused(&refusal, is_json),
                Ok(taken) if is_json => text(StatusCode::OK, JSON, json(&taken, &path)),
                Ok(taken) => text(StatusCode::OK, PROTOBUF, proto::response(&taken)),
            }
        }
        _ => trace(&intake, path.trim_start_matches("/traces/")).await,
    }
}

pub(crate) fn body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

fn text(status: StatusCode, kind: &'static str, content: impl Into<Bytes>) -> Response<Body> {
    let mut answer = Response::new(body(content));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Returns true if the request has the token, or none is set. The comparison takes equally long wherever the two tokens
/// differ, so its timing does not reveal the token.
fn is_allowed(intake: &Intake, headers: &HeaderMap) -> bool {
    let Some(token) = &intake.token else { return true };
    let given = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
    let (scheme, given) = given.split_at(given.len().min("bearer ".len()));
    let differs = given.iter().zip(token.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    scheme.eq_ignore_ascii_case(b"bearer ") && given.len() == token.len() && differs == 0
}

/// Returns true if a header names one of these media types or encodings, in any case and with any parameters.
pub(crate) fn has(headers: &HeaderMap, name: &HeaderName, values: &[&str]) -> bool {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let value = value.split(';').next().unwrap_or_default().trim();
    values.iter().any(|known| known.eq_ignore_ascii_case(value))
}

/// Returns true if a header names gzip, and false if it names `identity` or no encoding. Refuses other encodings.
pub(crate) fn is_gzipped(headers: &HeaderMap, name: &HeaderName) -> Result<bool, Refusal> {
    if has(headers, name, &["gzip", "x-gzip"]) {
        return Ok(true);
    }
    if has(headers, name, &["", "identity"]) {
        return Ok(false);
    }
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected the encoding gzip or identity"))
}

async fn take(intake: &Arc<Intake>, request: Request<Incoming>) -> Result<Taken, Refusal> {
    if !has(request.headers(), &CONTENT_TYPE, &[JSON, PROTOBUF]) {
        let message = "expected the content type application/json or application/x-protobuf";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let is_gzipped = is_gzipped(request.headers(), &CONTENT_ENCODING)?;
    intake.take(request.into_body(), move |body| Ok((body, is_gzipped))).await
}

fn refused(refusal: &Refusal, is_json: bool) -> Response<Body> {
    let mut answer = if is_json {
        let message = serde_json::json!({"message": refusal.message});
        text(refusal.status, JSON, message.to_string())
    } else {
        text(refusal.status, PROTOBUF, proto::status(&refusal.message))
    };
    if refusal.is_temporary() {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if refusal.status == StatusCode::UNAUTHORIZED {
        answer.headers_mut().insert(hyper::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}

fn json(taken: &Taken, path: &str) -> String {
    if taken.rejected == 0 {
        return "{}".to_owned();
    }
    let counted = if path == "/v1/logs" { "rejectedLogRecords" } else { "rejectedSpans" };
    // 64-bit numbers are strings in OTLP/JSON.
    let partial = serde_json::json!({counted: taken.rejected.to_string(), "errorMessage": taken.message});
    serde_json::json!({"partialSuccess": partial}).to_string()
}

/// Answers with the verdicts so far on an open trace.
async fn trace(intake: &Intake, id: &str) -> Response<Body> {
    let (to, answer) = tokio::sync::oneshot::channel();
    let _ = intake.judge.send(crate::judge::Work::Peek(id.to_owned(), to));
    match answer.await {
        Ok(Some(runs)) => text(StatusCode::OK, JSON, runs),
        Ok(None) => text(StatusCode::NOT_FOUND, JSON, r#"{"message": "no open trace has this id"}"#),
        Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, JSON, r#"{"message": "the collector is stopping"}"#),
    }
}
