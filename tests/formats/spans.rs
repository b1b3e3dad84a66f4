//! Tests spans in any order, in several inputs, and in large traces.

use std::fs;

use proptest::prelude::*;
use wrongturn::{
    ReadOptions, Trace,
    read::{Format, ReadSummary, SpanJoin},
    trace::{Event, TraceCollector},
};

use super::{describe_runs, fixtures, recognition::read};

/// Returns the lines of the fixtures that have a span or log records on each line.
fn lines() -> Vec<Vec<String>> {
    let of_spans = fixtures().into_iter().filter(|(format, path, _)| {
        *format == Format::OpenTelemetry && path.extension().is_some_and(|extension| extension == "jsonl")
    });
    let texts = of_spans.map(|(_, path, _)| fs::read_to_string(path).unwrap());
    texts.map(|text| text.lines().map(str::to_owned).collect()).collect()
}

fn join(inputs: &[String]) -> (Vec<Trace>, Vec<ReadSummary>) {
    let mut join = SpanJoin::new(ReadOptions::default());
    let mut readings: Vec<ReadSummary> =
        inputs.iter().filter_map(|input| join.add(input.as_bytes())).collect();
    let mut collector = TraceCollector::default();
    readings.push(join.finish(&mut collector));
    (collector.traces, readings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn order_parts_and_duplicates_of_spans_do_not_matter(seed: u64, cut: usize) {
        for lines in lines() {
            let place = |number: usize| (number as u64 + 1).wrapping_mul(seed | 1).rotate_left(17) ^ seed;
            let mut order: Vec<usize> = (0..lines.len()).collect();
            order.sort_by_key(|number| place(*number));
            let mut shuffled: Vec<&str> = order.iter().map(|number| &*lines[*number]).collect();
            shuffled.push(shuffled[0]);
            let (first, second) = shuffled.split_at(cut % shuffled.len());
            let (traces, _) = join(&[first.join("\n"), second.join("\n")]);
            let (expected, _) = read(lines.join("\n"));
            prop_assert_eq!(describe_runs(&traces), describe_runs(&expected));
        }
    }
}

#[test]
fn a_damaged_input_keeps_what_came_before() {
    let text = fs::read_to_string("tests/formats/opentelemetry/otlp.json").unwrap();
    let cut = &text[..text.find("exception").unwrap()];
    let (traces, reading) = read(cut);
    assert_eq!((traces[0].steps().len(), reading.errors[0].kind()), (1, wrongturn::ErrorKind::Truncated));
    assert_eq!(reading.errors[0].location().unwrap().column, cut.len() as u64 + 1);
    let (joined, readings) = join(&[cut.to_owned(), "{\"messages\": []}".to_owned()]);
    assert_eq!((joined[0].steps().len(), readings.len(), readings[0].errors.len()), (1, 2, 1));
    // A bad escape is reported once, whether or not its attribute is read.
    for (key, steps) in [("http.url", 2), ("gen_ai.tool.call.id", 1)] {
        let place = text.rfind(key).unwrap();
        let bad = text[place..].replacen("\"stringValue\": \"", "\"stringValue\": \"\\_", 1);
        let (traces, reading) = read(format!("{}{bad}", &text[..place]));
        assert_eq!(traces[0].steps().len(), steps, "{key}");
        let messages: Vec<_> = reading.errors.iter().map(|error| error.message().clone()).collect();
        assert_eq!(messages, ["invalid escape"], "{key}");
    }
}

#[test]
fn the_text_rule_can_be_switched_off() {
    let bytes = fs::read("tests/formats/opentelemetry/statuses.jsonl").unwrap();
    let failed = |text_errors| {
        let (traces, _) =
            wrongturn::read_traces(&bytes, &ReadOptions { text_errors, ..ReadOptions::default() });
        let statuses = traces.iter().flat_map(Trace::steps).filter_map(|step| match step.event() {
            Event::Action(action) => Some(action.provenance.to_string()),
            Event::Message(_) => None,
        });
        statuses.filter(|provenance| provenance == "text").count()
    };
    assert_eq!((failed(true), failed(false)), (1, 0));
}

/// Nested and parallel spans take less than quadratic time.
#[test]
fn a_trace_of_many_spans_is_read() {
    let row = |number: usize, parent: Option<usize>, attributes: &str| {
        let parent = parent.map(|parent| format!("\"parent_id\": \"{parent:016x}\", ")).unwrap_or_default();
        format!(
            "{{\"trace_id\": \"{:032x}\", \"span_id\": \"{number:016x}\", {parent}\"name\": \"look\", \"start_time\": {number}, \
             \"end_time\": {}, \"attributes\": {{{attributes}}}}}\n",
            1,
            number + 1
        )
    };
    let tool = "\"openinference.span.kind\": \"TOOL\"";
    let agent = |number| format!("\"openinference.span.kind\": \"AGENT\", \"agent.name\": \"{number}\"");
    let many = 40_000;
    for (text, runs, steps) in [
        ((1..=many).map(|n| row(n, (n % 2 == 0).then_some(n - 1), tool)).collect::<String>(), 1, many / 2),
        ((1..=many).map(|n| row(n, (n > 1).then_some(n - 1), tool)).collect(), 1, 1),
        (
            (1..=2000)
                .flat_map(|n| [row(n, (n > 1).then_some(n - 1), &agent(n)), row(n + 5000, Some(n), tool)])
                .collect(),
            2000,
            2000,
        ),
    ] {
        let (traces, _) = read(text);
        let found = traces.iter().map(|trace| trace.steps().len()).sum::<usize>();
        assert_eq!((traces.len(), found), (runs, steps));
    }
}
