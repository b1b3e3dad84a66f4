//! Counts distinct digests in bounded memory by keeping the smallest ones.
//!
//! The sketch holds the k = 4,096 smallest digests of a set. The smallest digests of a union are among the smallest
//! of its parts, so sketches merge exactly, in any order. Up to k digests, the count is exact. Above that, it is
//! estimated as (k - 1)/U, where U is the k-th smallest digest as a share of the range, with a relative standard
//! error of 1/sqrt(k - 2), 1.6%.
//!
//! References: Bar-Yossef et al., "Counting distinct elements in a data stream", RANDOM 2002; Beyer et al.,
//! "On synopses for distinct-value estimation under multiset operations", SIGMOD 2007 (estimate and error).
//! `HyperLogLog` takes fewer bytes for the same error, but is not exact for small sets.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};

use super::digest::Digest;

/// Maximum number of digests kept.
const KEPT: usize = 4096;

/// A set of digests that keeps the smallest ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Distinct {
    more: bool,
    kept: BTreeSet<Digest>,
}

/// A count of distinct items, exact or estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DistinctCount {
    /// The count.
    pub count: u64,
    /// False if the count is an estimate, with a relative standard error of 1.6%.
    pub exact: bool,
}

impl Distinct {
    pub(crate) fn add(&mut self, digest: Digest) {
        if self.kept.len() >= KEPT && self.kept.last().is_some_and(|last| digest > *last) {
            self.more = true;
            return;
        }
        self.kept.insert(digest);
        if self.kept.len() > KEPT {
            self.kept.pop_last();
            self.more = true;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.more |= other.more;
        for digest in &other.kept {
            self.add(*digest);
        }
    }

    pub(crate) fn count(&self) -> DistinctCount {
        let kept = self.kept.len() as u64;
        match self.kept.last() {
            Some(last) if self.more => DistinctCount { count: estimate(kept, *last), exact: false },
            _ => DistinctCount { count: kept, exact: true },
        }
    }
}

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            more: bool,
            kept: Vec<Digest>,
        }
        let Written { more, kept } = Written::deserialize(deserializer)?;
        let mut distinct = Self { more, kept: BTreeSet::new() };
        for digest in kept {
            distinct.add(digest);
        }
        Ok(distinct)
    }
}

/// Estimates the number of distinct digests from the k-th smallest, `largest`.
pub(crate) fn estimate(k: u64, largest: Digest) -> u64 {
    let part = largest.leading_bits();
    let all = u128::from(k.saturating_sub(1)) << 64;
    u64::try_from(all / u128::from(part.max(1))).unwrap_or(u64::MAX).max(k)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u32>) -> Distinct {
        let mut distinct = Distinct::default();
        for number in numbers {
            distinct.add(Digest::of_text(&number.to_string()));
        }
        distinct
    }

    #[test]
    fn few_are_counted_and_many_are_estimated() {
        assert_eq!(of([]).count(), DistinctCount { count: 0, exact: true });
        let exact = of((0..4096).chain(0..4096));
        assert_eq!(exact.count(), DistinctCount { count: 4096, exact: true });
        assert!(!of(0..4097).count().exact);
        for many in [10_000_u32, 100_000, 400_000] {
            let DistinctCount { count, exact } = of(0..many).count();
            // Three standard errors.
            assert!(!exact && count.abs_diff(many.into()) < u64::from(many) / 20, "{count} of {many}");
        }
    }

    #[test]
    fn parts_and_their_order_do_not_show() {
        let whole = of(0..20_000);
        let mut merged = of((7_000..20_000).rev());
        merged.merge(&of(0..9_000));
        assert_eq!(merged, whole);
        let json = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Distinct>(&json).unwrap(), whole);
    }
}
