//! Recovery-Bench: selecting failed trials, commands to replay them, recovery against fresh starts.

#![allow(clippy::doc_markdown, reason = "comments on commands are their help texts")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::common;
use crate::common::arguments::Seed;
use crate::common::inputs::Faults;
use crate::common::records::{self, Shown, lines, sound};
use crate::common::tables::TableFiles;
use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};
use wrongturn::benchmarks::{
    Candidate, ComparedTrial, InheritancePair, ReplayMode, Results, SelectionRule, Trial, TrialFormat,
    compare, inherit, read_results, replay_commands, select,
};
use wrongturn::report::{
    inheritance_tables, recovery_charts, recovery_tables, replay_tables, result_tables, selection_tables,
};

/// Computes Recovery-Bench: what it costs to go on from where a failed trial stood.
#[derive(Parser)]
#[command(after_help = common::notes(
    "result files are results.json of Terminal-Bench v1 (a run or a trial) and result.json of Harbor; trajectories are \
     ATIF, or {\"responses\": [{\"episode\", \"text\"}]} of Terminus v1; files *.jsonl hold one JSON object per line. \
     Without any, the bundled generated data of golden/recovery.",
    "tables on standard output, or JSON with `--json -`; files where they are asked for.",
    common::STATUS,
    "wrongturn bench recovery compare --seed 7 --json out.json",
))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read result files: per file its trials, or why there are none
    #[command(after_help = common::STATUS)]
    Read(Files),
    /// Select failed trials that are worth recovering
    ///
    /// FILES are result files, or *.jsonl with one candidate per line:
    ///   {"trial", "task", "resolved", "interactions", "context_bytes"?}
    /// How many interactions there were is told by what lies beside a result file:
    /// agent/trajectory.json (Harbor), agent-logs/episode-N (Terminal-Bench v1).
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Select(Select),
    /// List the commands that lead to where a trial stood
    ///
    /// FILES are ATIF trajectories, or the replies of Terminus v1:
    ///   {"responses": [{"episode", "text"}]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Commands(Commands),
    /// Compare recovery with fresh starts, paired by task
    ///
    /// TRIALS, one per line:
    ///   {"model", "context": "fresh"|"env"|"env+summary"|"env+full", "task",
    ///    "trial", "resolved", "scored"?, "reward"?, "interactions"?}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Compare(Compare),
    /// Tell whether recovery runs repeat the last error of the failed run
    ///
    /// PAIRS, one per line:
    ///   {"id", "failed": [{"step", "name", "arguments", "status", "observation"}],
    ///    "recovery": [the same]}
    #[command(verbatim_doc_comment, after_help = common::STATUS)]
    Inherit(Inherit),
}

#[derive(Args)]
struct Files {
    /// Result files
    files: Vec<PathBuf>,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Select {
    /// Result files, or candidates (*.jsonl)
    files: Vec<PathBuf>,
    /// Who selects: paper, code_v1 (2025), code_v2 (2026)
    #[arg(long, default_value_t)]
    mode: SelectionRule,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Commands {
    /// Trajectories
    files: Vec<PathBuf>,
    /// Which commands are found: default, code (those of the public code)
    #[arg(long, default_value_t)]
    mode: ReplayMode,
    #[command(flatten)]
    out: TableFiles,
}

#[derive(Args)]
struct Compare {
    /// Trials
    trials: Option<PathBuf>,
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

/// The paths that were given, or those of bundled files.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    Faults::reported_after(|faults| match &arguments.command {
        Command::Read(arguments) => run_read(arguments, faults),
        Command::Select(arguments) => run_select(arguments, faults),
        Command::Commands(arguments) => run_commands(arguments, faults),
        Command::Compare(arguments) => run_compare(arguments, faults),
        Command::Inherit(arguments) => run_inherit(arguments, faults),
    })
}

fn inputs(paths: &[PathBuf], by_default: &[&str]) -> Vec<PathBuf> {
    if paths.is_empty() {
        by_default.iter().map(|name| bundled(None, name)).collect()
    } else {
        paths.to_vec()
    }
}

/// The path that was given, or that of a bundled file.
fn bundled(path: Option<&PathBuf>, name: &str) -> PathBuf {
    records::input(path, &format!("recovery/{name}"))
}

fn bytes(path: &Path) -> Result<Vec<u8>, wrongturn::Error> {
    fs::read(path).map_err(wrongturn::Error::from)
}

/// The exit status if `bad` files could not be read.
fn status(bad: usize) -> u8 {
    if bad == 0 { 0 } else { common::UNREAD }
}

fn run_read(arguments: &Files, faults: &mut Faults) -> Result<u8, common::Failure> {
    let files = inputs(&arguments.files, &["results.json", "harbor/result.json"]);
    let (mut found, mut read, mut bad) = (Vec::new(), Vec::new(), 0);
    for path in &files {
        match bytes(path).and_then(|bytes| read_results(&bytes)) {
            Ok(results) => {
                if let Results::Trials { errors, .. } = &results {
                    faults.of(path, errors);
                }
                found.push(serde_json::to_value(&results)?);
                read.push((path.display().to_string(), results));
            }
            Err(error) => {
                faults.of(path, &[error]);
                bad += 1;
                found.push(Value::Null);
            }
        }
    }
    let shown = Shown { title: "Results of trials", charts: Vec::new(), tables: result_tables(&read) };
    arguments.out.write_result(&files, &found, shown)?;
    Ok(status(bad))
}

fn run_select(arguments: &Select, faults: &mut Faults) -> Result<u8, common::Failure> {
    let mut files = inputs(&arguments.files, &["candidates.jsonl"]);
    let (mut candidates, mut beside) = (Vec::new(), Vec::new());
    for path in &files {
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let lines = records::lines::<Candidate>(path)?;
            faults.of(path, &lines.errors);
            candidates.extend(lines.into_records());
            continue;
        }
        match bytes(path).and_then(|bytes| read_results(&bytes)) {
            Ok(Results::Trials { trials, errors }) => {
                faults.of(path, &errors);
                let alone = trials.len() == 1;
                candidates.extend(
                    trials.iter().map(|trial| Candidate::of(trial, interactions(path, trial, alone))),
                );
                beside.extend(trajectory(path));
            }
            Ok(Results::Skipped { .. }) => {
                faults.push(format!("{}: holds no trials", path.display()));
            }
            Err(error) => faults.of(path, &[error]),
        }
    }
    if candidates.is_empty() {
        return Err(common::Unread("no trial could be read".to_owned()).into());
    }
    files.extend(beside);
    let selection = select(&candidates, arguments.mode);
    let tables = selection_tables(&selection);
    arguments.out.write_result(
        &files,
        &selection,
        Shown { title: "Failed trials", charts: Vec::new(), tables },
    )?;
    Ok(0)
}

/// Where the trajectory of a Harbor trial lies.
fn trajectory(result: &Path) -> Option<PathBuf> {
    Some(result.parent()?.join("agent/trajectory.json"))
}

/// How many replies of the model there were, as the files beside the result tell.
fn interactions(result: &Path, trial: &Trial, alone: bool) -> Option<u64> {
    let folder = result.parent()?;
    if trial.format == TrialFormat::Harbor {
        let trajectory = fs::read(trajectory(result)?).ok()?;
        return Some(replay_commands(&trajectory, ReplayMode::Code).ok()?.interactions);
    }
    let within = || Some(folder.join(&trial.task).join(trial.trial.as_ref()?).join("agent-logs"));
    let logs = within().filter(|logs| logs.is_dir()).or_else(|| alone.then(|| folder.join("agent-logs")))?;
    let is_episode = |name: &str| {
        name.strip_prefix("episode-")
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let folders = fs::read_dir(logs).ok()?.flatten().filter(|entry| entry.path().is_dir());
    Some(folders.filter(|entry| entry.file_name().to_str().is_some_and(is_episode)).count() as u64)
}

fn run_commands(arguments: &Commands, faults: &mut Faults) -> Result<u8, common::Failure> {
    let files = inputs(&arguments.files, &["harbor/agent/trajectory.json", "terminus.json"]);
    let (mut found, mut read, mut bad) = (Vec::new(), Vec::new(), 0);
    for path in &files {
        match bytes(path).and_then(|bytes| replay_commands(&bytes, arguments.mode)) {
            Ok(replay) => {
                found.push(json!(replay));
                read.push((path.display().to_string(), replay));
            }
            Err(error) => {
                faults.of(path, &[error]);
                bad += 1;
                found.push(Value::Null);
            }
        }
    }
    let shown = Shown { title: "Commands to type again", charts: Vec::new(), tables: replay_tables(&read) };
    arguments.out.write_result(&files, &found, shown)?;
    Ok(status(bad))
}

fn run_compare(arguments: &Compare, faults: &mut Faults) -> Result<u8, common::Failure> {
    let path = bundled(arguments.trials.as_ref(), "trials.jsonl");
    let trials = sound(&path, lines::<ComparedTrial>(&path)?, faults)?;
    let comparison = compare(&trials, arguments.seed.seed);
    if comparison.contexts.is_empty() {
        return Err(common::Unread(format!("{}: no trial in a recovery context", path.display())).into());
    }
    let shown = Shown {
        title: "Recovery against a fresh start",
        charts: recovery_charts(&comparison),
        tables: recovery_tables(&comparison),
    };
    arguments.out.write_result(&[path], &comparison, shown)?;
    Ok(0)
}

fn run_inherit(arguments: &Inherit, faults: &mut Faults) -> Result<u8, common::Failure> {
    let path = bundled(arguments.pairs.as_ref(), "pairs.jsonl");
    let pairs = sound(&path, lines::<InheritancePair>(&path)?, faults)?;
    let inheritance = inherit(&pairs);
    let tables = inheritance_tables(&inheritance);
    arguments.out.write_result(
        &[path],
        &inheritance,
        Shown { title: "Inherited errors", charts: Vec::new(), tables },
    )?;
    Ok(0)
}
