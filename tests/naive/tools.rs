//! Draws calls as agents make them: command lines, polls of running processes, edits, look-ups, and
//! hand-overs.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use wrongturn::Status;

use super::run::Call;

const COMMANDS: [&str; 14] = [
    "cd /r && pytest -q",
    "pytest -q 2>&1 | tail -5",
    "timeout 60 python3 a.py || true",
    "cat <<'EOF' > a.py\nimport numpy\nprint(1)\nEOF",
    "python a.py",
    "bash -lc 'FOO=1 make test'",
    "sed -i s/a/b/ src/b.py && git commit -am x",
    "sed -n '1,20p' src/b.py",
    "cat src/b.py",
    "grep -rn numpy src | head",
    "pip install numpy",
    "sudo rm -rf /r/x; ls -la /r",
    "sleep 5; tail log.txt",
    "git push",
];

const ANSWERS: [&str; 14] = [
    "",
    "a.py\nb.py",
    "5 passed in 0.31s",
    "FAILED tests/test_b.py::test_one\n2 failed, 3 passed in 0.4s",
    "Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No module named 'numpy'",
    "bash: numpy: command not found",
    "rm: cannot remove '/r/x': Permission denied",
    "Command timed out after 60 s",
    "Process running with session ID 7",
    "Process exited with code 1\nOutput:\n1 failed",
    "Sibling tool call errored",
    r#"{"error": "order #W7 not found"}"#,
    r#"{"success": false, "message": "not allowed", "status": "failed"}"#,
    r#"{"status": "in progress"}"#,
];

fn tools() -> Vec<(&'static str, Vec<Value>)> {
    let commands = |key: &str| COMMANDS.iter().map(|line| json!({key: line, "timeout": 60})).collect();
    let ids = |ids: &[&str]| ids.iter().map(|id| json!({"order_id": id})).collect();
    vec![
        ("bash", commands("command")),
        ("exec_command", commands("cmd")),
        ("write_stdin", vec![json!({"session_id": 7, "chars": ""}), json!({"session_id": 8})]),
        ("edit_file", vec![json!({"path": "src/b.py", "old": "a"}), json!({"path": "a.py", "old": "b"})]),
        ("get_order", ids(&["#W7", "#W8", "#W9"])),
        ("cancel_order", ids(&["#W7", "#W8"])),
        ("transfer_to_human_agents", vec![json!({"summary": "x"})]),
        ("update_plan", vec![json!({"plan": ["x"]}), json!({"plan": []})]),
    ]
}

pub(super) fn call() -> impl Strategy<Value = Call> {
    let tool = prop_oneof![2 => Just(0), 3 => 0..tools().len()];
    let arguments = tool.prop_flat_map(|at| {
        let (name, arguments) = tools().swap_remove(at);
        (Just(name), prop_oneof![1 => Just(arguments[0].clone()), 2 => select(arguments)])
    });
    let status = select(vec![Status::Ok, Status::Ok, Status::Error, Status::Error, Status::Unknown]);
    let answer = prop_oneof![1 => Just(None), 12 => select(&ANSWERS[..]).prop_map(Some)];
    (arguments, status, answer).prop_map(|((name, arguments), status, answer)| Call {
        name,
        arguments: Some(arguments.to_string()),
        observation: answer.map(str::to_owned),
        status,
        error_type: None,
        left_out: (false, false),
    })
}
