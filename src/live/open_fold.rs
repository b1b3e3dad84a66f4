//! One detector during a trace: its fold and its reported findings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::update::{Update, UpdateKind};
use crate::detect::{Detector, FINDING_BYTES, Finding, Fold, Measures, Meter, Verdict};
use crate::trace::{RouteStatus, Step};

#[derive(Debug)]
pub(super) struct OpenFold {
    pub(super) detector: Arc<dyn Detector>,
    fold: Box<dyn Fold>,
    /// True if it was stopped before the end of the trace, because of its memory.
    pub(super) is_stopped: bool,
    /// The number of confirmed findings that have been reported.
    reported: usize,
    /// The reported findings that were neither merged nor withdrawn, as last reported, by id.
    pub(super) live: BTreeMap<String, Finding>,
    /// The number of steps after which to check for growth again.
    look: u64,
}

/// Replaces the fold of a stopped detector and holds its last result.
#[derive(Debug)]
struct Stopped {
    confirmed: Vec<Finding>,
    verdict: Verdict,
}

impl Fold for Stopped {
    fn observe(&mut self, _: &Step<'_>) {}

    fn confirmed(&self) -> &[Finding] {
        &self.confirmed
    }

    fn verdict(&self) -> Verdict {
        self.verdict.clone()
    }

    fn memory(&self) -> usize {
        (self.confirmed.len() + self.verdict.findings().len()) * FINDING_BYTES
    }
}

impl OpenFold {
    pub(super) fn start(detector: &Arc<dyn Detector>, routing: &RouteStatus) -> Self {
        Self {
            detector: Arc::clone(detector),
            fold: detector.start(routing),
            is_stopped: false,
            reported: 0,
            live: BTreeMap::new(),
            look: 0,
        }
    }

    pub(super) fn observe(&mut self, step: &Step<'_>) {
        self.fold.observe(step);
    }

    /// Reports the updates of findings since the last call.
    pub(super) fn update(&mut self, meter: &Meter, steps: u64, updates: &mut Vec<Update>) {
        let new = self.new_findings(meter, steps);
        let is_due = new.is_empty() && !self.live.is_empty() && steps >= self.look;
        updates.extend(new.into_iter().map(|finding| Update::new(UpdateKind::Opened, finding)));
        if is_due {
            self.look = steps.saturating_mul(2);
            self.grow(&meter.seal(self.verdict()), updates);
        }
    }

    /// Reports the differences from the findings that another monitor reported on the same trace.
    pub(super) fn judge_again(&mut self, meter: &Meter, steps: u64, updates: &mut Vec<Update>) {
        let confirmed = self.fold.confirmed();
        (self.reported, self.look) = (confirmed.len(), steps.saturating_mul(2));
        if confirmed.is_empty() && self.live.is_empty() {
            return;
        }
        let verdict = meter.seal(self.verdict());
        for finding in confirmed {
            // A finding that was merged before it was reported is never reported on its own.
            if !self.live.contains_key(&finding.id)
                && let Some(now) = verdict.findings().iter().find(|other| other.id == finding.id)
            {
                self.live.insert(now.id.clone(), now.clone());
                updates.push(Update::new(UpdateKind::Opened, now.clone()));
            }
        }
        self.grow(&verdict, updates);
        self.withdraw(&verdict, updates);
    }

    /// Adds updates of reported findings that are merged in this verdict or have grown by at least half their
    /// length.
    fn grow(&mut self, verdict: &Verdict, updates: &mut Vec<Update>) {
        for finding in verdict.findings() {
            for part in &finding.merged {
                if let Some(gone) = self.live.remove(part) {
                    let into = Some(finding.id.clone());
                    updates.push(Update { into, ..Update::new(UpdateKind::Merged, gone) });
                }
            }
            let length = |finding: &Finding| finding.last.saturating_sub(finding.first).saturating_add(1);
            if let Some(known) = self.live.get_mut(&finding.id)
                && length(finding) >= length(known).saturating_add(length(known).div_ceil(2))
            {
                known.clone_from(finding);
                updates.push(Update::new(UpdateKind::Grown, finding.clone()));
            }
        }
    }

    /// Withdraws the reported findings that a verdict lacks.
    fn withdraw(&mut self, verdict: &Verdict, updates: &mut Vec<Update>) {
        self.live.retain(|id, finding| {
            let stands = verdict.findings().iter().any(|other| other.id == *id);
            if !stands {
                updates.push(Update::new(UpdateKind::Withdrawn, finding.clone()));
            }
            stands
        });
    }

    /// Ends the trace: reports merged and withdrawn findings, then closes the findings of the verdict.
    pub(super) fn end(&mut self, verdict: &Verdict, updates: &mut Vec<Update>) {
        let mut last = Vec::new();
        self.grow(verdict, &mut last);
        self.withdraw(verdict, &mut last);
        updates.extend(last.into_iter().filter(|update| update.kind != UpdateKind::Grown));
        self.live.clear();
        let closed = verdict.findings().iter().cloned();
        updates.extend(closed.map(|finding| Update::new(UpdateKind::Closed, finding)));
    }

    /// Returns the confirmed findings as they stand, without merged ones.
    pub(super) fn confirmed(&self, meter: &Meter) -> Vec<Finding> {
        let confirmed = self.fold.confirmed();
        if confirmed.is_empty() {
            return Vec::new();
        }
        let mut findings = meter.seal(self.verdict()).findings().to_vec();
        findings.retain(|finding| {
            confirmed.iter().any(|known| known.id == finding.id || finding.merged.contains(&known.id))
        });
        findings
    }

    /// Returns an estimate of the bytes that it holds. A fold that does not track its memory counts as `seen`, the
    /// bytes of all steps so far.
    pub(super) fn memory(&self, seen: usize) -> usize {
        let tracked = Some(self.fold.memory()).filter(|bytes| *bytes != usize::MAX);
        let fold = size_of_val(&*self.fold) + tracked.unwrap_or(seen);
        size_of::<Self>() + fold + self.live.len() * FINDING_BYTES
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.fold.verdict()
    }

    /// Replaces the fold with its verdict so far or, if it has confirmed nothing, with *not applicable*.
    pub(super) fn stop(&mut self, step: u64, limit: usize) {
        let confirmed = self.fold.confirmed().to_vec();
        let verdict = match self.fold.verdict() {
            Verdict::Judged(mut judgement) if !confirmed.is_empty() => {
                judgement.stopped_at = Some(step);
                judgement.measures = Measures::default();
                Verdict::Judged(judgement)
            }
            _ => Verdict::stopped(step, limit),
        };
        self.fold = Box::new(Stopped { confirmed, verdict });
        self.is_stopped = true;
    }

    /// Returns the confirmed findings that were not reported, and marks them as reported.
    pub(super) fn new_findings(&mut self, meter: &Meter, steps: u64) -> Vec<Finding> {
        let confirmed = self.fold.confirmed();
        let mut new = confirmed.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = confirmed.len();
        for finding in &mut new {
            meter.complete(finding);
            self.live.insert(finding.id.clone(), finding.clone());
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
