//! Tests layouts of files, orders of keys, and streams.

use std::io::{self, Read};

use super::*;

fn run(id: &str) -> String {
    format!(r#"{{"id": "{id}", "task_id": "t", "messages": []}}"#)
}

/// A line that may not be a single run is read between lines that are.
#[test]
fn a_run_ends_with_its_line() {
    let list = format!(r#"{{"simulations": [{}], "seed": 7}}"#, run("c"));
    for (between, expected, lines) in [
        (String::new(), &["a", "b", "z"][..], &[][..]),
        (format!(" \n{}\t\r", run("c")), &["a", "b", "c", "z"], &[]),
        (list.clone(), &["a", "b", "c", "z"], &[]),
        (list.replace("\"seed\"", "\"messages\""), &["a", "b", "c", "z"], &[3]),
        (list.replace("\"seed\": 7", "\"messages\": []"), &["a", "b", "c", "z"], &[3]),
        (run("c").replace("\"t\"", "\"t\", \"pad\": \"é\""), &["a", "b", "c", "z"], &[]),
        // After the messages of a run, a list of runs is an ordinary member.
        (format!("{}, {}", run("c").trim_end_matches('}'), &list[1..]), &["a", "b", "c", "z"], &[]),
        (run("c").replace(": []", ":\n[]"), &["a", "b", "z"], &[3, 4]),
        (run("c").replace("\"t\"", "{\"u\": [\n]}"), &["a", "b", "z"], &[3, 4]),
        (run("c").replace("\"t\"", "\"\n\""), &["a", "b", "z"], &[3, 4]),
        (run("c") + &run("d"), &["a", "b", "c", "z"], &[3]),
        (run("c") + " ]", &["a", "b", "c", "z"], &[3]),
        ("{\"id\": \"c\", \"messages\": [".to_owned(), &["a", "b", "z"], &[3]),
        ("\"c\"".to_owned(), &["a", "b", "z"], &[3]),
    ] {
        for end in ["", "\n"] {
            let text = format!("{}\n{}\n{between}\n{}{end}", run("a"), run("b"), run("z"));
            let (traces, errors) = read(&text);
            assert_eq!(ids(&traces), expected, "{text}");
            assert_eq!(places(&errors).iter().map(|error| error.2).collect::<Vec<_>>(), lines, "{text}");
        }
    }
}

/// The first run is longer than the sample that recognition uses.
#[test]
fn blank_lines_and_a_damaged_run_may_come_first() {
    let long = |member: &str| {
        let pad = "x".repeat(6_000);
        format!(r#"{{"id": "a", "messages": [], "termination_reason": "x", {member}, "pad": "{pad}"}}"#)
    };
    for blank in ["", "\n", " \r\n\n"] {
        let text = format!("{blank}{}\n{{\"id\":\n{}\n{}\n", long("\"z\": nul"), run("c"), run("d"));
        let (traces, errors) = read(&text);
        assert_eq!((ids(&traces), errors.len()), (vec!["c", "d"], 2), "{blank:?}: {errors:?}");
        // A first line of a list that ends with a bracket is not a document of its own.
        let text = format!("{blank}[{}}}\n,{}\n,{}\n]\n", long("\"z\": null"), run("c"), run("d"));
        let (traces, errors) = read(&text);
        assert_eq!(ids(&traces), ["a", "c", "d"], "{blank:?}: {errors:?}");
        assert!(!errors.is_empty(), "{blank:?}");
    }
}

#[test]
fn keys_of_a_file_come_in_any_order() {
    let members = [
        r#""timestamp": "2025""#,
        &format!(r#""info": {INFO}"#),
        &format!(r#""tasks": {TASKS}"#),
        &format!(r#""simulations": [{RUN}, {{"id": "s", "task_id": "elsewhere", "messages": null}}]"#),
    ];
    let expected = clean(&object(&members, &[0, 1, 2, 3]));
    assert_eq!(expected.len(), 2);
    for order in orders(members.len()) {
        let text = object(&members, &order);
        // If the tasks follow the runs, a stream is read ahead up to them.
        assert_eq!(clean(&text), expected, "{text}");
        let (streamed, _) = stream(Drip(text.as_bytes(), 1), &tau2());
        assert_eq!(streamed, expected, "{text}");
    }
}

#[test]
fn keys_of_a_run_come_in_any_order() {
    let messages = r#""messages": [{"role": "assistant", "tool_calls": [{"id": "1", "name": "look"}]},
        {"role": "tool", "id": "1", "content": "a wall"}]"#;
    let members = [
        r#""id": "r""#,
        r#""task_id": "t""#,
        r#""trial": 1"#,
        r#""termination_reason": "agent_stop""#,
        r#""reward_info": {"reward": 1.0}"#,
        messages,
    ];
    let text =
        |order: &[usize]| format!(r#"{{"tasks": {TASKS}, "simulations": [{}]}}"#, object(&members, order));
    let expected = one(&text(&[0, 1, 2, 3, 4, 5]));
    assert_eq!(expected.metadata().task.as_deref(), Some("t"));
    let reached = RouteInefficiency::default().detect(&expected).measure("milestones_reached");
    assert_eq!(reached, Some(1.0));
    for order in orders(members.len()) {
        assert_eq!(one(&text(&order)), expected);
        assert_eq!(ids(&clean(&object(&members, &order))), ["r"]);
    }
}

#[test]
fn keys_of_a_message_come_in_any_order() {
    let call =
        [r#""id": "1""#, r#""name": "look""#, r#""arguments": {"a": 1}"#, r#""requestor": "assistant""#];
    let answer = [r#""role": "tool""#, r#""id": "1""#, r#""content": "a wall""#, r#""error": true"#];
    let mut expected = None;
    for order in orders(4) {
        let calls = format!(r#""tool_calls": [{}]"#, object(&call, &order));
        let ask = [r#""role": "assistant""#, r#""content": "I look""#, &calls, r#""turn_idx": 3"#];
        let trace = run_of(&format!("[{}, {}]", object(&ask, &order), object(&answer, &order)));
        assert_eq!(trace, *expected.get_or_insert_with(|| trace.clone()), "{order:?}");
    }
}

#[test]
fn a_thousand_calls_of_one_id_pair_in_order() {
    let message = |i: usize| {
        format!(
            r#"{{"role": "assistant", "tool_calls": [{{"id": "", "name": "n{i}"}}]}}, {{"role": "user", "content": "x"}}"#
        )
    };
    let answer = |i: usize| format!(r#"{{"role": "tool", "id": "", "content": "{i}"}}"#);
    let messages: Vec<String> = (0..1000).map(message).chain((0..999).map(answer)).collect();
    let trace = run_of(&format!("[{}]", messages.join(",")));
    for (i, step) in trace.steps().step_by(2).enumerate().take(999) {
        let action = step.action_of(Actors::All).unwrap();
        let answer = action.observation.present().unwrap().to_str().into_owned();
        assert_eq!((action.name, answer), (&*format!("n{i}"), i.to_string()));
    }
    assert_eq!((trace.unpaired().calls, trace.unpaired().messages), (1, 0));
}

#[test]
fn a_value_nested_too_deeply_loses_only_its_run() {
    const DEPTH: usize = 50_000;
    let deep = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let objects = format!("{}1{}", r#"{"a": "#.repeat(DEPTH), "}".repeat(DEPTH));
    for value in [&deep, &objects] {
        for member in [
            format!(r#""messages": [], "unknown": {value}"#),
            format!(r#""messages": [{{"role": "user", "content": "hi", "raw_data": {value}}}]"#),
            format!(
                r#""messages": [{{"role": "assistant", "tool_calls": [{{"name": "n", "arguments": {value}}}]}}]"#
            ),
            format!(r#""messages": {value}"#),
            format!(r#""messages": [{{"role": "user", "content": {value}}}]"#),
        ] {
            let (traces, reading) =
                read_traces(damage::with_member(&member).as_bytes(), &ReadOptions::default());
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

/// A reader that returns some bytes, then fails.
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
fn a_stream_that_fails_keeps_the_runs_before() {
    let (text, places) = three_runs("[", "]");
    let whole = clean(&text);
    let mut collector = TraceCollector::default();
    let reading = read_stream(Failing(&text.as_bytes()[..places[1].end + 5]), &tau2(), &mut collector);
    let kinds: Vec<ErrorKind> = reading.errors.iter().map(Error::kind).collect();
    assert_eq!(kinds, [ErrorKind::Truncated, ErrorKind::Io]);
    assert_eq!(collector.traces[..], whole[..2]);
}

#[test]
fn a_stream_of_a_megabyte_is_read_whole() {
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

/// Headers that follow their runs are looked up in constant time.
#[test]
fn thirty_thousand_lines_have_headers_of_their_own() {
    let line = r#"{"simulations":[{"id":"x","messages":[]}],"model":"M"}"#;
    let text = format!("{line}\n").repeat(30_000);
    let (traces, errors) = read_with(text.as_bytes(), &tau2());
    assert_eq!((traces.len(), errors.len()), (30_000, 0));
    assert!(traces.iter().all(|trace| trace.metadata().model.as_deref() == Some("M")));
}
