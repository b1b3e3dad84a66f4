//! Bit arithmetic over blocks of bytes.

#![expect(
    clippy::inline_always,
    reason = "code is compiled for an instruction set only where it is inlined into a `simd::Task`"
)]

use wide::u8x16;

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
#[inline(always)]
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
#[inline(always)]
pub(super) fn escaped(backslashes: u64, carried: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let starts = backslashes & !*carried;
    let codes = ((starts << 1 | ODD).wrapping_sub(starts)) ^ ODD;
    let escaped = codes ^ (backslashes | *carried);
    *carried = (codes & backslashes) >> 63;
    escaped
}

/// Returns the bits below the lowest set bit, or all bits if none is set.
#[inline(always)]
pub(super) fn below(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// Returns the prefix XOR: bit `i` is 1 if an odd number of the bits up to and including `i` are set.
#[inline(always)]
pub(super) fn up_to_each(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
