//! Tests the reader of tau2-bench results: orders of keys, damage, routes, and properties of random files.
//! `tests/formats/tau2` pins small files.
//!
//! Texts are read as a slice and as a stream, in one piece and in small ones, with the format given and
//! detected. All ways must agree.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod damage;
mod files;
mod properties;
#[path = "../reading/mod.rs"]
mod reading;
mod routes;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use damage::three_runs;
use proptest::prelude::*;
use proptest::sample::Index;
use reading::{Drip, describe_errors, stream};
use wrongturn::{
    Detector, Error, ErrorKind, Location, ReadOptions, RouteInefficiency, Scanner, Trace, default_detectors,
    read::{Format, read_stream},
    read_traces,
    scan::ScanOptions,
    trace::{Actors, TraceCollector},
};

fn tau2() -> ReadOptions {
    ReadOptions { format: Some(Format::Tau2), ..ReadOptions::default() }
}

/// Returns traces in their native form, without the reason for a missing route: a stream may emit its runs
/// before it finds that the file has no tasks.
fn native(traces: &[Trace]) -> String {
    let mut runs = serde_json::to_value(traces).unwrap();
    for run in runs.as_array_mut().unwrap() {
        run.as_object_mut().unwrap().remove("no_route");
    }
    runs.to_string()
}

/// Reads a text with these options as a slice and as a stream, which must agree.
#[track_caller]
fn read_with(bytes: &[u8], options: &ReadOptions) -> (Vec<Trace>, Vec<Error>) {
    let (traces, reading) = read_traces(bytes, options);
    assert_eq!(reading.counts.runs, traces.len() as u64);
    // There are at most some thousand reads.
    let drip = Drip(bytes, (bytes.len() / 8_000).max(1));
    for (way, (others, other)) in [("stream", stream(bytes, options)), ("drip", stream(drip, options))] {
        assert_eq!(native(&others), native(&traces), "the traces of the {way}");
        assert_eq!(
            describe_errors(&other.errors),
            describe_errors(&reading.errors),
            "the errors of the {way}"
        );
        assert_eq!((other.format, other.counts.runs), (reading.format, reading.counts.runs), "{way}");
    }
    (traces, reading.errors)
}

/// Reads a text with its format detected and given, which must agree.
#[track_caller]
fn read(text: impl AsRef<[u8]>) -> (Vec<Trace>, Vec<Error>) {
    let found = read_with(text.as_ref(), &ReadOptions::default());
    let with_format = read_with(text.as_ref(), &tau2());
    assert_eq!(with_format.0, found.0, "the traces with the format given");
    assert_eq!(
        describe_errors(&with_format.1),
        describe_errors(&found.1),
        "the errors with the format given"
    );
    found
}

/// Returns the runs of a text, which must have no errors.
#[track_caller]
fn clean(text: &str) -> Vec<Trace> {
    let (traces, errors) = read(text);
    assert_eq!(describe_errors(&errors), Vec::<String>::new());
    traces
}

/// Returns the only run of a text.
#[track_caller]
fn one(text: &str) -> Trace {
    let traces = clean(text);
    assert_eq!(traces.len(), 1);
    traces.into_iter().next().unwrap()
}

/// Returns the run with these messages.
#[track_caller]
fn run_of(messages: &str) -> Trace {
    one(&format!(r#"{{"id": "r", "reward_info": null, "messages": {messages}}}"#))
}

fn ids(traces: &[Trace]) -> Vec<&str> {
    traces.iter().map(|trace| trace.metadata().id.as_deref().unwrap_or("?")).collect()
}

/// Returns the kind, run, line and column of each error.
fn places(errors: &[Error]) -> Vec<(ErrorKind, Option<u64>, u64, u64)> {
    errors
        .iter()
        .map(|error| {
            let Location { line, column } = error.location().unwrap();
            (error.kind(), error.run(), line, column)
        })
        .collect()
}

/// Returns every order of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let Some(last) = n.checked_sub(1) else { return vec![Vec::new()] };
    orders(last)
        .into_iter()
        .flat_map(|order| {
            (0..n).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, last);
                longer
            })
        })
        .collect()
}

/// Returns an object with these members in this order.
fn object(members: &[&str], order: &[usize]) -> String {
    let members: Vec<&str> = order.iter().map(|&at| members[at]).collect();
    format!("{{{}}}", members.join(", "))
}

const RUN: &str = r#"{"id": "r", "task_id": "t", "trial": 2, "termination_reason": "user_stop",
    "reward_info": {"reward": 0.5, "db_check": null}, "timestamp": "2025-01-01", "duration": 1.5, "seed": 300,
    "messages": [{"role": "user", "content": "hi", "turn_idx": 0}]}"#;

const INFO: &str = r#"{"git_commit": "x", "agent_info": {"implementation": "llm_agent", "llm": "gpt-4.1"},
    "user_info": {"llm": "other"}, "environment_info": {"domain_name": "retail", "policy": "…"}}"#;

const TASKS: &str = r#"[{"id": "t", "evaluation_criteria": {"actions": [{"action_id": "t_0", "requestor": "assistant",
    "name": "look", "arguments": {}, "compare_args": null}], "nl_assertions": []}}]"#;
