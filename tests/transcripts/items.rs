//! Items of `OpenAI`'s Responses.

use serde_json::{Value, json};
use wrongturn::read::Format;

use super::{actions, costs, known, lines, one, read, said, unpaired};

#[test]
fn calls_and_their_outputs() {
    let items = json!([
        {"role": "user", "content": "go"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "a", "id": "fc", "name": "f", "arguments": "{\"x\": 1.0}"},
        {"type": "custom_tool_call", "call_id": "b", "name": "g", "input": "ls", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        {"type": "local_shell_call", "call_id": "", "id": "c", "action": {"command": ["ls"]}},
        {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "2"}, {"type": "input_image"}]},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "1"},
        {"type": "local_shell_call_output", "id": "c", "output": null},
        {"type": "tool_search_call", "call_id": "d", "arguments": {"q": 1}},
        {"type": "something_new", "call_id": "d"},
        {"type": "computer_call", "call_id": "e", "action": null, "queries": ["q"]},
        {"type": "tool_search_output", "call_id": "d", "output": {"content": "x", "success": false}},
        {"type": "computer_call_output", "call_id": "e", "output": {"type": "computer_screenshot", "success": true}},
        {"type": "function_call_output", "call_id": "z", "output": "lost"},
        {"type": "function_call_output", "output": "no id"},
    ]);
    let trace = one(Format::OpenAiResponses, items.to_string());
    assert_eq!(
        lines(&trace),
        [
            "0 user: go",
            r#"0 f({"x":1}) ok/none #a = 1"#,
            "0 g({\"input\":\"ls\"}) ok/none #b = 2\n{\"type\":\"input_image\"}",
            "0 agent: so",
            r#"0 local_shell({"command":["ls"]}) ok/none #c"#,
            r#"1 tool_search({"q":1}) error/flag #d = x"#,
            r#"1 computer(["q"]) ok/flag #e = {"success":true,"type":"computer_screenshot"}"#,
            "2 environment: lost",
            "2 environment: no id",
        ]
    );
    assert_eq!(unpaired(&trace), (0, 2));
}

#[test]
fn calls_that_answer_themselves() {
    for (item, expected) in [
        (
            json!({"type": "web_search_call", "id": "w", "status": "completed", "action": {"q": 1}}),
            r#"0 web_search({"q":1}) ok/flag #w"#,
        ),
        (
            json!({"type": "file_search_call", "id": "w", "status": "failed", "queries": ["a"]}),
            r#"0 file_search(["a"]) error/flag #w"#,
        ),
        (
            json!({"type": "code_interpreter_call", "id": "w", "status": "incomplete"}),
            "0 code_interpreter() error/flag #w",
        ),
        (
            json!({"type": "image_generation_call", "id": "w", "status": "in_progress"}),
            "0 image_generation() unknown/none/unanswered #w",
        ),
        (
            json!({"type": "mcp_call", "id": "m", "name": "g", "arguments": "{}", "output": "o"}),
            "0 g({}) ok/none #m = o",
        ),
        (
            json!({"type": "mcp_call", "id": "m", "name": "g", "error": "down", "output": "o"}),
            "0 g() error/flag #m = down",
        ),
        (
            json!({"type": "mcp_call", "id": "m", "name": "g", "error": null, "output": null}),
            "0 g() unknown/none/unanswered #m",
        ),
    ] {
        let trace = one(Format::OpenAiResponses, json!([item]).to_string());
        assert_eq!(actions(&trace), [expected], "{item}");
    }
}

#[test]
fn how_outputs_end() {
    const REFUSED: &str = "The user doesn't want to proceed with this tool use.";
    for (output, expected) in [
        (json!("Error: x"), "ok/none = Error: x"),
        (json!("Process exited with code 2\nOutput:\nx"), "error/exit_code = x"),
        (json!("Process running with session ID 4\nOutput:\nx"), "unknown/text/running = x"),
        (json!("aborted by user"), "unknown/text/interrupted = aborted by user"),
        (json!("[Request interrupted by user]"), "ok/none = [Request interrupted by user]"),
        (json!({"content": REFUSED, "success": true}), &format!("unknown/text/refused = {REFUSED}")),
        (
            json!({"content": "aborted by user", "success": true}),
            "unknown/text/interrupted = aborted by user",
        ),
        (json!({"content": "Exit code: 1\nOutput:\nx", "success": true}), "ok/flag = x"),
        (json!({"content": null, "success": false}), "error/flag"),
        (json!({"content": [{"type": "input_text", "text": "x"}]}), "ok/none = x"),
        (json!({"success": false}), r#"error/flag = {"success":false}"#),
    ] {
        let call = json!({"type": "function_call", "call_id": "a", "name": "f"});
        let result = json!({"type": "function_call_output", "call_id": "a", "output": output});
        let trace = one(Format::OpenAiResponses, json!([call, result]).to_string());
        assert_eq!(
            actions(&trace),
            [format!("0 f() {}", expected.replacen(' ', " #a ", 1))].map(|line| if expected.contains(' ') {
                line
            } else {
                format!("0 f() {expected} #a")
            }),
            "{output}"
        );
    }
}

/// `Some`: what of the trace is known, and its actions.
fn around(object: &Value) -> Option<(String, Vec<String>)> {
    let (traces, reading) = read(object.to_string());
    let trace = traces.first()?;
    assert_eq!(reading.format, Some(Format::OpenAiResponses), "{object}");
    Some((known(trace), actions(trace)))
}

#[test]
fn objects_around_items() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "f"});
    let user = json!({"role": "user", "content": "x"});
    let found = |known: &str| Some((known.to_owned(), vec!["0 f() unknown/none/unanswered #a".to_owned()]));
    for (object, expected) in [
        (json!({"items": [user, call]}), found("- - - - - - - -")),
        (json!({"messages": [user, call], "id": "i"}), found("i - - - - - - -")),
        (
            json!({"input": "text", "output": [call], "object": "response", "status": "failed"}),
            found("- - - - - - - failed"),
        ),
        (json!({"input": [user, call], "model": "m"}), found("- - m - - - - -")),
        (json!({"input": [user], "output": [call], "status": "failed"}), found("- - - - - - - -")),
        // Neither calls nor outputs; something without `type` or `role`; keys of others.
        (json!({"input": [user], "output": []}), None),
        (json!({"items": [user]}), None),
        (json!({"items": [call, {"name": "x"}]}), None),
        (json!({"items": [call], "steps": []}), None),
        (json!({"input": "text", "output": "text"}), None),
    ] {
        assert_eq!(around(&object), expected, "{object}");
    }
}

#[test]
fn the_tokens_of_a_response_are_those_of_its_output() {
    let response = json!({
        "object": "response",
        "input": [{"type": "function_call", "call_id": "a", "name": "f"}],
        "output": [{"type": "function_call", "call_id": "b", "name": "f"}, {"type": "function_call", "call_id": "c", "name": "f"}],
        "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    });
    let trace = one(Format::OpenAiResponses, response.to_string());
    let told = [Some(9), Some(2), Some(4), None, None];
    assert_eq!(costs(&trace), [[None; 5], told, told]);
    let turns: Vec<u64> = trace.steps().map(|step| step.turn()).collect();
    assert_eq!(turns, [0, 1, 1]);
    assert_eq!(said(&trace), []);
    // Of an output of texts alone, they are the texts'.
    let words = json!({"type": "message", "role": "assistant", "content": "x"});
    let response = json!({
        "input": [words, {"type": "function_call_output", "call_id": "a", "output": "x"}],
        "output": [{"type": "reasoning"}, words],
        "usage": {"input_tokens": 9, "output_tokens": 2}
    });
    let trace = one(Format::OpenAiResponses, response.to_string());
    assert_eq!(said(&trace), [(1, [Some(9), None, Some(2)])]);
}
