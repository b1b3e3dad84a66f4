//! Metrics in the text format of Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use wrongturn::detect::Finding;
use wrongturn::live::{AssemblerCounts, ClosedTrace};
use wrongturn::{Metadata, TraceAssembler};

use crate::sinks::Queue;

/// The names and values of labels, in the form in which they are written.
type Labels = String;

/// The metrics of the collector.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// The maximum number of combinations of service, agent and model with series of their own.
    most: usize,
    counters: Mutex<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    series: BTreeMap<&'static str, BTreeMap<Labels, f64>>,
    senders: BTreeSet<Labels>,
    traces: Seen,
}

/// The figures of the assembler at the latest update.
#[derive(Debug, Default)]
struct Seen {
    counts: AssemblerCounts,
    open: usize,
    parked: usize,
    open_bytes: usize,
    parked_bytes: usize,
}

const OTHER: &str = r#"service="other",agent="other",model="other""#;

/// The help texts of the metrics in [`Counters::series`].
const HELP: [(&str, &str); 11] = [
    ("alerts_total", "Findings reported while their traces were open."),
    ("cost_duration_seconds_total", "Time inside of findings, each step once."),
    ("cost_input_tokens_total", "Input tokens inside of findings, each step once."),
    ("cost_output_tokens_total", "Output tokens inside of findings, each step once."),
    ("cost_steps_total", "Steps inside of findings, each once."),
    ("detectors_stopped_total", "Detectors stopped because of their memory."),
    ("findings_total", "Findings of closed traces."),
    ("requests_total", "Requests with spans or log records, by the status they were answered with."),
    ("spans_rejected_total", "Spans and log records of requests that were taken in part."),
    ("state_failures_total", "Times that the state could not be saved."),
    ("state_save_seconds", "How long the last save of the state took; nothing is judged meanwhile."),
];

impl Metrics {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, counters: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn see(&self, traces: &TraceAssembler) {
        self.lock().traces = Seen {
            counts: traces.counts(),
            open: traces.open_traces(),
            parked: traces.parked_traces(),
            open_bytes: traces.bytes() - traces.parked_bytes(),
            parked_bytes: traces.parked_bytes(),
        };
    }

    pub(crate) fn request(&self, transport: &str, status: StatusCode) {
        let labels = labels(&[("transport", transport), ("code", status.as_str())]);
        self.lock().add("requests_total", labels, 1);
    }

    pub(crate) fn rejected(&self, count: u64) {
        self.lock().add("spans_rejected_total", String::new(), count);
    }

    /// Counts a finding that was reported while its trace is open.
    pub(crate) fn opened(&self, metadata: &Metadata, finding: &Finding) {
        let mut counters = self.lock();
        let sender = counters.sender(metadata, self.most);
        counters.add("alerts_total", of_finding(finding, &sender), 1);
    }

    /// Counts a closed trace, with its findings and their cost.
    pub(crate) fn closed(&self, closed: &ClosedTrace) {
        let mut counters = self.lock();
        let sender = counters.sender(&closed.metadata, self.most);
        for (detector, verdict) in &closed.verdicts {
            if verdict.is_stopped() {
                counters.add("detectors_stopped_total", labels(&[("detector", detector)]), 1);
            }
            for finding in verdict.findings() {
                counters.add("findings_total", of_finding(finding, &sender), 1);
            }
        }
        let cost = &closed.cost;
        let parts = [
            ("cost_steps_total", Some(cost.steps)),
            ("cost_input_tokens_total", cost.input_tokens),
            ("cost_output_tokens_total", cost.output_tokens),
        ];
        for (name, count) in parts {
            counters.add(name, sender.clone(), count.unwrap_or_default());
        }
        let seconds = Duration::from_nanos(cost.duration_ns.unwrap_or_default()).as_secs_f64();
        if seconds > 0.0 {
            let series = counters.series.entry("cost_duration_seconds_total").or_default();
            *series.entry(sender).or_default() += seconds;
        }
    }

    pub(crate) fn saved(&self, took: Duration) {
        let mut counters = self.lock();
        let series = counters.series.entry("state_save_seconds").or_default();
        series.insert(String::new(), took.as_secs_f64());
    }

    pub(crate) fn not_saved(&self) {
        self.lock().add("state_failures_total", String::new(), 1);
    }

    /// Writes all metrics.
    pub(crate) fn render(&self, sinks: &[Arc<Queue>], connections: u64, in_flight: u64) -> String {
        let mut text = String::new();
        let counters = self.lock();
        for (name, help) in HELP {
            let empty = BTreeMap::new();
            let series = counters.series.get(name).unwrap_or(&empty);
            put(&mut text, name, help, series.iter().map(|(labels, value)| (&**labels, *value)));
        }
        for (name, help, value) in counters.traces.all() {
            put(&mut text, name, help, [("", value)]);
        }
        put(&mut text, "connections", "Connections that are open.", [("", float(connections))]);
        let help = "Memory of bodies that have not been judged.";
        put(&mut text, "in_flight_bytes", help, [("", float(in_flight))]);
        for (name, help, count) in Queue::METRICS {
            let series: Vec<(Labels, f64)> =
                sinks.iter().map(|sink| (labels(&[("sink", sink.name())]), float(count(sink)))).collect();
            put(&mut text, name, help, series.iter().map(|(labels, value)| (&**labels, *value)));
        }
        text
    }
}

impl Counters {
    fn add(&mut self, name: &'static str, labels: Labels, count: u64) {
        if count > 0 {
            *self.series.entry(name).or_default().entry(labels).or_default() += float(count);
        }
    }

    /// Returns the labels of the sender of a trace; beyond the limit, or if a label is long, the shared ones.
    fn sender(&mut self, metadata: &Metadata, most: usize) -> Labels {
        let service = metadata.labels.get("resource.service.name").map_or("", String::as_str);
        let agent = metadata.agent.as_deref().unwrap_or_default();
        let model = metadata.model.as_deref().unwrap_or_default();
        let is_long = [service, agent, model].iter().any(|text| text.len() > 128);
        let sender = labels(&[("service", service), ("agent", agent), ("model", model)]);
        if is_long || self.senders.len() >= most && !self.senders.contains(&sender) {
            return OTHER.to_owned();
        }
        self.senders.insert(sender.clone());
        sender
    }
}

impl Seen {
    fn all(&self) -> [(&'static str, &'static str, f64); 16] {
        let counts = &self.counts;
        [
            ("open_traces", "Traces that are open.", self.open as u64),
            ("open_bytes", "Memory of all open traces.", self.open_bytes as u64),
            ("parked_traces", "Traces that are parked.", self.parked as u64),
            ("parked_bytes", "Memory of all parked traces.", self.parked_bytes as u64),
            ("spans_received_total", "Spans and log records that were taken.", counts.received),
            ("spans_open", "Those of open traces.", counts.open),
            ("spans_parked", "Those of parked traces.", counts.parked),
            ("spans_judged_total", "Those of traces that were closed at their end.", counts.judged),
            ("spans_evicted_total", "Those of traces that were evicted.", counts.evicted),
            ("spans_late_total", "Those that came after their trace had been closed.", counts.late),
            ("spans_ignored_total", "Those of traces without an agent, a model or a tool.", counts.ignored),
            (
                "spans_looked_at_total",
                "Those judged before the end of their trace, each time.",
                counts.looked_at,
            ),
            ("traces_closed_total", "Traces that were closed at their end.", counts.traces_closed),
            (
                "traces_evicted_total",
                "Traces closed early because of a cap or their age.",
                counts.traces_evicted,
            ),
            ("traces_parked_total", "How often a trace was parked.", counts.traces_parked),
            ("traces_resumed_total", "How often a parked trace was resumed.", counts.traces_resumed),
        ]
        .map(|(name, help, count)| (name, help, float(count)))
    }
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus counts in floats")]
fn float(count: u64) -> f64 {
    count as f64
}

fn of_finding(finding: &Finding, sender: &str) -> Labels {
    let mode = finding.mode.to_string();
    format!("{},{sender}", labels(&[("detector", &finding.detector), ("mode", &mode)]))
}

fn labels(labels: &[(&str, &str)]) -> Labels {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let written: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    written.join(",")
}

fn put<'s>(text: &mut String, name: &str, help: &str, series: impl IntoIterator<Item = (&'s str, f64)>) {
    let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
    // Writing to a string does not fail.
    let _ = write!(text, "# HELP wrongturn_{name} {help}\n# TYPE wrongturn_{name} {kind}\n");
    for (labels, value) in series {
        let _ = match labels {
            "" => writeln!(text, "wrongturn_{name} {value}"),
            labels => writeln!(text, "wrongturn_{name}{{{labels}}} {value}"),
        };
    }
}
