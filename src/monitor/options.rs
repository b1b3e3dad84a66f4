//! How long a trace assembler waits, and how much it holds.

use std::time::Duration;

/// How long a [`TraceAssembler`](crate::TraceAssembler) waits, and how much it may hold.
///
/// Fields may be added: write `..AssemblerOptions::default()` behind those that you set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssemblerOptions {
    /// How long a piece is held for earlier ones that are still on their way (default: 2 s).
    pub reorder: Duration,
    /// How long a call waits for its answer before those behind it go on without (default: 5 min).
    pub answer: Duration,
    /// How long nothing may come for a trace before it is closed (default: 10 min).
    pub idle: Duration,
    /// How long after the end of its root span a trace stays open for its other spans (default: 10 s).
    pub grace: Duration,
    /// How many traces may be open (default: 50,000). Beyond, the one that was silent longest is evicted.
    pub max_open: usize,
    /// How many calls, answers and messages of one trace may be held (default: 10,000). Beyond, they are no longer held
    /// for earlier ones, and calls no longer wait for their answers.
    pub max_held: usize,
    /// How many spans and log records one trace may have (default: 20,000). Beyond, it is evicted.
    pub max_spans: usize,
    /// How many spans and log records must have been held for the reorder window before a trace of spans is judged while
    /// it is open (default: 16; 0: never). It is then judged again whenever there are half as many more, so that all of
    /// these judgements together cost three times that of its end at most.
    pub first_look: usize,
    /// How many bytes all open traces together may hold (default: 1 GiB). Beyond, the one that was silent longest is
    /// evicted.
    pub max_bytes: usize,
    /// How many bytes the detectors of one trace may hold (default: 8 MiB); see
    /// [`Monitor::with_memory_limit`](crate::Monitor::with_memory_limit).
    pub max_memory: usize,
    /// How many closed traces are remembered, so that what comes too late for them is known to be (default: 100,000).
    pub remembered: usize,
    /// Whether a text that begins with `Error` means that a call failed, where spans leave it open (default: yes).
    pub text_errors: bool,
}

impl Default for AssemblerOptions {
    fn default() -> Self {
        Self {
            reorder: Duration::from_secs(2),
            answer: Duration::from_secs(300),
            idle: Duration::from_secs(600),
            grace: Duration::from_secs(10),
            max_open: 50_000,
            max_held: 10_000,
            max_spans: 20_000,
            first_look: 16,
            max_bytes: 1 << 30,
            max_memory: 8 << 20,
            remembered: 100_000,
            text_errors: true,
        }
    }
}

/// A duration in nanoseconds.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
