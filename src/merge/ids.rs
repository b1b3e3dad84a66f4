//! Counts runs that share an id: several files may hold the same session, complete or in an earlier state.
//!
//! Ids are kept as digests, at most the 50,000 smallest. The selection depends on the ids alone: an id among
//! the smallest of a corpus is among the smallest of every part that contains it, so no run with it is
//! missed. If an id has more than 64 different runs, their number is estimated. The largest digest kept gives
//! an estimate of the number of ids: of n digests spread evenly over [0, 1), the k-th smallest lies near k/n.
//!
//! References: Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002; Beyer et al.,
//! "On synopses for distinct-value estimation under multiset operations", SIGMOD 2007 (the estimate (k -
//! 1)/U, its error 1/sqrt(k - 2)).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scan::TraceRecord;
use crate::trace::{Digest, estimate};

/// Counts of runs that share an id, from [`ScanSummary::repeats`](crate::merge::ScanSummary::repeats).
///
/// All other counts of a scan treat each of these runs as a separate one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Repeats {
    /// Ids shared by several runs.
    pub ids: u64,
    /// Runs with such an id that have the same content as an earlier run with the same id.
    pub copies: u64,
    /// Runs with such an id, after the first, whose content differs from that of every earlier run with the same
    /// id: other states of a session, or runs from a source whose ids are not unique.
    pub others: u64,
    /// An estimate of the number of ids if there are more than 50,000. The other counts then cover 50,000 of
    /// these, selected by digest.
    pub of_about: Option<u64>,
}

/// Maximum number of ids kept, which bounds memory.
pub(crate) const MOST_IDS: usize = 50_000;

/// Maximum number of different runs kept for one id.
const MOST_RUNS: usize = 64;

/// Minimum number of waiting runs before they are counted.
const FEW: usize = 4096;

/// The runs seen with each id, for the ids with the smallest digests.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    counted: Settled,
    /// Runs that are not counted yet, each as the digests of its id and content. They are sorted and counted
    /// in batches, because looking up each run among all ids is slow when runs are short.
    waiting: Vec<(Digest, Digest)>,
}

/// Runs by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settled {
    /// True if some ids were not kept.
    more: bool,
    kept: BTreeMap<Digest, Runs>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    all: u64,
    /// True if some different runs were not kept.
    more: bool,
    /// The number of runs by content, for the smallest digests.
    different: BTreeMap<Digest, u64>,
}

impl Runs {
    fn add(&mut self, content: Digest, count: u64) {
        self.all = self.all.saturating_add(count);
        self.count(content, count);
    }

    fn count(&mut self, content: Digest, count: u64) {
        let own = self.different.entry(content).or_default();
        *own = own.saturating_add(count);
        self.more |= keep_smallest(&mut self.different, MOST_RUNS);
    }

    fn merge(&mut self, other: &Self) {
        self.all = self.all.saturating_add(other.all);
        self.more |= other.more;
        for (content, count) in &other.different {
            self.count(*content, *count);
        }
    }

    /// Returns the number of different runs, estimated if some were not kept.
    fn different(&self) -> u64 {
        let kept = self.different.len() as u64;
        match self.different.last_key_value() {
            Some((last, _)) if self.more => estimate(kept, *last).clamp(kept, self.all.max(kept)),
            _ => kept,
        }
    }
}

impl Ids {
    pub(super) fn add(&mut self, record: &TraceRecord) {
        if let (Some(id), Some(digest)) = (&record.metadata.id, record.digest) {
            self.wait(Digest::of_text(id), digest);
        }
    }

    fn wait(&mut self, id: Digest, content: Digest) {
        self.waiting.push((id, content));
        // Settles rarely enough that n runs cost O(n log n) in total.
        if self.waiting.len() >= FEW.max(self.counted.kept.len()) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.waiting.sort_unstable();
        for same in self.waiting.chunk_by(|one, next| one == next) {
            if let Some((id, content)) = same.first() {
                self.counted.change(*id, |runs| runs.add(*content, same.len() as u64));
            }
        }
        self.waiting.clear();
    }

    fn settled(&self) -> Cow<'_, Settled> {
        if self.waiting.is_empty() {
            return Cow::Borrowed(&self.counted);
        }
        let mut ids = self.clone();
        ids.settle();
        Cow::Owned(ids.counted)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.settle();
        let other = other.settled();
        self.counted.more |= other.more;
        for (id, runs) in &other.kept {
            self.counted.change(*id, |own| own.merge(runs));
        }
    }

    pub(super) fn repeats(&self) -> Repeats {
        self.settled().repeats()
    }
}

impl PartialEq for Ids {
    fn eq(&self, other: &Self) -> bool {
        self.settled() == other.settled()
    }
}

/// Removes the largest digests beyond this number. Returns true if any were removed.
fn keep_smallest<T>(digests: &mut BTreeMap<Digest, T>, most: usize) -> bool {
    let before = digests.len();
    while digests.len() > most {
        digests.pop_last();
    }
    digests.len() < before
}

impl Settled {
    /// Adds to the runs of an id.
    fn change(&mut self, id: Digest, add: impl FnOnce(&mut Runs)) {
        add(self.kept.entry(id).or_default());
        self.more |= keep_smallest(&mut self.kept, MOST_IDS);
    }

    fn repeats(&self) -> Repeats {
        let mut repeats = Repeats::default();
        for runs in self.kept.values() {
            let different = runs.different();
            repeats.ids += u64::from(runs.all > 1);
            repeats.copies = repeats.copies.saturating_add(runs.all.saturating_sub(different));
            repeats.others = repeats.others.saturating_add(different.saturating_sub(1));
        }
        if let Some((last, _)) = self.kept.last_key_value().filter(|_| self.more) {
            repeats.of_about = Some(estimate(self.kept.len() as u64, *last));
        }
        repeats
    }
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.settled().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Settled::deserialize(deserializer)?;
        let mut counted = Settled { more: read.more, ..Settled::default() };
        for (id, runs) in &read.kept {
            counted.change(*id, |own| own.merge(runs));
        }
        Ok(Self { counted, waiting: Vec::new() })
    }
}

impl Repeats {
    /// Returns a note for a report; `None` if no id is shared.
    pub(crate) fn sentence(self) -> Option<String> {
        let of = match self.of_about {
            Some(about) => format!(" (of {MOST_IDS} ids out of about {about}, chosen by digest)"),
            None => String::new(),
        };
        (self.ids > 0).then(|| {
            format!(
                "Ids shared by several runs{of}: {}. Of the later runs with these ids, {} repeat an earlier one and {} \
                 differ (states of a growing session, or ids that are not unique). Each counts as a run of its own.",
                self.ids, self.copies, self.others
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: impl IntoIterator<Item = usize>) -> Ids {
        let mut ids = Ids::default();
        for number in numbers {
            let content = Digest::of_text(&format!("run {}", number % 7));
            ids.wait(Digest::of_text(&number.to_string()), content);
        }
        ids
    }

    #[test]
    fn what_is_kept_of_too_many_ids_depends_on_no_order() {
        let most = MOST_IDS + 9_000;
        let forth = ids((0..most).chain([3, 3, 11]));
        let mut parts = ids((20_000..most).rev());
        parts.merge(&ids([11, 3].into_iter().chain(0..20_000).chain([3])));
        assert_eq!(parts, forth);
        assert_eq!(forth.settled().kept.len(), MOST_IDS);
        let about = forth.repeats().of_about.unwrap();
        assert!(about.abs_diff(most as u64) < 1_200, "{about}");
        let json = serde_json::to_string(&forth).unwrap();
        assert_eq!(serde_json::from_str::<Ids>(&json).unwrap(), forth);
    }

    #[test]
    fn one_id_of_all_runs_takes_no_memory_without_end() {
        let many = |range: std::ops::Range<u64>| {
            let mut ids = Ids::default();
            for number in range {
                ids.wait(Digest::of_text("session"), Digest::of_text(&number.to_string()));
            }
            ids
        };
        let mut merged = many(900..2_000);
        merged.merge(&many(0..900));
        assert_eq!(merged, many(0..2_000));
        let repeats = merged.repeats();
        assert_eq!(repeats.ids, 1);
        assert!(
            repeats.others.abs_diff(1_999) < 600 && repeats.others + repeats.copies == 1_999,
            "{repeats:?}"
        );
        assert!(merged.repeats().sentence().unwrap().starts_with("Ids shared by several runs: 1. Of"));
    }
}
