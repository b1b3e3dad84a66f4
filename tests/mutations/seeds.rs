//! Small documents of every format and every framing, from which mutations start.

use serde_json::Value;
use wrongturn::read::Format;

/// A document, and what it is read as.
pub(crate) struct Seed {
    pub(crate) format: Format,
    pub(crate) text: Vec<u8>,
}

/// Every document.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for runs in [&TAU2, &TAU_BENCH, &BENCH_TRACE, &NATIVE] {
        seeds.extend(framed(runs).into_iter().map(|text| Seed { format: runs.format, text: text.into() }));
    }
    for (format, document) in DOCUMENTS {
        let one_line = document.replace('\n', "");
        let two_lines = format!("{one_line}\n{one_line}\n");
        seeds.extend([document.to_owned(), one_line, pretty(document)].map(|text| seed(format, &text)));
        // A list in each line is no document of its own.
        if document.starts_with('{') {
            seeds.push(seed(format, &two_lines));
        }
    }
    for (format, lines) in LINES {
        seeds.extend([lines.to_owned(), lines.replace('\n', "\r\n\r\n")].map(|text| seed(format, &text)));
        seeds.push(seed(format, &format!("\u{feff}warning: noise\n{lines}{{\"cut\": \"")));
    }
    #[cfg(feature = "inspect")]
    seeds.push(Seed { format: Format::Inspect, text: archive() });
    seeds
}

fn seed(format: Format, text: &str) -> Seed {
    Seed { format, text: text.as_bytes().to_vec() }
}

fn pretty(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("the document is JSON");
    format!("{value:#}\n")
}

/// A format whose runs are values of their own.
struct Runs {
    format: Format,
    /// The key of the list of runs, and what stands beside it, each with a comma.
    list: Option<(&'static str, &'static str)>,
    each: [&'static str; 2],
}

/// The runs in every framing.
fn framed(format: &Runs) -> Vec<String> {
    let [first, second] = format.each.map(|run| run.replace('\n', ""));
    let list = format!("[{first}, {second}]");
    let mut texts = vec![
        first.clone(),
        pretty(&first),
        format!("{first}\n{second}\n"),
        format!("{first}\r\n\r\n{second}"),
        format!("{first} {second}"),
        format!("{}{}", pretty(&first), pretty(&second)),
        list.clone(),
        pretty(&list),
        format!("\u{feff}[\n{first},\n{second}\n]\n"),
    ];
    if let Some((key, beside)) = format.list {
        let before = format!("{{{beside}\"{key}\": {list}}}");
        let bare = beside.trim_end_matches([',', ' ']);
        let comma = if bare.is_empty() { "" } else { ", " };
        let behind = format!("{{\"{key}\": {list}{comma}{bare}}}");
        texts.extend([
            pretty(&before),
            format!("{before}\n{behind}\n"),
            format!("{before}{first}"),
            format!("{{{beside}\n\"{key}\":\n[\n{first},\n{second}\n]\n}}"),
        ]);
        texts.extend([before, behind]);
    }
    texts
}

const TAU2: Runs = Runs {
    format: Format::Tau2,
    list: Some((
        "simulations",
        r#""info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "airline"}}, "tasks": [{"id": "t", "evaluation_criteria": {"actions": [{"action_id": "0", "requestor": "assistant", "name": "book", "arguments": {"seat": 1}, "compare_args": ["seat"]}]}}], "#,
    )),
    each: [
        r#"{"id": "r0", "task_id": "t", "trial": 0, "reward_info": {"reward": 1.0}, "termination_reason": "user_stop", "messages": [
{"role": "user", "content": "book", "turn_idx": 0},
{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "name": "book", "arguments": {"seat": 1}, "requestor": "assistant"}, {"id": "b", "name": "look", "arguments": {}}], "turn_idx": 1},
{"role": "tool", "tool_messages": [{"role": "tool", "id": "a", "content": "Error: full", "error": true, "requestor": "assistant"}, {"id": "b", "content": "{\"x\": [1]}", "error": false}]},
{"role": "user", "content": "", "tool_calls": [{"id": "u", "name": "check", "arguments": {}, "requestor": "user"}]},
{"role": "tool", "id": "u", "content": "ok", "requestor": "user", "error": false}]}"#,
        r#"{"id": "r1", "task_id": 7, "trial": 1, "reward_info": null, "messages": [
{"role": "assistant", "tool_calls": [{"id": "", "name": "wait", "arguments": null}], "timestamp": "2026-01-01T00:00:00", "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
{"role": "tool", "id": "gone", "content": null, "error": false}]}"#,
    ],
};

const TAU_BENCH: Runs = Runs {
    format: Format::TauBench,
    list: None,
    each: [
        r##"{"task_id": 3, "trial": 1, "reward": 0.5, "info": {"task": {"actions": [{"name": "cancel", "kwargs": {"id": "x"}}]}, "error": null}, "traj": [
{"role": "system", "content": "# Airline Agent Policy"}, {"role": "user", "content": "cancel x"},
{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "cancel", "arguments": "{\"id\": \"x\"}"}}]},
{"role": "tool", "tool_call_id": "a", "name": "cancel", "content": "Error: unknown"},
{"role": "assistant", "content": "Thought: y\nAction:\n{\"name\": \"look\", \"arguments\": {\"at\": 1}}"},
{"role": "user", "content": "API output: nothing"}]}"##,
        r#"{"task_id": "crash", "reward": 0.0, "info": {"error": "boom", "traceback": "x"}, "traj": []}"#,
    ],
};

const BENCH_TRACE: Runs = Runs {
    format: Format::BenchTrace,
    list: Some(("episodes", r#""version": "1", "game": "zork", "#)),
    each: [
        r#"{"id": "e0", "game": "zork1", "model": "m", "task_type": "explore", "snapshot": {"final_score": 5, "max_score": 350, "trajectory": [
{"step": 0, "obs": "West of House\nA door.", "action": "open door", "reward": 0},
{"step": 1, "obs": "It is locked.", "action": "open door", "location": "West of House", "cum_score": 5},
{"step": 2, "obs": "It is locked.", "action": ""}]},
"failure_instances": {"core_failure": [{"type": "strategy/loop", "where": [0, 1], "diagnosis": "again"}], "marginal_failure": []},
"milestones": [{"walkthrough_step": 2, "score_after": 5, "action": "open window"}]}"#,
        r#"{"id": 2, "snapshot": {"final_score": null, "trajectory": [{"obs": "** Hall **", "action": null}, {"obs": "Taken.", "action": "take lamp", "progress": 0.5}]}}"#,
    ],
};

const NATIVE: Runs = Runs {
    format: Format::Native,
    list: Some(("traces", "")),
    each: [
        r#"{"version": 1, "id": "n", "agent": "a", "model": "m", "task": "t", "trial": 2, "labels": {"k": "v"}, "reward": 0.25, "unpaired": {"calls": 1, "messages": 0},
"failures": [{"mode": "strategy/loop", "where": [0, 1], "core": true}], "route": {"kind": "scores", "milestones": [{"reference_step": 2, "score": 9.0}]},
"steps": [{"actor": "user", "text": "go"}, {"name": "look", "arguments": {"at": [1, {"b": null}]}, "call_id": "c", "observation": "x", "status": "error", "provenance": "flag", "step": 4, "turn": 1, "progress": 3.0, "time": 5, "usage": {"duration_ns": 5, "input_tokens": 900}},
{"name": "look", "not_recorded": ["arguments", "observation"], "status": "unknown", "reason": "running"}]}"#,
        r#"{"version": 1, "route": {"kind": "actions", "milestones": [{"reference_step": 0, "actor": "agent", "name": "look", "arguments": {}, "compare": ["at"]}]}, "steps": []}"#,
    ],
};

/// Formats that are one document.
const DOCUMENTS: [(Format, &str); 15] = [
    (
        Format::Atif,
        r#"{"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "codex", "model_name": "m", "extra": {"parent_session_id": "p"}}, "steps": [
{"step_id": 1, "source": "user", "message": "go"},
{"step_id": 2, "source": "agent", "message": [{"type": "text", "text": "look"}], "timestamp": "2026-01-01T00:00:00Z", "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 1},
"tool_calls": [{"tool_call_id": "a", "function_name": "shell", "arguments": {"cmd": "ls"}}, {"tool_call_id": "b", "function_name": "shell", "arguments": "{}"}],
"observation": {"results": [{"source_call_id": "a", "content": "Chunk ID: 1\nProcess exited with code 1\nOutput:\nx\n\n[metadata] {\"interrupted\": false}", "extra": {"is_error": false}}, {"content": "y\n\n[error] tool reported failure"}]}, "extra": {"stop_reason": "end", "exec_exit_code": 0}},
{"step_id": 3, "source": "agent", "is_copied_context": true, "message": "old"}],
"subagent_trajectories": [{"trajectory_id": "sub", "agent": {"name": "x"}, "steps": [{"source": "agent", "message": "m"}]}]}"#,
    ),
    (
        Format::Atif,
        r#"{"schema_version": "1.4", "agent": {"name": "d"}, "steps": [
{"source": "system", "message": "Tool result for a", "observation": {"type": "tool_result", "content": "early", "result": {"success": false}}},
{"source": "agent", "message": "", "tool_calls": [{"id": "a", "name": "t", "arguments": {}}]},
{"source": "agent", "extra": {"openclaw_role": "toolResult", "tool_call_id": "z", "is_error": true}, "message": "copy", "observation": {"results": [{"content": null}]}}]}"#,
    ),
    (
        Format::Inspect,
        r#"{"version": 2, "eval": {"task": "sec", "model": "m", "solver": "react"}, "samples": [
{"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [{"id": "a", "function": "bash", "arguments": {"cmd": "ls"}}]}, {"role": "tool", "tool_call_id": "a", "content": "attachment://0123456789abcdef0123456789abcdef", "error": {"type": "timeout", "message": "late"}}],
"scores": {"match": {"value": "C"}}, "attachments": {"0123456789abcdef0123456789abcdef": "long"}, "events": [{"event": "model", "output": {"usage": {"input_tokens": 3, "output_tokens": 1}}}]},
{"id": "two", "epoch": 2, "messages": [], "scores": {"a": {"value": 0.5}, "b": {"value": "I"}}}]}"#,
    ),
    (
        Format::GeminiCli,
        r#"{"sessionId": "s", "projectHash": "h", "messages": [{"id": "1", "type": "user", "content": "go"}, {"type": "info", "content": "x"},
{"type": "gemini", "content": "ok", "model": "g", "tokens": {"input": 3, "output": 2, "cached": 1}, "timestamp": "2026-01-01T00:00:00.000Z", "toolCalls": [
{"id": "a", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success", "result": [{"functionResponse": {"response": {"output": "x\nExit Code: 2"}}}]},
{"id": "b", "name": "read", "args": {}, "status": "cancelled", "result": "no"}, {"id": "c", "name": "read", "args": null, "status": "error"}]}]}"#,
    ),
    (
        Format::OpenCode,
        r#"{"info": {"id": "s", "parentID": "p"}, "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "go"}, {"type": "text", "text": "x", "synthetic": true}]},
{"info": {"role": "assistant", "modelID": "m", "finish": "stop", "tokens": {"input": 3, "output": 1, "cache": {"read": 1}}, "time": {"created": 1767225600000}}, "parts": [{"type": "reasoning", "text": "r"}, {"type": "tool", "callID": "a", "tool": "bash", "state": {"status": "completed", "input": {"c": "ls"}, "output": "x", "metadata": {"exit": 1}}},
{"type": "tool", "callID": "b", "tool": "edit", "state": {"status": "error", "input": {}, "error": "Tool execution aborted"}}, {"type": "tool", "callID": "c", "tool": "edit", "state": {"status": "running"}}]}]}"#,
    ),
    (
        Format::SweAgent,
        r#"{"environment": "swe", "history": [{"role": "system", "content": "x"}], "info": {"exit_status": "submitted (exit_cost)"}, "trajectory": [
{"action": "open a.py\n", "observation": "[File: a.py]", "response": "I open", "thought": "t", "state": "{}"},
{"action": "python x", "observation": "Traceback (most recent call last):\n  x", "response": ""},
{"action": "foo", "observation": "bash: foo: command not found\r\n", "thought": "t"}, {"action": "", "observation": null}]}"#,
    ),
    (
        Format::OpenHands,
        r#"[{"id": 0, "source": "user", "action": "message", "args": {"content": "go"}, "timestamp": "2026-01-01T00:00:00"},
{"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "t"}, "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "a", "model_response": {"id": "r", "model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 1}}}},
{"id": 2, "source": "agent", "cause": 1, "observation": "run", "content": "x", "extras": {"metadata": {"exit_code": 1}}, "success": false},
{"id": 3, "source": "agent", "action": "think", "args": {"thought": "t"}}, {"id": 4, "source": "environment", "cause": 3, "observation": "user_rejected", "content": "no"}, {"id": 5, "source": "agent", "action": "finish", "args": {}}]"#,
    ),
    (
        Format::OpenHands,
        r#"{"trajectory": [{"id": "0", "source": "agent", "action": "read", "args": {"path": "a"}}, {"id": "1", "source": "agent", "cause": "0", "observation": "error", "content": "none", "extras": {}}]}"#,
    ),
    (
        Format::MiniSweAgent1,
        r#"{"trajectory_format": "mini-swe-agent-1", "instance_id": "i", "info": {"exit_status": "Submitted", "config": {"model": {"model_name": "m"}}}, "messages": [
{"role": "system", "content": "s"}, {"role": "assistant", "content": "do\n```bash\nls\n```"}, {"role": "user", "content": "<returncode>1</returncode>\n<output>x</output>"},
{"role": "assistant", "content": "none"}, {"role": "user", "content": "format"}, {"role": "assistant", "content": "```bash\nsleep 9\n```"}, {"role": "user", "content": "The last command <command>sleep 9</command> timed out"}]}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"{"object": "response", "id": "r", "model": "m", "status": "completed", "input": [{"role": "user", "content": "go"}], "usage": {"input_tokens": 5, "output_tokens": 2}, "output": [
{"type": "reasoning", "summary": []}, {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{\"x\": 1}"}, {"type": "function_call_output", "call_id": "a", "output": "Exit code: 2\nOutput:\nx"},
{"type": "web_search_call", "id": "w", "status": "failed", "action": {"query": "q"}}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "end"}]}]}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"[{"type": "message", "role": "user", "content": "go"}, {"type": "custom_tool_call", "call_id": "a", "name": "p", "input": "x"}, {"type": "custom_tool_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "aborted by user"}]}]"#,
    ),
    (
        Format::AnthropicMessages,
        r#"{"id": "c", "model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}}, {"type": "tool_use", "id": "b", "name": "t", "input": {}}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}, {"type": "image", "source": {}}], "is_error": true}, {"type": "tool_result", "tool_use_id": "b", "content": "[Request interrupted by user]", "is_error": true}]}]}"#,
    ),
    (
        Format::AnthropicMessages,
        r#"[{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]"#,
    ),
    (
        Format::OpenAiChat,
        r#"{"trace_id": "c", "task_id": 4, "model": "m", "agent": "a", "reward": 1, "info": {"exit_status": "done"}, "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "go"},
{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{\"x\": 1}"}}, {"id": "b", "custom": {"name": "p", "input": "y"}}]},
{"role": "tool", "tool_call_id": "a", "content": "Error: x", "extra": {"returncode": 1}}, {"role": "tool", "tool_call_id": "b", "content": "x", "is_error": false, "status": "success"},
{"role": "assistant", "function_call": {"name": "old", "arguments": ""}}, {"role": "function", "name": "old", "content": null}, {"role": "exit", "content": "x", "extra": {"exit_status": "ok"}}]}"#,
    ),
    (
        Format::OpenAiChat,
        r#"[{"role": "user", "content": "go"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "a", "content": "Exit code 2"}]"#,
    ),
];

/// Formats of lines.
const LINES: [(Format, &str); 5] = [
    (
        Format::ClaudeCode,
        r#"{"type": "file-history-snapshot", "snapshot": {}}
{"type": "user", "uuid": "1", "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "go"}}
{"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s", "message": {"id": "m", "model": "c", "role": "assistant", "content": [{"type": "text", "text": "look"}, {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 2}}}
{"type": "assistant", "uuid": "3", "sessionId": "s", "message": {"id": "m", "role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "Task", "input": {}}], "stop_reason": "tool_use"}}
{"type": "user", "uuid": "4", "sessionId": "s", "message": {"role": "user", "content": [{"tool_use_id": "a", "type": "tool_result", "content": "Exit code 1", "is_error": true}]}, "toolUseResult": {"backgroundTaskId": "x"}}
{"type": "assistant", "uuid": "5", "isSidechain": true, "agentId": "g", "sessionId": "s", "message": {"id": "n", "content": "side"}}
{"type": "user", "uuid": "6", "sessionId": "other", "message": {"role": "user", "content": "hi"}}
"#,
    ),
    (
        Format::CodexRollout,
        r#"{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}}
{"type": "turn_context", "payload": {"model": "m"}}
{"type": "response_item", "payload": {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "go"}]}}
{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{\"cmd\": \"ls\"}", "call_id": "a"}}
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "a", "output": "Chunk ID: 1\nProcess exited with code 1\nOutput:\nx"}}
{"type": "response_item", "payload": {"type": "mcp_call", "id": "q", "name": "x", "arguments": "{}", "error": "no"}}
{"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": "p", "call_id": "b", "status": "completed"}}
{"type": "event_msg", "payload": {"type": "patch_apply_end", "call_id": "b", "success": false}}
{"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "b", "output": {"content": "x", "success": true}}}
{"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 5, "output_tokens": 2, "cached_input_tokens": 1}}}}
{"type": "event_msg", "payload": {"type": "task_complete"}}
{"type": "compacted", "payload": {"message": "x"}}
"#,
    ),
    (
        Format::CodexExec,
        r#"{"type": "thread.started", "thread_id": "T"}
{"type": "turn.started"}
{"type": "item.started", "item": {"id": "i0", "type": "command_execution", "command": "ls", "status": "in_progress"}}
{"type": "item.completed", "item": {"id": "i0", "type": "command_execution", "command": "ls", "aggregated_output": "x", "exit_code": 1, "status": "failed"}}
{"type": "item.completed", "item": {"id": "i1", "type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": 1}, "result": {"content": [{"type": "text", "text": "x"}]}}}
{"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "end"}}
{"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 2}}
{"type": "thread.started", "thread_id": "U"}
{"type": "item.updated", "item": {"id": "i0", "type": "file_change", "changes": []}}
"#,
    ),
    (
        Format::OpenAiChat,
        r#"{"role": "user", "content": "go"}
{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}]}
{"role": "tool", "tool_call_id": "a", "content": "Command running in background with ID: 1"}
"#,
    ),
    (
        Format::OpenAiResponses,
        r#"{"type": "message", "role": "user", "content": "go"}
{"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"}
{"type": "function_call_output", "call_id": "a", "output": "x"}
"#,
    ),
];

/// An archive of Inspect, its files stored as they are.
#[cfg(feature = "inspect")]
fn archive() -> Vec<u8> {
    let files = [
        ("header.json", r#"{"version": 2, "eval": {"task": "t", "model": "m"}}"#),
        (
            "samples/1_epoch_1.json",
            r#"{"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "function": "bash", "arguments": {}}]}, {"role": "tool", "tool_call_id": "a", "content": "y"}]}"#,
        ),
        ("samples/2_epoch_1.json", r#"{"id": 2, "epoch": 1, "messages": []}"#),
    ];
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let size = u32::try_from(text.len()).unwrap();
        let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for number in [crc32(text.as_bytes()), size, size] {
            about.extend(number.to_le_bytes());
        }
        about.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        about.extend([0, 0]);
        let offset = u32::try_from(bytes.len()).unwrap();
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&about);
        bytes.extend(name.bytes().chain(text.bytes()));
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&about);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.bytes());
    }
    let (start, size) = (u32::try_from(bytes.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\x00\x00\x00\x00\x03\x00\x03\x00");
    bytes.extend(size.to_le_bytes().into_iter().chain(start.to_le_bytes()).chain([0, 0]));
    bytes
}

/// The checksum of zip archives.
#[cfg(feature = "inspect")]
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}
