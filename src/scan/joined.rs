//! Spans of several files as one source: what waits until all files have been read.

use std::sync::Arc;

use super::record::FileSummary;
use crate::read::{SpanBatch, SpanPool};

/// The spans that were set aside, and the files that they are of.
#[derive(Debug)]
pub(super) struct Joined<T> {
    pub(super) pool: SpanPool,
    pub(super) files: Vec<JoinedFile<T>>,
    /// Whether the file that is read holds spans.
    holds_spans: bool,
}

/// A file whose spans were set aside. What is said of it is said when its runs are known.
#[derive(Debug)]
pub(super) struct JoinedFile<T> {
    /// Its place among the files.
    pub(super) file: usize,
    pub(super) summary: FileSummary,
    /// How many positions it has given out to runs that are no spans.
    pub(super) positions: u64,
    /// What of it has not been reported yet.
    pub(super) unreported: Vec<T>,
}

impl<T> Default for Joined<T> {
    fn default() -> Self {
        Self { pool: SpanPool::default(), files: Vec::new(), holds_spans: false }
    }
}

impl<T> Joined<T> {
    /// Takes spans of a file. Files come in order.
    pub(super) fn take(&mut self, file: usize, spans: Option<SpanBatch>) {
        if let Some(spans) = spans {
            self.pool.add(file, spans);
            self.holds_spans = true;
        }
    }

    /// Whether the file that is read holds spans.
    pub(super) fn holds_spans(&self) -> bool {
        self.holds_spans
    }

    /// The file is over; `unreported`: what it gave, where nothing of it has been reported. Gives back the summary where
    /// no more is to come of it: it holds no spans, or it holds other runs as well, whose count that is.
    pub(super) fn end(
        &mut self,
        file: usize,
        summary: FileSummary,
        unreported: Option<Vec<T>>,
    ) -> Option<FileSummary> {
        if !std::mem::take(&mut self.holds_spans) {
            return Some(summary);
        }
        let positions = summary.runs + summary.runs_lost;
        let (summary, finished) = match &unreported {
            Some(_) => (summary, None),
            None => (FileSummary::new(Arc::clone(&summary.path)), Some(summary)),
        };
        self.files.push(JoinedFile { file, summary, positions, unreported: unreported.unwrap_or_default() });
        finished
    }
}
