//! `wrongturn replicate`: tests whether recovery from tool errors predicts reward better than a low number of
//! errors does.
//!
//! Reads tau2-bench result files and prints the tables of the note "Tool-error recovery replicates on
//! tau2-bench", with intervals that account for the similarity of runs of one task. Without a path, it reads
//! the bundled runs of scripted policies in `golden/tau2`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common;
use crate::common::arguments::{Metadata, Threads};
use crate::common::inputs;
use crate::common::parts::PartialFile;
use crate::common::replicated::{self, Options, Outputs};
use clap::Parser;
use wrongturn::{
    Detector, ReadOptions, Scanner, ToolErrorRecovery,
    detect::ToolErrorRecoveryConfig,
    merge::{PartialContent, ReplicationPart},
    read::Format,
    replicate::{DefaultRecovery, SimulationRow},
    scan::ScanOptions,
};

/// Correlates recovery from tool errors with reward, on tau2-bench results.
#[derive(Parser)]
#[command(after_help = common::notes(
    "tau2-bench result files, or with --group-by runs of any format; without any, the bundled runs of scripted policies.",
    "tables on standard output, and the requested files. No output replaces an input.",
    "wrongturn replicate golden/tau2 --html report.html --chart forest.svg",
))]
pub(crate) struct Arguments {
    /// Files or directories; default: the bundled ones
    paths: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    metadata: Metadata,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    partial: PartialFile,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let options = &arguments.options;
    let Options { actors, threshold, .. } = *options;
    let rule = ToolErrorRecoveryConfig::published();
    let config = ToolErrorRecoveryConfig { actors, threshold, ..rule };
    let mut detectors: Vec<Arc<dyn Detector>> = vec![Arc::new(ToolErrorRecovery::new(config)?)];
    if !options.as_published {
        detectors.push(Arc::new(DefaultRecovery::new(actors)?));
    }
    let format = options.group_by.is_empty().then_some(Format::Tau2);
    let run_table = arguments.metadata.table()?;
    let scan = ScanOptions {
        read: ReadOptions { format, routes: false, ..ReadOptions::default() },
        run_table: run_table.clone(),
        threads: arguments.threads.wanted(),
        digests: !options.as_published,
        ..ScanOptions::default()
    };
    let paths = if arguments.paths.is_empty() {
        vec![common::records::golden("tau2")?]
    } else {
        arguments.paths.clone()
    };

    common::output::protect(&paths)?;
    let scanner = Scanner::new(detectors, scan)?;
    let out = arguments.partial.create()?;
    let mut part = ReplicationPart::new(options.exact_runs);
    let row = |record| SimulationRow::of(&record);
    let inputs = inputs::scan(&scanner, &paths, row, |row| {
        part.runs.extend(row);
        Ok(())
    })?;
    part.files = inputs.files.clone();
    if let Some(out) = out {
        let content = PartialContent::Replication(Box::new(part.clone()));
        arguments.partial.write(out, &paths, &serde_json::to_value(options)?, content)?;
        if arguments.partial.no_report {
            if let (Some(path), Some(rows)) = (&arguments.outputs.out, part.runs.rows()) {
                replicated::write_rows(path, rows)?;
            }
            inputs.report();
            return Ok(inputs.status());
        }
    }
    if !inputs.is_nothing_read() {
        replicated::report(part, options, &arguments.outputs, arguments.threads)?;
    }
    arguments.metadata.tell(run_table.as_ref());
    let [whole, some, none] = inputs.files.read_counts();
    if format.is_some() && none > whole + some {
        common::note("note: the files were read as tau2-bench results; with --group-by, any format is read");
    }
    inputs.finish()
}
