//! Runs that share an id: several files may hold the same session, complete or in an earlier state.
//!
//! Ids are kept as digests, at most the 50,000 smallest. The selection depends on the ids alone: an id among the smallest
//! of a corpus is among the smallest of every part that contains it, so its counts are exact. The largest digest kept
//! gives the number of ids: of n digests spread evenly over [0, 1), the k-th smallest lies near k/n.
//!
//! Reference: Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002; Beyer et al., "On synopses
//! for distinct-value estimation under multiset operations", SIGMOD 2007 (the estimate (k - 1)/U, its error
//! 1/sqrt(k - 2)).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scan::TraceRecord;
use crate::trace::{Digest, estimate};

/// Counts of runs that share an id: [`ScanSummary::repeats`](crate::merge::ScanSummary::repeats).
///
/// All other counts treat each of them as a separate run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Repeats {
    /// Ids shared by several runs.
    pub ids: u64,
    /// Runs with such an id that equal another run with it, step by step.
    pub copies: u64,
    /// Runs with such an id, after the first, that differ from all others with it: other states of a session, or runs
    /// from a source whose ids are not unique.
    pub others: u64,
    /// An estimate of the number of ids if there are more than 50,000. The other counts then cover 50,000 ids, selected by
    /// digest.
    pub of_about: Option<u64>,
}

/// The number of ids kept, which bounds memory.
pub(crate) const MOST_IDS: usize = 50_000;

/// The number of different runs kept for one id.
const MOST_RUNS: usize = 64;

/// The smallest number of runs counted at once.
const FEW: usize = 4096;

/// The runs seen with each id, for the ids with the smallest digests.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    counted: Settled,
    /// Runs that are not counted yet, each by the digests of its id and of its content. They are sorted and counted in
    /// batches, because a search through all ids for each run is slow when runs are short.
    waiting: Vec<(Digest, Digest)>,
}

/// Ids sorted by digest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Settled {
    /// True if some ids were not kept.
    more: bool,
    kept: Vec<(Digest, Runs)>,
}

/// The runs of one id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    all: u64,
    /// True if some different runs were not kept.
    more: bool,
    /// The number of runs by content, for the smallest digests.
    different: Counted,
}

/// Counts by digest, sorted. Most ids have one run and one digest, which needs no allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "BTreeMap<Digest, u64>")]
struct Counted {
    first: Option<(Digest, u64)>,
    others: Vec<(Digest, u64)>,
}

/// From sorted digests.
impl FromIterator<(Digest, u64)> for Counted {
    fn from_iter<I: IntoIterator<Item = (Digest, u64)>>(counts: I) -> Self {
        let mut counts = counts.into_iter();
        Self { first: counts.next(), others: counts.collect() }
    }
}

impl From<BTreeMap<Digest, u64>> for Counted {
    fn from(counts: BTreeMap<Digest, u64>) -> Self {
        counts.into_iter().collect()
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Counted {
    fn iter(&self) -> impl Iterator<Item = (Digest, u64)> {
        self.first.iter().chain(&self.others).copied()
    }

    fn len(&self) -> usize {
        self.iter().count()
    }

    fn add(&mut self, digest: Digest, count: u64) {
        let smallest = self.first.get_or_insert((digest, 0));
        if digest < smallest.0 {
            self.others.insert(0, std::mem::replace(smallest, (digest, 0)));
        }
        if digest == smallest.0 {
            smallest.1 = smallest.1.saturating_add(count);
            return;
        }
        match self.others.binary_search_by_key(&digest, |(seen, _)| *seen) {
            Ok(place) => {
                if let Some((_, own)) = self.others.get_mut(place) {
                    *own = own.saturating_add(count);
                }
            }
            Err(place) => self.others.insert(place, (digest, count)),
        }
    }

    /// Keeps only the smallest.
    fn truncate(&mut self, most: usize) {
        self.others.truncate(most - 1);
    }
}

impl Runs {
    /// Counts the runs of one id, which must be sorted by digest.
    fn of(runs: &[(Digest, Digest)]) -> Self {
        let same = runs.chunk_by(|one, next| one.1 == next.1);
        let count = |same: &[(Digest, Digest)]| Some((same.first()?.1, same.len() as u64));
        let mut runs =
            Self { all: runs.len() as u64, more: false, different: same.filter_map(count).collect() };
        runs.settle();
        runs
    }

    fn settle(&mut self) {
        self.more |= self.different.len() > MOST_RUNS;
        self.different.truncate(MOST_RUNS);
    }

    fn merge(&mut self, other: &Self) {
        self.all = self.all.saturating_add(other.all);
        self.more |= other.more;
        for (digest, count) in other.different.iter() {
            self.different.add(digest, count);
        }
        self.settle();
    }

    /// Returns the number of different runs.
    fn different(&self) -> u64 {
        let kept = self.different.len() as u64;
        match self.different.iter().last() {
            Some((last, _)) if self.more => estimate(kept, last).clamp(kept, self.all.max(kept)),
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
        // Rarely enough that the total cost stays linear up to a logarithm.
        if self.waiting.len() >= FEW.max(self.counted.kept.len()) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.waiting.sort_unstable();
        let of_ids = self.waiting.chunk_by(|one, next| one.0 == next.0);
        self.counted.merge(of_ids.filter_map(|runs| Some((runs.first()?.0, Runs::of(runs)))));
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
        self.counted.merge(other.kept.iter().cloned());
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

impl Settled {
    /// Adds others, which must be sorted by digest.
    fn merge(&mut self, others: impl Iterator<Item = (Digest, Runs)>) {
        let mut own = std::mem::take(&mut self.kept).into_iter().peekable();
        let mut others = others.peekable();
        while self.kept.len() < MOST_IDS {
            let order = match (own.peek(), others.peek()) {
                (None, None) => return,
                (Some((id, _)), Some((other, _))) => id.cmp(other),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let runs = if order.is_gt() { None } else { own.next() };
            let more = if order.is_lt() { None } else { others.next() };
            self.kept.extend(match (runs, more) {
                (Some((id, mut runs)), Some((_, more))) => {
                    runs.merge(&more);
                    Some((id, runs))
                }
                (one, other) => one.or(other),
            });
        }
        self.more |= own.peek().is_some() || others.peek().is_some();
    }

    fn repeats(&self) -> Repeats {
        let mut repeats = Repeats::default();
        for (_, runs) in &self.kept {
            let different = runs.different();
            repeats.ids += u64::from(runs.all > 1);
            repeats.copies = repeats.copies.saturating_add(runs.all.saturating_sub(different));
            repeats.others = repeats.others.saturating_add(different.saturating_sub(1));
        }
        if let Some((last, _)) = self.kept.last().filter(|_| self.more) {
            repeats.of_about = Some(estimate(self.kept.len() as u64, *last));
        }
        repeats
    }
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            more: bool,
            kept: BTreeMap<&'a Digest, &'a Runs>,
        }
        let settled = self.settled();
        let kept = settled.kept.iter().map(|(id, runs)| (id, runs)).collect();
        Written { more: settled.more, kept }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            more: bool,
            kept: BTreeMap<Digest, Runs>,
        }
        let Written { more, kept } = Written::deserialize(deserializer)?;
        let mut counted = Settled { more, kept: Vec::new() };
        counted.merge(kept.into_iter().map(|(id, mut runs)| {
            runs.settle();
            (id, runs)
        }));
        Ok(Self { counted, waiting: Vec::new() })
    }
}

impl Repeats {
    /// Returns a sentence for a report; `None` if no id is shared.
    pub(crate) fn sentence(self) -> Option<String> {
        let of = match self.of_about {
            Some(about) => format!(" (of {MOST_IDS} ids out of about {about}, chosen by digest)"),
            None => String::new(),
        };
        (self.ids > 0).then(|| {
            format!(
                "Ids that several runs have{of}: {}. Beside the first run of each, {} repeat one of its runs and {} \
                 differ from all (states of a growing session, or ids that are not unique); each counts as a run of \
                 its own.",
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
        assert!(merged.repeats().sentence().unwrap().starts_with("Ids that several runs have: 1. Beside"));
    }
}
