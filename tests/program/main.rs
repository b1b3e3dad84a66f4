//! Tests the program and the examples, as users run them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests say what they expect by failing"
)]

mod bench;
mod calibrate;
mod check;
mod compare;
mod detectors;
mod every_command;
mod examples;
mod guard;
#[cfg(unix)]
mod guides;
mod inputs;
mod label;
mod merge;
mod outputs;
#[path = "../reading/mod.rs"]
mod reading;
mod replicate;
mod show;
mod support;
