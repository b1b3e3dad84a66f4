//! Tests archives of Inspect, sound and damaged.

use wrongturn::{ErrorKind, ReadOptions, read::Format, read_traces};

use super::{describe, describe_runs, reading::archive::archive, recognition::read};

const HEADER: &str = r#"{"version": 2, "eval": {"task": "t", "model": "m"}}"#;
const START: &str = r#"{"version": 2, "eval": {"task": "begun", "model": "m"}}"#;

fn sample(id: &str) -> String {
    format!(
        r#"{{"id": "{id}", "epoch": 1, "scores": {{"a": {{"value": 1}}}}, "messages": [
            {{"role": "assistant", "tool_calls": [{{"id": "c", "function": "f", "arguments": {{}}}}]}},
            {{"role": "tool", "tool_call_id": "c", "content": "x"}}]}}"#
    )
}

#[test]
fn samples_are_read_in_the_order_of_the_archive() {
    let (b, a) = (sample("b"), sample("a"));
    let files = [
        ("_journal/start.json", START),
        ("samples/b_epoch_1.json", &*b),
        ("samples/a_epoch_1.json", &*a),
        ("samples/readme.txt", "no sample"),
        ("summaries.json", "[]"),
        ("header.json", HEADER),
    ];
    let stored = read(archive(&files, 0));
    let (traces, reading) = read(archive(&files, 8));
    assert_eq!((&traces, reading.format), (&stored.0, Some(Format::Inspect)));
    insta::assert_snapshot!(describe(&traces, &reading), @r#"
    run {"id":"b_epoch_1","model":"m","domain":"t","task":"b"} reward 1
      0 agent: call f #c {} -> ok (none): "x"
    run {"id":"a_epoch_1","model":"m","domain":"t","task":"a"} reward 1
      0 agent: call f #c {} -> ok (none): "x"
    "#);
    // The log of an interrupted run has no header.
    let started = archive(&files[..2], 8);
    insta::assert_snapshot!(describe_runs(&read(started).0), @r#"
    run {"id":"b_epoch_1","model":"m","domain":"begun","task":"b"} reward 1
      0 agent: call f #c {} -> ok (none): "x"
    "#);
}

#[test]
fn a_damaged_sample_is_reported_and_the_others_are_read() {
    let good = sample("a");
    let files = [
        ("header.json", HEADER),
        ("samples/a.json", &*good),
        ("samples/b.json", "{\"id\": 1, "),
        ("samples/c.json", "7"),
    ];
    let (traces, reading) = read(archive(&files, 8));
    insta::assert_snapshot!(describe(&traces, &reading), @r#"
    run {"id":"a_epoch_1","model":"m","domain":"t","task":"a"} reward 1
      0 agent: call f #c {} -> ok (none): "x"
    skipped: 1 samples that are not objects
    error (Truncated): run 1: `samples/b.json`: the input ends in the middle of a value
    "#);
}

#[test]
fn archives_without_a_log_are_refused() {
    for (files, kind) in [
        (vec![("word/document.xml", "<x/>")], ErrorKind::Format),
        (vec![("header.json", "7")], ErrorKind::Shape),
        (vec![("header.json", "{\"eval\": null}")], ErrorKind::Shape),
    ] {
        let (traces, reading) = read(archive(&files, 0));
        assert_eq!((traces.len(), reading.errors[0].kind()), (0, kind), "{files:?}");
    }
    let (traces, reading) = read(b"PK\x03\x04 no archive");
    assert_eq!((traces.len(), reading.errors[0].kind()), (0, ErrorKind::Syntax));
}

#[test]
fn a_changed_byte_loses_its_sample() {
    let (a, b) = (sample("a"), sample("b"));
    let mut bytes = archive(&[("header.json", HEADER), ("samples/a.json", &a), ("samples/b.json", &b)], 0);
    let place = bytes.windows(3).position(|part| part == b"\"x\"").unwrap();
    bytes[place + 1] = b'y';
    let (traces, reading) = read(&bytes);
    assert_eq!((traces.len(), reading.errors.len()), (1, 1), "{:?}", reading.errors);
    assert_eq!((traces[0].metadata().task.as_deref(), reading.errors[0].run()), (Some("b"), Some(0)));
}

#[test]
fn a_sample_above_the_limit_is_an_error() {
    let large = format!("{{\"id\": 1, \"messages\": [], \"x\": \"{}\"}}", " ".repeat(3 << 20));
    let bytes =
        archive(&[("header.json", HEADER), ("samples/a.json", &sample("a")), ("samples/b.json", &large)], 8);
    let options = ReadOptions { most_held: 1 << 20, ..ReadOptions::default() };
    let (traces, reading) = read_traces(&bytes, &options);
    assert_eq!((traces.len(), reading.errors[0].kind()), (1, ErrorKind::TooLarge));
}

#[test]
fn mutated_archives_do_not_panic() {
    let a = sample("a");
    let bytes = archive(&[("header.json", HEADER), ("samples/a.json", &a)], 8);
    for place in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[place] ^= change;
            let _ = read(&bytes);
        }
        let _ = read(&bytes[..place]);
    }
}

#[test]
fn files_that_overlap_are_errors() {
    let bytes = archive(&[("header.json", HEADER), ("samples/a.json", &sample("a"))], 8);
    let (rest, end) = bytes.split_at(bytes.len() - 22);
    let entry = rest.windows(4).rposition(|part| part == b"PK\x01\x02").unwrap();
    let mut end = end.to_vec();
    // The directory of the archive lists the one sample 50 more times.
    end[8..12].copy_from_slice(&[52, 0, 52, 0]);
    let length = u32::from_le_bytes(end[12..16].try_into().unwrap());
    let more = u32::try_from(rest.len() - entry).unwrap() * 50;
    end[12..16].copy_from_slice(&(length + more).to_le_bytes());
    let (traces, reading) = read([rest, &rest[entry..].repeat(50), &end].concat());
    assert!((1..51).contains(&traces.len()), "{}", traces.len());
    assert_eq!(traces.len() + reading.errors.len(), 51);
    let said = reading.errors[0].to_string();
    assert!(said.contains("`samples/a.json`: the zip archive is damaged: its files overlap"), "{said}");
}
