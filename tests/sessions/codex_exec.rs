//! What `codex exec --json` prints: threads, items, statuses, and lines of other origin between.

use serde_json::{Value, json};
use wrongturn::read::Format;

use crate::{lines, sole_outcome, told};

pub(crate) fn event(kind: &str, item: &Value) -> Value {
    json!({"type": kind, "item": item})
}

fn thread(id: &str) -> Value {
    json!({"type": "thread.started", "thread_id": id})
}

pub(crate) fn command(id: &str, command: &str, status: &str) -> Value {
    json!({"id": id, "type": "command_execution", "command": command, "aggregated_output": "x", "status": status})
}

#[test]
fn the_status_is_told_by_the_first_mark_that_holds() {
    for (members, expected) in [
        (json!({"status": "completed", "exit_code": 0}), "ok/flag \"x\""),
        (json!({"status": "failed", "exit_code": 1}), "error/flag"),
        (json!({"status": "declined"}), "unknown/flag/refused"),
        (json!({"status": "in_progress"}), "unknown/flag/running"),
        (json!({"exit_code": 1}), "error/exit_code"),
        (json!({"exit_code": 0}), "ok/exit_code"),
        (json!({"status": "odd", "exit_code": null}), "ok/none"),
        (json!({"aggregated_output": null}), "ok/none -"),
        (json!({"aggregated_output": "Exit code: 1"}), "ok/none \"Exit code: 1\""),
    ] {
        let mut item =
            json!({"id": "1", "type": "command_execution", "command": "c", "aggregated_output": "x"});
        for (key, value) in members.as_object().unwrap() {
            item[key] = value.clone();
        }
        let outcome = sole_outcome(Format::CodexExec, lines(&[event("item.completed", &item)]));
        assert!(outcome.starts_with(expected), "{members}: {outcome}, expected {expected}");
    }
}

#[test]
fn items_of_every_kind() {
    for (item, expected) in [
        (json!({"type": "command_execution"}), vec!["0 command_execution{\"command\":null} #1 ok/none -"]),
        (
            json!({"type": "file_change", "changes": [{"kind": "add"}], "status": "completed"}),
            vec!["0 file_change{\"changes\":[{\"kind\":\"add\"}]} #1 ok/flag ?"],
        ),
        (json!({"type": "web_search", "query": "q"}), vec!["0 web_search{\"query\":\"q\"} #1 ok/none ?"]),
        (
            json!({"type": "collab_tool_call", "tool": "spawn", "prompt": "p", "status": "failed"}),
            vec!["0 spawn{\"prompt\":\"p\"} #1 error/flag ?"],
        ),
        (
            json!({"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": 1}, "result": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}}),
            vec!["0 s/t{\"a\":1} #1 ok/none \"a\\nb\""],
        ),
        (
            json!({"type": "mcp_tool_call", "tool": "t", "result": {"b": 1.0}}),
            vec!["0 /t #1 ok/none \"{\\\"b\\\":1}\""],
        ),
        (
            json!({"type": "mcp_tool_call", "result": {"content": null}, "error": {"message": "e"}}),
            vec!["0 / #1 ok/none -"],
        ),
        (
            json!({"type": "mcp_tool_call", "result": null, "error": {"message": "e"}, "status": "failed"}),
            vec!["0 / #1 error/flag \"e\""],
        ),
        (json!({"type": "mcp_tool_call", "error": "e"}), vec!["0 / #1 ok/none \"e\""]),
        (json!({"type": "agent_message", "text": "m"}), vec!["0 agent: m"]),
        (json!({"type": "error", "message": "e"}), vec!["0 environment: e"]),
        (json!({"type": "reasoning", "text": "r"}), vec![]),
        (json!({"type": "todo_list", "items": []}), vec![]),
        (json!({"type": "agent_message", "text": " "}), vec![]),
    ] {
        let mut item = item;
        item["id"] = "1".into();
        let mut values = told(Format::CodexExec, lines(&[event("item.completed", &item)])).split_off(1);
        assert_eq!(values, expected, "{item}");
        // What has only begun has no outcome yet, and nothing to say.
        values = told(Format::CodexExec, lines(&[event("item.started", &item)])).split_off(1);
        assert_eq!(
            values.iter().filter(|line| line.contains("#1 unknown/none/unanswered -")).count(),
            expected.iter().filter(|line| line.contains("#1")).count()
        );
        assert!(values.iter().all(|line| line.contains('#') || line.starts_with("unpaired")), "{values:?}");
    }
}

#[test]
fn items_stand_where_they_were_first_seen() {
    let values = [
        event("item.started", &command("a", "one", "in_progress")),
        thread("T"),
        json!({"type": "turn.started"}),
        event("item.started", &command("a", "one", "in_progress")),
        event("item.completed", &json!({"id": "r", "type": "reasoning"})),
        event("item.started", &command("b", "two", "in_progress")),
        event("item.completed", &json!({"id": "m", "type": "agent_message", "text": "between"})),
        event("item.updated", &command("a", "one more", "in_progress")),
        event("item.completed", &command("b", "two", "failed")),
        event("item.completed", &command("a", "last", "completed")),
        json!({"type": "turn.failed"}),
        thread("U"),
        event("item.completed", &command("a", "other", "completed")),
        thread("T"),
        event("item.completed", &command("a", "again", "completed")),
        event("item.started", &command("", "no id", "in_progress")),
        json!({"type": "turn.completed", "usage": {}}),
        json!({"type": "error", "message": "x"}),
    ];
    assert_eq!(
        told(Format::CodexExec, lines(&values)),
        [
            "- < - by codex of -, -",
            "0 command_execution{\"command\":\"one\"} #a unknown/none/unanswered -",
            "unpaired: 1 calls, 0 results",
            "T < - by codex of -, turn.completed",
            "0 command_execution{\"command\":\"last\"} #a ok/flag \"x\"",
            "2 command_execution{\"command\":\"two\"} #b error/flag \"x\"",
            "3 agent: between",
            "4 command_execution{\"command\":\"again\"} #a ok/flag \"x\"",
            "5 command_execution{\"command\":\"no id\"} #- unknown/none/unanswered -",
            "unpaired: 1 calls, 0 results",
            "U < - by codex of -, -",
            "0 command_execution{\"command\":\"other\"} #a ok/flag \"x\"",
        ]
    );
}

#[test]
fn lines_of_other_origin_are_counted() {
    let input = format!(
        "Reading prompt from stdin...\n12\n\n{}{{\"$ref\": 1}}\n[1]\nERROR failed\n{}{{\"type\": \"item.comp",
        lines(&[thread("T")]),
        lines(&[event("item.completed", &command("a", "c", "completed"))]),
    );
    let (traces, reading) = crate::read(Format::CodexExec, input);
    assert_eq!(traces[0].steps().len(), 1);
    let passed: Vec<_> =
        reading.passed_over.iter().map(|(reason, count)| format!("{reason}: {count}")).collect();
    assert_eq!(
        passed,
        ["lines of other types: 1", "lines that are no JSON: 3", "lines that are no object: 2"]
    );
}
