//! A receiver of OTLP/HTTP that judges what it receives: spans and log records in, evaluation events out.
//!
//! ```text
//! cargo run --release --features collector,otlp --example collector -- --out events.jsonl
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 your-agent
//! ```
//!
//! `POST /v1/traces` and `/v1/logs` take JSON and, with the feature `otlp`, protobuf, gzip or not. What is answered with
//! 200 is judged, also when the program is told to stop (SIGINT, SIGTERM). Where more comes than can be judged, the answer
//! is 429, and 503 while it stops, both with `Retry-After`, as the OTLP specification asks. `GET /healthz` tells that it
//! runs, `GET /metrics` what it has done.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

#[path = "../common/mod.rs"]
mod common;
mod forward;
mod http;
mod judge;
mod load;
mod metrics;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use wrongturn::{Confidence, TraceAssembler, default_detectors, detect::at_least, live::AssemblerOptions};

use metrics::Metrics;

/// Receives OTLP/HTTP, judges the traces, and hands on evaluation events.
#[derive(Parser, Debug)]
#[command(after_help = common::notes(
    "POST /v1/traces and /v1/logs, JSON and, with the feature `otlp`, protobuf, gzip or not. GET /healthz tells that it \
     runs, GET /metrics what it has done, in the text format of Prometheus.",
    "evaluation events, a request of OTLP/JSON per line, on standard output or where they are asked for; where it listens, \
     and in the end what it has done, on standard error.",
    "Exit status: 0 after it was stopped; 2 for wrong usage, or if it cannot listen, write or send its load.",
    "collector --listen localhost:4318 --out events.jsonl",
))]
struct Arguments {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, default_value = "127.0.0.1:4318", value_name = "HOST:PORT")]
    listen: String,
    /// Append the events to this file, a request of OTLP/JSON per line
    #[arg(long, value_name = "OUT.jsonl")]
    out: Option<PathBuf>,
    /// Send the events to this collector; to /v1/logs, unless it names another path
    #[arg(long, value_name = "URL", conflicts_with = "out")]
    forward: Option<String>,
    /// Report findings at the end of their traces only, not when they are confirmed
    #[arg(long)]
    ends_only: bool,
    /// Report only findings that are at least this sure (likely, certain)
    #[arg(long, default_value = "likely", value_name = "CONFIDENCE")]
    min_confidence: Confidence,
    /// Close a trace so many milliseconds after the end of its root span
    #[arg(long, default_value_t = 10_000, value_name = "MS")]
    grace: u64,
    /// Close a trace whose agent has ended, but whose root span does not arrive, after so many milliseconds of silence
    #[arg(long, default_value_t = 30_000, value_name = "MS")]
    quiet: u64,
    /// Park a trace for which nothing has come for so many milliseconds; what comes later resumes it
    #[arg(long, default_value_t = 600_000, value_name = "MS")]
    idle: u64,
    /// Close a parked trace after so many milliseconds
    #[arg(long, default_value_t = 86_400_000, value_name = "MS")]
    expire: u64,
    /// Hold spans for so many milliseconds, in which earlier ones may come, before they are judged
    #[arg(long, default_value_t = 50, value_name = "MS")]
    settle: u64,
    /// Most open traces; beyond, the one that was silent longest is parked
    #[arg(long, default_value_t = 50_000, value_name = "N")]
    max_open: usize,
    /// Most spans and log records of one trace; beyond, it is evicted
    #[arg(long, default_value_t = 50_000, value_name = "N")]
    max_spans: usize,
    /// Most memory of all traces; beyond, those that were silent longest are parked, then evicted
    #[arg(long, default_value_t = 1024, value_name = "MIB")]
    max_memory: usize,
    /// Largest body, also when it is unpacked
    #[arg(long, default_value_t = 16, value_name = "MIB")]
    max_body: usize,
    /// Most requests at one time; beyond, the answer is 429
    #[arg(long, default_value_t = 64, value_name = "N")]
    max_requests: usize,
    /// Most bodies that wait to be judged; beyond, the answer is 429
    #[arg(long, default_value_t = 256, value_name = "N")]
    max_waiting: usize,
    /// Most events that wait to be sent; beyond, they are dropped, by count
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    max_events: u64,
    /// How many seconds events may still be sent when the program has been told to stop
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    drain: u64,
    /// Instead of all that, send made-up traces to this collector and tell how fast it took them; to /v1/traces, unless
    /// it names another path
    #[arg(long, value_name = "URL")]
    load: Option<String>,
    /// Traces of the load, all open at one time
    #[arg(long, default_value_t = 10_000, value_name = "N", requires = "load")]
    load_traces: u64,
    /// Spans of each
    #[arg(long, default_value_t = 20, value_name = "N", requires = "load")]
    load_spans: u64,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(start(arguments)),
        Err(status) => status,
    }
}

fn start(arguments: Arguments) -> Result<u8, common::Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match &arguments.load {
        Some(url) => runtime.block_on(load::run(url, arguments.load_traces, arguments.load_spans)),
        None => runtime.block_on(serve(arguments)),
    }
}

async fn serve(arguments: Arguments) -> Result<u8, common::Failure> {
    let options = AssemblerOptions {
        grace: Duration::from_millis(arguments.grace),
        quiet: Duration::from_millis(arguments.quiet),
        idle: Duration::from_millis(arguments.idle),
        expire: Duration::from_millis(arguments.expire),
        settle: Duration::from_millis(arguments.settle),
        min_spans_to_judge: if arguments.ends_only { 0 } else { 3 },
        max_open: arguments.max_open,
        max_pieces: arguments.max_spans,
        max_bytes: arguments.max_memory.saturating_mul(1 << 20),
        ..AssemblerOptions::default()
    };
    let detectors = at_least(default_detectors(), arguments.min_confidence);
    let traces = TraceAssembler::new(detectors, options)?;
    let listener = listen(&arguments.listen).await?;
    let metrics = Arc::new(Metrics::default());
    let target = forward::Target::new(arguments.out.as_deref(), arguments.forward.as_deref())?;
    let (to_sender, events) = mpsc::unbounded_channel();
    let drain = Duration::from_secs(arguments.drain);
    let (stopping, stopped) = tokio::sync::watch::channel(false);
    let sender = tokio::spawn(forward::run(target, events, Arc::clone(&metrics), stopped.clone(), drain));
    let (to_judge, batches) = mpsc::channel(arguments.max_waiting.max(1));
    let outlet = judge::Outlet {
        events: to_sender,
        metrics: Arc::clone(&metrics),
        most: arguments.max_events,
        updates: !arguments.ends_only,
    };
    let judge = std::thread::spawn(move || judge::run(traces, batches, &outlet));

    // Whoever started the program reads where it listens; standard output is for events.
    let _ = writeln!(std::io::stderr(), "listening on http://{}", listener.local_addr()?);
    let receiver = Arc::new(http::Receiver {
        judge: to_judge,
        metrics: Arc::clone(&metrics),
        requests: Semaphore::new(arguments.max_requests.max(1)),
        most: arguments.max_body.saturating_mul(1 << 20),
        stopped,
    });
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(told_to_stop());
    loop {
        let accepted = {
            let mut accept = std::pin::pin!(listener.accept());
            std::future::poll_fn(|context| {
                use std::future::Future;
                use std::task::Poll;
                if stop.as_mut().poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                accept.as_mut().poll(context).map(Some)
            })
            .await
        };
        let Some(accepted) = accepted else { break };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, for instance: others have to end first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let receiver = Arc::clone(&receiver);
        let service = service_fn(move |request| http::answer(Arc::clone(&receiver), request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_secs(30))
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that goes away has nobody to be told.
            let _ = connection.await;
        });
    }
    drop(listener);
    let _ = stopping.send(true);
    // What has been taken in is answered, whatever is still to come is not.
    let _ = tokio::time::timeout(drain, graceful.shutdown()).await;
    drop(receiver);
    // With the last sender of batches gone, the judge closes all traces and ends; with it, the last sender of events.
    let judged = tokio::task::spawn_blocking(move || judge.join()).await?;
    if judged.is_err() {
        return Err("the judge ended early".into());
    }
    sender.await?;
    let _ = std::io::stderr().write_all(metrics.render().as_bytes());
    Ok(0)
}

/// Listens at an address, or at a name, of which addresses of IPv4 come first.
async fn listen(address: &str) -> Result<TcpListener, common::Failure> {
    let place = |error: std::io::Error| format!("cannot listen on {address}: {error}");
    let mut found: Vec<_> = tokio::net::lookup_host(address).await.map_err(place)?.collect();
    found.sort_by_key(std::net::SocketAddr::is_ipv6);
    Ok(TcpListener::bind(found.as_slice()).await.map_err(place)?)
}

/// Comes back when the program is told to stop.
async fn told_to_stop() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        std::future::poll_fn(|context| {
            use std::future::Future;
            use std::task::Poll;
            if terminate.poll_recv(context).is_ready() || interrupt.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
