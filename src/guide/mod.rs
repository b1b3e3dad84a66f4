//! Guides: what goes further than the page of a type, in the order in which one may want to read it.
//!
//! * [`detectors`]: what each finds, what counts as the same action and as an error, configuration, one's own.
//! * [`formats`]: what is read, what stands beside it, and what becomes of what cannot be read.
//! * [`embedding`]: finished runs, steps one by one, spans in any order, a receiver, features.
//! * [`statistics`]: the replication of the tau2-bench finding, intervals that hold, two agents side by side.
//! * [`calibration`]: how good the detectors are, and the way from runs to a gate in CI.
//! * [`benchmarks`]: the evaluations of `BenchTrace` and Recovery-Bench.
//! * [`scale`]: speed, memory, and results in parts that merge exactly.
//!
//! Every command on these pages is run by a test, and every snippet.

#[doc = include_str!("benchmarks.md")]
pub mod benchmarks {}

#[doc = include_str!("calibration.md")]
pub mod calibration {}

#[doc = include_str!("detectors.md")]
pub mod detectors {}

#[doc = include_str!("embedding.md")]
pub mod embedding {}

#[doc = include_str!("formats.md")]
pub mod formats {}

#[doc = include_str!("scale.md")]
pub mod scale {}

#[doc = include_str!("statistics.md")]
pub mod statistics {}
