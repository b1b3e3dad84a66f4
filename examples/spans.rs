//! Judges OpenTelemetry spans as they arrive, and writes evaluation events for the backend that stores the
//! spans: `cargo run --example spans`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use serde_json::json;
use wrongturn::{
    ReadOptions, TraceAssembler, default_detectors,
    export::{EventContext, otlp_json},
    live::{AssemblerOptions, LiveEvent},
    read::SpanBatch,
};

fn main() -> wrongturn::Result<()> {
    let mut traces = TraceAssembler::new(default_detectors(), AssemblerOptions::default())?;
    // The library has no clock: the caller passes the time, in nanoseconds since 1970.
    let mut now = 0;
    for number in 0..5_u64 {
        now = 1_000 * (number + 1);
        let body = request(number);
        if let Some((spans, reading)) = SpanBatch::read(body.as_bytes(), &ReadOptions::default()) {
            reading.errors.iter().for_each(|error| eprintln!("error: {error}"));
            traces.spans(now, spans);
        }
    }
    traces.close_all(now);
    while let Some(event) = traces.next_event() {
        if let LiveEvent::Closed(run) = event {
            let context = EventContext::new(&run.trace, &run.metadata).observed(now);
            println!("{}", otlp_json(&context.of_verdicts(&run.verdicts)));
        }
    }
    Ok(())
}

/// Returns the body of an OTLP/JSON request with one call. Each call has the same arguments and answer.
fn request(number: u64) -> String {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": format!("b7ad6b716920333{number}"),
        "name": "execute_tool look",
        "startTimeUnixNano": (1_000 * number).to_string(),
        "endTimeUnixNano": (1_000 * number + 500).to_string(),
        "attributes": [
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", "look"),
            text("gen_ai.tool.call.arguments", "{\"at\": \"door\"}"),
            text("gen_ai.tool.call.result", "a wall"),
        ],
    });
    json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string()
}
