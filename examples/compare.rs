//! Two agents, or one before and after a change of its prompt, on the same tasks.
//!
//! Prints which one succeeds more often and how sure that is, pass^k, what the detectors find on either
//! side, how far the behaviour has moved, and which tasks flipped. Without paths it compares two of the
//! bundled scripted policies.
//!
//! `cargo run --release --example compare -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use common::tables::{self, TableFiles};
use tracelint::{
    ComparedRun, Comparison, ScanOptions, Scanner, TraceRecord, comparison_html, comparison_tables,
    default_detectors, render_comparison, stats::Resampling,
};

/// Compares two agents on the tasks that both tried.
#[derive(Parser)]
#[command(after_help = common::notes(
    "files or directories of runs of any format, one for each agent; without any, two of the bundled scripted policies.",
    "tables on standard output, and files where they are asked for. No output replaces an input.",
    common::STATUS,
    "compare --html report.html before/ after/",
))]
struct Arguments {
    /// File or directory of the first agent's runs
    #[arg(requires = "second")]
    first: Option<PathBuf>,
    /// File or directory of the second agent's runs
    second: Option<PathBuf>,
    /// Only runs of this model on the first side
    #[arg(long, value_name = "MODEL")]
    first_model: Option<String>,
    /// Only runs of this model on the second side
    #[arg(long, value_name = "MODEL")]
    second_model: Option<String>,
    /// Resamples of each bootstrap, and exchanges of fingerprints
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    resamples: u32,
    /// Seed of the resamples
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; default: one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Write the comparison as JSON to this file
    #[arg(long, value_name = "OUT.json")]
    summary: Option<PathBuf>,
    #[command(flatten)]
    files: TableFiles,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let bundled = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2"));
    let by_default = |model: &Option<String>, bundled: &str| {
        model.clone().or_else(|| arguments.first.is_none().then(|| bundled.to_owned()))
    };
    let models = [
        by_default(&arguments.first_model, "scripted-careless"),
        by_default(&arguments.second_model, "scripted-persistent"),
    ];
    let paths =
        [arguments.first.clone().unwrap_or_else(bundled), arguments.second.clone().unwrap_or_else(bundled)];
    let threads = arguments.threads.map(usize::from);
    let options = ScanOptions { fingerprints: true, threads, ..ScanOptions::default() };
    let scanner = Scanner::new(default_detectors(), options)?;
    let mut sides = Vec::new();
    let mut inputs = Vec::new();
    for (path, model) in paths.iter().zip(&models) {
        let mut runs = Vec::new();
        let chosen = |record: TraceRecord| {
            let chosen = model.is_none() || record.metadata.model.as_deref() == model.as_deref();
            chosen.then(|| ComparedRun::of(&record))
        };
        inputs.push(tables::scan(&scanner, std::slice::from_ref(path), chosen, |run| runs.push(run))?);
        sides.push((label(path, model.as_deref()), runs));
    }
    let status = common::status(&inputs);
    if status == 1 {
        inputs.iter().for_each(tables::tell_errors);
        return Err("nothing could be read".into());
    }
    let [(first, first_runs), (second, second_runs)] = sides.as_slice() else {
        return Err("two sides are needed".into());
    };
    let options =
        Resampling { resamples: arguments.resamples as usize, seed: arguments.seed, ..Resampling::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build()?;
    let comparison = pool.install(|| Comparison::of((first, first_runs), (second, second_runs), &options))?;
    common::print(&render_comparison(&comparison))?;
    arguments.files.write(&paths, &comparison_tables(&comparison))?;
    if let Some(path) = &arguments.files.html {
        tables::write_text(path, &paths, &comparison_html(&comparison))?;
    }
    if let Some(path) = &arguments.summary {
        common::write_json(path, &paths, &comparison)?;
    }
    inputs.iter().for_each(tables::tell_errors);
    Ok(status)
}

/// What a side is called: its model, or else its path.
fn label(path: &Path, model: Option<&str>) -> String {
    model.map_or_else(|| path.display().to_string(), str::to_owned)
}
