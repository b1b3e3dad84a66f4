//! Does recovering from tool errors track reward better than making few of them does?
//!
//! Reads tau2-bench result files and prints the tables of the note "Tool-error recovery replicates on
//! tau2-bench", with intervals that allow for runs of one task being alike. Without a path it reads the
//! bundled runs of scripted policies in `golden/tau2`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common;
use crate::common::arguments::{Metadata, Resamples, Threads};
use crate::common::inputs;
use crate::common::parts::{self, PartialFile};
use crate::common::replicated::{self, Duplicates, Options, Outputs};
use clap::Parser;
use wrongturn::{
    Detector, ReadOptions, Scanner, ToolErrorRecovery,
    detect::ToolErrorRecoveryConfig,
    merge::{PartialContent, ReplicationPart},
    read::Format,
    replicate::{ClusterBy, DefaultRecovery, GroupBy, SimulationRow},
    scan::ScanOptions,
    trace::Actors,
};

/// Correlates recovery from tool errors with reward, on tau2-bench results.
#[derive(Parser)]
#[command(after_help = common::notes(
    "tau2-bench result files, or with --group-by runs of any format; without any, the bundled runs of scripted policies.",
    "tables on standard output, and files where they are asked for. No output replaces an input.",
    common::STATUS,
    "wrongturn replicate golden/tau2 --html report.html --chart forest.svg",
))]
pub(crate) struct Arguments {
    /// Files or directories; default: the bundled ones
    paths: Vec<PathBuf>,
    /// Whose actions count (agent, user, all)
    #[arg(long, default_value = "all")]
    actors: Actors,
    /// Recovery rate below which a run is flagged, in (0, 1]
    #[arg(long, default_value_t = 0.5, value_name = "RATE")]
    threshold: f64,
    #[command(flatten)]
    metadata: Metadata,
    #[command(flatten)]
    threads: Threads,
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
    /// Runs that were recorded twice (equal id, or equal messages, task, agent, model and trial): keep all, drop the copies
    /// that name less about themselves, or list (drop, and print a table of them)
    #[arg(long, value_enum, default_value_t = Duplicates::Drop, value_name = "WHAT", hide_possible_values = true,
        conflicts_with = "as_published")]
    duplicates: Duplicates,
    #[command(flatten)]
    resampling: Resamples,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    partial: PartialFile,
    /// Runs that are kept one by one; of more, sums by model, domain and task are kept
    #[arg(long, default_value_t = 200_000, value_name = "N")]
    exact_runs: u64,
    /// Add regressions of the reward on recovery, errors and calls together, with cluster-robust errors
    #[arg(long, conflicts_with = "as_published")]
    regression: bool,
    /// Add tau-bench's pass^k per model and domain
    #[arg(long)]
    pass_k: bool,
}

pub(crate) fn run(arguments: Arguments) -> Result<u8, common::Failure> {
    let rule = ToolErrorRecoveryConfig::published();
    let config = ToolErrorRecoveryConfig { actors: arguments.actors, threshold: arguments.threshold, ..rule };
    let mut detectors: Vec<Arc<dyn Detector>> = vec![Arc::new(ToolErrorRecovery::new(config.clone())?)];
    if !arguments.as_published {
        detectors.push(Arc::new(DefaultRecovery::new(config.actors)?));
    }
    let groups = !arguments.group_by.is_empty();
    let read =
        ReadOptions { format: (!groups).then_some(Format::Tau2), routes: false, ..ReadOptions::default() };
    let run_table = arguments.metadata.table()?;
    let options = ScanOptions {
        read,
        run_table: run_table.clone(),
        threads: arguments.threads.wanted(),
        digests: !arguments.as_published,
        ..ScanOptions::default()
    };
    let paths = if arguments.paths.is_empty() {
        vec![common::records::golden("tau2")]
    } else {
        arguments.paths.clone()
    };

    common::output::protect(&paths)?;
    let scanner = Scanner::new(detectors, options)?;
    let out = arguments.partial.create()?;
    let mut part = ReplicationPart::new(arguments.exact_runs);
    let row = |record| SimulationRow::of(&record);
    let inputs = inputs::scan(&scanner, &paths, row, |row| {
        part.runs.extend(row);
        Ok(())
    })?;
    part.files = inputs.files.clone();
    let options = Options {
        actors: config.actors,
        threshold: config.threshold,
        as_published: arguments.as_published,
        cluster: arguments.cluster,
        min_n: arguments.min_n,
        group_by: arguments.group_by,
        duplicates: arguments.duplicates,
        resamples: arguments.resampling.resamples,
        seed: arguments.resampling.seed.seed,
        regression: arguments.regression,
        pass_k: arguments.pass_k,
        exact_runs: arguments.exact_runs,
    };
    if let Some(out) = out {
        let content = PartialContent::Replication(Box::new(part.clone()));
        let state = arguments.partial.state(&paths, &serde_json::to_value(&options)?, content)?;
        parts::write(out, &state)?;
        if arguments.partial.no_report {
            if let (Some(path), Some(rows)) = (&arguments.outputs.out, part.runs.rows()) {
                replicated::write_rows(path, rows)?;
            }
            inputs.tell();
            return Ok(inputs.status());
        }
    }
    if !inputs.is_nothing_read() {
        replicated::report(part, &options, &arguments.outputs, arguments.threads)?;
    }
    arguments.metadata.tell(run_table.as_ref());
    inputs.told()
}
