//! Adds a custom detector, which flags runs with too many calls, to the bundled ones:
//! `cargo run --example own_detector`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::json;
use wrongturn::{
    Detector, Finding, Fold, Scanner, Step, Verdict, default_detectors,
    detect::{Evidence, FailureClass, FailureMode, Judgement},
    scan::ScanOptions,
    trace::{Actors, RouteStatus},
};

/// Flags runs with more calls than this.
#[derive(Debug)]
struct TooManyCalls(usize);

/// The state within one run: the steps of its calls.
#[derive(Debug)]
struct Calls {
    most: usize,
    steps: Vec<u64>,
}

impl Detector for TooManyCalls {
    fn id(&self) -> Cow<'static, str> {
        "too_many_calls".into()
    }

    fn mode(&self) -> FailureMode {
        FailureMode::new(FailureClass::System, "too_many_calls")
    }

    fn start(&self, _routing: &RouteStatus) -> Box<dyn Fold> {
        Box::new(Calls { most: self.0, steps: Vec::new() })
    }
}

impl Fold for Calls {
    fn observe(&mut self, step: &Step<'_>) {
        if step.action_of(Actors::Agent).is_some() {
            self.steps.push(step.index());
        }
    }

    fn verdict(&self) -> Verdict {
        let mode = FailureMode::new(FailureClass::System, "too_many_calls");
        let found = self.steps.first().zip(self.steps.last()).filter(|_| self.steps.len() > self.most);
        let finding = found.map(|(first, last)| {
            let evidence = Evidence::Other(json!({"calls": self.steps.len(), "most": self.most}));
            let message = format!("{} calls, more than {}", self.steps.len(), self.most);
            Finding::new("too_many_calls", mode, (*first, *last), message, evidence)
        });
        let findings: Vec<Finding> = finding.into_iter().collect();
        Verdict::Judged(Judgement { detected: !findings.is_empty(), findings, ..Judgement::default() })
    }
}

fn main() -> wrongturn::Result<()> {
    let mut detectors = default_detectors();
    detectors.push(Arc::new(TooManyCalls(12)));
    let scanner = Scanner::new(detectors, ScanOptions::default())?;
    for file in scanner.collect([concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2")])? {
        for run in &file.traces {
            for finding in run.verdict("too_many_calls").map_or(&[][..], Verdict::findings) {
                println!("{}: {}", run.trace_id(), finding.message);
            }
        }
    }
    Ok(())
}
