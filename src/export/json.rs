//! Evaluation events as OTLP/JSON.

use serde_json::{Map, Value, json};

use super::event::{EvaluationEvent, EventValue, NAME};
use crate::objects::in_order;

/// Returns evaluation events as one OTLP request of log records in JSON. Adjacent events of one service share its
/// resource.
///
/// The text has no line end. It can be a line of a file as the collector's file exporter writes it, or the
/// body of a request to `/v1/logs`.
///
/// ```
/// use wrongturn::{Loop, Detector, Metadata, Trace, export::{EventContext, otlp_json}};
///
/// let verdict = Loop::default().detect(&Trace::builder().build()?);
/// let context = EventContext::new("0af7651916cd43dd8448eb211c80319c", &Metadata::default());
/// let line = otlp_json(&context.of_verdict("loop", &verdict));
/// let request: serde_json::Value = serde_json::from_str(&line).unwrap();
/// let record = &request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
/// assert_eq!(record["eventName"], "gen_ai.evaluation.result");
/// assert_eq!(record["traceId"], "0af7651916cd43dd8448eb211c80319c");
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[must_use]
pub fn otlp_json(events: &[EvaluationEvent]) -> String {
    let scope = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    let of_sender = events.chunk_by(|one, other| one.resource == other.resource);
    let resource_logs = of_sender.map(|events| {
        let attributes = events.iter().take(1).flat_map(EvaluationEvent::resource);
        let attributes: Vec<Value> =
            attributes.map(|(key, value)| attribute(key, &EventValue::Text(value.to_owned()))).collect();
        let resource = in_order(json!({"attributes": attributes}));
        // Records become text one by one, because the values of all take many times the memory of their text.
        let records = events.iter().map(|event| record(event).to_string()).collect::<Vec<_>>().join(",");
        format!(r#"{{"resource":{resource},"scopeLogs":[{{"logRecords":[{records}],"scope":{scope}}}]}}"#)
    });
    format!(r#"{{"resourceLogs":[{}]}}"#, resource_logs.collect::<Vec<_>>().join(","))
}

fn record(event: &EvaluationEvent) -> Value {
    let (number, text) = event.severity();
    let mut record = Map::new();
    let mut member = |name: &str, value: Value| record.insert(name.to_owned(), value);
    if event.observed > 0 {
        // OTLP/JSON encodes 64-bit integers as strings.
        member("timeUnixNano", event.observed.to_string().into());
        member("observedTimeUnixNano", event.observed.to_string().into());
    }
    member("severityNumber", number.into());
    member("severityText", text.into());
    member("eventName", NAME.into());
    let attributes: Vec<Value> =
        event.all_attributes().map(|(name, value)| attribute(name, &value)).collect();
    member("attributes", attributes.into());
    if let Some(trace) = event.trace {
        member("traceId", trace.to_string().into());
        if let Some(span) = event.span {
            member("spanId", span.to_string().into());
        }
    }
    in_order(Value::Object(record))
}

fn attribute(name: &str, value: &EventValue) -> Value {
    let list = |values: Vec<Value>| json!({"arrayValue": {"values": values}});
    let count = |count: &u64| json!({"intValue": (*count).min(i64::MAX as u64).to_string()});
    let text = |text: &String| json!({"stringValue": text});
    let value = match value {
        EventValue::Text(value) => text(value),
        EventValue::Count(value) => count(value),
        EventValue::Number(number) => json!({"doubleValue": number}),
        EventValue::Counts(counts) => list(counts.iter().map(count).collect()),
        EventValue::Texts(texts) => list(texts.iter().map(text).collect()),
    };
    json!({"key": name, "value": value})
}
