//! Whose an input is: minimal documents of every format, and what is none of them.

use wrongturn::{ErrorKind, ReadOptions, read::Format, read_traces, trace::Event};

use super::read;

/// Documents that are one JSON object, of which several may stand in a file, one per line.
const OBJECTS: [(Format, &str); 16] = [
    (Format::TauBench, r#"{"traj": [], "task_id": 1, "reward": 1.0}"#),
    (
        Format::Atif,
        r#"{"schema_version": "ATIF-v1.5", "session_id": "s", "agent": {"name": "a"}, "steps": [{"step_id": 1, "source": "user", "message": "x"}]}"#,
    ),
    (
        Format::Inspect,
        r#"{"version": 2, "eval": {"task": "t"}, "samples": [{"id": 1, "messages": [{"role": "user", "content": "x"}]}]}"#,
    ),
    (
        Format::GeminiCli,
        r#"{"sessionId": "s", "projectHash": "h", "messages": [{"type": "user", "content": "x"}]}"#,
    ),
    (Format::GeminiCli, r#"{"sessionId": "s", "projectHash": "h", "messages": []}"#),
    (
        Format::OpenCode,
        r#"{"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": [{"type": "text", "text": "x"}]}]}"#,
    ),
    (
        Format::SweAgent,
        r#"{"history": [], "trajectory": [{"action": "ls", "observation": "x"}], "info": {}}"#,
    ),
    (
        Format::OpenHands,
        r#"{"trajectory": [{"id": 1, "source": "agent", "action": "run"}, {"id": 2, "source": "agent", "observation": "run", "cause": 1}]}"#,
    ),
    (
        Format::MiniSweAgent1,
        r#"{"trajectory_format": "mini-swe-agent-1", "messages": [{"role": "user", "content": "x"}]}"#,
    ),
    (Format::MiniSweAgent1, r#"{"trajectory_format": "mini-swe-agent-1", "messages": []}"#),
    (
        Format::OpenAiChat,
        r#"{"trajectory_format": "mini-swe-agent-1.1", "messages": [{"role": "user", "content": "x"}]}"#,
    ),
    (
        Format::OpenAiChat,
        r#"{"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {}}]}, {"role": "tool", "tool_call_id": "a", "content": "x"}]}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"{"input": [], "output": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]}"#,
    ),
    (
        Format::OpenAiResponses,
        r#"{"items": [{"role": "user", "content": "x"}, {"type": "function_call_output", "call_id": "a", "output": "x"}]}"#,
    ),
    (
        Format::AnthropicMessages,
        r#"{"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]}"#,
    ),
    (Format::OpenAiChat, r#"{"messages": [{"role": "user", "content": "x"}]}"#),
];

/// Documents of other framings.
const OTHERS: [(Format, &str); 13] = [
    (Format::TauBench, r#"[{"traj": [], "task_id": 1, "info": {}}]"#),
    (
        Format::OpenHands,
        r#"[{"id": 1, "source": "agent", "action": "run"}, {"id": 2, "source": "agent", "observation": "run", "cause": 1}]"#,
    ),
    (
        Format::OpenAiResponses,
        r#"[{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]"#,
    ),
    (
        Format::AnthropicMessages,
        r#"[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}]"#,
    ),
    (Format::OpenAiChat, r#"[{"role": "user", "content": "x"}, {"role": "assistant", "content": null}]"#),
    (
        Format::CodexRollout,
        "{\"type\": \"session_meta\", \"payload\": {\"id\": \"s\"}}\n{\"type\": \"response_item\", \"payload\": {\"type\": \"message\", \"role\": \"user\", \"content\": \"x\"}}\n",
    ),
    (
        Format::CodexExec,
        "{\"type\": \"thread.started\", \"thread_id\": \"t\"}\n{\"type\": \"item.completed\", \"item\": {\"id\": \"i\", \"type\": \"agent_message\", \"text\": \"x\"}}\n",
    ),
    (
        Format::ClaudeCode,
        "{\"type\": \"user\", \"sessionId\": \"s\", \"uuid\": \"u\", \"message\": {\"role\": \"user\", \"content\": \"x\"}}\n{\"type\": \"system\"}\n",
    ),
    (
        Format::OpenAiResponses,
        "{\"type\": \"message\", \"role\": \"user\", \"content\": \"x\"}\n{\"type\": \"function_call\", \"call_id\": \"a\", \"name\": \"f\"}\n",
    ),
    (
        Format::AnthropicMessages,
        "{\"role\": \"user\", \"content\": \"x\"}\n{\"role\": \"assistant\", \"content\": [{\"type\": \"tool_use\", \"id\": \"a\", \"name\": \"f\"}]}\n",
    ),
    (
        Format::OpenAiChat,
        "{\"role\": \"user\", \"content\": \"x\"}\n{\"role\": \"assistant\", \"content\": \"y\"}\n",
    ),
    (Format::OpenAiChat, r#"{"role": "user", "content": "x"}"#),
    (
        Format::OpenAiResponses,
        r#"{"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "x"}]}"#,
    ),
];

/// The formats that share a reader, which finds the name.
const CHATS: [Format; 3] = [Format::OpenAiResponses, Format::AnthropicMessages, Format::OpenAiChat];

#[test]
fn every_document_is_of_one_format() {
    for (format, document) in OBJECTS.iter().chain(&OTHERS) {
        let (traces, reading) = read(document);
        assert_eq!(reading.format, Some(*format), "{document}");
        assert!(!traces.is_empty() && reading.errors.is_empty(), "{document}: {:?}", reading.errors);
        // Every other reader that has to see a document whole refuses it.
        for other in Format::VARIANTS {
            let is_record =
                matches!(*other, Format::Tau2 | Format::TauBench | Format::BenchTrace | Format::Native);
            if is_record || other == format || CHATS.contains(other) && CHATS.contains(format) {
                continue;
            }
            let options = ReadOptions { format: Some(*other), ..ReadOptions::default() };
            let (traces, _) = read_traces(document.as_bytes(), &options);
            assert!(traces.is_empty(), "{other} reads {document}");
        }
    }
}

#[test]
fn a_byte_order_mark_and_white_space_change_nothing() {
    for (format, document) in OBJECTS.iter().chain(&OTHERS) {
        let (_, reading) = read(format!("\u{feff} \r\n{document}\n\n"));
        assert_eq!(reading.format, Some(*format), "{document}");
    }
}

#[test]
fn documents_of_all_formats_one_per_line() {
    // Runs that are values of their own are read by their own walk.
    let documents: Vec<_> = OBJECTS.iter().filter(|(format, _)| *format != Format::TauBench).collect();
    let mut file = String::from("log: started\n");
    for (_, document) in &documents {
        file += document;
        file += "\n{\"of\": \"nobody\"}\n";
    }
    let (traces, reading) = read(&file);
    assert_eq!((traces.len(), reading.format), (documents.len(), None));
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    assert_eq!(reading.passed_over.get("lines of no known format"), Some(&(documents.len() as u64)));
    assert_eq!(reading.passed_over.get("lines that are no JSON"), Some(&1));
}

#[test]
fn what_is_of_no_format() {
    for document in [
        "{}",
        r#"{"messages": {}}"#,
        r#"{"messages": [{"role": "user"}]}"#,
        r#"{"messages": [{"role": 7, "content": "x"}]}"#,
        r#"{"messages": [{"role": "user", "content": "x"}], "steps": []}"#,
        r#"{"messages": [{"role": "user", "content": "x"}], "samples": []}"#,
        r#"{"messages": [{"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "function": "f"}]}]}"#,
        r#"[{"role": "user", "parts": [{"text": "x"}]}]"#,
        r#"[{"role": "user", "content": "x", "parts": []}]"#,
        r#"[{"from": "human", "text": "x"}]"#,
        r#"{"conversations": [{"from": "human", "text": "x"}]}"#,
        r#"[{"id": 1, "source": "agent", "action": "run"}]"#,
        r#"{"info": {"id": 7}, "messages": [{"info": {}, "parts": []}]}"#,
        r#"{"sessionId": "s", "projectHash": 7, "messages": [{"type": "user"}]}"#,
        r#"{"trajectory_format": "mini-swe-agent-1", "messages": {}}"#,
        r#"{"version": 2, "eval": {}, "samples": {}}"#,
        r#"{"session_id": "s", "agent": {}, "checkpoint": 1}"#,
        "{\"type\": \"message\", \"message\": {\"role\": \"user\"}}\n{\"type\": \"session\"}\n",
        "{\"role\": \"user\", \"message\": {\"content\": []}}\n{\"role\": \"assistant\", \"message\": {}}\n",
        "{\"role\": \"user\", \"content\": \"line\u{7}\"}",
        "plain text\nand more\n",
    ] {
        let (traces, reading) = read(document);
        assert!(traces.is_empty() && reading.format.is_none(), "{document}: {:?}", reading.format);
        assert!(
            matches!(reading.errors[0].kind(), ErrorKind::Format | ErrorKind::Syntax),
            "{document}: {reading:?}"
        );
    }
}

/// What an input begins with is not all that it may be.
#[test]
fn what_stands_behind_the_beginning_may_be_of_another_format() {
    let space = " ".repeat(5000);
    let run = r#"{"id": "a", "reward_info": null, "messages": []}"#;
    for (behind, format) in [
        (format!(r#""simulations": [{run}], "tasks": []"#), Format::Tau2),
        (r#""traces": [{"version": 1, "steps": []}]"#.to_owned(), Format::Native),
    ] {
        let (traces, reading) = read(format!(r#"{{"resourceSpans": []{space}, {behind}}}"#));
        assert_eq!((traces.len(), reading.format), (1, Some(format)), "{:?}", reading.errors);
    }
    // A key is the same however it is spelled.
    let line = r#"{"type": "session_meta", "p\u0061yload": {"id": "s"}}"#;
    let claude =
        r#"{"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "hi"}}"#;
    assert_eq!(read(format!("{line}\n")).1.format, Some(Format::CodexRollout));
    // An input of two formats is an error that names both.
    let (traces, reading) = read(format!("{line}\n{claude}\n"));
    let message = reading.errors[0].message();
    assert!(message.contains("codex-rollout") && message.contains("claude-code"), "{message}");
    assert!(traces.is_empty() && reading.format.is_none(), "{reading:?}");
}

/// What is read in one walk is read as what is taken apart first: with a line that is no JSON, or with something
/// beside the spans, it is.
#[test]
fn one_walk_reads_what_two_walks_read() {
    let pad = "x".repeat(5000);
    let lines = format!(
        "{}\n{}\n{}\n",
        r#"{"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s"}}"#,
        format_args!(
            r#"{{"type": "response_item", "payload": {{"type": "message", "role": "user", "content": "{pad}"}}}}"#
        ),
        r#"{"type": "response_item", "payload": {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}}"#,
    );
    let (traces, reading) = read(&lines);
    assert!(reading.passed_over.is_empty() && traces[0].steps().count() == 2, "{reading:?}");
    for (more, reason) in [
        ("no JSON\n", "lines that are no JSON"),
        ("{\"type\": \"event_msg\", \"payload\": {", "lines that are no JSON"),
        ("[7]\n", "lines that are no object"),
    ] {
        let (others, other) = read(format!("{lines}{more}"));
        assert_eq!((&traces, other.passed_over.get(reason)), (&others, Some(&1)), "{more}");
    }
    // What only seems to be the first line of a session makes none.
    assert_eq!(read("{\"type\": \"session_meta\", \"payload\": {\"id\": \"\\x\"}}\n7\n").1.format, None);
    // Two values in a line: all values count, wherever they stand.
    let (others, other) = read(lines.replacen('\n', "", 1));
    assert!(others == traces && other.passed_over.is_empty(), "{other:?}");

    let span = format!(
        r#"{{"traceId": "{:032x}", "spanId": "{:016x}", "name": "t", "attributes": [
            {{"key": "openinference.span.kind", "value": {{"stringValue": "TOOL"}}}},
            {{"key": "tool.name", "value": {{"stringValue": "t"}}}},
            {{"key": "output.value", "value": {{"stringValue": "{pad}"}}}}]}}"#,
        1, 2
    );
    let spans = format!(r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{span}]}}]}}]"#);
    let (traces, _) = read(format!("{spans}}}"));
    assert_eq!(traces.len(), 1);
    for behind in [r#", "x": 1}"#, r#", "resourceLogs": null}"#, "} ", "", "]"] {
        assert_eq!(read(format!("{spans}{behind}")).0, traces, "{behind}");
    }
    // Unsound in what is passed over: it is read all the same, and said to be so.
    let damaged = format!("{spans}}}").replacen("\"name\": \"t\"", "\"name\": \"t\", \"kind\": \"\u{1}\"", 1);
    let (others, reading) = read(&damaged);
    assert!(others == traces && !reading.errors.is_empty(), "{:?}", reading.errors);
}

/// Runs of formats with a run per line, with a text that makes them longer.
const RUNS: [(Format, &str); 3] = [
    (
        Format::Tau2,
        r#"{"id": "ID", "messages": [{"role": "user", "content": "PAD"}, {"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "arguments": {}, "requestor": "assistant"}]}], "reward_info": null}"#,
    ),
    (
        Format::TauBench,
        r#"{"task_id": "ID", "reward": 1.0, "traj": [{"role": "user", "content": "PAD"}, {"role": "assistant", "content": "x", "tool_calls": null}], "info": {}}"#,
    ),
    (Format::Native, r#"{"version": 1, "id": "ID", "steps": [{"step": 0, "actor": "user", "text": "PAD"}]}"#),
];

#[test]
fn a_first_line_that_is_cut_off_costs_itself_alone() {
    for (format, run) in RUNS {
        for length in [10, 6_000, 200_000] {
            let line = |id: &str| run.replace("ID", id).replace("PAD", &"a b ".repeat(length / 4));
            let (first, behind) = (line("first"), [line("second"), line("third")].join("\n"));
            let (expected, _) = read(&behind);
            assert_eq!(expected.len(), 2);
            for cut in (2..60).chain([first.len() / 2, first.len() - 40, first.len() - 2]) {
                let half = &first[..cut];
                // What is cut off before a value takes the next line for it.
                if half.trim_end().ends_with([':', '[']) {
                    continue;
                }
                for (wanted, end) in [(None, "\n"), (Some(format), "\n"), (None, "\r\n")] {
                    let options = ReadOptions { format: wanted, ..ReadOptions::default() };
                    let text = format!("{half}\n{behind}\n").replace('\n', end);
                    let (traces, reading) = read_traces(text.as_bytes(), &options);
                    let known: Vec<_> =
                        traces.iter().map(|trace| (trace.metadata(), trace.steps().count())).collect();
                    let sound: Vec<_> =
                        expected.iter().map(|trace| (trace.metadata(), trace.steps().count())).collect();
                    assert_eq!(
                        known, sound,
                        "{format} of {length} bytes, cut at {cut}: {:?}",
                        reading.errors
                    );
                    assert_eq!((reading.format, reading.faults), (Some(format), 1), "{half}");
                }
            }
        }
    }
}

#[test]
fn a_first_line_of_text_costs_itself_alone() {
    let texts = [
        "[INFO] start",
        "[12:00:01] starting",
        "42 runs",
        "\"hello\" world",
        "null,",
        "\"abc\": 1}",
        "20}, 7",
    ];
    for (format, run) in RUNS {
        for text in texts {
            let (traces, reading) = read(format!("{text}\n{run}\n{run}\n"));
            assert_eq!((traces.len(), reading.format), (2, Some(format)), "{text}: {:?}", reading.errors);
        }
    }
}

#[test]
fn a_first_line_that_is_cut_off_where_a_sample_ends_costs_itself_alone() {
    let (format, run) = RUNS[0];
    for length in [4_000, 4_094, 4_095, 4_096, 4_097, 16_383, 16_384] {
        let half = run.replace("PAD", &"x".repeat(20_000))[..length].to_owned();
        let (traces, reading) = read(format!("{half}\n{run}\n{run}\n"));
        assert_eq!((traces.len(), reading.format), (2, Some(format)), "{length} bytes: {:?}", reading.errors);
    }
}

#[test]
fn runs_in_an_object_whose_first_line_is_long_are_no_lines() {
    let (_, run) = RUNS[0];
    let runs = ["a", "b", "c"].map(|id| run.replace("ID", id)).join(",\n");
    for pad in [10, 6_000, 100_000] {
        let pad = "x".repeat(pad);
        let text = format!("{{\"notes\": \"{pad}\", \"simulations\": [\n{runs}\n]}}");
        assert_eq!(read(&text).0.len(), 3, "{} bytes", text.len());
        // Nor where the run in the first line is damaged.
        let text = format!("{{\"notes\": \"{pad}\", \"simulations\": [{runs}]}}").replacen(
            "\"messages\":",
            "\"messages\"",
            1,
        );
        assert_eq!(read(&text).0.len(), 2, "{} bytes", text.len());
    }
}

#[test]
fn lists_of_what_looks_like_messages_decide_nothing_under_other_keys() {
    let decoy = r#"{"role": "tool", "tool_call_id": "c", "content": "x"}, "#.repeat(200);
    for (format, run) in RUNS {
        let list = match format {
            Format::Tau2 => "simulations",
            Format::Native => "traces",
            _ => continue,
        };
        let text = format!("{{\"zz\": [{decoy}7], \"{list}\": [{run}]}}");
        let (traces, reading) = read(&text);
        assert_eq!((traces.len(), reading.format), (1, Some(format)), "{:?}", reading.errors);
    }
    let messages = decoy.trim_end_matches(", ");
    let (traces, reading) = read(format!(r#"{{"traj": [{messages}], "task_id": 1, "reward": 1.0}}"#));
    assert_eq!((traces.len(), reading.format), (1, Some(Format::TauBench)));
}

#[test]
fn any_number_of_foreign_lines_may_stand_before_documents() {
    let spans = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0123456789abcdef0123456789abcdef", "spanId": "0123456789abcdef", "name": "x"}]}]}]}"#;
    let (_, reading) = read(format!("{}{spans}\n", "{\"foo\": 1}\n".repeat(100)));
    assert_eq!(reading.format, Some(Format::OpenTelemetry));
    let (tau2, run) = RUNS[0];
    let (traces, reading) = read(format!("{}{run}\n", "{\"a\": \"x\n".repeat(100)));
    assert_eq!((traces.len(), reading.format), (1, Some(tau2)));
    for (format, document) in OBJECTS {
        for foreign in [r#"{"foo": 1}"#, "a text", "7", r#"{"level": "info", "traces": 0}"#] {
            for count in [1, 63, 64, 65, 2_000] {
                let text = format!("{}{document}\n{document}\n", format!("{foreign}\n").repeat(count));
                let (traces, reading) = read(&text);
                assert_eq!(reading.format, Some(format), "{count} lines of {foreign}");
                let alone = read(document).0.len();
                assert_eq!(traces.len(), 2 * alone, "{count} lines of {foreign} before {format}");
            }
        }
    }
}

#[test]
fn a_conversation_without_messages_decides_nothing_for_those_behind_it() {
    let chat = r#"{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}"#;
    let (traces, reading) = read(format!("{{\"messages\": []}}\n{chat}\n{chat}\n"));
    assert_eq!((traces.len(), reading.format), (2, Some(Format::OpenAiChat)));
}

#[test]
fn calls_may_come_late_among_items() {
    let call = r#"{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}"#;
    for message in
        [r#"{"role": "user", "content": "x"}"#, r#"{"type": "message", "role": "user", "content": "x"}"#]
    {
        let items = [message; 40].join(", ");
        for document in [
            format!(r#"{{"input": [{items}, {call}]}}"#),
            format!(r#"{{"input": [{items}], "output": [{call}]}}"#),
            format!(r#"{{"items": [{items}, {call}]}}"#),
            format!("[{items}, {call}]"),
            format!("{items}, {call}").replace(", {\"", "\n{\""),
        ] {
            let (traces, reading) = read(&document);
            assert_eq!(reading.format, Some(Format::OpenAiResponses), "{document}: {:?}", reading.errors);
            assert_eq!(
                traces
                    .iter()
                    .map(|trace| trace
                        .steps()
                        .filter(|step| matches!(step.event(), Event::Action(_)))
                        .count())
                    .collect::<Vec<_>>(),
                [1],
                "{document}"
            );
        }
    }
}

#[test]
fn sixteen_lines_that_are_messages_decide() {
    let message = r#"{"role": "user", "content": "x"}"#;
    for message in [message, &message.replace('x', &"x".repeat(9000))] {
        for messages in [1, 15, 16, 40] {
            let text = [&vec![message; messages][..], &[OBJECTS[1].1]].concat().join("\n");
            let (traces, reading) = read(text);
            if messages < 16 {
                assert_eq!((traces.len(), reading.errors.len()), (1, 0), "{messages}: {:?}", reading.errors);
                assert_eq!(reading.passed_over["lines of no known format"], messages as u64);
            } else {
                assert_eq!((traces.len(), reading.errors.len()), (0, 1), "{messages}");
            }
        }
    }
}

#[test]
fn runs_with_the_marks_of_transcripts_are_runs_however_long_they_are() {
    for (format, document) in [
        (
            Format::Tau2,
            r#"{"id": "q", "task_id": "t", "messages": [{"role": "tool", "tool_call_id": "a", "id": "1", "content": "P", "requestor": "assistant", "turn_idx": 0}], "reward_info": {"reward": 1}}"#,
        ),
        (
            Format::Tau2,
            r#"{"id": "q", "task_id": "t", "messages": [{"role": "user", "extra": {"a": "P"}, "content": "x", "turn_idx": 0}], "reward_info": {"reward": 1}}"#,
        ),
        (
            Format::Tau2,
            r#"{"id": "q", "messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "tool", "content": "P", "requestor": "user"}], "reward_info": null}"#,
        ),
        (
            Format::Tau2,
            r#"{"messages": [{"role": "tool", "tool_call_id": "a", "content": "P"}], "simulations": [{"id": "q", "task_id": "t", "messages": []}]}"#,
        ),
        (
            Format::Tau2,
            r#"{"id": "q", "info": {"mini_version": "1.1"}, "messages": [{"role": "user", "content": "P", "turn_idx": 0}], "reward_info": {"reward": 1}}"#,
        ),
        (
            Format::Native,
            r#"{"info": {"mini_version": "1.1"}, "messages": [{"role": "user", "content": "P"}], "version": 1, "id": "q", "steps": []}"#,
        ),
    ] {
        for length in [100, 5_000, 30_000, 100_000] {
            let text = document.replace("\"P\"", &format!("\"{}\"", "p".repeat(length)));
            let (traces, reading) = read(&text);
            assert_eq!(
                (traces.len(), reading.format),
                (1, Some(format)),
                "{length}: {document}: {:?}",
                reading.errors
            );
        }
    }
}
