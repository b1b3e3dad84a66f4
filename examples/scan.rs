//! Runs the detectors over files and directories: one JSON object per run, and a table.
//!
//! `cargo run --release --example scan -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use serde_json::Value;
use tracelint::{
    ALL, Actors, Alignment, Detector, Format, Preset, ReadOptions, ScanOptions, ScanSummary, Scanner,
    detector_info,
};

/// Finds where agents go wrong in their recorded runs.
#[derive(Parser)]
struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Format of the input; auto looks at the content
    #[arg(long, value_enum, default_value = "auto")]
    format: Formats,
    /// What `obs` is in BenchTrace episodes; default: as each episode's first entry tells
    #[arg(long, value_enum)]
    alignment: Option<Alignments>,
    /// Detectors, comma-separated; default: all
    #[arg(long, value_delimiter = ',')]
    detectors: Vec<String>,
    /// Whose actions count
    #[arg(long, value_enum, default_value = "agent")]
    actors: Chosen,
    /// Which defaults the detectors start from
    #[arg(long, value_enum, default_value = "default")]
    preset: Presets,
    /// JSON object with detectors for keys and configurations for values, put over the preset
    #[arg(long, value_name = "FILE.json")]
    config: Option<PathBuf>,
    /// Take a fingerprint of each run
    #[arg(long)]
    fingerprints: bool,
    /// Threads; default: one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Files above this many MiB are streamed
    #[arg(long, default_value_t = 256, value_name = "MIB")]
    stream_above: u64,
    /// Write one JSON object per run to this file
    #[arg(long, value_name = "FINDINGS.jsonl")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Formats {
    Auto,
    Tau2,
    Benchtrace,
    Native,
}

#[derive(Clone, Copy, ValueEnum)]
enum Alignments {
    Before,
    After,
}

#[derive(Clone, Copy, ValueEnum)]
enum Chosen {
    Agent,
    User,
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum Presets {
    Default,
    BenchTrace,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let read = ReadOptions {
        format: match arguments.format {
            Formats::Auto => None,
            Formats::Tau2 => Some(Format::Tau2),
            Formats::Benchtrace => Some(Format::BenchTrace),
            Formats::Native => Some(Format::Native),
        },
        alignment: arguments.alignment.map(|alignment| match alignment {
            Alignments::Before => Alignment::Before,
            Alignments::After => Alignment::After,
        }),
        ..ReadOptions::default()
    };
    let options = ScanOptions {
        read,
        fingerprints: arguments.fingerprints,
        threads: arguments.threads.map(Into::into),
        whole_file_limit: arguments.stream_above.saturating_mul(1 << 20),
    };
    let scanner = Scanner::new(detectors(arguments)?, options);
    let mut out = arguments.out.as_deref().map(common::create).transpose()?;
    let mut summary = ScanSummary::default();
    let mut failure = None;
    let inputs = common::scan(&scanner, &arguments.paths, |file| {
        for record in &file.traces {
            summary.add(record);
            if let Some(out) = &mut out {
                let written = serde_json::to_writer(&mut *out, record).map_err(Into::into);
                failure = failure.take().or(written.and_then(|()| writeln!(out)).err());
            }
        }
    })?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    if let Some(mut out) = out {
        out.flush()?;
    }
    for input in &inputs {
        println!("{}: {}, {} runs", input.file, input.format.unwrap_or("not read"), input.runs_read);
    }
    print!("\n{}", summary.render());
    let status = common::status(&inputs);
    if status == 1 { Err("nothing could be read".into()) } else { Ok(status) }
}

fn detectors(arguments: &Arguments) -> Result<Vec<Arc<dyn Detector>>, common::Failure> {
    let actors = match arguments.actors {
        Chosen::Agent => Actors::Agent,
        Chosen::User => Actors::User,
        Chosen::All => Actors::All,
    };
    let preset = match arguments.preset {
        Presets::Default => Preset::Default,
        Presets::BenchTrace => Preset::BenchTrace,
    };
    let overrides = match &arguments.config {
        None => serde_json::Map::new(),
        Some(path) => {
            let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = std::fs::read_to_string(path).map_err(|error| place(&error))?;
            serde_json::from_str(&text).map_err(|error| place(&error))?
        }
    };
    let known = || ALL.iter().map(|info| info.id).collect::<Vec<_>>().join(", ");
    for id in overrides.keys().chain(&arguments.detectors) {
        detector_info(id).ok_or_else(|| format!("unknown detector `{id}`; there are {}", known()))?;
    }
    ALL.iter()
        .filter(|info| arguments.detectors.is_empty() || arguments.detectors.iter().any(|id| id == info.id))
        .map(|info| {
            let fields = overrides.get(info.id).unwrap_or(&Value::Null);
            info.build(preset, actors, fields).map_err(Into::into)
        })
        .collect()
}
