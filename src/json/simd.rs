//! Scans blocks of 64 bytes with the widest instructions of the processor.

#![expect(
    clippy::inline_always,
    reason = "code is compiled for an instruction set only where it is inlined into its task"
)]

use wide::u8x16;

/// Instructions that test many bytes at once. Each bit of a result belongs to one byte of the block, lowest
/// first.
pub(crate) trait Simd: Copy {
    type Block: Copy;

    fn block(self, bytes: &[u8; 64]) -> Self::Block;

    /// Finds the bytes equal to `byte`.
    fn equal(self, block: Self::Block, byte: u8) -> u64;

    /// Finds the bytes from `first` to `last`.
    fn within(self, block: Self::Block, first: u8, last: u8) -> u64;

    /// Returns the block with these bits set in each byte.
    fn with_bits(self, block: Self::Block, bits: u8) -> Self::Block;

    /// Finds control characters, the bytes below 0x20.
    fn controls(self, block: Self::Block) -> u64;

    /// Returns true if there are control characters.
    fn has_controls(self, block: Self::Block) -> bool;
}

/// Work on blocks. Functions that it calls must be inlined to be compiled for each instruction set.
pub(crate) trait Task {
    type Output;

    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs the task with the widest instructions available.
#[inline]
pub(crate) fn run<T: Task>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = pulp::x86::V4::try_new() {
            return simd.vectorize(
                #[inline(always)]
                || task.run(simd),
            );
        }
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(
                #[inline(always)]
                || task.run(simd),
            );
        }
    }
    task.run(Portable)
}

/// The instructions that the crate is compiled for.
#[derive(Clone, Copy)]
pub(super) struct Portable;

/// Finds control characters.
#[inline(always)]
pub(super) fn controls_of(bytes: u8x16) -> u8x16 {
    bytes.min(u8x16::splat(0x1f)).simd_eq(bytes)
}

#[inline(always)]
fn places(lanes: [u8x16; 4]) -> u64 {
    let [a, b, c, d] = lanes.map(|lane| u64::from(lane.to_bitmask()));
    (a | b << 16) | (c | d << 16) << 32
}

impl Simd for Portable {
    type Block = [u8x16; 4];

    #[inline(always)]
    fn block(self, bytes: &[u8; 64]) -> Self::Block {
        let mut lanes = [u8x16::splat(0); 4];
        for (lane, bytes) in lanes.iter_mut().zip(bytes.as_chunks::<16>().0) {
            *lane = u8x16::new(*bytes);
        }
        lanes
    }

    #[inline(always)]
    fn equal(self, block: Self::Block, byte: u8) -> u64 {
        places(block.map(|lane| lane.simd_eq(u8x16::splat(byte))))
    }

    #[inline(always)]
    fn within(self, block: Self::Block, first: u8, last: u8) -> u64 {
        let (first, last) = (u8x16::splat(first), u8x16::splat(last));
        places(block.map(|lane| lane.max(first).min(last).simd_eq(lane)))
    }

    #[inline(always)]
    fn with_bits(self, block: Self::Block, bits: u8) -> Self::Block {
        block.map(|lane| lane | u8x16::splat(bits))
    }

    #[inline(always)]
    fn controls(self, block: Self::Block) -> u64 {
        places(block.map(controls_of))
    }

    #[inline(always)]
    fn has_controls(self, [a, b, c, d]: Self::Block) -> bool {
        controls_of(a.min(b).min(c.min(d))).to_bitmask() != 0
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::Simd;

    /// AVX2 and the extensions that come with it.
    impl Simd for V3 {
        type Block = [__m256i; 2];

        #[inline(always)]
        fn block(self, bytes: &[u8; 64]) -> Self::Block {
            cast(*bytes)
        }

        #[inline(always)]
        fn equal(self, block: Self::Block, byte: u8) -> u64 {
            let wanted = self.avx._mm256_set1_epi8(byte.cast_signed());
            self.places(block.map(|half| self.avx2._mm256_cmpeq_epi8(half, wanted)))
        }

        #[inline(always)]
        fn within(self, block: Self::Block, first: u8, last: u8) -> u64 {
            let first = self.avx._mm256_set1_epi8(first.cast_signed());
            let last = self.avx._mm256_set1_epi8(last.cast_signed());
            let clamped = |half| self.avx2._mm256_min_epu8(self.avx2._mm256_max_epu8(half, first), last);
            self.places(block.map(|half| self.avx2._mm256_cmpeq_epi8(clamped(half), half)))
        }

        #[inline(always)]
        fn with_bits(self, block: Self::Block, bits: u8) -> Self::Block {
            let bits = self.avx._mm256_set1_epi8(bits.cast_signed());
            block.map(|half| self.avx2._mm256_or_si256(half, bits))
        }

        #[inline(always)]
        fn controls(self, block: Self::Block) -> u64 {
            self.places(block.map(|half| self.controls_of(half)))
        }

        #[inline(always)]
        fn has_controls(self, [a, b]: Self::Block) -> bool {
            let found = self.controls_of(self.avx2._mm256_min_epu8(a, b));
            self.avx2._mm256_movemask_epi8(found) != 0
        }
    }

    /// Tests both halves of a block.
    trait Halves {
        fn places(self, found: [__m256i; 2]) -> u64;
        fn controls_of(self, half: __m256i) -> __m256i;
    }

    impl Halves for V3 {
        #[inline(always)]
        fn places(self, found: [__m256i; 2]) -> u64 {
            let [low, high] =
                found.map(|half| u64::from(self.avx2._mm256_movemask_epi8(half).cast_unsigned()));
            low | high << 32
        }

        #[inline(always)]
        fn controls_of(self, half: __m256i) -> __m256i {
            let last = self.avx._mm256_set1_epi8(0x1f);
            self.avx2._mm256_cmpeq_epi8(self.avx2._mm256_min_epu8(half, last), half)
        }
    }

    /// AVX-512.
    impl Simd for V4 {
        type Block = __m512i;

        #[inline(always)]
        fn block(self, bytes: &[u8; 64]) -> Self::Block {
            cast(*bytes)
        }

        #[inline(always)]
        fn equal(self, block: Self::Block, byte: u8) -> u64 {
            self.avx512bw._mm512_cmpeq_epi8_mask(block, self.avx512f._mm512_set1_epi8(byte.cast_signed()))
        }

        #[inline(always)]
        fn within(self, block: Self::Block, first: u8, last: u8) -> u64 {
            let length = self.avx512f._mm512_set1_epi8(last.wrapping_sub(first).cast_signed());
            let first = self.avx512f._mm512_set1_epi8(first.cast_signed());
            self.avx512bw._mm512_cmple_epu8_mask(self.avx512bw._mm512_sub_epi8(block, first), length)
        }

        #[inline(always)]
        fn with_bits(self, block: Self::Block, bits: u8) -> Self::Block {
            self.avx512f._mm512_or_si512(block, self.avx512f._mm512_set1_epi8(bits.cast_signed()))
        }

        #[inline(always)]
        fn controls(self, block: Self::Block) -> u64 {
            self.avx512bw._mm512_cmplt_epu8_mask(block, self.avx512f._mm512_set1_epi8(0x20))
        }

        #[inline(always)]
        fn has_controls(self, block: Self::Block) -> bool {
            self.controls(block) != 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a bit for each byte, set where the test holds.
    fn places_of(bytes: &[u8; 64], is: impl Fn(u8) -> bool) -> u64 {
        bytes.iter().rev().fold(0, |places, byte| places << 1 | u64::from(is(*byte)))
    }

    fn check<S: Simd>(simd: S, bytes: &[u8; 64], wanted: u8) {
        let block = simd.block(bytes);
        assert_eq!(simd.equal(block, wanted), places_of(bytes, |byte| byte == wanted));
        assert_eq!(
            simd.equal(simd.with_bits(block, 0x20), wanted),
            places_of(bytes, |byte| byte | 0x20 == wanted)
        );
        let last = wanted.saturating_add(9);
        assert_eq!(
            simd.within(block, wanted, last),
            places_of(bytes, |byte| (wanted..=last).contains(&byte))
        );
        assert_eq!(simd.controls(block), places_of(bytes, |byte| byte < 0x20));
        assert_eq!(simd.has_controls(block), bytes.iter().any(|byte| *byte < 0x20));
    }

    /// Checks a block of plain bytes with one other byte.
    fn check_alone<S: Simd>(simd: S, byte: u8, place: usize) {
        let mut bytes = [b'~'; 64];
        bytes[place] = byte;
        let block = simd.block(&bytes);
        assert_eq!(simd.has_controls(block), byte < 0x20);
    }

    proptest! {
        #[test]
        fn all_instructions_find_the_same(
            bytes in prop::array::uniform32(prop::sample::select(b"\x00\x1f\x20\x22\x5b\x5c\x7b\x7f\x80\xff".to_vec())),
            place in 0usize..64,
            one in any::<u8>(),
        ) {
            let mut block = [b'x'; 64];
            block.as_chunks_mut::<32>().0[place % 2] = bytes;
            block[place] = one;
            for wanted in [one, b'"', b'{', 0, 0xff] {
                check(Portable, &block, wanted);
                check_alone(Portable, wanted, place);
                #[cfg(target_arch = "x86_64")]
                {
                    if let Some(simd) = pulp::x86::V3::try_new() {
                        check(simd, &block, wanted);
                        check_alone(simd, wanted, place);
                    }
                    if let Some(simd) = pulp::x86::V4::try_new() {
                        check(simd, &block, wanted);
                        check_alone(simd, wanted, place);
                    }
                }
            }
        }
    }
}
