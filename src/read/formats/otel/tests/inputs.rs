//! Encodings, order, and bad input.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::error::ErrorKind;
use crate::read::Format;

proptest! {
    #[test]
    fn order_parts_and_duplicates_of_spans_do_not_matter(
        order in Just((0..typical().len()).collect::<Vec<_>>()).prop_shuffle(),
        cut in 0..7_usize,
        twice in 0..6_usize,
    ) {
        let all = typical();
        let mut spans: Vec<Json> = order.iter().map(|at| all[*at].clone()).collect();
        spans.push(all[twice].clone());
        let (first, second) = spans.split_at(cut);
        let (traces, _) = join(&[document(first), document(second)]);
        prop_assert_eq!(serde_json::to_string(&traces).unwrap(), serde_json::to_string(&read(&all)).unwrap());
    }

    #[test]
    fn no_input_panics(
        seed in proptest::collection::vec((1..6_u64, 0..6_u64, 0..50_u64, 0..50_u64, 0..8_usize, 0..6_usize), 0..12),
        cut in 0..4000_usize,
    ) {
        let kinds = [json!({}), json!({"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "{\"args\": []}"}),
            json!({"gen_ai.operation.name": "chat", "gen_ai.output.messages": output(&[("a", "f", json!("{"))])}),
            json!({"openinference.span.kind": "AGENT", "output.value": {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "name": "f"}]}]}}),
            json!({"openinference.span.kind": "LLM", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f"}),
            json!({"gen_ai.operation.name": 3, "gen_ai.tool.name": [], "gen_ai.tool.call.id": {}}),
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}),
            json!({"openinference.span.kind": "CHAIN", "metadata": {"lc_agent_name": "x"}, "output.value": "[{"})];
        let spans: Vec<Json> = seed.iter().map(|(id, parent, from, to, kind, name)| {
            span(*id, *parent, ["", "tools", "execute_tool f", "agent run", "f.run", "call_llm"][*name], *from, *to, kinds[*kind].clone())
        }).collect();
        let text = document(&spans);
        let (whole, _) = read_traces(text.as_bytes(), &ReadOptions::default());
        let mut reversed = spans;
        reversed.reverse();
        let (again, _) = read_traces(document(&reversed).as_bytes(), &ReadOptions::default());
        prop_assert_eq!(serde_json::to_string(&whole).unwrap(), serde_json::to_string(&again).unwrap());
        let bytes = text.as_bytes();
        let _ = read_traces(bytes.get(..cut.min(bytes.len())).unwrap(), &ReadOptions::default());
    }
}

#[test]
fn traces_stand_in_the_order_of_their_starts() {
    let other = "ffffffffffffffffffffffffffffffff";
    let mut early = tool(1, 0, 1, "look", "a", &json!({}), "r");
    early["traceId"] = json!(other.to_uppercase());
    let traces =
        read(&[tool(1, 0, 10, "look", "a", &json!({}), "r"), early, span(3, 0, "GET /", 5, 6, json!({}))]);
    assert_eq!(
        traces.iter().map(|trace| trace.metadata().id.clone().unwrap()).collect::<Vec<_>>(),
        [other, TRACE]
    );
}

#[test]
fn a_trace_without_agents_models_and_tools_is_none() {
    let text = document(&[span(1, 0, "GET /", 1, 2, json!({}))]);
    let (traces, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
    assert_eq!((traces.len(), reading.errors.len()), (0, 0));
    let counts: Vec<u64> = reading.passed_over.values().copied().collect();
    assert_eq!(counts, [1]);
    // An agent that does nothing is one.
    let idle = span(1, 0, "invoke_agent a", 1, 2, json!({"gen_ai.operation.name": "invoke_agent"}));
    assert_eq!(read(&[idle])[0].steps().len(), 0);
}

#[test]
fn encodings_are_recognised() {
    let tool = json!({"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "a", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "r"});
    let otlp = document(&[super::tool(1, 0, 10, "look", "a", &json!({}), "r")]);
    let row = json!({"span_id": "b7ad6b7169203331", "trace_id": TRACE, "parent_id": null, "name": "execute_tool look",
        "start_time": 10_000, "end_time": 15_000, "status": {"status_code": "OK"}, "attributes": tool});
    let console = json!({"name": "execute_tool look", "context": {"trace_id": format!("0x{TRACE}"), "span_id": "0xb7ad6b7169203331"},
        "kind": "SpanKind.INTERNAL", "parent_id": null, "start_time": "1970-01-01T00:00:00.000010Z",
        "end_time": "1970-01-01T00:00:00.000015Z", "status": {"status_code": "UNSET"}, "attributes": tool, "events": []});
    let trail = json!({"trace_id": TRACE, "spans": [{"span_id": "b7ad6b7169203330", "span_name": "main", "timestamp": "1970-01-01T00:00:00Z",
        "duration": "PT1S", "span_attributes": {"openinference.span.kind": "AGENT"}, "child_spans": [{"span_id": "b7ad6b7169203331",
        "span_name": "SimpleTool", "timestamp": "1970-01-01T00:00:00.000010Z", "duration": "PT0.000005S", "status_code": "Ok",
        "span_attributes": {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "{\"args\": [], \"kwargs\": {}}", "output.value": "r"}}]}]});
    let jaeger = json!({"data": [{"traceID": TRACE, "processes": {}, "spans": [{"traceID": TRACE, "spanID": "b7ad6b7169203331",
        "operationName": "execute_tool look", "references": [], "startTime": 10, "duration": 5,
        "tags": tool.as_object().unwrap().iter().map(|(key, value)| json!({"key": key, "type": "string", "value": value})).collect::<Vec<_>>(),
        "logs": []}]}]});
    let tempo = otlp.replace("resourceSpans", "batches");
    let pretty = |value: &Json| serde_json::to_string_pretty(value).unwrap();
    for text in [
        otlp.clone(),
        format!("{otlp}\n{otlp}\n"),
        format!("{}\n{}", pretty(&serde_json::from_str(&otlp).unwrap()), otlp),
        tempo.clone(),
        format!("{{\"trace\": {tempo}}}"),
        row.to_string(),
        format!("{row}\n{}\nno JSON\n", json!({"event_type": "api_call"})),
        json!([row]).to_string(),
        pretty(&console),
        format!("{}\n{}", pretty(&console), pretty(&console)),
        trail.to_string(),
        jaeger.to_string(),
    ] {
        let (traces, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!(reading.format, Some(Format::OpenTelemetry), "{text}");
        assert!(reading.errors.is_empty(), "{text}: {:?}", reading.errors);
        assert_eq!(traces.len(), 1, "{text}");
        let read = steps(&traces[0]);
        assert!(
            read.len() == 1 && read[0].starts_with("0 look {} -> ok/") && read[0].ends_with(" r"),
            "{text}: {read:?}"
        );
        let step = traces[0].steps().next().unwrap();
        assert_eq!((step.time(), step.usage().unwrap().duration_ns), (Some(10_000), Some(5000)), "{text}");
    }
    for text in
        ["{\"spans\": [1]}", "{\"data\": [{\"spans\": 1}]}", "{\"resourceSpans\": 3}", "{\"name\": \"x\"}"]
    {
        let (_, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!(reading.format, None, "{text}");
    }
}

#[test]
fn bad_input_costs_itself_alone() {
    let sound = tool(1, 0, 10, "look", "a", &json!({}), "r");
    let with = |key: &str, value: Json| {
        let mut span = tool(2, 0, 20, "find", "b", &json!({}), "r");
        span[key] = value;
        span
    };
    // What is tolerated, with what is said of it.
    for (bad, steps_read, said) in [
        (with("traceId", json!("")), 1, "spans without ids"),
        (with("spanId", json!("0000000000000000")), 1, "spans without ids"),
        (with("spanId", json!(null)), 1, "spans without ids"),
        (with("endTimeUnixNano", json!("5")), 2, "ends of spans before their starts"),
        (with("startTimeUnixNano", json!(20_000.0)), 2, ""),
        (with("startTimeUnixNano", json!({})), 2, ""),
        (with("kind", json!("SPAN_KIND_INTERNAL")), 2, ""),
        (with("status", json!({"code": "STATUS_CODE_OK"})), 2, ""),
        (with("status", json!([])), 2, ""),
        (with("events", json!(7)), 2, ""),
        (with("parentSpanId", json!("")), 2, ""),
        (with("unknown", json!({"a": [1]})), 2, ""),
    ] {
        let (traces, reading) =
            read_traces(document(&[sound.clone(), bad.clone()]).as_bytes(), &ReadOptions::default());
        assert!(reading.errors.is_empty(), "{bad}: {:?}", reading.errors);
        assert_eq!(traces.iter().map(|trace| trace.steps().len()).sum::<usize>(), steps_read, "{bad}");
        let named: Vec<_> = reading.passed_over.keys().map(ToString::to_string).collect();
        assert_eq!(named.join(", "), said, "{bad}");
    }
    // What is an error, with its place; the rest goes on.
    for bad in [
        json!(7),
        json!([]),
        with(
            "attributes",
            json!([{"key": "tool.name", "value": {"stringValue": "x", "kvlistValue": {"values": [3]}}}]),
        ),
    ] {
        let text = format!(
            "{{\"resourceSpans\": [{{\"scopeSpans\": [{{\"scope\": {{}}, \"spans\": [\n{sound},\n{bad}]}}]}}]}}"
        );
        let (traces, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!(traces[0].steps().len(), 1, "{bad}");
        assert_eq!(reading.errors.len(), 1, "{bad}: {:?}", reading.errors);
        assert_eq!(reading.errors[0].kind(), ErrorKind::Shape, "{bad}");
        assert_eq!(reading.errors[0].location().unwrap().line, 3, "{bad}");
    }
    // What is unsound is named once, whether or not somebody reads it.
    for (key, steps_read) in [("http.url", 2), ("gen_ai.system", 2), ("gen_ai.tool.call.id", 1)] {
        let bad = with(
            "attributes",
            json!([{"key": key, "value": {"stringValue": "x_"}}, {"key": "gen_ai.operation.name",
            "value": {"stringValue": "execute_tool"}}, {"key": "gen_ai.tool.name", "value": {"stringValue": "find"}}]),
        );
        let text = document(&[sound.clone(), bad]).replace("x_", "x\\_");
        let (traces, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!(traces[0].steps().len(), steps_read, "{key}");
        let [error] = &reading.errors[..] else { panic!("{key}: {:?}", reading.errors) };
        assert_eq!((error.kind(), &*error.message()), (ErrorKind::Syntax, "no such escape"), "{key}");
        assert_eq!(error.location().unwrap().column, text.find("\\_").unwrap() as u64 + 2, "{key}");
    }
    // A body that is cut in the middle keeps what came before.
    let text = document(&[sound.clone(), with("name", json!("execute_tool find"))]);
    let cut = &text[..text.len() - 30];
    let (traces, reading) = read_traces(cut.as_bytes(), &ReadOptions::default());
    assert_eq!((traces[0].steps().len(), reading.errors[0].kind()), (1, ErrorKind::Truncated));
    assert_eq!(reading.errors[0].location().unwrap().column, cut.len() as u64 + 1);
    let mut joined = SpanJoin::new(ReadOptions::default());
    assert_eq!(joined.add(cut.as_bytes()).unwrap().errors.len(), 1);
    assert!(joined.add(b"{\"messages\": []}").is_none());
}

#[test]
#[cfg(not(feature = "otlp"))]
fn protobuf_needs_its_feature() {
    let (_, reading) = read_traces(&[0x0a, 4, 0x0a, 0, 0x12, 0], &ReadOptions::default());
    assert_eq!(reading.errors[0].kind(), ErrorKind::Format);
    assert!(reading.errors[0].message().contains("`otlp`"));
}
