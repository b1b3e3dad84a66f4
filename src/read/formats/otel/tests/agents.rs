//! Whose run a step is part of.

use serde_json::json;

use super::*;

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
