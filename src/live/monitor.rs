//! Runs several detectors over one open trace.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::open_fold::OpenFold;
use super::update::Update;
use crate::detect::{Cost, Detector, Finding, Meter, Verdict, check_ids};
use crate::error::Result;
use crate::trace::{Actors, RouteStatus, Step, StepInput, StepValidator};

/// Runs detectors online over one open trace, step by step.
///
/// ```
/// use wrongturn::{Action, Monitor, Status, default_detectors, live::UpdateKind, trace::{Actor, StepInput}};
///
/// let detectors = default_detectors();
/// let mut monitor = Monitor::new(&detectors)?;
/// for _ in 0..4 {
///     let look = Action::new("look").answered(Status::Ok, "a wall");
///     monitor.observe(StepInput::action(Actor::Agent, look))?;
/// }
/// let opened = &monitor.updates()[0];
/// assert_eq!((opened.kind, opened.finding.id.as_str()), (UpdateKind::Opened, "loop:2"));
/// let end = monitor.conclude();
/// let closed = &end.updates[0];
/// assert_eq!((closed.kind, closed.finding.id.as_str()), (UpdateKind::Closed, "loop:2"));
/// assert_eq!(end.verdicts.len(), detectors.len());
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug)]
pub struct Monitor {
    gate: StepValidator,
    meter: Meter,
    steps: u64,
    last: u64,
    /// The index of the last step that was an action.
    last_action: Option<u64>,
    /// The size of the steps so far, in bytes.
    seen: usize,
    memory_limit: Option<usize>,
    concluded: bool,
    folds: Vec<OpenFold>,
}

/// The verdicts on a trace at its end and the last updates of its findings, from [`Monitor::conclude`].
///
/// In JSON: `{"verdicts": {detector: verdict}, "updates": [update]}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Conclusion {
    /// The verdicts, in the order of the detectors.
    #[serde(serialize_with = "by_detector")]
    pub verdicts: Vec<(Cow<'static, str>, Verdict)>,
    /// The last updates: each finding is closed, merged into another, or withdrawn.
    pub updates: Vec<Update>,
}

pub(super) fn by_detector<S: Serializer>(
    verdicts: &[(Cow<'static, str>, Verdict)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(verdicts.iter().map(|(detector, verdict)| (detector, verdict)))
}

impl Monitor {
    /// Opens a trace without a reference route.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) if two detectors have the same id, or an id is not in
    /// `snake_case`.
    pub fn new(detectors: &[Arc<dyn Detector>]) -> Result<Self> {
        check_ids(detectors)?;
        Ok(Self::open(detectors, &None.into()))
    }

    /// Sets the reference route, or the reason for its absence. Call it before the first step; it discards
    /// earlier steps.
    #[must_use]
    pub fn with_routing(mut self, routing: &RouteStatus) -> Self {
        self.reopen(routing);
        self
    }

    /// Like [`Monitor::new`], for detectors with validated ids.
    pub(crate) fn open(detectors: &[Arc<dyn Detector>], routing: &RouteStatus) -> Self {
        let folds = detectors.iter().map(|detector| OpenFold::start(detector, routing)).collect();
        Self {
            gate: StepValidator::new(),
            meter: Meter::default(),
            steps: 0,
            last: 0,
            last_action: None,
            seen: 0,
            memory_limit: None,
            concluded: false,
            folds,
        }
    }

    /// Sets a limit in bytes for the state of the trace ([`Monitor::memory`]).
    ///
    /// Beyond it, the detector that holds the most memory is stopped, and its memory is freed. If it has confirmed a
    /// finding, its verdict so far stands, with the step at which it stopped
    /// ([`Judgement::stopped_at`](crate::detect::Judgement::stopped_at)); otherwise it is *not applicable*
    /// for that reason. A detector that does not track its memory
    /// ([`Fold::memory`](crate::detect::Fold::memory)) is charged for all bytes of the steps so far.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Takes the next step of the trace.
    ///
    /// # Errors
    /// Same as [`StepValidator::admit`]. The step is then skipped, and the trace stays open.
    pub fn observe(&mut self, step: StepInput<'_>) -> Result<()> {
        let step = self.gate.admit(step)?;
        self.observe_step(&step);
        Ok(())
    }

    /// Takes the next validated step of the trace, as a [`StepSink`](crate::trace::StepSink) receives it.
    pub fn observe_step(&mut self, step: &Step<'_>) {
        self.meter.observe(step);
        self.steps += 1;
        self.last = step.index();
        if step.action_of(Actors::All).is_some() {
            self.last_action = Some(step.index());
        }
        self.seen = self.seen.saturating_add(step.bytes());
        for open in &mut self.folds {
            open.observe(step);
        }
        if let Some(limit) = self.memory_limit
            && self.memory() > limit
        {
            self.stop_largest(limit);
        }
    }

    /// Returns the number of steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns an estimate of the bytes that the open trace holds, based on
    /// [`Fold::memory`](crate::detect::Fold::memory).
    #[must_use]
    pub fn memory(&self) -> usize {
        let folds = self.folds.iter().map(|open| open.memory(self.seen));
        size_of::<Self>() + self.meter.memory() + folds.sum::<usize>()
    }

    fn stop_largest(&mut self, limit: usize) {
        let (last, seen) = (self.last, self.seen);
        let open = self.folds.iter_mut().filter(|open| !open.is_stopped);
        // `max_by_key` returns the last of equals, so the order is reversed to stop the first.
        let Some(largest) = open.rev().max_by_key(|open| open.memory(seen)) else { return };
        largest.stop(last, limit);
    }

    /// Returns the findings confirmed since the last call of this method or of [`Monitor::updates`], each as
    /// it was when it was confirmed.
    pub fn new_findings(&mut self) -> impl Iterator<Item = Finding> {
        let (meter, steps) = (&self.meter, self.steps);
        self.folds.iter_mut().flat_map(move |open| open.new_findings(meter, steps))
    }

    /// Returns the updates of findings since the last call.
    ///
    /// If called after every step, it reports a finding at the step that confirms it. Growth and merging are
    /// checked each time the trace has doubled in length, and merging once more by [`Monitor::conclude`]. A
    /// finding has *grown* if it is longer by at least half than when last reported.
    #[must_use]
    pub fn updates(&mut self) -> Vec<Update> {
        let mut updates = Vec::new();
        for open in &mut self.folds {
            open.update(&self.meter, self.steps, &mut updates);
        }
        updates
    }

    /// Continues the updates of findings that another monitor reported on the same trace. That monitor may
    /// have seen other steps, or the same steps in another order.
    pub(super) fn continue_from(&mut self, before: Vec<Finding>) -> Vec<Update> {
        self.take_over(before);
        let mut updates = Vec::new();
        for open in &mut self.folds {
            open.judge_again(&self.meter, self.steps, &mut updates);
        }
        updates
    }

    /// Marks these findings as reported.
    pub(super) fn take_over(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let fold = self.folds.iter_mut().find(|open| open.detector.id() == finding.detector);
            if let Some(open) = fold {
                open.live.insert(finding.id.clone(), finding);
            }
        }
    }

    /// Returns the reported findings that still stand, as they were last reported.
    pub(super) fn reported(&self) -> impl Iterator<Item = &Finding> {
        self.folds.iter().flat_map(|open| open.live.values())
    }

    /// Like [`Monitor::reported`], by value.
    pub(super) fn into_reported(self) -> Vec<Finding> {
        self.folds.into_iter().flat_map(|open| open.live.into_values()).collect()
    }

    /// Returns the lowest index that the next step may have.
    pub(super) fn next_index(&self) -> u64 {
        if self.steps == 0 { 0 } else { self.last.saturating_add(1) }
    }

    /// Returns the confirmed findings that reach the latest action. If there are any, the agent is failing
    /// *now*: use this as a stop condition.
    ///
    /// ```
    /// use wrongturn::{Action, Monitor, Status, default_detectors, trace::{Actor, StepInput}};
    ///
    /// let mut monitor = Monitor::new(&default_detectors())?;
    /// let mut loops = Vec::new();
    /// for (tool, answer) in [("look", "a wall"), ("look", "a wall"), ("look", "a wall"), ("go", "a garden")] {
    ///     let action = Action::new(tool).answered(Status::Ok, answer);
    ///     monitor.observe(StepInput::action(Actor::Agent, action))?;
    ///     loops.push(!monitor.open_findings().is_empty());
    /// }
    /// assert_eq!(loops, [false, false, true, false]);
    /// # Ok::<(), wrongturn::Error>(())
    /// ```
    #[must_use]
    pub fn open_findings(&self) -> Vec<Finding> {
        let mut findings = self.confirmed();
        findings.retain(|finding| self.last_action.is_some_and(|last| finding.last >= last));
        findings
    }

    /// Returns the confirmed findings as they stand, without merged ones.
    pub(super) fn confirmed(&self) -> Vec<Finding> {
        self.folds.iter().flat_map(|open| open.confirmed(&self.meter)).collect()
    }

    /// Returns the verdicts on the steps so far, in the order of the detectors, as if the trace ended here.
    /// The trace stays open.
    #[must_use]
    pub fn peek(&self) -> Vec<(Cow<'static, str>, Verdict)> {
        self.folds.iter().map(|open| (open.detector.id(), self.meter.seal(open.verdict()))).collect()
    }

    /// Returns the verdict of the detector at this index, or `None` if the index is out of range.
    #[cfg(feature = "scan")]
    pub(crate) fn verdict_at(&self, place: usize) -> Option<(Cow<'static, str>, Verdict)> {
        let open = self.folds.get(place)?;
        Some((open.detector.id(), self.meter.seal(open.verdict())))
    }

    #[cfg(feature = "scan")]
    pub(crate) fn total_cost(&self) -> Cost {
        self.meter.total()
    }

    /// Returns the cost of the steps inside findings; each step counts once.
    pub(crate) fn cost_inside<'f>(&self, findings: impl IntoIterator<Item = &'f Finding>) -> Cost {
        let mut ranges: Vec<_> = findings.into_iter().map(|finding| (finding.first, finding.last)).collect();
        ranges.sort_unstable();
        self.meter.inside(ranges)
    }

    /// Closes the trace and returns the verdicts, in the order of the detectors.
    #[must_use]
    pub fn finish(self) -> Vec<(Cow<'static, str>, Verdict)> {
        self.peek()
    }

    /// Closes the trace and returns the verdicts and the last updates. Further calls return no updates.
    /// [`Monitor::reopen`] makes the monitor ready for another trace.
    #[must_use]
    pub fn conclude(&mut self) -> Conclusion {
        let verdicts = self.peek();
        let mut updates = Vec::new();
        if std::mem::replace(&mut self.concluded, true) {
            return Conclusion { verdicts, updates };
        }
        for (open, (_, verdict)) in self.folds.iter_mut().zip(&verdicts) {
            open.end(verdict, &mut updates);
        }
        Conclusion { verdicts, updates }
    }

    /// Opens another trace with the same detectors and limit, and forgets the previous one.
    pub fn reopen(&mut self, routing: &RouteStatus) {
        self.gate = StepValidator::new();
        self.meter.restart();
        (self.steps, self.last, self.last_action, self.seen) = (0, 0, None, 0);
        self.concluded = false;
        for open in &mut self.folds {
            *open = OpenFold::start(&open.detector, routing);
        }
    }
}
