//! Tests documents of any length, alone and one after another.

use wrongturn::read::{Format, read_stream};
use wrongturn::trace::TraceCollector;
use wrongturn::{ErrorKind, ReadOptions, read_traces};

use super::fixtures;

/// Returns the fixtures that are made long, each with its format. A text of any length replaces `PAD`.
pub(crate) fn documents() -> impl Iterator<Item = (Format, String)> {
    let padded = fixtures().into_iter().filter(|(_, path, _)| path.with_extension("").ends_with("padded"));
    padded.map(|(format, _, bytes)| (format, String::from_utf8(bytes).unwrap().trim_end().to_owned()))
}

fn document(format: Format) -> String {
    documents().find(|(other, _)| *other == format).unwrap().1
}

/// Returns a document of about 20 KB.
fn padded(document: &str) -> String {
    document.replace("PAD", &"x y ".repeat(5000))
}

#[test]
fn documents_in_lines_are_held_one_at_a_time() {
    let document = padded(&document(Format::Atif)).replace('\n', " ");
    let lines = format!("{document}\n").repeat(20);
    let options = ReadOptions { most_held: 5 * document.len(), ..ReadOptions::default() };
    for text in [lines.clone(), format!("{document}\n\n \n"), document.clone()] {
        let mut collector = TraceCollector::default();
        let reading = read_stream(text.as_bytes(), &options, &mut collector);
        assert!(reading.errors.is_empty(), "{:?}", reading.errors);
        let traces = read_traces(text.as_bytes(), &ReadOptions::default()).0;
        assert_eq!(format!("{:?}", collector.traces), format!("{traces:?}"));
    }
    // A document that is too large is reported, and its beginning is not a run.
    let options = ReadOptions { most_held: document.len() / 2, ..ReadOptions::default() };
    let reading = read_stream(lines.as_bytes(), &options, &mut TraceCollector::default());
    assert_eq!((reading.counts.runs, reading.errors[0].kind()), (0, ErrorKind::TooLarge));
}

#[test]
fn concatenated_documents_are_read_wherever_they_end() {
    let text = padded(&document(Format::Atif).replace(", ", ",\n"));
    let (one, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
    let (two, of_two) = read_traces([&*text, &*text].concat().as_bytes(), &ReadOptions::default());
    assert_eq!((of_two.format, reading.format), (Some(Format::Atif), Some(Format::Atif)));
    assert_eq!(format!("{two:?}"), format!("{:?}", [one.clone(), one].concat()));
}

#[test]
fn lines_are_recognised_by_keys_that_are_spelled_with_escapes() {
    for (format, key, spelled) in [
        (Format::ClaudeCode, r#""message":"#, r#""mess\u0061ge":"#),
        (Format::CodexRollout, r#""payload":"#, r#""p\u0061yload":"#),
        (Format::CodexExec, r#""item."#, r#""it\u0065m."#),
    ] {
        let document = document(format);
        let text = document.replace(key, spelled).replace("thread.started", "thre\\u0061d.started");
        assert_ne!(text, document);
        let usual = read_traces(document.as_bytes(), &ReadOptions::default());
        let read = read_traces(text.as_bytes(), &ReadOptions::default());
        assert_eq!((read.1.format, read.0), (Some(format), usual.0), "{text}");
    }
}

/// A document is recognised in the same way at any length near the sizes of samples.
#[test]
fn recognition_does_not_depend_on_length() {
    for (format, document) in documents() {
        let mut counts = Vec::new();
        for length in [0, 2_000, 4_000, 16_000, 64_000, 66_000, 300_000, 1_100_000] {
            let text = document.replace("PAD", &"x".repeat(length));
            let (traces, reading) = read_traces(text.as_bytes(), &ReadOptions::default());
            assert_eq!(reading.format, Some(format), "{length} bytes");
            let steps: Vec<usize> = traces.iter().map(|trace| trace.steps().count()).collect();
            counts.push((steps, reading.counts.passed_over, reading.counts.errors));
        }
        counts.dedup();
        assert_eq!(counts.len(), 1, "{format}: {counts:?}");
    }
}

/// A truncated file of any length is read up to its end.
#[test]
fn a_truncated_document_is_not_taken_for_lines() {
    for length in [10, 3_000, 9_000, 70_000] {
        let text = "x".repeat(length);
        let run = |id: &str| {
            format!("{{\"id\": \"{id}\", \"messages\": [{{\"role\": \"user\", \"content\": \"{text}\"}}]}}")
        };
        let file = format!(
            "{{\"info\": {{}}, \"tasks\": [\n{{\"id\": \"t\"}}\n],\n\"simulations\": [\n{},\n{},\n{}",
            run("a"),
            run("b"),
            run("c").split_at(40).0
        );
        let (traces, reading) = read_traces(file.as_bytes(), &ReadOptions::default());
        assert_eq!((reading.format, traces.len()), (Some(Format::Tau2), 2), "{length}: {:?}", reading.errors);
        assert_eq!(reading.counts.errors, 1, "{length}: {:?}", reading.errors);
    }
}
