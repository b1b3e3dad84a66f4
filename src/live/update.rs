//! Updates of findings while their traces are open.

use serde::Serialize;

use crate::detect::Finding;
use crate::names::named;

named! {
    /// The kind of an update.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum UpdateKind: "kind of update" {
        /// The finding was confirmed before the end of the trace.
        Opened = "opened",
        /// Its range has grown.
        Grown = "grown",
        /// It has become part of another finding.
        Merged = "merged",
        /// The trace is over: the finding is part of the verdict.
        Closed = "closed",
        /// It no longer holds. This happens only in a trace of spans, or of pieces out of order, if a later
        /// piece changes the agent, turn, order or answer of earlier steps.
        Withdrawn = "withdrawn",
    }
}

/// One of a series of updates of a finding, all with the same id.
///
/// A finding may be *opened*, then *grown* any number of times, and ends *closed*, *merged* into another
/// finding, or *withdrawn*. A finding that only the end of the trace confirms is closed without having been
/// opened.
///
/// To see each finding once, read the closed ones. To react immediately, read the opened ones: unless withdrawn,
/// each appears again among the closed ones, by id or in [`Finding::merged`]. [`Monitor`](crate::Monitor) has an
/// example.
///
/// In JSON: `{"kind", "finding", "into"?}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Update {
    /// The kind of the update.
    pub kind: UpdateKind,
    /// The finding as it stands now or, if it was merged or withdrawn, as last reported.
    pub finding: Finding,
    /// The id of the finding into which this one was merged; `None` for other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

impl Update {
    pub(super) fn new(kind: UpdateKind, finding: Finding) -> Self {
        Self { kind, finding, into: None }
    }
}
