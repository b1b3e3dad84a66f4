//! Helpers for tests of readers: slow streams, errors as text, archives, directories, fixtures and spans.

#![allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "no test uses all of it, and helpers of tests say what they expect by failing"
)]

#[cfg(feature = "inspect")]
pub(crate) mod archive;
pub(crate) mod fixtures;
pub(crate) mod folder;
pub(crate) mod spans;

use std::io::{self, Read};

use wrongturn::{
    Error, ReadOptions, Trace,
    read::{ReadSummary, read_stream},
    trace::TraceCollector,
};

/// A reader that returns at most this many bytes at a time.
pub(crate) struct Drip<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

/// Reads the traces of a stream.
pub(crate) fn stream(input: impl Read, options: &ReadOptions) -> (Vec<Trace>, ReadSummary) {
    let mut collector = TraceCollector::default();
    let reading = read_stream(input, options, &mut collector);
    (collector.traces, reading)
}

/// Formats errors with kind, place and message.
pub(crate) fn describe_errors(errors: &[Error]) -> Vec<String> {
    errors.iter().map(|error| format!("{:?}: {error}", error.kind())).collect()
}
