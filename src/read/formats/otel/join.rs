//! Joins several inputs into one source.

use super::decode;
use super::model::Collection;
use crate::read::document::Parsed;
use crate::read::runs::Runs;
use crate::read::window::Window;
use crate::read::{Format, ReadOptions, ReadSummary, whole_input};
use crate::trace::StepSink;

/// Several inputs of spans and log records, read as one source: the parts of a trace are joined across
/// inputs.
///
/// ```
/// use wrongturn::{ReadOptions, read::SpanJoin, trace::TraceCollector};
///
/// let part = |id: &str, kind: &str, start: u64| format!(
///     r#"{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{{"traceId": "0af7651916cd43dd8448eb211c80319c",
///     "spanId": "{id}", "name": "{kind} look", "startTimeUnixNano": "{start}", "endTimeUnixNano": "{}"}}]}}]}}]}}"#,
///     start + 5);
/// let (first, second) = (part("b7ad6b7169203331", "execute_tool", 10), part("b7ad6b7169203332", "execute_tool", 20));
/// let mut join = SpanJoin::new(ReadOptions::default());
/// assert!(join.add(second.as_bytes()).is_some());
/// assert!(join.add(first.as_bytes()).is_some());
/// assert!(join.add(b"[1, 2]").is_none());
/// let mut collector = TraceCollector::default();
/// let reading = join.finish(&mut collector);
/// assert_eq!((reading.counts.runs, collector.traces[0].steps().len()), (1, 2));
/// ```
#[derive(Debug)]
pub struct SpanJoin<'a> {
    pub(super) collection: Collection<'a>,
    options: ReadOptions,
}

impl<'a> SpanJoin<'a> {
    /// Creates a join without inputs.
    #[must_use]
    pub fn new(options: ReadOptions) -> Self {
        Self { collection: Collection::default(), options }
    }

    /// Adds an input. Returns `None` if it is neither protobuf nor UTF-8, or holds no spans or log records: callers
    /// should read such an input on its own. The summary lists the skipped parts and errors of the input, but not its
    /// runs, which [`SpanJoin::finish`] counts.
    pub fn add(&mut self, bytes: &'a [u8]) -> Option<ReadSummary> {
        let mut nowhere = crate::trace::TraceCollector::default();
        let mut runs = Runs::new(&self.options, &mut nowhere);
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if let Some(read) = decode::take_protobuf(bytes, &mut self.collection) {
            if let Err(error) = read {
                runs.fail(error);
            }
        } else if simdutf8::basic::from_utf8(bytes).is_err() {
            return None;
        } else {
            let parsed = Parsed::of(bytes, None);
            match whole_input::format_of(&parsed, self.options.format) {
                Ok(Some(Format::OpenTelemetry)) => {
                    parsed.pass_over_others(&Window::over_slice(bytes), &mut runs);
                    if let Err(fault) = decode::take(&parsed.document, &mut self.collection) {
                        runs.fail_at(fault);
                    }
                }
                Ok(Some(_)) | Err(_) => return None,
                Ok(None) => runs.fail_at(decode::take_damaged(bytes, &mut self.collection)?),
            }
        }
        self.collection.account(&mut runs);
        runs.settle(&Window::over_slice(bytes));
        let mut reading = runs.into_reading();
        reading.format = Some(Format::OpenTelemetry);
        Some(reading)
    }

    /// Emits the runs of all inputs, in the order in which their traces began.
    pub fn finish(self, sink: &mut dyn StepSink) -> ReadSummary {
        let mut runs = Runs::new(&self.options, sink);
        runs.reading.format = Some(Format::OpenTelemetry);
        self.collection.give(&mut runs);
        runs.into_reading()
    }
}
