//! Tests `wrongturn guard` and `wrongturn watch`.

use serde_json::Value;
use serde_json::json;
use std::fs;
use std::process::Stdio;

use crate::support::{Folder, command, ends};

/// As the hook of an agent, the program keeps a state file for each session and warns once. A watched session
/// ends after its idle time.
#[test]
fn guard_answers_hooks_and_watches_sessions() {
    let folder = Folder::new("guard");
    let line = |number: usize, kind: &str, content: Value| {
        json!({"type": kind, "uuid": format!("u{number}"), "sessionId": "s", "message": {"role": kind, "content": content}})
            .to_string()
    };
    let mut session = line(0, "user", json!("make the tests pass")) + "\n";
    let mut said = Vec::new();
    for number in 0..5 {
        let id = format!("toolu_{number}");
        let call = json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "pytest"}}]);
        let result =
            json!([{"type": "tool_result", "tool_use_id": id, "content": "1 failed", "is_error": true}]);
        session += &format!("{}\n", line(2 * number + 1, "assistant", call));
        session += &format!("{}\n", line(2 * number + 2, "user", result));
        let transcript = folder.write("session.jsonl", &session);
        let hook = json!({"hook_event_name": "PostToolUseFailure", "session_id": "s/1", "transcript_path": transcript,
            "tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_use_id": id, "error": "1 failed"});
        let mut child = command("guard")
            .args(["--state", &folder.path("states")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), hook.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let answer = String::from_utf8(output.stdout).unwrap();
        said.push(answer.contains("additionalContext") && answer.contains("[loop:"));
    }
    assert_eq!(said, [false, false, true, false, false]);
    let states: Vec<_> =
        fs::read_dir(folder.path("states")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(states.len() == 1 && states[0].to_string_lossy().starts_with("s_1-"), "{states:?}");
    let (found, _) = ends("watch", &[&folder.path("session.jsonl"), "--fail-fast"], 1);
    assert_eq!(found.lines().filter(|line| !line.starts_with(' ')).count(), 1, "{found}");
    // A later watch continues, and reports nothing twice.
    let watch = [&folder.path("session.jsonl"), "--idle", "1", "--state", &folder.path("state.json")];
    let (found, _) = ends("watch", &watch, 0);
    assert!(found.contains("loop:"), "{found}");
    assert_eq!(ends("watch", &watch, 0).0, "");
    assert!(ends("watch", &["README.md", "--idle", "1"], 3).1.contains("README.md: the input is not JSON"));
}

#[test]
fn the_installed_hook_has_the_options_given() {
    let options =
        ["--install", "codex", "--block-after", "3", "--min-confidence", "certain", "--state", "my states"];
    let (settings, note) = ends("guard", &options, 0);
    // The quotes are escaped, as in JSON.
    let command = r#"wrongturn guard --block-after 3 --min-confidence certain --state \"my states\""#;
    assert!(settings.contains(command) && note.contains("~/.codex/hooks.json"), "{settings}{note}");
    let (_, error) = ends("guard", &[], 1);
    assert!(error.starts_with("error: no hook on standard input"), "{error}");
}
