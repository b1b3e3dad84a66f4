//! Does recovering from tool errors track reward better than making few of them does?
//!
//! Reads tau2-bench result files and prints the tables of the note "Tool-error recovery replicates on
//! tau2-bench", with intervals that allow for runs of one task being alike. Without a path it reads the
//! bundled runs of scripted policies in `golden/tau2`.
//!
//! `cargo run --release --example replicate_tau2 -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use common::parts::{self, PartialFile};
use common::replicated::{self, Options, Outputs};
use common::tables;
use tracelint::{
    Actors, ClusterBy, Detector, Format, GroupBy, PartialContent, ReadOptions, RecoveryByProgram,
    ReplicationPart, ScanOptions, Scanner, SimulationRow, ToolErrorRecovery, ToolErrorRecoveryConfig,
};

/// Correlates recovery from tool errors with reward, on tau2-bench results.
#[derive(Parser)]
struct Arguments {
    /// Files or directories of tau2 results, or of any format with --group-by; without any, the bundled ones
    paths: Vec<PathBuf>,
    /// Whose calls count
    #[arg(long, value_enum, default_value = "all")]
    actors: Chosen,
    /// Recovery rate below which a run is flagged, in (0, 1]
    #[arg(long, default_value_t = 0.5)]
    threshold: f64,
    /// Threads; default: one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// The note's tables only: every run counts, pairs of unknown model or domain too, signals by |r|
    #[arg(long, conflicts_with_all = ["csv", "markdown", "latex", "html", "chart"])]
    as_published: bool,
    /// Runs that belong together: task (within its domain), file, model-domain, none
    #[arg(long, default_value = "task", value_name = "WHAT")]
    cluster: ClusterBy,
    /// Runs with errors that a pair needs to be ranked among the signals
    #[arg(long, default_value_t = 20, value_name = "N")]
    min_n: u64,
    /// Read any format, and add tables by these (agent, model, domain, task), with recovery by program in shells
    #[arg(long, value_delimiter = ',', value_name = "WHAT", conflicts_with = "as_published")]
    group_by: Vec<GroupBy>,
    /// Count runs that repeat the messages of another run
    #[arg(long)]
    keep_duplicates: bool,
    /// Resamples of each bootstrap and permutation test
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    resamples: u32,
    /// Seed of the resamples
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    partial: PartialFile,
    /// Runs that are kept one by one; of more, exact sums by model, domain and task are kept
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    exact_runs: u64,
    /// Add tau-bench's pass^k per model and domain
    #[arg(long)]
    pass_k: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Chosen {
    All,
    Agent,
    User,
}

impl From<Chosen> for Actors {
    fn from(chosen: Chosen) -> Self {
        match chosen {
            Chosen::All => Self::All,
            Chosen::Agent => Self::Agent,
            Chosen::User => Self::User,
        }
    }
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(arguments)),
        Err(status) => status,
    }
}

fn run(arguments: Arguments) -> Result<u8, common::Failure> {
    let config = ToolErrorRecoveryConfig {
        actors: arguments.actors.into(),
        threshold: arguments.threshold,
        ..ToolErrorRecoveryConfig::published()
    };
    let mut detectors: Vec<Arc<dyn Detector>> = vec![Arc::new(ToolErrorRecovery::new(config.clone())?)];
    let groups = !arguments.group_by.is_empty();
    if groups {
        detectors.push(Arc::new(RecoveryByProgram::new(config.actors, config.threshold)?));
    }
    let read =
        ReadOptions { format: (!groups).then_some(Format::Tau2), routes: false, ..ReadOptions::default() };
    let options = ScanOptions {
        read,
        threads: arguments.threads.map(Into::into),
        digests: !arguments.as_published && !arguments.keep_duplicates,
        ..ScanOptions::default()
    };
    let paths = if arguments.paths.is_empty() {
        vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2"))]
    } else {
        arguments.paths.clone()
    };

    let scanner = Scanner::new(detectors, options)?;
    let out = arguments.partial.create(&paths)?;
    let mut part = ReplicationPart::new(arguments.exact_runs);
    let row = |record| SimulationRow::of(&record);
    part.files = tables::scan(&scanner, &paths, row, |row| part.runs.extend([row]))?;
    let options = Options {
        actors: config.actors,
        threshold: config.threshold,
        as_published: arguments.as_published,
        cluster: arguments.cluster,
        min_n: arguments.min_n,
        group_by: arguments.group_by,
        keep_duplicates: arguments.keep_duplicates,
        resamples: arguments.resamples,
        seed: arguments.seed,
        pass_k: arguments.pass_k,
        exact_runs: arguments.exact_runs,
    };
    if let Some(out) = out {
        let content = PartialContent::Replication(Box::new(part.clone()));
        let state = arguments.partial.state(&paths, &serde_json::to_value(&options)?, content)?;
        parts::write(out, &state)?;
        if arguments.partial.no_report {
            if let (Some(path), Some(rows)) = (&arguments.outputs.sims, part.runs.rows()) {
                replicated::write_sims(path, &paths, rows)?;
            }
            tables::tell_errors(&part.files);
            return Ok(parts::status_of_part(common::status([&part.files])));
        }
    }
    replicated::report(part, &options, &arguments.outputs, &paths, arguments.threads)
}
