//! `wrongturn bench benchtrace`: computes the evaluations of `BenchTrace`.

mod arguments;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(crate) use arguments::Arguments;
use arguments::{Command, Evolve, Intervals, Modes, Plain, Reflect, Relate, TwoReadings};

use crate::common::arguments::{Resamples, Seed};
use crate::common::inputs::Faults;
use crate::common::output;
use crate::common::records::{self, lines, records, valid};
use crate::common::{self, Unread};
use serde::Serialize;
use serde_json::{Value, json};
use wrongturn::benchmarks::{
    AnnotatedEpisode, CallRun, Definition, DiagnosisGate, EvolutionCase, EvolutionIntervals, EvolutionScorer,
    FunnelRule, GoldEpisode, LocalizationGate, ModeEpisode, Prediction, ProximityPair, ReflectOptions,
    ReflectionRecord, agree, check_calls, dataset, detect_modes, evolve, gold_of_trace, predict, proximity,
    reflect, reflection_records, relate,
};
use wrongturn::{
    ReadOptions, Registry,
    detect::Preset,
    read::Format,
    read_traces,
    report::{
        agreement_document, call_document, evolution_document, mode_document, proximity_document,
        reflection_document, relation_document,
    },
    trace::Actors,
};

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

fn run_reflect(arguments: &Reflect, faults: &mut Faults) -> Result<(), common::Failure> {
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
    let document = reflection_document(&report, &all, &dataset(&gold));
    arguments.out.report(&document, &WithIntervals { report: &report, intervals }, true)
}

type Annotated = (Vec<GoldEpisode>, Vec<Prediction>);

fn annotated(
    gold: Option<&PathBuf>,
    predictions: Option<&PathBuf>,
    faults: &mut Faults,
) -> Result<Annotated, common::Failure> {
    let gold: Vec<GoldEpisode> = records(gold, "benchtrace/gold.jsonl", faults)?;
    let path = records::input(predictions, "benchtrace/predictions.jsonl")?;
    let mut lines = lines::<Prediction>(&path)?;
    lines.check_against(&gold);
    faults.of(&path, std::mem::take(&mut lines.errors));
    Ok((gold, lines.into_records()))
}

/// Returns the annotated episodes of a `BenchTrace` file, and the predictions of detectors with the published
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
            faults.push(format!("{}: episode {position} lacks an id or a failure's range", path.display()));
        }
    }
    if gold.is_empty() {
        return Err(Unread::no("episode", path));
    }
    Ok((gold, predictions))
}

fn run_evolve(arguments: &Evolve, faults: &mut Faults) -> Result<(), common::Failure> {
    let cases: Vec<EvolutionCase> = records(arguments.cases.as_ref(), "benchtrace/cases.jsonl", faults)?;
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
    let document = evolution_document(&report, &all, &report.by_setting(&cases));
    arguments.out.report(&document, &WithIntervals { report: &report, intervals }, true)
}

fn run_proximity(arguments: &TwoReadings, faults: &mut Faults) -> Result<(), common::Failure> {
    let pairs: Vec<ProximityPair> = records(arguments.input.as_ref(), "benchtrace/pairs.jsonl", faults)?;
    let found: Vec<_> = pairs.iter().map(|pair| proximity(pair, arguments.mode)).collect();
    arguments.out.report(&proximity_document(&found), &found, true)
}

fn run_agree(arguments: &TwoReadings, faults: &mut Faults) -> Result<(), common::Failure> {
    let path = arguments.input.as_ref();
    let episodes: Vec<AnnotatedEpisode> = records(path, "benchtrace/annotators.jsonl", faults)?;
    let found = agree(&episodes, arguments.mode);
    arguments.out.report(&agreement_document(&found), &found, true)
}

fn run_relate(arguments: &Relate, faults: &mut Faults) -> Result<(), common::Failure> {
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
        records(arguments.input.as_ref(), "benchtrace/records.jsonl", faults)?
    };
    let found = relate(&records);
    arguments.out.report(&relation_document(&found), &found, true)
}

fn run_modes(arguments: &Modes, faults: &mut Faults) -> Result<(), common::Failure> {
    let path = records::input(arguments.input.as_ref(), "benchtrace/episodes.jsonl")?;
    let rules = arguments.mode;
    let mut lines = lines::<ModeEpisode>(&path)?;
    lines.retain(|episode| episode.check_for(rules));
    let episodes = valid(&path, lines, faults)?;
    let reports: Vec<_> = episodes.iter().map(|episode| detect_modes(episode, rules)).collect();
    arguments.out.report(&mode_document(&reports), &reports, true)
}

fn run_calls(arguments: &Plain, faults: &mut Faults) -> Result<(), common::Failure> {
    let runs: Vec<CallRun> = records(arguments.input.as_ref(), "benchtrace/calls.jsonl", faults)?;
    let found: Vec<_> = runs.iter().map(check_calls).collect();
    arguments.out.report(&call_document(&found), &found, true)
}
