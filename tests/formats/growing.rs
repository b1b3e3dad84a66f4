//! Tests sessions that are read while they grow.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use wrongturn::ReadOptions;
use wrongturn::read::{Format, read_stream};
use wrongturn::trace::{Event, RouteStatus, RunSummary, Step, StepSink};

/// A reader that returns one line at a time, and records the number of calls read before each.
struct Growing<'a> {
    lines: std::str::SplitInclusive<'a, char>,
    calls: Rc<Cell<usize>>,
    seen: Vec<usize>,
}

impl Read for Growing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.seen.push(self.calls.get());
        let line = self.lines.next().unwrap_or_default().as_bytes();
        buffer[..line.len()].copy_from_slice(line);
        Ok(line.len())
    }
}

#[derive(Default)]
struct Calls(Rc<Cell<usize>>);

impl StepSink for Calls {
    fn begin(&mut self, _: u64, _: &RouteStatus) {}

    fn step(&mut self, step: &Step<'_>) {
        self.0.set(self.0.get() + usize::from(matches!(step.event(), Event::Action(_))));
    }

    fn end(&mut self, _: RunSummary) {}

    fn abandon(&mut self) {}
}

/// Returns the numbers of calls that had been read when each line was requested, and at the end.
fn calls_before_each_line(format: Format, session: &str) -> Vec<usize> {
    let mut sink = Calls::default();
    let mut growing =
        Growing { lines: session.split_inclusive('\n'), calls: Rc::clone(&sink.0), seen: Vec::new() };
    let reading = read_stream(&mut growing, &ReadOptions::default(), &mut sink);
    assert_eq!((reading.format, reading.errors.len()), (Some(format), 0), "{:?}", reading.errors);
    let mut seen = growing.seen;
    seen.push(sink.0.get());
    seen
}

#[test]
fn a_call_of_codex_exec_is_read_when_its_item_is_complete() {
    let session = r#"{"type": "thread.started", "thread_id": "t"}
{"type": "item.started", "item": {"id": "1", "type": "command_execution", "command": "ls", "status": "in_progress"}}
{"type": "item.completed", "item": {"id": "1", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 0, "status": "completed"}}
{"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "there is a file"}}
{"type": "item.completed", "item": {"id": "3", "type": "command_execution", "command": "cat a", "aggregated_output": "b", "exit_code": 0, "status": "completed"}}
{"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 2}}
"#;
    assert_eq!(calls_before_each_line(Format::CodexExec, session), [0, 0, 0, 1, 1, 2, 2, 2]);
}

#[test]
fn calls_of_codex_are_read_when_the_model_goes_on() {
    let session = r#"{"type": "session_meta", "payload": {"id": "s"}}
{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"}}
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "a", "output": "x"}}
{"type": "event_msg", "payload": {"type": "exec_command_end", "call_id": "a", "exit_code": 1}}
{"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "b"}}
{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "b", "output": "y"}}
"#;
    assert_eq!(calls_before_each_line(Format::CodexRollout, session), [0, 0, 0, 0, 0, 1, 1, 2]);
}

#[test]
fn calls_of_the_gemini_cli_are_read_with_their_results() {
    let session = r#"{"type": "init", "timestamp": "2026-01-01T00:00:00Z", "session_id": "s", "model": "m"}
{"type": "tool_use", "timestamp": "2026-01-01T00:00:01Z", "tool_name": "read_file", "tool_id": "a", "parameters": {}}
{"type": "tool_result", "timestamp": "2026-01-01T00:00:02Z", "tool_id": "a", "status": "success", "output": "x"}
{"type": "init", "timestamp": "2026-01-01T00:00:03Z", "session_id": "t", "model": "m"}
{"type": "tool_use", "timestamp": "2026-01-01T00:00:04Z", "tool_name": "read_file", "tool_id": "a", "parameters": {}}
"#;
    assert_eq!(calls_before_each_line(Format::GeminiStream, session), [0, 0, 0, 1, 1, 1, 2]);
}

#[test]
fn calls_of_the_copilot_cli_are_read_with_their_results() {
    let session = r#"{"type": "session.start", "id": "1", "timestamp": "2026-01-01T00:00:00Z", "data": {"sessionId": "s"}}
{"type": "assistant.message", "id": "2", "timestamp": "2026-01-01T00:00:01Z", "data": {"messageId": "m", "content": "", "toolRequests": [{"toolCallId": "a", "name": "bash", "arguments": {}}]}}
{"type": "tool.execution_start", "id": "3", "timestamp": "2026-01-01T00:00:02Z", "data": {"toolCallId": "a", "toolName": "bash", "arguments": {}}}
{"type": "tool.execution_complete", "id": "4", "timestamp": "2026-01-01T00:00:03Z", "data": {"toolCallId": "a", "success": true, "result": {"content": "x"}}}
{"type": "session.info", "id": "5", "timestamp": "2026-01-01T00:00:04Z", "data": {}}
"#;
    assert_eq!(calls_before_each_line(Format::CopilotCli, session), [0, 0, 0, 0, 1, 1, 1]);
}

#[test]
fn calls_of_claude_code_are_read_when_the_model_goes_on() {
    let session = r#"{"type": "user", "sessionId": "s", "uuid": "1", "message": {"role": "user", "content": "go"}}
{"type": "assistant", "sessionId": "s", "uuid": "2", "message": {"id": "m", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}], "usage": {"input_tokens": 1, "output_tokens": 1}}}
{"type": "user", "sessionId": "s", "uuid": "3", "message": {"content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}}
{"type": "assistant", "sessionId": "s", "uuid": "4", "message": {"id": "n", "content": [{"type": "text", "text": "done"}]}}
{"type": "user", "sessionId": "s", "uuid": "5", "message": {"role": "user", "content": "more"}}
"#;
    assert_eq!(calls_before_each_line(Format::ClaudeCode, session), [0, 0, 0, 0, 1, 1, 1]);
}
