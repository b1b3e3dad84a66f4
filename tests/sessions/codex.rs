//! Sessions of Codex: lines, turns, calls of every kind, statuses, events.

use serde_json::{Value, json};
use wrongturn::read::Format;

use crate::{costs, lines, read, said, sole_outcome, told};

pub(crate) fn line(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "1970-01-01T00:00:03Z", "type": kind, "payload": payload})
}

pub(crate) fn item(kind: &str, members: &Value) -> Value {
    let mut payload = members.clone();
    payload["type"] = kind.into();
    line("response_item", &payload)
}

fn event(kind: &str, members: &Value) -> Value {
    let mut payload = members.clone();
    payload["type"] = kind.into();
    line("event_msg", &payload)
}

pub(crate) fn call(id: &str) -> Value {
    item("function_call", &json!({"name": "t", "arguments": "{}", "call_id": id}))
}

pub(crate) fn output(id: &str, output: &Value) -> Value {
    item("function_call_output", &json!({"call_id": id, "output": output}))
}

fn steps_told(values: &[Value]) -> Vec<String> {
    told(Format::CodexRollout, lines(values)).split_off(1)
}

#[test]
fn the_status_is_told_by_the_first_mark_that_holds() {
    const REFUSED: &str = "Permission to use t has been denied.";
    let patch = |success: bool| event("patch_apply_end", &json!({"call_id": "1", "success": success}));
    let exit = |code: i64| event("exec_command_end", &json!({"call_id": "1", "exit_code": code}));
    let server = |result: Value| event("mcp_tool_call_end", &json!({"call_id": "1", "result": result}));
    for (result, events, expected) in [
        (json!("x"), vec![], "ok/none \"x\""),
        (json!(""), vec![], "ok/none \"\""),
        (json!(null), vec![], "ok/none -"),
        (
            json!(["a", {"type": "input_image", "b": 1}]),
            vec![],
            r#"ok/none "a\n{\"b\":1,\"type\":\"input_image\"}""#,
        ),
        // What never ran.
        (json!(REFUSED), vec![patch(true)], "unknown/text/refused"),
        (json!({"content": REFUSED, "success": false}), vec![], "unknown/text/refused"),
        // What the model saw of a call that goes on, or was broken off.
        (
            json!("Wall time: 1\nProcess running with session ID 7\nOutput:\nx"),
            vec![exit(0)],
            "unknown/text/running \"x\"",
        ),
        (json!("aborted by user"), vec![patch(false)], "unknown/text/interrupted"),
        // The flag of the output, and the flags of events.
        (json!({"content": "x", "success": true}), vec![patch(false)], "ok/flag \"x\""),
        (
            json!({"content": [{"type": "input_text", "text": "Exit code: 1\nOutput:\nx"}], "success": true}),
            vec![],
            "ok/flag \"x\"",
        ),
        (json!({"content": null, "success": false}), vec![], "error/flag -"),
        (json!({"success": false, "b": 1.0}), vec![], r#"error/flag "{\"b\":1,\"success\":false}""#),
        (json!({"b": 2}), vec![], "ok/none \"{\\\"b\\\":2}\""),
        (json!("Exit code: 0\nOutput:\nx"), vec![patch(false)], "error/flag \"x\""),
        (json!("x"), vec![patch(false), patch(true)], "ok/flag"),
        (json!("x"), vec![patch(false), exit(0)], "error/flag"),
        (json!("x"), vec![server(json!({"Err": "e"}))], "error/flag"),
        (json!("x"), vec![server(json!({"Ok": {"isError": true}}))], "error/flag"),
        (json!("x"), vec![server(json!({"Ok": {"is_error": false, "isError": true}}))], "ok/flag"),
        (json!("x"), vec![server(json!({"Ok": {"content": []}}))], "ok/none"),
        // Exit codes of events, then texts.
        (json!("Exit code: 0\nOutput:\nx"), vec![exit(3)], "error/exit_code \"x\""),
        (json!("x"), vec![exit(0), exit(1)], "error/exit_code"),
        (json!("x"), vec![event("exec_command_end", &json!({"call_id": "2", "exit_code": 1}))], "ok/none"),
        (json!("Exit code: 3\nOutput:\nx"), vec![], "error/exit_code \"x\""),
        (json!("{\"output\": \"x\", \"metadata\": {\"exit_code\": 3}}"), vec![], "error/exit_code \"x\""),
        (json!("t failed: x"), vec![], "error/text"),
        (json!("[Request interrupted by user]"), vec![], "ok/none"),
    ] {
        let mut before = vec![call("1")];
        before.extend(events.clone());
        before.push(output("1", &result));
        let outcome = sole_outcome(Format::CodexRollout, lines(&before));
        assert!(outcome.starts_with(expected), "{result} {events:?}: {outcome}, expected {expected}");
        // Events may also come behind the result.
        let mut behind = vec![call("1"), output("1", &result)];
        behind.extend(events);
        assert_eq!(sole_outcome(Format::CodexRollout, lines(&behind)), outcome);
    }
}

#[test]
fn calls_of_every_kind() {
    for (kind, members, expected) in [
        (
            "function_call",
            json!({"name": "t", "arguments": "{\"a\": 1.0}", "call_id": "c", "id": "i"}),
            "0 t{\"a\":1} #c unknown/none/unanswered -",
        ),
        (
            "function_call",
            json!({"name": "t", "arguments": "no json", "id": "i"}),
            "0 t\"no json\" #i unknown/none/unanswered -",
        ),
        (
            "function_call",
            json!({"name": "t", "arguments": " ", "call_id": ""}),
            "0 t{} #- unknown/none/unanswered -",
        ),
        ("function_call", json!({"arguments": null}), "0  #- unknown/none/unanswered -"),
        (
            "custom_tool_call",
            json!({"name": "t", "input": "a\nb", "call_id": "c", "status": "completed"}),
            "0 t{\"input\":\"a\\nb\"} #c unknown/none/unanswered -",
        ),
        (
            "local_shell_call",
            json!({"call_id": "c", "action": {"z": 1, "b": 2}, "status": "completed"}),
            "0 local_shell{\"b\":2,\"z\":1} #c unknown/none/unanswered -",
        ),
        (
            "tool_search_call",
            json!({"call_id": "c", "arguments": {"q": 1}}),
            "0 tool_search{\"q\":1} #c unknown/none/unanswered -",
        ),
        (
            "computer_call",
            json!({"call_id": "c", "action": null, "queries": ["q"]}),
            "0 computer[\"q\"] #c unknown/none/unanswered -",
        ),
        (
            "web_search_call",
            json!({"id": "w", "action": {"q": 1}, "arguments": {"r": 1}, "status": "completed"}),
            "0 web_search{\"q\":1} #w ok/flag -",
        ),
        (
            "web_search_call",
            json!({"id": "w", "status": "in_progress"}),
            "0 web_search #w unknown/none/unanswered -",
        ),
        (
            "file_search_call",
            json!({"id": "w", "queries": ["q"], "status": "failed"}),
            "0 file_search[\"q\"] #w error/flag -",
        ),
        (
            "code_interpreter_call",
            json!({"id": "w", "status": "incomplete"}),
            "0 code_interpreter #w error/flag -",
        ),
        ("image_generation_call", json!({"id": "w"}), "0 image_generation #w unknown/none/unanswered -"),
        (
            "mcp_call",
            json!({"id": "w", "name": "t", "arguments": "{}", "output": "x", "error": null}),
            "0 t{} #w ok/none \"x\"",
        ),
        (
            "mcp_call",
            json!({"id": "w", "name": "t", "arguments": "{}", "output": null, "error": "e"}),
            "0 t{} #w error/flag \"e\"",
        ),
        (
            "mcp_call",
            json!({"id": "w", "name": "t", "arguments": "{}"}),
            "0 t{} #w unknown/none/unanswered -",
        ),
    ] {
        let told = steps_told(&[item(kind, &members)]);
        assert_eq!(told[0], expected, "{kind} {members}");
    }
    for kind in ["function_call", "custom_tool_call", "local_shell_call", "computer_call"] {
        let values = [call("c"), item(&format!("{kind}_output"), &json!({"id": "c", "output": "x"}))];
        assert_eq!(steps_told(&values), ["0 t{} #c ok/none \"x\""], "{kind}");
    }
    assert_eq!(
        steps_told(&[call("c"), item("tool_search_output", &json!({"call_id": "c"}))]),
        ["0 t{} #c ok/none -"]
    );
}

#[test]
fn turns_are_runs_of_what_the_model_wrote() {
    let message = |role: &str, text: &str| {
        item("message", &json!({"role": role, "content": [{"type": "output_text", "text": text}]}))
    };
    let values = [
        message("developer", "rules"),
        message("user", "go"),
        item("reasoning", &json!({"summary": []})),
        message("assistant", "look"),
        call("a"),
        event("token_count", &json!({"info": null})),
        call("b"),
        output("b", &json!("1")),
        output("a", &json!("2")),
        message("assistant", ""),
        item("ghost_snapshot", &json!({})),
        call("c"),
        message("user", " "),
        call("d"),
        output("gone", &json!("3")),
        call("a"),
        output("a", &json!("4")),
        line("compacted", &json!({"replacement_history": [message("user", "x")]})),
        event("agent_message", &json!({"message": "look"})),
    ];
    assert_eq!(
        steps_told(&values),
        [
            "0 system: rules",
            "0 user: go",
            "0 agent: look",
            "0 t{} #a ok/none \"2\"",
            "0 t{} #b ok/none \"1\"",
            "1 t{} #c unknown/none/unanswered -",
            "2 t{} #d unknown/none/unanswered -",
            "3 environment: 3",
            "3 t{} #a ok/none \"4\"",
            "unpaired: 2 calls, 1 results",
        ]
    );
}

#[test]
fn a_result_before_its_call_waits() {
    let values = [output("a", &json!("0")), call("a"), output("a", &json!("1")), call("a")];
    assert_eq!(steps_told(&values), ["0 t{} #a ok/none \"1\"", "1 t{} #a ok/none \"0\""]);
}

#[test]
fn sessions() {
    let spawned = json!({"subagent": {"thread_spawn": {"parent_thread_id": "P"}}});
    for (values, expected) in [
        (
            vec![
                line("session_meta", &json!({"id": "a", "session_id": "s", "source": spawned})),
                line("session_meta", &json!({"id": "b"})),
            ],
            "a < P by codex of -, -",
        ),
        (
            vec![
                line("session_meta", &json!({"id": ""})),
                line("session_meta", &json!({"session_id": "s", "source": "cli"})),
            ],
            "s < - by codex of -, -",
        ),
        (
            vec![
                line("turn_context", &json!({"model": ""})),
                line("turn_context", &json!({"model": "m"})),
                line("turn_context", &json!({"model": "n"})),
            ],
            "- < - by codex of m, -",
        ),
        (
            vec![
                event("turn_aborted", &json!({})),
                event("task_complete", &json!({})),
                event("task_started", &json!({})),
            ],
            "- < - by codex of -, task_complete",
        ),
        (
            vec![event("task_complete", &json!({})), event("turn_aborted", &json!({}))],
            "- < - by codex of -, turn_aborted",
        ),
    ] {
        assert_eq!(told(Format::CodexRollout, lines(&values)), [expected]);
    }
}

#[test]
fn tokens_and_times() {
    let tokens = |input: u64| {
        event(
            "token_count",
            &json!({"info": {"last_token_usage": {"input_tokens": input, "cached_input_tokens": 1, "output_tokens": 2}}}),
        )
    };
    let ended = event("exec_command_end", &json!({"call_id": "b", "duration": {"secs": 1, "nanos": 5}}));
    let values = [
        call("a"),
        call("b"),
        tokens(10),
        tokens(10),
        output("a", &json!("x")),
        ended,
        output("b", &json!("x")),
        call("c"),
        output("c", &json!("x")),
        tokens(20),
        call("d"),
    ];
    let (traces, _) = read(Format::CodexRollout, lines(&values));
    let cost = |input, duration| [Some(3_000_000_000), Some(input), Some(1), Some(2), duration];
    assert_eq!(
        costs(&traces[0]),
        [
            cost(10, None),
            cost(10, Some(1_000_000_005)),
            cost(20, None),
            [Some(3_000_000_000), None, None, None, None]
        ]
    );
}

#[test]
fn messages_bear_the_tokens_of_responses_without_calls() {
    let tokens = |input: u64| {
        event(
            "token_count",
            &json!({"info": {"last_token_usage": {"input_tokens": input, "output_tokens": 2}}}),
        )
    };
    let message = |role: &str| item("message", &json!({"role": role, "content": [{"text": "x"}]}));
    let values = [
        message("user"),
        message("assistant"),
        tokens(10),
        tokens(11),
        message("user"),
        tokens(12),
        message("assistant"),
        call("a"),
        output("a", &json!("y")),
        tokens(20),
        item("reasoning", &json!({})),
        message("assistant"),
        message("user"),
        tokens(30),
        message("assistant"),
        message("user"),
        call("b"),
        tokens(40),
    ];
    let (traces, _) = read(Format::CodexRollout, lines(&values));
    let cost = |input| [Some(input), None, Some(2)];
    assert_eq!(said(&traces[0]), [(0, cost(10)), (2, cost(30))]);
    let inputs: Vec<_> = costs(&traces[0]).into_iter().map(|cost| cost[1]).collect();
    assert_eq!(inputs, [Some(20), Some(40)]);
}
