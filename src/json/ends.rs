//! Where long strings end, once that has been found: what is looked at several times is searched once.

use std::cell::Cell;

use super::Escapes;
use super::scan::Extent;

/// The strings that are remembered are at least as long as the blocks, so that one begins in each at most.
const BLOCK: usize = 64;

/// The ends of the long strings of a text, as far as they have been found.
///
/// An entry for each block of the text: 0, or the closing quote, the place of the first byte in its block, and how
/// the string is spelled.
#[derive(Debug)]
pub(crate) struct StringEnds(Vec<Cell<u64>>);

impl StringEnds {
    /// For a text of this length.
    pub(crate) fn of_length(length: usize) -> Self {
        Self(vec![Cell::new(0); length / BLOCK + 1])
    }

    /// The end of the string whose first byte behind the quote is at `from`.
    #[inline]
    pub(super) fn get(&self, from: usize) -> Option<Extent> {
        let entry = self.0.get(from / BLOCK)?.get();
        let spelling = match entry & 7 {
            1 => Escapes::None,
            2 => Escapes::Plain,
            3 => Escapes::Usual,
            4 => Escapes::Ambiguous,
            _ => return None,
        };
        let is_here = entry >> 3 & (BLOCK as u64 - 1) == (from % BLOCK) as u64;
        is_here
            .then(|| Extent { close: usize::try_from(entry >> 9).unwrap_or(usize::MAX), escapes: spelling })
    }

    /// Remembers the end of a sound string, where it is long.
    #[inline]
    pub(super) fn set(&self, from: usize, extent: Extent) {
        if extent.close.saturating_sub(from) >= BLOCK
            && let Some(entry) = self.0.get(from / BLOCK)
        {
            let spelling = match extent.escapes {
                Escapes::None => 1,
                Escapes::Plain => 2,
                Escapes::Usual => 3,
                Escapes::Ambiguous => 4,
            };
            entry.set((extent.close as u64) << 9 | ((from % BLOCK) as u64) << 3 | spelling);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_found() {
        let ends = StringEnds::of_length(1000);
        let extent = |close, escapes| Extent { close, escapes };
        ends.set(3, extent(67, Escapes::None));
        ends.set(70, extent(130, Escapes::Plain));
        ends.set(190, extent(999, Escapes::Ambiguous));
        let found = |from| ends.get(from).map(|extent| (extent.close, extent.escapes));
        assert_eq!(found(3), Some((67, Escapes::None)));
        assert_eq!((found(2), found(4), found(67), found(0)), (None, None, None, None));
        assert_eq!(found(70), None, "too short to be worth it");
        assert_eq!(found(190), Some((999, Escapes::Ambiguous)));
        ends.set(256, extent(400, Escapes::Usual));
        assert_eq!(found(256), Some((400, Escapes::Usual)));
        assert_eq!(found(5000), None);
        ends.set(5000, extent(6000, Escapes::None));
        assert_eq!(found(5000), None);
    }
}
