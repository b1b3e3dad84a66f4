//! Evaluation events as the official types of OTLP.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::event::{EvaluationEvent, EventValue, NAME};

/// Returns evaluation events as one OTLP request of log records, like
/// [`otlp_json`](crate::export::otlp_json), in the official types.
#[must_use]
pub fn otlp_logs(events: &[EvaluationEvent]) -> ExportLogsServiceRequest {
    let scope = InstrumentationScope {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let of_sender = events.chunk_by(|one, other| one.resource == other.resource);
    let resource_logs = of_sender.map(|events| {
        let attributes = events.iter().take(1).flat_map(EvaluationEvent::resource);
        let attributes =
            attributes.map(|(key, value)| attribute(key, EventValue::Text(value.to_owned()))).collect();
        let logs = ScopeLogs {
            scope: Some(scope.clone()),
            log_records: events.iter().map(record).collect(),
            ..ScopeLogs::default()
        };
        ResourceLogs {
            resource: Some(Resource { attributes, ..Resource::default() }),
            scope_logs: vec![logs],
            ..ResourceLogs::default()
        }
    });
    ExportLogsServiceRequest { resource_logs: resource_logs.collect() }
}

fn record(event: &EvaluationEvent) -> LogRecord {
    let (number, text) = event.severity();
    let span = event.trace.and(event.span);
    LogRecord {
        time_unix_nano: event.observed,
        observed_time_unix_nano: event.observed,
        severity_number: number,
        severity_text: text.to_owned(),
        event_name: NAME.to_owned(),
        attributes: event.all_attributes().map(|(name, value)| attribute(name, value)).collect(),
        trace_id: event.trace.map(|id| id.to_bytes().to_vec()).unwrap_or_default(),
        span_id: span.map(|id| id.to_bytes().to_vec()).unwrap_or_default(),
        ..LogRecord::default()
    }
}

fn attribute(name: &str, value: EventValue) -> KeyValue {
    let value = match value {
        EventValue::Text(text) => Value::StringValue(text),
        EventValue::Count(count) => integer(count),
        EventValue::Number(number) => Value::DoubleValue(number),
        EventValue::Counts(counts) => list(counts.into_iter().map(integer)),
        EventValue::Texts(texts) => list(texts.into_iter().map(Value::StringValue)),
    };
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    Value::ArrayValue(ArrayValue { values: values.map(|value| AnyValue { value: Some(value) }).collect() })
}

/// Converts a count. Counts beyond 63 bits saturate, because the type is signed.
fn integer(count: u64) -> Value {
    Value::IntValue(i64::try_from(count).unwrap_or(i64::MAX))
}
