//! Finds failures in recorded runs of AI agents, without any model call.
//!
//! This page introduces the types. [`guide`] goes further, with a page each on [detectors](guide::detectors),
//! [formats](guide::formats), [embedding](guide::embedding), [statistics](guide::statistics),
//! [calibration](guide::calibration), [benchmarks](guide::benchmarks) of agents, and [scale](guide::scale).
//!
//! # The types, in the order in which they meet
//!
//! A [`Trace`] is one recorded run: ordered [`Step`]s, each a message or an [`Action`] with its observation and
//! [`Status`]; [`Metadata`]; an optional reward; an optional [`ReferenceRoute`]. A [`Detector`] is a configuration
//! that starts a [`Fold`] over the steps of a trace; the fold ends in a [`Verdict`] with [`Finding`]s. A
//! [`Scanner`] runs detectors over files in parallel and gives a [`TraceRecord`] per run.
//!
//! # A first verdict
//!
//! ```
//! use serde_json::json;
//! use wrongturn::{Detector, Loop, Status, Trace};
//!
//! let mut run = Trace::builder();
//! for _ in 0..5 {
//!     run.call("get_order", &json!({"order_id": "#W17"}), Status::Ok, "pending")?;
//! }
//! let verdict = Loop::default().detect(&run.build()?);
//! assert_eq!(verdict.detected(), Some(true));
//! assert_eq!(verdict.findings()[0].mode.to_string(), "strategy/loop");
//! assert_eq!((verdict.findings()[0].first, verdict.findings()[0].last), (0, 4));
//! # Ok::<(), wrongturn::Error>(())
//! ```
//!
//! # Detectors
//!
//! <!-- detectors: begin -->
//!
//! | detector | finds | failure mode | runs | main parameter |
//! |---|---|---|---|---|
//! | `expected_action` | an action that the reference expects was not taken | `operation/expected_action` | if named | `min_missed` 1 |
//! | `feedback_blindness` | the agent repeats what was just refused | `operation/feedback_blindness` | by default | `max_failures` 3 |
//! | `loop` | the same action again and again, without headway | `strategy/loop` | by default | `min_repeats` 4 |
//! | `malformed_call` | calls that never reached a tool | `system/format` | if named | `min_calls` 1 |
//! | `route_inefficiency` | far more steps than the reference route needs | `strategy/route_inefficiency` | by default | `ratio` 2.0 |
//! | `tool_error_recovery` | the agent does not get over its failures | `operation/tool_error_recovery` | by default | `min_attempts` 3 |
//! | `wasted_actions` | clearly more actions than the run needed | `strategy/wasted_actions` | by default | `min_wasted` 3.0 |
//!
//! <!-- detectors: end -->
//!
//! [`default_detectors`] returns those that run by default. The page of each has its rule, examples and limits:
//! [`ExpectedAction`], [`FeedbackBlindness`], [`Loop`], [`MalformedCall`], [`RouteInefficiency`], [`ToolErrorRecovery`],
//! [`WastedActions`]. [The guide](guide::detectors) defines the words that they share.
//!
//! A finding is *certain* if it follows from recorded facts alone, such as equal calls with equal answers, and *likely*
//! if it rests on what texts say ([`Confidence`]). [`at_least`] drops findings below a confidence.
//!
//! A [`Registry`] starts with all of them ([`ALL`]) and makes detectors from JSON; an error names the field that is
//! wrong. A detector of your own implements [`Detector`] and [`Fold`] and runs wherever those of this crate run. As a
//! [`Rule`] it also has a configuration and can be added to a registry.
//!
//! A value that the source left out ([`Content::NotRecorded`]) equals nothing. Detectors that compare actions are *not
//! applicable* to a trace in which no action has its arguments recorded.
//!
//! # Files
//!
//! ```
//! use wrongturn::{ReadOptions, read_traces};
//!
//! let file = br#"{"info": {"agent_info": {"llm": "m"}}, "tasks": [], "simulations": [
//!     {"id": "a", "reward_info": {"reward": 1.0}, "messages": [
//!         {"role": "assistant", "tool_calls": [{"id": "c", "name": "look", "arguments": {}}]},
//!         {"role": "tool", "id": "c", "content": "Error: dark", "error": true}]},
//!     {"id": "b", "messages": "lost"}]}"#;
//! let (traces, reading) = read_traces(file, &ReadOptions::default());
//! assert_eq!(traces[0].metadata().model.as_deref(), Some("m"));
//! // A run that cannot be read costs itself alone, and says where it is wrong.
//! assert_eq!(reading.errors[0].location().unwrap().line, 5);
//! ```
//!
//! [`read_slice`] and [`read_stream`] feed a [`StepSink`] without building traces; [`Scanner`] does that for whole
//! directories, with one buffer per thread. The native JSON form is described at [`NATIVE_VERSION`].
//!
//! # Online
//!
//! A [`Monitor`] takes the steps of an open trace one by one and reports a finding as soon as it is confirmed, that is,
//! when no later step can take it back. Its verdicts equal those of the batch, because both run the same fold. A finding
//! that grows or merges is a series of [`Update`]s under one id. A [`TraceAssembler`] keeps monitors for many open traces, whose calls, answers, messages
//! or spans arrive in any order, within caps on what it holds.
//!
//! An [`EventContext`] makes evaluation events of OpenTelemetry from verdicts, findings and updates; [`otlp_json`]
//! writes them for any collector.
//!
//! # Calibration and statistics
//!
//! [`Detector::explain`] shows how close a trace came to another verdict, and changes that flip it. [`calibrate`] holds
//! detectors against a [`GoldenSet`] of labelled traces; [`Replication`] correlates recovery
//! and errors with rewards, [`Inference`] says how far that can be trusted, [`Comparison`] holds two agents against each
//! other; [`stats`] has the formulas by themselves. [`evaluation`] scores what BenchTrace and Recovery-Bench ask of
//! models: to find and explain failures, to avoid them, to recover from them.
//!
//! # Past one machine
//!
//! A [`PartialState`] holds what was found in a part of a corpus. States merge in any order to the very state of the
//! whole, of which every report is made, so that a corpus can be divided among any number of processes.
//!
//! # Determinism
//!
//! Detectors never read clocks, use randomness or depend on hash order. A scan gives the same bytes at any number of
//! threads, because results are put in source order before anybody sees them, and sums are taken in that order.
//! Bootstrap and perturbations are seeded. Arguments and observations are compared by 128-bit digests (XXH3).
//!
//! # Errors and panics
//!
//! Everything that can fail gives an [`Error`] with an [`ErrorKind`] and, for files, path, run, line and column.
//! No public function panics, whatever the bytes. There is no `unsafe` code in this crate.
//!
//! # Features
//!
//! `scan`, `statistics`, `html`, `compression` and `inspect` are on by default, `otlp` and `collector` are not; the guide
//! on [embedding](guide::embedding) says what each brings. Without any there are the model, the readers, the detectors,
//! the monitor and the assembler.

#![cfg_attr(
    not(feature = "statistics"),
    allow(
        dead_code,
        reason = "what only scans and statistics use, or only they export, is compiled all the same"
    )
)]

#[cfg(feature = "statistics")]
mod calibration;
#[cfg(feature = "statistics")]
mod compare;
#[cfg(feature = "scan")]
mod corpus;
mod detect;
mod error;
#[cfg(feature = "statistics")]
pub mod evaluation;
mod export;
mod fingerprint;
pub mod guide;
mod json;
mod live;
mod names;
mod objects;
#[cfg(feature = "statistics")]
mod outcome;
#[cfg(feature = "statistics")]
mod partial;
mod read;
#[cfg(feature = "statistics")]
mod replication;
#[cfg(feature = "statistics")]
mod report;
#[cfg(feature = "statistics")]
pub mod stats;
mod trace;

#[cfg(feature = "statistics")]
pub use calibration::*;
#[cfg(feature = "statistics")]
pub use compare::*;
#[cfg(feature = "scan")]
pub use corpus::*;
pub use detect::*;
pub use error::{Error, ErrorKind, Location, Result};
pub use export::*;
pub use fingerprint::*;
pub use live::*;
#[cfg(feature = "statistics")]
pub use partial::*;
pub use read::*;
#[cfg(feature = "statistics")]
pub use replication::*;
#[cfg(feature = "statistics")]
pub use report::*;
pub use trace::*;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
