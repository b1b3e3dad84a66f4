//! Writes chat transcripts and OpenTelemetry spans.

use super::{arguments, id, indented, lines, quoted, written};
use crate::drawn::{Event, Speaker};

fn items(events: &[Event]) -> Vec<String> {
    written(
        events,
        |_, by, text| {
            let kind = match by {
                Speaker::Agent => "output_text",
                Speaker::User => "input_text",
            };
            let role = by.role();
            format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#)
        },
        |number, call| {
            vec![
                format!(
                    r#"{{"type":"function_call","id":"fc_{}","call_id":"{}","name":"bash","arguments":{},"status":"completed"}}"#,
                    id(number),
                    call.id,
                    quoted(&arguments(call))
                ),
                format!(
                    r#"{{"type":"function_call_output","call_id":"{}","output":{}}}"#,
                    call.id,
                    quoted(&call.output)
                ),
            ]
        },
    )
}

pub(super) fn responses(events: &[Event]) -> String {
    let items = items(events);
    let (output, input) = items
        .split_last()
        .map_or((String::new(), String::new()), |(last, before)| (last.clone(), before.join(",")));
    format!(
        r#"{{"id":"resp_1","object":"response","model":"m","status":"completed","input":[{input}],"output":[{output}]}}"#
    )
}

pub(super) fn responses_in_lines(events: &[Event]) -> String {
    lines(&items(events))
}

pub(super) fn anthropic(events: &[Event]) -> String {
    let messages = written(
        events,
        |_, by, text| {
            let role = by.role();
            format!(r#"{{"role":"{role}","content":[{{"type":"text","text":{text}}}]}}"#)
        },
        |_, call| {
            vec![
                format!(
                    r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{}","name":"bash","input":{}}}]}}"#,
                    call.id,
                    arguments(call)
                ),
                format!(
                    r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{}","content":{},"is_error":{}}}]}}"#,
                    call.id,
                    quoted(&call.output),
                    call.failed
                ),
            ]
        },
    );
    format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","))
}

/// Returns the messages of a chat with calls. `behind` is appended to the members of each message but those of tools.
fn chat(events: &[Event], behind: &str) -> String {
    let messages = written(
        events,
        |_, by, text| {
            let role = by.role();
            format!(r#"{{"role":"{role}","content":{text}{behind}}}"#)
        },
        |_, call| {
            vec![
                format!(
                    r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{}","type":"function","function":{{"name":"bash","arguments":{}}}}}]{behind}}}"#,
                    call.id,
                    quoted(&arguments(call))
                ),
                format!(
                    r#"{{"role":"tool","tool_call_id":"{}","name":"bash","content":{}}}"#,
                    call.id,
                    quoted(&if call.failed {
                        format!("Error: {}", call.output)
                    } else {
                        call.output.clone()
                    })
                ),
            ]
        },
    );
    format!("[{}]", messages.join(", "))
}

pub(super) fn openai(events: &[Event]) -> String {
    chat(events, "")
}

pub(super) fn tau_bench(events: &[Event]) -> String {
    let task = r#""info":{"task":{"user_id":"u","actions":[{"name":"bash","kwargs":{"command":"ls"}}],"instruction":"You want it done."}}"#;
    // Each run holds a few events.
    let runs = events.chunks(16).enumerate().map(|(number, events)| {
        let messages = chat(events, r#","function_call":null"#);
        format!(r#"{{"task_id":{number},"reward":1.0,{task},"traj":{messages},"trial":0}}"#)
    });
    indented(&format!("[{}]", runs.collect::<Vec<_>>().join(",")), 2)
}

/// Traces of a few requests, whose spans repeat earlier messages as instrumentation does.
pub(super) fn opentelemetry(events: &[Event]) -> String {
    let traces = events.chunks(8).enumerate().map(|(number, events)| spans(&id(number), events));
    let resource = r#""resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]}"#;
    format!(
        r#"{{"resourceSpans":[{{{resource},"scopeSpans":[{{"scope":{{"name":"made"}},"spans":[{}]}}]}}]}}"#,
        traces.collect::<Vec<_>>().join(",")
    )
}

/// The spans of one trace.
fn spans(trace: &str, events: &[Event]) -> String {
    let span = |place: usize, name: &str, attributes: &[(&str, String)]| {
        let attributes: Vec<String> = attributes
            .iter()
            .map(|(key, value)| format!(r#"{{"key":"{key}","value":{{"stringValue":{value}}}}}"#))
            .collect();
        let (id, parent) = (&trace[..12], if place == 0 { "" } else { &format!("{}0000", &trace[..12]) });
        let start = 1_782_000_000 + place;
        format!(
            r#"{{"traceId":"{trace}","spanId":"{id}{place:04x}","parentSpanId":"{parent}","flags":256,"name":"{name}","kind":1,"startTimeUnixNano":"{start}000000000","endTimeUnixNano":"{start}900000000","attributes":[{}],"status":{{}}}}"#,
            attributes.join(",")
        )
    };
    let named = |name: &str| ("gen_ai.operation.name", quoted(name));
    let mut history = vec![r#"{"role":"user","parts":[{"type":"text","content":"Do it."}]}"#.to_owned()];
    let mut spans = vec![span(0, "invoke_agent a", &[named("invoke_agent")])];
    for (event, place) in events.iter().zip((1..).step_by(2)) {
        let part = match event {
            Event::Said { text, .. } => format!(r#"{{"type":"text","content":{}}}"#, quoted(text)),
            Event::Called(call) => format!(
                r#"{{"type":"tool_call","id":"{}","name":"bash","arguments":{}}}"#,
                call.id,
                arguments(call)
            ),
        };
        let output = format!(r#"{{"role":"assistant","parts":[{part}]}}"#);
        let attributes = [
            named("chat"),
            ("gen_ai.provider.name", quoted("openai")),
            ("gen_ai.request.model", quoted("m")),
            ("gen_ai.input.messages", quoted(&format!("[{}]", history.join(",")))),
            ("gen_ai.output.messages", quoted(&format!("[{output}]"))),
        ];
        spans.push(span(place, "chat m", &attributes));
        history.push(output);
        if let Event::Called(call) = event {
            let attributes = [
                named("execute_tool"),
                ("gen_ai.tool.name", quoted("bash")),
                ("gen_ai.tool.call.id", quoted(&call.id)),
                ("gen_ai.tool.call.arguments", quoted(&arguments(call))),
                ("gen_ai.tool.call.result", quoted(&call.output)),
            ];
            spans.push(span(place + 1, "execute_tool bash", &attributes));
            history.push(format!(
                r#"{{"role":"tool","parts":[{{"type":"tool_call_response","id":"{}","response":{}}}]}}"#,
                call.id,
                quoted(&call.output)
            ));
        }
    }
    spans.join(",")
}
