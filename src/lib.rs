//! Finds failures in recorded runs of AI agents, without calling a model.
//!
//! Read a file and run the default detectors over its first run:
//!
//! ```
//! use wrongturn::{ReadOptions, default_detectors, read_traces};
//!
//! let file = br#"{"messages": [
//!     {"role": "user", "content": "Where is my order W17?"},
//!     {"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
//!         "function": {"name": "get_order", "arguments": "{\"id\": \"W17\"}"}}]},
//!     {"role": "tool", "tool_call_id": "1", "content": "Error: order not found"},
//!     {"role": "assistant", "tool_calls": [{"id": "2", "type": "function",
//!         "function": {"name": "get_order", "arguments": "{\"id\": \"W17\"}"}}]},
//!     {"role": "tool", "tool_call_id": "2", "content": "Error: order not found"}]}"#;
//! let (traces, reading) = read_traces(file, &ReadOptions::default());
//! assert!(reading.errors.is_empty());
//!
//! let mut messages = Vec::new();
//! for detector in default_detectors() {
//!     for finding in detector.detect(&traces[0]).findings() {
//!         messages.push(format!("steps {}-{} {}", finding.first, finding.last, finding.mode));
//!     }
//! }
//! assert!(messages.contains(&"steps 2-2 operation/feedback_blindness".to_owned()));
//! ```
//!
//! The program `wrongturn` (feature `cli`) does the same for whole directories. The [guide] has a page for
//! each task.
//!
//! # Modules
//!
//! | module | task |
//! |---|---|
//! | [`trace`] | The model: a [`Trace`] of [`Step`]s, each a message or an [`Action`]: a call with its answer and recorded [`Status`] |
//! | [`read`] | Reads recordings in any of the known formats into traces |
//! | [`detect`] | The detectors, and the traits for detectors of your own. What their rules share (whether a call failed, what it does, when two answers are equal) is in `detect/shared` |
//! | [`live`] | The same detectors over unfinished runs; the guard that answers hooks of coding agents |
//! | [`scan`] | Searches directories for recordings and runs detectors over them in parallel; adds metadata from a table |
//! | [`calibrate`] | Measures detectors on labelled runs: precision, recall, intervals, readiness tiers |
//! | [`replicate`] | Correlation of recovery and errors with task rewards |
//! | [`compare`] | Compares two agents, or two versions, on the same tasks |
//! | [`benchmarks`] | The figures of two published benchmarks, BenchTrace and Recovery-Bench |
//! | [`merge`] | Adds up partial results of a divided corpus; the state files that hold them |
//! | [`stats`] | The formulas alone: intervals, correlation, tests, bootstrap |
//! | [`report`] | Renders results as tables, charts and pages (text, HTML, Markdown, LaTeX, CSV), or as JUnit test suites |
//! | [`export`] | Writes single findings and runs for other systems: CSV rows, SARIF, GitHub annotations, OpenTelemetry events |
//! | [`fingerprint`] | How often one kind of event follows another |
//!
//! # Detectors
//!
//! <!-- detectors: begin -->
//! | detector | finds | failure mode | runs | main parameter |
//! |---|---|---|---|---|
//! | `expected_action` | an action that the reference expects was not taken | `operation/expected_action` | only if selected | `min_missed` 1 |
//! | `feedback_blindness` | the agent repeats what was just refused | `operation/feedback_blindness` | by default | `max_failures` 3 |
//! | `loop` | the agent repeats an action without making progress | `strategy/loop` | by default | `min_repeats` 4 |
//! | `malformed_call` | calls that never reached a tool | `system/format` | only if selected | `min_calls` 1 |
//! | `route_inefficiency` | far more steps than the reference route needs | `strategy/route_inefficiency` | by default | `ratio` 2.0 |
//! | `tool_error_recovery` | the agent does not recover from failed tool calls | `operation/tool_error_recovery` | by default | `min_attempts` 3 |
//! | `wasted_actions` | clearly more actions than the run needed | `strategy/wasted_actions` | by default | `min_wasted` 3.0 |
//! <!-- detectors: end -->
//!
//! `loop` finds repeated calls, repeated failures, looks that bring nothing new, turns without a call, and
//! repeated questions ([`detect::LoopKind`]).
//!
//! [`default_detectors`] returns those that run by default. A finding is *certain* if it follows from
//! recorded facts alone, such as equal calls with equal answers, and *likely* if it rests on text
//! ([`Confidence`]). A [`Registry`] makes detectors from JSON. A detector of your own implements [`Detector`]
//! and [`Fold`] and runs wherever those of this crate run.
//!
//! Arguments that the source did not record are equal to no others. Detectors that compare actions are *not
//! applicable* to a trace in which no action has its arguments recorded.
//!
//! # Live
//!
//! A [`Monitor`] takes the steps of one open trace and reports a finding as soon as no later step can take it
//! back. Its verdicts equal those of a detector on the finished trace, because both run the same fold. A
//! [`TraceAssembler`] keeps monitors for many open traces, within memory limits.
//!
//! # Guarantees
//!
//! - No public function panics, whatever the input, unless a detector or callback of yours panics. The crate
//!   forbids `unsafe` code.
//! - An [`Error`] has an [`ErrorKind`] and, where known, a path, a run, a line and a column. A run that
//!   cannot be read is reported, and the other runs of its file are still read where their bounds are clear.
//! - Detectors use no clock, no randomness and no hash order. A scan gives the same bytes with any number of
//!   threads. The bootstrap is seeded.
//!
//! # Features
//!
//! `scan`, `statistics`, `benchmarks`, `compression` and `inspect` are on by default; `otlp` and `cli` are
//! not. The page on [embedding](guide::embedding) says what each adds. Without any feature the crate has the
//! model, the readers, the detectors, fingerprints, evaluation events and everything in [`live`].

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "benchmarks"),
    allow(dead_code, reason = "helpers that only optional features use are compiled without them as well")
)]

#[cfg(feature = "benchmarks")]
pub mod benchmarks;
#[cfg(feature = "statistics")]
pub mod calibrate;
#[cfg(feature = "statistics")]
pub mod compare;
pub mod detect;
mod error;
pub mod export;
pub mod fingerprint;
pub mod guide;
mod json;
pub mod live;
#[cfg(feature = "statistics")]
pub mod merge;
mod names;
mod objects;
mod path_text;
pub mod read;
#[cfg(feature = "statistics")]
pub mod replicate;
#[cfg(feature = "statistics")]
pub mod report;
#[cfg(feature = "statistics")]
mod run_outcome;
#[cfg(feature = "scan")]
pub mod scan;
#[cfg(feature = "statistics")]
pub mod stats;
pub mod trace;

pub use detect::{
    Confidence, Detector, ExpectedAction, FeedbackBlindness, Finding, Fold, Loop, MalformedCall, Registry,
    RouteInefficiency, ToolErrorRecovery, Verdict, WastedActions, default_detectors,
};
pub use error::{Error, ErrorKind, Location, Result};
pub use live::{Monitor, TraceAssembler};
pub use read::{ReadOptions, read_traces};
#[cfg(feature = "scan")]
pub use scan::Scanner;
pub use trace::{Action, Metadata, Status, Step, Trace, TraceBuilder};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
