//! Spans of several files as one source, which waits until all files have been read.

use std::sync::Arc;

use super::record::FileSummary;
use crate::read::{SpanBatch, SpanPool};

/// The spans that were set aside, and their files.
#[derive(Debug)]
pub(super) struct Joined<T> {
    pub(super) pool: SpanPool,
    pub(super) files: Vec<JoinedFile<T>>,
    /// True if the current file holds spans.
    holds_spans: bool,
}

/// A file whose spans were set aside. It is reported when its runs are known.
#[derive(Debug)]
pub(super) struct JoinedFile<T> {
    /// Its index among the files.
    pub(super) file: usize,
    pub(super) summary: FileSummary,
    /// Number of its runs that are not spans.
    pub(super) positions: u64,
    /// Its events that were not reported yet.
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

    /// Returns true if the current file holds spans.
    pub(super) fn holds_spans(&self) -> bool {
        self.holds_spans
    }

    /// Ends the file, with its events that were not reported. Returns the summary if it is final: the file holds no
    /// spans, or it holds other runs as well, which it counts.
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
