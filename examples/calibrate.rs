//! Calibrates the detectors against golden sets: figures with intervals, tiers, robustness, every wrong verdict.
//!
//! `cargo run --release --example calibrate -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde::Serialize;
use tracelint::{
    ALL, CalibrationOptions, CalibrationReport, GoldenSet, Sweep, Tier, calibrate, calibration_html,
    default_detectors, render_calibration, render_sweeps, sweep,
};

/// How good the detectors are on labelled runs.
#[derive(Parser)]
struct Arguments {
    /// Directory or file of golden entries; default: the bundled ones
    #[arg(long)]
    golden: Option<PathBuf>,
    /// Trials of pass^k
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    /// Seed of perturbations and bootstrap
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; default: one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
    /// Write a report with tables and charts, one HTML file that needs nothing else
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Exit with status 3 when a detector is below this tier, in any trial
    #[arg(long, value_enum)]
    gate: Option<Gates>,
    /// Show the figures over each detector's main parameter too
    #[arg(long)]
    sweep: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Gates {
    Experimental,
    Beta,
    Production,
}

impl From<Gates> for Tier {
    fn from(gate: Gates) -> Self {
        match gate {
            Gates::Experimental => Self::Experimental,
            Gates::Beta => Self::Beta,
            Gates::Production => Self::Production,
        }
    }
}

#[derive(Serialize)]
struct Output<'r> {
    #[serde(flatten)]
    report: &'r CalibrationReport,
    sweeps: &'r [Sweep],
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let golden = match &arguments.golden {
        Some(path) => path.clone(),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/golden")),
    };
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let set = GoldenSet::load(std::slice::from_ref(&golden), &known).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        lines.join("\nerror: ")
    })?;
    if set.entries().is_empty() {
        return Err(format!("{}: no golden entries (*.jsonl)", golden.display()).into());
    }
    let options = CalibrationOptions {
        trials: arguments.trials,
        seed: arguments.seed,
        gate: arguments.gate.map(Tier::from),
        ..CalibrationOptions::default()
    };
    let threads = arguments.threads.map_or(0, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let report = pool.install(|| calibrate(&set, &default_detectors(), &options));
    let sweeps = ALL.iter().map(|info| sweep(&set, info)).collect::<Result<Vec<_>, _>>()?;

    common::print(&render_calibration(&report))?;
    if arguments.sweep {
        common::print(&render_sweeps(&sweeps))?;
    }
    if let Some(path) = &arguments.json {
        common::write_json(path, &[], &Output { report: &report, sweeps: &sweeps })?;
    }
    if let Some(path) = &arguments.html {
        common::tables::write_text(path, &[golden], &calibration_html(&report, &sweeps))?;
    }
    let Some(gate) = options.gate else { return Ok(0) };
    let mut status = 0;
    for detector in &report.detectors {
        if detector.pass_k.pass != Some(1) {
            eprintln!("{} is below {}", detector.detector, gate.name());
            status = 3;
        }
    }
    Ok(status)
}
