//! Whole traces, as each kind of instrumentation tells them, and what bad input comes to.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::error::ErrorKind;
use crate::input::{Format, ReadOptions, Reading, SpanJoin, read_traces};
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

fn join(inputs: &[String]) -> (Vec<Trace>, Vec<Reading>) {
    let mut join = SpanJoin::new(ReadOptions::default());
    let mut readings: Vec<Reading> = inputs.iter().filter_map(|input| join.add(input.as_bytes())).collect();
    let mut collector = TraceCollector::default();
    readings.push(join.finish(&mut collector));
    (collector.traces, readings)
}

/// `turn name arguments -> status/provenance observation`, and messages as `actor: text`.
fn steps(trace: &Trace) -> Vec<String> {
    let told = |text: Option<String>, recorded: bool| match text {
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
                told(
                    action.arguments.as_ref().present().and_then(crate::trace::Arguments::canonical),
                    action.arguments.is_recorded()
                ),
                action.status,
                action.provenance,
                told(
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

#[test]
fn model_outputs_and_tool_spans_are_one_action_each() {
    let traces = read(&typical());
    assert_eq!(traces.len(), 1);
    assert_eq!(
        steps(&traces[0]),
        [
            "user: help",
            "0 look {\"x\":1} -> ok/none seen",
            "0 find {\"y\":2} -> error/error_type none",
            "1 lok {} -> error/error_type Unknown tool: lok",
            "agent: done",
        ]
    );
    let metadata = traces[0].metadata();
    assert_eq!((metadata.id.as_deref(), metadata.agent.as_deref()), (Some(TRACE), Some("main")));
    assert_eq!((metadata.model.as_deref(), metadata.labels["conversation"].as_str()), (Some("m"), "conv"));
    let first = traces[0].steps().nth(1).unwrap();
    let usage = first.usage().unwrap();
    assert_eq!(
        (usage.duration_ns, usage.input_tokens, usage.output_tokens),
        (Some(5000), Some(50), Some(10))
    );
    assert_eq!(first.time(), Some(12_000));
}

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
fn tool_spans_without_ids_find_their_calls() {
    // Two equal calls of one request, a bare value of a tool of one parameter, and broken arguments.
    let oi = |id, from, input: &str| {
        span(
            id,
            1,
            "look",
            from,
            from + 1,
            json!({"openinference.span.kind": "TOOL", "tool.name": "look",
            "input.value": input, "output.value": "r"}),
        )
    };
    let calls = [
        ("a", "look", json!({"x": "1"})),
        ("b", "look", json!({"x": "2"})),
        ("c", "look", json!({"x": "1"})),
    ];
    let traces = read(&[
        span(1, 0, "main", 1, 90, json!({"openinference.span.kind": "AGENT"})),
        chat(2, 1, 2, &output(&calls)),
        oi(3, 10, "1"),
        oi(4, 11, r#"{"x": "1"}"#),
        oi(5, 12, r#"{"args": [], "kwargs": {"x": "2"}}"#),
        chat(6, 1, 20, &output(&[("d", "look", json!("{\"x\": "))])),
        oi(7, 30, r#"{"args": ["{\"x\": "], "kwargs": {}}"#),
    ]);
    assert_eq!(
        steps(&traces[0]),
        [
            "0 look {\"x\":\"1\"} -> ok/none r",
            "0 look {\"x\":\"2\"} -> ok/none r",
            "0 look {\"x\":\"1\"} -> ok/none r",
            "1 look \"{\\\"x\\\": \" -> ok/none r",
        ]
    );
    assert_eq!(call_ids(&traces[0]), ["a", "b", "c", "d"]);
}

#[test]
fn a_refused_call_is_matched_by_no_later_span() {
    let traces = read(&[
        chat(1, 0, 1, &output(&[("a", "look", json!({"x": 1}))])),
        chat(2, 0, 10, &output(&[("b", "look", json!({"x": 1}))])),
        span(
            3,
            0,
            "look",
            20,
            21,
            json!({"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": {"x": 1}, "output.value": "r"}),
        ),
    ]);
    assert_eq!(steps(&traces[0]), ["0 look {\"x\":1} -> unknown/none -", "1 look {\"x\":1} -> ok/none r"]);
}

#[test]
fn two_views_of_a_call_are_one_action() {
    let traces = read(&[
        span(
            1,
            0,
            "main.look",
            1,
            9,
            json!({"openinference.span.kind": "TOOL", "tool.name": "look",
            "input.value": {"x": 1}, "output.value": "lost"}),
        ),
        raised(
            span(
                2,
                1,
                "execute_tool look",
                2,
                8,
                json!({"gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "a"}),
            ),
            "lost",
        ),
        span(
            3,
            0,
            "execute_tool (merged)",
            20,
            21,
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}),
        ),
    ]);
    assert_eq!(steps(&traces[0]), ["0 look {\"x\":1} -> error/error_type lost"]);
    assert_eq!(call_ids(&traces[0]), ["a"]);
}

#[test]
fn several_model_spans_may_show_one_request() {
    let traces = read(&[
        // An SDK's own span within the instrumentation's, and another of the same response.
        span(
            1,
            0,
            "messages.create",
            1,
            9,
            json!({"openinference.span.kind": "LLM",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "a",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
            "llm.output_messages.0.message.contents.0.tool_call.id": "a",
            "llm.output_messages.0.message.contents.0.tool_call.function.name": "look"}),
        ),
        span(
            2,
            1,
            "anthropic.messages.create",
            2,
            8,
            json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7}),
        ),
        tool(3, 0, 10, "look", "a", &json!({}), "r"),
        // One without output beside one that has it.
        span(4, 0, "_prepare_chat_with_tools", 20, 21, json!({"openinference.span.kind": "LLM"})),
        chat(5, 0, 22, &output(&[("b", "look", json!({}))])),
        tool(6, 0, 30, "look", "b", &json!({}), "r"),
    ]);
    assert_eq!(steps(&traces[0]), ["0 look {} -> ok/none r", "1 look {} -> ok/none r"]);
    assert_eq!(traces[0].steps().next().unwrap().usage().unwrap().input_tokens, Some(7));
}

#[test]
fn a_model_span_around_its_tools_has_a_turn_for_each() {
    let outer = span(
        1,
        0,
        "call_llm",
        1,
        90,
        json!({"openinference.span.kind": "LLM",
        "llm.output_messages.0.message.content": "done"}),
    );
    let traces = read(&[
        outer,
        tool(2, 1, 10, "look", "a", &json!({}), "r"),
        tool(3, 1, 20, "look", "b", &json!({}), "r"),
        tool(4, 1, 22, "find", "c", &json!({}), "r"),
    ]);
    assert_eq!(
        steps(&traces[0]),
        ["0 look {} -> ok/none r", "1 look {} -> ok/none r", "1 find {} -> ok/none r", "agent: done"]
    );
}

#[test]
fn without_model_spans_overlapping_tools_share_a_turn() {
    let traces = read(&[
        tool(1, 0, 10, "look", "a", &json!({}), "r"),
        tool(2, 0, 12, "look", "b", &json!({}), "r"),
        tool(3, 0, 30, "look", "c", &json!({}), "r"),
    ]);
    let turns: Vec<_> = traces[0].steps().map(|step| step.turn()).collect();
    assert_eq!(turns, [0, 0, 1]);
}

#[test]
fn sub_agents_are_traces_of_their_own() {
    let agent = |id, parent, name: &str, from, to| {
        span(
            id,
            parent,
            &format!("invoke_agent {name}"),
            from,
            to,
            json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}),
        )
    };
    let traces = read(&[
        agent(1, 0, "main", 1, 90),
        agent(2, 1, "main", 2, 80),
        chat(3, 2, 3, &output(&[("a", "ask", json!({}))])),
        tool(4, 2, 10, "ask", "a", &json!({}), "answer"),
        agent(5, 4, "helper", 11, 14),
        tool(6, 5, 12, "look", "b", &json!({}), "r"),
        // A tool that asks a model by itself.
        tool(7, 2, 30, "sum", "c", &json!({}), "s"),
        chat(8, 7, 31, &json!([{"role": "assistant", "parts": [{"type": "text", "content": "summed"}]}])),
        // An agent span without anything in it is none.
        agent(9, 1, "workflow", 40, 41),
    ]);
    let known: Vec<_> = traces
        .iter()
        .map(|trace| {
            let metadata = trace.metadata();
            (metadata.agent.as_deref(), metadata.parent.as_deref(), steps(trace).len())
        })
        .collect();
    assert_eq!(known, [(Some("main"), None, 2), (Some("helper"), Some(TRACE), 1), (None, Some(TRACE), 1)]);
    assert_eq!(steps(&traces[2]), ["agent: summed"]);
}

#[test]
fn hand_offs_are_messages_and_their_agents_follow_the_first() {
    let agent =
        |id, name: &str, from, to| span(id, 99, name, from, to, json!({"openinference.span.kind": "AGENT"}));
    let traces = read(&[
        span(99, 0, "workflow", 1, 90, json!({"openinference.span.kind": "CHAIN"})),
        agent(1, "main", 2, 30),
        chat(
            2,
            1,
            3,
            &output(&[("a", "transfer_to_refunds", json!({})), ("b", "transfer_to_human_agents", json!({}))]),
        ),
        tool(3, 1, 10, "transfer_to_human_agents", "b", &json!({}), "r"),
        agent(4, "refunds", 40, 80),
        tool(5, 4, 50, "final_answer", "c", &json!({"answer": "42"}), "42"),
        tool(6, 4, 60, "look", "d", &json!({}), "r"),
    ]);
    assert_eq!(
        steps(&traces[0]),
        ["agent: transfer_to_refunds", "0 transfer_to_human_agents {} -> ok/none r"]
    );
    assert_eq!(steps(&traces[1]), ["agent: 42", "1 look {} -> ok/none r"]);
    assert_eq!(traces[1].metadata().parent.as_deref(), Some(TRACE));
}

#[test]
fn graphs_name_the_agents_of_their_spans() {
    let node = |id, parent, from, agent: &str, attributes: Json| {
        let mut attributes = attributes;
        attributes["traceloop.association.properties.lc_agent_name"] = json!(agent);
        span(id, parent, "x", from, from + 5, attributes)
    };
    let traces = read(&[
        span(
            1,
            0,
            "invoke_agent graph",
            1,
            90,
            json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "graph"}),
        ),
        node(
            2,
            1,
            2,
            "main",
            json!({"traceloop.span.kind": "tool", "gen_ai.tool.name": "look",
            "gen_ai.tool.call.arguments": {"input_str": "{'x': 1}", "tags": [], "metadata": {"step": 7}, "kwargs": {"tool_call_id": "a"}},
            "gen_ai.tool.call.result": {"output": {"lc": 1, "kwargs": {"content": "r", "tool_call_id": "a", "status": "success"}}}}),
        ),
        node(3, 1, 20, "helper", json!({"traceloop.span.kind": "tool", "gen_ai.tool.name": "find"})),
    ]);
    assert_eq!(
        traces.iter().map(|trace| trace.metadata().agent.as_deref().unwrap().to_owned()).collect::<Vec<_>>(),
        ["main", "helper"]
    );
    assert_eq!(steps(&traces[0]), ["0 look {\"x\":1} -> ok/none r"]);
    assert_eq!(steps(&traces[1]), ["0 find ? -> ok/none ?"]);
}

#[test]
fn an_agents_span_answers_the_call_of_its_name() {
    let traces = read(&[
        span(1, 0, "main.run", 1, 90, json!({"openinference.span.kind": "AGENT"})),
        chat(2, 1, 2, &output(&[("a", "helper", json!({"task": "t"}))])),
        span(
            3,
            1,
            "helper.run",
            10,
            40,
            json!({"openinference.span.kind": "AGENT", "output.value": "found"}),
        ),
        tool(4, 3, 12, "look", "b", &json!({}), "r"),
    ]);
    assert_eq!(steps(&traces[0]), ["0 helper {\"task\":\"t\"} -> ok/none found"]);
    assert_eq!(traces[1].metadata().parent.as_deref(), Some(TRACE));
}

#[test]
fn refused_calls_have_marks_of_their_own() {
    // The only call of a step that failed.
    let step = |status: bool, calls: &Json| {
        let around = span(1, 0, "Step 1", 1, 50, json!({"openinference.span.kind": "CHAIN"}));
        let around = if status { failed(around, "Unknown tool lok, should be one of: look") } else { around };
        steps(&read(&[around, chat(2, 1, 2, calls)])[0])
    };
    let one = output(&[("a", "lok", json!({}))]);
    assert_eq!(step(true, &one), ["0 lok {} -> error/error_type Unknown tool lok, should be one of: look"]);
    assert_eq!(step(false, &one), ["0 lok {} -> unknown/none -"]);
    let two = output(&[("a", "lok", json!({})), ("b", "look", json!({}))]);
    assert_eq!(step(true, &two)[0], "0 lok {} -> unknown/none -");
    // Listed as invalid by the framework, in the node around the model's span.
    let invalid = json!([{"update": {"messages": [{"type": "ai", "data": {"content": "", "tool_calls": [],
        "invalid_tool_calls": [{"id": "a", "name": "look", "args": "{\"x\"", "error": "not valid JSON"}]}}]}}]);
    let traces = read(&[
        span(1, 0, "model", 1, 9, json!({"openinference.span.kind": "CHAIN", "output.value": invalid})),
        chat(2, 1, 2, &json!([{"role": "assistant", "parts": []}])),
    ]);
    assert_eq!(steps(&traces[0]), ["0 look \"{\\\"x\\\"\" -> error/error_type not valid JSON"]);
}

#[test]
fn answers_stand_in_outputs_of_nodes_and_in_python() {
    let node = json!({"messages": [{"type": "tool", "data": {"content": "no such thing", "tool_call_id": "a", "status": "error"}}]});
    let traces = read(&[
        chat(1, 0, 1, &output(&[("a", "lok", json!({}))])),
        span(2, 0, "tools", 10, 12, json!({"openinference.span.kind": "CHAIN", "output.value": node})),
    ]);
    assert_eq!(steps(&traces[0]), ["0 lok {} -> error/flag no such thing"]);
    let reply = "ChatMessage(_content=[ToolCall(tool_name='look', arguments={'x': 1}, id='a')])";
    let answer = "ToolCallResult(result='gone', origin=ToolCall(tool_name='look', arguments={'x': 1}, id='a'), error=True)";
    let traces = read(&[
        span(
            1,
            0,
            "llm",
            1,
            5,
            json!({"openinference.span.kind": "LLM", "output.value": {"replies": [reply]}}),
        ),
        span(
            2,
            0,
            "llm",
            10,
            15,
            json!({"openinference.span.kind": "LLM", "input.value": {"messages": [answer]},
            "output.value": {"replies": ["all done"]}}),
        ),
    ]);
    assert_eq!(steps(&traces[0]), ["0 look {\"x\":1} -> error/flag gone", "agent: all done"]);
}

#[test]
fn agents_without_model_spans_repeat_their_messages() {
    let messages = json!({"raw": "done", "messages": [
        {"role": "user", "content": "help"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{\"x\": 1}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "seen"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "b", "function": {"name": "lok", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "b", "content": "Tool 'lok' not found"},
        {"role": "assistant", "content": "done"}]});
    let traces = read(&[
        span(
            1,
            0,
            "Main._execute_core",
            1,
            90,
            json!({"openinference.span.kind": "AGENT", "output.value": messages}),
        ),
        span(
            2,
            1,
            "look.run",
            10,
            12,
            json!({"openinference.span.kind": "TOOL", "input.value": {"x": 1}, "output.value": "seen"}),
        ),
    ]);
    assert_eq!(
        steps(&traces[0]),
        [
            "user: help",
            "0 look {\"x\":1} -> ok/none seen",
            "1 lok {} -> error/error_type Tool 'lok' not found",
            "agent: done"
        ]
    );
    assert_eq!(traces[0].metadata().agent.as_deref(), Some("Main"));
}

#[test]
fn records_join_their_spans_wherever_they_lie() {
    let model = |id, from| span(id, 9, "chat m", from, from + 5, json!({"gen_ai.operation.name": "chat"}));
    let spans = document(&[span(9, 0, "app", 1, 90, json!({})), model(1, 2), model(2, 30)]);
    let call = |id: &str| json!([{"id": id, "function": {"name": "look", "arguments": "{\"x\": 1}"}}]);
    let records = logs(&[
        (1, "gen_ai.user.message", json!({"content": "help"})),
        (1, "gen_ai.choice", json!({"index": 0, "message": {"role": "assistant", "tool_calls": call("a")}})),
        (2, "gen_ai.assistant.message", json!({"tool_calls": call("a")})),
        (2, "gen_ai.tool.message", json!({"content": "Error: dark"})),
        (2, "gen_ai.choice", json!({"index": 0, "message": {"content": "done"}})),
        (2, "app.other", json!({})),
    ]);
    let expected = ["user: help", "0 look {\"x\":1} -> error/text Error: dark", "agent: done"];
    for inputs in [[spans.clone(), records.clone()], [records.clone(), spans]] {
        let (traces, readings) = join(&inputs);
        assert_eq!(steps(&traces[0]), expected);
        assert!(
            readings
                .iter()
                .any(|reading| reading.passed_over.keys().any(|reason| reason.contains("no events")))
        );
    }
    // Without their spans they are requests of their own; several choices in a row are one.
    let records = logs(&[
        (7, "gen_ai.choice", json!({"index": 0, "message": {}, "tool_calls": call("a")})),
        (7, "gen_ai.choice", json!({"index": 1, "tool_calls": call("b")})),
        (
            7,
            "gen_ai.user.message",
            json!({"content": [{"type": "tool_result", "tool_use_id": "a", "content": "r", "is_error": true}]}),
        ),
        (7, "gen_ai.choice", json!({"index": 0, "message": {"content": "done"}})),
    ]);
    let (traces, _) = join(&[records]);
    assert_eq!(
        steps(&traces[0]),
        ["0 look {\"x\":1} -> error/flag r", "0 look {\"x\":1} -> unknown/none -", "agent: done"]
    );
}

#[test]
fn what_is_not_recorded_is_neither_none_nor_empty() {
    let traces = read(&[
        chat(
            1,
            0,
            1,
            &json!([{"role": "assistant", "parts": [{"type": "tool_call", "id": "a", "name": "look"}, {"type": "text"}]}]),
        ),
        span(
            2,
            0,
            "execute_tool look",
            10,
            12,
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "a"}),
        ),
        span(
            3,
            0,
            "look",
            20,
            22,
            json!({"openinference.span.kind": "TOOL", "tool.name": "look",
            "input.value": "__REDACTED__", "output.value": "__REDACTED__"}),
        ),
        failed(
            span(
                4,
                0,
                "execute_tool look",
                30,
                32,
                json!({"gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look", "error.type": "TOOL_ERROR"}),
            ),
            "TOOL_ERROR",
        ),
    ]);
    assert_eq!(
        steps(&traces[0]),
        ["0 look ? -> ok/none ?", "0 look ? -> ok/none ?", "0 look ? -> error/error_type ?"]
    );
    let mut open = tool(1, 0, 1, "look", "a", &json!({}), "r");
    open["endTimeUnixNano"] = json!("0");
    assert_eq!(steps(&read(&[open])[0]), ["0 look {} -> unknown/none r"]);
}

#[test]
fn errors_around_tools_are_not_theirs() {
    let traces = read(&[
        raised(span(1, 0, "main", 1, 90, json!({"openinference.span.kind": "AGENT"})), "handed over"),
        raised(span(2, 1, "tools", 2, 50, json!({"openinference.span.kind": "CHAIN"})), "handed over"),
        tool(3, 2, 10, "look", "a", &json!({}), "r"),
    ]);
    assert_eq!(steps(&traces[0]), ["0 look {} -> ok/none r"]);
}

#[test]
fn the_text_rule_can_be_switched_off() {
    let text = document(&[tool(1, 0, 1, "look", "a", &json!({}), "Error: no")]);
    let read = |text_errors| {
        let options = ReadOptions { text_errors, ..ReadOptions::default() };
        steps(&read_traces(text.as_bytes(), &options).0[0])
    };
    assert_eq!(read(true), ["0 look {} -> error/text Error: no"]);
    assert_eq!(read(false), ["0 look {} -> ok/none Error: no"]);
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
    let otlp = document(&[super::tests::tool(1, 0, 10, "look", "a", &json!({}), "r")]);
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
