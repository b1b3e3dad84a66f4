//! What becomes of a finding while its trace is open.

use serde::Serialize;

use crate::detect::Finding;
use crate::names::named;

/// What an update says of a finding: opened, grown, merged, closed or withdrawn.
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
    /// It is taken back. No detector does that by itself; of an open trace of spans, later spans may show that steps are
    /// of another agent, of another turn, or other steps than they seemed.
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

/// What became of a finding while its trace is open: one of a series of updates with the same id.
///
/// A finding is perhaps *opened*, then *grown* any number of times, and in the end either *merged* into another finding,
/// *closed* or, of spans alone, *withdrawn*. What only the end of a trace makes certain is closed without having been
/// opened.
///
/// To see every finding once, take those that are closed. To know at once, take those that are opened, and find them
/// again by their ids among the closed ones or in [`Finding::merged`]. [`Monitor`](crate::Monitor) has an example.
///
/// In JSON: `{"kind", "finding", "into"?}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Update {
    /// What became of the finding.
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
