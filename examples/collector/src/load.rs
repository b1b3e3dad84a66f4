//! Sends synthetic traces, all open at the same time, over HTTP or gRPC, and reports the rate.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

use crate::config::{Kind, Sink};
use crate::sinks::Client;
use crate::{Failure, routes};

/// The maximum number of spans in a request.
const BATCH: u64 = 500;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Where to send, as `http://HOST:PORT` or `https://HOST:PORT`
    url: String,
    /// Send over gRPC instead of HTTP
    #[arg(long)]
    grpc: bool,
    /// Number of traces, all open at the same time
    #[arg(long, default_value_t = 10_000)]
    traces: u64,
    /// Spans per trace
    #[arg(long, default_value_t = 20)]
    spans: u64,
    /// Leave the traces open
    #[arg(long)]
    open: bool,
    /// Id of the first trace; the others follow
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Concurrent requests
    #[arg(long, default_value_t = 4)]
    senders: u64,
    /// Maximum spans per second
    #[arg(long)]
    rate: Option<u64>,
    /// Watch this file, to which the collector writes, and report the delay from a finding's last span to its event
    #[arg(long, value_name = "EVENTS.jsonl")]
    watch: Option<PathBuf>,
    /// A file with the token of the collector
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// A PEM file with additional certificates to trust
    #[arg(long)]
    ca_file: Option<PathBuf>,
}

/// The state that all senders share.
struct Load {
    client: Client,
    arguments: Arguments,
    began: Instant,
    next: AtomicU64,
    sent: AtomicU64,
    again: AtomicU64,
    /// When each span of a looping trace was sent, by trace and number of the span.
    times: Mutex<BTreeMap<(u64, u64), Instant>>,
}

/// Sends the load and prints the rate and, with `--watch`, the delays.
pub(crate) async fn run(arguments: Arguments) -> Result<u8, Failure> {
    let kind = if arguments.grpc { Kind::OtlpGrpc } else { Kind::OtlpHttp };
    let remote = Sink {
        url: Some(arguments.url.clone()),
        token_file: arguments.token_file.clone(),
        ca_file: arguments.ca_file.clone(),
        ..Sink::new(kind)
    };
    let client = if arguments.grpc {
        Client::grpc(&remote, "/opentelemetry.proto.collector.trace.v1.TraceService/Export")?
    } else {
        Client::http(&remote, "/v1/traces")?
    };
    let ended = Arc::new(AtomicBool::new(false));
    let load = Arc::new(Load {
        client,
        began: Instant::now(),
        next: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        again: AtomicU64::new(0),
        times: Mutex::default(),
        arguments,
    });
    let watching = load.arguments.watch.clone().map(|file| {
        let (load, ended) = (Arc::clone(&load), Arc::clone(&ended));
        std::thread::spawn(move || watch(&file, &load, &ended))
    });
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..load.arguments.senders.max(1) {
        let load = Arc::clone(&load);
        senders.spawn(async move { load.send().await });
    }
    while let Some(sent) = senders.join_next().await {
        sent??;
    }
    let seconds = load.began.elapsed().as_secs_f64();
    let sent = load.sent.load(Ordering::Relaxed);
    let rate = f64::from(u32::try_from(sent)?) / seconds;
    let again = load.again.load(Ordering::Relaxed);
    let mut out = std::io::stdout();
    let traces = load.arguments.traces;
    writeln!(
        out,
        "{sent} spans of {traces} traces in {seconds:.1} s: {rate:.0} spans/s; {again} requests retried"
    )?;
    if let Some(watching) = watching {
        tokio::time::sleep(Duration::from_secs(2)).await;
        ended.store(true, Ordering::Relaxed);
        let mut delays = watching.join().map_err(|_| "the thread that watches the file panicked")??;
        delays.sort_unstable();
        let at = |part: usize| delays.get(delays.len() * part / 100).copied().unwrap_or_default().as_millis();
        let (median, slowest) = (at(50), at(99));
        writeln!(out, "{} findings; median delay {median} ms, 99th percentile {slowest} ms", delays.len())?;
    }
    Ok(0)
}

impl Load {
    /// Sends requests until all spans have been sent.
    async fn send(&self) -> Result<(), Failure> {
        let Arguments { traces, spans, rate, .. } = self.arguments;
        let batches = traces.div_ceil(BATCH);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let (round, batch) = (number / batches, number % batches);
            if round >= spans {
                return Ok(());
            }
            let range = batch * BATCH..traces.min((batch + 1) * BATCH);
            let count = range.end - range.start;
            if let Some(rate) = rate {
                let due = Duration::from_millis(number * BATCH * 1000 / rate.max(1));
                tokio::time::sleep_until((self.began + due).into()).await;
            }
            let made = range.clone().map(|trace| self.synthetic_span(trace, round)).collect();
            let body = request(made);
            if self.arguments.watch.is_some() {
                let now = Instant::now();
                let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
                times.extend(
                    range.filter(|trace| is_looping(*trace)).map(|trace| ((self.id(trace), round), now)),
                );
            }
            self.post(body).await?;
            self.sent.fetch_add(count, Ordering::Relaxed);
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), Failure> {
        let body = bytes::Bytes::from(body);
        let kind = (!self.arguments.grpc).then_some(routes::PROTOBUF);
        loop {
            match self.client.post(body.clone(), kind).await? {
                status if status.is_success() => return Ok(()),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                    self.again.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                status => return Err(format!("{}: answered {status}", self.arguments.url).into()),
            }
        }
    }

    fn id(&self, trace: u64) -> u64 {
        self.arguments.first + trace
    }

    /// Returns a tool span of a trace or, as the last one unless traces stay open, the agent's, which ends the trace.
    fn synthetic_span(&self, trace: u64, round: u64) -> Span {
        let spans = self.arguments.spans;
        let start = 1_700_000_000_000_000_000 + round * 1_000_000;
        let is_root = round + 1 == spans && !self.arguments.open;
        let number = if is_looping(trace) { 0 } else { round };
        let attributes = if is_root {
            vec![attribute("gen_ai.operation.name", "invoke_agent".to_owned())]
        } else {
            vec![
                attribute("gen_ai.operation.name", "execute_tool".to_owned()),
                attribute("gen_ai.tool.name", "get_order".to_owned()),
                attribute("gen_ai.tool.call.arguments", format!("{{\"order\": {number}}}")),
                attribute("gen_ai.tool.call.result", format!("order {number} is pending")),
            ]
        };
        // The id of the agent's span, which is not sent if traces stay open.
        let root = (spans + u64::from(self.arguments.open)).to_be_bytes().to_vec();
        Span {
            trace_id: u128::from(self.id(trace)).to_be_bytes().to_vec(),
            span_id: (round + 1).to_be_bytes().to_vec(),
            parent_span_id: if is_root { Vec::new() } else { root },
            name: if is_root { "invoke_agent clerk" } else { "execute_tool get_order" }.to_owned(),
            start_time_unix_nano: start,
            end_time_unix_nano: start + 500_000,
            attributes,
            ..Span::default()
        }
    }
}

/// Returns true for every tenth trace, which repeats one call.
fn is_looping(trace: u64) -> bool {
    trace.is_multiple_of(10)
}

fn attribute(key: &str, value: String) -> KeyValue {
    let value = Some(AnyValue { value: Some(Value::StringValue(value)) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

fn request(spans: Vec<Span>) -> Vec<u8> {
    let resource =
        Resource { attributes: vec![attribute("service.name", "load".to_owned())], ..Resource::default() };
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec()
}

/// Reads a file as it grows. Returns the delay of each opened finding from its last span to its line.
fn watch(file: &Path, load: &Load, ended: &AtomicBool) -> Result<Vec<Duration>, Failure> {
    let mut lines = BufReader::new(File::open(file)?);
    let (mut line, mut delays) = (String::new(), Vec::new());
    loop {
        if lines.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            if ended.load(Ordering::Relaxed) {
                return Ok(delays);
            }
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let now = Instant::now();
        let request: Events = serde_json::from_str(&line)?;
        line.clear();
        let scopes = request.resource_logs.into_iter().flat_map(|logs| logs.scope_logs);
        for record in scopes.flat_map(|scope| scope.log_records) {
            let is_opened = record.attributes.iter().any(|attribute| {
                attribute.key == "wrongturn.update"
                    && attribute.value.string_value.as_deref() == Some("opened")
            });
            let number = |id: &str| u64::try_from(u128::from_str_radix(id, 16).ok()?).ok();
            let (Some(trace), Some(span)) = (number(&record.trace_id), number(&record.span_id)) else {
                continue;
            };
            let times = load.times.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sent) = times.get(&(trace, span - 1)).filter(|_| is_opened) {
                delays.push(now.duration_since(*sent));
            }
        }
    }
}

/// A line of events, with only the fields that are used.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    resource_logs: Vec<ResourceEvents>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceEvents {
    scope_logs: Vec<ScopeEvents>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeEvents {
    log_records: Vec<Event>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    trace_id: String,
    #[serde(default)]
    span_id: String,
    attributes: Vec<Attribute>,
}

#[derive(serde::Deserialize)]
struct Attribute {
    key: String,
    value: Text,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text {
    string_value: Option<String>,
}
