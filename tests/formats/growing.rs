//! Tests sessions that are read while they grow.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use wrongturn::ReadOptions;
use wrongturn::read::{Format, read_stream};
use wrongturn::trace::{Event, RouteStatus, RunSummary, Step, StepSink};

/// A reader that returns one line at a time, and records the number of calls read before each.
struct Growing<'a> {
    lines: std::str::SplitInclusive<'a, char>,
    calls: Rc<Cell<usize>>,
    seen: Vec<usize>,
}

impl Read for Growing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.seen.push(self.calls.get());
        let line = self.lines.next().unwrap_or_default().as_bytes();
        buffer[..line.len()].copy_from_slice(line);
        Ok(line.len())
    }
}

#[derive(Default)]
struct Calls(Rc<Cell<usize>>);

impl StepSink for Calls {
    fn begin(&mut self, _: u64, _: &RouteStatus) {}

    fn step(&mut self, step: &Step<'_>) {
        self.0.set(self.0.get() + usize::from(matches!(step.event(), Event::Action(_))));
    }

    fn end(&mut self, _: RunSummary) {}

    fn abandon(&mut self) {}
}

/// Returns the numbers of calls that had been read when each line was requested, and at the end.
fn calls_before_each_line(format: Format, session: &str) -> Vec<usize> {
    let mut sink = Calls::default();
    let mut growing =
        Growing { lines: session.split_inclusive('\n'), calls: Rc::clone(&sink.0), seen: Vec::new() };
    let reading = read_stream(&mut growing, &ReadOptions::default(), &mut sink);
    assert_eq!((reading.format, reading.errors.len()), (Some(format), 0), "{:?}", reading.errors);
    let mut seen = growing.seen;
    seen.push(sink.0.get());
    seen
}

#[test]
fn calls_are_read_as_soon_as_they_are_complete() {
    for (format, expected) in [
        // A call is read with its own item.
        (Format::CodexExec, &[0, 0, 0, 1, 1, 2, 2, 2][..]),
        // A call is read with its result.
        (Format::GeminiStream, &[0, 0, 0, 1, 1, 1, 2]),
        (Format::CopilotCli, &[0, 0, 0, 0, 1, 1, 1]),
        // A call is read when the model goes on, because an event after the result may complete it.
        (Format::CodexRollout, &[0, 0, 0, 0, 0, 1, 1, 2]),
        (Format::ClaudeCode, &[0, 0, 0, 0, 1, 1, 1]),
    ] {
        let session = std::fs::read_to_string(format!("tests/formats/{format}/growing.jsonl")).unwrap();
        assert_eq!(calls_before_each_line(format, &session), expected, "{format}");
    }
}
