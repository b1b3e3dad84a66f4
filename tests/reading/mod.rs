//! Helpers of the tests of readers: slow streams, errors as text, archives.

#![allow(dead_code, reason = "no test uses all of it")]

#[cfg(feature = "inspect")]
pub(crate) mod archive;

use std::io::{self, Read};

use wrongturn::{
    Error, ReadOptions, Step, Trace,
    read::{Reading, read_stream},
    trace::{Actor, Event, TraceCollector},
};

/// Gives so many bytes at a time, at the most.
pub(crate) struct Drip<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

/// The traces of a stream.
pub(crate) fn stream(input: impl Read, options: &ReadOptions) -> (Vec<Trace>, Reading) {
    let mut collector = TraceCollector::default();
    let reading = read_stream(input, options, &mut collector);
    (collector.traces, reading)
}

/// Errors by kind, place and message.
pub(crate) fn told(errors: &[Error]) -> Vec<String> {
    errors.iter().map(|error| format!("{:?}: {error}", error.kind())).collect()
}

/// The turns of the messages that bear tokens, with those read, from a cache and written.
pub(crate) fn said(trace: &Trace) -> Vec<(u64, [Option<u64>; 3])> {
    let tokens = |step: Step<'_>| {
        let usage = step.usage().filter(|_| matches!(step.event(), Event::Message(_)))?;
        assert_eq!((step.actor(), usage.duration_ns), (Actor::Agent, None));
        Some((step.turn(), [usage.input_tokens, usage.cached_tokens, usage.output_tokens]))
    };
    trace.steps().filter_map(tokens).collect()
}
