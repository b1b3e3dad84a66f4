//! Inputs that somebody damaged: nothing panics, and a stream gives what a slice gives.

use proptest::prelude::*;
use wrongturn::{
    Error, ReadOptions, Step, Trace,
    read::{read_slice, read_stream},
    trace::{Ending, Routing, StepSink, TraceCollector},
};

use super::lines;
use super::reading::Drip;

/// Small documents with a little of everything.
const DOCUMENTS: [&str; 10] = [
    r#"{"id": "c", "reward": 0.5, "messages": [{"role": "user", "content": [{"type": "text", "text": "a\u00e9"}]}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "Exit code 1\nx", "extra": {"returncode": 1}}, {"role": "exit", "content": "", "extra": {"exit_status": "X"}}]}"#,
    "{\"role\": \"assistant\", \"content\": [{\"type\": \"tool_use\", \"id\": \"a\", \"name\": \"f\", \"input\": {}}]}\n{\"role\": \"user\", \"content\": [{\"type\": \"tool_result\", \"tool_use_id\": \"a\", \"is_error\": true, \"content\": [{\"type\": \"text\", \"text\": \"[Request interrupted by user]\"}]}]}\nnoise\n",
    r#"{"object": "response", "input": [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}], "output": [{"type": "function_call_output", "call_id": "a", "output": {"content": "Exit code: 1\nOutput:\nx", "success": false}}, {"type": "mcp_call", "error": "e"}], "usage": {"input_tokens": 1}}"#,
    r#"{"environment": "e", "history": [], "info": {"exit_status": "s"}, "trajectory": [{"action": "ls -la\n", "observation": "bash: x: command not found", "response": "r", "execution_time": 0.5}]}"#,
    r#"{"trajectory_format": "mini-swe-agent-1", "messages": [{"role": "assistant", "content": "```bash\nls\n```"}, {"role": "user", "content": "<returncode>0</returncode>"}]}"#,
    r#"{"sessionId": "s", "projectHash": "h", "messages": [{"type": "gemini", "content": "x", "tokens": {"input": 1}, "toolCalls": [{"id": "a", "name": "run_shell_command", "args": {}, "status": "success", "result": [{"functionResponse": {"response": {"output": "Exit Code: 1"}}}]}]}]}"#,
    r#"{"info": {"id": "s"}, "messages": [{"info": {"role": "assistant", "modelID": "m", "tokens": {"cache": {"read": 1}}}, "parts": [{"type": "tool", "callID": "a", "tool": "t", "state": {"status": "completed", "input": {}, "output": "o", "metadata": {"exit": 1}, "time": {"start": 1, "end": 2}}}]}]}"#,
    r#"{"version": 2, "eval": {"task": "t"}, "samples": [{"id": 1, "epoch": 1, "scores": {"a": {"value": "C"}}, "attachments": {"00000000000000000000000000000000": "L"}, "messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": "f", "arguments": {}}]}, {"role": "tool", "tool_call_id": "a", "content": "attachment://00000000000000000000000000000000"}], "events": [{"event": "tool", "id": "a", "working_time": 1.5}]}]}"#,
    r#"[{"id": 1, "source": "agent", "action": "run", "args": {"command": "x", "thought": "t"}, "tool_call_metadata": {"model_response": {"id": "r", "model": "m"}}}, {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "x", "success": false}]"#,
    "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n{\"history\": [], \"trajectory\": [{\"action\": \"x\", \"observation\": null}]}\n",
];

/// What is put in the place of a part.
const PIECES: [&str; 22] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "7",
    "-1.5e9",
    "1e999",
    "\"\\ud800\"",
    "\"a\\nb\"",
    "\u{7}",
    "\n",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\u{e9}",
    "\"type\": \"function_call\", ",
    "\"role\": \"tool\", ",
];

/// Traces and errors, in words.
#[derive(Default)]
struct Told {
    collector: TraceCollector,
    errors: Vec<String>,
}

impl StepSink for Told {
    fn begin(&mut self, position: u64, routing: &Routing) {
        self.collector.begin(position, routing);
    }
    fn step(&mut self, step: &Step<'_>) {
        self.collector.step(step);
    }
    fn end(&mut self, ending: Ending) {
        self.collector.end(ending);
    }
    fn abandon(&mut self) {
        self.collector.abandon();
    }
    fn error(&mut self, error: Error) -> Option<Error> {
        self.errors.push(error.to_string());
        None
    }
}

impl Told {
    fn words(&self) -> (Vec<Vec<String>>, &[String]) {
        (self.traces().iter().map(lines).collect(), &self.errors)
    }

    fn traces(&self) -> &[Trace] {
        &self.collector.traces
    }
}

fn check(bytes: &[u8], portion: usize) -> Result<(), TestCaseError> {
    let options = ReadOptions::default();
    let (mut slice, mut stream) = (Told::default(), Told::default());
    let of_slice = read_slice(bytes, &options, &mut slice);
    let of_stream = read_stream(Drip(bytes, portion), &options, &mut stream);
    prop_assert_eq!(slice.words(), stream.words());
    prop_assert_eq!(slice.traces(), stream.traces());
    prop_assert_eq!(of_slice.format, of_stream.format);
    prop_assert_eq!(&of_slice.passed_over, &of_stream.passed_over);
    // What was not read is told.
    if !bytes.is_empty() {
        let silent = slice.traces().is_empty() && slice.errors.is_empty() && of_slice.passed_over.is_empty();
        prop_assert!(!silent || of_slice.format.is_some(), "{}", String::from_utf8_lossy(bytes));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_documents(
        document in 0..DOCUMENTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0..PIECES.len()), 0..5),
        cut in prop::option::of(any::<prop::sample::Index>()),
        portion in 1usize..300,
    ) {
        let mut bytes = DOCUMENTS[document].as_bytes().to_vec();
        for (place, length, piece) in changes {
            let place = place.index(bytes.len() + 1);
            let end = (place + length).min(bytes.len());
            bytes.splice(place..end, PIECES[piece].bytes());
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        check(&bytes, portion)?;
    }

    #[test]
    fn values_in_the_place_of_others(
        document in 0..DOCUMENTS.len(), which in any::<prop::sample::Index>(), piece in 0usize..10, portion in 1usize..300,
    ) {
        // A value begins behind a colon.
        let text = DOCUMENTS[document];
        let colons: Vec<usize> = text.match_indices(": ").map(|(at, _)| at + 2).collect();
        let start = colons[which.index(colons.len())];
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<serde::de::IgnoredAny>();
        let _ = values.next();
        let changed = format!("{}{}{}", &text[..start], PIECES[piece], &text[start + values.byte_offset()..]);
        check(changed.as_bytes(), portion)?;
    }

    #[test]
    fn bytes_that_are_no_text(document in 0..DOCUMENTS.len(), place in any::<prop::sample::Index>(), byte in 0x80u8..) {
        let mut bytes = DOCUMENTS[document].as_bytes().to_vec();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        check(&bytes, 64)?;
    }
}

#[test]
fn the_documents_are_read_without_damage() {
    for document in DOCUMENTS {
        let (traces, reading) = super::read(document);
        assert!(!traces.is_empty() && reading.errors.is_empty(), "{document}: {:?}", reading.errors);
        check(document.as_bytes(), 7).unwrap();
    }
}

#[test]
fn a_result_of_five_megabytes_is_read_whole() {
    let text = "0123456789abcdef".repeat(5 << 16);
    let chat = format!(
        "[{{\"role\": \"assistant\", \"tool_calls\": [{{\"id\": \"1\", \"function\": {{\"name\": \"f\"}}}}]}}, {{\"role\": \"tool\", \"tool_call_id\": \"1\", \"content\": \"{text}\"}}]"
    );
    let trace = super::one(wrongturn::read::Format::OpenAiChat, &chat);
    assert_eq!(super::actions(&trace), [format!("0 f() ok/none #1 = {text}")]);
    check(chat.as_bytes(), 100_000).unwrap();
}
