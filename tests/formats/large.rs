//! Tests large answers, many calls with one id, and long white space.

use wrongturn::trace::{Actors, Step};

use super::{Drip, ReadOptions, lengths::documents, recognition::read, stream};

#[test]
fn an_answer_of_two_megabytes_is_read_whole() {
    let line = "long line é\n";
    for (format, document) in documents() {
        let text = document.replace("PAD", &"long line é\\n".repeat(160_000));
        let (traces, reading) = read(&text);
        assert_eq!(reading.format, Some(format), "{:?}", reading.errors);
        let answer = line.repeat(160_000);
        let is_whole = |step: Step<'_>| {
            let observation = step.action_of(Actors::All).and_then(|action| action.observation.present());
            observation.is_some_and(|text| text.to_str().ends_with(&answer))
        };
        assert!(traces[0].steps().any(is_whole), "{format}");
        assert_eq!(stream(Drip(text.as_bytes(), 1 << 16), &ReadOptions::default()).0, traces, "{format}");
    }
}

/// Pairing takes less than quadratic time in the number of calls that share an id.
#[test]
fn thirty_thousand_calls_of_one_id_have_their_results() {
    const CALLS: usize = 30_000;
    let calls = vec![r#"{"tool_call_id": "x", "function_name": "f", "arguments": {}}"#; CALLS].join(",");
    let results = vec![r#"{"content": "o"}"#; CALLS].join(",");
    let (traces, reading) = read(format!(
        r#"{{"schema_version": "ATIF-v1.7", "agent": {{}}, "steps": [
            {{"source": "agent", "tool_calls": [{calls}], "observation": {{"results": [{results}]}}}},
            {{"source": "agent", "observation": {{"results": [{{"source_call_id": "x", "content": "p"}}]}}}}]}}"#
    ));
    assert!(reading.errors.is_empty(), "{:?}", reading.errors);
    assert_eq!(traces[0].steps().filter(|step| step.action_of(Actors::All).is_some()).count(), CALLS);
    assert_eq!(traces[0].unpaired().calls, 0);
}

#[test]
fn the_place_of_bad_utf8_after_white_space_is_that_of_the_whole_input() {
    let mut text = vec![b'\n'; 70_000];
    text.push(0xc3);
    for (_, reading) in [read(&text), stream(&*text, &ReadOptions::default())] {
        let place = reading.errors[0].location().unwrap();
        assert_eq!((place.line, place.column), (70_001, 1));
    }
}
