//! Blocks of bytes tested at once, and arithmetic on the bits that the tests return.

use wide::u8x16;

/// 64 bytes that are tested at once. Each bit of a result belongs to one byte, the lowest bit to the first byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block([u8x16; 4]);

impl Block {
    #[inline]
    pub(crate) fn new(bytes: &[u8; 64]) -> Self {
        let mut lanes = [u8x16::splat(0); 4];
        for (lane, bytes) in lanes.iter_mut().zip(bytes.as_chunks::<16>().0) {
            *lane = u8x16::new(*bytes);
        }
        Self(lanes)
    }

    /// Finds the bytes equal to `byte`.
    #[inline]
    pub(crate) fn equal(self, byte: u8) -> u64 {
        self.places(|lane| lane.simd_eq(u8x16::splat(byte)))
    }

    /// Finds the bytes with a value from `first` to `last`, inclusive.
    #[inline]
    pub(crate) fn within(self, first: u8, last: u8) -> u64 {
        let (first, last) = (u8x16::splat(first), u8x16::splat(last));
        self.places(|lane| lane.max(first).min(last).simd_eq(lane))
    }

    /// Returns the block with these bits set in each byte.
    #[inline]
    pub(crate) fn with_bits(self, bits: u8) -> Self {
        Self(self.0.map(|lane| lane | u8x16::splat(bits)))
    }

    /// Finds control characters, the bytes below 0x20.
    #[inline]
    pub(super) fn controls(self) -> u64 {
        self.places(controls_of)
    }

    /// Returns true if there are control characters.
    #[inline]
    pub(super) fn has_controls(self) -> bool {
        let [a, b, c, d] = self.0;
        controls_of(a.min(b).min(c.min(d))).to_bitmask() != 0
    }

    #[inline]
    fn places(self, test: impl Fn(u8x16) -> u8x16) -> u64 {
        let [a, b, c, d] = self.0.map(|lane| u64::from(test(lane).to_bitmask()));
        (a | b << 16) | (c | d << 16) << 32
    }
}

/// Returns 0xff for each control character and 0 for each other byte.
#[inline]
pub(super) fn controls_of(bytes: u8x16) -> u8x16 {
    bytes.min(u8x16::splat(0x1f)).simd_eq(bytes)
}

/// Counts the spaces and line feeds at the start of a block.
#[inline]
pub(super) fn leading_space(block: [u8; 16]) -> usize {
    let block = u8x16::new(block);
    let equal = |byte: u8| block.simd_eq(u8x16::splat(byte)).to_bitmask();
    (equal(b' ') | equal(b'\n')).trailing_ones() as usize
}

/// Returns the index of the first backslash in a block, or `None`.
#[inline]
pub(super) fn first_backslash(block: [u8; 16]) -> Option<usize> {
    let found = u8x16::new(block).simd_eq(u8x16::splat(b'\\')).to_bitmask();
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Returns the block at an offset, or `None` at the end of the text. A last, shorter block is copied over the
/// start of `end`, which callers fill with spaces.
#[inline]
pub(super) fn block_at<'b>(bytes: &'b [u8], at: usize, end: &'b mut [u8; 64]) -> Option<&'b [u8; 64]> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    if let Some(block) = rest.first_chunk() {
        return Some(block);
    }
    end.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    Some(end)
}

/// Returns the bits of the bytes that are escaped by a backslash. `carried` is 1 if the first byte of the
/// block is escaped, and is set for the next block. The arithmetic is that of simdjson's
/// `json_escape_scanner`.
#[inline]
pub(super) fn escaped(backslashes: u64, carried: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let starts = backslashes & !*carried;
    let codes = ((starts << 1 | ODD).wrapping_sub(starts)) ^ ODD;
    let escaped = codes ^ (backslashes | *carried);
    *carried = (codes & backslashes) >> 63;
    escaped
}

/// Returns the bits below the lowest set bit, or all bits if none is set.
#[inline]
pub(super) fn below(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// Returns the prefix XOR: bit `i` is 1 if an odd number of the bits up to and including `i` are set.
#[inline]
pub(super) fn up_to_each(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a bit for each byte, set where the test holds.
    fn places_of(bytes: &[u8; 64], is: impl Fn(u8) -> bool) -> u64 {
        bytes.iter().rev().fold(0, |places, byte| places << 1 | u64::from(is(*byte)))
    }

    proptest! {
        #[test]
        fn tests_of_a_block_find_what_tests_of_its_bytes_find(
            some in prop::array::uniform32(prop::sample::select(b"\x00\x1f\x20\x22\x5b\x5c\x7b\x7f\x80\xff".to_vec())),
            place in 0usize..64,
            one in any::<u8>(),
        ) {
            let mut bytes = [b'x'; 64];
            bytes.as_chunks_mut::<32>().0[place % 2] = some;
            bytes[place] = one;
            let mut plain = [b'~'; 64];
            plain[place] = one;
            let block = Block::new(&bytes);
            for wanted in [one, b'"', b'{', 0, 0xff] {
                prop_assert_eq!(block.equal(wanted), places_of(&bytes, |byte| byte == wanted));
                prop_assert_eq!(block.with_bits(0x20).equal(wanted), places_of(&bytes, |byte| byte | 0x20 == wanted));
                let last = wanted.saturating_add(9);
                prop_assert_eq!(
                    block.within(wanted, last),
                    places_of(&bytes, |byte| (wanted..=last).contains(&byte))
                );
            }
            prop_assert_eq!(block.controls(), places_of(&bytes, |byte| byte < 0x20));
            prop_assert_eq!(block.has_controls(), bytes.iter().any(|byte| *byte < 0x20));
            prop_assert_eq!(Block::new(&plain).has_controls(), one < 0x20);
        }
    }
}
