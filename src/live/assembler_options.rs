//! The timeouts and limits of a trace assembler.

use std::time::Duration;

/// The timeouts and limits of a [`TraceAssembler`](crate::TraceAssembler).
///
/// More fields may be added: end a literal with `..AssemblerOptions::default()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssemblerOptions {
    /// How long spans, and pieces that came out of order, are held before they are judged, in case others
    /// follow (default: 50 ms). The time between two judgements of a trace is at least 0.2 ms for each of its
    /// pieces, which bounds the cost.
    pub settle: Duration,
    /// How long a trace may be silent before it is parked (default: 10 min). The next piece resumes it.
    pub idle: Duration,
    /// How long a trace may be silent before it is closed (default: 24 h). If it is shorter than `idle`,
    /// `idle` applies.
    pub expire: Duration,
    /// How long a trace stays open for its other spans after its completed root span has arrived (default: 10 s).
    pub grace: Duration,
    /// How long a trace may be silent before it is closed if its agent has ended but its root span has not
    /// arrived, for example because another process sends it elsewhere (default: 30 s).
    pub quiet: Duration,
    /// The maximum number of open traces (default: 50,000). Beyond it, the trace that has been silent longest
    /// is parked.
    pub max_open: usize,
    /// The maximum number of pieces in one trace: calls, answers, messages, spans and log records (default:
    /// 50,000). Beyond it, the trace is evicted.
    pub max_pieces: usize,
    /// The number of spans and log records that an open trace needs before it is judged (default: 3). With 0,
    /// they are judged only when the trace closes.
    pub min_spans_to_judge: usize,
    /// The maximum number of bytes for all open and parked traces (default: 1 GiB). Beyond it, if open traces hold more
    /// than half of the limit, the open trace that has been silent longest is parked, or evicted if no other is open;
    /// otherwise the parked trace that has been silent longest is evicted.
    pub max_bytes: usize,
    /// The maximum number of bytes for the detectors of one run (default: 8 MiB); see
    /// [`Monitor::with_memory_limit`](crate::Monitor::with_memory_limit).
    pub max_memory: usize,
    /// The maximum number of closed traces that are remembered, to recognise late pieces (default: 100,000);
    /// fewer if ids exceed 64 bytes on average. Later pieces of a forgotten trace open it again.
    pub remembered: usize,
    /// If true, an answer that begins with `Error` counts as an error even if its span does not mark it as one
    /// (default: true).
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

/// The minimum time between two judgements of a trace, in nanoseconds per piece. Judging takes about 10 µs
/// per piece, so a trace uses at most a twentieth of a processor core.
const PACE: u64 = 200_000;
/// After a late judgement, a trace waits for the next one at least this many times the delay, up to
/// [`MOST_PATIENCE`] nanoseconds. Traces are therefore judged less often if the caller cannot keep up.
const PATIENCE: u64 = 4;
const MOST_PATIENCE: u64 = 4_000_000_000;

impl AssemblerOptions {
    /// Returns when to judge a trace again, given the arrival time of a piece, the time and delay of the
    /// last judgement, and the number of pieces.
    pub(super) fn judge_again(&self, came: u64, (judged, late): (u64, u64), pieces: usize) -> u64 {
        let settled = after(came, self.settle);
        let patience = PATIENCE.saturating_mul(late).min(MOST_PATIENCE);
        let pause = PACE.saturating_mul(pieces as u64).max(patience);
        settled.max(judged.saturating_add(pause))
    }
}

/// Returns the time after a wait, at most `u64::MAX`.
pub(super) fn after(time: u64, wait: Duration) -> u64 {
    time.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX))
}
