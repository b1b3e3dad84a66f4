//! The fold that every detector is, and the session that runs several of them over one trace.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "scan")]
use super::cost::Cost;
use super::cost::Meter;
use super::explanation::Explanation;
use super::finding::{FailureMode, Finding, Verdict};
use crate::error::{Error, ErrorKind, Result};
use crate::trace::{Gate, Routing, Step, StepInput, Trace};

/// A detector: a validated configuration from which folds start.
///
/// A detector is deterministic: no clock, no randomness, no dependence on hash order.
pub trait Detector: fmt::Debug + Send + Sync {
    /// The detector's name, in `snake_case`.
    fn id(&self) -> &'static str;

    /// The failure mode of its findings.
    fn mode(&self) -> FailureMode;

    /// Whether its folds need the texts of all arguments ([`Arguments::json`](crate::Arguments::json)). Where no
    /// detector does, a scan of tau2 results is faster: it keeps their digests alone.
    fn reads_argument_texts(&self) -> bool {
        true
    }

    /// Starts a fold over one trace.
    fn start(&self, routing: &Routing) -> Box<dyn Fold>;

    /// The verdict on a whole trace: the same fold, from the first step to the last.
    fn detect(&self, trace: &Trace) -> Verdict {
        let mut fold = self.start(trace.routing());
        let mut meter = Meter::default();
        for step in trace {
            fold.observe(&step);
            meter.observe(&step);
        }
        meter.seal(fold.finish())
    }

    /// Why the detector fires on a trace or does not, how near it is, and what would turn its verdict. It replays the
    /// trace: whoever does not ask pays nothing.
    fn explain(&self, trace: &Trace) -> Explanation {
        Explanation::of(self.id(), &self.detect(trace))
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
/// let mut monitor = Monitor::new(&detectors, &None.into())?;
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
    meter: Meter,
    folds: Vec<OpenFold>,
}

#[derive(Debug)]
struct OpenFold {
    detector: Arc<dyn Detector>,
    fold: Box<dyn Fold>,
    told: usize,
}

impl Monitor {
    /// Opens a trace.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) where two of the detectors have one id.
    pub fn new(detectors: &[Arc<dyn Detector>], routing: &Routing) -> Result<Self> {
        for (position, detector) in detectors.iter().enumerate() {
            if detectors.iter().take(position).any(|other| other.id() == detector.id()) {
                let message = format!("there are two detectors with the id `{}`", detector.id());
                return Err(Error::new(ErrorKind::Config, message));
            }
        }
        Ok(Self::open(detectors, routing))
    }

    /// As [`Monitor::new`], of detectors whose ids have been looked at.
    pub(crate) fn open(detectors: &[Arc<dyn Detector>], routing: &Routing) -> Self {
        let folds = detectors
            .iter()
            .map(|detector| OpenFold {
                detector: Arc::clone(detector),
                fold: detector.start(routing),
                told: 0,
            })
            .collect();
        Self { gate: Gate::new(), meter: Meter::default(), folds }
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

    /// Takes the next step of the trace, which a [`Gate`] has let in: what a [`StepSink`](crate::StepSink) is handed.
    pub fn observe_step(&mut self, step: &Step<'_>) {
        self.meter.observe(step);
        for open in &mut self.folds {
            open.fold.observe(step);
        }
    }

    /// The findings that have become certain since this was last asked.
    pub fn new_findings(&mut self) -> impl Iterator<Item = Finding> {
        let meter = &self.meter;
        self.folds.iter_mut().flat_map(move |open| {
            let certain = open.fold.certain();
            let new = certain.get(open.told..).unwrap_or_default();
            open.told = certain.len();
            new.iter().map(move |finding| Finding {
                cost: meter.cost(finding.first, finding.last),
                ..finding.clone()
            })
        })
    }

    /// Closes the trace: the verdicts, in the order of the detectors.
    #[must_use]
    pub fn finish(mut self) -> Vec<(&'static str, Verdict)> {
        self.close()
    }

    /// As [`Monitor::finish`]. The monitor is then at its end, until it is opened again.
    pub fn close(&mut self) -> Vec<(&'static str, Verdict)> {
        let meter = &self.meter;
        let verdict = |open: &mut OpenFold| (open.detector.id(), meter.seal(open.fold.finish()));
        self.folds.iter_mut().map(verdict).collect()
    }

    /// What the steps of the trace took so far.
    #[cfg(feature = "scan")]
    pub(crate) fn total_cost(&self) -> Cost {
        self.meter.total()
    }

    /// What the steps inside of findings of a verdict took, each step once.
    #[cfg(feature = "scan")]
    pub(crate) fn cost_inside(&self, findings: &[Finding]) -> Cost {
        self.meter.inside(findings)
    }

    /// Opens another trace for the same detectors, with the memory of the one before. Whatever the monitor has seen
    /// so far is forgotten.
    pub fn reopen(&mut self, routing: &Routing) {
        self.gate = Gate::new();
        self.meter.restart();
        for open in &mut self.folds {
            open.told = 0;
            if !open.fold.restart(routing) {
                open.fold = open.detector.start(routing);
            }
        }
    }
}
