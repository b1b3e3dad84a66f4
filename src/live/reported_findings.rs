//! The findings that one detector has reported on an open trace.

use std::collections::BTreeMap;

use super::update::{Update, UpdateKind};
use crate::detect::{FINDING_BYTES, Finding, Verdict};

/// The reported findings that were neither merged nor withdrawn, as last reported.
#[derive(Debug, Default)]
pub(super) struct Series {
    live: BTreeMap<String, Finding>,
}

impl Series {
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Returns an estimate of the bytes held.
    pub(super) fn memory(&self) -> usize {
        self.live.len() * FINDING_BYTES
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.live.values()
    }

    pub(super) fn into_findings(self) -> impl Iterator<Item = Finding> {
        self.live.into_values()
    }

    /// Adds a confirmed finding, or replaces the one with its id.
    pub(super) fn open(&mut self, finding: &Finding) {
        self.live.insert(finding.id.clone(), finding.clone());
    }

    /// Adds updates of reported findings that are merged in this verdict or have grown by at least half their
    /// length.
    pub(super) fn grow(&mut self, verdict: &Verdict, updates: &mut Vec<Update>) {
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

    /// Updates the series after the trace was judged again from its beginning, with these confirmed findings.
    pub(super) fn judge_again(
        &mut self,
        confirmed: impl Iterator<Item = Finding>,
        verdict: &Verdict,
        updates: &mut Vec<Update>,
    ) {
        for finding in confirmed {
            if self.live.contains_key(&finding.id) {
                continue;
            }
            // A finding that was merged before it was reported is never reported on its own.
            if let Some(now) = verdict.findings().iter().find(|other| other.id == finding.id) {
                self.open(now);
                updates.push(Update::new(UpdateKind::Opened, now.clone()));
            }
        }
        self.grow(verdict, updates);
        self.withdraw(verdict, updates);
    }

    /// Ends the series with this verdict: adds updates of findings that are merged or withdrawn.
    pub(super) fn end(&mut self, verdict: &Verdict, updates: &mut Vec<Update>) {
        let mut last = Vec::new();
        self.grow(verdict, &mut last);
        last.retain(|update| update.kind != UpdateKind::Grown);
        self.withdraw(verdict, &mut last);
        updates.append(&mut last);
        self.live.clear();
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
}
