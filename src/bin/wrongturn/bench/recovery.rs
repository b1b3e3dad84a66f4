//! `wrongturn bench recovery`: selects failed trials, lists commands to replay them, and compares recovery
//! with fresh starts.

#![allow(clippy::doc_markdown, reason = "comments on commands are their help texts")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::arguments::Seed;
use crate::common::inputs::Faults;
use crate::common::output::at;
use crate::common::records::{self, golden, lines, records, valid};
use crate::common::tables::TableFiles;
use crate::common::{self, Failure, Unread, output};
use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use wrongturn::benchmarks::{
    Candidate, ComparedTrial, InheritancePair, ReplayMode, Results, SelectionRule, Trial, TrialFormat,
    compare, inherit, read_results, replay_commands, select, transcript,
};
use wrongturn::report::{
    Document, inheritance_document, recovery_document, replay_document, result_document, selection_document,
    transcript_document,
};

/// Computes Recovery-Bench: whether continuing a failed trial does better than a fresh start.
#[derive(Parser)]
#[command(after_help = common::notes(
    "result files are results.json of Terminal-Bench v1 (a run or a trial) and result.json of Harbor; trajectories are \
     ATIF, or {\"responses\": [{\"episode\", \"text\"}]} of Terminus v1; *.jsonl files hold one JSON object per line. \
     If no files are given, the bundled generated data in golden/recovery is read.",
    "tables on standard output, or JSON with `--json -`; files where they are asked for.",
    "wrongturn bench recovery compare --seed 7 --json out.json",
))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reads result files and prints the trials of each
    #[command(after_help = common::STATUS)]
    Read(Files),
    /// Selects failed trials that are worth recovering
    ///
    /// FILES are result files, or *.jsonl files with one candidate per line:
    ///   {"trial", "task", "resolved", "interactions", "context_bytes"?}
    /// The number of interactions comes from the files next to a result file:
    /// agent/trajectory.json (Harbor), agent-logs/episode-N (Terminal-Bench v1).
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Select(Select),
    /// Lists the commands that restore the state in which a trial ended
    ///
    /// FILES are ATIF trajectories, or the replies of Terminus v1:
    ///   {"responses": [{"episode", "text"}]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Commands(Commands),
    /// Sizes the transcripts of trials and the prompts that would hold them
    ///
    /// FILES are ATIF trajectories, or the replies of Terminus v1. The texts of the
    /// transcripts are only in the JSON.
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Transcript(Files),
    /// Compares recovery with fresh starts, paired by task
    ///
    /// TRIALS, one per line:
    ///   {"model", "context": "fresh"|"env"|"env+summary"|"env+full", "task",
    ///    "trial", "resolved", "scored"?, "reward"?, "interactions"?,
    ///    "source"?: model of the failed trial, "declared_done"?}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Compare(Compare),
    /// Finds recovery runs that repeat the last error of the failed run
    ///
    /// PAIRS, one per line:
    ///   {"id", "failed": [{"step", "name", "arguments", "status", "observation"}],
    ///    "recovery": [the same]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Inherit(Inherit),
}

#[derive(Args)]
struct Files {
    /// Files to read
    files: Vec<PathBuf>,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Select {
    /// Result files, or candidates (*.jsonl)
    files: Vec<PathBuf>,
    /// The selection rule: paper, code_v1 (2025), code_v2 (2026)
    #[arg(long, default_value_t)]
    mode: SelectionRule,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Commands {
    /// Trajectories
    files: Vec<PathBuf>,
    /// Which commands are listed: default, code (those that the public code lists)
    #[arg(long, default_value_t)]
    mode: ReplayMode,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Compare {
    /// Trials
    trials: Option<PathBuf>,
    /// A result file or a folder of them, of trials of MODEL in CONTEXT (fresh, env, env+summary, env+full);
    /// SOURCE is the model of the failed trials, if known; may be given several times
    #[arg(long, value_name = "MODEL:CONTEXT[@SOURCE]=PATH", value_parser = side, conflicts_with = "trials")]
    results: Vec<Side>,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Inherit {
    /// Pairs of runs
    pairs: Option<PathBuf>,
    #[command(flatten)]
    out: TableFiles,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    Faults::reported_after(|faults| match &arguments.command {
        Command::Read(Files { files, out }) => {
            let files = inputs(files, &["results.json", "harbor/result.json"])?;
            list(&files, out, results, result_document, faults)
        }
        Command::Select(arguments) => run_select(arguments, faults),
        Command::Commands(Commands { files, mode, out }) => {
            let commands = |bytes: &[u8], _: &mut _| replay_commands(bytes, *mode);
            list(&inputs(files, TRAJECTORIES)?, out, commands, replay_document, faults)
        }
        Command::Transcript(Files { files, out }) => {
            let parse = |bytes: &[u8], _: &mut _| transcript(bytes);
            list(&inputs(files, TRAJECTORIES)?, out, parse, transcript_document, faults)
        }
        Command::Compare(arguments) => run_compare(arguments, faults),
        Command::Inherit(arguments) => run_inherit(arguments, faults),
    })
}

const TRAJECTORIES: &[&str] = &["harbor/agent/trajectory.json", "terminus.json"];

/// Returns the given paths, or those of bundled files.
fn inputs(paths: &[PathBuf], bundled: &[&str]) -> Result<Vec<PathBuf>, Failure> {
    if paths.is_empty() {
        bundled.iter().map(|name| golden(&format!("recovery/{name}"))).collect()
    } else {
        Ok(paths.to_vec())
    }
}

/// Reads and parses a file. Adds errors to `faults`, and returns `None` if the file could not be read or
/// parsed.
fn read<T>(
    path: &Path,
    faults: &mut Faults,
    parse: impl FnOnce(&[u8], &mut Vec<wrongturn::Error>) -> wrongturn::Result<T>,
) -> Option<T> {
    let bytes = output::read(path).map_err(|error| faults.push(error.to_string())).ok()?;
    let mut errors = Vec::new();
    let found = parse(&bytes, &mut errors).map_err(|error| errors.push(error)).ok();
    faults.of(path, errors);
    found
}

/// Parses the results of a file. Errors in individual trials are added to `errors`.
fn results(bytes: &[u8], errors: &mut Vec<wrongturn::Error>) -> wrongturn::Result<Results> {
    let mut results = read_results(bytes)?;
    if let Results::Trials { errors: of_trials, .. } = &mut results {
        errors.append(of_trials);
    }
    Ok(results)
}

/// Reads and reports files. The JSON has `null` for a file that could not be read; the tables omit it.
fn list<T: Serialize>(
    files: &[PathBuf],
    out: &TableFiles,
    parse: impl Fn(&[u8], &mut Vec<wrongturn::Error>) -> wrongturn::Result<T>,
    document: impl FnOnce(&[(String, T)]) -> Document,
    faults: &mut Faults,
) -> Result<(), Failure> {
    let found: Vec<Option<T>> = files.iter().map(|path| read(path, faults, &parse)).collect();
    let figures = serde_json::to_value(&found)?;
    let named =
        files.iter().zip(found).filter_map(|(path, found)| Some((path.display().to_string(), found?)));
    out.report(&document(&named.collect::<Vec<_>>()), &figures, true)
}

fn run_select(arguments: &Select, faults: &mut Faults) -> Result<(), Failure> {
    let files = inputs(&arguments.files, &["candidates.jsonl"])?;
    let mut candidates = Vec::new();
    for path in &files {
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let mut lines = records::lines::<Candidate>(path)?;
            faults.of(path, std::mem::take(&mut lines.errors));
            candidates.extend(lines.into_records());
            continue;
        }
        match read(path, faults, results) {
            Some(Results::Trials { trials, .. }) => {
                let is_alone = trials.len() == 1;
                let of = |trial| {
                    Candidate::of(trial, interactions(path, trial, is_alone), prompt_bytes(path, trial))
                };
                candidates.extend(trials.iter().map(of));
            }
            Some(_) => faults.push(format!("{}: no trials", path.display())),
            None => {}
        }
    }
    if candidates.is_empty() {
        return Err(Unread("no trial could be read".to_owned()).into());
    }
    let selection = select(&candidates, arguments.mode);
    arguments.out.report(&selection_document(&selection), &selection, true)
}

/// Returns the number of the model's replies, from the files next to the result; `None` without such files.
fn interactions(result: &Path, trial: &Trial, is_alone: bool) -> Option<u64> {
    let folder = result.parent()?;
    if trial.format == TrialFormat::Harbor {
        let trajectory = output::read(&folder.join("agent/trajectory.json")).ok()?;
        return Some(replay_commands(&trajectory, ReplayMode::Code).ok()?.interactions);
    }
    let within = || Some(folder.join(&trial.task).join(trial.trial.as_ref()?).join("agent-logs"));
    let logs =
        within().filter(|logs| logs.is_dir()).or_else(|| is_alone.then(|| folder.join("agent-logs")))?;
    let is_episode = |name: &str| {
        name.strip_prefix("episode-")
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let folders = fs::read_dir(logs).ok()?.flatten().filter(|entry| entry.path().is_dir());
    Some(folders.filter(|entry| entry.file_name().to_str().is_some_and(is_episode)).count() as u64)
}

/// Returns the size in bytes of a recovery prompt that holds the transcript of a Harbor trial, which is read from the
/// trajectory next to its result.
fn prompt_bytes(result: &Path, trial: &Trial) -> Option<u64> {
    let trajectory = output::read(&result.parent()?.join("agent/trajectory.json")).ok()?;
    let known = transcript(&trajectory).ok().filter(|_| trial.format == TrialFormat::Harbor)?;
    Some(known.prompt_bytes)
}

#[derive(Debug, Clone)]
struct Side {
    model: String,
    context: String,
    source: Option<String>,
    path: PathBuf,
}

fn side(text: &str) -> Result<Side, String> {
    let expected = || format!("expected MODEL:CONTEXT[@SOURCE]=PATH, got `{text}`");
    let (names, path) = text.split_once('=').ok_or_else(expected)?;
    // The name of a model may contain `@`, so only one after the context separates a source.
    let (names, source) = match names.rsplit_once('@') {
        Some((names, source)) if names.contains(':') => (names, Some(source.to_owned())),
        _ => (names, None),
    };
    let (model, context) = names.rsplit_once(':').ok_or_else(expected)?;
    Ok(Side { model: model.to_owned(), context: context.to_owned(), source, path: path.into() })
}

/// Adds the result files of a folder and its subfolders to a list, sorted by path.
fn result_files(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let mut entries =
        fs::read_dir(path).map_err(at(path))?.collect::<Result<Vec<_>, _>>().map_err(at(path))?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        if entry.file_type().map_err(at(path))?.is_dir() {
            result_files(&entry.path(), files)?;
        } else if entry.file_name() == "result.json" || entry.file_name() == "results.json" {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Returns the trials in the result files of one side. Summaries of jobs are skipped.
fn trials_of(side: &Side, faults: &mut Faults) -> Result<Vec<ComparedTrial>, Failure> {
    let mut files = Vec::new();
    if side.path.is_dir() {
        output::protect([&side.path])?;
        result_files(&side.path, &mut files)?;
    } else {
        files.push(side.path.clone());
    }
    let mut found = Vec::new();
    for path in files {
        let Some(Results::Trials { trials, .. }) = read(&path, faults, results) else { continue };
        let is_alone = trials.len() == 1;
        found.extend(trials.iter().enumerate().map(|(place, trial)| ComparedTrial {
            model: side.model.clone(),
            context: side.context.clone(),
            source: side.source.clone(),
            task: trial.task.clone(),
            trial: trial.trial.clone().unwrap_or_else(|| format!("{}#{place}", path.display())),
            resolved: trial.resolved,
            scored: Some(trial.scored),
            reward: trial.reward,
            interactions: interactions(&path, trial, is_alone),
            declared_done: trial.declared_done(),
        }));
    }
    Ok(found)
}

fn run_compare(arguments: &Compare, faults: &mut Faults) -> Result<(), Failure> {
    let path = records::input(arguments.trials.as_ref(), "recovery/trials.jsonl")?;
    let trials = if arguments.results.is_empty() {
        valid(&path, lines::<ComparedTrial>(&path)?, faults)?
    } else {
        let mut trials = Vec::new();
        for side in &arguments.results {
            trials.extend(trials_of(side, faults)?);
        }
        trials
    };
    let comparison = compare(&trials, arguments.seed.seed);
    if comparison.contexts.is_empty() {
        let of = if arguments.results.is_empty() { format!("{}: ", path.display()) } else { String::new() };
        return Err(Unread(format!("{of}no trial in a recovery context")).into());
    }
    arguments.out.report(&recovery_document(&comparison), &comparison, true)
}

fn run_inherit(arguments: &Inherit, faults: &mut Faults) -> Result<(), Failure> {
    let pairs: Vec<InheritancePair> = records(arguments.pairs.as_ref(), "recovery/pairs.jsonl", faults)?;
    let inheritance = inherit(&pairs);
    arguments.out.report(&inheritance_document(&inheritance), &inheritance, true)
}
