//! Evaluation events for OpenTelemetry.
//!
//! [`EventContext`] makes events from verdicts, findings and updates; [`otlp_json`] writes them as an OTLP request.

mod event;
mod json;
#[cfg(feature = "otlp")]
mod proto;

/// The service name of events.
const SERVICE: &str = env!("CARGO_PKG_NAME");

pub use event::{EvaluationEvent, EventContext, EventLabel, EventValue};
pub use json::otlp_json;
#[cfg(feature = "otlp")]
pub use proto::otlp_logs;
