//! Tests that faults and counts depend neither on how an input arrives nor on the lines before.

use wrongturn::ReadOptions;
use wrongturn::read::{read_stream, read_traces};
use wrongturn::trace::TraceCollector;

#[test]
fn the_place_of_bad_utf8_after_white_space_is_that_of_the_whole_input() {
    let mut text = vec![b'\n'; 70_000];
    text.push(0xc3);
    let streamed = read_stream(&*text, &ReadOptions::default(), &mut TraceCollector::default());
    for reading in [read_traces(&text, &ReadOptions::default()).1, streamed] {
        let place = reading.errors[0].location().unwrap();
        assert_eq!((place.line, place.column), (70_001, 1));
    }
}

#[test]
fn an_export_without_spans_is_counted() {
    for (text, reason) in [
        (r#"{"resourceSpans": [{"scopeSpan": []}]}"#, "resources without spans or log records"),
        (r#"{"resourceSpans": [{"scopeSpans": null}]}"#, "resources without spans or log records"),
        (r#"{"resourceSpans": [{"scopeSpans": [{"span": []}]}]}"#, "scopes without spans or log records"),
    ] {
        let reading = read_traces(text.as_bytes(), &ReadOptions::default()).1;
        assert_eq!(reading.passed_over.get(reason), Some(&1), "{text}: {:?}", reading.passed_over);
    }
}
