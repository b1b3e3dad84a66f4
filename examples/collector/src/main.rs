//! Receives OTLP, judges the traces, and sends evaluation events.
//!
//! ```text
//! cargo run --profile collector -p wrongturn-collector -- --set sink='[{kind="file",path="events.jsonl"}]'
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 your-agent
//! ```
//!
//! Every span that is accepted is judged or saved, even if SIGTERM stops the program. The guide's page on
//! operations describes losses; collector.toml has all settings.

#![allow(clippy::print_stderr, reason = "a command-line program")]

mod config;
mod grpc;
mod intake;
mod judge;
mod load;
mod metrics;
mod net;
mod proto;
mod routes;
mod sinks;
mod state;
mod stop;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use config::Config;
use intake::Intake;
use judge::{Judge, Work};
use metrics::Metrics;
use net::Connections;
use state::State;

/// An error that ends the program.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Receives OTLP over HTTP and gRPC, judges the traces, and hands on evaluation events.
///
/// Exit status: 0 after SIGTERM or SIGINT; 1 if events were dropped; 2 for wrong settings, or if it cannot start.
#[derive(Parser, Debug)]
#[command(name = "collector", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Read the settings from this file
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Put a setting over those of the file, such as `receive.http=0.0.0.0:4318`
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Check the settings and end
    #[arg(long)]
    check: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Send made-up traces to a collector and report how fast it takes them
    Load(load::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match start(arguments) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: Arguments) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Some(Command::Load(arguments)) = arguments.command {
        return runtime.block_on(load::run(arguments));
    }
    let config = Config::read(arguments.config.as_deref(), &arguments.set)?;
    if arguments.check {
        return Ok(0);
    }
    let filter = EnvFilter::try_new(&config.log.level)?;
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).with_ansi(false);
    if config.log.json {
        log.json().init();
    } else {
        log.init();
    }
    let status = runtime.block_on(serve(&config));
    // Do not wait for tasks that still run: they are stuck.
    runtime.shutdown_background();
    status
}

async fn serve(config: &Config) -> Result<u8, Failure> {
    let mut traces = config.assembler()?;
    let every = Duration::from_secs(config.state.every_seconds.max(1));
    let state = match config.state.dir.clone() {
        Some(dir) => Some(State::load(dir, every, &mut traces)?),
        None => None,
    };
    let receive = &config.receive;
    let token = receive.token_file.as_deref().map(config::token).transpose()?;
    let tls = receive.tls.as_ref().map(net::acceptor).transpose()?;
    let stdout = [config::Sink::new(config::Kind::Stdout)];
    let sinks = if config.sink.is_empty() { &stdout[..] } else { &config.sink };
    let sinks = sinks.iter().map(sinks::Ready::new).collect::<Result<Vec<_>, _>>()?;
    let queues: Vec<_> = sinks.iter().map(|sink| Arc::clone(&sink.queue)).collect();

    let metrics = Arc::new(Metrics::new(config.metrics.max_senders));
    let (stop, stopped) = stop::channel();
    let (judged, is_judged) = watch::channel(false);
    let (to_judge, work) = mpsc::channel();
    let connections = Arc::new(Connections::new(receive.max_connections));
    let intake = Arc::new(Intake::new(
        receive,
        to_judge.clone(),
        Arc::clone(&metrics),
        token,
        stopped.clone(),
        queues.clone(),
        Arc::clone(&connections),
    ));
    let mut servers = JoinSet::new();
    for (protocol, address) in [("http", &receive.http), ("grpc", &receive.grpc)] {
        if address.is_empty() {
            continue;
        }
        let listener = net::listen(address).await?;
        tracing::info!(protocol, tls = tls.is_some(), address = %listener.local_addr()?, "listening");
        let (intake, connections) = (Arc::clone(&intake), Arc::clone(&connections));
        servers.spawn(net::serve(listener, tls.clone(), intake, connections, stopped.clone()));
    }
    let mut senders = JoinSet::new();
    for sink in sinks {
        senders.spawn(sink.run(stopped.clone(), is_judged.clone()));
    }
    let judge = Judge { traces, state, sinks: queues.clone(), metrics: Arc::clone(&metrics) };
    let judge = std::thread::spawn(move || judge.run(&work));

    stop::signal().await;
    tracing::info!(seconds = receive.drain_seconds, "stopping");
    // Half of the time is for requests, and half for events.
    let drain = Duration::from_secs(receive.drain_seconds);
    stop.within(drain / 2);
    let _ = servers.join_all().await;
    let _ = to_judge.send(Work::Stop);
    // Judging is not cut short, because accepted spans would be lost.
    let ended = tokio::task::spawn_blocking(move || judge.join()).await?;
    stop.within(drain / 2);
    let _ = judged.send(true);
    senders.join_all().await;
    if ended.is_err() {
        return Err("the judge ended early".into());
    }
    let dropped: u64 = queues.iter().map(|queue| queue.dropped()).sum();
    tracing::info!(dropped_events = dropped, "stopped");
    Ok(u8::from(dropped > 0))
}
