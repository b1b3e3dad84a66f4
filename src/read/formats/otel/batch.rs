//! Owned spans and log records, which a receiver can pass on.

use super::SpanJoin;
use super::model::{Collection, LogRecord, Span, resource_bytes};
use crate::read::{ReadOptions, ReadSummary};
use crate::trace::{SpanId, TraceId};

/// The spans and log records of an input, owned. A receiver passes them to a
/// [`TraceAssembler`](crate::TraceAssembler).
///
/// ```
/// use wrongturn::{ReadOptions, read::SpanBatch};
///
/// let body = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0af7651916cd43dd8448eb211c80319c",
///     "spanId": "b7ad6b7169203331", "name": "execute_tool look", "startTimeUnixNano": "5"}]}]}]}"#;
/// let (batch, reading) = SpanBatch::read(body, &ReadOptions::default()).unwrap();
/// assert_eq!((batch.spans(), batch.logs(), reading.errors.len()), (1, 0, 0));
/// ```
#[derive(Debug, Default)]
pub struct SpanBatch {
    pub(crate) spans: Vec<Span<'static>>,
    pub(crate) logs: Vec<LogRecord<'static>>,
}

impl SpanBatch {
    /// Reads an input. Returns `None` if it is neither protobuf nor UTF-8, or holds neither spans nor log records. The
    /// summary lists the skipped parts and errors.
    #[must_use]
    pub fn read(bytes: &[u8], options: &ReadOptions) -> Option<(Self, ReadSummary)> {
        let mut join = SpanJoin::new(options.clone());
        let reading = join.add(bytes)?;
        Some((join.collection.into(), reading))
    }

    /// Appends another batch.
    pub fn append(&mut self, mut other: Self) {
        self.spans.append(&mut other.spans);
        self.logs.append(&mut other.logs);
    }

    /// Returns an estimate of the memory that the spans and log records take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let spans = self.spans.iter().map(|span| span.bytes() + resource_bytes(&span.resource));
        spans.sum::<usize>() + self.logs.iter().map(LogRecord::bytes).sum::<usize>()
    }

    /// Drops spans and log records whose ids OpenTelemetry does not allow: trace ids must have 32 hexadecimal
    /// digits, span and parent ids 16, and not all digits may be zero. Returns how many were dropped.
    ///
    /// Ids in files have many forms, so reading accepts them all. A network receiver should not accept arbitrary
    /// ids from senders.
    ///
    /// ```
    /// use wrongturn::{ReadOptions, read::SpanBatch};
    ///
    /// let body = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "my-trace", "spanId": "1", "name": "look",
    ///     "startTimeUnixNano": "5"}]}]}]}"#;
    /// let (mut batch, _) = SpanBatch::read(body, &ReadOptions::default()).unwrap();
    /// assert_eq!((batch.spans(), batch.drop_malformed_ids(), batch.spans()), (1, 1, 0));
    /// ```
    pub fn drop_malformed_ids(&mut self) -> u64 {
        let before = self.spans() + self.logs();
        let is_trace = |id: &str| id.parse::<TraceId>().is_ok();
        let is_span = |id: &str| id.parse::<SpanId>().is_ok();
        self.spans.retain(|span| {
            is_trace(&span.trace_id) && is_span(&span.span_id) && span.parent.as_deref().is_none_or(is_span)
        });
        self.logs.retain(|log| {
            is_trace(&log.trace_id)
                && (log.span_id.is_empty() || is_span(&log.span_id) || is_trace(&log.span_id))
        });
        (before - self.spans() - self.logs()) as u64
    }

    /// Returns the number of spans.
    #[must_use]
    pub fn spans(&self) -> usize {
        self.spans.len()
    }

    /// Returns the number of log records.
    #[must_use]
    pub fn logs(&self) -> usize {
        self.logs.len()
    }
}

impl From<Collection<'_>> for SpanBatch {
    fn from(collection: Collection<'_>) -> Self {
        let mut batch = Self::default();
        for bundle in collection.traces.into_values() {
            batch.spans.extend(bundle.spans.into_iter().map(Span::into_owned));
            batch.logs.extend(bundle.logs.into_iter().map(LogRecord::into_owned));
        }
        batch
    }
}
