//! ATIF: trajectories, pairing, statuses, what writers append, sub-agents.

use serde_json::{Value, json};
use wrongturn::{read::Format, trace::Event};

use crate::{costs, read, said, sole_outcome, told};

pub(crate) fn trajectory(agent: &str, steps: &Value) -> Value {
    json!({"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": agent, "model_name": "m"}, "steps": steps})
}

/// The trajectory of one call with one result, and what its step says beside them.
fn answered(agent: &str, result: &Value, extra: &Value) -> String {
    let mut result = result.clone();
    result["source_call_id"] = "1".into();
    let step = json!({"source": "agent", "message": "", "tool_calls": [{"tool_call_id": "1", "function_name": "t"}],
        "observation": {"results": [result]}, "extra": extra});
    trajectory(agent, &json!([step])).to_string()
}

fn steps_told(steps: &Value) -> Vec<String> {
    told(Format::Atif, trajectory("a", steps).to_string()).split_off(1)
}

#[test]
fn the_status_is_told_by_the_first_mark_that_holds() {
    const REFUSED: &str = "The user doesn't want to proceed with this tool use.";
    const BROKEN_OFF: &str = "half\n[Request interrupted by user]";
    let none = json!(null);
    for (result, extra, expected) in [
        (json!({"content": "x"}), none.clone(), "ok/none \"x\""),
        // What never ran, whatever flag there is.
        (json!({"content": REFUSED, "extra": {"is_error": true}}), none.clone(), "unknown/text/refused"),
        (json!({"content": REFUSED, "extra": {"is_error": false}}), none.clone(), "unknown/text/refused"),
        (
            json!({"content": "<tool_use_error>Sibling tool call errored"}),
            json!({"exec_exit_code": 0}),
            "unknown/text/cancelled",
        ),
        // 1
        (
            json!({"content": "x", "extra": {"tool_result_is_error": false, "is_error": true}}),
            none.clone(),
            "ok/flag",
        ),
        (
            json!({"content": "x", "extra": {"tool_result_is_error": null, "is_error": true}}),
            none.clone(),
            "error/flag",
        ),
        (
            json!({"content": "x", "extra": {"is_error": "yes"}}),
            json!({"tool_result_is_error": true}),
            "error/flag",
        ),
        (
            json!({"content": "x", "extra": {"is_error": false}}),
            json!({"tool_result_is_error": true}),
            "ok/flag",
        ),
        (json!({"content": "x"}), json!({"is_error": true, "exec_status": "running"}), "error/flag"),
        (
            json!({"content": BROKEN_OFF, "extra": {"is_error": true}}),
            none.clone(),
            "unknown/text/interrupted",
        ),
        (json!({"content": BROKEN_OFF, "extra": {"is_error": false}}), none.clone(), "ok/flag"),
        (json!({"content": BROKEN_OFF}), none.clone(), "ok/none"),
        // 2
        (json!({"content": "x", "extra": {"status": "running"}}), none.clone(), "unknown/flag/running"),
        (json!({"content": "x", "extra": {"status": "failed"}}), none.clone(), "error/flag"),
        (json!({"content": "x", "extra": {"status": "error"}}), json!({"exec_exit_code": 0}), "error/flag"),
        (json!({"content": "x", "extra": {"status": "completed"}}), none.clone(), "ok/none"),
        (
            json!({"content": "x", "extra": {"status": "done"}}),
            json!({"exec_status": "running"}),
            "unknown/flag/running",
        ),
        (json!({"content": "x"}), json!({"exec_status": "failed", "exec_exit_code": 0}), "error/flag"),
        (json!({"content": "x"}), json!({"status": "failed"}), "ok/none"),
        (json!({"content": "x", "extra": {"exec_status": "failed"}}), none.clone(), "ok/none"),
        // 4
        (
            json!({"content": "x"}),
            json!({"exec_status": "completed", "exec_exit_code": 1}),
            "error/exit_code",
        ),
        (json!({"content": "x"}), json!({"exec_status": null, "exec_exit_code": 0}), "ok/exit_code"),
        (json!({"content": "x"}), json!({"exec_exit_code": "1"}), "ok/none"),
        (json!({"content": "x"}), json!({"exec_status": "completed", "exec_exit_code": null}), "ok/flag"),
        // 5
        (
            json!({"content": "x\n\n[metadata] {\"backgroundTaskId\": \"b\"}"}),
            none.clone(),
            "unknown/flag/running \"x\"",
        ),
        (json!({"content": "x\n\n[metadata] {\"backgroundTaskId\": \"\"}"}), none.clone(), "ok/none \"x\""),
        (json!({"content": "x\n\n[metadata] {\"isAsync\": true}"}), none.clone(), "unknown/flag/running"),
        (
            json!({"content": "x\n\n[metadata] {\"retrieval_status\": \"timeout\"}"}),
            none.clone(),
            "unknown/flag/running",
        ),
        (json!({"content": "x\n\n[metadata] {\"retrieval_status\": \"success\"}"}), none.clone(), "ok/none"),
        (
            json!({"content": "x\n\n[metadata] {\"interrupted\": true}"}),
            none.clone(),
            "unknown/flag/interrupted",
        ),
        (
            json!({"content": "x\n\n[metadata] {\"interrupted\": true}"}),
            json!({"exec_exit_code": 1}),
            "error/exit_code",
        ),
        // 6
        (json!({"content": "x\n\n[error] tool reported failure"}), none.clone(), "error/text \"x\""),
        (
            json!({"content": "half\n[Request interrupted by user]\n\n[error] tool reported failure"}),
            none.clone(),
            "unknown/text/interrupted",
        ),
        // 8
        (json!({"content": "<tool_use_error>x"}), none.clone(), "error/text"),
        (json!({"content": "<tool_use_error>x\n\n[metadata] {}"}), none.clone(), "ok/none"),
        // Without content.
        (json!({"content": null, "extra": {"a": 1}}), none.clone(), "ok/none -"),
        (json!({"content": null}), json!({"exec_status": null}), "ok/none -"),
        (json!({}), json!({"is_error": true}), "error/flag -"),
        (json!({}), json!({"exec_exit_code": 1}), "unknown/none/unanswered -"),
        (json!({"content": null, "extra": {}}), none.clone(), "unknown/none/unanswered -"),
    ] {
        let outcome = sole_outcome(Format::Atif, answered("a", &result, &extra));
        assert!(outcome.starts_with(expected), "{result} {extra}: {outcome}, expected {expected}");
    }
}

#[test]
fn texts_of_codex_count_for_codex() {
    for (agent, content, expected) in [
        ("codex", "Exit code: 2\nOutput:\nx", "error/exit_code \"x\""),
        ("other", "Exit code: 2\nOutput:\nx", r#"ok/none "Exit code: 2\nOutput:\nx""#),
        ("codex", "apply_patch verification failed: x", "error/text \"apply_patch verification failed: x\""),
        ("codex", "<tool_use_error>x", "error/text \"<tool_use_error>x\""),
        ("codex", "Exit code: 2\nOutput:\nx\n\n[error] tool reported failure", "error/text \"x\""),
    ] {
        assert_eq!(
            sole_outcome(Format::Atif, answered(agent, &json!({"content": content}), &json!({}))),
            expected
        );
    }
    // The text is cut also where a flag tells the status.
    let flagged = json!({"content": "Exit code: 2\nOutput:\nx", "extra": {"is_error": false}});
    assert_eq!(sole_outcome(Format::Atif, answered("codex", &flagged, &json!({}))), "ok/flag \"x\"");
}

#[test]
fn what_writers_append_is_cut() {
    for (content, expected) in [
        ("[error] tool reported failure", ""),
        ("a\n[error] tool reported failure", "a\n[error] tool reported failure"),
        ("a\n\n[error] tool reported failure\n", "a\n\n[error] tool reported failure\n"),
        ("a\n\n[metadata] {}\n\n[error] tool reported failure", "a\n\n[metadata] {}"),
        ("[metadata] {\"a\": 1}", ""),
        ("[metadata] {\"a\": 1} b", "[metadata] {\"a\": 1} b"),
        ("a[metadata] {}", "a[metadata] {}"),
        ("a\n[metadata] {}", "a"),
        ("a\n[metadata] [1] ", "a"),
        ("a\n[metadata] 7", "a"),
        ("a\n[metadata] {\n[metadata] {}", "a\n[metadata] {"),
        ("a\n[metadata] {}\n[metadata] no", "a\n[metadata] {}\n[metadata] no"),
        ("a\n\n\n[metadata] {}", "a\n"),
        ("a\n\n[stdout]\nb\n\n[stderr]\nc\n[metadata] {}", "a"),
        ("a\n\n[stderr]\nb\n\n[stdout]\nc\n[metadata] {}", "a\n\n[stderr]\nb"),
        ("a\n\n[stderr]\nb\n[metadata] {}", "a"),
        ("[stdout]\na\n[metadata] {}", ""),
        ("[stderr]\na\n[metadata] {}", ""),
        ("a\n\n[stdout]\nb", "a\n\n[stdout]\nb"),
        ("[stdout]\nb", "[stdout]\nb"),
        ("a\n", "a\n"),
        ("", ""),
    ] {
        let outcome = sole_outcome(Format::Atif, answered("a", &json!({"content": content}), &json!({})));
        assert_eq!(outcome.split_once(' ').unwrap().1, format!("{expected:?}"), "{content:?}");
    }
}

#[test]
fn results_find_their_calls_by_id_or_by_place() {
    let call = |id: &str| json!({"tool_call_id": id, "function_name": "t", "arguments": {}});
    let step = |calls: Value, results: Value| json!({"source": "agent", "tool_calls": calls, "observation": {"results": results}});
    for (steps, expected) in [
        // By id first, then by place among those that are left.
        (
            json!([step(
                json!([call("a"), call("b"), call("c")]),
                json!([{"content": "1"}, {"content": "2", "source_call_id": "b"}, {"content": "3"}])
            )]),
            vec!["0 t{} #a ok/none \"1\"", "0 t{} #b ok/none \"2\"", "0 t{} #c ok/none \"3\""],
        ),
        // One for several.
        (
            json!([step(json!([call("a"), call("b")]), json!([{"content": "1"}]))]),
            vec!["0 t{} #a ok/none \"1\"", "0 t{} #b ok/none \"1\""],
        ),
        (
            json!([step(json!([call("a"), call("b")]), json!([{"content": null}]))]),
            vec![
                "0 t{} #a unknown/none/unanswered -",
                "0 t{} #b unknown/none/unanswered -",
                "unpaired: 2 calls, 0 results",
            ],
        ),
        // What is no answer takes its place.
        (
            json!([step(json!([call(""), call("")]), json!([{}, {"content": "2"}]))]),
            vec![
                "0 t{} #- unknown/none/unanswered -",
                "0 t{} #- ok/none \"2\"",
                "unpaired: 1 calls, 0 results",
            ],
        ),
        // Too many.
        (
            json!([step(json!([call("a")]), json!([{"content": "1"}, {"content": "2"}]))]),
            vec!["0 t{} #a ok/none \"1\"", "0 environment: 2", "unpaired: 0 calls, 1 results"],
        ),
        // Without calls, a message.
        (
            json!([step(json!([]), json!([{"content": {"b": 1.0, "a": 2}}, {"content": " "}]))]),
            vec!["0 environment: {\"a\":2,\"b\":1}"],
        ),
        // In another step, also before the call; ids that repeat.
        (
            json!([
                step(json!([]), json!([{"content": "0", "source_call_id": "b"}])),
                step(json!([call("a"), call("a"), call("b")]), json!([])),
                step(
                    json!([]),
                    json!([{"content": "1", "source_call_id": "a"}, {"content": "2", "source_call_id": "a"}, {"content": "3", "source_call_id": "a"}])
                ),
            ]),
            vec![
                "1 t{} #a ok/none \"1\"",
                "1 t{} #a ok/none \"2\"",
                "1 t{} #b ok/none \"0\"",
                "2 environment: 3",
                "unpaired: 0 calls, 1 results",
            ],
        ),
        // A step that is a result names the call beside it, and says nothing of its own.
        (
            json!([
                step(json!([call("a")]), json!(null)),
                {"source": "agent", "message": "1", "observation": {"results": [{"content": "1"}]}, "extra": {"openclaw_role": "toolResult", "tool_call_id": "a"}},
            ]),
            vec!["0 t{} #a ok/none \"1\""],
        ),
        (
            json!([
                step(json!([call("a")]), json!(null)),
                {"source": "agent", "message": "1", "observation": {"results": [{"content": "1"}, {}]}, "extra": {"openclaw_role": "toolResult", "tool_call_id": "a"}},
            ]),
            vec!["0 t{} #a unknown/none/unanswered -", "1 environment: 1", "unpaired: 1 calls, 0 results"],
        ),
    ] {
        assert_eq!(steps_told(&steps), expected, "{steps}");
    }
}

#[test]
fn results_in_steps_of_their_own() {
    let result = |message: &str, content: Value, success: Value| json!({"source": "system", "message": message, "observation": {"type": "tool_result", "content": content, "result": {"success": success}}});
    let calls = json!({"source": "agent", "tool_calls": [{"id": "t1", "name": "w", "arguments": null}, {"id": "t2", "name": "r"}]});
    for (step, expected) in [
        (
            result("Tool result for t1", json!("x"), json!(false)),
            vec!["1 w #t1 error/flag \"x\"", "1 r #t2 unknown/none/unanswered -"],
        ),
        (
            result("Tool result for t1", json!(null), json!(true)),
            vec!["1 w #t1 ok/flag -", "1 r #t2 unknown/none/unanswered -"],
        ),
        (
            result("Tool result for t1", json!(null), json!(1)),
            vec!["1 w #t1 unknown/none/unanswered -", "1 r #t2 unknown/none/unanswered -"],
        ),
        (
            result("Tool result for t1", json!({"a": 1}), json!(null)),
            vec!["1 w #t1 ok/none \"{\\\"a\\\":1}\"", "1 r #t2 unknown/none/unanswered -"],
        ),
        (
            result("Tool result for t 1", json!("x"), json!(true)),
            vec![
                "0 system: Tool result for t 1",
                "0 environment: x",
                "1 w #t1 unknown/none/unanswered -",
                "1 r #t2 unknown/none/unanswered -",
            ],
        ),
        (
            result("Tool result for ", json!("x"), json!(true)),
            vec![
                "0 system: Tool result for ",
                "0 environment: x",
                "1 w #t1 unknown/none/unanswered -",
                "1 r #t2 unknown/none/unanswered -",
            ],
        ),
    ] {
        let mut told = steps_told(&json!([step, calls]));
        told.retain(|line| !line.starts_with("unpaired"));
        assert_eq!(told, expected, "{step}");
    }
}

#[test]
fn trajectories_and_their_sub_agents() {
    let input = json!({
        "schema_version": "1.4", "trajectory_id": "T", "session_id": "S",
        "agent": {"name": "n", "model": "old", "extra": {"parent_session_id": "P"}},
        "steps": [
            {"source": "user", "message": [{"type": "text", "text": "a"}, {"type": "image"}, "b"], "extra": {"stop_reason": "no agent"}},
            {"source": "agent", "message": "copy", "is_copied_context": true, "model_name": "x", "tool_calls": [{"tool_call_id": "1", "function_name": "t"}]},
            {"source": "agent", "message": " \n", "extra": {"stop_reason": "tool"}},
            {"source": "agent", "message": "end", "extra": {"stop_reason": null}},
            "no step",
        ],
        "subagent_trajectories": [
            {"session_id": "U", "steps": [{"source": "agent", "model_name": "y", "tool_calls": [{"tool_call_id": "1", "name": "n", "function_name": "", "arguments": "[1]"}]}],
             "subagent_trajectories": [{"trajectory_id": "V", "agent": {"name": "v"}, "steps": []}]},
            {"trajectory_id": "elsewhere"},
        ],
    });
    assert_eq!(
        told(Format::Atif, input.to_string()),
        [
            "T < P by n of old, tool",
            "0 user: a\nb",
            "3 agent: end",
            "U < T by - of y, -",
            "0 n[1] #1 unknown/none/unanswered -",
            "unpaired: 1 calls, 0 results",
            "V < U by v of -, -",
        ]
    );
}

#[test]
fn tokens_and_times() {
    let step = |metrics: Value| {
        json!({"source": "agent", "timestamp": "1970-01-01T00:00:01.5+00:00", "metrics": metrics,
            "tool_calls": [{"tool_call_id": "1", "function_name": "t"}, {"tool_call_id": "2", "function_name": "t"}]})
    };
    let steps = json!([
        step(
            json!({"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4, "extra": {"total_tokens": 12}})
        ),
        step(
            json!({"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 90, "extra": {"total_tokens": 102}})
        ),
        step(json!(null)),
    ]);
    let (traces, _) = read(Format::Atif, trajectory("a", &steps).to_string());
    let time = Some(1_500_000_000);
    let expected = [
        [time, Some(10), Some(4), Some(2), None],
        [time, Some(100), Some(90), Some(2), None],
        [time, None, None, None, None],
    ];
    assert_eq!(costs(&traces[0]), expected.iter().flat_map(|cost| [*cost, *cost]).collect::<Vec<_>>());
}

#[test]
fn messages_bear_the_tokens_of_responses_without_calls() {
    let step = |source: &str, input: u64, calls: Value| {
        json!({"source": source, "message": "x", "tool_calls": calls,
            "metrics": {"prompt_tokens": input}})
    };
    let call = || json!([{"tool_call_id": "1", "function_name": "t"}]);
    let steps = json!([
        step("user", 1, Value::Null),
        step("agent", 2, Value::Null),
        step("agent", 3, call()),
        step("agent", 4, json!([])),
        {"source": "agent", "message": "x"},
    ]);
    let (traces, _) = read(Format::Atif, trajectory("a", &steps).to_string());
    let tokens = |input| [Some(input), None, None];
    assert_eq!(said(&traces[0]), [(1, tokens(2)), (3, tokens(4))]);
    assert_eq!(costs(&traces[0]), [[None, Some(3), None, None, None]]);
}

/// Calls that share an id, each with the result at its own place, and then one result more.
#[test]
fn many_calls_of_one_id_that_have_their_results() {
    const CALLS: usize = 30_000;
    let call = json!({"tool_call_id": "x", "function_name": "f", "arguments": {}});
    let result = json!({"content": "o"});
    let more = json!({"source_call_id": "x", "content": "p"});
    let steps = json!([
        {"step_id": 1, "source": "agent", "message": "", "tool_calls": vec![call; CALLS],
         "observation": {"results": vec![result; CALLS]}},
        {"step_id": 2, "source": "agent", "message": "", "observation": {"results": [more]}},
    ]);
    let (traces, reading) = read(Format::Atif, trajectory("a", &steps).to_string());
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    assert_eq!(traces[0].steps().filter(|step| matches!(step.event(), Event::Action(_))).count(), CALLS);
}
