//! Remembers where long values end, so a text that is read several times is scanned once.

use std::cell::Cell;

use super::Escapes;
use super::scan::Extent;

/// Only strings of at least this length are remembered, so at most one of them begins in a block of this size.
const BLOCK: usize = 64;

/// Of the long lists and objects that begin in a block of this size, only the one found last is remembered.
/// It is the outermost: lists and objects that long can begin so close together only if they are nested.
const SMALL_BLOCK: usize = 16;

/// Lists and objects shorter than this are not remembered: walking them is as fast.
const SHORT: usize = 48;

/// The ends of valid long strings, lists and objects of a text.
#[derive(Debug, Default)]
pub(crate) struct SkipIndex {
    /// An entry for each block of the text: 0, or the offset of the closing quote, the index of the string's
    /// first byte in the block, and the spelling.
    strings: Vec<Cell<u64>>,
    /// An entry for each small block: 0, or the length of a list or object and its index in the block.
    containers: Vec<Cell<u32>>,
}

impl SkipIndex {
    pub(crate) fn of_length(length: usize) -> Self {
        let mut index = Self::default();
        index.cover(length);
        index
    }

    /// Resizes the index to a text of this length.
    pub(crate) fn cover(&mut self, length: usize) {
        self.strings.resize(length / BLOCK + 1, Cell::new(0));
        self.containers.resize(length / SMALL_BLOCK + 1, Cell::new(0));
    }

    /// Returns the end of the list or object at an offset, if it is remembered.
    #[inline]
    pub(super) fn container(&self, start: usize) -> Option<usize> {
        let entry = self.containers.get(start / SMALL_BLOCK)?.get() as usize;
        let is_here = entry != 0 && entry % SMALL_BLOCK == start % SMALL_BLOCK;
        is_here.then(|| start + entry / SMALL_BLOCK)
    }

    /// Remembers the end of a valid list or object, unless it is short or huge. `end` is the offset after its
    /// closing bracket.
    #[inline]
    pub(super) fn set_container(&self, start: usize, end: usize) {
        let length = end.saturating_sub(start);
        if length >= SHORT
            && let Some(entry) = self.containers.get(start / SMALL_BLOCK)
            && let Ok(known) = u32::try_from(length * SMALL_BLOCK + start % SMALL_BLOCK)
        {
            entry.set(known);
        }
    }

    /// Returns the end of the string whose first byte is at `from`, if it is remembered.
    #[inline]
    pub(super) fn string(&self, from: usize) -> Option<Extent> {
        let entry = self.strings.get(from / BLOCK)?.get();
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

    /// Remembers the end of a valid string, unless it is short.
    #[inline]
    pub(super) fn set_string(&self, from: usize, extent: Extent) {
        if extent.close.saturating_sub(from) >= BLOCK
            && let Some(entry) = self.strings.get(from / BLOCK)
        {
            let spelling = 1 + extent.escapes as u64;
            entry.set((extent.close as u64) << 9 | ((from % BLOCK) as u64) << 3 | spelling);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_found() {
        let index = SkipIndex::of_length(1000);
        let extent = |close, escapes| Extent { close, escapes };
        index.set_string(3, extent(67, Escapes::None));
        index.set_string(70, extent(130, Escapes::Plain));
        index.set_string(190, extent(999, Escapes::Ambiguous));
        let found = |from| index.string(from).map(|extent| (extent.close, extent.escapes));
        assert_eq!(found(3), Some((67, Escapes::None)));
        assert_eq!((found(2), found(4), found(67), found(0)), (None, None, None, None));
        assert_eq!(found(70), None, "too short to be worth it");
        assert_eq!(found(190), Some((999, Escapes::Ambiguous)));
        index.set_string(256, extent(400, Escapes::Usual));
        assert_eq!(found(256), Some((400, Escapes::Usual)));
        assert_eq!(found(5000), None);
        index.set_string(5000, extent(6000, Escapes::None));
        assert_eq!(found(5000), None);
    }

    #[test]
    fn of_lists_that_begin_together_the_outermost_is_remembered() {
        let index = SkipIndex::of_length(1000);
        index.set_container(17, 100);
        index.set_container(16, 101);
        index.set_container(40, 50);
        assert_eq!((index.container(17), index.container(16)), (None, Some(101)));
        assert_eq!((index.container(40), index.container(0), index.container(5000)), (None, None, None));
        index.set_container(5000, 6000);
        index.set_container(0, usize::MAX / SMALL_BLOCK);
        assert_eq!(index.container(0), None);
    }
}
