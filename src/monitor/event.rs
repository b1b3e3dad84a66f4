//! The events of a trace assembler.

use std::sync::Arc;

use super::update::Update;
use crate::detect::Verdict;
use crate::names::named;
use crate::trace::{Metadata, Unpaired};

/// An event of a trace assembler: an update of a finding, the end of a trace, something too late.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LiveEvent {
    /// What became of a finding while its trace is open.
    Update {
        /// The trace.
        trace: Arc<str>,
        /// What is known of it so far.
        metadata: Arc<Metadata>,
        /// The update.
        update: Box<Update>,
    },
    /// A trace, or the run of one of its agents, is over.
    Closed(Box<ClosedTrace>),
    /// Something came for a trace that had been closed: reported once for each trace, and counted from then on
    /// ([`TraceAssembler::late`](crate::TraceAssembler::late)).
    Late {
        /// The trace.
        trace: Arc<str>,
    },
}

/// Why a trace was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CloseReason {
    /// The caller closed it.
    Requested,
    /// Its root span had ended, and the grace time was over.
    Ended,
    /// Nothing had come for it for a while.
    Idle,
    /// Too many traces were open, and it had been silent longest.
    TooManyOpen,
    /// All open traces together held too many bytes, and it had been silent longest.
    TooManyBytes,
    /// It had too many spans.
    TooManySpans,
}

named! {
    CloseReason, "reason" {
        Requested => "requested",
        Ended => "ended",
        Idle => "idle",
        TooManyOpen => "too_many_open",
        TooManyBytes => "too_many_bytes",
        TooManySpans => "too_many_spans",
    }
}

impl CloseReason {
    /// Whether the trace was closed for want of room, before its time.
    #[must_use]
    pub fn is_eviction(self) -> bool {
        matches!(self, Self::TooManyOpen | Self::TooManyBytes | Self::TooManySpans)
    }
}

/// The verdicts on a trace, or on the run of one of its agents, when it was closed.
///
/// An eviction loses nothing of what had come: that is judged as it stands. It costs what comes later, which counts as
/// late.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClosedTrace {
    /// The trace.
    pub trace: Arc<str>,
    /// What the run is known by; its id is that of the trace or, of further agents, one that begins with it.
    pub metadata: Metadata,
    /// Why it was closed.
    pub reason: CloseReason,
    /// How many steps were judged.
    pub steps: u64,
    /// The verdicts, in the order of the detectors.
    pub verdicts: Vec<(&'static str, Verdict)>,
    /// Calls without an answer, and answers without a call.
    pub unpaired: Unpaired,
    /// Pieces that were still held for earlier ones.
    pub held: u64,
}

/// The verdicts so far on a run whose trace is open: [`TraceAssembler::peek`](crate::TraceAssembler::peek).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OpenRun {
    /// What the run is known by so far.
    pub metadata: Metadata,
    /// How many steps were judged.
    pub steps: u64,
    /// The verdicts, in the order of the detectors.
    pub verdicts: Vec<(&'static str, Verdict)>,
}

/// What became of the pieces that an assembler received: calls, answers, messages, spans and log records.
///
/// At any time `received = judged + evicted + late + ignored + open`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AssemblerCounts {
    /// Pieces that came.
    pub received: u64,
    /// Pieces of traces that were closed in their time.
    pub judged: u64,
    /// Pieces of traces that were evicted: judged, but perhaps not with all that belongs to them.
    pub evicted: u64,
    /// Pieces that came after their trace had been closed.
    pub late: u64,
    /// Pieces of traces in which nobody acts: no agent, no model, no tool.
    pub ignored: u64,
    /// Pieces of traces that are open.
    pub open: u64,
    /// Pieces that came after later ones had been handed on: out of order by more than the window.
    pub out_of_order: u64,
    /// Answers that came after their call had been given up.
    pub late_answers: u64,
    /// Traces that were closed in their time.
    pub traces_closed: u64,
    /// Traces that were evicted.
    pub traces_evicted: u64,
    /// Findings of closed traces.
    pub findings: u64,
    /// Spans and log records that were judged before the end of their traces, as often as they were.
    pub looked_at: u64,
}
