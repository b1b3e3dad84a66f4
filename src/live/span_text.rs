//! The spans and log records of one trace as JSON text, which takes a third of the memory of parsed values.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::json::{MAX_DEPTH, is_deeper};
use crate::read::{LogRecord, Resource, Span, resource_bytes};

/// The number of latest senders with which that of a new span is compared. An earlier one is stored again.
const SENDERS: usize = 8;

/// The greatest depth of saved values: what the reader of spans allows, and the levels around a span.
const DEPTH: u32 = MAX_DEPTH + 16;

/// The spans and log records of one trace, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct SpanText {
    trace: String,
    senders: Vec<Resource>,
    /// Pairs of the index of a sender and a span.
    spans: Items,
    logs: Items,
}

/// The form in which spans and log records are parked and saved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Written<'t> {
    #[serde(default)]
    trace: Cow<'t, str>,
    #[serde(default)]
    senders: Cow<'t, [Resource]>,
    spans: Box<RawValue>,
    logs: Box<RawValue>,
}

/// The items of a JSON list, without its brackets.
#[derive(Debug, Default)]
struct Items {
    text: Vec<u8>,
    count: usize,
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
        self.spans.push(&(place, span));
    }

    pub(super) fn add_log(&mut self, mut log: LogRecord<'_>) {
        self.belongs_to(&mut log.trace_id);
        self.logs.push(&log);
    }

    /// Moves the trace id out of an item, to keep it only once.
    fn belongs_to(&mut self, id: &mut Cow<'_, str>) {
        let id = std::mem::take(id);
        if self.trace.is_empty() {
            self.trace = id.into_owned();
        }
    }

    /// Returns the numbers of spans and log records.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.spans.count, self.logs.count)
    }

    /// Returns an estimate of their size in bytes.
    pub(super) fn memory(&self) -> usize {
        let senders = self.senders.iter().map(|sender| size_of::<Resource>() + resource_bytes(sender));
        self.trace.len() + self.spans.text.capacity() + self.logs.text.capacity() + senders.sum::<usize>()
    }

    /// Parses the first `spans` spans and `logs` log records.
    pub(super) fn first(&self, (spans, logs): (usize, usize)) -> (Vec<Span<'_>>, Vec<LogRecord<'_>>) {
        // Cannot fail: they were written here, or parsed once before.
        let spans: Vec<(usize, Span<'_>)> = self.spans.read(spans).unwrap_or_default();
        let mut logs: Vec<LogRecord<'_>> = self.logs.read(logs).unwrap_or_default();
        let mut whole = Vec::with_capacity(spans.len());
        for (sender, mut span) in spans {
            span.trace_id = Cow::Borrowed(&self.trace);
            span.resource = self.senders.get(sender).cloned().flatten();
            whole.push(span);
        }
        for log in &mut logs {
            log.trace_id = Cow::Borrowed(&self.trace);
        }
        (whole, logs)
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

    /// Adds another part of the same trace.
    pub(super) fn append(&mut self, other: &Self) {
        let (spans, logs) = other.first(other.counts());
        for span in spans {
            self.add_span(span);
        }
        for log in logs {
            self.add_log(log);
        }
    }

    pub(super) fn written(&self) -> Written<'_> {
        Written {
            trace: Cow::Borrowed(&self.trace),
            senders: Cow::Borrowed(&self.senders),
            spans: self.spans.list(),
            logs: self.logs.list(),
        }
    }

    /// Parses the output of [`SpanText::written`].
    pub(super) fn from_written(written: Written<'_>) -> Result<Self> {
        let Written { trace, senders, spans, logs } = written;
        if [&spans, &logs].iter().any(|list| is_deeper(list.get().as_bytes(), DEPTH)) {
            return Err(Error::trace("spans and log records are nested too deeply"));
        }
        let (mut of_spans, mut of_logs) = (Items::from_list(&spans), Items::from_list(&logs));
        let broken = |error| Error::trace(format!("expected spans and log records: {error}"));
        of_spans.count = of_spans.read::<(usize, Span<'_>)>(usize::MAX).map_err(broken)?.len();
        of_logs.count = of_logs.read::<LogRecord<'_>>(usize::MAX).map_err(broken)?.len();
        let (trace, senders) = (trace.into_owned(), senders.into_owned());
        Ok(Self { trace, senders, spans: of_spans, logs: of_logs })
    }
}

impl Items {
    fn push(&mut self, item: &impl Serialize) {
        // Cannot fail: keys are strings, and numbers that may not be finite are written as bits.
        let item = serde_json::to_vec(item).unwrap_or_default();
        let spare = self.text.capacity() - self.text.len();
        if spare <= item.len() {
            // Doubling would leave a quarter of the capacity unused on average.
            self.text.reserve_exact((item.len() + 1).max(self.text.len() / 8));
        }
        if self.count > 0 {
            self.text.push(b',');
        }
        self.text.extend(item);
        self.count += 1;
    }

    fn read<'i, T: Deserialize<'i>>(&'i self, most: usize) -> serde_json::Result<Vec<T>> {
        let mut items = Vec::with_capacity(most.min(self.count));
        let mut rest = self.text.as_slice();
        while items.len() < most && !rest.is_empty() {
            let mut values = serde_json::Deserializer::from_slice(rest);
            // The depth is limited when spans are received and when a state is read.
            values.disable_recursion_limit();
            let mut values = values.into_iter();
            match values.next() {
                Some(item) => items.push(item?),
                None => break,
            }
            rest = rest.get(values.byte_offset() + 1..).unwrap_or_default();
        }
        Ok(items)
    }

    /// Returns the items as a list, with its brackets.
    fn list(&self) -> Box<RawValue> {
        let text = std::str::from_utf8(&self.text).unwrap_or_default();
        RawValue::from_string(format!("[{text}]")).unwrap_or_default()
    }

    fn from_list(list: &RawValue) -> Self {
        let inside = list.get().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        Self { text: inside.unwrap_or(list.get()).trim().into(), count: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_value_of_any_depth_is_refused_without_recursion() {
        let list = |levels| RawValue::from_string("[".repeat(levels) + &"]".repeat(levels)).unwrap();
        for (spans, logs) in [(list(100_000), list(1)), (list(1), list(100_000))] {
            let written = Written { trace: "t".into(), senders: Cow::default(), spans, logs };
            assert!(SpanText::from_written(written).unwrap_err().to_string().contains("too deeply"));
        }
    }
}
