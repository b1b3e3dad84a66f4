//! Runs the detectors over files and directories: one JSON object per run, and a table.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common;
use crate::common::arguments::{Reading, Surety, Threads};
use crate::common::inputs;
use crate::common::output::Output;
use crate::common::parts::{self, PartialFile};
use crate::common::tables::TableFiles;
use clap::Parser;
use serde_json::Value;
use wrongturn::{
    Actors, Detector, EventContext, FlaggedRun, FlaggedRuns, PartialContent, Preset, Registry, RunStrip,
    ScanOptions, ScanPart, Scanner, TraceRecord, at_least, otlp_json,
};

/// Finds where agents go wrong in their recorded runs.
#[derive(Parser)]
#[command(after_help = common::notes(
    "runs of any format that `wrongturn formats` lists; directories are searched.",
    "what was read of each file, and a table of what the detectors found, on standard output; files where they are asked \
     for. No output replaces an input.",
    common::STATUS,
    "wrongturn check golden/tau2 --out findings.jsonl --html report.html",
))]
pub(crate) struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Detectors, with commas between; default: all but the opt-in ones, of which those with an entry in --config
    #[arg(long, value_delimiter = ',', value_name = "ID", value_parser = common::arguments::name())]
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
    #[command(flatten)]
    surety: Surety,
    /// Take a fingerprint of each run
    #[arg(long)]
    fingerprints: bool,
    #[command(flatten)]
    threads: Threads,
    /// Files above this many MiB are not held whole
    #[arg(long, default_value_t = 4, value_name = "MIB")]
    stream_above: u64,
    /// Write one JSON object per run to this file
    #[arg(long, value_name = "OUT.jsonl")]
    out: Option<PathBuf>,
    /// Write the verdicts and findings to this file as evaluation events: OTLP/JSON log records, a request per run
    #[arg(long, value_name = "EVENTS.jsonl")]
    otlp_out: Option<PathBuf>,
    #[command(flatten)]
    files: TableFiles,
    #[command(flatten)]
    partial: PartialFile,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    if arguments.reading.join && arguments.partial.path.is_some() {
        return Err("--join cannot be used with --partial: a trace may lie in several parts".into());
    }
    let read = arguments.reading.options();
    let options = ScanOptions {
        read: read.clone(),
        fingerprints: arguments.fingerprints,
        digests: true,
        threads: arguments.threads.wanted(),
        whole_file_limit: arguments.stream_above.saturating_mul(1 << 20),
        join: arguments.reading.join,
        ..ScanOptions::default()
    };
    let scanner = Scanner::new(detectors(arguments)?, options)?;
    let create = |path: &Option<PathBuf>| {
        path.as_deref().map(|path| Output::create(path, &arguments.paths)).transpose()
    };
    let (mut out, mut events) = (create(&arguments.out)?, create(&arguments.otlp_out)?);
    let html = create(&arguments.files.html)?;
    let partial = arguments.partial.create(&arguments.paths)?;
    let mut part = ScanPart::default();
    let (writes, sends) = (out.is_some(), events.is_some());
    let draws = html.is_some() || partial.is_some();
    // Records become text where they are read, and are only put in order here.
    let map = |record: TraceRecord| {
        let line = if writes { common::json_line(&record) } else { Ok(Vec::new()) };
        let events = if sends { event_line(&record) } else { String::new() };
        let flagged = if draws { FlaggedRun::of(&record) } else { None };
        // Boxed, as what is put in order may be errors by the thousand.
        (line, events, flagged, Box::new(record))
    };
    let inputs = inputs::scan(&scanner, &arguments.paths, map, |(line, told, run, mut record)| {
        part.summary.add(&record);
        part.worst.extend(run);
        if let Some(fingerprint) = record.fingerprint.take().filter(|_| arguments.partial.path.is_some()) {
            let model = record.metadata.model.as_deref().unwrap_or_default().to_owned();
            part.fingerprints.entry(model).or_default().merge(&fingerprint);
        }
        if let Some(out) = &mut out {
            out.write_all(&line?)?;
        }
        if let Some(events) = &mut events {
            events.write_all(told.as_bytes())?;
        }
        Ok(())
    })?;
    part.files = inputs.files.clone();
    for out in [out, events].into_iter().flatten() {
        out.finish()?;
    }
    let draw = |flagged: FlaggedRuns| {
        if arguments.reading.join {
            flagged.read_joined(&arguments.paths, &read)
        } else {
            flagged.read(&read)
        }
    };
    if let Some(out) = partial {
        let content = PartialContent::Scan(Box::new(part.clone()));
        parts::write(out, &arguments.partial.state(&arguments.paths, &options_of(arguments)?, content)?)?;
        if !arguments.partial.no_report {
            report(part, draw, html, arguments)?;
        }
        inputs.tell();
        return Ok(inputs.status());
    }
    report(part, draw, html, arguments)?;
    inputs.told()
}

/// Prints what was found and writes what was asked for.
fn report(
    part: ScanPart,
    draw: impl FnOnce(FlaggedRuns) -> Vec<RunStrip>,
    html: Option<Output>,
    arguments: &Arguments,
) -> Result<(), common::Failure> {
    parts::write_scan(&part, &arguments.paths, &arguments.files)?;
    parts::report_scan(part, draw, html, &arguments.files)
}

/// What the findings depend on besides the runs.
fn options_of(arguments: &Arguments) -> Result<Value, common::Failure> {
    let mut detectors = arguments.detectors.clone();
    detectors.sort();
    detectors.dedup();
    Ok(serde_json::json!({
        "format": arguments.reading.format,
        "alignment": arguments.reading.alignment,
        "detectors": detectors,
        "actors": arguments.actors,
        "preset": arguments.preset,
        "config": overrides(arguments)?,
        "min_confidence": arguments.surety.min_confidence,
        "fingerprints": arguments.fingerprints,
    }))
}

/// The evaluation events of a run, as a request of OTLP.
fn event_line(record: &TraceRecord) -> String {
    let context = EventContext::new(&record.trace_id(), &record.metadata);
    otlp_json(&context.of_verdicts(&record.verdicts)) + "\n"
}

fn overrides(arguments: &Arguments) -> Result<serde_json::Map<String, Value>, common::Failure> {
    let Some(path) = &arguments.config else { return Ok(serde_json::Map::new()) };
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| place(&error))?;
    Ok(serde_json::from_str(&text).map_err(|error| place(&error))?)
}

fn detectors(arguments: &Arguments) -> Result<Vec<Arc<dyn Detector>>, common::Failure> {
    let ids: Vec<&str> = arguments.detectors.iter().map(String::as_str).collect();
    let overrides = Value::Object(overrides(arguments)?);
    let built = Registry::default().build(&ids, arguments.preset, arguments.actors, &overrides)?;
    Ok(at_least(built, arguments.surety.min_confidence))
}
