//! Recovery-Bench: selecting failed trials, commands to replay them, recovery against fresh starts.
//!
//! `cargo run --release --example recovery -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![allow(clippy::doc_markdown, reason = "comments on commands are their help texts")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use tracelint::evaluation::{
    Candidate, ComparedTrial, InheritancePair, Record, ReplayMode, Results, SelectionRule, Trial,
    TrialFormat, compare, inherit, read_lines, read_results, replay_commands, select,
};
use tracelint::{render_inheritance, render_recovery, render_replay, render_selection};

const AFTER: &str = "\
Inputs: result files are results.json of Terminal-Bench v1 (a run or a trial)
and result.json of Harbor; trajectories are ATIF, or {\"responses\": [{\"episode\",
\"text\"}]} of Terminus v1; files *.jsonl hold one JSON object per line. Without
an input, the bundled generated data of golden/recovery is taken. Output is a
table, or JSON with --json.

Exit status: 0 fine; 2 something could not be read or was left out as bad (told
on stderr); 1 wrong usage, or nothing could be done.

Example: recovery compare --seed 7 --json out.json trials.jsonl";

const STATUS: &str = "\
Exit status: 0 fine; 2 something could not be read or was left out as bad (told
on stderr); 1 wrong usage, or nothing could be done.";

/// Recovery-Bench: what it costs to go on from where a failed trial stood.
#[derive(Parser)]
#[command(after_help = AFTER)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read result files: per file its trials, or why there are none.
    #[command(after_help = STATUS)]
    Read(Files),
    /// Select failed trials that are worth recovering.
    ///
    /// FILES are result files, or *.jsonl with one candidate per line:
    ///   {"trial", "task", "resolved", "interactions", "context_bytes"?}
    /// How many interactions there were is told by what lies beside a result file:
    /// agent/trajectory.json (Harbor), agent-logs/episode-N (Terminal-Bench v1).
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Select(Select),
    /// List the commands that lead to where a trial stood.
    ///
    /// FILES are ATIF trajectories, or the replies of Terminus v1:
    ///   {"responses": [{"episode", "text"}]}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Commands(Commands),
    /// Compare recovery with fresh starts, paired by task.
    ///
    /// TRIALS, one per line:
    ///   {"model", "context": "fresh"|"env"|"env+summary"|"env+full", "task",
    ///    "trial", "resolved", "scored"?, "reward"?, "interactions"?}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Compare(Compare),
    /// Tell whether recovery runs repeat the last error of the failed run.
    ///
    /// PAIRS, one per line:
    ///   {"id", "failed": [{"step", "name", "arguments", "status", "observation"}],
    ///    "recovery": [the same]}
    #[command(verbatim_doc_comment, after_help = STATUS)]
    Inherit(Inherit),
}

#[derive(Args)]
struct Files {
    /// Result files
    files: Vec<PathBuf>,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Select {
    /// Result files, or candidates (*.jsonl)
    files: Vec<PathBuf>,
    /// Who selects: paper, code_v1 (2025), code_v2 (2026)
    #[arg(long, default_value_t)]
    mode: SelectionRule,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Commands {
    /// Trajectories
    files: Vec<PathBuf>,
    /// Which commands are found: default, code (those of the public code)
    #[arg(long, default_value_t)]
    mode: ReplayMode,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Compare {
    /// Trials
    trials: Option<PathBuf>,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Inherit {
    /// Pairs of runs
    pairs: Option<PathBuf>,
    #[command(flatten)]
    out: Out,
}

#[derive(Args)]
struct Out {
    /// Write JSON to this file (`-`: to stdout, no table)
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Arguments = match common::parse() {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    common::finish(match &arguments.command {
        Command::Read(arguments) => run_read(arguments),
        Command::Select(arguments) => run_select(arguments),
        Command::Commands(arguments) => run_commands(arguments),
        Command::Compare(arguments) => run_compare(arguments),
        Command::Inherit(arguments) => run_inherit(arguments),
    })
}

/// The paths that were given, or that of a bundled file.
fn inputs(paths: &[PathBuf], bundled: &[&str]) -> Vec<PathBuf> {
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/recovery"));
    if paths.is_empty() { bundled.iter().map(|name| golden.join(name)).collect() } else { paths.to_vec() }
}

fn bytes(path: &Path) -> Result<Vec<u8>, tracelint::Error> {
    fs::read(path).map_err(tracelint::Error::from)
}

/// The sound records of a file, and the exit status so far.
fn read<T: Record>(path: &Path) -> Result<(Vec<T>, u8), common::Failure> {
    let lines = read_lines(&bytes(path).map_err(|error| format!("{}: {error}", path.display()))?);
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

/// The exit status where `bad` of `all` files could not be read.
fn status(bad: usize, all: usize) -> u8 {
    match bad {
        0 => 0,
        bad if bad < all => 2,
        _ => 1,
    }
}

fn run_read(arguments: &Files) -> Result<u8, common::Failure> {
    let files = inputs(&arguments.files, &["results.json", "harbor/result.json"]);
    let (mut found, mut table, mut bad, mut partly) = (Vec::new(), String::new(), 0, 0);
    for path in &files {
        match bytes(path).and_then(|bytes| read_results(&bytes)) {
            Ok(results) => {
                if let Results::Trials { trials, errors } = &results {
                    partly = partly.max(common::told(path, errors));
                    let resolved = trials.iter().filter(|trial| trial.resolved).count();
                    let unscored = trials.iter().filter(|trial| !trial.scored).count();
                    table += &format!(
                        "  {}: {} trials, {resolved} resolved, {unscored} unscored\n",
                        path.display(),
                        trials.len()
                    );
                } else {
                    table += &format!("  {}: skipped\n", path.display());
                }
                found.push(serde_json::to_value(&results)?);
            }
            Err(error) => {
                common::told(path, &[error]);
                bad += 1;
                found.push(Value::Null);
            }
        }
    }
    write(&arguments.out, &found, &table)?;
    Ok(status(bad, files.len()).max(partly))
}

fn run_select(arguments: &Select) -> Result<u8, common::Failure> {
    let files = inputs(&arguments.files, &["candidates.jsonl"]);
    let (mut candidates, mut worst) = (Vec::new(), 0);
    for path in &files {
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let lines = read_lines::<Candidate>(
                &bytes(path).map_err(|error| format!("{}: {error}", path.display()))?,
            );
            worst = worst.max(common::told(path, &lines.errors));
            candidates.extend(lines.into_records());
            continue;
        }
        match bytes(path).and_then(|bytes| read_results(&bytes)) {
            Ok(Results::Trials { trials, errors }) => {
                worst = worst.max(common::told(path, &errors));
                let alone = trials.len() == 1;
                candidates.extend(
                    trials.iter().map(|trial| Candidate::of(trial, interactions(path, trial, alone))),
                );
            }
            Ok(Results::Skipped { .. }) => {
                eprintln!("error: {}: holds no trials", path.display());
                worst = 2;
            }
            Err(error) => worst = worst.max(common::told(path, &[error])),
        }
    }
    if candidates.is_empty() {
        return Err("no trial could be read".into());
    }
    let selection = select(&candidates, arguments.mode);
    write(&arguments.out, &selection, &render_selection(&selection))?;
    Ok(worst)
}

/// How many replies of the model there were, as the files beside the result tell.
fn interactions(result: &Path, trial: &Trial, alone: bool) -> Option<u64> {
    let folder = result.parent()?;
    if trial.format == TrialFormat::Harbor {
        let trajectory = fs::read(folder.join("agent/trajectory.json")).ok()?;
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

fn run_commands(arguments: &Commands) -> Result<u8, common::Failure> {
    let files = inputs(&arguments.files, &["harbor/agent/trajectory.json", "terminus.json"]);
    let (mut found, mut table, mut bad) = (Vec::new(), String::new(), 0);
    for path in &files {
        match bytes(path).and_then(|bytes| replay_commands(&bytes, arguments.mode)) {
            Ok(replay) => {
                table += &format!("{}\n{}", path.display(), render_replay(&replay));
                found.push(json!(replay));
            }
            Err(error) => {
                common::told(path, &[error]);
                bad += 1;
                found.push(Value::Null);
            }
        }
    }
    write(&arguments.out, &found, &table)?;
    Ok(status(bad, files.len()))
}

fn run_compare(arguments: &Compare) -> Result<u8, common::Failure> {
    let path = arguments.trials.clone().map_or_else(|| inputs(&[], &["trials.jsonl"]), |path| vec![path]);
    let [path] = path.as_slice() else { return Err("one file of trials".into()) };
    let (trials, status) = read::<ComparedTrial>(path)?;
    let comparison = compare(&trials, arguments.seed);
    if comparison.contexts.is_empty() {
        return Err(format!("{}: no trial in a recovery context", path.display()).into());
    }
    write(&arguments.out, &comparison, &render_recovery(&comparison))?;
    Ok(status)
}

fn run_inherit(arguments: &Inherit) -> Result<u8, common::Failure> {
    let path = arguments.pairs.clone().map_or_else(|| inputs(&[], &["pairs.jsonl"]), |path| vec![path]);
    let [path] = path.as_slice() else { return Err("one file of pairs".into()) };
    let (pairs, status) = read::<InheritancePair>(path)?;
    let inheritance = inherit(&pairs);
    write(&arguments.out, &inheritance, &render_inheritance(&inheritance))?;
    Ok(status)
}
