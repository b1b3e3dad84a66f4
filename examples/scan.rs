//! Runs the detectors over files and directories: one JSON object per run, and a table.
//!
//! `cargo run --release --example scan -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use serde_json::Value;
use tracelint::{
    ALL, Actors, Alignment, Detector, EventContext, FlaggedRun, FlaggedRuns, Format, Preset, ReadOptions,
    Registry, ScanOptions, ScanSummary, Scanner, TraceRecord, otlp_json, scan_html,
};

/// Finds where agents go wrong in their recorded runs.
#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required_unless_present_any = ["list_formats", "list_detectors"])]
    paths: Vec<PathBuf>,
    /// Format of the input; default: as its content says. See --list-formats
    #[arg(long)]
    format: Option<Format>,
    /// What `obs` is in BenchTrace episodes (before, after); default: as each episode's first entry tells
    #[arg(long)]
    alignment: Option<Alignment>,
    /// All files are one source: the spans and log records of a trace meet wherever they lie. Files of other formats
    /// are scanned as always
    #[arg(long)]
    join: bool,
    /// Detectors, comma-separated; default: all but the opt-in ones, of which those with an entry in --config
    #[arg(long, value_delimiter = ',')]
    detectors: Vec<String>,
    /// Whose actions count (agent, user, all)
    #[arg(long, default_value = "agent")]
    actors: Actors,
    /// Which defaults the detectors start from (default, bench-trace)
    #[arg(long, default_value = "default")]
    preset: Preset,
    /// JSON object with detectors for keys and configurations for values, put over the preset
    #[arg(long, value_name = "FILE.json")]
    config: Option<PathBuf>,
    /// Take a fingerprint of each run
    #[arg(long)]
    fingerprints: bool,
    /// Threads; default: one per core
    #[arg(long)]
    threads: Option<usize>,
    /// Files above this many MiB are not held whole
    #[arg(long, default_value_t = 4, value_name = "MIB")]
    stream_above: u64,
    /// Write one JSON object per run to this file
    #[arg(long, value_name = "FINDINGS.jsonl")]
    out: Option<PathBuf>,
    /// Write a report with tables, charts and the steps of the worst runs, one HTML file that needs nothing else
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Write the verdicts and findings to this file as evaluation events: OTLP/JSON log records, a request per run
    #[arg(long, value_name = "EVENTS.jsonl")]
    otlp_out: Option<PathBuf>,
    /// List the formats that can be read, and end
    #[arg(long)]
    list_formats: bool,
    /// List the detectors with the configuration of the preset, as JSON, and end
    #[arg(long)]
    list_detectors: bool,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    if arguments.list_formats {
        let lines =
            Format::VARIANTS.iter().map(|format| format!("{:12} {}\n", format.name(), format.about()));
        common::print(&lines.collect::<String>())?;
        return Ok(0);
    }
    if arguments.list_detectors {
        let listed: Vec<Value> = ALL
            .iter()
            .map(|info| {
                serde_json::json!({
                    "id": info.id,
                    "mode": info.mode,
                    "summary": info.summary,
                    "opt_in": info.opt_in,
                    "config": info.config(arguments.preset, arguments.actors),
                })
            })
            .collect();
        common::print(&format!("{}\n", serde_json::to_string_pretty(&listed)?))?;
        return Ok(0);
    }
    let read =
        ReadOptions { format: arguments.format, alignment: arguments.alignment, ..ReadOptions::default() };
    let options = ScanOptions {
        read: read.clone(),
        fingerprints: arguments.fingerprints,
        digests: true,
        threads: arguments.threads,
        whole_file_limit: arguments.stream_above.saturating_mul(1 << 20),
        join: arguments.join,
        ..ScanOptions::default()
    };
    let scanner = Scanner::new(detectors(arguments)?, options)?;
    let create = |path: &Option<PathBuf>| {
        path.as_deref().map(|path| common::Output::create(path, &arguments.paths)).transpose()
    };
    let (mut out, mut events) = (create(&arguments.out)?, create(&arguments.otlp_out)?);
    let html = create(&arguments.html)?;
    let (mut summary, mut flagged) = (ScanSummary::default(), FlaggedRuns::default());
    let (writes, sends, draws) = (out.is_some(), events.is_some(), html.is_some());
    // Records become text where they are read, and are only put in order here.
    let map = |record: TraceRecord| {
        let line = if writes { common::json_line(&record) } else { Ok(Vec::new()) };
        let events = if sends { event_line(&record) } else { String::new() };
        let mut counts = ScanSummary::default();
        counts.add(&record);
        (line, events, counts, if draws { FlaggedRun::of(&record) } else { None })
    };
    let inputs = common::scan(&scanner, &arguments.paths, map, |(line, told, counts, run)| {
        summary.merge(&counts);
        flagged.extend(run);
        if let Some(out) = &mut out {
            out.write_all(&line?)?;
        }
        if let Some(events) = &mut events {
            events.write_all(told.as_bytes())?;
        }
        Ok(())
    })?;
    for out in [out, events].into_iter().flatten() {
        out.finish()?;
    }
    if let Some(mut out) = html {
        let flagged =
            if arguments.join { flagged.read_joined(&arguments.paths, &read) } else { flagged.read(&read) };
        out.write_all(scan_html(&summary, &summary.costs(), flagged).as_bytes())?;
        out.finish()?;
    }
    common::print(&format!("{}\n{}", common::render_inputs(&inputs), summary.render()))?;
    let status = common::status(&inputs);
    if status == 1 { Err("nothing could be read".into()) } else { Ok(status) }
}

/// The evaluation events of a run, as a request of OTLP.
fn event_line(record: &TraceRecord) -> String {
    let context = EventContext::new(&record.trace_id(), &record.metadata);
    otlp_json(&context.of_verdicts(&record.verdicts)) + "\n"
}

fn detectors(arguments: &Arguments) -> Result<Vec<Arc<dyn Detector>>, common::Failure> {
    let overrides = match &arguments.config {
        None => serde_json::Map::new(),
        Some(path) => {
            let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = std::fs::read_to_string(path).map_err(|error| place(&error))?;
            serde_json::from_str(&text).map_err(|error| place(&error))?
        }
    };
    let ids: Vec<&str> = arguments.detectors.iter().map(String::as_str).collect();
    Ok(Registry::default().build(&ids, arguments.preset, arguments.actors, &Value::Object(overrides))?)
}
