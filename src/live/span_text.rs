//! The spans and log records of one trace as JSON text, which takes a third of the memory of parsed values.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::error::{Error, Result};
use crate::json::{MAX_DEPTH, is_deeper};
use crate::read::{LogRecord, Resource, Span, resource_bytes};

/// The sender of a new span is compared with this many of the latest senders. If only an earlier one is equal, it is
/// stored again.
const SENDERS: usize = 8;

/// The greatest depth of a saved item: the depth that the reader of spans allows, plus the levels around a value.
const DEPTH: u32 = MAX_DEPTH + 15;

/// The spans and log records of one trace, in order of arrival, in the form in which they are parked and saved.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SpanText {
    #[serde(default)]
    trace: String,
    #[serde(default)]
    senders: Vec<Resource>,
    /// Pairs of the index of a sender and a span.
    spans: Vec<Box<RawValue>>,
    logs: Vec<Box<RawValue>>,
    /// The length of all items.
    #[serde(skip)]
    bytes: usize,
}

impl SpanText {
    pub(super) fn add_span(&mut self, mut span: Span<'_>) {
        self.belongs_to(&mut span.trace_id);
        let sender = span.resource.take();
        let mut latest = self.senders.iter().enumerate().rev().take(SENDERS);
        let known = latest.find(|(_, known)| **known == sender).map(|(place, _)| place);
        let place = known.unwrap_or(self.senders.len());
        if known.is_none() {
            self.senders.push(sender);
        }
        self.spans.push(written(&(place, span), &mut self.bytes));
    }

    pub(super) fn add_log(&mut self, mut log: LogRecord<'_>) {
        self.belongs_to(&mut log.trace_id);
        self.logs.push(written(&log, &mut self.bytes));
    }

    /// Moves the trace id out of an item, to keep it only once.
    fn belongs_to(&mut self, id: &mut Cow<'_, str>) {
        let id = std::mem::take(id);
        if self.trace.is_empty() {
            self.trace = id.into_owned();
        }
    }

    pub(super) fn counts(&self) -> (usize, usize) {
        (self.spans.len(), self.logs.len())
    }

    pub(super) fn memory(&self) -> usize {
        let senders = self.senders.iter().map(|sender| size_of::<Resource>() + resource_bytes(sender));
        let items = (self.spans.capacity() + self.logs.capacity()) * size_of::<Box<RawValue>>() + self.bytes;
        self.trace.len() + items + senders.sum::<usize>()
    }

    /// Parses the first `spans` spans and `logs` log records.
    pub(super) fn first(&self, (spans, logs): (usize, usize)) -> (Vec<Span<'_>>, Vec<LogRecord<'_>>) {
        // Every item parses: it was written here or has passed `checked`.
        let spans = self.spans.iter().take(spans).filter_map(|item| {
            let (sender, mut span): (usize, Span<'_>) = read(item).ok()?;
            span.trace_id = Cow::Borrowed(&self.trace);
            span.resource = self.senders.get(sender).cloned().flatten();
            Some(span)
        });
        let logs = self.logs.iter().take(logs).filter_map(|item| {
            let log: LogRecord<'_> = read(item).ok()?;
            Some(LogRecord { trace_id: Cow::Borrowed(&self.trace), ..log })
        });
        (spans.collect(), logs.collect())
    }

    /// Returns a copy with these spans and log records in place of the first ones.
    pub(super) fn with_first(
        &self,
        (first_spans, first_logs): (usize, usize),
        spans: Vec<Span<'_>>,
        logs: Vec<LogRecord<'_>>,
    ) -> Self {
        let (all_spans, all_logs) = self.first(self.counts());
        let mut text = Self::default();
        spans.into_iter().chain(all_spans.into_iter().skip(first_spans)).for_each(|span| text.add_span(span));
        logs.into_iter().chain(all_logs.into_iter().skip(first_logs)).for_each(|log| text.add_log(log));
        text
    }

    pub(super) fn append(&mut self, other: &Self) {
        let (spans, logs) = other.first(other.counts());
        for span in spans {
            self.add_span(span);
        }
        for log in logs {
            self.add_log(log);
        }
    }

    /// Checks the items of a saved state, and counts their bytes.
    pub(super) fn checked(mut self) -> Result<Self> {
        let broken = |error| Error::trace(format!("expected spans and log records: {error}"));
        for item in self.spans.iter().chain(&self.logs) {
            if is_deeper(item.get().as_bytes(), DEPTH) {
                return Err(Error::trace("spans and log records are nested too deeply"));
            }
            self.bytes += item.get().len();
        }
        self.spans.iter().try_for_each(|item| read::<(usize, Span<'_>)>(item).map(|_| ())).map_err(broken)?;
        self.logs.iter().try_for_each(|item| read::<LogRecord<'_>>(item).map(|_| ())).map_err(broken)?;
        Ok(self)
    }
}

fn written(item: &impl Serialize, bytes: &mut usize) -> Box<RawValue> {
    // Cannot fail: keys are strings, and numbers that may not be finite are written as bits.
    let item = to_raw_value(item).unwrap_or_default();
    *bytes += item.get().len();
    item
}

/// Parses an item. The depth is limited when spans are received and when a state is read.
fn read<'i, T: Deserialize<'i>>(item: &'i RawValue) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(item.get());
    json.disable_recursion_limit();
    T::deserialize(&mut json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_value_of_any_depth_is_refused_without_recursion() {
        let list = |levels| "[".repeat(levels) + &"]".repeat(levels);
        for (spans, logs) in [(list(100_000), list(1)), (list(1), list(100_000))] {
            let text = format!(r#"{{"spans": {spans}, "logs": {logs}}}"#);
            let read: SpanText = serde_json::from_str(&text).unwrap();
            assert!(read.checked().unwrap_err().to_string().contains("too deeply"));
        }
    }
}
