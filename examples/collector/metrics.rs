//! What the collector has done, as numbers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tracelint::{AssemblerCounts, Cost, TraceAssembler};

/// Counts that every part of the program adds to.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: AtomicU64,
    /// Requests answered with 429 or 503.
    pub(crate) refused: AtomicU64,
    /// Requests answered with another error.
    pub(crate) faulty: AtomicU64,
    /// Events that wait to be sent.
    pub(crate) events_waiting: AtomicU64,
    pub(crate) events_sent: AtomicU64,
    pub(crate) events_dropped: AtomicU64,
    /// What the findings cost.
    pub(crate) cost: [AtomicU64; 4],
    traces: Mutex<Traces>,
}

/// The state of the traces when they were last looked at.
#[derive(Debug, Default, Clone, Copy)]
struct Traces {
    counts: AssemblerCounts,
    open: usize,
    bytes: usize,
}

impl Metrics {
    pub(crate) fn see(&self, traces: &TraceAssembler) {
        let seen = Traces { counts: traces.counts(), open: traces.open_traces(), bytes: traces.bytes() };
        if let Ok(mut state) = self.traces.lock() {
            *state = seen;
        }
    }

    pub(crate) fn add_cost(&self, cost: &Cost) {
        let parts = [Some(cost.steps), cost.duration_ns, cost.input_tokens, cost.output_tokens];
        for (sum, part) in self.cost.iter().zip(parts) {
            sum.fetch_add(part.unwrap_or_default(), Ordering::Relaxed);
        }
    }

    /// The numbers in the text format of Prometheus.
    pub(crate) fn render(&self) -> String {
        let Traces { counts, open, bytes } = self.traces.lock().map(|traces| *traces).unwrap_or_default();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let [steps, duration, input, output] = &self.cost;
        let numbers = [
            ("requests_total", count(&self.requests)),
            ("requests_refused_total", count(&self.refused)),
            ("requests_faulty_total", count(&self.faulty)),
            ("open_traces", open as u64),
            ("open_bytes", bytes as u64),
            ("spans_received_total", counts.received),
            ("spans_held", counts.open),
            ("spans_judged_total", counts.judged),
            ("spans_evicted_total", counts.evicted),
            ("spans_late_total", counts.late),
            ("spans_ignored_total", counts.ignored),
            ("spans_looked_at_total", counts.looked_at),
            ("traces_closed_total", counts.traces_closed),
            ("traces_evicted_total", counts.traces_evicted),
            ("findings_total", counts.findings),
            ("findings_steps_total", count(steps)),
            ("findings_duration_ns_total", count(duration)),
            ("findings_input_tokens_total", count(input)),
            ("findings_output_tokens_total", count(output)),
            ("events_waiting", count(&self.events_waiting)),
            ("events_sent_total", count(&self.events_sent)),
            ("events_dropped_total", count(&self.events_dropped)),
        ];
        {
            let lines = numbers.iter().map(|(name, number)| format!("tracelint_{name} {number}\n"));
            lines.collect::<Vec<String>>().concat()
        }
    }
}
