//! Hands events on: to a file, to another collector, or to standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use wrongturn::export::{EvaluationEvent, otlp_json};

use crate::common::Failure;
use crate::metrics::Metrics;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait after the first failure, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Why something could not be sent.
pub(crate) type NotSent = Box<dyn std::error::Error + Send + Sync>;

/// Where events go.
pub(crate) enum Target {
    Lines(Box<dyn Write + Send>),
    Collector(Uri),
}

impl Target {
    pub(crate) fn new(file: Option<&Path>, url: Option<&str>) -> Result<Self, Failure> {
        if let Some(url) = url {
            return Ok(Self::Collector(address(url, "/v1/logs")?));
        }
        Ok(Self::Lines(match file {
            None => Box::new(io::stdout()),
            Some(path) => {
                let open = File::options().create(true).append(true).open(path);
                Box::new(open.map_err(|error| format!("{}: {error}", path.display()))?)
            }
        }))
    }
}

/// A URL that can be sent to; where it names a host alone, `path` is its path.
pub(crate) fn address(url: &str, path: &str) -> Result<Uri, Failure> {
    let parsed = url.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("http"));
    let Some(uri) = parsed.filter(|uri| uri.host().is_some()) else {
        return Err(format!("{url}: not of the form http://host:port or http://host:port/path").into());
    };
    let is_bare = uri.path_and_query().is_none_or(|path| path.as_str() == "/");
    let mut parts = uri.into_parts();
    if is_bare {
        parts.path_and_query = Some(path.parse()?);
    }
    Ok(Uri::from_parts(parts)?)
}

/// Hands on until no more comes. Once the program stops, what cannot be delivered within `drain` is dropped, by count.
pub(crate) async fn run(
    mut target: Target,
    mut events: mpsc::UnboundedReceiver<Vec<EvaluationEvent>>,
    metrics: Arc<Metrics>,
    stopped: watch::Receiver<bool>,
    drain: Duration,
) {
    while let Some(batch) = events.recv().await {
        let count = batch.len() as u64;
        let request = otlp_json(&batch);
        let delivered = match &mut target {
            Target::Lines(out) => writeln!(out, "{request}").and_then(|()| out.flush()).is_ok(),
            Target::Collector(uri) => deliver(uri, request.into(), stopped.clone(), drain).await,
        };
        let counter = if delivered { &metrics.events_sent } else { &metrics.events_dropped };
        counter.fetch_add(count, Ordering::Relaxed);
        metrics.events_waiting.fetch_sub(count, Ordering::Relaxed);
    }
}

/// Sends until it is taken, or refused for good, or the time after the stop is over.
async fn deliver(uri: &Uri, body: Bytes, stopped: watch::Receiver<bool>, drain: Duration) -> bool {
    let (mut pause, longest) = PAUSES;
    let mut deadline = None;
    loop {
        if *stopped.borrow() {
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + drain);
            if Instant::now() >= deadline {
                return false;
            }
        }
        match tokio::time::timeout(PATIENCE, post(uri, body.clone())).await {
            Ok(Ok(status)) if status.is_success() => return true,
            // Whatever else is answered, it would be answered again.
            Ok(Ok(status)) if !may_pass(status) => return false,
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

fn may_pass(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Posts a body of OTLP/JSON.
pub(crate) async fn post(uri: &Uri, body: Bytes) -> Result<StatusCode, NotSent> {
    let host = uri.host().unwrap_or_default();
    // An address of IPv6 stands in brackets, which are none of it.
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let stream = TcpStream::connect((name, uri.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::post(path)
        .header(HOST, uri.authority().map_or(host, |authority| authority.as_str()))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    answer.into_body().collect().await?;
    drop(sender);
    let _ = connection.await;
    Ok(status)
}
