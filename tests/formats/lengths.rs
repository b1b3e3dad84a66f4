//! Tests documents of any length, alone and one after another.

use wrongturn::read::{Format, read_stream};
use wrongturn::trace::TraceCollector;
use wrongturn::{ErrorKind, ReadOptions, read_traces};

/// Documents and lines. A text that makes them long replaces `PAD`.
const DOCUMENTS: [(Format, &str); 7] = [
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
        Format::OpenCode,
        r#"{"info": {"id": "s", "parentID": "r"}, "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "hi"}]}, 7,
{"info": {"role": "assistant", "modelID": "m", "finish": "stop"}, "parts": [{"type": "tool", "callID": "c", "tool": "bash", "state": {"status": "completed", "input": {"command": "x"}, "output": "no PAD", "metadata": {"exit": 1}}}]}], "x": 1}"#,
    ),
    (
        Format::OpenAiChat,
        r#"[{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
{"role": "tool", "tool_call_id": "c", "content": "Error: no PAD"}]"#,
    ),
    (
        Format::OpenTelemetry,
        r#"{"resourceSpans": [{"resource": {"attributes": [{"key": "pad", "value": {"stringValue": "hi"}}]}, "scopeSpans": [{"scope": {"name": "s"}, "spans": [
{"traceId": "0123456789abcdef0123456789abcdef", "spanId": "0123456789abcdef", "name": "execute_tool f", "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}, {"key": "gen_ai.tool.call.result", "value": {"stringValue": "a\nb PAD"}}], "status": {"code": 2}}]}]}]}"#,
    ),
];

fn document(format: Format) -> &'static str {
    DOCUMENTS.iter().find(|(other, _)| *other == format).map_or("", |(_, document)| document)
}

/// Returns a document of about 20 KB.
fn padded(document: &str) -> String {
    document.replace("PAD", &"x y ".repeat(5000))
}

#[test]
fn documents_in_lines_are_held_one_at_a_time() {
    let document = padded(document(Format::Atif)).replace('\n', " ");
    let lines = format!("{document}\n").repeat(20);
    let options = ReadOptions { most_held: 5 * document.len(), ..ReadOptions::default() };
    for text in [lines.clone(), format!("{document}\n\n \n"), document.clone()] {
        let mut collector = TraceCollector::default();
        let reading = read_stream(text.as_bytes(), &options, &mut collector);
        assert!(reading.errors.is_empty(), "{:?}", reading.errors);
        let traces = read_traces(text.as_bytes(), &ReadOptions::default()).0;
        assert_eq!(format!("{:?}", collector.traces), format!("{traces:?}"));
    }
    // A document that is too large is reported, and its beginning is not a run.
    let options = ReadOptions { most_held: document.len() / 2, ..ReadOptions::default() };
    let reading = read_stream(lines.as_bytes(), &options, &mut TraceCollector::default());
    assert_eq!((reading.runs, reading.errors[0].kind()), (0, ErrorKind::TooLarge));
}

#[test]
fn concatenated_documents_are_read_wherever_they_end() {
    let text = padded(&document(Format::Atif).replace(", ", ",\n"));
    let (one, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
    let (two, of_two) = read_traces([&*text, &*text].concat().as_bytes(), &ReadOptions::default());
    assert_eq!((of_two.format, reading.format), (Some(Format::Atif), Some(Format::Atif)));
    assert_eq!(format!("{two:?}"), format!("{:?}", [one.clone(), one].concat()));
}

#[test]
fn lines_are_recognised_by_keys_that_are_spelled_with_escapes() {
    for (format, key, spelled) in [
        (Format::ClaudeCode, r#""message":"#, r#""mess\u0061ge":"#),
        (Format::CodexRollout, r#""payload":"#, r#""p\u0061yload":"#),
        (Format::CodexExec, r#""item."#, r#""it\u0065m."#),
    ] {
        let document = document(format);
        let text = document.replace(key, spelled).replace("thread.started", "thre\\u0061d.started");
        assert_ne!(text, document);
        let usual = read_traces(document.as_bytes(), &ReadOptions::default());
        let read = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!((read.1.format, read.0), (Some(format), usual.0), "{text}");
    }
}

/// A document is recognised in the same way at any length near the sizes of samples.
#[test]
fn recognition_does_not_depend_on_length() {
    for (format, document) in DOCUMENTS {
        let mut counts = Vec::new();
        for length in [0, 2_000, 4_000, 16_000, 64_000, 66_000, 300_000, 1_100_000] {
            let text = document.replace("PAD", &"x".repeat(length));
            let (traces, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
            assert_eq!(reading.format, Some(format), "{length} bytes");
            let steps: Vec<usize> = traces.iter().map(|trace| trace.steps().count()).collect();
            counts.push((steps, reading.passed_over, reading.faults));
        }
        counts.dedup();
        assert_eq!(counts.len(), 1, "{format}: {counts:?}");
    }
}

/// A truncated file of any length is read up to its end.
#[test]
fn a_truncated_document_is_not_taken_for_lines() {
    for length in [10, 3_000, 9_000, 70_000] {
        let text = "x".repeat(length);
        let run = |id: &str| {
            format!("{{\"id\": \"{id}\", \"messages\": [{{\"role\": \"user\", \"content\": \"{text}\"}}]}}")
        };
        let file = format!(
            "{{\"info\": {{}}, \"tasks\": [\n{{\"id\": \"t\"}}\n],\n\"simulations\": [\n{},\n{},\n{}",
            run("a"),
            run("b"),
            run("c").split_at(40).0
        );
        let (traces, reading) = read_traces(file.as_bytes(), &ReadOptions::default());
        assert_eq!((reading.format, traces.len()), (Some(Format::Tau2), 2), "{length}: {:?}", reading.errors);
        assert_eq!(reading.faults, 1, "{length}: {:?}", reading.errors);
    }
}
