//! Does recovering from tool errors track reward better than making few of them does?
//!
//! Reads tau2-bench result files and prints the tables of the note "Tool-error recovery replicates on
//! tau2-bench", with intervals that allow for runs of one task being alike. Without a path it reads the
//! bundled runs of scripted policies in `golden/tau2`.
//!
//! `cargo run --release --example replicate_tau2 -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use common::tables::{self, TableFiles};
use serde::Serialize;
use tracelint::{
    Actors, ClusterBy, Detector, Format, Inference, InferenceOptions, PassK, ReadOptions, Relation,
    Replication, ScanOptions, Scanner, SimulationRow, TEXT_WIDTH, ToolErrorRecovery, ToolErrorRecoveryConfig,
    forest_chart, pass_k_by_pair, pass_k_table, render_inference, render_pass_k, render_replication,
    replication_html, replication_tables, simulation_table, stats::Resampling,
};

/// Correlates recovery from tool errors with reward, on tau2-bench results.
#[derive(Parser)]
struct Arguments {
    /// Files or directories of tau2 results; without any, the bundled ones
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
    files: TableFiles,
    /// Write the forest plot of recovery on runs with errors to this file
    #[arg(long, value_name = "OUT.svg")]
    chart: Option<PathBuf>,
    /// Write one JSON object per run to this file, or CSV if its name ends in .csv
    #[arg(long, value_name = "OUT.jsonl")]
    sims: Option<PathBuf>,
    /// Write the figures as JSON to this file
    #[arg(long, value_name = "OUT.json")]
    summary: Option<PathBuf>,
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

#[derive(Serialize)]
struct Summary<'r, F: Serialize> {
    #[serde(flatten)]
    figures: &'r F,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass_k: Option<&'r [PassK]>,
    inputs: &'r [common::Input],
    config: Config,
}

/// What the figures depend on, and nothing else.
#[derive(Serialize)]
struct Config {
    actors: Actors,
    threshold: f64,
    version: &'static str,
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
    let detector: Arc<dyn Detector> = Arc::new(ToolErrorRecovery::new(config.clone())?);
    let read = ReadOptions { format: Some(Format::Tau2), routes: false, ..ReadOptions::default() };
    let options = ScanOptions { read, threads: arguments.threads.map(Into::into), ..ScanOptions::default() };
    let paths = if arguments.paths.is_empty() {
        vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2"))]
    } else {
        arguments.paths
    };

    let scanner = Scanner::new(vec![detector], options)?;
    let (inputs, rows) = tables::scan(&scanner, &paths, |record| SimulationRow::of(&record))?;
    let status = common::status(&inputs);
    if status == 1 {
        tables::tell_errors(&inputs);
        return Err("nothing could be read".into());
    }
    if let Some(path) = &arguments.sims {
        write_sims(path, &paths, &rows)?;
    }
    let pass_k = arguments.pass_k.then(|| pass_k_by_pair(&rows));
    let config =
        Config { actors: config.actors, threshold: config.threshold, version: env!("CARGO_PKG_VERSION") };
    if arguments.as_published {
        let replication = Replication::of(&rows);
        common::print(&render_replication(&replication))?;
        common::print(&pass_k.as_deref().map(render_pass_k).unwrap_or_default())?;
        if let Some(path) = &arguments.summary {
            let summary =
                Summary { figures: &replication, pass_k: pass_k.as_deref(), inputs: &inputs, config };
            common::write_json(path, &paths, &summary)?;
        }
    } else {
        let options = InferenceOptions {
            cluster: arguments.cluster,
            min_n: arguments.min_n,
            keep_duplicates: arguments.keep_duplicates,
            resampling: Resampling {
                resamples: arguments.resamples as usize,
                seed: arguments.seed,
                ..Resampling::default()
            },
        };
        let threads = arguments.threads.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let inference = pool.install(|| Inference::of(&rows, &options))?;
        common::print(&render_inference(&inference))?;
        let mut all = replication_tables(&inference);
        if let Some(groups) = &pass_k {
            let table = pass_k_table(groups);
            common::print(&format!("\n{}", table.text(TEXT_WIDTH)))?;
            all.push(table);
        }
        arguments.files.write(&paths, &all)?;
        if let Some(path) = &arguments.files.html {
            let html = replication_html(&rows, &inference, &pass_k_by_pair(&rows));
            tables::write_text(path, &paths, &html)?;
        }
        if let Some(path) = &arguments.chart {
            let chart = forest_chart(&inference, Relation::RecoveryWithErrors);
            tables::write_text(path, &paths, &chart.svg())?;
        }
        if let Some(path) = &arguments.summary {
            let summary = Summary { figures: &inference, pass_k: pass_k.as_deref(), inputs: &inputs, config };
            common::write_json(path, &paths, &summary)?;
        }
    }
    tables::tell_errors(&inputs);
    Ok(status)
}

fn write_sims(path: &Path, inputs: &[PathBuf], rows: &[SimulationRow]) -> Result<(), common::Failure> {
    let mut out = common::Output::create(path, inputs)?;
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        simulation_table(rows).write_csv(&mut out)?;
    } else {
        for row in rows {
            serde_json::to_writer(&mut out, row)?;
            writeln!(out)?;
        }
    }
    out.finish()
}
