//! Makes spans in the JSON of OTLP.

use serde_json::{Value, json};

/// Returns a span from one time to another, in nanoseconds. The parent of a root is 0. Attributes that are not
/// strings are written as JSON.
pub(crate) fn span(trace: &str, id: u64, parent: u64, (from, to): (u64, u64), attributes: &Value) -> Value {
    let attribute = |(key, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        json!({"key": key, "value": {"stringValue": text}})
    };
    let attributes: Vec<Value> = attributes.as_object().unwrap().iter().map(attribute).collect();
    let parent = if parent == 0 { String::new() } else { format!("{parent:016x}") };
    json!({"traceId": trace, "spanId": format!("{id:016x}"), "parentSpanId": parent, "name": "a",
        "startTimeUnixNano": from.to_string(), "endTimeUnixNano": to.to_string(), "attributes": attributes})
}

/// Returns a request with these spans.
pub(crate) fn request(spans: &[Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}
