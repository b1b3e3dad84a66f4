//! Spellings and Streams.

use std::io::{self, Read};

use super::*;
#[test]
fn escaped_names_are_the_names_that_they_spell() {
    let trace =
        one(r#"{"simulation\u0073": [{"i\u0064": "r\u00e9", "tas\u006b_id": "\u0074", "mess\u0061ges": [
            {"rol\u0065": "\u0061ssistant", "tool_calls": [
                {"id": "\u0061", "name": "get\u005forder \"now\"", "arguments": {"\u006by": "\u0076"}}]},
            {"role": "tool", "id": "a", "content": "caf\u00e9 \ud83d\ude00\n"}]}]}"#);
    assert_eq!(trace.metadata().id.as_deref(), Some("r\u{e9}"));
    assert_eq!(trace.metadata().task.as_deref(), Some("t"));
    assert_eq!(
        lines(&trace),
        ["0@0 agent get_order \"now\"({\"ky\":\"v\"}) #a -> Ok by None: caf\u{e9} \u{1f600}\n"]
    );
}

#[test]
fn half_a_surrogate_pair_costs_nothing_in_a_text() {
    let trace = run_of(
        r#"[{"role": "user", "content": "\ud800 broken", "turn": "\udfff", "\u0061": {"\u0062": "\ud83d"}},
            {"role": "assistant", "tool_calls": [
                {"id": "a", "name": "search", "arguments": {"query": "\ud83d"}}]},
            {"role": "tool", "id": "a", "content": "\udc00\ud800\u0041"}]"#,
    );
    assert_eq!(trace.unpaired(), Unpaired::default());
    let texts: Vec<String> = trace
        .steps()
        .map(|step| match step.event() {
            Event::Message(text) => text.to_str().into_owned(),
            Event::Action(action) => action.observation.present().unwrap().to_str().into_owned(),
        })
        .collect();
    assert_eq!(texts, ["\u{fffd} broken", "\u{fffd}\u{fffd}A"]);
}

#[test]
fn half_a_surrogate_pair_in_a_name_costs_no_other_run() {
    for member in [
        r#""messages": [], "task_id": "\ud800""#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": "\ud800", "name": "look"}]}]"#,
        r#""messages": [{"role": "assistant", "tool_calls": [{"id": "a", "name": "\udc00"}]}]"#,
        r#""messages": [], "termination_reason": "\ud83d""#,
        r#""messages": [], "\ud83d": 1"#,
    ] {
        let (traces, errors) = read(with_member(member));
        let others: Vec<&str> = ids(&traces).into_iter().filter(|id| *id != "b").collect();
        assert_eq!(others, ["a", "c"], "{member}");
        assert!(errors.iter().all(|error| error.run() == Some(1)), "{member}: {errors:?}");
    }
}

#[test]
fn depth_is_no_danger() {
    const DEPTH: usize = 50_000;
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", r#"{"a": "#.repeat(DEPTH), "}".repeat(DEPTH));
    for value in [&deep, &objects] {
        // Nested deeper than 128 is no JSON, whether somebody looks at it or not, and costs its run alone.
        for member in [
            format!(r#""messages": [], "unknown": {value}"#),
            format!(r#""messages": [{{"role": "user", "content": "hi", "raw_data": {value}}}]"#),
            format!(
                r#""messages": [{{"role": "assistant", "tool_calls": [{{"name": "n", "arguments": {value}}}]}}]"#
            ),
            format!(r#""messages": {value}"#),
            format!(r#""messages": [{{"role": "user", "content": {value}}}]"#),
        ] {
            let (traces, reading) = read_traces(with_member(&member).as_bytes(), &ReadOptions::default());
            assert_eq!(ids(&traces), ["a", "c"]);
            assert_eq!(reading.errors.len(), 1);
        }
        for text in
            [value.clone(), value[..DEPTH].to_owned(), format!(r#"{{"info": {value}, "simulations": []}}"#)]
        {
            for options in [ReadOptions::default(), tau2()] {
                let (traces, errors) = read_with(text.as_bytes(), &options);
                assert_eq!(traces.len(), 0);
                assert!(errors.iter().all(|error| error.run().is_none_or(|run| run == 0)));
            }
        }
    }
}

/// Gives some bytes, then fails.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the disk is gone"));
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_stream_that_fails_keeps_what_came_before() {
    let (text, places) = three_runs("[", "]");
    let whole = clean(&text);
    let mut collector = TraceCollector::default();
    let reading = read_stream(Failing(&text.as_bytes()[..places[1].end + 5]), &tau2(), &mut collector);
    let kinds: Vec<ErrorKind> = reading.errors.iter().map(Error::kind).collect();
    // The end of the list, and why it is not there.
    assert_eq!(kinds, [ErrorKind::Truncated, ErrorKind::Io]);
    assert_eq!(collector.traces[..], whole[..2]);
}

#[test]
fn a_stream_larger_than_its_portions_is_read_whole() {
    let text = "x".repeat(900);
    let runs: Vec<String> = (0..1500)
        .map(|i| {
            format!(
                r#"{{"id": "{i}", "task_id": "t", "messages": [{{"role": "user", "content": "{text}"}}]}}"#
            )
        })
        .collect();
    let mut file = format!(r#"{{"info": {INFO}, "tasks": {TASKS}, "simulations": ["#);
    file.push_str(&runs.join(",\n"));
    file.push_str("]}");
    let traces = clean(&file);
    assert_eq!(traces.len(), 1500);
    assert_eq!(traces[1499].metadata().id.as_deref(), Some("1499"));
    let damaged = file.replace(r#"{"id": "1200","#, r#"{"id": [],"#);
    let (traces, errors) = read(&damaged);
    assert_eq!(traces.len(), 1499);
    assert_eq!(places(&errors)[0].1, Some(1200));
    let header = file.find("[{\"id\": \"0\"").map(|start| file[..start].lines().count() as u64).unwrap();
    assert_eq!(errors[0].location().map(|at| at.line), Some(header + 1200));
}

#[test]
fn the_bundled_files_read_alike_as_slice_and_stream() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = std::fs::read(&path).unwrap();
            let (traces, reading) = read_traces(&bytes, &ReadOptions::default());
            let (streamed, other) = stream(&bytes[..], &ReadOptions::default());
            assert_eq!(streamed, traces, "{}", path.display());
            assert_eq!((reading.errors.len(), other.errors.len()), (0, 0));
            assert!(traces.iter().all(|trace| trace.routing().route().is_some()));
            files += 1;
        }
    }
    assert_eq!(files, 9);
}
