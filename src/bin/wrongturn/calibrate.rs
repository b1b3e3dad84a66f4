//! `wrongturn calibrate`: measures detectors on golden sets, with intervals, tiers, robustness, and every
//! wrong verdict.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::arguments::{Seed, Surety, Threads, detector};
use crate::common::config::Config;
use crate::common::output::{self, Output};
use crate::common::tables::{self, TableFiles};
use crate::common::terminal::printable;
use crate::common::{self, Unread};
use clap::{
    Parser,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::Serialize;
use serde_json::Value;
use wrongturn::{
    Detector, Registry,
    calibrate::{
        BaselineComparison, CalibrationOptions, CalibrationReport, GateOutcome, GoldenSet, Sweep, Tier,
        calibrate, compare_with_baseline, sweep,
    },
    detect::{ALL, Preset, with_min_confidence},
    report::{
        TestSuite, calibration_document, calibration_suites, gate_document, render_explanation, render_gate,
        render_run,
    },
    trace::Actors,
};

/// Measures how good the detectors are on labelled runs.
#[derive(Parser)]
#[command(after_help = common::notes_with(
    "golden entries, one JSON object per line; without any, the bundled ones.",
    "a report on standard output, and files where they are asked for.",
    common::GATE_STATUS,
    "wrongturn calibrate --detectors loop --gate experimental",
))]
pub(crate) struct Arguments {
    /// Directories or files of golden entries; default: the bundled ones
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Same as PATH; kept for older command lines
    #[arg(long, hide = true, value_name = "PATH")]
    golden: Vec<PathBuf>,
    /// Detectors, separated by commas; default: all but the opt-in ones
    #[arg(long, alias = "detector", value_delimiter = ',', value_name = "ID", value_parser = detector)]
    detectors: Vec<String>,
    /// Settings (wrongturn.toml). A .json file holds configurations by detector
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    surety: Surety,
    /// Number of trials for pass^k
    #[arg(long, default_value_t = 4, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: u32,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    files: TableFiles,
    /// Write the gate's verdicts as JUnit XML to this file
    #[arg(long, value_name = "OUT.xml")]
    junit: Option<PathBuf>,
    /// Fail (exit status 1) if a detector is below this tier in any trial
    #[arg(long, value_parser = gates(), value_name = "TIER")]
    gate: Option<Tier>,
    /// Let a detector without entries fail the gate
    #[arg(long, requires = "gate")]
    require: bool,
    /// Report of an earlier calibration (--json): list what changed entry by entry, and fail (exit status 1) on a
    /// regression (more broken than mended, exact test p below 0.05)
    #[arg(long, value_name = "BASELINE.json")]
    baseline: Option<PathBuf>,
    /// Show one entry, and explain the verdict of its detector
    #[arg(long, value_name = "ENTRY")]
    explain: Option<String>,
    /// Print all tables
    #[arg(long)]
    full: bool,
    /// Add the figures over the values of each detector's main parameter
    #[arg(long)]
    sweep: bool,
}

fn gates() -> impl TypedValueParser<Value = Tier> {
    let gates = [Tier::Experimental, Tier::Beta, Tier::Production];
    PossibleValuesParser::new(gates.map(Tier::name)).try_map(|gate| gate.parse::<Tier>())
}

#[derive(Serialize)]
struct Figures<'r> {
    #[serde(flatten)]
    report: &'r CalibrationReport,
    sweeps: &'r [Sweep],
    baseline: &'r [BaselineComparison],
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let mut golden = [&arguments.paths[..], &arguments.golden].concat();
    if golden.is_empty() {
        golden.push(common::records::golden("")?);
    }
    let golden = &golden[..];
    output::protect(golden)?;
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let set = GoldenSet::load(golden, &known).map_err(|errors| Unread(common::joined(&errors)))?;
    if set.entries().is_empty() {
        let places: Vec<String> = golden.iter().map(|path| path.display().to_string()).collect();
        return Err(Unread(format!("{}: no golden entries (*.jsonl)", places.join(", "))).into());
    }
    let detectors = detectors(arguments)?;
    if let Some(id) = &arguments.explain {
        return explain(&set, &detectors, id);
    }
    let earlier = arguments.baseline.as_deref();
    let earlier =
        earlier.map(|path| output::parse(path, |text| serde_json::from_str::<Value>(text))).transpose()?;
    let options = CalibrationOptions {
        trials: arguments.trials,
        seed: arguments.seed.seed,
        gate: arguments.gate,
        ..CalibrationOptions::default()
    };
    let report = arguments.threads.pool()?.install(|| calibrate(&set, &detectors, &options));
    let compared = match (&earlier, &arguments.baseline) {
        (Some(earlier), Some(path)) => compare_with_baseline(&report, earlier).map_err(output::at(path))?,
        _ => Vec::new(),
    };
    let files = &arguments.files;
    let swept = arguments.sweep || files.json.is_some() || files.html.is_some();
    let least = arguments.surety.min_confidence;
    let judged = ALL.iter().filter(|info| swept && detectors.iter().any(|detector| detector.id() == info.id));
    let sweeps = judged.map(|info| sweep(&set, info, least)).collect::<Result<Vec<_>, _>>()?;

    files.write_json(&Figures { report: &report, sweeps: &sweeps, baseline: &compared })?;
    files.write_page(|| calibration_document(&report, &sweeps).html())?;
    files.write_tables(&gate_document(&report, options.gate, &compared))?;
    if let Some(path) = &arguments.junit {
        let suites = calibration_suites(&report, options.gate, arguments.require, &compared);
        let mut out = Output::create(path)?;
        TestSuite::write("calibration", &suites, &mut out)?;
        out.finish()?;
    }
    let sweeps = if arguments.sweep { &sweeps[..] } else { &[] };
    let mut text = tables::text(&calibration_document(&report, sweeps), arguments.full);
    if arguments.detectors.is_empty() {
        let opt_in = ALL.iter().map(|info| info.id).filter(|id| detectors.iter().all(|one| one.id() != *id));
        let opt_in = opt_in.collect::<Vec<_>>().join(", ");
        text += &common::wrapped(
            &format!("\nNot measured, as they are opt-in (--detectors): {opt_in}."),
            common::width(),
            0,
        );
        text += "\n";
    }
    common::report(&printable(&(text + &render_gate(&report, options.gate, &compared))))?;
    Ok(status(arguments, &report, options.gate, &compared))
}

/// Reports failures of the gate and regressions on stderr. Returns [`FAILED`](common::FAILED) if there are
/// any, else 0.
fn status(
    arguments: &Arguments,
    report: &CalibrationReport,
    gate: Option<Tier>,
    compared: &[BaselineComparison],
) -> u8 {
    let mut status = 0;
    if let Some(gate) = gate {
        for detector in &report.detectors {
            match detector.outcome() {
                GateOutcome::Failed => eprintln!("{} is below {}", detector.detector, gate.name()),
                GateOutcome::Untested if arguments.require => eprintln!("{} is untested", detector.detector),
                _ => continue,
            }
            status = common::FAILED;
        }
    }
    for comparison in compared.iter().filter(|comparison| comparison.regression) {
        eprintln!("{} is worse than the baseline", comparison.detector);
        status = common::FAILED;
    }
    status
}

fn detectors(arguments: &Arguments) -> Result<Vec<Arc<dyn Detector>>, common::Failure> {
    let config = match arguments.config.as_deref() {
        None => Value::Null,
        path => Value::Object(Config::load(path)?.detectors),
    };
    let ids: Vec<&str> = arguments.detectors.iter().map(String::as_str).collect();
    let built = Registry::default().build(&ids, Preset::Default, Actors::Agent, &config)?;
    Ok(with_min_confidence(built, arguments.surety.min_confidence))
}

fn explain(set: &GoldenSet, detectors: &[Arc<dyn Detector>], id: &str) -> Result<u8, common::Failure> {
    let entry = set.entries().iter().find(|entry| entry.id == id);
    let entry = entry.ok_or_else(|| format!("unknown entry `{id}`"))?;
    let detector = detectors.iter().find(|detector| detector.id() == entry.detector);
    let detector =
        detector.ok_or_else(|| format!("`{id}` is an entry of {0}; add --detectors {0}", entry.detector))?;
    let verdict = detector.detect(&entry.trace);
    let place = entry.range.map_or_else(String::new, |(first, last)| format!(", steps {first}–{last}"));
    let width = common::width();
    let heading = format!("{id} ({}, label {}{place}): {}", entry.difficulty, entry.label, entry.description);
    common::print(&format!(
        "{}\n\n{}\n{}",
        common::wrapped(&heading, width, 2),
        render_run(&entry.trace, verdict.findings(), width),
        render_explanation(&detector.explain(&entry.trace))
    ))?;
    Ok(0)
}
