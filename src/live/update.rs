//! Updates of findings while their traces are open.

use serde::Serialize;

use crate::detect::Finding;
use crate::names::named;

/// The kind of an update: opened, grown, merged, closed or withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UpdateKind {
    /// It has become certain, before the end of the trace.
    Opened,
    /// Its range has grown.
    Grown,
    /// It has become part of another.
    Merged,
    /// The trace is over: this is what the verdict holds.
    Closed,
    /// It is taken back. No detector does that by itself; of an open trace of spans, later spans may show that steps
    /// are of another agent, of another turn, or other steps than they seemed.
    Withdrawn,
}

named! {
    UpdateKind, "kind of update" {
        Opened => "opened",
        Grown => "grown",
        Merged => "merged",
        Closed => "closed",
        Withdrawn => "withdrawn",
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
    /// The finding as it stands now; of one that was merged or withdrawn, as it was last reported.
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
