//! Does recovering from tool errors track reward better than making few of them does?
//!
//! Reads tau2-bench result files and prints the tables of the note "Tool-error recovery replicates on
//! tau2-bench". Without a path it reads the bundled runs of scripted policies in `golden/tau2`.
//!
//! `cargo run --release --example replicate_tau2 -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde::Serialize;
use tracelint::{
    Actors, Detector, Format, PassK, ReadOptions, Replication, ScanOptions, Scanner, SimulationRow,
    ToolErrorRecovery, ToolErrorRecoveryConfig, pass_k_by_pair, render_pass_k, render_replication,
};

/// Correlates recovery from tool errors with reward, on tau2-bench results.
#[derive(Parser)]
struct Arguments {
    /// Files or directories of tau2 results; without any, the bundled ones
    paths: Vec<PathBuf>,
    /// Whose calls count
    #[arg(long, value_enum, default_value = "all")]
    actors: Chosen,
    /// Recovery rate below which a run is flagged, in (0, 1]
    #[arg(long, default_value_t = 0.5)]
    threshold: f64,
    /// Threads; default: one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Write one JSON object per run to this file
    #[arg(long, value_name = "OUT.jsonl")]
    sims: Option<PathBuf>,
    /// Write the figures as JSON to this file
    #[arg(long, value_name = "OUT.json")]
    summary: Option<PathBuf>,
    /// Add tau-bench's pass^k per model and domain
    #[arg(long)]
    pass_k: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Chosen {
    All,
    Agent,
    User,
}

impl From<Chosen> for Actors {
    fn from(chosen: Chosen) -> Self {
        match chosen {
            Chosen::All => Self::All,
            Chosen::Agent => Self::Agent,
            Chosen::User => Self::User,
        }
    }
}

#[derive(Serialize)]
struct Summary<'r> {
    #[serde(flatten)]
    replication: &'r Replication,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass_k: Option<&'r [PassK]>,
    inputs: &'r [common::Input],
    config: Config,
}

/// What the figures depend on, and nothing else.
#[derive(Serialize)]
struct Config {
    actors: Actors,
    threshold: f64,
    version: &'static str,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(arguments)),
        Err(status) => status,
    }
}

fn run(arguments: Arguments) -> Result<u8, common::Failure> {
    let config = ToolErrorRecoveryConfig {
        actors: arguments.actors.into(),
        threshold: arguments.threshold,
        ..ToolErrorRecoveryConfig::published()
    };
    let detector: std::sync::Arc<dyn Detector> = std::sync::Arc::new(ToolErrorRecovery::new(config.clone())?);
    let read = ReadOptions { format: Some(Format::Tau2), routes: false, ..ReadOptions::default() };
    let options = ScanOptions { read, threads: arguments.threads.map(Into::into), ..ScanOptions::default() };
    let paths = if arguments.paths.is_empty() {
        vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2"))]
    } else {
        arguments.paths
    };

    let mut rows = Vec::new();
    let scanner = Scanner::new(vec![detector], options)?;
    let inputs = common::scan(
        &scanner,
        &paths,
        |record| SimulationRow::of(&record),
        |row| {
            rows.extend(row);
            Ok(())
        },
    )?;
    let status = common::status(&inputs);
    if status == 1 {
        return Err("nothing could be read".into());
    }

    let replication = Replication::of(&rows);
    common::print(&render_replication(&replication))?;
    let pass_k = arguments.pass_k.then(|| pass_k_by_pair(&rows));
    if let Some(groups) = &pass_k {
        common::print(&render_pass_k(groups))?;
    }
    if let Some(path) = &arguments.sims {
        let mut out = common::Output::create(path, &paths)?;
        for row in &rows {
            serde_json::to_writer(&mut out, row)?;
            writeln!(out)?;
        }
        out.finish()?;
    }
    if let Some(path) = &arguments.summary {
        let config =
            Config { actors: config.actors, threshold: config.threshold, version: env!("CARGO_PKG_VERSION") };
        let summary =
            Summary { replication: &replication, pass_k: pass_k.as_deref(), inputs: &inputs, config };
        common::write_json(path, &paths, &summary)?;
    }
    Ok(status)
}
