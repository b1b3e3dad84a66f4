//! Spans and log records of one body, on their own: what a receiver hands on.

use super::model::{Attributes, Value};
use super::{LogRecord, Span, SpanJoin};
use crate::input::{ReadOptions, Reading};

/// The spans and log records of one input, without the input: what a receiver hands to a
/// [`TraceAssembler`](crate::TraceAssembler).
///
/// ```
/// use tracelint::{ReadOptions, SpanBatch};
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
    /// Reads an input. `None`: it holds no spans and no log records. The reading tells what was passed over and what was
    /// wrong.
    #[must_use]
    pub fn read(bytes: &[u8], options: &ReadOptions) -> Option<(Self, Reading)> {
        let mut join = SpanJoin::new(options.clone());
        let reading = join.add(bytes)?;
        Some((join.collection.into_batch(), reading))
    }

    /// Puts what another holds behind.
    pub(in crate::input) fn append(&mut self, mut other: Self) {
        self.spans.append(&mut other.spans);
        self.logs.append(&mut other.logs);
    }

    /// How many spans there are.
    #[must_use]
    pub fn spans(&self) -> usize {
        self.spans.len()
    }

    /// How many log records there are.
    #[must_use]
    pub fn logs(&self) -> usize {
        self.logs.len()
    }
}

impl Span<'_> {
    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let events = self.events.iter().map(|event| 64 + event.name.len() + event.attributes.bytes());
        size_of::<Self>()
            + self.trace_id.len()
            + self.span_id.len()
            + self.parent.as_ref().map_or(0, String::len)
            + self.name.len()
            + self.scope.len()
            + self.message.len()
            + self.attributes.bytes()
            + events.sum::<usize>()
    }
}

impl LogRecord<'_> {
    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let record = &self.record;
        let body = record.name.len() + record.body.bytes() + record.attributes.bytes();
        size_of::<Self>() + self.trace_id.len() + self.span_id.len() + body
    }
}

impl Attributes<'_> {
    fn bytes(&self) -> usize {
        self.iter().map(|(key, value)| 32 + key.len() + value.bytes()).sum()
    }
}

impl Value<'_> {
    fn bytes(&self) -> usize {
        let inside = match self {
            Self::Text(words) => words.text().to_str().len(),
            Self::List(items) => items.iter().map(Self::bytes).sum(),
            Self::Map(members) => members.iter().map(|(key, value)| 32 + key.len() + value.bytes()).sum(),
            Self::Bool(_) | Self::Integer(_) | Self::Float(_) | Self::Null => 0,
        };
        size_of::<Self>() + inside
    }
}
