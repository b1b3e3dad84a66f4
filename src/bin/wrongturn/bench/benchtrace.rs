//! `BenchTrace`'s evaluations: reflection, evolution, agreement, failure modes of episodes.

#![allow(clippy::doc_markdown, reason = "comments on commands are their help texts")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::common::arguments::{Resamples, Seed};
use crate::common::inputs::Faults;
use crate::common::output;
use crate::common::records::{self, lines, valid};
use crate::common::tables::TableFiles;
use crate::common::{self, Unread};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use wrongturn::benchmarks::{
    AnnotatedEpisode, CallRun, Definition, DiagnosisGate, EvolutionCase, EvolutionIntervals, EvolutionScorer,
    FunnelRule, GoldEpisode, LocalizationGate, ModeEpisode, ModeRules, Prediction, ProximityPair, Record,
    ReflectOptions, ReflectionRecord, agree, check_calls, dataset, detect_modes, evolve, gold_of_trace,
    predict, proximity, reflect, reflection_records, relate,
};
use wrongturn::{
    ReadOptions, Registry,
    detect::Preset,
    read::Format,
    read_traces,
    report::{
        Table, agreement_tables, call_tables, distance_chart, evolution_chart, evolution_tables,
        funnel_chart, mode_tables, proximity_tables, reflection_chart, reflection_tables, relation_tables,
    },
    trace::Actors,
};

/// Computes BenchTrace's evaluations of reflection and evolution
#[derive(Parser)]
#[command(after_help = common::notes(
    "files of one JSON object per line (reflect --episodes: a BenchTrace file); without any, the bundled generated data \
     of golden/benchtrace.",
    "tables on standard output, or JSON with `--json -`; files where they are asked for.",
    common::STATUS,
    "wrongturn bench benchtrace evolve --mode code --json out.json",
))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Score predictions against annotated episodes
    ///
    /// GOLD.jsonl:
    ///   {"id", "task", "subtask"?, "detection"?: "yes"|"no",
    ///    "failures": [{"type", "where": [a, b], "diagnosis"}]}
    /// PREDICTIONS.jsonl, of one model:
    ///   {"episode", "model"?, "detection": "yes"|"no"|null, "ranges": [[a, b]],
    ///    "diagnoses": [{"failure", "mode", "description", "judge"?: 0|0.5|1}]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Reflect(Reflect),
    /// Tell whether failures were avoided after learning from them
    ///
    /// CASES, one per line:
    ///   {"id", "framework"?, "model"?, "task", "subtask"?, "proximity"?, "distance"?,
    ///    "signal"?, "target": {"type", "where"}, "truncation",
    ///    "original": [{"step", "obs", "action"}], "post": [the same],
    ///    "original_obs"?: "before"|"after", "post_obs"?, "score"?, "score_max"?}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Evolve(Evolve),
    /// Tell how close signals are to the failures under test
    ///
    /// INPUT, one pair per line:
    ///   {"id", "signal": {"episode", "task", "subtask", "type", "where"},
    ///    "test": {the same}}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Proximity(TwoReadings),
    /// Compare two annotators
    ///
    /// INPUT, one episode per line:
    ///   {"id", "a": [{"type", "where", "tier": "core"|"marginal"}], "b": [the same]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Agree(TwoReadings),
    /// Compare avoidance after right and wrong reflection
    ///
    /// INPUT, one record per line:
    ///   {"case", "framework"?, "class", "detection", "localization", "diagnosis",
    ///    "avoided": true|false|null}
    /// or --gold, --predictions and --cases as of reflect and evolve, which are joined by signal
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Relate(Relate),
    /// Find the rule-based failures of text-game episodes
    ///
    /// INPUT, one episode per line:
    ///   {"id", "trajectory": [{"step", "obs", "action", "cum_score"?, "reward"?}],
    ///    "milestones"?: [{"action", "score_after", "room"?}], "final_score"?}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Modes(Modes),
    /// Find malformed calls and missed expected actions of tool runs
    ///
    /// INPUT, one run per line:
    ///   {"id", "actions": [{"step", "name", "arguments", "status", "observation",
    ///    "arguments_text"?}], "expected": [{"name", "arguments", "compare_args"}]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Calls(Plain),
}

#[derive(Args)]
struct Reflect {
    /// Annotated episodes
    #[arg(long, value_name = "GOLD.jsonl", requires = "predictions")]
    gold: Option<PathBuf>,
    /// Predictions of one model
    #[arg(long, value_name = "PREDICTIONS.jsonl", requires = "gold")]
    predictions: Option<PathBuf>,
    /// Take the predictions from this crate's detectors, on --episodes
    #[arg(long, value_enum, value_name = "WHO", conflicts_with_all = ["predictions", "gold"], requires = "episodes")]
    predict: Option<Predictor>,
    /// A BenchTrace file of episodes with their annotated failures
    #[arg(long, value_name = "EPISODES.json", requires = "predict")]
    episodes: Option<PathBuf>,
    /// Whose definition is followed: paper, code
    #[arg(long, default_value_t)]
    mode: Definition,
    /// Another funnel, `recall`, that localization passes from this recall on
    #[arg(long, value_name = "RECALL", value_parser = share)]
    recall_gate: Option<f64>,
    #[command(flatten)]
    intervals: Intervals,
    #[command(flatten)]
    out: TableFiles,
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
    out: TableFiles,
}

#[derive(Args)]
struct TwoReadings {
    /// The input
    input: Option<PathBuf>,
    /// Whose definition is followed: paper, code
    #[arg(long, default_value_t)]
    mode: Definition,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Relate {
    /// The input
    #[arg(conflicts_with = "cases")]
    input: Option<PathBuf>,
    /// Annotated episodes
    #[arg(long, value_name = "GOLD.jsonl", requires = "cases")]
    gold: Option<PathBuf>,
    /// Predictions of one model
    #[arg(long, value_name = "PREDICTIONS.jsonl", requires = "cases")]
    predictions: Option<PathBuf>,
    /// Test cases, whose signals are annotated episodes
    #[arg(long, value_name = "CASES.jsonl", requires_all = ["gold", "predictions"])]
    cases: Option<PathBuf>,
    /// Whose definitions are followed: paper, code
    #[arg(long, default_value_t, requires = "cases")]
    mode: Definition,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Modes {
    /// The input
    input: Option<PathBuf>,
    /// Whose rules are followed: paper, code, dataset (the published labels)
    #[arg(long, default_value_t)]
    mode: ModeRules,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Plain {
    /// The input
    input: Option<PathBuf>,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Intervals {
    #[command(flatten)]
    resampling: Resamples,
    /// Write 95% intervals into the JSON, too, under `intervals`
    #[arg(long = "intervals")]
    wanted: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Predictor {
    Detectors,
}

/// A report, with the intervals of its figures if requested.
#[derive(Serialize)]
struct WithIntervals<'r, R> {
    #[serde(flatten)]
    report: &'r R,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Value>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    Faults::reported_after(|faults| match &arguments.command {
        Command::Reflect(arguments) => run_reflect(arguments, faults),
        Command::Evolve(arguments) => run_evolve(arguments, faults),
        Command::Proximity(arguments) => run_proximity(arguments, faults),
        Command::Agree(arguments) => run_agree(arguments, faults),
        Command::Relate(arguments) => run_relate(arguments, faults),
        Command::Modes(arguments) => run_modes(arguments, faults),
        Command::Calls(arguments) => run_calls(arguments, faults),
    })
}

fn run_reflect(arguments: &Reflect, faults: &mut Faults) -> Result<u8, common::Failure> {
    let (gold, predictions) = if let Some(path) = &arguments.episodes {
        by_detectors(path, faults)?
    } else {
        annotated(arguments.gold.as_ref(), arguments.predictions.as_ref(), faults)?
    };
    let mut options = ReflectOptions { definition: arguments.mode, ..ReflectOptions::default() };
    if let Some(least) = arguments.recall_gate {
        let rule =
            FunnelRule { localization: LocalizationGate::Recall(least), diagnosis: DiagnosisGate::Any };
        options.funnels.insert("recall".to_owned(), rule);
    }
    let report = reflect(&gold, &predictions, &options);
    let Intervals { resampling: Resamples { resamples, seed: Seed { seed } }, wanted } = arguments.intervals;
    let all = report.intervals(None, resamples, seed);
    let intervals = wanted.then(|| {
        let of = |task| (task, report.intervals(Some(task), resamples, seed));
        let tasks: BTreeMap<&str, _> = report.tasks.keys().map(|task| of(task.as_str())).collect();
        json!({"seed": seed, "resamples": resamples, "all": all, "tasks": tasks})
    });
    arguments.out.write_result(
        &WithIntervals { report: &report, intervals },
        "Reflection on failures",
        vec![reflection_chart(&report, &all), funnel_chart(&report)],
        reflection_tables(&report, &all, &dataset(&gold)),
    )?;
    Ok(0)
}

/// Annotated episodes and the predictions of a model.
type Annotated = (Vec<GoldEpisode>, Vec<Prediction>);

fn annotated(
    gold: Option<&PathBuf>,
    predictions: Option<&PathBuf>,
    faults: &mut Faults,
) -> Result<Annotated, common::Failure> {
    let path = bundled(gold, "gold.jsonl");
    let gold = valid(&path, lines::<GoldEpisode>(&path)?, faults)?;
    let path = bundled(predictions, "predictions.jsonl");
    let mut lines = lines::<Prediction>(&path)?;
    lines.check_against(&gold);
    faults.of(&path, std::mem::take(&mut lines.errors));
    Ok((gold, lines.into_records()))
}

/// Returns the annotated episodes of a `BenchTrace` file, and the predictions of the detectors with the published
/// rules.
fn by_detectors(path: &Path, faults: &mut Faults) -> Result<Annotated, common::Failure> {
    let options = ReadOptions { format: Some(Format::BenchTrace), ..ReadOptions::default() };
    let (traces, reading) = read_traces(&output::read(path)?, &options);
    faults.of(path, reading.errors);
    let detectors = Registry::default().build(&[], Preset::BenchTrace, Actors::Agent, &Value::Null)?;
    let (mut gold, mut predictions) = (Vec::new(), Vec::new());
    for (position, trace) in traces.iter().enumerate() {
        if let Some(episode) = gold_of_trace(trace) {
            predictions.push(predict(trace, &episode, &detectors));
            gold.push(episode);
        } else {
            faults
                .push(format!("{}: episode {position} lacks an id, or a failure its place", path.display()));
        }
    }
    if gold.is_empty() {
        return Err(Unread(format!("{}: no episode could be read", path.display())).into());
    }
    Ok((gold, predictions))
}

fn run_evolve(arguments: &Evolve, faults: &mut Faults) -> Result<u8, common::Failure> {
    let path = bundled(arguments.cases.as_ref(), "cases.jsonl");
    let cases = valid(&path, lines::<EvolutionCase>(&path)?, faults)?;
    let report = evolve(&cases, arguments.mode);
    let Intervals { resampling: Resamples { resamples, seed: Seed { seed } }, wanted } = arguments.intervals;
    let all = report.intervals(&cases, |_| true, resamples, seed);
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
    arguments.out.write_result(
        &WithIntervals { report: &report, intervals },
        "Failures avoided after learning",
        vec![evolution_chart(&report), distance_chart(&report)],
        evolution_tables(&report, &all, &report.by_setting(&cases)),
    )?;
    Ok(0)
}

fn run_proximity(arguments: &TwoReadings, faults: &mut Faults) -> Result<u8, common::Failure> {
    let evaluate = |pairs: &[ProximityPair]| -> Vec<_> {
        pairs.iter().map(|pair| proximity(pair, arguments.mode)).collect()
    };
    let place = (&arguments.input, "pairs.jsonl");
    tabled(place, &arguments.out, "How close signals are", evaluate, |found| proximity_tables(found), faults)
}

fn run_agree(arguments: &TwoReadings, faults: &mut Faults) -> Result<u8, common::Failure> {
    let evaluate = |episodes: &[AnnotatedEpisode]| agree(episodes, arguments.mode);
    let place = (&arguments.input, "annotators.jsonl");
    tabled(place, &arguments.out, "Agreement of two annotators", evaluate, agreement_tables, faults)
}

fn run_relate(arguments: &Relate, faults: &mut Faults) -> Result<u8, common::Failure> {
    let records: Vec<ReflectionRecord> = if let Some(path) = &arguments.cases {
        let (gold, predictions) = annotated(arguments.gold.as_ref(), arguments.predictions.as_ref(), faults)?;
        let cases = valid(path, lines::<EvolutionCase>(path)?, faults)?;
        let scorer = match arguments.mode {
            Definition::Paper => EvolutionScorer::Paper,
            Definition::Code => EvolutionScorer::Code,
        };
        let options = ReflectOptions { definition: arguments.mode, ..ReflectOptions::default() };
        reflection_records(&reflect(&gold, &predictions, &options), &cases, &evolve(&cases, scorer))
    } else {
        let path = bundled(arguments.input.as_ref(), "records.jsonl");
        valid(&path, lines(&path)?, faults)?
    };
    let found = relate(&records);
    let tables = relation_tables(&found);
    arguments.out.write_result(&found, "Reflection and avoidance", Vec::new(), tables)?;
    Ok(0)
}

fn run_modes(arguments: &Modes, faults: &mut Faults) -> Result<u8, common::Failure> {
    let path = bundled(arguments.input.as_ref(), "episodes.jsonl");
    let rules = arguments.mode;
    let mut lines = lines::<ModeEpisode>(&path)?;
    lines.retain(|episode| episode.check_for(rules));
    let episodes = valid(&path, lines, faults)?;
    let reports: Vec<_> = episodes.iter().map(|episode| detect_modes(episode, rules)).collect();
    let tables = mode_tables(&reports);
    arguments.out.write_result(&reports, "Rule-based failures of text games", Vec::new(), tables)?;
    Ok(0)
}

fn run_calls(arguments: &Plain, faults: &mut Faults) -> Result<u8, common::Failure> {
    let evaluate = |runs: &[CallRun]| -> Vec<_> { runs.iter().map(check_calls).collect() };
    let place = (&arguments.input, "calls.jsonl");
    tabled(
        place,
        &arguments.out,
        "Malformed calls and missed actions",
        evaluate,
        |found| call_tables(found),
        faults,
    )
}

/// Reads and evaluates records, and writes the results as JSON and as tables.
fn tabled<T: Record, R: Serialize>(
    (path, by_default): (&Option<PathBuf>, &str),
    out: &TableFiles,
    title: &'static str,
    evaluate: impl FnOnce(&[T]) -> R,
    tables: impl FnOnce(&R) -> Vec<Table>,
    faults: &mut Faults,
) -> Result<u8, common::Failure> {
    let path = bundled(path.as_ref(), by_default);
    let records = valid(&path, lines::<T>(&path)?, faults)?;
    let found = evaluate(&records);
    let tables = tables(&found);
    out.write_result(&found, title, Vec::new(), tables)?;
    Ok(0)
}

/// Returns the given path, or that of a bundled file.
fn bundled(path: Option<&PathBuf>, name: &str) -> PathBuf {
    records::input(path, &format!("benchtrace/{name}"))
}

/// Parses a share in [0, 1].
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}
