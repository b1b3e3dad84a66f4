//! SWE-agent and mini-swe-agent: the trajectories of agents that work on repositories.

use serde_json::{Value, json};
use wrongturn::read::Format;

use super::{actions, costs, known, lines, one, read, said, unpaired};

fn swe_agent(steps: &Value) -> wrongturn::Trace {
    one(Format::SweAgent, json!({"trajectory": steps, "history": [], "info": {}}).to_string())
}

#[test]
fn steps_of_swe_agent() {
    let trace = one(
        Format::SweAgent,
        json!({
            "environment": "env", "info": {"exit_status": "submitted (exit_cost)"}, "history": [{"role": "user"}],
            "trajectory": [
                {"action": " ls -la\n", "observation": "x", "response": "r", "thought": "t", "execution_time": 0.5, "query": []},
                {"action": "", "observation": "wrongly formatted", "response": " ", "thought": "t"},
                {"action": "edit 1:2\nx", "observation": null, "response": null, "thought": "late"},
                {"action": "submit\r", "observation": {"b": 1.0}, "thought": 7},
                {"action": "openx a", "observation": ""},
            ]
        })
        .to_string(),
    );
    assert_eq!(known(&trace), "- - - swe-agent env - - submitted (exit_cost)");
    assert_eq!(
        lines(&trace),
        [
            "0 agent: r",
            r#"0 bash({"command":"ls -la"}) ok/none = x"#,
            "1 agent: t",
            "2 agent: late",
            r#"2 edit({"command":"edit 1:2\nx"}) unknown/none/unanswered"#,
            r#"3 submit({"command":"submit"}) ok/none = {"b":1}"#,
            r#"4 bash({"command":"openx a"}) ok/none = "#,
        ]
    );
    assert_eq!(unpaired(&trace), (1, 0));
    assert_eq!(costs(&trace)[0], [None, None, None, Some(500_000_000), None]);
}

#[test]
fn texts_of_failures_in_swe_agent() {
    for (observation, failed) in [
        ("No replacement was performed, old_str", true),
        (" \n\r\tYour proposed edit has introduced new syntax error(s). Please", true),
        ("Your proposed edit has introduced new syntax errors", false),
        ("Invalid `view_range`", true),
        ("Invalid view_range", false),
        ("EXECUTION TIMED OUT", true),
        ("Traceback (most recent call last):\r\n x", true),
        ("x\nTraceback (most recent call last):", false),
        ("bash: foo: command not found", true),
        ("/bin/bash: line 1: foo: command not found\r\nmore", true),
        ("/bin/sh: foo: command not found", true),
        ("sh: 1: cd: No such file or directory", true),
        ("zsh: foo: command not found", false),
        ("/usr/bin/bash: foo: command not found", false),
        ("bash: foo: command not found.", false),
        ("ok\nbash: foo: command not found", false),
        ("bash: Permission denied", false),
        ("1 failed", false),
    ] {
        let trace = swe_agent(&json!([{"action": "x", "observation": observation}]));
        let expected = if failed { "error/text" } else { "ok/none" };
        assert_eq!(actions(&trace), [format!("0 bash({{\"command\":\"x\"}}) {expected} = {observation}")]);
    }
}

#[test]
fn the_first_word_is_the_tool() {
    for (action, tool) in [
        ("str_replace_editor view /a", "str_replace_editor"),
        ("goto\t5", "goto"),
        ("debug_start x", "debug_start"),
        ("submits", "bash"),
        ("python x.py", "bash"),
        ("./submit", "bash"),
    ] {
        let trace = swe_agent(&json!([{"action": action, "observation": "x"}]));
        assert!(actions(&trace)[0].starts_with(&format!("0 {tool}(")), "{action}");
    }
}

#[test]
fn what_is_no_trajectory_of_swe_agent() {
    let step = json!({"action": "x", "observation": "x"});
    for document in [
        json!({"trajectory": [], "history": []}),
        json!({"trajectory": [step]}),
        json!({"trajectory": [step, {"action": "x"}], "history": []}),
        json!({"trajectory": [step, {"action": null, "observation": "x"}], "history": []}),
        json!({"trajectory": [step, 7], "history": []}),
        json!({"trajectory": vec![step.clone(); 100].into_iter().chain([json!({"action": "x"})]).collect::<Vec<_>>(), "history": []}),
    ] {
        let (traces, reading) = read(document.to_string());
        assert!(traces.is_empty() && reading.errors.len() == 1 && reading.format.is_none(), "{reading:?}");
    }
}

fn mini(messages: &Value) -> Value {
    json!({
        "trajectory_format": "mini-swe-agent-1", "instance_id": "i-1", "messages": messages,
        "info": {"exit_status": "Submitted", "config": {"model": {"model_name": "m"}}}
    })
}

#[test]
fn blocks_of_mini_swe_agent() {
    for (text, command) in [
        ("T\n```bash\nls\n```", Some("ls")),
        ("```bash \t\r\n\n ls -a \n\n``` more", Some("ls -a")),
        ("````bash\nls\n````", Some("ls")),
        ("```bash\n\n```", Some("")),
        ("```bash\necho '```bash x'\n```", Some("echo '```bash x'")),
        ("```bash\na\n```\n```bash\nb\n```", None),
        ("```sh\nls\n```", None),
        ("```bash ls\n```", None),
        ("```bash\n```", None),
        ("```bash\nls```", None),
        ("no block", None),
        ("```bash x\n```bash\nls\n```", Some("ls")),
    ] {
        let trace =
            one(Format::MiniSweAgent1, mini(&json!([{"role": "assistant", "content": text}])).to_string());
        let expected: Vec<String> = command
            .map(|command| format!("0 bash({}) unknown/none/unanswered", json!({"command": command})))
            .into_iter()
            .collect();
        assert_eq!(actions(&trace), expected, "{text:?}");
    }
}

#[test]
fn answers_of_mini_swe_agent() {
    for (content, expected) in [
        (json!("<returncode>0</returncode>\nx"), "ok/exit_code = <returncode>0</returncode>\nx"),
        (json!("<returncode>-15</returncode>"), "error/exit_code = <returncode>-15</returncode>"),
        (json!("<returncode></returncode>"), "ok/none = <returncode></returncode>"),
        (json!("<returncode>1"), "ok/none = <returncode>1"),
        (json!(" <returncode>1</returncode>"), "ok/none =  <returncode>1</returncode>"),
        (
            json!("The last command <command>x</command> timed out"),
            "error/text = The last command <command>x</command> timed out",
        ),
        (json!("diff --git"), "ok/none = diff --git"),
        (
            json!([{"type": "text", "text": "<returncode>1</returncode>"}, {"type": "image"}]),
            "error/exit_code = <returncode>1</returncode>",
        ),
        (json!({"type": "text"}), "ok/none = "),
        (Value::Null, "ok/none = "),
    ] {
        let call = json!({"role": "assistant", "content": "```bash\nx\n```"});
        let trace = one(
            Format::MiniSweAgent1,
            mini(&json!([call, {"role": "user", "content": content}])).to_string(),
        );
        assert_eq!(lines(&trace)[1..], [format!("0 bash({{\"command\":\"x\"}}) {expected}")], "{content}");
    }
}

#[test]
fn only_the_next_message_of_the_user_answers() {
    let call = json!({"role": "assistant", "content": "```bash\nx\n```"});
    let trace = one(
        Format::MiniSweAgent1,
        mini(&json!([
            {"role": "system", "content": "s"},
            {"role": "assistant", "content": "no block",
             "extra": {"response": {"usage": {"prompt_tokens": 7, "completion_tokens": 1}}}},
            {"role": "user", "content": "template"},
            call,
            {"role": "system", "content": "between"},
            {"role": "user", "content": "<returncode>0</returncode>"},
            {"role": "assistant", "content": "```bash\ny\n```",
             "extra": {"response": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}}},
            {"role": "user"},
            {"role": "exit", "content": "bye"}
        ]))
        .to_string(),
    );
    assert_eq!(
        lines(&trace),
        [
            "0 system: s",
            "1 agent: no block",
            "2 user: template",
            "3 agent: ```bash\nx\n```",
            r#"3 bash({"command":"x"}) unknown/none/unanswered"#,
            "4 system: between",
            "5 user: <returncode>0</returncode>",
            "6 agent: ```bash\ny\n```",
            r#"6 bash({"command":"y"}) ok/none = "#,
            "8 environment: bye",
        ]
    );
    assert_eq!(known(&trace), "- - m mini-swe-agent - i-1 - Submitted");
    assert_eq!(costs(&trace)[1], [Some(9), Some(2), None, None, None]);
    assert_eq!(said(&trace), [(1, [Some(7), None, Some(1)])]);
}

#[test]
fn places_in_text_that_is_no_utf8_are_those_of_its_bytes() {
    let text = b"{\"environment\": \"\xff\xff\", \"trajectory\": [{\"action\": \"ls\", \"observation\": \"a\"},\n \"\xff\", ]}\n";
    let (_, reading) = read(text);
    let place = reading.errors[0].location().unwrap();
    assert_eq!((place.line, place.column), (2, 7), "{:?}", reading.errors);
}
