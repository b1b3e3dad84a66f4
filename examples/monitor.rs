//! Watches two runs whose steps arrive interleaved, and reports each failure as soon as it is confirmed:
//! `cargo run --example monitor`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wrongturn::{
    Action, Monitor, Status, default_detectors,
    trace::{Actor, StepInput},
};

fn main() -> wrongturn::Result<()> {
    let detectors = default_detectors();
    let mut monitors: BTreeMap<&str, Monitor> = BTreeMap::new();
    for (run, tool, arguments, status, answer) in recorded() {
        let monitor = match monitors.get_mut(run) {
            Some(monitor) => monitor,
            None => monitors.entry(run).or_insert(Monitor::new(&detectors)?),
        };
        let action = Action::new(tool).arguments(&arguments).answered(status, answer);
        monitor.observe(StepInput::action(Actor::Agent, action))?;
        // A finding is reported as soon as no later step can take it back.
        for finding in monitor.new_findings() {
            println!("{run}: steps {}-{}: {}", finding.first, finding.last, finding.message);
        }
    }
    for (run, monitor) in monitors {
        for (detector, verdict) in monitor.finish() {
            if verdict.detected() == Some(true) {
                println!("{run}: closed: {detector}: {} finding(s)", verdict.findings().len());
            }
        }
    }
    Ok(())
}

/// One agent asks the same question over and over; the other repeats a refused booking.
fn recorded() -> Vec<(&'static str, &'static str, Value, Status, &'static str)> {
    (0..5)
        .flat_map(|_| {
            [
                ("support-17", "get_order", json!({"order": "#W17"}), Status::Ok, "pending"),
                ("travel-4", "book_flight", json!({"flight": "HAT001"}), Status::Error, "seat taken"),
            ]
        })
        .collect()
}
