//! How calls ended: the marks and texts of results in chats.

use serde_json::{Value, json};
use wrongturn::read::Format;

use super::{actions, one};

/// The status of a result that is this message, and its observation.
fn of_message(message: &Value) -> String {
    let mut result = json!({"role": "tool", "tool_call_id": "1"});
    for (key, value) in message.as_object().unwrap() {
        result[key] = value.clone();
    }
    let call = json!({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}]});
    told(Format::OpenAiChat, &json!([call, result]))
}

/// The same of a block.
fn of_block(block: &Value) -> String {
    let mut result = json!({"type": "tool_result", "tool_use_id": "1"});
    for (key, value) in block.as_object().unwrap() {
        result[key] = value.clone();
    }
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f"}]});
    told(Format::AnthropicMessages, &json!([call, {"role": "user", "content": [result]}]))
}

fn told(format: Format, chat: &Value) -> String {
    let actions = actions(&one(format, chat.to_string()));
    actions[0].strip_prefix("0 f() ").unwrap().replace(" #1", "")
}

const REFUSED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected";
const CANCELLED: &str = "<tool_use_error>Sibling tool call errored</tool_use_error>";

#[test]
fn messages_that_are_results() {
    for (message, expected) in [
        (json!({"content": "fine"}), "ok/none = fine"),
        (json!({"content": ""}), "ok/none = "),
        (json!({"content": null}), "ok/none"),
        (json!({"content": {"b": 1, "a": 2.0}}), r#"ok/none = {"a":2,"b":1}"#),
        // Texts that stand before every mark.
        (json!({"content": REFUSED, "is_error": false}), &format!("unknown/text/refused = {REFUSED}")),
        (json!({"content": CANCELLED, "is_error": true}), &format!("unknown/text/cancelled = {CANCELLED}")),
        (
            json!({"content": "Permission to use Bash has been denied", "error": true}),
            "unknown/text/refused = Permission to use Bash has been denied",
        ),
        (
            json!({"content": "a\n[Request interrupted by user]", "is_error": false}),
            "unknown/text/interrupted = a\n[Request interrupted by user]",
        ),
        (
            json!({"content": "aborted by user after 3s", "extra": {"returncode": 0}}),
            "unknown/text/interrupted = aborted by user after 3s",
        ),
        // Flags, in their order; what is no flag is none.
        (json!({"content": "x", "is_error": true, "error": false}), "error/flag = x"),
        (json!({"content": "x", "is_error": null, "error": true, "status": "success"}), "error/flag = x"),
        (json!({"content": "x", "error": "text", "status": "error"}), "error/flag = x"),
        (json!({"content": "Error: x", "status": "success"}), "ok/flag = Error: x"),
        (json!({"content": "x", "status": "done", "extra": {"returncode": 2}}), "error/exit_code = x"),
        (json!({"content": null, "is_error": true}), "error/flag"),
        (json!({"content": "x", "is_error": false, "extra": {"returncode": 2}}), "ok/flag = x"),
        // Codes.
        (json!({"content": "Error: x", "extra": {"returncode": 0}}), "ok/exit_code = Error: x"),
        (json!({"content": "x", "extra": {"returncode": -1}}), "error/exit_code = x"),
        (json!({"content": "x", "extra": {"returncode": "1"}}), "ok/none = x"),
        // Texts.
        (
            json!({"content": "Command running in background with ID: 7"}),
            "unknown/text/running = Command running in background with ID: 7",
        ),
        (
            json!({"content": "<tool_use_error>no</tool_use_error>"}),
            "error/text = <tool_use_error>no</tool_use_error>",
        ),
        (json!({"content": "Exit code 1\nError: x"}), "error/exit_code = Exit code 1\nError: x"),
        (json!({"content": "Exit code 0"}), "ok/exit_code = Exit code 0"),
        (json!({"content": "Exit code 1 or so"}), "ok/none = Exit code 1 or so"),
        (json!({"content": "Chunk ID: 1\nProcess exited with code 3\nOutput:\nx"}), "error/exit_code = x"),
        (json!({"content": "Wall time: 1\nOutput:\nError: x"}), "ok/none = Error: x"),
        (json!({"content": "{\"output\": \"o\", \"metadata\": {\"exit_code\": 1}}"}), "error/exit_code = o"),
        (json!({"content": "exec_command failed for `x`"}), "error/text = exec_command failed for `x`"),
        (json!({"content": "Error: x"}), "error/text = Error: x"),
        (json!({"content": "Errors: none"}), "ok/none = Errors: none"),
        (json!({"content": "no Error: x"}), "ok/none = no Error: x"),
        // A flag decides; the header is no output all the same.
        (json!({"content": "Exit code: 3\nOutput:\nx", "is_error": false}), "ok/flag = x"),
    ] {
        assert_eq!(of_message(&message), expected, "{message}");
    }
}

#[test]
fn blocks_that_are_results() {
    for (block, expected) in [
        (json!({"content": "fine"}), "ok/none = fine"),
        (json!({}), "ok/none"),
        (json!({"is_error": true}), "error/flag"),
        (json!({"content": "x", "is_error": true}), "error/flag = x"),
        (json!({"content": "x", "is_error": "yes"}), "ok/none = x"),
        (json!({"content": "Error: x"}), "ok/none = Error: x"),
        (json!({"content": "Exit code 1\nx"}), "ok/none = Exit code 1\nx"),
        (json!({"content": "Exit code: 1\nOutput:\nx"}), "ok/none = Exit code: 1\nOutput:\nx"),
        (json!({"content": REFUSED, "is_error": true}), &format!("unknown/text/refused = {REFUSED}")),
        (json!({"content": REFUSED}), &format!("unknown/text/refused = {REFUSED}")),
        (json!({"content": CANCELLED, "is_error": true}), &format!("unknown/text/cancelled = {CANCELLED}")),
        (
            json!({"content": "[Request interrupted by user for tool use]", "is_error": true}),
            "unknown/text/interrupted = [Request interrupted by user for tool use]",
        ),
        (
            json!({"content": "[Request interrupted by user for tool use]", "is_error": false}),
            "ok/flag = [Request interrupted by user for tool use]",
        ),
        (json!({"content": "[Request interrupted by user]"}), "ok/none = [Request interrupted by user]"),
    ] {
        assert_eq!(of_block(&block), expected, "{block}");
    }
}
