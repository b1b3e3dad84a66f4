//! `wrongturn fingerprint`: compares how groups of runs move from one kind of event to the next.

use std::path::{Path, PathBuf};

use clap::Parser;
use wrongturn::{
    Scanner,
    compare::{FingerprintGroups, GroupedFingerprint},
    report::fingerprint_document,
    scan::{ScanOptions, TraceRecord},
};

use crate::common;
use crate::common::arguments::{Resamples, Scanning};
use crate::common::inputs::{self, group_name};
use crate::common::output::{create_folder, protect, write_text};
use crate::common::tables::TableFiles;

/// Compares how groups of runs move from one kind of event to the next.
#[derive(Parser)]
#[command(after_help = common::notes(
    "files or directories of runs of any format.",
    "distances between the groups and the transitions that differ, on standard output; --html has a graph and a heat \
     map for each group. No output replaces an input.",
    "wrongturn fingerprint golden/tau2 --html fingerprints.html",
))]
pub(crate) struct Arguments {
    /// Files or directories
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Group runs by model, agent, domain, task, format, or the name of a label
    #[arg(long, default_value = "model", value_name = "WHAT")]
    group_by: String,
    /// Write each graph and heat map as SVG into this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write a Graphviz graph for each group into this directory
    #[arg(long, value_name = "DIR")]
    dot: Option<PathBuf>,
    /// Print all tables
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    scanning: Scanning,
    #[command(flatten)]
    resampling: Resamples,
    #[command(flatten)]
    files: TableFiles,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    protect(&arguments.paths)?;
    let Scanning { metadata, threads, .. } = &arguments.scanning;
    let options = ScanOptions { fingerprints: true, ..arguments.scanning.options()? };
    let run_table = options.run_table.clone();
    let scanner = Scanner::new(Vec::new(), options)?;
    let mut runs = Vec::new();
    let grouped = |record: TraceRecord| {
        let group = group_name(&record, &arguments.group_by).unwrap_or("(not named)").to_owned();
        let domain = record.metadata.domain.as_deref().unwrap_or_default();
        let task = record.metadata.task.as_ref().map(|task| format!("{domain}/{task}"));
        record.fingerprint.map(|fingerprint| GroupedFingerprint { group, task, fingerprint })
    };
    let inputs = inputs::scan(&scanner, &arguments.paths, grouped, |run| {
        runs.extend(run);
        Ok(())
    })?;
    if !inputs.is_nothing_read() {
        let resampling = arguments.resampling.options();
        let found = threads.pool()?.install(|| FingerprintGroups::of(&runs, &resampling));
        let document = fingerprint_document(&found, &arguments.group_by);
        if let Some(folder) = &arguments.svg {
            let charts = document.charts().map(|chart| (chart.title(), chart.svg()));
            write_each(folder, "svg", charts)?;
        }
        if let Some(folder) = &arguments.dot {
            let graphs = found.groups.iter().map(|group| (group.name.as_str(), group.fingerprint.to_dot()));
            write_each(folder, "dot", graphs)?;
        }
        arguments.files.report(&document, &found, arguments.full)?;
    }
    metadata.tell(run_table.as_ref());
    inputs.finish()
}

/// Writes each text to a file named after its position, from 1 on, and its name, reduced to ASCII letters, digits,
/// dots and hyphens.
fn write_each<'n>(
    folder: &Path,
    ending: &str,
    texts: impl Iterator<Item = (&'n str, String)>,
) -> Result<(), common::Failure> {
    create_folder(folder)?;
    for (number, (name, text)) in texts.enumerate() {
        let name: Vec<&str> = name
            .split(|letter: char| !letter.is_ascii_alphanumeric() && !"-.".contains(letter))
            .filter(|part| !part.is_empty())
            .collect();
        write_text(&folder.join(format!("{}-{}.{ending}", number + 1, name.join("-"))), &text)?;
    }
    Ok(())
}
