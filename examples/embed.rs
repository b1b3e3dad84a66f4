//! The detectors inside a pipeline: the steps of many runs arrive interleaved on a channel. Findings are printed as soon
//! as they are confirmed, verdicts when a run closes. The page of each detector says what it confirms before the end.
//!
//! `cargo run --release --example embed`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};
use wrongturn::{
    Action, Monitor, Status, Trace, Verdict, default_detectors,
    trace::{Actor, StepInput},
};

/// What a service would send: it owns its texts, since they cross a thread.
enum Message {
    Call { run: &'static str, tool: &'static str, arguments: Value, answer: Result<String, String> },
    Closed { run: &'static str },
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sender, receiver) = mpsc::channel();
    let service = thread::spawn(move || {
        for message in recorded() {
            // A closed receiver ends the service.
            if sender.send(message).is_err() {
                break;
            }
        }
    });

    let detectors = default_detectors();
    let mut open: BTreeMap<&str, Monitor> = BTreeMap::new();
    for message in receiver {
        match message {
            Message::Call { run, tool, arguments, answer } => {
                let monitor = match open.entry(run) {
                    Entry::Occupied(monitor) => monitor.into_mut(),
                    Entry::Vacant(place) => place.insert(Monitor::new(&detectors)?),
                };
                monitor.observe(step(tool, &arguments, &answer))?;
                for finding in monitor.new_findings() {
                    println!("{run}: steps {}-{}: {}", finding.first, finding.last, finding.mode);
                    println!("  {}", finding.message);
                }
            }
            Message::Closed { run } => {
                let Some(monitor) = open.remove(run) else { continue };
                let verdicts = monitor.finish();
                assert_eq!(verdicts, batch(run)?, "online and batch are the same fold");
                for (detector, verdict) in &verdicts {
                    println!("{run}: closed: {detector}: {}", told(verdict));
                }
            }
        }
    }
    if service.join().is_err() {
        return Err("the service ended early".into());
    }
    Ok(())
}

fn step<'a>(tool: &'a str, arguments: &Value, answer: &'a Result<String, String>) -> StepInput<'a> {
    let (status, text) = match answer {
        Ok(text) => (Status::Ok, text),
        Err(text) => (Status::Error, text),
    };
    StepInput::action(Actor::Agent, Action::new(tool).arguments(arguments).answered(status, text))
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::NotApplicable { reason } => format!("not applicable,\n  {reason}"),
        Verdict::Judged(judgement) if judgement.detected => {
            format!("detected, {} finding(s)", judgement.findings.len())
        }
        Verdict::Judged(_) => "passed".to_owned(),
    }
}

/// The verdicts on the whole run at once, for comparison.
fn batch(wanted: &str) -> Result<Vec<(&'static str, Verdict)>, wrongturn::Error> {
    let mut trace = Trace::builder();
    for message in recorded() {
        if let Message::Call { run, tool, arguments, answer } = message
            && run == wanted
        {
            trace.push(step(tool, &arguments, &answer))?;
        }
    }
    let trace = trace.build()?;
    Ok(default_detectors().iter().map(|detector| (detector.id(), detector.detect(&trace))).collect())
}

/// Two runs at the same time: one asks the same question over and over, the other repeats a refused booking.
fn recorded() -> Vec<Message> {
    let mut messages = Vec::new();
    for round in 0..5 {
        messages.push(Message::Call {
            run: "support-17",
            tool: "get_order",
            arguments: json!({"order": "#W17"}),
            answer: Ok("pending".to_owned()),
        });
        messages.push(Message::Call {
            run: "travel-4",
            tool: "book_flight",
            arguments: json!({"flight": if round < 2 { "HAT001" } else { "HAT002" }, "seat": round / 2}),
            answer: if round < 4 { Err("seat taken".to_owned()) } else { Ok("booked".to_owned()) },
        });
    }
    messages.push(Message::Closed { run: "travel-4" });
    messages.push(Message::Closed { run: "support-17" });
    messages
}
