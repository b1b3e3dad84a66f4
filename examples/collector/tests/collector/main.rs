//! Tests of the collector over real sockets.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "helpers of tests say what they expect by failing"
)]

mod attacks;
mod receive;
mod settings;
mod sinks;
mod state;
mod support;
