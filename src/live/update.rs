//! Updates of findings while their traces are open.

use serde::Serialize;

use crate::detect::Finding;
use crate::names::named;

named! {
    /// The kind of an update: opened, grown, merged, closed or withdrawn.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum UpdateKind: "kind of update" {
        /// It was confirmed before the end of the trace.
        Opened = "opened",
        /// Its range has grown.
        Grown = "grown",
        /// It has become part of another.
        Merged = "merged",
        /// The trace is over: the finding is part of the verdict.
        Closed = "closed",
        /// It is withdrawn. This happens only in an open trace of spans, or of pieces out of order: later pieces show that
        /// steps belong to another agent or turn, or were other steps.
        Withdrawn = "withdrawn",
    }
}

/// An update of a finding while its trace is open: one of a series with the same id.
///
/// A finding may be *opened*, then *grown* any number of times, and ends *merged* into another finding, *closed* or,
/// with spans only, *withdrawn*. A finding that only the end of the trace confirms is closed without having been
/// opened.
///
/// Use the closed findings to see each once. Use the opened ones to react at once; their ids come back among the closed
/// ones or in [`Finding::merged`]. [`Monitor`](crate::Monitor) has an example.
///
/// In JSON: `{"kind", "finding", "into"?}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Update {
    /// The kind.
    pub kind: UpdateKind,
    /// The finding as it stands now; as last reported if it was merged or withdrawn.
    pub finding: Finding,
    /// The id of the finding into which this one was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

impl Update {
    pub(super) fn new(kind: UpdateKind, finding: Finding) -> Self {
        Self { kind, finding, into: None }
    }
}
