//! Tests scans of many files: discovery, order, errors, sidecar files, joins, records, replication, pass^k,
//! and fingerprints.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod companions;
mod discovery;
mod errors;
#[cfg(feature = "compression")]
mod files;
mod fingerprints;
mod formats;
mod joined;
mod order;
#[path = "../reading/mod.rs"]
mod reading;
mod replication;
mod run_table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use discovery::split_results;
use order::mixed_corpus;
use reading::folder::Folder;
use serde_json::{Value, json};
use wrongturn::{
    Detector, ErrorKind, Fold, Location, ReadOptions, Scanner, Step, ToolErrorRecovery, Verdict,
    default_detectors,
    detect::{FailureClass, FailureMode, Judgement, Measure, ToolErrorRecoveryConfig},
    fingerprint::Fingerprint,
    read::Format,
    read_traces,
    replicate::{PassK, Replication, SimulationRow, pass_k_by_pair},
    scan::{FileScan, ScanEvent, ScanOptions},
    trace::{Actors, RouteStatus},
};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/tau2")
}

/// Returns the paths of the bundled files, sorted.
fn golden_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(golden())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 9);
    files
}

fn scanner(options: ScanOptions) -> Scanner {
    Scanner::new(default_detectors(), options).unwrap()
}

fn threads(count: usize) -> ScanOptions {
    ScanOptions { threads: Some(count), fingerprints: true, ..ScanOptions::default() }
}

fn scan(paths: &[PathBuf]) -> Vec<FileScan> {
    scanner(threads(2)).collect(paths).unwrap()
}

/// Formats everything that a scan reports.
fn dump(files: &[FileScan]) -> String {
    let mut text = String::new();
    for file in files {
        writeln!(text, "{} {:?}", file.path.display(), file.format).unwrap();
        for record in &file.traces {
            let unpaired = record.unpaired;
            let record = serde_json::to_string(record).unwrap();
            writeln!(text, "  {record} {unpaired:?}").unwrap();
        }
        for error in &file.errors {
            writeln!(text, "  {:?} {error}", error.kind()).unwrap();
        }
    }
    text
}

/// Like [`dump`], without the reasons for missing routes. They differ in a stream, which emits runs before it
/// finds that the file lacks tasks.
fn dump_without_reasons(files: &[FileScan]) -> String {
    let mut text = String::new();
    for file in files {
        for record in &file.traces {
            let mut value = serde_json::to_value(record).unwrap();
            if let Some(reason) = value.pointer_mut("/verdicts/route_inefficiency/not_applicable") {
                assert!(reason.is_string());
                *reason = Value::Null;
            }
            writeln!(text, "{value} {:?}", record.metadata).unwrap();
        }
        let errors: Vec<String> = file.errors.iter().map(ToString::to_string).collect();
        writeln!(text, "{} {:?} {errors:?}", file.path.display(), file.format).unwrap();
    }
    text
}

fn run(id: &str) -> String {
    format!(r#"{{"id": "{id}", "task_id": "t", "reward_info": {{"reward": 1.0}}, "messages": []}}"#)
}

/// Returns the paths of the files relative to a folder, in their order.
fn names(files: &[FileScan], folder: &Folder) -> Vec<String> {
    files
        .iter()
        .map(|file| file.path.strip_prefix(&folder.0).unwrap().display().to_string().replace('\\', "/"))
        .collect()
}

fn ids(files: &[FileScan]) -> Vec<String> {
    files.iter().flat_map(|file| &file.traces).map(wrongturn::scan::TraceRecord::trace_id).collect()
}

/// Returns the keys of an object.
fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Scans a text as the content of the file `name`.
fn scan_text(name: &str, text: &str) -> FileScan {
    scanner(ScanOptions { fingerprints: true, ..ScanOptions::default() })
        .scan_slice(Path::new(name), text.as_bytes())
}
