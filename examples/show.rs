//! Shows recorded runs with the step numbers that findings and labels use, findings beside their steps, and why a
//! detector fires or does not.
//!
//! `cargo run --release --example show -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tracelint::{
    Actors, Finding, Format, Preset, ReadOptions, Registry, ScanEvent, Trace, read_files, render_explanation,
    render_run, render_step, run_of,
};

/// A recorded run, step by step.
#[derive(Parser)]
#[command(after_help = common::notes(
    "a file or directory of runs of any format.",
    "the list of runs, or one run, on standard output.",
    common::STATUS,
    "show golden/tau2/scripted-quitter_airline.json --run 6 --explain loop",
))]
struct Arguments {
    /// File or directory of runs, in any format that can be read
    path: PathBuf,
    /// The run: its id, or `#` and its 0-based place (a place alone does as well); default: the only one, else a list
    #[arg(long)]
    run: Option<String>,
    /// Show one step with everything that it holds
    #[arg(long, value_name = "STEP", conflicts_with_all = ["json", "explain"])]
    full: Option<u64>,
    /// Write the run in the native form instead
    #[arg(long)]
    json: bool,
    /// Say why this detector fires on the run or does not, and what would turn it
    #[arg(long, value_name = "DETECTOR")]
    explain: Option<String>,
    /// JSON object with detectors for keys and configurations for values, put over the defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The format, where it should not be told by the content
    #[arg(long)]
    format: Option<Format>,
    /// Columns of a line; default: those of the terminal
    #[arg(long, value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let config = match &arguments.config {
        None => serde_json::Value::Null,
        Some(path) => {
            let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let text = std::fs::read_to_string(path).map_err(|error| place(&error))?;
            serde_json::from_str(&text).map_err(|error| place(&error))?
        }
    };
    let asked: Vec<&str> = arguments.explain.as_deref().into_iter().collect();
    let detectors = Registry::default().build(&asked, Preset::Default, Actors::Agent, &config)?;
    let options = ReadOptions { format: arguments.format, ..ReadOptions::default() };
    let (mut runs, mut errors) = (Vec::new(), 0_u64);
    read_files([&arguments.path], &options, |event| {
        match event {
            ScanEvent::Record(trace) => runs.push(trace),
            ScanEvent::Error(error) => {
                eprintln!("error: {error}");
                errors += 1;
            }
            _ => {}
        }
        Ok::<(), common::Failure>(())
    })?;
    let Some(first) = runs.first() else {
        return Err(format!("{}: no run could be read", arguments.path.display()).into());
    };
    let status = if errors == 0 { 0 } else { 2 };
    let trace = match &arguments.run {
        None if runs.len() > 1 => {
            common::print(&list(&runs))?;
            return Ok(status);
        }
        None => first,
        // A number that is nobody's id is a place.
        Some(name) => {
            run_of(&runs, name).or_else(|error| run_of(&runs, &format!("#{name}")).map_err(|_| error))?
        }
    };
    if let Some(index) = arguments.full {
        let step = trace.steps().find(|step| step.index() == index);
        common::print(&render_step(&step.ok_or_else(|| format!("the run has no step {index}"))?))?;
        return Ok(status);
    }
    if arguments.json {
        common::print(&format!("{}\n", serde_json::to_string_pretty(trace)?))?;
        return Ok(status);
    }
    let findings: Vec<Finding> =
        detectors.iter().flat_map(|detector| detector.detect(trace).findings().to_vec()).collect();
    let width = arguments.width.map_or_else(common::width, usize::from);
    common::print(&format!("{}\n{}", heading(trace), render_run(trace, &findings, width)))?;
    if arguments.explain.is_some() {
        for detector in &detectors {
            common::print(&format!("\n{}", render_explanation(&detector.explain(trace))))?;
        }
    }
    Ok(status)
}

/// The runs of a file, a line each.
fn list(runs: &[Trace]) -> String {
    let mut text = String::new();
    for (place, trace) in runs.iter().enumerate() {
        text += &format!("#{place:<5} {:>5} steps  {}\n", trace.steps().len(), heading(trace).trim_end());
    }
    text + "Choose one with --run.\n"
}

fn heading(trace: &Trace) -> String {
    let metadata = trace.metadata();
    let mut parts = vec![metadata.id.clone().unwrap_or_else(|| "a run without an id".to_owned())];
    let known = [
        ("model", metadata.model.as_deref()),
        ("domain", metadata.domain.as_deref()),
        ("task", metadata.task.as_deref()),
        ("ended by", metadata.termination.as_deref()),
    ];
    parts.extend(known.iter().filter_map(|(what, value)| value.map(|value| format!("{what} {value}"))));
    parts.extend(trace.reward().map(|reward| format!("reward {reward}")));
    format!("{}\n", parts.join(", "))
}
