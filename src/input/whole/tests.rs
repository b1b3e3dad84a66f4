use super::*;
use crate::input::recognise::{Recognised, recognise};
use crate::{ReadOptions, TraceCollector};
use proptest::prelude::*;

/// Documents and lines that are read in one walk, with a place for a text that fills the first sample.
const BEGUN: [(Format, &str); 14] = [
    (
        Format::Atif,
        r#"{"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "codex", "model_name": "m"}, "steps": [
{"step_id": 1, "source": "user", "message": "hi"}, 7,
{"step_id": 2, "source": "agent", "message": "x", "tool_calls": [{"tool_call_id": "a", "function_name": "f", "arguments": {"k": [1, "\u00e9"]}}], "observation": {"results": [{"source_call_id": "a", "content": "Process exited with code 1\nOutput:\nno PAD"}]}, "metrics": {"prompt_tokens": 3}}],
"subagent_trajectories": [{"session_id": "t", "agent": {"name": "b"}, "steps": [{"source": "agent", "message": "y"}]}, {"z": 1}], "notes": "n"}"#,
    ),
    (
        Format::CodexRollout,
        r#"{"timestamp": "2026-07-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "pad": "hi"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "f", "arguments": "{\"a\": 1}", "call_id": "c"}}
noise
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "Exit code: 1\nOutput:\nno PAD"}}"#,
    ),
    (
        Format::CodexExec,
        r#"{"type": "thread.started", "thread_id": "t"}
{"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls", "status": "in_progress"}}
[1]
{"type": "item.completed", "item": {"id": "i", "type": "command_execution", "command": "ls -l", "aggregated_output": "PAD", "exit_code": 1, "status": "failed"}}
{"type": "item.completed", "item": {"id": "j", "type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": 1}}}
{"type": "turn.completed"}"#,
    ),
    (
        Format::ClaudeCode,
        r#"{"type": "summary", "summary": "x", "leafUuid": "u"}
{"type": "user", "sessionId": "s", "uuid": "1", "message": {"role": "user", "content": "hi"}}
{"type": "assistant", "sessionId": "s", "uuid": "2", "message": {"id": "m", "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}], "usage": {"input_tokens": 1}}}
{"type": "user", "sessionId": "s", "uuid": "3", "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": true}]}, "toolUseResult": "Error: no PAD"}
{"type": "user", "sessionId": "s", "uuid": "3", "message": {"content": "again"}}"#,
    ),
    (
        Format::GeminiCli,
        r#"{"sessionId": "s", "projectHash": "p", "messages": [{"id": "1", "timestamp": "2026-07-01T00:00:00Z", "type": "user", "content": "hi"}, {"type": "info", "content": "z"},
{"id": "2", "timestamp": "2026-07-01T00:00:00Z", "type": "gemini", "content": "x", "model": "m", "tokens": {"input": 1}, "toolCalls": [{"id": "c", "name": "f", "args": {"a": 1}, "status": "error", "resultDisplay": "no PAD"}]}], "kind": "main"}"#,
    ),
    (
        Format::OpenCode,
        r#"{"info": {"id": "s", "parentID": "r"}, "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}, 7,
{"info": {"role": "assistant", "modelID": "m", "finish": "stop"}, "parts": [{"type": "tool", "callID": "c", "tool": "bash", "state": {"status": "completed", "input": {"command": "x"}, "output": "no PAD", "metadata": {"exit": 1}}}]}], "x": 1}"#,
    ),
    (
        Format::OpenHands,
        r#"[{"id": 0, "source": "user", "action": "message", "args": {"content": "hi"}},
{"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "hidden": false}, "tool_call_metadata": {"function_name": "bash", "model_response": {"id": "r", "model": "m"}}},
{"id": 2, "source": "agent", "observation": "run", "content": "no PAD", "cause": 1, "extras": {"metadata": {"exit_code": 1}}}]"#,
    ),
    (
        Format::MiniSweAgent1,
        r#"{"info": {"exit_status": "Submitted"}, "messages": [{"role": "user", "content": "hi", "extra": {}}, 7,
{"role": "assistant", "content": "x\n\n```bash\nls\n```", "extra": {"timestamp": 1.5, "response": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}},
{"role": "user", "content": "<returncode>1</returncode>\n<output>\nno PAD</output>"}], "trajectory_format": "mini-swe-agent-1", "instance_id": "i"}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}, {"type": "reasoning"},
{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\": 1}"}, {"type": "function_call_output", "call_id": "c", "output": "Error: no PAD"}]"#,
    ),
    (
        Format::AnthropicMessages,
        r#"{"model": "m", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no PAD", "is_error": true}]}], "reward": 0.5}"#,
    ),
    (
        Format::OpenAiChat,
        r#"[{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
{"role": "tool", "tool_call_id": "c", "content": "Error: no PAD"}]"#,
    ),
    (
        Format::OpenAiChat,
        r#"{"id": "i", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
{"role": "tool", "tool_call_id": "c", "content": "<returncode>1</returncode>", "extra": {"returncode": 1}}, {"role": "assistant", "content": "PAD"}], "trajectory_format": "mini-swe-agent-1.1", "info": {"exit_status": "Submitted"}}"#,
    ),
    (
        Format::OpenTelemetry,
        r#"{"resourceSpans": [{"resource": {"attributes": [{"key": "pad", "value": {"stringValue": "hi"}}]}, "scopeSpans": [{"scope": {"name": "s"}, "spans": [
{"traceId": "0123456789abcdef0123456789abcdef", "spanId": "0123456789abcdef", "name": "execute_tool f", "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}, {"key": "gen_ai.tool.call.result", "value": {"stringValue": "a\nb PAD"}}], "status": {"code": 2}}]}]}]}"#,
    ),
    (
        Format::OpenTelemetry,
        r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "0123456789abcdef0123456789abcdef", "spanId": "0123456789abcdef", "eventName": "gen_ai.user.message", "body": {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "PAD"}}]}}}]}]}]}"#,
    ),
];

/// A document whose text makes it long enough.
fn padded(document: &str) -> Vec<u8> {
    document.replace("PAD", &"x y ".repeat(5000)).into_bytes()
}

/// Reads an input in one walk where it can be, or always takes it apart; what came of it, in words, and whether it was
/// read in one walk.
fn read_either(text: &[u8], at_once: bool) -> (String, bool) {
    let options = ReadOptions::default();
    let mut collector = TraceCollector::default();
    let mut runs = Runs::new(&options, &mut collector);
    let mut window = Window::over_slice(text);
    let mut is_read = false;
    match recognise(&mut window, None) {
        Ok(Recognised::Whole(ends, begun)) => {
            let is_text = simdutf8::basic::from_utf8(text).is_ok();
            let begun = begun.filter(|_| at_once && is_text);
            is_read = begun.is_some_and(|entry| read_at_once(entry, &window, &mut runs));
            if !is_read {
                read(&mut window, ends, None, None, &mut runs);
            }
        }
        Ok(_) => {}
        Err(error) => runs.fail(error),
    }
    let reading = runs.into_reading();
    (format!("{reading:?} {:?}", collector.traces), is_read)
}

#[test]
fn every_format_is_read_in_one_walk_as_it_is_when_taken_apart() {
    for (format, document) in BEGUN {
        let text = padded(document);
        let (at_once, is_read) = read_either(&text, true);
        assert!(is_read, "{format} is not read in one walk");
        assert_eq!(at_once, read_either(&text, false).0, "{format}");
        assert!(at_once.contains(&format!("{format:?}")), "{format}: {at_once}");
    }
}

#[test]
fn what_is_not_as_it_should_be_is_taken_apart() {
    let document = |format: Format| BEGUN.iter().find(|(other, _)| *other == format).unwrap().1;
    for (format, part, other) in [
        // What stands behind the steps counts as well.
        (Format::Atif, r#""notes": "n""#, r#""agent": {"name": "x"}"#),
        (Format::Atif, r#""notes": "n""#, r#""steps": []"#),
        (Format::Atif, r#""notes": "n""#, r#""schema_version": "x""#),
        (Format::Atif, r#""notes": "n"}"#, r#""notes": "n"} 7"#),
        (Format::Atif, r#""notes": "n"}"#, r#""notes": "\q"}"#),
        (Format::OpenCode, r#""x": 1"#, r#""info": {"id": "t"}"#),
        (Format::GeminiCli, r#""kind": "main""#, r#""steps": [], "agent": {}, "schema_version": "1.0""#),
        (Format::OpenHands, r#""source": "agent", "observation""#, r#""observation""#),
        (Format::MiniSweAgent1, "mini-swe-agent-1", "mini-swe-agent-2"),
        (
            Format::AnthropicMessages,
            r#""reward": 0.5"#,
            r#""items": [{"type": "function_call", "call_id": "c"}]"#,
        ),
        (Format::AnthropicMessages, r#""reward": 0.5"#, r#""history": []"#),
        (Format::ClaudeCode, r#""uuid": "3""#, r#""payload": {}, "uuid": "3""#),
        (Format::CodexExec, r#"{"type": "turn.completed"}"#, r#"{"type": "session_meta", "payload": {}}"#),
        (Format::CodexExec, "[1]", "{} {}"),
        (Format::CodexRollout, "noise", "{} {}"),
    ] {
        assert!(document(format).contains(part), "{format} has {part}");
        let text = padded(&document(format).replace(part, other));
        let (at_once, is_read) = read_either(&text, true);
        assert!(!is_read, "{format} with {other} is read in one walk");
        assert_eq!(at_once, read_either(&text, false).0, "{format} with {other}");
    }
}

proptest! {
    #[test]
    fn damaged_documents_are_read_alike(
        document in prop::sample::select(BEGUN.to_vec()),
        edits in prop::collection::vec((0usize..5, any::<prop::sample::Index>(), 0usize..20, prop::sample::select(
            vec!["", "{", "}", "[", "]", "\"", ",", ":", "\\", "\n", "null", "7", "1e999", "\u{1}", r"\ud800", "{}\n",
                r#""payload":{},"#, r#""item":{},"#, r#""role":"user","#, r#""steps":[],"#, r#""messages":[],"#])), 1..4),
    ) {
        let mut text = padded(document.1);
        let pad = document.1.find("PAD").unwrap_or_default();
        for (kind, place, length, part) in edits {
            // Nothing of interest is in the text that fills it.
            let mut at = place.index(document.1.len());
            at += if at > pad { text.len().saturating_sub(document.1.len()) } else { 0 };
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            let part = part.as_bytes().to_vec();
            match kind {
                0 => text.truncate(at),
                1 => drop(text.splice(at..at, part)),
                2 => drop(text.splice(at..end, part)),
                3 => { let again = text[at..end].to_vec(); text.splice(at..at, again); }
                _ => if let Some(byte) = text.get_mut(at) { *byte = part.first().copied().unwrap_or(b'x') },
            }
        }
        prop_assert_eq!(read_either(&text, true).0, read_either(&text, false).0);
    }
}
