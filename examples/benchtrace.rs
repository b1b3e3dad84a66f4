//! `BenchTrace`'s evaluations: reflection, evolution, agreement, failure modes of episodes.
//!
//! `cargo run --release --example benchtrace -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![allow(clippy::doc_markdown, reason = "comments on commands are their help texts")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use tracelint::evaluation::{
    AnnotatedEpisode, CallRun, Definition, DiagnosisGate, EvolutionCase, EvolutionIntervals, EvolutionScorer,
    FunnelRule, GoldEpisode, Lines, LocalizationGate, ModeEpisode, ModeRules, Prediction, ProximityPair,
    Record, ReflectOptions, ReflectionRecord, agree, check_calls, detect_modes, evolve, gold_of_trace,
    predict, proximity, read_lines, reflect, relate,
};
use tracelint::{
    Actors, Format, Preset, ReadOptions, Registry, read_traces, render_agreement, render_calls,
    render_evolution, render_modes, render_reflection, render_relations,
};

const AFTER: &str = "\
Inputs are files of one JSON object per line (reflect --episodes: a BenchTrace
file); without an input, the bundled generated data of golden/benchtrace is
taken. Output is a table, or JSON with --json.

Exit status: 0 fine; 2 something could not be read or was left out as bad (told
on stderr with its line); 1 wrong usage, or nothing could be done.

Example: benchtrace evolve --mode code --json out.json cases.jsonl";

const STATUS: &str = "\
Exit status: 0 fine; 2 something could not be read or was left out as bad (told
on stderr with its line); 1 wrong usage, or nothing could be done.";

/// BenchTrace's evaluations of reflection and evolution
#[derive(Parser)]
#[command(after_help = AFTER)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Score predictions against annotated episodes.
    ///
    /// GOLD.jsonl:
    ///   {"id", "task", "subtask"?, "detection"?: "yes"|"no",
    ///    "failures": [{"type", "where": [a, b], "diagnosis"}]}
    /// PREDICTIONS.jsonl, of one model:
    ///   {"episode", "model"?, "detection": "yes"|"no"|null, "ranges": [[a, b]],
    ///    "diagnoses": [{"failure", "mode", "description", "judge"?: 0|0.5|1}]}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Reflect(Reflect),
    /// Tell whether failures were avoided after learning from them.
    ///
    /// CASES, one per line:
    ///   {"id", "framework"?, "task", "subtask"?, "proximity"?, "distance"?,
    ///    "signal"?, "target": {"type", "where"}, "truncation",
    ///    "original": [{"step", "obs", "action"}], "post": [the same],
    ///    "original_obs"?: "before"|"after", "post_obs"?, "score"?, "score_max"?}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Evolve(Evolve),
    /// Tell how close signals are to the failures under test.
    ///
    /// INPUT, one pair per line:
    ///   {"id", "signal": {"episode", "task", "subtask", "type", "where"},
    ///    "test": {the same}}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Proximity(TwoReadings),
    /// Compare two annotators.
    ///
    /// INPUT, one episode per line:
    ///   {"id", "a": [{"type", "where", "tier": "core"|"marginal"}], "b": [the same]}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Agree(TwoReadings),
    /// Compare avoidance after right and wrong reflection.
    ///
    /// INPUT, one record per line:
    ///   {"case", "framework"?, "class", "detection", "localization", "diagnosis",
    ///    "avoided": true|false|null}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Relate(Plain),
    /// Find the rule-based failures of text-game episodes.
    ///
    /// INPUT, one episode per line:
    ///   {"id", "trajectory": [{"step", "obs", "action", "cum_score"?, "reward"?}],
    ///    "milestones"?: [{"action", "score_after", "room"?}], "final_score"?}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Modes(Modes),
    /// Find malformed calls and missed expected actions of tool runs.
    ///
    /// INPUT, one run per line:
    ///   {"id", "actions": [{"step", "name", "arguments", "status", "observation",
    ///    "arguments_text"?}], "expected": [{"name", "arguments", "compare_args"}]}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Calls(Plain),
}

#[derive(Args)]
struct Reflect {
    /// Annotated episodes
    #[arg(long, value_name = "GOLD.jsonl")]
    gold: Option<PathBuf>,
    /// Predictions of one model
    #[arg(long, value_name = "PREDICTIONS.jsonl")]
    predictions: Option<PathBuf>,
    /// Take the predictions from this crate's detectors, on --episodes
    #[arg(long, value_enum, conflicts_with_all = ["predictions", "gold"], requires = "episodes")]
    predict: Option<Predictor>,
    /// A BenchTrace file of episodes with their annotated failures
    #[arg(long, value_name = "EPISODES.json", requires = "predict")]
    episodes: Option<PathBuf>,
    /// Whose definition is followed: paper, code
    #[arg(long, default_value_t)]
    mode: Definition,
    /// Another funnel, `recall`, that localization passes from this recall on
    #[arg(long, value_name = "RECALL")]
    recall_gate: Option<f64>,
    #[command(flatten)]
    intervals: Intervals,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Evolve {
    /// Test cases
    cases: Option<PathBuf>,
    /// Who decides: paper, code, cosine
    #[arg(long, default_value_t)]
    mode: EvolutionScorer,
    #[command(flatten)]
    intervals: Intervals,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct TwoReadings {
    /// The input
    input: Option<PathBuf>,
    /// Whose definition is followed: paper, code
    #[arg(long, default_value_t)]
    mode: Definition,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Modes {
    /// The input
    input: Option<PathBuf>,
    /// Whose rules are followed: paper, code, dataset (the published labels)
    #[arg(long, default_value_t)]
    mode: ModeRules,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Plain {
    /// The input
    input: Option<PathBuf>,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Intervals {
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Resamples of the bootstrap
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    resamples: u32,
    /// Write 95% intervals into the JSON, too, under `intervals`
    #[arg(long = "intervals")]
    wanted: bool,
}

#[derive(Args)]
struct Out {
    /// Write JSON to this file (`-`: to stdout, no table)
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Predictor {
    Detectors,
}

fn main() -> ExitCode {
    let arguments: Arguments = match common::parse() {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    common::finish(match &arguments.command {
        Command::Reflect(arguments) => run_reflect(arguments),
        Command::Evolve(arguments) => run_evolve(arguments),
        Command::Proximity(arguments) => run_proximity(arguments),
        Command::Agree(arguments) => run_agree(arguments),
        Command::Relate(arguments) => run_relate(arguments),
        Command::Modes(arguments) => run_modes(arguments),
        Command::Calls(arguments) => run_calls(arguments),
    })
}

/// The path that was given, or that of a bundled file.
fn input(path: Option<&PathBuf>, bundled: &str) -> PathBuf {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/benchtrace");
    path.map_or_else(|| Path::new(golden).join(bundled), Clone::clone)
}

fn read<T: Record>(path: &Path) -> Result<Lines<T>, common::Failure> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(read_lines(&bytes))
}

/// Tells what is wrong with lines; the sound records, and the exit status so far.
fn sound<T>(path: &Path, lines: Lines<T>) -> Result<(Vec<T>, u8), common::Failure> {
    let status = common::told(path, &lines.errors);
    if lines.lines.is_empty() {
        return Err(format!("{}: no record could be read", path.display()).into());
    }
    Ok((lines.into_records(), status))
}

/// Writes the JSON where it is wanted, else or beside it the table.
fn write(out: &Out, value: &impl Serialize, table: &str) -> Result<(), common::Failure> {
    match &out.json {
        Some(path) if path.as_os_str() == "-" => println!("{}", serde_json::to_string_pretty(value)?),
        Some(path) => {
            common::write_json(path, &[], value)?;
            print!("{table}");
        }
        None => print!("{table}"),
    }
    Ok(())
}

/// A report, and the intervals of its figures where they are wanted.
#[derive(Serialize)]
struct WithIntervals<'r, R> {
    #[serde(flatten)]
    report: &'r R,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Value>,
}

fn run_reflect(arguments: &Reflect) -> Result<u8, common::Failure> {
    let (gold, predictions, status) = if let Some(path) = &arguments.episodes {
        by_detectors(path)?
    } else {
        let gold_path = input(arguments.gold.as_ref(), "gold.jsonl");
        let (gold, status) = sound(&gold_path, read::<GoldEpisode>(&gold_path)?)?;
        let path = input(arguments.predictions.as_ref(), "predictions.jsonl");
        let mut lines = read::<Prediction>(&path)?;
        lines.check_against(&gold);
        let status = status.max(common::told(&path, &lines.errors));
        (gold, lines.into_records(), status)
    };
    let mut options = ReflectOptions { definition: arguments.mode, ..ReflectOptions::default() };
    if let Some(least) = arguments.recall_gate {
        let rule =
            FunnelRule { localization: LocalizationGate::Recall(least), diagnosis: DiagnosisGate::Any };
        options.funnels.insert("recall".to_owned(), rule);
    }
    let report = reflect(&gold, &predictions, &options);
    let Intervals { seed, resamples, wanted } = arguments.intervals;
    let all = report.intervals(None, resamples, seed);
    let table = render_reflection(&report, &all);
    let intervals = wanted.then(|| {
        let of = |task| (task, report.intervals(Some(task), resamples, seed));
        let tasks: BTreeMap<&str, _> = report.tasks.keys().map(|task| of(task.as_str())).collect();
        json!({"seed": seed, "resamples": resamples, "all": all, "tasks": tasks})
    });
    write(&arguments.out, &WithIntervals { report: &report, intervals }, &table)?;
    Ok(status)
}

/// Annotated episodes of a `BenchTrace` file, and what the detectors, with the published rules, say of them.
fn by_detectors(path: &Path) -> Result<(Vec<GoldEpisode>, Vec<Prediction>, u8), common::Failure> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let options = ReadOptions { format: Some(Format::BenchTrace), ..ReadOptions::default() };
    let (traces, reading) = read_traces(&bytes, &options);
    let mut status = common::told(path, &reading.errors);
    let detectors = Registry::default().build(&[], Preset::BenchTrace, Actors::Agent, &Value::Null)?;
    let (mut gold, mut predictions) = (Vec::new(), Vec::new());
    for (position, trace) in traces.iter().enumerate() {
        if let Some(episode) = gold_of_trace(trace) {
            predictions.push(predict(trace, &episode, &detectors));
            gold.push(episode);
        } else {
            eprintln!("error: {}: episode {position} lacks an id, or a failure its place", path.display());
            status = 2;
        }
    }
    if gold.is_empty() {
        return Err(format!("{}: no episode could be read", path.display()).into());
    }
    Ok((gold, predictions, status))
}

fn run_evolve(arguments: &Evolve) -> Result<u8, common::Failure> {
    let path = input(arguments.cases.as_ref(), "cases.jsonl");
    let (cases, status) = sound(&path, read::<EvolutionCase>(&path)?)?;
    let report = evolve(&cases, arguments.mode);
    let Intervals { seed, resamples, wanted } = arguments.intervals;
    let all = report.intervals(&cases, |_| true, resamples, seed);
    let table = render_evolution(&report, &all);
    let by = |key: fn(&EvolutionCase) -> Option<String>| -> BTreeMap<String, EvolutionIntervals> {
        let names: BTreeSet<String> = cases.iter().filter_map(key).collect();
        let of = |name: &String| {
            report.intervals(&cases, |case| key(case).as_ref() == Some(name), resamples, seed)
        };
        names.iter().map(|name| (name.clone(), of(name))).collect()
    };
    let intervals = wanted.then(|| {
        json!({
            "seed": seed,
            "resamples": resamples,
            "all": all,
            "by_framework": by(|case| case.framework.clone()),
            "by_class": by(|case| Some(case.target.class().to_owned())),
            "by_mode": by(|case| Some(case.target.mode.clone())),
            "by_task": by(|case| Some(case.task.clone())),
            "by_proximity": by(|case| case.proximity.map(|proximity| proximity.to_string())),
            "by_distance": by(|case| case.distance.map(|distance| distance.to_string())),
        })
    });
    write(&arguments.out, &WithIntervals { report: &report, intervals }, &table)?;
    Ok(status)
}

fn run_proximity(arguments: &TwoReadings) -> Result<u8, common::Failure> {
    let path = input(arguments.input.as_ref(), "pairs.jsonl");
    let (pairs, status) = sound(&path, read::<ProximityPair>(&path)?)?;
    let found: Vec<_> = pairs.iter().map(|pair| proximity(pair, arguments.mode)).collect();
    let mut table = String::new();
    for pair in &found {
        let told = match (pair.proximity, pair.why) {
            (Some(proximity), _) => proximity.to_string(),
            (None, why) => why.map_or_else(String::new, |why| format!("none ({why})")),
        };
        table += &format!("  {}: {told}\n", pair.id);
    }
    write(&arguments.out, &found, &table)?;
    Ok(status)
}

fn run_agree(arguments: &TwoReadings) -> Result<u8, common::Failure> {
    let path = input(arguments.input.as_ref(), "annotators.jsonl");
    let (episodes, status) = sound(&path, read::<AnnotatedEpisode>(&path)?)?;
    let agreement = agree(&episodes, arguments.mode);
    write(&arguments.out, &agreement, &render_agreement(&agreement))?;
    Ok(status)
}

fn run_relate(arguments: &Plain) -> Result<u8, common::Failure> {
    let path = input(arguments.input.as_ref(), "records.jsonl");
    let (records, status) = sound(&path, read::<ReflectionRecord>(&path)?)?;
    let relations = relate(&records);
    write(&arguments.out, &relations, &render_relations(&relations))?;
    Ok(status)
}

fn run_modes(arguments: &Modes) -> Result<u8, common::Failure> {
    let path = input(arguments.input.as_ref(), "episodes.jsonl");
    let rules = arguments.mode;
    let mut lines = read::<ModeEpisode>(&path)?;
    lines.retain(|episode| episode.check_for(rules));
    let (episodes, status) = sound(&path, lines)?;
    let reports: Vec<_> = episodes.iter().map(|episode| detect_modes(episode, rules)).collect();
    write(&arguments.out, &reports, &render_modes(&reports))?;
    Ok(status)
}

fn run_calls(arguments: &Plain) -> Result<u8, common::Failure> {
    let path = input(arguments.input.as_ref(), "calls.jsonl");
    let (runs, status) = sound(&path, read::<CallRun>(&path)?)?;
    let reports: Vec<_> = runs.iter().map(check_calls).collect();
    write(&arguments.out, &reports, &render_calls(&reports))?;
    Ok(status)
}
