//! Tests the reader of `BenchTrace` episodes: the alignment of answers, and truncation.
//! `tests/formats/benchtrace` pins small files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails where it panics")]

mod reading;

use reading::{describe_errors, stream};
use wrongturn::{
    Error, ErrorKind, ReadOptions,
    read::{Alignment, Format},
    read_traces,
    trace::Actors,
};

/// Reads the actions of a trajectory, each with its answer.
fn answers(entries: &str, alignment: Alignment) -> Vec<(String, Option<String>)> {
    let text = format!(r#"{{"id": "e", "snapshot": {{"trajectory": [{entries}]}}}}"#);
    let options = ReadOptions { alignment: Some(alignment), ..ReadOptions::default() };
    let (traces, _) = read_traces(text.as_bytes(), &options);
    assert_eq!(stream(text.as_bytes(), &options).0, traces);
    let actions = traces[0].steps().filter_map(|step| {
        let action = step.action_of(Actors::All)?;
        let answer = action.observation.present().map(|text| text.to_str().into_owned());
        Some((action.name.to_owned(), answer))
    });
    actions.collect()
}

#[test]
fn an_alignment_that_is_given_overrides_the_first_entry() {
    let pair = |action: &str, answer: Option<&str>| (action.to_owned(), answer.map(str::to_owned));
    let starts_with_action = r#"{"step": 0, "obs": "a hall", "action": "go north"},
        {"step": 1, "obs": "a kitchen", "action": "take knife"}, {"step": 2, "obs": "taken", "action": "go south"}"#;
    let expected = [
        pair("go north", Some("a hall")),
        pair("take knife", Some("a kitchen")),
        pair("go south", Some("taken")),
    ];
    assert_eq!(answers(starts_with_action, Alignment::After), expected);
    let starts_without = r#"{"step": 0, "obs": "a hall", "action": null},
        {"step": 1, "obs": "a kitchen", "action": "go north"}, {"step": 2, "obs": "taken", "action": "take knife"}"#;
    let expected = [pair("go north", Some("taken")), pair("take knife", None)];
    assert_eq!(answers(starts_without, Alignment::Before), expected);
}

#[test]
fn a_truncated_file_keeps_its_complete_episodes() {
    let episode = r#"{"id": "e", "game": "zork1", "snapshot": {"final_score": 35, "trajectory": [
        {"step": 0, "obs": "West of House", "action": "open mailbox"}, {"step": 1, "action": "wait", "reward": 5}]}}"#;
    let text = format!("{{\"game\": \"zork1\", \"episodes\": [{episode},\n{episode}]}}");
    let ends = [text.find("}},\n{").unwrap() + 2, text.len() - 2];
    let options = ReadOptions { format: Some(Format::BenchTrace), ..ReadOptions::default() };
    for cut in 1..text.len() {
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let (traces, reading) = read_traces(&text.as_bytes()[..cut], &options);
        let (streamed, other) = stream(&text.as_bytes()[..cut], &options);
        assert_eq!(traces.len(), complete, "cut at {cut}");
        assert_eq!(streamed, traces, "cut at {cut}");
        assert_eq!(describe_errors(&other.errors), describe_errors(&reading.errors), "cut at {cut}");
        assert_eq!(reading.errors.last().map(Error::kind), Some(ErrorKind::Truncated), "cut at {cut}");
    }
}
