//! A table by digests that keeps its entries in the order in which they came, close together.
//!
//! Open traces are many, and of each the detectors keep something for every distinct call. A hash map would hold its
//! entries in a table of which up to half is empty; here only five bytes for a place of the table are.

use super::digest::{Digest, lean_push};

/// So few entries are looked through one by one.
const FEW: usize = 8;

/// Entries by digest, numbered as they came.
#[derive(Debug)]
pub(crate) struct DigestTable<V> {
    digests: Vec<Digest>,
    values: Vec<V>,
    /// Of each place that is taken, seven bits of the digest and a mark; 0 of one that is free. Empty where there are
    /// few entries; else a power of two.
    tags: Vec<u8>,
    /// The number of the entry at each place.
    numbers: Vec<u32>,
}

impl<V> Default for DigestTable<V> {
    fn default() -> Self {
        Self { digests: Vec::new(), values: Vec::new(), tags: Vec::new(), numbers: Vec::new() }
    }
}

impl<V> DigestTable<V> {
    /// About how many bytes are held.
    pub(crate) fn memory(&self) -> usize {
        self.digests.capacity() * size_of::<Digest>()
            + self.values.capacity() * size_of::<V>()
            + self.tags.capacity()
            + self.numbers.capacity() * size_of::<u32>()
    }

    /// Empties the table. A large one is given up: to clear it costs as much as it is large, for every trace that
    /// follows.
    pub(crate) fn clear(&mut self) {
        const LARGE: usize = 1024;
        if self.tags.len() > LARGE {
            *self = Self::default();
        } else {
            self.digests.clear();
            self.values.clear();
            self.tags.clear();
            self.numbers.clear();
        }
    }

    /// The entry of this number.
    pub(crate) fn at(&self, number: usize) -> Option<&V> {
        self.values.get(number)
    }

    /// The entry of this number.
    pub(crate) fn at_mut(&mut self, number: usize) -> Option<&mut V> {
        self.values.get_mut(number)
    }

    /// The number of the entry with this digest.
    #[inline]
    pub(crate) fn find(&self, digest: Digest) -> Option<usize> {
        if self.tags.is_empty() {
            return self.digests.iter().position(|other| *other == digest);
        }
        let (mask, tag) = (self.tags.len() - 1, tag(digest));
        let mut place = start(digest) & mask;
        loop {
            match self.tags.get(place) {
                None | Some(0) => return None,
                Some(other) if *other == tag => {
                    let number = self.numbers.get(place).map(|number| *number as usize)?;
                    if self.digests.get(number) == Some(&digest) {
                        return Some(number);
                    }
                }
                Some(_) => {}
            }
            place = (place + 1) & mask;
        }
    }

    /// The number of the entry with this digest, and whether it is a new one.
    #[inline]
    pub(crate) fn find_or_add(&mut self, digest: Digest, value: impl FnOnce() -> V) -> (usize, bool) {
        match self.find(digest) {
            Some(number) => (number, false),
            None => (self.add(digest, value()), true),
        }
    }

    /// Adds an entry that nobody will find; gives its number.
    pub(crate) fn add_unfindable(&mut self, value: V) -> usize {
        self.add(Digest::UNRECORDED, value)
    }

    fn add(&mut self, digest: Digest, value: V) -> usize {
        let number = self.values.len();
        lean_push(&mut self.digests, digest);
        lean_push(&mut self.values, value);
        if self.values.len() > FEW {
            // Thirteen in sixteen places are taken at most.
            if self.values.len() * 16 > self.tags.len() * 13 {
                self.grow();
            } else {
                self.put(number, digest);
            }
        }
        number
    }

    fn grow(&mut self) {
        let places = (self.tags.len() * 2).max(4 * FEW);
        self.tags.clear();
        self.tags.resize(places, 0);
        self.numbers.resize(places, 0);
        for number in 0..self.digests.len() {
            if let Some(digest) = self.digests.get(number).copied() {
                self.put(number, digest);
            }
        }
    }

    fn put(&mut self, number: usize, digest: Digest) {
        if digest == Digest::UNRECORDED {
            return;
        }
        let mask = self.tags.len() - 1;
        let mut place = start(digest) & mask;
        while self.tags.get(place).is_some_and(|tag| *tag != 0) {
            place = (place + 1) & mask;
        }
        if let (Some(slot), Some(taken)) = (self.tags.get_mut(place), self.numbers.get_mut(place)) {
            *slot = tag(digest);
            *taken = u32::try_from(number).unwrap_or(u32::MAX);
        }
    }
}

/// Where the search for a digest begins.
#[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
fn start(digest: Digest) -> usize {
    digest.halves().0 as usize
}

fn tag(digest: Digest) -> u8 {
    (digest.halves().1 >> 56) as u8 | 0x80
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// As a map does, with entries numbered as they came; whatever digests collide in places and tags.
        #[test]
        fn it_finds_what_a_map_finds(
            given in proptest::collection::vec((0_u64..60, 0_u64..3, any::<bool>()), 0..300),
        ) {
            let mut table: DigestTable<u64> = DigestTable::default();
            let mut map: BTreeMap<(u64, u64), usize> = BTreeMap::new();
            let mut count = 0;
            for (low, high, findable) in given {
                if !findable {
                    prop_assert_eq!(table.add_unfindable(low), count);
                    count += 1;
                    continue;
                }
                let key = (low, high << 56 | 7);
                let fresh = !map.contains_key(&key);
                let number = *map.entry(key).or_insert(count);
                prop_assert_eq!(table.find_or_add(Digest::of_halves(key), || low), (number, fresh));
                count += usize::from(fresh);
            }
            prop_assert_eq!(table.values.len(), count);
            for (key, number) in &map {
                prop_assert_eq!(table.find(Digest::of_halves(*key)), Some(*number));
                prop_assert_eq!(table.at(*number), Some(&key.0));
            }
            prop_assert_eq!(table.find(Digest::of_text("another")), None);
            table.clear();
            prop_assert_eq!((table.values.len(), table.find(Digest::of_halves((0, 7)))), (0, None));
        }
    }
}
