//! How long a trace assembler waits, and how much it holds.

use std::time::Duration;

/// How long a [`TraceAssembler`](crate::TraceAssembler) waits, and how much it may hold.
///
/// More fields may be added: end a literal with `..AssemblerOptions::default()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssemblerOptions {
    /// How long spans, and pieces that came out of order, are held for others before they are judged (default: 50 ms).
    /// A trace is judged again after 0.2 ms for each of its pieces at the earliest, which bounds what that costs.
    pub settle: Duration,
    /// How long nothing may come for a trace before it is parked (default: 10 min): it is packed, and resumed by the
    /// next piece.
    pub idle: Duration,
    /// How long a trace stays parked before it is closed (default: 24 h).
    pub expire: Duration,
    /// How long after the end of its root span a trace stays open for its other spans (default: 10 s).
    pub grace: Duration,
    /// How long nothing may come for a trace whose agent has ended below a parent that does not arrive here, because it
    /// is in another process or filtered, before the trace is closed (default: 30 s).
    pub quiet: Duration,
    /// How many traces may be open (default: 50,000). Beyond, the one that was silent longest is parked.
    pub max_open: usize,
    /// How many pieces one trace may have: calls, answers, messages, spans and log records (default: 50,000). Beyond,
    /// it is evicted.
    pub max_pieces: usize,
    /// How many spans and log records a trace must have before it is judged while it is open (default: 3; 0: never).
    pub min_spans_to_judge: usize,
    /// How many bytes all traces together may hold, open and parked (default: 1 GiB). Beyond, those that were silent
    /// longest are parked while open traces hold more than half of it, and evicted otherwise.
    pub max_bytes: usize,
    /// How many bytes the detectors of one trace may hold (default: 8 MiB); see
    /// [`Monitor::with_memory_limit`](crate::Monitor::with_memory_limit).
    pub max_memory: usize,
    /// How many closed traces are remembered, to recognise what comes too late for them (default: 100,000). Their ids
    /// may take 64 bytes each on average; beyond, fewer are remembered.
    pub remembered: usize,
    /// Whether a text that begins with `Error` means that a call failed, where spans leave it open (default: yes).
    pub text_errors: bool,
}

impl Default for AssemblerOptions {
    fn default() -> Self {
        Self {
            settle: Duration::from_millis(50),
            idle: Duration::from_secs(600),
            expire: Duration::from_secs(24 * 3600),
            grace: Duration::from_secs(10),
            quiet: Duration::from_secs(30),
            max_open: 50_000,
            max_pieces: 50_000,
            min_spans_to_judge: 3,
            max_bytes: 1 << 30,
            max_memory: 8 << 20,
            remembered: 100_000,
            text_errors: true,
        }
    }
}

/// How long each piece of a trace adds to the time between two judgements of it. One takes some 10 µs for each piece,
/// so a trace takes a twentieth of a processor at most.
const PACE: u64 = 200_000;

impl AssemblerOptions {
    /// Returns when to judge a trace again, from the arrival of its last piece, its last judgement and its length.
    pub(super) fn judge_again(&self, came: u64, judged: u64, pieces: usize) -> u64 {
        let settled = came.saturating_add(nanoseconds(self.settle));
        settled.max(judged.saturating_add(PACE.saturating_mul(pieces as u64)))
    }
}

/// Returns a duration in nanoseconds.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
