//! What the collector has done, as numbers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use wrongturn::{TraceAssembler, detect::Cost, live::AssemblerCounts};

/// Counts that every part of the program adds to.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: AtomicU64,
    /// Requests answered with 429 or 503.
    pub(crate) refused: AtomicU64,
    /// Requests answered with another error.
    pub(crate) faulty: AtomicU64,
    /// Spans and log records of requests that were taken otherwise.
    pub(crate) rejected: AtomicU64,
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
    parked: usize,
    bytes: usize,
    parked_bytes: usize,
}

impl Metrics {
    pub(crate) fn see(&self, traces: &TraceAssembler) {
        let seen = Traces {
            counts: traces.counts(),
            open: traces.open_traces(),
            parked: traces.parked_traces(),
            bytes: traces.bytes() - traces.parked_bytes(),
            parked_bytes: traces.parked_bytes(),
        };
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
        let Traces { counts, open, parked, bytes, parked_bytes } =
            self.traces.lock().map(|traces| *traces).unwrap_or_default();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let [steps, duration, input, output] = &self.cost;
        let numbers = [
            ("requests_total", "Requests for /v1/traces and /v1/logs.", count(&self.requests)),
            ("requests_refused_total", "Requests answered with 429 or 503.", count(&self.refused)),
            ("requests_faulty_total", "Requests answered with another error.", count(&self.faulty)),
            ("open_traces", "Traces that are open.", open as u64),
            ("open_bytes", "Memory of all open traces, in bytes.", bytes as u64),
            ("parked_traces", "Traces that are parked.", parked as u64),
            ("parked_bytes", "Memory of all parked traces, in bytes.", parked_bytes as u64),
            (
                "spans_rejected_total",
                "Spans and log records of taken requests that are none.",
                count(&self.rejected),
            ),
            ("spans_received_total", "Spans and log records that were taken.", counts.received),
            ("spans_held", "Those of open traces.", counts.open),
            ("spans_parked", "Those of parked traces.", counts.parked),
            ("spans_judged_total", "Those of traces that were closed in their time.", counts.judged),
            ("spans_evicted_total", "Those of traces that were evicted.", counts.evicted),
            ("spans_late_total", "Those that came after their trace had been closed.", counts.late),
            ("spans_ignored_total", "Those of traces in which nobody acts.", counts.ignored),
            (
                "spans_looked_at_total",
                "Those judged before the end of their trace, each time.",
                counts.looked_at,
            ),
            ("traces_closed_total", "Traces that were closed in their time.", counts.traces_closed),
            (
                "traces_evicted_total",
                "Traces that were closed for want of room, or had expired.",
                counts.traces_evicted,
            ),
            ("traces_parked_total", "How often a trace was parked.", counts.traces_parked),
            ("traces_resumed_total", "How often a parked trace was resumed.", counts.traces_resumed),
            ("findings_total", "Findings of closed traces.", counts.findings),
            ("findings_steps_total", "Steps inside of findings.", count(steps)),
            ("findings_duration_ns_total", "Time inside of findings, in nanoseconds.", count(duration)),
            ("findings_input_tokens_total", "Input tokens inside of findings.", count(input)),
            ("findings_output_tokens_total", "Output tokens inside of findings.", count(output)),
            ("events_waiting", "Events that wait to be sent.", count(&self.events_waiting)),
            ("events_sent_total", "Events that were sent.", count(&self.events_sent)),
            ("events_dropped_total", "Events that could not be sent.", count(&self.events_dropped)),
        ];
        let metric = |(name, help, number): &(&str, &str, u64)| {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            format!(
                "# HELP wrongturn_{name} {help}\n# TYPE wrongturn_{name} {kind}\nwrongturn_{name} {number}\n"
            )
        };
        numbers.iter().map(metric).collect()
    }
}
