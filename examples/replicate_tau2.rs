//! Tests whether recovery from tool errors predicts reward better than making few of them.
//!
//! Reads tau2-bench result files, by default the bundled runs of scripted policies, and prints the tables of
//! the replication: `cargo run --release --example replicate_tau2 [PATHS…]`. `wrongturn replicate` has more
//! options.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use wrongturn::{
    Detector, ReadOptions, Scanner, ToolErrorRecovery,
    detect::ToolErrorRecoveryConfig,
    read::Format,
    replicate::{ReplicationAnalysis, ReplicationOptions, SimulationRow},
    report::{Detail, ReplicationView, replication_document},
    scan::{ScanEvent, ScanOptions},
    trace::Actors,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        paths.push(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2").into());
    }
    let config = ToolErrorRecoveryConfig { actors: Actors::All, ..ToolErrorRecoveryConfig::published() };
    let rule = ToolErrorRecovery::new(config)?;
    let detectors: Vec<Arc<dyn Detector>> = vec![Arc::new(rule)];
    let read = ReadOptions { format: Some(Format::Tau2), routes: false, ..ReadOptions::default() };
    let options = ScanOptions { read, digests: true, ..ScanOptions::default() };
    let scanner = Scanner::new(detectors, options)?;

    let mut rows = Vec::new();
    scanner.scan_map(
        &paths,
        |_| {},
        |record| SimulationRow::of(&record),
        |event| match event {
            ScanEvent::Record(row) => rows.extend(row),
            ScanEvent::Error(error) => eprintln!("error: {error}"),
            _ => {}
        },
    )?;
    let analysis = ReplicationAnalysis::of(&rows, &ReplicationOptions::default())?;
    print!("{}", replication_document(&analysis, &ReplicationView::default()).text(Detail::Short));
    Ok(())
}
