//! Damaged and foreign input: nothing panics, nothing is lost that can be read, nothing is read as what it is not.

use proptest::prelude::*;
use serde_json::{Value, json};
use wrongturn::{ReadOptions, read::Format, read_traces};

use crate::reading::{Drip, stream};
use crate::{atif, claude_code, codex, codex_exec, lines, read, told};

/// A session of each format, with calls, answers and messages.
fn sessions() -> [(Format, String); 4] {
    let step = json!({"source": "agent", "message": "m", "timestamp": "2026-01-01T00:00:00Z", "metrics": {"prompt_tokens": 1},
        "tool_calls": [{"tool_call_id": "1", "function_name": "t", "arguments": {"a": 1}}],
        "observation": {"results": [{"source_call_id": "1", "content": "x\n\n[metadata] {\"interrupted\": true}", "extra": {"is_error": false}}]}});
    let mut trajectory = atif::trajectory("codex", &json!([step, {"source": "user", "message": "u"}]));
    trajectory["subagent_trajectories"] = json!([{"trajectory_id": "sub", "steps": []}]);
    let claude = [
        json!({"type": "file-history-snapshot", "snapshot": {}}),
        claude_code::user(&json!("go")),
        claude_code::assistant("m", &json!([{"type": "text", "text": "look"}, claude_code::call("a")])),
        claude_code::user(&json!([claude_code::result("a", "x\n[Request interrupted by user]")])),
    ];
    let rollout = [
        codex::line("session_meta", &json!({"id": "s"})),
        codex::item("message", &json!({"role": "user", "content": [{"type": "input_text", "text": "go"}]})),
        codex::call("a"),
        codex::output("a", &json!("Chunk ID: 1\nProcess exited with code 1\nOutput:\nx")),
        codex::line("event_msg", &json!({"type": "exec_command_end", "call_id": "a", "exit_code": 1})),
    ];
    let exec = [
        json!({"type": "thread.started", "thread_id": "T"}),
        codex_exec::event("item.started", &codex_exec::command("a", "c", "in_progress")),
        codex_exec::event("item.completed", &codex_exec::command("a", "c", "completed")),
        codex_exec::event("item.completed", &json!({"id": "m", "type": "agent_message", "text": "end"})),
    ];
    [
        (Format::Atif, trajectory.to_string()),
        (Format::ClaudeCode, lines(&claude)),
        (Format::CodexRollout, lines(&rollout)),
        (Format::CodexExec, lines(&exec)),
    ]
}

fn assert_same_from_a_stream(input: &[u8], chunk: usize) {
    let (traces, reading) = read_traces(input, &ReadOptions::default());
    let (streamed, streamed_reading) = stream(Drip(input, chunk), &ReadOptions::default());
    assert_eq!(streamed, traces);
    assert_eq!(format!("{streamed_reading:?}"), format!("{reading:?}"));
}

proptest! {
    #[test]
    fn no_mutation_panics_and_streams_read_the_same(
        session in 0_usize..4,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4, any::<u8>(), 0_usize..30), 0..6),
        chunk in 1_usize..200,
    ) {
        let mut input = sessions()[session].1.clone().into_bytes();
        for (place, kind, byte, length) in edits {
            let at = place.index(input.len() + 1);
            let end = (at + length).min(input.len());
            match kind {
                0 => input.truncate(at),
                1 => input.insert(at, b"{}[]\",:\\0tnf\n \xff"[usize::from(byte) % 15]),
                2 => drop(input.drain(at..end)),
                _ => {
                    let copy = input[at..end].to_vec();
                    input.splice(at..at, copy);
                }
            }
        }
        assert_same_from_a_stream(&input, chunk);
    }

    /// Values of other kinds in every place.
    #[test]
    fn no_value_in_place_of_another_panics(session in 0_usize..4, place in any::<prop::sample::Index>(), value in 0_usize..9) {
        let values = [json!(null), json!(true), json!(-1.5), json!(1e300), json!(""), json!("\u{0}x"), json!([]), json!([[{}]]), json!({"": {}})];
        let input = &sessions()[session].1;
        let mut documents: Vec<Value> = input.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let count: usize = documents.iter().map(places).sum();
        let mut at = place.index(count);
        for document in &mut documents {
            replace(document, &mut at, &values[value]);
        }
        assert_same_from_a_stream(lines(&documents).as_bytes(), 64);
    }
}

/// How many values there are in a value.
fn places(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(places).sum(),
        Value::Object(members) => members.values().map(places).sum(),
        _ => 0,
    }
}

/// Replaces the value at a place.
fn replace(value: &mut Value, at: &mut usize, by: &Value) {
    if *at == 0 {
        *value = by.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        _ if *at == usize::MAX => {}
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at, by)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, at, by)),
        _ => {}
    }
}

#[test]
fn every_session_is_of_its_format_alone() {
    for (format, input) in sessions() {
        let (traces, _) = read(format, &input);
        assert!(!traces.is_empty());
        for other in Format::VARIANTS.iter().filter(|other| **other != format) {
            let options = ReadOptions { format: Some(*other), ..ReadOptions::default() };
            let (traces, reading) = read_traces(input.as_bytes(), &options);
            assert!(traces.is_empty() && !reading.errors.is_empty(), "{format} as {other}");
        }
    }
}

#[test]
fn what_is_of_no_format_is_refused() {
    for input in [
        json!({"schema_version": "ATIF-v1", "agent": {}, "steps": []}).to_string(),
        json!({"schema_version": "ATIF-v1.x", "agent": {}, "steps": []}).to_string(),
        json!({"schema_version": 1.4, "agent": {}, "steps": []}).to_string(),
        json!({"schema_version": "ATIF-v1.7", "agent": "a", "steps": []}).to_string(),
        json!({"schema_version": "ATIF-v1.7", "agent": {}, "steps": {}}).to_string(),
        json!({"__header__": true, "schema_version": "1.4", "agent": {}}).to_string(),
        json!({"type": "message", "uuid": "u", "message": {"role": "user", "content": "x"}}).to_string(),
        json!({"type": "user", "message": {"content": "x"}}).to_string(),
        json!({"type": "user", "uuid": "u", "message": "x"}).to_string(),
        json!({"v": 1, "agent": "claude-code", "cli_version": "1", "type": "user", "content": "x"})
            .to_string(),
        json!({"type": "session_meta", "payload": "x"}).to_string(),
        json!({"type": "session", "payload": {}}).to_string(),
        json!({"type": "thread.started"}).to_string(),
        json!({"type": "item.completed", "item": []}).to_string(),
    ] {
        for input in [input.clone(), format!("{input}\n{input}\n")] {
            let (traces, reading) = read_traces(input.as_bytes(), &ReadOptions::default());
            assert!(traces.is_empty() && reading.format.is_none() && !reading.errors.is_empty(), "{input}");
        }
    }
}

#[test]
fn a_session_of_one_line_is_a_session() {
    for line in [
        claude_code::user(&json!("x")),
        codex::item("message", &json!({"role": "user", "content": "x"})),
        codex_exec::event("item.completed", &json!({"type": "error", "message": "x"})),
    ] {
        for input in [line.to_string(), format!("{line}\n"), format!("\u{feff}{line}\r\n{{\"cut")] {
            let (traces, reading) = read_traces(input.as_bytes(), &ReadOptions::default());
            assert_eq!((traces.len(), reading.errors.len()), (1, 0), "{input}");
            assert_eq!(traces[0].steps().len(), 1, "{input}");
        }
    }
}

#[test]
fn litter_between_lines_costs_nothing() {
    for (format, input) in sessions().into_iter().skip(1) {
        let clean = told(format, &input);
        let noise = "Traceback (most recent call last):\n{'a': 1}\n3\n\n[1, 2]\n{\"type\": \"new\", \"x\": 1}\n{\"cut\": \"";
        let mut mixed = String::new();
        for line in input.lines() {
            mixed.push_str(noise);
            mixed.push('\n');
            mixed.push_str(line);
            mixed.push('\n');
        }
        mixed.push_str(input.lines().nth(1).unwrap().split_at(20).0);
        assert_eq!(told(format, &mixed), clean, "{format}");
        let (_, reading) = read(format, &mixed);
        let lines = input.lines().count() as u64;
        assert_eq!(reading.passed_over["lines that are no JSON"], 3 * lines + 1);
        assert_eq!(reading.passed_over["lines that are no object"], 2 * lines);
    }
}

#[test]
fn a_large_result_is_kept_whole() {
    let large = "long line \u{e9}\n".repeat(450_000);
    assert!(large.len() > 5_000_000);
    let step = json!({"source": "agent", "tool_calls": [{"tool_call_id": "1", "function_name": "t"}], "observation": {"results": [{"content": large}]}});
    for input in [
        atif::trajectory("codex", &json!([step])).to_string(),
        lines(&[
            claude_code::assistant("m", &json!([claude_code::call("a")])),
            claude_code::user(&json!([claude_code::result("a", &large)])),
        ]),
        lines(&[codex::call("a"), codex::output("a", &json!(large))]),
    ] {
        let (traces, _) = read_traces(input.as_bytes(), &ReadOptions::default());
        let step = traces[0].steps().next().unwrap();
        let wrongturn::trace::Event::Action(action) = step.event() else { panic!("no action") };
        assert_eq!(action.observation.present().unwrap().to_str().len(), large.len());
        assert_same_from_a_stream(input.as_bytes(), 1 << 16);
    }
}

#[test]
fn strings_that_are_no_strings_cost_their_line() {
    let (format, input) = sessions()[1].clone();
    let damaged = input.replace("\"go\"", "\"g\u{1}o\"");
    let (traces, reading) = read(format, &damaged);
    assert_eq!(traces[0].steps().len(), 2);
    assert_eq!(reading.passed_over["lines that are no JSON"], 1);
}
