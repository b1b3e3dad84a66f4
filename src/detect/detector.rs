//! The traits of detectors and their folds.

use std::borrow::Cow;
use std::fmt;

use serde_json::Map;

use super::explain::explain;
use super::{Explanation, FailureMode, Finding, Meter, NearMiss, Verdict};
use crate::trace::{RouteStatus, Step, Trace};

/// A detector: a validated configuration from which folds start.
///
/// A detector must be deterministic: no clock, no randomness, no dependence on hash order.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Status, Trace, default_detectors};
///
/// let mut run = Trace::builder();
/// for _ in 0..5 {
///     run.call("look", &json!({}), Status::Ok, "a wall")?;
/// }
/// let trace = run.build()?;
/// let detectors = default_detectors();
/// let fired = detectors.iter().filter(|detector| detector.detect(&trace).detected() == Some(true));
/// assert!(fired.map(|detector| detector.id()).any(|id| id == "loop"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
pub trait Detector: fmt::Debug + Send + Sync {
    /// Returns the detector's name, in `snake_case`. It may be built at run time.
    fn id(&self) -> Cow<'static, str>;

    /// Returns the failure mode of its findings. A finding may name a narrower one.
    fn mode(&self) -> FailureMode;

    /// Returns true, the default, if its folds need the texts of all arguments
    /// ([`Arguments::json`](crate::trace::Arguments::json)). If no detector needs them, a scan of tau2
    /// results is faster, because it keeps only their digests.
    fn reads_argument_texts(&self) -> bool {
        true
    }

    /// Starts a fold over one trace. `routing` is its reference route, or the reason why it has none.
    fn start(&self, routing: &RouteStatus) -> Box<dyn Fold>;

    /// Returns the verdict on a whole trace, by folding over all its steps.
    fn detect(&self, trace: &Trace) -> Verdict {
        let mut fold = self.start(trace.routing());
        let mut meter = Meter::default();
        for step in trace.steps() {
            fold.observe(&step);
            meter.observe(&step);
        }
        meter.seal(fold.verdict())
    }

    /// Explains the verdict on a trace: near misses, and changes that flip it. For a
    /// [`Rule`](crate::detect::Rule), these include changes to its configuration.
    ///
    /// Every change is verified by running the detector again, at most 200 times in total.
    fn explain(&self, trace: &Trace) -> Explanation {
        let start = || self.start(trace.routing());
        explain(self.id(), trace, &Map::new(), start(), &|_| Some(start()))
    }
}

/// The state of a detector in the middle of a trace.
///
/// ```
/// use wrongturn::{Action, Detector, Fold, Loop, Status, trace::{Actor, StepValidator, RouteStatus, StepInput}};
///
/// let mut gate = StepValidator::new();
/// let mut fold: Box<dyn Fold> = Loop::default().start(&RouteStatus::from(None));
/// for _ in 0..5 {
///     let look = Action::new("look").answered(Status::Ok, "a wall");
///     fold.observe(&gate.admit(StepInput::action(Actor::Agent, look))?);
/// }
/// // Confirmed, though the trace is not over.
/// assert_eq!(fold.confirmed().len(), 1);
/// assert_eq!(fold.verdict().detected(), Some(true));
/// # Ok::<(), wrongturn::Error>(())
/// ```
pub trait Fold: fmt::Debug + Send + Sync {
    /// Processes the next step. Steps must be passed in the order of the trace.
    fn observe(&mut self, step: &Step<'_>);

    /// Returns the confirmed findings, oldest first, each as it was when it was confirmed. The list only
    /// grows.
    ///
    /// Every later verdict contains each of them under the same [`Finding::id`], perhaps with a longer range,
    /// or another finding that lists it in [`Finding::merged`]. By default nothing is confirmed before the end.
    fn confirmed(&self) -> &[Finding] {
        &[]
    }

    /// Returns the verdict on the steps so far, as if the trace ended here.
    fn verdict(&self) -> Verdict;

    /// Returns the candidates that came closest to a finding, or became one, closest first. Only
    /// [`Detector::explain`] calls it, after the last step.
    ///
    /// A fold should derive them from the state that it keeps anyway. An explanation shows the first three.
    /// If nothing was detected, it tries repeating their last steps, so a candidate should end at a step that
    /// would complete it if repeated.
    fn near_misses(&self) -> Vec<NearMiss> {
        Vec::new()
    }

    /// Returns an estimate of the bytes that the fold holds on the heap. `usize::MAX`, the default, means that the fold
    /// does not track them: a [`Monitor`](crate::Monitor) with a limit then counts all bytes of the steps that the fold
    /// has received.
    fn memory(&self) -> usize {
        usize::MAX
    }
}
