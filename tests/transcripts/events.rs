//! Gemini CLI, `OpenCode`, Inspect and `OpenHands`: formats in which a call and its result stand together, or are
//! events.

use serde_json::{Value, json};
use wrongturn::{Trace, read::Format};

use super::{actions, costs, known, lines, one, read, said, unpaired};

fn gemini(messages: &Value) -> Trace {
    one(Format::GeminiCli, json!({"sessionId": "s", "projectHash": "h", "messages": messages}).to_string())
}

#[test]
fn sessions_of_the_gemini_cli() {
    let trace = gemini(&json!([
        {"type": "info", "content": "i"},
        {"type": "user", "content": [{"text": "a"}, {"text": "b"}]},
        {"type": "gemini", "content": "", "model": "", "thoughts": [{"description": "d"}]},
        {"type": "gemini", "content": "ok", "model": "m", "timestamp": "2026-01-01T00:00:00Z",
         "tokens": {"input": 9, "output": 2, "cached": 4, "thoughts": 3, "tool": 0, "total": 14},
         "toolCalls": [
            {"id": "a", "name": "f", "args": {"x": 1.0}, "status": "success", "timestamp": "2026-01-01T00:00:01Z",
             "result": [{"functionResponse": {"id": "a", "response": {"output": "o", "error": "e"}}}]},
            {"id": "b", "name": "f", "status": "executing", "result": [{"text": "no result yet"}]}]},
        {"type": "gemini", "content": "last", "model": "n"},
        {"type": "error", "content": "e"}, {"type": "warning", "content": "w"}
    ]));
    assert_eq!(known(&trace), "s - m gemini-cli - - - -");
    assert_eq!(
        lines(&trace),
        [
            "1 user: a\nb",
            "3 agent: ok",
            r#"3 f({"x":1}) ok/flag #a = o"#,
            "3 f() unknown/none/unanswered #b",
            "4 agent: last",
        ]
    );
    let start = 1_767_225_600_000_000_000;
    assert_eq!(
        costs(&trace),
        [
            [Some(9), Some(5), Some(4), None, Some(start + 1_000_000_000)],
            [Some(9), Some(5), Some(4), None, None]
        ]
    );
    assert!(lines(&gemini(&json!([]))).is_empty());
}

#[test]
fn results_of_the_gemini_cli() {
    let response = |response: Value| json!([{"functionResponse": {"response": response}}, {"text": "more"}]);
    for (name, status, result, expected) in [
        ("f", "success", response(json!({"error": "e"})), "ok/flag = e"),
        (
            "f",
            "success",
            response(json!({"output": 7, "error": null})),
            r#"ok/flag = {"error":null,"output":7}"#,
        ),
        ("f", "success", json!([{"text": "t"}, {"inlineData": {}}]), "ok/flag = t\n{\"inlineData\":{}}"),
        ("f", "success", json!("text"), "ok/flag = text"),
        ("f", "success", Value::Null, "ok/flag"),
        ("f", "error", response(json!({"error": "no"})), "error/flag = no"),
        ("f", "cancelled", response(json!({"error": "[Cancelled]"})), "unknown/flag/refused = [Cancelled]"),
        ("f", "scheduled", response(json!({"output": "x"})), "unknown/none/unanswered"),
        ("f", "success", response(json!({"output": "Exit Code: 3"})), "ok/flag = Exit Code: 3"),
        (
            "run_shell_command",
            "success",
            response(json!({"output": "a\nExit Code: 3\r\nb"})),
            "error/exit_code = a\nExit Code: 3\r\nb",
        ),
        (
            "run_shell_command",
            "success",
            response(json!({"output": "Exit Code: 0\nExit Code: 3"})),
            "ok/flag = Exit Code: 0\nExit Code: 3",
        ),
        (
            "run_shell_command",
            "success",
            response(json!({"output": "Exit Code: 3 (none)"})),
            "ok/flag = Exit Code: 3 (none)",
        ),
        (
            "run_shell_command",
            "error",
            response(json!({"output": "Exit Code: 0"})),
            "error/flag = Exit Code: 0",
        ),
    ] {
        let trace = gemini(
            &json!([{"type": "gemini", "toolCalls": [{"name": name, "status": status, "result": result}]}]),
        );
        assert_eq!(actions(&trace), [format!("0 {name}() {expected}")], "{result}");
    }
}

fn opencode(messages: &Value) -> Trace {
    one(Format::OpenCode, json!({"info": {"id": "s", "parentID": "p"}, "messages": messages}).to_string())
}

#[test]
fn sessions_of_opencode() {
    let trace = opencode(&json!([
        {"info": {"role": "user"}, "parts": [
            {"type": "text", "text": "go"}, {"type": "text", "text": "injected", "synthetic": true},
            {"type": "text", "text": "on", "synthetic": false}, {"type": "tool", "callID": "x", "tool": "no"}]},
        {"parts": [
            {"type": "reasoning", "text": "no"}, {"type": "text", "text": "ok"},
            {"type": "tool", "callID": "a", "tool": "read", "state": {"status": "completed", "input": {"f": 1.0},
             "output": "o", "error": "e", "time": {"start": 1000, "end": 3500}}},
            {"type": "subtask"}, 7],
         "info": {"role": "assistant", "modelID": "m", "finish": "tool-calls", "time": {"created": 500},
             "tokens": {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 4, "write": 1}}}},
        {"info": {"role": "assistant", "modelID": "n", "error": {"name": "MessageAbortedError"}, "finish": "x"}, "parts": []},
        {"info": {"role": "user"}, "parts": [{"type": "text", "text": " "}]}
    ]));
    assert_eq!(known(&trace), "s p m opencode - - - MessageAbortedError");
    assert_eq!(lines(&trace), ["0 user: go\non", "1 agent: ok", r#"1 read({"f":1}) ok/flag #a = o"#]);
    assert_eq!(costs(&trace), [[Some(10), Some(3), Some(4), Some(2_500_000_000), Some(1_000_000_000)]]);
    let trace =
        opencode(&json!([{"info": {"role": "assistant", "finish": "stop", "error": {}}, "parts": []}]));
    assert_eq!(known(&trace), "s p - opencode - - - stop");
}

#[test]
fn states_of_opencode() {
    for (state, expected) in [
        (json!({"status": "completed", "output": "x", "metadata": {"exit": 0}}), "ok/exit_code = x"),
        (json!({"status": "completed", "output": "x", "metadata": {"exit": 127}}), "error/exit_code = x"),
        (json!({"status": "completed", "output": "x", "metadata": {"exit": null}}), "ok/flag = x"),
        (json!({"status": "completed"}), "ok/flag"),
        (json!({"status": "error", "error": "Error: no", "metadata": {"exit": 0}}), "error/flag = Error: no"),
        (
            json!({"status": "error", "error": "Tool execution aborted"}),
            "unknown/text/interrupted = Tool execution aborted",
        ),
        (
            json!({"status": "error", "error": "Error: The user rejected permission to use this specific tool call."}),
            "unknown/text/refused = Error: The user rejected permission to use this specific tool call.",
        ),
        (json!({"status": "running", "output": "x"}), "unknown/none/unanswered"),
        (json!({"status": "pending"}), "unknown/none/unanswered"),
        (Value::Null, "unknown/none/unanswered"),
    ] {
        let part = json!({"type": "tool", "callID": "a", "tool": "t", "state": state});
        let trace = opencode(&json!([{"info": {"role": "assistant"}, "parts": [part]}]));
        assert_eq!(actions(&trace)[0].replace(" #a", ""), format!("0 t() {expected}"), "{state}");
    }
}

fn inspect(samples: &Value) -> String {
    json!({"version": 2, "eval": {"task": "t", "model": "m", "solver": "s"}, "samples": samples}).to_string()
}

#[test]
fn samples_of_inspect() {
    let name = "0123456789abcdef0123456789ABCDEF";
    let input = inspect(&json!([
        {"id": 1, "epoch": 2, "scores": {"a": {"value": "C"}}, "attachments": {name: "LONG", "x": "no"}, "messages": [
            {"role": "user", "content": "q"},
            {"id": "m1", "role": "assistant", "content": "", "tool_calls": [
                {"id": "a", "function": "f", "arguments": {"x": 1.0}}, {"id": "b", "function": "f"}, {"id": "c", "function": "g"}]},
            {"role": "tool", "tool_call_id": "a", "content": format!("<attachment://{name}> attachment://x attachment://{}", "0".repeat(32)), "error": null},
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "Error: fine"}, {"type": "image"}]},
            {"role": "tool", "tool_call_id": "c", "content": format!("attachment://{name}")},
            {"role": "tool", "content": "no id"}],
         "events": [
            {"event": "model", "timestamp": "2026-01-01T00:00:00+00:00",
             "output": {"choices": [{"message": {"id": "m1"}}], "usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 11, "input_tokens_cache_read": 4}}},
            {"event": "tool", "id": "a", "timestamp": "2026-01-01T00:00:01+00:00", "working_time": 0.25},
            {"event": "tool", "id": "b", "timestamp": "2026-01-01T00:00:02+00:00", "completed": "2026-01-01T00:00:04+00:00"}]},
        {"id": "s", "messages": "none"},
        {"messages": [{"role": "assistant", "content": "x"}], "scores": {"a": {"value": 0.5}}}
    ]));
    let (traces, reading) = read(&input);
    assert_eq!(reading.passed_over.get("samples without messages"), Some(&1));
    assert_eq!(known(&traces[0]), "1_epoch_2 - m s t 1 1 -");
    assert_eq!(known(&traces[1]), "2_epoch_1 - m s t - 0.5 -");
    assert_eq!(
        lines(&traces[0]),
        [
            "0 user: q".to_owned(),
            format!("1 f({{\"x\":1}}) ok/none #a = <LONG> attachment://x attachment://{}", "0".repeat(32)),
            "1 f() ok/none #b = Error: fine\n{\"type\":\"image\"}".to_owned(),
            "1 g() ok/none #c = LONG".to_owned(),
            "5 environment: no id".to_owned(),
        ]
    );
    assert_eq!(unpaired(&traces[0]), (0, 1));
    let start = 1_767_225_600_000_000_000;
    assert_eq!(
        costs(&traces[0]),
        [
            [Some(9), Some(2), Some(4), Some(250_000_000), Some(start + 1_000_000_000)],
            [Some(9), Some(2), Some(4), Some(2_000_000_000), Some(start + 2_000_000_000)],
            [Some(9), Some(2), Some(4), None, None],
        ]
    );
}

#[test]
fn scores_and_errors_of_inspect() {
    for (scores, reward) in [
        (json!({"a": {"value": 0}}), Some(0.0)),
        (json!({"a": {"value": "I"}}), Some(0.0)),
        (json!({"a": {"value": "N"}}), None),
        (json!({"a": {"value": true}}), None),
        (json!({"a": {"value": {"b": 1}}}), None),
        (json!({"a": {"value": 1}, "b": {"value": 1}}), None),
        (json!({}), None),
        (Value::Null, None),
    ] {
        let trace = one(Format::Inspect, inspect(&json!([{"id": 1, "messages": [], "scores": scores}])));
        assert_eq!(trace.reward(), reward, "{scores}");
    }
    for (error, expected) in [
        (json!({"type": "approval"}), "unknown/error_type/refused"),
        (json!({"type": "timeout"}), "error/error_type"),
        (json!({}), "error/error_type"),
        (json!("text"), "ok/none"),
    ] {
        let messages = json!([
            {"role": "assistant", "tool_calls": [{"id": "a", "function": "f", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "a", "content": "x", "error": error}
        ]);
        let trace = one(Format::Inspect, inspect(&json!([{"id": 1, "messages": messages}])));
        assert_eq!(actions(&trace), [format!("0 f({{}}) {expected} #a = x")], "{error}");
    }
}

fn response(id: &str) -> Value {
    json!({"function_name": "execute_bash", "model_response": {"id": id, "model": "m", "usage": {"prompt_tokens": 9, "completion_tokens": 2}}})
}

#[test]
fn events_of_openhands() {
    let events = json!([
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "s"}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "go"}, "timestamp": "2026-01-01T00:00:00.5"},
        {"id": 2, "source": "agent", "action": "run", "timestamp": "2026-01-01T00:00:01",
         "args": {"command": "a", "thought": "t", "security_risk": 1, "confirmation_state": 1, "hidden": true, "blocking": false, "is_static": false, "is_input": 1.0},
         "tool_call_metadata": response("r1")},
        {"id": 3, "source": "agent", "action": "run", "args": {"command": "b"}, "tool_call_metadata": response("r1")},
        {"id": 4, "source": "agent", "observation": "run", "cause": 3, "content": "B"},
        {"id": 5, "source": "agent", "observation": "run", "cause": 2, "content": "A"},
        {"id": 6, "source": "environment", "observation": "agent_state_changed", "content": ""},
        {"id": 7, "source": "user", "action": "run", "args": {"command": "c"}},
        {"id": 8, "source": "user", "observation": "run", "cause": 7, "content": "C"},
        {"id": "x", "source": "agent", "action": "think", "args": {"thought": "hm"}},
        {"id": 10, "source": "agent", "observation": "think", "cause": "x", "content": "ok"},
        {"id": 11, "source": "agent", "action": "read"},
        {"id": 12, "source": "agent", "action": "message", "args": {"content": "bye"}},
        {"id": 13, "source": "agent", "action": "finish", "args": {}},
        {"id": 14, "source": "environment", "observation": "null", "cause": 13, "content": ""},
    ]);
    for input in [events.clone(), json!({"trajectory": events})] {
        let trace = one(Format::OpenHands, input.to_string());
        assert_eq!(known(&trace), "- - m openhands - - - -");
        assert_eq!(
            lines(&trace),
            [
                "0 user: go",
                r#"0 execute_bash({"command":"a","is_input":1}) ok/none #2 = A"#,
                r#"0 execute_bash({"command":"b"}) ok/none #3 = B"#,
                r#"1 think({"thought":"hm"}) ok/none #x = ok"#,
                "2 read() unknown/none/unanswered #11",
                "3 agent: bye",
                "3 finish({}) unknown/none/unanswered #13",
            ]
        );
        assert_eq!(unpaired(&trace), (2, 0));
        assert_eq!(costs(&trace)[0], [Some(9), Some(2), None, None, Some(1_767_225_601_000_000_000)]);
    }
}

#[test]
fn observations_of_openhands() {
    for (observation, expected) in [
        (json!({"observation": "run"}), "ok/none"),
        (json!({"observation": "run", "content": {"a": 1.0}}), r#"ok/none = {"a":1}"#),
        (
            json!({"observation": "user_rejected", "success": false, "content": "x"}),
            "unknown/flag/refused = x",
        ),
        (
            json!({"observation": "run", "success": false, "extras": {"metadata": {"exit_code": -1}}}),
            "unknown/exit_code/running",
        ),
        (json!({"observation": "run", "success": true, "extras": {"metadata": {"exit_code": 2}}}), "ok/flag"),
        (json!({"observation": "error", "success": true}), "ok/flag"),
        (json!({"observation": "error", "extras": {"metadata": {"exit_code": 0}}}), "error/flag"),
        (
            json!({"observation": "run", "success": null, "extras": {"metadata": {"exit_code": 2}}}),
            "error/exit_code",
        ),
        (json!({"observation": "run", "extras": {"metadata": {"exit_code": 0}}}), "ok/exit_code"),
        (json!({"observation": "run", "extras": {"metadata": {"exit_code": "2"}}}), "ok/none"),
    ] {
        let mut event = json!({"id": 2, "source": "agent", "cause": 1});
        for (key, value) in observation.as_object().unwrap() {
            event[key] = value.clone();
        }
        let trace =
            one(Format::OpenHands, json!([{"id": 1, "source": "agent", "action": "f"}, event]).to_string());
        assert_eq!(actions(&trace)[0].replace(" #1", ""), format!("0 f() {expected}"), "{observation}");
    }
}

#[test]
fn an_event_that_is_none_is_found_wherever_it_stands() {
    let events = [
        json!({"id": 1, "source": "agent", "action": "f"}),
        json!({"id": 2, "source": "agent", "observation": "f", "cause": 1}),
    ];
    for place in [0, 1, 2, 150] {
        let mut all: Vec<Value> = events.iter().cloned().cycle().take(200).collect();
        all.insert(place, json!({"id": 1}));
        let (traces, reading) = read(json!(all).to_string());
        assert!(
            traces.is_empty() && reading.errors.len() == 1 && reading.format.is_none(),
            "{place}: {reading:?}"
        );
    }
}

#[test]
fn messages_bear_the_tokens_of_responses_without_calls() {
    let message = |kind: &str, input: u64, calls: Value| {
        json!({"type": kind, "content": "x", "tokens": {"input": input},
            "toolCalls": calls})
    };
    let trace = gemini(&json!([
        message("user", 1, json!([])),
        message("gemini", 2, json!([])),
        message("gemini", 3, json!([{"id": "a", "name": "f"}])),
    ]));
    assert_eq!(said(&trace), [(1, [Some(2), None, None])]);
    assert_eq!(costs(&trace)[0][0], Some(3));

    let message = |role: &str, input: u64, part: Value| {
        json!({"info": {"role": role, "tokens": {"input": input}},
            "parts": [{"type": "text", "text": "x"}, part]})
    };
    let trace = opencode(&json!([
        message("user", 1, json!({})),
        message("assistant", 2, json!({})),
        message("assistant", 3, json!({"type": "tool", "callID": "a", "tool": "f"})),
    ]));
    assert_eq!(said(&trace), [(1, [Some(2), None, None])]);
    assert_eq!(costs(&trace)[0][0], Some(3));

    let message =
        |id: &str, calls: Value| json!({"id": id, "role": "assistant", "content": "x", "tool_calls": calls});
    let event = |id: &str, input: u64| {
        json!({"event": "model",
            "output": {"choices": [{"message": {"id": id}}], "usage": {"input_tokens": input}}})
    };
    let calls = json!([{"id": "a", "function": "f"}]);
    let messages = json!([message("m1", Value::Null), message("m2", calls), message("m3", json!([]))]);
    let events = json!([event("m1", 2), event("m2", 3), event("m3", 4)]);
    let trace = one(Format::Inspect, inspect(&json!([{"id": 1, "messages": messages, "events": events}])));
    assert_eq!(said(&trace), [(0, [Some(2), None, None]), (2, [Some(4), None, None])]);
    assert_eq!(costs(&trace)[0][0], Some(3));
}
