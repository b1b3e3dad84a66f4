//! The fold that every detector is, and the session that runs several of them over one trace.

use std::fmt;

use super::finding::{FailureMode, Finding, Verdict};
use crate::error::Result;
use crate::trace::{Gate, Routing, Step, StepInput, Trace};

/// A detector: a validated configuration from which folds start.
///
/// A detector is deterministic: no clock, no randomness, no dependence on hash order.
pub trait Detector: fmt::Debug + Send + Sync {
    /// The detector's name, in `snake_case`.
    fn id(&self) -> &'static str;

    /// The failure mode of its findings.
    fn mode(&self) -> FailureMode;

    /// Whether its folds read the texts of arguments ([`Arguments::json`](crate::Arguments::json)). Where no
    /// detector does, a scan is faster.
    fn reads_argument_texts(&self) -> bool {
        true
    }

    /// Starts a fold over one trace.
    fn start(&self, routing: &Routing) -> Box<dyn Fold>;

    /// The verdict on a whole trace: the same fold, from the first step to the last.
    fn detect(&self, trace: &Trace) -> Verdict {
        let mut fold = self.start(trace.routing());
        for step in trace.steps() {
            fold.observe(&step);
        }
        fold.finish()
    }
}

/// The state of a detector in the middle of a trace.
pub trait Fold: fmt::Debug + Send {
    /// Takes the next step.
    fn observe(&mut self, step: &Step<'_>);

    /// What is certain already, in the order in which it became certain; only ever appended to.
    ///
    /// A finding listed here is part of the verdict, but its range may still grow, and findings that grow
    /// into one another become one.
    fn certain(&self) -> &[Finding];

    /// The verdict, when the trace is over. The fold is then at its end.
    fn finish(&mut self) -> Verdict;

    /// Brings the fold back to its start, for another trace, with the memory that it has. `false`: it cannot
    /// do that, and [`Detector::start`] has to make another.
    fn restart(&mut self, routing: &Routing) -> bool {
        let _ = routing;
        false
    }
}

/// Runs detectors online over one open trace.
///
/// ```
/// use tracelint::{Action, Actor, Monitor, Status, StepInput, default_detectors};
///
/// let detectors = default_detectors();
/// let mut monitor = Monitor::new(&detectors, &None.into());
/// for _ in 0..4 {
///     let look = Action::new("look").answered(Status::Ok, "a wall");
///     monitor.observe(StepInput::action(Actor::Agent, look))?;
/// }
/// let certain: Vec<_> = monitor.new_findings().map(|finding| finding.detector).collect();
/// assert_eq!(certain, ["loop"]);
/// let verdicts = monitor.finish();
/// assert_eq!(verdicts.len(), detectors.len());
/// # Ok::<(), tracelint::Error>(())
/// ```
#[derive(Debug)]
pub struct Monitor {
    gate: Gate,
    folds: Vec<OpenFold>,
}

#[derive(Debug)]
struct OpenFold {
    id: &'static str,
    fold: Box<dyn Fold>,
    told: usize,
}

impl Monitor {
    /// Opens a trace.
    #[must_use]
    pub fn new(detectors: &[std::sync::Arc<dyn Detector>], routing: &Routing) -> Self {
        let folds = detectors
            .iter()
            .map(|detector| OpenFold { id: detector.id(), fold: detector.start(routing), told: 0 })
            .collect();
        Self { gate: Gate::new(), folds }
    }

    /// Takes the next step of the trace.
    ///
    /// # Errors
    /// As [`Gate::admit`]; the step is then left out and the trace stays open.
    pub fn observe(&mut self, step: StepInput<'_>) -> Result<()> {
        let step = self.gate.admit(step)?;
        self.observe_step(&step);
        Ok(())
    }

    pub(crate) fn observe_step(&mut self, step: &Step<'_>) {
        for open in &mut self.folds {
            open.fold.observe(step);
        }
    }

    /// The findings that have become certain since this was last asked.
    pub fn new_findings(&mut self) -> impl Iterator<Item = &Finding> {
        self.folds.iter_mut().flat_map(|open| {
            let certain = open.fold.certain();
            let new = certain.get(open.told..).unwrap_or_default();
            open.told = certain.len();
            new
        })
    }

    /// Closes the trace: the verdicts, in the order of the detectors.
    #[must_use]
    pub fn finish(mut self) -> Vec<(&'static str, Verdict)> {
        self.close()
    }

    pub(crate) fn close(&mut self) -> Vec<(&'static str, Verdict)> {
        self.folds.iter_mut().map(|open| (open.id, open.fold.finish())).collect()
    }

    /// Opens another trace for the same detectors, with the memory of the one before.
    pub(crate) fn reopen(&mut self, detectors: &[std::sync::Arc<dyn Detector>], routing: &Routing) {
        self.gate = Gate::new();
        for (open, detector) in self.folds.iter_mut().zip(detectors) {
            open.told = 0;
            if !open.fold.restart(routing) {
                open.fold = detector.start(routing);
            }
        }
    }
}
