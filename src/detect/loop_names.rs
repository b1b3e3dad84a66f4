//! What the segments of `loop` count with: small numbers, names that are kept once, and the period of a cycle.

use std::num::NonZeroU32;

use crate::trace::{Digest, DigestMap, empty, map_bytes};

/// A number in four bytes, also where it may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id(NonZeroU32);

impl Id {
    pub(super) fn new(number: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(to_u32(number)))
    }

    pub(super) fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Distinct names and places, each kept once.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: DigestMap<Id>,
    texts: Vec<Box<str>>,
    bytes: usize,
}

impl Names {
    pub(super) fn intern(&mut self, text: &str) -> Id {
        let next = Id::new(self.texts.len());
        let id = *self.ids.entry(Digest::of_text(text)).or_insert(next);
        if id == next {
            self.bytes += text.len();
            self.texts.push(text.into());
        }
        id
    }

    pub(super) fn get(&self, id: Id) -> &str {
        self.texts.get(id.get()).map_or("", |text| text)
    }

    /// About how many bytes are held.
    pub(super) fn memory(&self) -> usize {
        map_bytes(&self.ids) + self.texts.capacity() * size_of::<Box<str>>() + self.bytes
    }

    pub(super) fn clear(&mut self) {
        empty(&mut self.ids);
        self.texts.clear();
        self.bytes = 0;
    }
}

/// Positions and key numbers fit: four thousand million actions of one trace do not fit in memory.
pub(super) fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The length of the cycle that a sequence repeats at least twice, by the prefix function of Knuth, Morris
/// and Pratt (SIAM J. Comput. 6, 1977): linear in the length.
pub(super) fn period(sequence: &[u32]) -> Option<u64> {
    let mut borders: Vec<u32> = vec![0];
    let mut border = 0;
    for item in sequence.iter().skip(1) {
        while border > 0 && sequence.get(border) != Some(item) {
            border = borders.get(border - 1).copied().unwrap_or(0) as usize;
        }
        border += usize::from(sequence.get(border) == Some(item));
        borders.push(to_u32(border));
    }
    let period = sequence.len() - border;
    (period > 0 && sequence.len() >= 2 * period).then_some(period as u64)
}

#[cfg(test)]
mod tests {
    use super::period;

    #[test]
    fn a_period_is_the_shortest_cycle_that_fits_twice() {
        let cases: [(&[u32], Option<u64>); 9] = [
            (&[1, 1, 1, 1], Some(1)),
            (&[1, 2, 1, 2], Some(2)),
            (&[1, 2, 1, 2, 1], Some(2)),
            (&[1, 1, 2, 1, 1, 2], Some(3)),
            (&[1, 2, 3, 1, 2], None),
            (&[1, 2, 1, 3, 1, 2], None),
            (&[1, 2, 2, 2], None),
            (&[1], None),
            (&[], None),
        ];
        for (sequence, expected) in cases {
            assert_eq!(period(sequence), expected, "{sequence:?}");
        }
    }
}
