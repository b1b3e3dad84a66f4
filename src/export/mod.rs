//! Findings and verdicts for other systems.
//!
//! [`FindingsWriter`] writes the findings of a scan as CSV, SARIF or GitHub Actions annotations.
//! [`EventContext`] turns verdicts, findings and updates into OpenTelemetry evaluation events;
//! [`otlp_json`] writes them as an OTLP request. JUnit XML is a [`TestSuite`](crate::report::TestSuite).

mod event;
#[cfg(feature = "scan")]
mod findings;
mod json;
#[cfg(feature = "otlp")]
mod proto;
#[cfg(feature = "scan")]
mod rows;
#[cfg(feature = "scan")]
mod sarif;

/// The `service.name` of events whose trace has none.
const SERVICE: &str = env!("CARGO_PKG_NAME");

pub use event::{EvaluationEvent, EventContext, EventLabel, EventValue};
#[cfg(feature = "scan")]
pub use findings::{FindingsFormat, FindingsWriter};
pub use json::otlp_json;
#[cfg(feature = "otlp")]
pub use proto::otlp_logs;
#[cfg(feature = "scan")]
pub(crate) use rows::csv_text;
