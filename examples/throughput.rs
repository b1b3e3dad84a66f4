//! How fast this machine scans, beside how fast it can read the JSON at all.
//!
//! Reads the given files into memory once, then alternates the floor (`serde_json` ignoring every value) and the
//! scan with all four detectors over several rounds, on one thread and on two. Prints medians; the last line is one
//! JSON object.
//!
//! `cargo run --release --example throughput -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use serde::Deserialize as _;
use serde::de::IgnoredAny;
use serde_json::json;
use tracelint::{ScanOptions, Scanner, default_detectors};

/// Measures the scan against the floor.
#[derive(Parser)]
struct Arguments {
    /// JSON files, or directories of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Repeat the files until they hold this many MB
    #[arg(long, default_value_t = 0, value_name = "MB")]
    min_mb: u64,
    /// Rounds; the medians are told
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

struct Input {
    path: PathBuf,
    bytes: Vec<u8>,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for a reader")]
fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let mut inputs = Vec::new();
    for path in &arguments.paths {
        read(path, &mut inputs)?;
    }
    let once: usize = inputs.iter().map(|input| input.bytes.len()).sum();
    if once == 0 {
        return Err("there is nothing to read".into());
    }
    let wanted = usize::try_from(arguments.min_mb.saturating_mul(1_000_000))?;
    let work: Vec<&Input> = std::iter::repeat_n(&inputs, wanted.div_ceil(once).max(1)).flatten().collect();
    let megabytes = work.iter().map(|input| input.bytes.len()).sum::<usize>() as f64 / 1e6;
    let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
    let runs = AtomicUsize::new(0);
    let floor = |input: &Input| {
        let mut parser = serde_json::Deserializer::from_slice(&input.bytes);
        std::hint::black_box(IgnoredAny::deserialize(&mut parser)).is_ok()
    };
    let scan = |input: &Input| {
        let file = scanner.scan_slice(&input.path, &input.bytes);
        runs.fetch_add(file.traces.len(), Ordering::Relaxed);
        std::hint::black_box(file).errors.is_empty()
    };

    let mut rounds = Vec::new();
    for _ in 0..arguments.rounds {
        let floor_1 = time(&work, 1, floor);
        let scan_1 = time(&work, 1, scan);
        let floor_2 = time(&work, 2, floor);
        let scan_2 = time(&work, 2, scan);
        rounds.push([floor_1, scan_1, floor_2, scan_2]);
    }
    let counted = runs.into_inner() as f64 / f64::from(2 * arguments.rounds);
    let figure = |of: fn(&[f64; 4]) -> f64| median(rounds.iter().map(of).collect());
    let ratio = figure(|[floor, scan, ..]| scan / floor);
    let speedup = figure(|[_, scan, _, two]| scan / two);
    let floor_speedup = figure(|[floor, _, two, _]| floor / two);
    let scan_seconds = figure(|[_, scan, ..]| *scan);
    let floor_seconds = figure(|[floor, ..]| *floor);
    let peak = peak_mib();

    println!(
        "{} files, {megabytes:.0} MB, {counted:.0} runs, {} rounds (medians)",
        work.len(),
        arguments.rounds
    );
    println!("  floor, 1 thread   {:8.0} MB/s", megabytes / floor_seconds);
    println!(
        "  scan, 1 thread    {:8.0} MB/s   {:.0} runs/s   {ratio:.3} times the floor's time",
        megabytes / scan_seconds,
        counted / scan_seconds
    );
    println!("  two threads       scan {speedup:.2} times as fast, floor {floor_speedup:.2} times");
    println!(
        "  peak memory       {} (the files included)",
        peak.map_or("unknown".to_owned(), |mib| format!("{mib:.0} MiB"))
    );
    println!(
        "{}",
        json!({
            "ratio_1t": ratio,
            "speedup_2t": speedup,
            "floor_speedup_2t": floor_speedup,
            "mb_per_s_1t": megabytes / scan_seconds,
            "runs_per_s_1t": counted / scan_seconds,
            "peak_mib": peak,
        })
    );
    Ok(0)
}

fn read(path: &Path, inputs: &mut Vec<Input>) -> Result<(), common::Failure> {
    let place = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(place)?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<Result<_, _>>()?;
        entries.sort();
        for entry in entries {
            if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "json") {
                read(&entry, inputs)?;
            }
        }
    } else {
        inputs.push(Input { path: path.to_path_buf(), bytes: std::fs::read(path).map_err(place)? });
    }
    Ok(())
}

/// Seconds that the work takes on this many threads.
fn time(work: &[&Input], threads: usize, job: impl Fn(&Input) -> bool + Sync) -> f64 {
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some(input) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            job(input);
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take);
        }
        take();
    });
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The largest resident size of this process so far, where the system tells it.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
