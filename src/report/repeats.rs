//! Runs that share their id: the same session may lie in several files, whole or in an earlier state.

use std::collections::BTreeMap;

use crate::corpus::TraceRecord;
use crate::trace::Digest;

/// Runs that have the id of another run, among the first 50,000 ids of a corpus. Each of them counts as a run of its own
/// everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Repeats {
    /// Ids that several runs have.
    pub ids: u64,
    /// Runs with such an id that repeat another run of it, step by step.
    pub copies: u64,
    /// Runs with such an id beside the first that differ from all others of it: other states of a session, or runs of
    /// a source whose ids are not unique.
    pub others: u64,
}

/// How many ids are kept in mind. A corpus of more is no collection of sessions, and memory has to stay bounded.
const MOST_IDS: usize = 50_000;

/// What has been seen under each id, up to so many ids; runs of further ones are not looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids(BTreeMap<String, BTreeMap<Digest, u64>>);

impl Ids {
    pub(super) fn add(&mut self, record: &TraceRecord) {
        if let (Some(id), Some(digest)) = (&record.metadata.id, record.digest) {
            *self.0.entry(id.clone()).or_default().entry(digest).or_default() += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (id, runs) in &other.0 {
            if self.0.len() >= MOST_IDS && !self.0.contains_key(id) {
                continue;
            }
            let own = self.0.entry(id.clone()).or_default();
            for (digest, count) in runs {
                *own.entry(*digest).or_default() += count;
            }
        }
    }

    pub(super) fn repeats(&self) -> Repeats {
        let mut repeats = Repeats::default();
        for runs in self.0.values() {
            let (all, different) = (runs.values().sum::<u64>(), runs.len() as u64);
            repeats.ids += u64::from(all > 1);
            repeats.copies += all - different;
            repeats.others += different - 1;
        }
        repeats
    }
}

impl Repeats {
    /// What a reader has to know of them; nothing where there are none.
    pub(super) fn sentence(self) -> Option<String> {
        (self.ids > 0).then(|| {
            format!(
                "Ids that several runs have: {}. Beside the first run of each, {} repeat one of its runs and {} differ \
                 from all (states of a growing session, or ids that are not unique); each counts as a run of its own.",
                self.ids, self.copies, self.others
            )
        })
    }
}
