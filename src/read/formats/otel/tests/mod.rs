//! Whole traces, as each kind of instrumentation records them, and what bad input comes to.

mod agents;
mod answers;
mod calls;
mod inputs;

use serde_json::{Value as Json, json};

use crate::read::{ReadOptions, ReadSummary, SpanJoin, read_traces};
use crate::trace::{Event, Trace, TraceCollector};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A span from one time to another, in microseconds; attributes by name.
#[expect(clippy::needless_pass_by_value, reason = "attributes are made where they are given")]
fn span(id: u64, parent: u64, name: &str, from: u64, to: u64, attributes: Json) -> Json {
    let list: Vec<Json> = attributes
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| {
            let value = match value {
                Json::Number(number) => json!({"intValue": number.to_string()}),
                Json::String(text) => json!({"stringValue": text}),
                other => json!({"stringValue": other.to_string()}),
            };
            json!({"key": key, "value": value})
        })
        .collect();
    let mut span = json!({"traceId": TRACE, "spanId": format!("{id:016x}"), "name": name,
        "startTimeUnixNano": (from * 1000).to_string(), "endTimeUnixNano": (to * 1000).to_string(), "attributes": list});
    if parent > 0 {
        span["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    span
}

fn failed(mut span: Json, message: &str) -> Json {
    span["status"] = json!({"code": 2, "message": message});
    span
}

fn raised(mut span: Json, message: &str) -> Json {
    span["events"] = json!([{"name": "exception", "attributes": [
        {"key": "exception.type", "value": {"stringValue": "ValueError"}},
        {"key": "exception.message", "value": {"stringValue": message}}]}]);
    failed(span, &format!("ValueError: {message}"))
}

fn document(spans: &[Json]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": spans}]}]}).to_string()
}

fn logs(records: &[(u64, &str, Json)]) -> String {
    let records: Vec<Json> = (1_u64..)
        .zip(records)
        .map(|(time, (span, name, body))| {
            json!({"traceId": TRACE, "spanId": format!("{span:016x}"), "observedTimeUnixNano": time.to_string(),
                "eventName": name, "body": {"stringValue": body.to_string()}})
        })
        .collect();
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).to_string()
}

fn read(spans: &[Json]) -> Vec<Trace> {
    let (traces, reading) = read_traces(document(spans).as_bytes(), &ReadOptions::default());
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    traces
}

fn join(inputs: &[String]) -> (Vec<Trace>, Vec<ReadSummary>) {
    let mut join = SpanJoin::new(ReadOptions::default());
    let mut readings: Vec<ReadSummary> =
        inputs.iter().filter_map(|input| join.add(input.as_bytes())).collect();
    let mut collector = TraceCollector::default();
    readings.push(join.finish(&mut collector));
    (collector.traces, readings)
}

/// `turn name arguments -> status/provenance observation`, and messages as `actor: text`.
fn steps(trace: &Trace) -> Vec<String> {
    let shown = |text: Option<String>, recorded: bool| match text {
        Some(text) => text,
        None if recorded => "-".to_owned(),
        None => "?".to_owned(),
    };
    trace
        .steps()
        .map(|step| match step.event() {
            Event::Message(text) => format!("{}: {}", step.actor(), text.to_str()),
            Event::Action(action) => format!(
                "{} {} {} -> {}/{} {}",
                step.turn(),
                action.name,
                shown(
                    action.arguments.as_ref().present().and_then(crate::trace::Arguments::canonical),
                    action.arguments.is_recorded()
                ),
                action.status,
                action.provenance,
                shown(
                    action.observation.present().map(|text| text.to_str().into_owned()),
                    action.observation.is_recorded()
                ),
            ),
        })
        .collect()
}

fn call_ids(trace: &Trace) -> Vec<String> {
    let id = |event: &Event<'_>| match event {
        Event::Action(action) => action.call_id.map(str::to_owned),
        Event::Message(_) => None,
    };
    trace.steps().filter_map(|step| id(step.event())).collect()
}

fn output(calls: &[(&str, &str, Json)]) -> Json {
    let parts: Vec<Json> = calls
        .iter()
        .map(|(id, name, arguments)| json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments}))
        .collect();
    json!([{"role": "assistant", "parts": parts}])
}

fn chat(id: u64, parent: u64, from: u64, output: &Json) -> Json {
    span(
        id,
        parent,
        "chat m",
        from,
        from + 5,
        json!({"gen_ai.operation.name": "chat", "gen_ai.output.messages": output}),
    )
}

fn tool(id: u64, parent: u64, from: u64, name: &str, call: &str, arguments: &Json, result: &str) -> Json {
    span(
        id,
        parent,
        &format!("execute_tool {name}"),
        from,
        from + 5,
        json!({"gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name, "gen_ai.tool.call.id": call, "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result}),
    )
}

/// Three requests: two parallel calls of which one fails, a refused one, and the last words.
fn typical() -> Vec<Json> {
    vec![
        span(
            1,
            0,
            "invoke_agent main",
            1,
            100,
            json!({"gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "main", "gen_ai.conversation.id": "conv"}),
        ),
        span(
            2,
            1,
            "chat m",
            2,
            9,
            json!({"gen_ai.operation.name": "chat", "gen_ai.response.model": "m",
            "gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 10,
            "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "help"}]}],
            "gen_ai.output.messages": output(&[("a", "look", json!({"x": 1})), ("b", "find", json!({"y": 2}))])}),
        ),
        tool(4, 1, 12, "look", "a", &json!({"x": 1}), "seen"),
        raised(tool(3, 1, 11, "find", "b", &json!({"y": 2}), "none"), "lost"),
        chat(5, 1, 20, &output(&[("c", "lok", json!({}))])),
        span(
            6,
            1,
            "chat m",
            30,
            35,
            json!({"gen_ai.operation.name": "chat",
            "gen_ai.input.messages": [{"role": "tool", "parts": [
                {"type": "tool_call_response", "id": "c", "response": "Unknown tool: lok"}]}],
            "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]}),
        ),
    ]
}
