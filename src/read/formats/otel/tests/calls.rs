//! Calls: one action for each, whatever shows it, in the turn that asked for it.

use serde_json::json;

use super::*;

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
        json!({"openinference.span.kind": "LLM", "llm.token_count.prompt": 40,
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
    // The tokens of all its turns are counted once.
    let tokens = traces[0].steps().map(|step| step.usage().and_then(|usage| usage.input_tokens));
    assert_eq!(tokens.collect::<Vec<_>>(), [Some(40), None, None, None]);
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
fn texts_bear_the_tokens_of_requests_without_calls() {
    let request = |id, from, input: u64, output: Json| {
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": input,
            "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "help"}]}],
            "gen_ai.output.messages": [{"role": "assistant", "parts": output}]});
        span(id, 1, "chat m", from, from + 1, attributes)
    };
    let text = json!({"type": "text", "content": "x"});
    let traces = read(&[
        span(1, 0, "invoke_agent main", 1, 90, json!({"gen_ai.operation.name": "invoke_agent"})),
        request(2, 2, 10, json!([text])),
        request(3, 5, 20, json!([text, {"type": "tool_call", "id": "a", "name": "look", "arguments": {}}])),
        tool(4, 1, 7, "look", "a", &json!({}), "r"),
        request(5, 20, 30, json!([text])),
    ]);
    let tokens: Vec<_> = traces[0]
        .steps()
        .map(|step| (step.turn(), step.usage().and_then(|usage| usage.input_tokens)))
        .collect();
    assert_eq!(tokens, [(0, None), (0, Some(10)), (1, None), (1, Some(20)), (2, Some(30))]);
    assert_eq!(steps(&traces[0])[4], "agent: x");
}
