//! The events of a trace assembler.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::monitor::by_detector;
use super::update::Update;
use crate::detect::{Cost, Verdict};
use crate::names::named;
use crate::trace::{Metadata, Unpaired};

/// An event of a trace assembler.
///
/// In JSON: `{"event": "update", "trace", "metadata", "update"}`, `{"event": "closed"}` with the fields of
/// [`ClosedTrace`], `{"event": "parked", "trace"}` and `{"event": "late", "trace"}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LiveEvent {
    /// An update of a finding, of any kind but *closed*: closed findings are in [`ClosedTrace::verdicts`].
    Update {
        /// The trace.
        trace: Arc<str>,
        /// The metadata known so far.
        metadata: Arc<Metadata>,
        /// The update.
        update: Box<Update>,
    },
    /// A trace, or the run of one of its agents, is over.
    Closed(Box<ClosedTrace>),
    /// A trace was packed until its next piece, because it was silent for a while or a limit was reached.
    Parked {
        /// The trace.
        trace: Arc<str>,
    },
    /// A piece came for a closed trace. This is reported once for each trace; further pieces are only counted
    /// ([`TraceAssembler::late`](crate::TraceAssembler::late)).
    Late {
        /// The trace.
        trace: Arc<str>,
    },
}

named! {
    /// Why a trace was closed.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum CloseReason: "reason" {
        /// The caller closed it.
        Requested = "requested",
        /// Its root span had ended, and the grace time was over.
        Ended = "ended",
        /// Its agent had ended, and it was silent for a while. Its root span did not arrive.
        Quiet = "quiet",
        /// It had been silent for [`AssemblerOptions::expire`](super::AssemblerOptions::expire).
        Expired = "expired",
        /// All traces together held too many bytes, and it had been silent longest.
        TooManyBytes = "too_many_bytes",
        /// It had more pieces than [`AssemblerOptions::max_pieces`](super::AssemblerOptions::max_pieces).
        TooManyPieces = "too_many_pieces",
    }
}

impl CloseReason {
    /// Returns true if the trace was closed before its end, because of a limit or a long silence.
    #[must_use]
    pub fn is_eviction(self) -> bool {
        matches!(self, Self::Expired | Self::TooManyBytes | Self::TooManyPieces)
    }
}

/// The verdicts on a trace, or on the run of one of its agents, when it was closed.
///
/// An evicted trace is judged by the pieces received so far. Later pieces count as late.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClosedTrace {
    /// The trace.
    pub trace: Arc<str>,
    /// The metadata of the run. The id of a run read from spans is that of the trace or, for a further agent,
    /// begins with it. Other runs have the metadata that
    /// [`TraceAssembler::describe`](crate::TraceAssembler::describe) set.
    pub metadata: Metadata,
    /// Why it was closed.
    pub reason: CloseReason,
    /// The number of judged steps.
    pub steps: u64,
    /// The verdicts, in the order of the detectors.
    #[serde(serialize_with = "by_detector")]
    pub verdicts: Vec<(Cow<'static, str>, Verdict)>,
    /// The cost of the steps inside findings; each step counts once.
    pub cost: Cost,
    /// Calls without an answer, and answers without a call.
    pub unpaired: Unpaired,
}

/// The verdicts so far on a run whose trace is open: [`TraceAssembler::peek`](crate::TraceAssembler::peek).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OpenRun {
    /// The metadata known so far.
    pub metadata: Metadata,
    /// The number of judged steps.
    pub steps: u64,
    /// The verdicts, in the order of the detectors.
    #[serde(serialize_with = "by_detector")]
    pub verdicts: Vec<(Cow<'static, str>, Verdict)>,
}

/// Counts of the pieces that an assembler received: calls, answers, messages, spans and log records.
///
/// At any time `received = judged + evicted + late + ignored + open + parked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AssemblerCounts {
    /// Pieces received.
    pub received: u64,
    /// Pieces of traces that were closed without eviction.
    pub judged: u64,
    /// Pieces of evicted traces, which were judged and may be incomplete.
    pub evicted: u64,
    /// Pieces that came after their trace had been closed.
    pub late: u64,
    /// Pieces of traces whose spans show no agent, model or tool.
    pub ignored: u64,
    /// Pieces of traces that are open.
    pub open: u64,
    /// Pieces of traces that are parked.
    pub parked: u64,
    /// Calls, answers and messages that arrived after one with a later time.
    pub out_of_order: u64,
    /// Traces that were closed without eviction.
    pub traces_closed: u64,
    /// Traces that were evicted.
    pub traces_evicted: u64,
    /// The number of times that a trace was parked.
    pub traces_parked: u64,
    /// The number of times that a parked trace was resumed.
    pub traces_resumed: u64,
    /// Findings of closed traces.
    pub findings: u64,
    /// Spans and log records judged before the end of their traces, counted once per judgement.
    pub looked_at: u64,
}
