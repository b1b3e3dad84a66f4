//! One detector during a trace: its fold and its reported findings.

use std::borrow::Cow;
use std::sync::Arc;

use super::reported_findings::Series;
use super::update::{Update, UpdateKind};
use crate::detect::{Detector, FINDING_BYTES, Finding, Fold, Measures, Meter, Verdict};
use crate::trace::{RouteStatus, Step};

/// A detector during a trace.
#[derive(Debug)]
pub(super) struct OpenFold {
    pub(super) detector: Arc<dyn Detector>,
    state: State,
    /// The number of confirmed findings that have been reported.
    reported: usize,
    /// The reported findings that stand.
    pub(super) live: Series,
    /// The number of steps after which to check for growth again.
    look: u64,
}

#[derive(Debug)]
enum State {
    Open(Box<dyn Fold>),
    /// Stopped before the end of the trace, because of its memory. Boxed to keep open folds small.
    Stopped(Box<Stopped>),
}

/// The last result of a detector that was stopped.
#[derive(Debug)]
struct Stopped {
    confirmed: Vec<Finding>,
    verdict: Verdict,
}

impl OpenFold {
    pub(super) fn start(detector: &Arc<dyn Detector>, routing: &RouteStatus) -> Self {
        Self {
            detector: Arc::clone(detector),
            state: State::Open(detector.start(routing)),
            reported: 0,
            live: Series::default(),
            look: 0,
        }
    }

    pub(super) fn observe(&mut self, step: &Step<'_>) {
        if let State::Open(fold) = &mut self.state {
            fold.observe(step);
        }
    }

    /// Returns true if it has not been stopped.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Reports the updates of findings since the last call.
    pub(super) fn update(&mut self, meter: &Meter, steps: u64, updates: &mut Vec<Update>) {
        let new = self.new_findings(meter, steps);
        let is_due = new.is_empty() && !self.live.is_empty() && steps >= self.look;
        updates.extend(new.into_iter().map(|finding| Update::new(UpdateKind::Opened, finding)));
        if is_due {
            self.look = steps.saturating_mul(2);
            let verdict = meter.seal(self.verdict());
            self.live.grow(&verdict, updates);
        }
    }

    /// Reports the differences from the findings that another monitor reported on the same trace.
    pub(super) fn judge_again(&mut self, meter: &Meter, steps: u64, updates: &mut Vec<Update>) {
        let confirmed = self.as_confirmed().to_vec();
        (self.reported, self.look) = (confirmed.len(), steps.saturating_mul(2));
        if !confirmed.is_empty() || !self.live.is_empty() {
            let verdict = meter.seal(self.verdict());
            self.live.judge_again(confirmed.into_iter(), &verdict, updates);
        }
    }

    /// Returns the confirmed findings as they stand, without merged ones.
    pub(super) fn confirmed(&self, meter: &Meter) -> Vec<Finding> {
        let confirmed = self.as_confirmed();
        if confirmed.is_empty() {
            return Vec::new();
        }
        let mut findings = meter.seal(self.verdict()).findings().to_vec();
        findings.retain(|finding| {
            confirmed.iter().any(|known| known.id == finding.id || finding.merged.contains(&known.id))
        });
        findings
    }

    /// Returns an estimate of the bytes that it holds. A fold without an estimate counts as `seen`, all steps so far.
    pub(super) fn memory(&self, seen: usize) -> usize {
        let own = match &self.state {
            State::Open(fold) => {
                let tracked = Some(fold.memory()).filter(|bytes| *bytes != usize::MAX);
                size_of_val(&**fold) + tracked.unwrap_or(seen)
            }
            State::Stopped(stopped) => {
                let findings = stopped.confirmed.len() + stopped.verdict.findings().len();
                size_of::<Stopped>() + findings * FINDING_BYTES
            }
        };
        size_of::<Self>() + own + self.live.memory()
    }

    fn as_confirmed(&self) -> &[Finding] {
        match &self.state {
            State::Open(fold) => fold.confirmed(),
            State::Stopped(stopped) => &stopped.confirmed,
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match &self.state {
            State::Open(fold) => fold.verdict(),
            State::Stopped(stopped) => stopped.verdict.clone(),
        }
    }

    /// Replaces the fold with its verdict so far or, if it has confirmed nothing, with *not applicable*.
    pub(super) fn stop(&mut self, step: u64, limit: usize) {
        let State::Open(fold) = &self.state else { return };
        let confirmed = fold.confirmed().to_vec();
        let verdict = match fold.verdict() {
            Verdict::Judged(mut judgement) if !confirmed.is_empty() => {
                judgement.stopped_at = Some(step);
                judgement.measures = Measures::default();
                Verdict::Judged(judgement)
            }
            _ => Verdict::stopped(step, limit),
        };
        self.state = State::Stopped(Box::new(Stopped { confirmed, verdict }));
    }

    /// Returns the confirmed findings that were not reported, and marks them as reported.
    pub(super) fn new_findings(&mut self, meter: &Meter, steps: u64) -> Vec<Finding> {
        let confirmed = self.as_confirmed();
        let mut new = confirmed.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = confirmed.len();
        for finding in &mut new {
            meter.complete(finding);
            self.live.open(finding);
            self.look = steps.saturating_mul(2);
        }
        new
    }
}

/// The prefix by which [`Verdict::is_stopped`] recognises the reason that [`Verdict::stopped`] gives.
const STOPPED: &str = "stopped at step ";

impl Verdict {
    /// Creates the verdict of a detector that was stopped before it confirmed anything.
    fn stopped(step: u64, limit: usize) -> Self {
        let reason = format!("{STOPPED}{step}: the open trace held more than {limit} bytes");
        Self::NotApplicable { reason: Cow::Owned(reason) }
    }

    /// Returns true if a memory limit stopped the detector before the end of the trace.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        match self {
            Self::NotApplicable { reason } => reason.starts_with(STOPPED),
            Self::Judged(judgement) => judgement.stopped_at.is_some(),
        }
    }
}
