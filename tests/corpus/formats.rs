//! A directory of everything: each file is read by its own format, and what is of none is named.

use super::*;

/// A file of every format: its name says nothing of the format. Format, runs with their ids and actions.
type Own = (&'static str, Format, &'static [(&'static str, u64)], &'static str);

const OWN: &[Own] = &[
    (
        "01.json",
        Format::Tau2,
        &[("tau2 run", 1)],
        r#"{"info": {"agent_info": {"llm": "m"}}, "tasks": [], "simulations": [{"id": "tau2 run", "reward_info": {"reward": 1.0},
            "messages": [{"role": "assistant", "tool_calls": [{"id": "1", "name": "look", "arguments": {}}]},
            {"role": "tool", "id": "1", "content": "a wall", "error": false}]}]}"#,
    ),
    (
        "02.json",
        Format::TauBench,
        &[("3/0", 1)],
        r#"[{"task_id": 3, "reward": 0.0, "info": {}, "traj": [{"role": "user", "content": "hello"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "a wall"}]}]"#,
    ),
    (
        "03.json",
        Format::Atif,
        &[("atif run", 1), ("atif sub", 0)],
        r#"{"schema_version": "ATIF-v1.5", "session_id": "atif run", "agent": {"name": "a", "version": "1"},
            "steps": [{"step_id": 1, "source": "agent", "message": "x", "tool_calls": [
                {"tool_call_id": "1", "function_name": "look", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "1", "content": "a wall"}]}}],
            "subagent_trajectories": [{"schema_version": "ATIF-v1.5", "session_id": "atif sub", "agent": {"name": "b"},
                "steps": [{"step_id": 1, "source": "user", "message": "x"}]}]}"#,
    ),
    (
        "04.jsonl",
        Format::CodexRollout,
        &[("codex run", 1)],
        r#"{"type": "session_meta", "payload": {"id": "codex run"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "1"}}
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1", "output": "a wall"}}
"#,
    ),
    (
        "05.jsonl",
        Format::CodexExec,
        &[("exec run", 1)],
        r#"Reading prompt from stdin...
{"type": "thread.started", "thread_id": "exec run"}
{"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0, "status": "completed"}}
"#,
    ),
    (
        "06.jsonl",
        Format::ClaudeCode,
        &[("claude run", 1), ("claude run/sub", 0)],
        r#"{"type": "summary", "summary": "x"}
{"type": "assistant", "sessionId": "claude run", "uuid": "1", "message": {"id": "m", "role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]}}
{"type": "user", "sessionId": "claude run", "uuid": "2", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a wall"}]}}
{"type": "user", "sessionId": "claude run", "uuid": "3", "isSidechain": true, "agentId": "sub", "message": {"role": "user", "content": "x"}}
"#,
    ),
    (
        "07.json",
        Format::Inspect,
        &[("1_epoch_1", 1)],
        r#"{"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [{"id": 1, "messages": [
            {"role": "assistant", "content": "x", "tool_calls": [{"id": "1", "function": "look", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "1", "content": "a wall"}]}]}"#,
    ),
    (
        "08.eval",
        Format::Inspect,
        &[("7_epoch_2", 0)],
        r#"{"version": 2, "eval": {"task": "t"}, "samples": [{"id": 7, "epoch": 2, "messages": [{"role": "user", "content": "x"}]}]}"#,
    ),
    (
        "09.json",
        Format::GeminiCli,
        &[("gemini run", 1)],
        r#"{"sessionId": "gemini run", "projectHash": "h", "messages": [{"type": "gemini", "content": "x", "model": "g",
            "toolCalls": [{"id": "1", "name": "look", "args": {}, "status": "success", "result": []}]}]}"#,
    ),
    (
        "10.json",
        Format::OpenCode,
        &[("opencode run", 1)],
        r#"{"info": {"id": "opencode run"}, "messages": [{"info": {"role": "assistant"}, "parts": [
            {"type": "tool", "callID": "1", "tool": "look", "state": {"status": "completed", "input": {}, "output": "a wall"}}]}]}"#,
    ),
    (
        "11.traj",
        Format::SweAgent,
        &[("11#0", 1)],
        r#"{"environment": "e", "history": [], "info": {}, "trajectory": [
            {"action": "ls", "observation": "a", "response": "I look.", "thought": ""}]}"#,
    ),
    (
        "12.json",
        Format::OpenHands,
        &[("12#0", 1)],
        r#"[{"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}},
            {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "a"}]"#,
    ),
    (
        "13.json",
        Format::MiniSweAgent1,
        &[("13#0", 1)],
        "{\"trajectory_format\": \"mini-swe-agent-1\", \"messages\": [
            {\"role\": \"assistant\", \"content\": \"I look.\\n```bash\\nls\\n```\"},
            {\"role\": \"user\", \"content\": \"<returncode>0</returncode>\"}]}",
    ),
    (
        "14.json",
        Format::OpenAiResponses,
        &[("14#0", 1)],
        r#"[{"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "a wall"}]"#,
    ),
    (
        "15.json",
        Format::AnthropicMessages,
        &[("15#0", 1)],
        r#"{"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "a wall"}]}]}"#,
    ),
    (
        "16.jsonl",
        Format::OpenAiChat,
        &[("16#0", 1), ("chat run", 0)],
        r#"{"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "a wall"}]}
{"id": "chat run", "messages": [{"role": "user", "content": "x"}]}
"#,
    ),
    (
        "17.json",
        Format::BenchTrace,
        &[("episode", 1)],
        r#"{"version": 1, "game": "zork1", "episodes": [{"id": "episode", "snapshot": {"final_score": 1, "max_score": 2,
            "trajectory": [{"step": 0, "obs": "** Hall **", "action": "look"}]}}]}"#,
    ),
    (
        "18.ndjson",
        Format::Native,
        &[("native run", 1)],
        "{\"version\": 1, \"id\": \"native run\", \"steps\": [{\"name\": \"look\", \"status\": \"ok\"}]}\n",
    ),
    (
        "19.json",
        Format::OpenTelemetry,
        &[("0af7651916cd43dd8448eb211c80319c", 1)],
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "name": "invoke_agent a",
                "startTimeUnixNano": "1", "endTimeUnixNano": "9",
                "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}]},
            {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203332",
                "parentSpanId": "b7ad6b7169203331", "name": "execute_tool look",
                "startTimeUnixNano": "2", "endTimeUnixNano": "3",
                "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                    {"key": "gen_ai.tool.name", "value": {"stringValue": "look"}}]}]}]}]}"#,
    ),
];

/// What lies beside runs, and looks a little like one.
const FOREIGN: &[(&str, &[u8])] = &[
    ("f01.json", br#"{"name": "package", "version": "1.0.0", "scripts": {"test": "x"}, "steps": "many"}"#),
    ("f02.json", br#"{"compilerOptions": {"strict": true}, "messages": {"role": "user"}}"#),
    ("f03.json", br#"[{"conversations": [{"speaker": "human", "words": "x"}]}]"#),
    ("f04.json", br#"[{"role": "user", "parts": [{"text": "x"}]}]"#),
    ("f05.json", br#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "chat"}]}]}]}"#),
    ("f06.jsonl", b"{\"v\": 1, \"agent\": \"claude\", \"cli_version\": \"2\", \"type\": \"user\"}\n{\"type\": \"end\"}\n"),
    ("f07.jsonl", b"{\"role\": \"user\", \"message\": {\"content\": []}}\n{\"role\": \"assistant\", \"message\": {}}\n"),
    ("f08.jsonl", b"{\"type\": \"message\", \"message\": {\"role\": \"user\", \"content\": \"x\"}}\n{\"type\": \"session\"}\n"),
    ("f09.jsonl", b"{\"__header__\": true, \"schema_version\": \"ATIF-v1.5\"}\n{\"step_id\": 1, \"source\": \"user\", \"message\": \"x\"}\n"),
    ("f10.index.json", br#"{"session_id": "s", "agent": {"name": "a"}, "checkpoint": 1, "status": "done"}"#),
    ("f11.json", br#"{"id": "1", "stats": {"n_trials": 2}, "n_total_trials": 2}"#),
    ("f12.json", br#"{"cells": [{"cell_type": "code", "source": ["x"]}], "nbformat": 4}"#),
    ("f13.json", br#"{"results": {"tool": {"name": "pytest"}, "summary": {"tests": 1}, "tests": []}}"#),
    ("f14.json", br#"{"instance_id": "x", "model_patch": "diff", "model_name_or_path": "m"}"#),
    ("f15.json", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
    ("f16.jsonl", b"12:00 INFO started\n12:01 INFO ended\n"),
    ("f17.json", b"[]"),
    ("f18.json", b"{}"),
    ("f19.json", b"7"),
    ("f20.traj", br#"{"history": [{"role": "user", "content": "x"}]}"#),
    ("f21.json", b""),
];

fn mixed(folder: &Folder) {
    for (name, _, _, content) in OWN {
        folder.write(&format!("runs/{name}"), content);
    }
    for (name, content) in FOREIGN {
        folder.write(&format!("other/{name}"), content);
    }
}

#[test]
fn there_is_a_file_of_every_format() {
    for format in Format::VARIANTS {
        let has_fixture = Path::new("tests/formats").join(format.to_string()).is_dir();
        assert!(
            has_fixture || OWN.iter().any(|(_, own, ..)| own == format),
            "{format}: no fixture of it in tests/formats, and no file in OWN"
        );
    }
}

#[test]
fn every_file_is_read_by_its_own_format_and_foreign_ones_are_named() {
    let folder = Folder::new("all-formats");
    mixed(&folder);
    let mut first = None;
    for options in [
        threads(1),
        threads(2),
        threads(8),
        ScanOptions { whole_file_limit: 0, piece_bytes: 1, ..threads(2) },
    ] {
        let files = scanner(options).collect([&folder.0]).unwrap();
        assert_eq!(files.len(), OWN.len() + FOREIGN.len());
        let (foreign, own) = files.split_at(FOREIGN.len());
        for (file, (name, format, runs, _)) in own.iter().zip(OWN) {
            assert!(file.path.ends_with(name));
            assert_eq!(file.format, Some(*format), "{name}: {:?}", file.errors);
            assert!(file.errors.is_empty(), "{name}: {:?}", file.errors);
            let found: Vec<(String, u64)> =
                file.traces.iter().map(|record| (record.trace_id(), record.actions)).collect();
            let expected: Vec<(String, u64)> =
                runs.iter().map(|(id, actions)| ((*id).to_owned(), *actions)).collect();
            assert_eq!(found, expected, "{name}");
        }
        for (file, (name, _)) in foreign.iter().zip(FOREIGN) {
            assert!(file.path.ends_with(name));
            assert!(file.traces.is_empty() && file.format.is_none(), "{name} is taken for {:?}", file.format);
            assert_eq!(file.summary.errors, 1, "{name}: {:?}", file.errors);
            assert_eq!(file.errors[0].path(), Some(&*file.path), "{name}");
        }
        let told = dump(&files);
        assert_eq!(*first.get_or_insert_with(|| told.clone()), told);
    }
    // As traces, the same.
    let (mut runs, mut errors) = (0, 0);
    wrongturn::scan::read_files([&folder.0], &ReadOptions::default(), |event| {
        runs += usize::from(matches!(event, ScanEvent::Record(_)));
        errors += usize::from(matches!(event, ScanEvent::Error(_)));
        Ok::<(), wrongturn::Error>(())
    })
    .unwrap();
    let expected = OWN.iter().map(|(_, _, runs, _)| runs.len()).sum::<usize>();
    assert_eq!((runs, errors), (expected, FOREIGN.len()));
}

#[test]
fn a_format_that_is_asked_for_takes_no_file_of_another() {
    let folder = Folder::new("asked-format");
    mixed(&folder);
    // Formats whose runs are read one by one name what they miss in each; the others refuse whole documents.
    for format in [Format::Atif, Format::ClaudeCode, Format::CodexRollout, Format::Inspect, Format::OpenCode]
    {
        let read = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let files = scanner(ScanOptions { read, ..threads(2) }).collect([&folder.0]).unwrap();
        let with_runs: Vec<_> = files.iter().filter(|file| !file.traces.is_empty()).collect();
        let expected = OWN.iter().filter(|(_, own, ..)| *own == format).count();
        assert_eq!(with_runs.len(), expected, "{format}: {with_runs:#?}");
    }
}
