//! Tests that the format of an input is found at any length and with any surroundings.

use serde_json::Value;
use wrongturn::{
    ErrorKind, ReadOptions, Trace,
    read::{Format, ReadSummary},
    read_traces,
    trace::Actors,
};

use super::{describe_runs, fixtures, on_each};

/// The formats whose readers, if given, also read fixtures of other formats: chats, and runs that are values.
const READS_OTHERS: [Format; 10] = [
    Format::OpenAiResponses,
    Format::AnthropicMessages,
    Format::OpenAiChat,
    Format::GeminiContents,
    Format::ChatRecords,
    Format::Events,
    Format::Tau2,
    Format::TauBench,
    Format::BenchTrace,
    Format::Native,
];

/// The formats whose inputs have no lines of other formats.
const ALONE: [Format; 7] = [
    Format::AmazonQ,
    Format::Continue,
    Format::InterCode,
    Format::Tau2,
    Format::TauBench,
    Format::BenchTrace,
    Format::Native,
];

pub(crate) fn read(input: impl AsRef<[u8]>) -> (Vec<Trace>, ReadSummary) {
    read_traces(input.as_ref(), &ReadOptions::default())
}

/// Returns the `.json` fixtures whose object may be one of several lines, each with its format.
fn objects() -> Vec<(Format, String)> {
    let object = |(format, path, bytes): (Format, std::path::PathBuf, Vec<u8>)| {
        path.extension().filter(|extension| *extension == "json")?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        let text = value.to_string();
        let is_document = read(format!("{text}\n{text}\n")).0.len() == 2 * read(&text).0.len();
        (value.is_object() && is_document && !ALONE.contains(&format)).then_some((format, text))
    };
    let objects: Vec<_> = fixtures().into_iter().filter_map(object).collect();
    assert!(objects.len() > 40, "{}", objects.len());
    objects
}

#[test]
fn inputs_of_no_format_are_refused() {
    let inputs = std::fs::read_to_string("tests/formats/unrecognised.txt").unwrap();
    for input in inputs.lines() {
        let (traces, reading) = read(input);
        assert!(traces.is_empty() && reading.format.is_none(), "{input}: {reading:?}");
        let kind = reading.errors[0].kind();
        assert!(matches!(kind, ErrorKind::Format | ErrorKind::Syntax), "{input}: {reading:?}");
        let (traces, reading) = read(format!("{input}\n{input}\n"));
        assert!(traces.is_empty() && !reading.errors.is_empty(), "{input} twice: {reading:?}");
    }
}

#[test]
fn no_other_format_reads_a_fixture() {
    on_each(|format, path, bytes| {
        let is_other = |other: &Format| *other != format && !READS_OTHERS.contains(other);
        // Every sixth of them, another sixth for other fixtures.
        for other in Format::VARIANTS.iter().copied().skip(bytes.len() % 6).step_by(6).filter(is_other) {
            let (traces, _) =
                read_traces(bytes, &ReadOptions { format: Some(other), ..ReadOptions::default() });
            assert!(traces.is_empty(), "{other} reads {}", path.display());
        }
    });
}

#[test]
fn a_byte_order_mark_and_white_space_change_nothing() {
    on_each(|format, path, bytes| {
        let (traces, reading) = read([b"\xef\xbb\xbf \r\n", bytes, b"\n\n"].concat());
        assert_eq!(reading.format, Some(format), "{}", path.display());
        assert_eq!(describe_runs(&traces), describe_runs(&read(bytes).0), "{}", path.display());
    });
}

#[test]
fn objects_of_all_formats_may_stand_one_per_line() {
    let objects = objects();
    let mut file = String::from("log: started\n");
    let mut expected = 0;
    for (_, object) in &objects {
        expected += read(object).0.len();
        file += &format!("{object}\n{{\"of\": \"none\"}}\n");
    }
    let (traces, reading) = read(&file);
    assert_eq!((traces.len(), reading.format), (expected, None), "{:?}", reading.errors);
    assert_eq!(reading.counts.passed_over.get("lines of unknown format"), Some(&(objects.len() as u64)));
    assert_eq!(reading.counts.passed_over.get("lines that are not JSON"), Some(&1));
}

#[test]
fn foreign_lines_may_precede_objects() {
    let object = r#"{"foo": 1}"#;
    let foreign = [(object, 65), ("a text", 65), ("7", 1), (r#"{"level": "info", "traces": 0}"#, 1)];
    for (format, object) in objects() {
        for (foreign, count) in foreign {
            let text = format!("{}{object}\n{object}\n", format!("{foreign}\n").repeat(count));
            let (traces, reading) = read(&text);
            assert_eq!(reading.format, Some(format), "{count} lines of {foreign}");
            let alone = read(&object).0.len();
            assert_eq!(traces.len(), 2 * alone, "{count} lines of {foreign} before {format}");
        }
    }
}

#[test]
fn the_format_may_show_only_after_a_long_beginning() {
    let space = " ".repeat(5000);
    let run = r#"{"id": "a", "reward_info": null, "messages": []}"#;
    for (end, format) in [
        (format!(r#""simulations": [{run}], "tasks": []"#), Format::Tau2),
        (r#""traces": [{"version": 1, "steps": []}]"#.to_owned(), Format::Native),
    ] {
        let (traces, reading) = read(format!(r#"{{"resourceSpans": []{space}, {end}}}"#));
        assert_eq!((traces.len(), reading.format), (1, Some(format)), "{:?}", reading.errors);
    }
}

#[test]
fn an_input_of_two_formats_is_an_error_that_names_both() {
    // An escape in a key does not hide it.
    let gemini = r#""type": "tool_use", "tool_n\u0061me": "t", "tool_id": "i", "parameters": {}"#;
    let opencode = r#""type": "tool_use", "sessionID": "s", "part": {"messageID": "m"}"#;
    assert_eq!(read(format!("{{{gemini}}}\n")).1.format, Some(Format::GeminiStream));
    let (traces, reading) = read(format!("{{{gemini}, {opencode}}}\n"));
    let message = reading.errors[0].message();
    assert!(message.contains("gemini-stream") && message.contains("opencode-events"), "{message}");
    assert!(traces.is_empty() && reading.format.is_none(), "{reading:?}");
}

#[test]
fn the_first_line_that_a_format_claims_decides_what_a_session_is() {
    let rollout = r#"{"type": "session_meta", "payload": {"id": "s"}}"#;
    let claude =
        r#"{"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "hi"}}"#;
    for (lines, format) in
        [([rollout, claude], Format::CodexRollout), ([claude, rollout], Format::ClaudeCode)]
    {
        let (_, reading) = read(lines.join("\n"));
        assert_eq!(reading.format, Some(format));
        assert_eq!(reading.counts.passed_over.values().sum::<u64>(), 1, "{reading:?}");
    }
}

/// Sessions and spans are read in one pass if every line is sound, and in two otherwise.
#[test]
fn a_foreign_line_in_a_long_session_changes_no_run() {
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
    assert!(reading.counts.passed_over.is_empty() && traces[0].steps().count() == 2, "{reading:?}");
    for (more, reason) in [
        ("no JSON\n", "lines that are not JSON"),
        ("{\"type\": \"event_msg\", \"payload\": {", "incomplete last lines"),
        ("[7]\n", "lines that are not objects"),
    ] {
        let (others, other) = read(format!("{lines}{more}"));
        assert_eq!((&traces, other.counts.passed_over.get(reason)), (&others, Some(&1)), "{more}");
    }
    assert_eq!(read("{\"type\": \"session_meta\", \"payload\": {\"id\": \"\\x\"}}\n7\n").1.format, None);
    let (others, other) = read(lines.replacen('\n', "", 1));
    assert!(others == traces && other.counts.passed_over.is_empty(), "two values in a line: {other:?}");
}

#[test]
fn other_members_and_litter_next_to_long_spans_change_no_run() {
    let pad = "x".repeat(5000);
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
    for end in [r#", "x": 1}"#, r#", "resourceLogs": null}"#, "} ", "", "]"] {
        assert_eq!(read(format!("{spans}{end}")).0, traces, "{end}");
    }
    // A fault in a member that is skipped is reported.
    let damaged =
        format!("{spans}}}").replacen("\"name\": \"t\"", "\"name\": \"t\", \"traceState\": \"\u{1}\"", 1);
    let (others, reading) = read(&damaged);
    assert!(others == traces && !reading.errors.is_empty(), "{:?}", reading.errors);
}

#[test]
fn text_between_the_lines_of_a_session_changes_no_run() {
    let noise = "Traceback (most recent call last):\n{'a': 1}\n3\n\n[1, 2]\n{\"type\": \"new\", \"x\": 1}\n{\"cut\": \"\n";
    for case in ["codex-rollout/turns", "codex-exec/order", "claude-code/copies"] {
        let session = std::fs::read_to_string(format!("tests/formats/{case}.jsonl")).unwrap();
        let mixed = format!("{noise}{}", session.trim_end().replace('\n', &format!("\n{noise}")));
        let (traces, reading) = read(format!("{mixed}\n{}", session.get(..20).unwrap()));
        assert_eq!(describe_runs(&traces), describe_runs(&read(&session).0), "{case}");
        let lines = session.lines().count() as u64;
        assert_eq!(reading.counts.passed_over["lines that are not JSON"], 2 * lines + 1, "{case}");
        assert_eq!(reading.counts.passed_over["lines that are not objects"], 2 * lines, "{case}");
        assert_eq!(reading.counts.errors, lines, "{case}");
    }
}

#[test]
fn one_line_is_a_session() {
    for line in [
        r#"{"type": "user", "sessionId": "s", "message": {"role": "user", "content": "x"}}"#,
        r#"{"type": "response_item", "payload": {"type": "message", "role": "user", "content": "x"}}"#,
        r#"{"type": "item.completed", "item": {"type": "error", "message": "x"}}"#,
    ] {
        for input in [line.to_owned(), format!("{line}\n"), format!("\u{feff}{line}\r\n{{\"cut")] {
            let (traces, reading) = read(&input);
            assert_eq!((traces.len(), reading.errors.len()), (1, 0), "{input}");
            assert_eq!(traces[0].steps().len(), 1, "{input}");
        }
    }
}

/// Formats with a run on each line. `ID` stands for its id, and `PAD` for a text of any length.
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
fn a_truncated_first_line_loses_no_other_run() {
    for (format, run) in RUNS {
        for length in [10, 6_000, 200_000] {
            let line = |id: &str| run.replace("ID", id).replace("PAD", &"a b ".repeat(length / 4));
            let (first, others) = (line("first"), [line("second"), line("third")].join("\n"));
            let (expected, _) = read(&others);
            assert_eq!(expected.len(), 2);
            // Long lines are cut at fewer places, to save time.
            let step = if length > 10_000 { 12 } else { 1 };
            for cut in (2..60).step_by(step).chain([first.len() / 2, first.len() - 40, first.len() - 2]) {
                let part = &first[..cut];
                // If a line ends before a value, the next line is read as that value.
                if part.trim_end().ends_with([':', '[']) {
                    continue;
                }
                for (given, end) in [(None, "\n"), (Some(format), "\n"), (None, "\r\n")] {
                    let options = ReadOptions { format: given, ..ReadOptions::default() };
                    let text = format!("{part}\n{others}\n").replace('\n', end);
                    let (traces, reading) = read_traces(text.as_bytes(), &options);
                    let sizes = |traces: &[Trace]| -> Vec<_> {
                        traces.iter().map(|trace| (trace.metadata().clone(), trace.steps().count())).collect()
                    };
                    let place = format!("{format} of {length} bytes, cut at {cut}: {:?}", reading.errors);
                    assert_eq!(sizes(&traces), sizes(&expected), "{place}");
                    assert_eq!((reading.format, reading.counts.errors), (Some(format), 1), "{place}");
                }
            }
        }
    }
    // The first line ends near the end of the sample that recognition uses.
    let (format, run) = RUNS[0];
    for length in [4_000, 4_094, 4_095, 4_096, 4_097, 16_383, 16_384] {
        let part = run.replace("PAD", &"x".repeat(20_000))[..length].to_owned();
        let (traces, reading) = read(format!("{part}\n{run}\n{run}\n"));
        assert_eq!((traces.len(), reading.format), (2, Some(format)), "{length} bytes: {:?}", reading.errors);
    }
}

#[test]
fn a_first_line_of_text_loses_no_run() {
    for (format, run) in RUNS {
        for text in [
            "[INFO] start",
            "[12:00:01] starting",
            "42 runs",
            "\"hello\" world",
            "null,",
            "\"abc\": 1}",
            "20}, 7",
        ] {
            let (traces, reading) = read(format!("{text}\n{run}\n{run}\n"));
            assert_eq!((traces.len(), reading.format), (2, Some(format)), "{text}: {:?}", reading.errors);
        }
    }
    let (format, run) = RUNS[0];
    let (traces, reading) = read(format!("{}{run}\n", "{\"a\": \"x\n".repeat(100)));
    assert_eq!((traces.len(), reading.format), (1, Some(format)));
}

#[test]
fn an_object_of_runs_may_have_a_long_first_line() {
    let (_, run) = RUNS[0];
    let runs = ["a", "b", "c"].map(|id| run.replace("ID", id)).join(",\n");
    for length in [10, 6_000, 100_000] {
        let text = format!("{{\"notes\": \"{}\", \"simulations\": [\n{runs}\n]}}", "x".repeat(length));
        assert_eq!(read(&text).0.len(), 3, "{} bytes", text.len());
        let damaged = text.replacen("\"messages\":", "\"messages\"", 1);
        assert_eq!(read(&damaged).0.len(), 2, "{} bytes", text.len());
    }
}

#[test]
fn messages_under_other_keys_decide_nothing() {
    let message = r#"{"role": "tool", "tool_call_id": "c", "content": "x"}"#;
    let messages = vec![message; 200].join(", ");
    for (list, (format, run)) in [("simulations", RUNS[0]), ("traces", RUNS[2])] {
        let (traces, reading) = read(format!("{{\"zz\": [{messages}, 7], \"{list}\": [{run}]}}"));
        assert_eq!((traces.len(), reading.format), (1, Some(format)), "{:?}", reading.errors);
    }
    let (traces, reading) = read(format!(r#"{{"traj": [{messages}], "task_id": 1, "reward": 1.0}}"#));
    assert_eq!((traces.len(), reading.format), (1, Some(Format::TauBench)));
}

#[test]
fn runs_with_the_marks_of_transcripts_are_runs_at_any_length() {
    let runs = std::fs::read_to_string("tests/formats/marks-of-transcripts.txt").unwrap();
    for (format, document) in runs.lines().map(|line| line.split_once(' ').unwrap()) {
        for length in [100, 5_000, 30_000, 100_000] {
            let (traces, reading) = read(document.replace("\"P\"", &format!("\"{}\"", "p".repeat(length))));
            let found = (traces.len(), reading.format.map(Format::name));
            assert_eq!(found, (1, Some(format)), "{length}: {document}: {:?}", reading.errors);
        }
    }
}

#[test]
fn the_first_call_may_come_late_among_items() {
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
            assert_eq!(traces.len(), 1, "{document}");
            let calls = traces[0].steps().filter(|step| step.action_of(Actors::All).is_some());
            assert_eq!(calls.count(), 1, "{document}");
        }
    }
}

#[test]
fn sixteen_lines_of_messages_make_a_chat() {
    let object = r#"{"schema_version": "ATIF-v1.5", "agent": {"name": "a"}, "steps": [{"source": "user", "message": "x"}]}"#;
    for content in ["x", &"x".repeat(9000)] {
        let message = format!(r#"{{"role": "user", "content": "{content}"}}"#);
        for messages in [1, 15, 16, 40] {
            let (traces, reading) = read(format!("{}{object}", format!("{message}\n").repeat(messages)));
            if messages < 16 {
                assert_eq!((traces.len(), reading.errors.len()), (1, 0), "{messages}: {:?}", reading.errors);
                assert_eq!(reading.counts.passed_over["lines of unknown format"], messages as u64);
            } else {
                assert_eq!((traces.len(), reading.errors.len()), (0, 1), "{messages}");
            }
        }
    }
}

#[test]
fn a_foreign_element_is_found_anywhere_in_a_chat() {
    let message = r#"{"role": "user", "content": "a"}"#;
    for place in [0, 63, 64, 65, 200] {
        let mut elements = vec![message; 201];
        for wrong in ["7", r#"{"content": "a"}"#, r#"{"role": "user", "content": "a", "parts": []}"#] {
            elements[place] = wrong;
            let list = format!("[{}]", elements.join(","));
            for input in [list.clone(), format!("{{\"messages\": {list}}}"), elements.join("\n")] {
                let (traces, reading) = read(&input);
                // A line that is not an object is skipped.
                if wrong == "7" && !input.contains('[') {
                    assert_eq!((traces.len(), reading.errors.len()), (1, 0));
                } else {
                    assert!(traces.is_empty(), "{wrong} at {place}");
                    assert_eq!(reading.errors[0].kind(), ErrorKind::Format, "{wrong} at {place}");
                }
            }
        }
        // A single item makes all elements items of a response.
        elements[place] = r#"{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}"#;
        let (traces, reading) = read(format!("[{}]", elements.join(",")));
        assert_eq!((traces.len(), reading.format), (1, Some(Format::OpenAiResponses)));
    }
}

#[test]
fn a_foreign_element_is_found_anywhere_among_events_and_steps() {
    let events = [
        r#"{"id": 1, "source": "agent", "action": "f"}"#,
        r#"{"id": 2, "source": "agent", "observation": "f", "cause": 1}"#,
    ];
    let step = r#"{"action": "x", "observation": "x"}"#;
    for place in [0, 1, 2, 150] {
        let with = |elements: &[&str], wrong: &str| {
            let mut all: Vec<&str> = elements.iter().copied().cycle().take(200).collect();
            all.insert(place, wrong);
            all.join(", ")
        };
        for text in [
            format!("[{}]", with(&events, r#"{"id": 1}"#)),
            format!(r#"{{"trajectory": [{}], "history": []}}"#, with(&[step], r#"{"action": "x"}"#)),
        ] {
            let (traces, reading) = read(text);
            assert!(traces.is_empty() && reading.format.is_none(), "{place}: {reading:?}");
            assert_eq!(reading.errors.len(), 1, "{place}: {reading:?}");
        }
    }
}
