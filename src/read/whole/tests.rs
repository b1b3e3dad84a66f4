use super::*;
use crate::read::recognise::{Recognised, recognise, recognise_by};
use crate::read::{Beside, read_recognised};
use crate::{ReadOptions, TraceCollector, read_stream, read_traces};
use proptest::prelude::*;

/// Documents and lines that are read in one walk, with a place for a text that fills the first sample.
const BEGUN: [(Format, &str); 20] = [
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
    (
        Format::OpenAiResponses,
        r#"{"object": "response", "id": "i", "model": "m", "input": [{"role": "user", "content": "hi"}, {"type": "function_call_output", "call_id": "b", "output": "x"}], "status": "completed",
"output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\": 1}"}, {"type": "message", "role": "assistant", "content": "PAD"}], "usage": {"input_tokens": 3}}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"{"id": "i", "items": [{"role": "user", "content": "hi"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\": 1}"},
{"type": "function_call_output", "call_id": "c", "output": "Error: no PAD"}], "reward": 1}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"{"type": "message", "role": "user", "content": "hi"}
noise
{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a\": 1}"}
{"type": "function_call_output", "call_id": "c", "output": "Error: no PAD"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "reasoning"}
{"type": "function_call", "call_id": "d", "name": "f", "arguments": "{\"a\": 1}", "pad": "PAD"}"#,
    ),
    (
        Format::AnthropicMessages,
        r#"{"role": "user", "content": "hi"}
7
{"role": "assistant", "content": [{"type": "tool_use", "id": "0", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "0", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "2", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "2", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "3", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "3", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "4", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "4", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "5", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "5", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "6", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "6", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": [{"type": "tool_use", "id": "7", "name": "f", "input": {"a": 1}}]}
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "7", "content": "no PAD", "is_error": true}]}
{"role": "assistant", "content": "x"}"#,
    ),
    // The version of the program shows that they are documents.
    (
        Format::MiniSweAgent1,
        r#"{"info": {"mini_version": "1.14.4", "exit_status": "Submitted"},
"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi PAD"}, {"role": "assistant", "content": "x\n\n```bash\nls\n```", "extra": {}}, {"role": "user", "content": "<returncode>1</returncode>\n<output>\nno</output>"}], "trajectory_format": "mini-swe-agent-1"}"#,
    ),
    (
        Format::OpenAiChat,
        r#"{"info": {"mini_version": "2.2.7", "exit_status": "Submitted"},
"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi PAD"}, {"role": "assistant", "content": "x", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "no", "extra": {"returncode": 1}}], "trajectory_format": "mini-swe-agent-1.1"}"#,
    ),
];

/// A document whose text makes it long enough.
fn padded(document: &str) -> Vec<u8> {
    document.replace("PAD", &"x y ".repeat(5000)).into_bytes()
}

/// Reads an input as it is always read, or without ever taking it for something at a glance; what came of it, in words.
fn read_either(text: &[u8], wanted: Option<Format>, at_a_glance: bool) -> String {
    let options = ReadOptions { format: wanted, ..ReadOptions::default() };
    let mut collector = TraceCollector::default();
    let mut runs = Runs::new(&options, &mut collector);
    let mut window = Window::over_slice(text);
    let recognised = recognise_by(&mut window, wanted, at_a_glance);
    read_recognised(recognised, &mut window, &Beside::default(), &options, &mut runs, None);
    let reading = runs.into_reading();
    format!("{reading:?} {:?}", collector.traces)
}

/// Whether an input is read in one walk.
fn is_read_at_once(text: &[u8], wanted: Option<Format>) -> bool {
    let options = ReadOptions::default();
    let mut collector = TraceCollector::default();
    let mut window = Window::over_slice(text);
    let Ok(Recognised::Whole(_, Some(entry))) = recognise(&mut window, wanted) else { return false };
    simdutf8::basic::from_utf8(text).is_ok()
        && read_at_once(entry, &window, &mut Runs::new(&options, &mut collector))
}

/// Reads an input in both ways, which are to come to the same, and says what.
fn read_alike(text: &[u8], wanted: Option<Format>) -> String {
    let read = read_either(text, wanted, true);
    let name = wanted.map_or("any format", Format::name);
    assert_eq!(read, read_either(text, wanted, false), "read as {name}");
    read
}

#[test]
fn every_format_is_read_in_one_walk_as_it_is_when_taken_apart() {
    for (format, document) in BEGUN {
        let text = padded(document);
        assert!(is_read_at_once(&text, None), "{format} is not read in one walk: {document}");
        let read = read_alike(&text, None);
        assert!(read.contains(&format!("{format:?}")), "{format}: {read}");
    }
}

#[test]
fn a_format_that_is_asked_for_is_read_alike() {
    for (_, document) in BEGUN {
        let text = padded(document);
        for wanted in Format::VARIANTS {
            read_alike(&text, Some(*wanted));
        }
    }
}

#[test]
fn documents_in_lines_are_not_taken_for_one() {
    for (format, document) in BEGUN {
        let is_document = document.parse::<serde_json::Value>().is_ok();
        if !is_document {
            continue;
        }
        let line = String::from_utf8(padded(document)).unwrap().replace('\n', " ");
        let lines = [&*line, "noise", &*line, &*line].join("\n");
        let read = |wanted| {
            let read = read_alike(lines.as_bytes(), wanted);
            let (_, runs) = read.split_once("runs: ").unwrap();
            runs.split(',').next().unwrap().parse::<u64>().unwrap()
        };
        let of_one = read_traces(line.as_bytes(), &ReadOptions::default()).1.runs;
        assert!(of_one > 0, "{format}");
        let expected = match format {
            // Spans of one trace, wherever they stand, are one run.
            Format::OpenTelemetry => of_one,
            _ if document.starts_with('{') => 3 * of_one,
            // A list in a line is no document.
            _ => 0,
        };
        assert_eq!(read(None), expected, "{format}");
        assert_eq!(read(Some(format)), expected, "{format} asked for");
    }
}

#[test]
fn documents_in_lines_are_held_one_at_a_time() {
    let document = String::from_utf8(padded(BEGUN[0].1)).unwrap().replace('\n', " ");
    let lines = format!("{document}\n").repeat(20);
    let options = ReadOptions { most_held: 5 * document.len(), ..ReadOptions::default() };
    for text in [lines.clone(), format!("{document}\n\n \n"), document.clone()] {
        let mut collector = TraceCollector::default();
        let reading = read_stream(text.as_bytes(), &options, &mut collector);
        assert!(reading.errors.is_empty(), "{:?}", reading.errors);
        let traces = read_traces(text.as_bytes(), &ReadOptions::default()).0;
        assert_eq!(format!("{:?}", collector.traces), format!("{traces:?}"));
    }
    // One that is too large is reported, and what is there of it is no run.
    let options = ReadOptions { most_held: document.len() / 2, ..ReadOptions::default() };
    let reading = read_stream(lines.as_bytes(), &options, &mut TraceCollector::default());
    assert_eq!((reading.runs, reading.errors[0].kind()), (0, ErrorKind::TooLarge));
}

#[test]
fn documents_one_behind_the_other_are_read_wherever_they_end() {
    for (format, document) in BEGUN.into_iter().filter(|(_, document)| document.starts_with("{\"schema")) {
        let text = padded(&document.replace(", ", ",\n"));
        let (one, reading) = read_traces(&text, &ReadOptions::default());
        let (two, reading_of_two) = read_traces(&[&*text, &*text].concat(), &ReadOptions::default());
        assert_eq!((reading_of_two.format, reading.format), (Some(format), Some(format)));
        assert_eq!(format!("{two:?}"), format!("{:?}", [one.clone(), one].concat()));
    }
}

#[test]
fn a_document_is_read_in_one_walk_from_four_samples_on() {
    let (_, document) = BEGUN.into_iter().find(|(format, _)| *format == Format::OpenCode).unwrap();
    let of_length = |length: usize| {
        let text = document.replace("PAD", &"x".repeat(length - document.len() + "PAD".len()));
        assert_eq!(text.len(), length);
        text.into_bytes()
    };
    for (length, expected) in [(4 << 10, false), ((16 << 10) - 1, false), (16 << 10, true), (80 << 10, true)]
    {
        let text = of_length(length);
        assert_eq!(is_read_at_once(&text, None), expected, "{length} bytes");
        read_alike(&text, None);
    }
}

#[test]
fn spellings_and_what_stands_around_are_read_alike() {
    for (format, document) in BEGUN {
        let document = String::from_utf8(padded(document)).unwrap();
        let escaped = |key: &str| {
            let spelled = format!("\"\\u{:04x}{}\"", key.as_bytes()[0], &key[1..]);
            document.replace(&format!("\"{key}\""), &spelled)
        };
        let mut texts = vec![
            format!("\u{feff}{document}"),
            format!("\n \n{document}\r\n\n"),
            document.replace('\n', "\r\n"),
            format!("{document}\n{document}"),
            format!("{document} {document}"),
            format!("{document}\nnoise\n"),
            format!("noise\n{document}"),
        ];
        texts.extend(
            ["type", "message", "payload", "item", "messages", "steps", "role", "content", "thread_id"]
                .map(escaped),
        );
        for text in texts {
            read_alike(text.as_bytes(), None);
            read_alike(text.as_bytes(), Some(format));
        }
    }
}

#[test]
fn lines_are_known_by_keys_that_are_spelled_with_escapes() {
    for (format, key, spelled) in [
        (Format::ClaudeCode, r#""message":"#, r#""mess\u0061ge":"#),
        (Format::CodexRollout, r#""payload":"#, r#""p\u0061yload":"#),
        (Format::CodexExec, r#""item."#, r#""it\u0065m."#),
    ] {
        let (_, document) = BEGUN.into_iter().find(|(other, _)| *other == format).unwrap();
        let text = document.replace(key, spelled).replace("thread.started", "thre\\u0061d.started");
        assert_ne!(text, document);
        let usual = read_traces(document.as_bytes(), &ReadOptions::default());
        let read = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!((read.1.format, read.0), (Some(format), usual.0), "{text}");
        read_alike(&padded(&text), None);
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
        assert!(!is_read_at_once(&text, None), "{format} with {other} is read in one walk");
        read_alike(&text, None);
    }
}

proptest! {
    #[test]
    fn damaged_documents_are_read_alike(
        document in prop::sample::select(BEGUN.to_vec()),
        wanted in any::<bool>(),
        behind in prop::option::of(0usize..3),
        edits in prop::collection::vec((0usize..5, any::<prop::sample::Index>(), 0usize..20, prop::sample::select(
            vec!["", "{", "}", "[", "]", "\"", ",", ":", "\\", "\n", "null", "7", "1e999", "\u{1}", r"\ud800", "{}\n",
                r#""payload":{},"#, r#""item":{},"#, r#""role":"user","#, r#""steps":[],"#, r#""messages":[],"#])), 1..4),
    ) {
        let mut sound = padded(document.1);
        if behind.is_some() {
            sound.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        }
        let mut text = sound.clone();
        let pad = document.1.find("PAD").unwrap_or_default();
        for (kind, place, length, part) in edits {
            // Nothing of interest is in the text that fills it.
            let mut at = place.index(document.1.len());
            at += if at > pad { text.len().saturating_sub(document.1.len()) } else { 0 };
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            // A document that goes on in the next line is no line, though others stand behind it.
            let part = if behind.is_some() { part.trim_end() } else { part };
            let part = part.as_bytes().to_vec();
            match kind {
                0 => text.truncate(at),
                1 => drop(text.splice(at..at, part)),
                2 => drop(text.splice(at..end, part)),
                3 => { let again = text[at..end].to_vec(); text.splice(at..at, again); }
                _ => if let Some(byte) = text.get_mut(at) { *byte = part.first().copied().unwrap_or(b'x') },
            }
        }
        text.extend(std::iter::repeat_n([b"\n", &*sound].concat(), behind.unwrap_or_default()).flatten());
        // Of a damaged document, a later part may look like a run of tau2 with messages; its first part says better.
        let wanted = wanted.then_some(document.0);
        prop_assume!(!read_either(&text, wanted, false).contains("format: Some(Tau2)"));
        read_alike(&text, wanted);
    }
}
