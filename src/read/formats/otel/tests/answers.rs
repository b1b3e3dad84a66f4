//! What came back, how it ended, and what was not recorded.

use serde_json::json;

use super::*;

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
fn events_of_spans_say_which_call_they_answer() {
    for key in ["id", "tool_call_id"] {
        let mut next = chat(2, 10, 12, &json!([{"role": "assistant", "parts": []}]));
        next["events"] = json!([{"name": "gen_ai.tool.message", "attributes": [
            {"key": "content", "value": {"stringValue": "far"}}, {"key": key, "value": {"stringValue": "b"}}]}]);
        let asked = output(&[("a", "look", json!({})), ("b", "look", json!({"x": 1}))]);
        let traces = read(&[chat(1, 1, 5, &asked), next]);
        assert_eq!(steps(&traces[0])[1], "0 look {\"x\":1} -> ok/none far", "{key}");
    }
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
    assert_eq!(traces[0].metadata().id.as_deref(), Some(TRACE));
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
