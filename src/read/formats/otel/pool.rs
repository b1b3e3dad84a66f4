//! Holds spans and log records of several inputs until all inputs have been read.

use std::collections::BTreeMap;

use super::batch::SpanBatch;
use super::model::{Bundle, Collection};
use crate::read::runs::Runs;
use crate::read::{Format, ReadOptions, ReadSummary};
use crate::trace::StepSink;

/// Spans and log records of several inputs. A trace belongs to the first input that has a part of it.
#[derive(Debug, Default)]
pub(crate) struct SpanPool {
    /// The input that each trace belongs to, by trace id.
    owners: BTreeMap<String, usize>,
    inputs: BTreeMap<usize, Collection<'static>>,
}

impl SpanPool {
    /// Adds a batch of an input. Inputs must come in order, since the first one with a part of a trace owns it.
    pub(crate) fn add(&mut self, input: usize, batch: SpanBatch) {
        for span in batch.spans {
            self.bundle(input, &span.trace_id).spans.push(span);
        }
        for log in batch.logs {
            self.bundle(input, &log.trace_id).logs.push(log);
        }
    }

    fn bundle(&mut self, input: usize, trace: &str) -> &mut Bundle<'static> {
        let owner = *self.owners.entry(trace.to_owned()).or_insert(input);
        self.inputs.entry(owner).or_default().traces.entry(trace.to_owned()).or_default()
    }

    /// Emits the runs of an input's traces, numbered from this position.
    pub(crate) fn give(
        &mut self,
        input: usize,
        position: u64,
        options: &ReadOptions,
        sink: &mut dyn StepSink,
    ) -> ReadSummary {
        let mut runs = Runs::new(options, sink);
        runs.reading.format = Some(Format::OpenTelemetry);
        runs.number_from(position);
        if let Some(collection) = self.inputs.remove(&input) {
            collection.give(&mut runs);
        }
        runs.into_reading()
    }
}
