//! What leaves for other systems: verdicts and findings as evaluation events of OpenTelemetry.

mod event;
mod json;
#[cfg(feature = "otlp")]
mod proto;

/// What events say of the service that sends them.
const SERVICE: &str = env!("CARGO_PKG_NAME");

pub use event::{EvaluationEvent, EventContext, EventLabel, EventValue};
pub use json::otlp_json;
#[cfg(feature = "otlp")]
pub use proto::otlp_logs;
