//! A small deterministic random generator. A seed gives the same stream on every platform and in every
//! version.
//!
//! xoshiro256++ 1.0, seeded with `SplitMix64`: Blackman & Vigna, "Scrambled linear pseudorandom
//! number generators", ACM TOMS 47 (2021). Unbiased bounded integers: Lemire, "Fast random integer
//! generation in an interval", ACM TOMACS 29 (2019). Shuffle: Durstenfeld, "Algorithm 235", CACM 7
//! (1964). Not for cryptography.

#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Creates the generator for `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut counter = seed;
        Self { state: std::array::from_fn(|_| split_mix_64(&mut counter)) }
    }

    /// Creates the generator of stream `number` of `seed`. Streams with different numbers differ.
    pub(crate) fn stream(seed: u64, number: u64) -> Self {
        let (mut of_seed, mut of_number) = (seed, number);
        Self::new(split_mix_64(&mut of_seed) ^ split_mix_64(&mut of_number).rotate_left(32))
    }

    /// Returns the next 64 random bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }

    /// Returns a uniform integer in `0..bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let (mut result, mut fraction) = self.widening_draw(bound);
        if fraction < bound {
            let biased = bound.wrapping_neg() % bound;
            while fraction < biased {
                (result, fraction) = self.widening_draw(bound);
            }
        }
        result
    }

    /// Returns a uniformly drawn item, or `None` if there are none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len() as u64);
        items.get(usize::try_from(index).ok()?)
    }

    /// Puts `items` into a uniformly random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        let mut rest = items;
        while let Some(last) = rest.len().checked_sub(1) {
            if let Ok(chosen) = usize::try_from(self.below(rest.len() as u64)) {
                rest.swap(chosen, last);
            }
            rest = rest.split_at_mut(last).0;
        }
    }

    /// Returns the high and the low half of a draw times `bound`.
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a 128-bit product")]
    fn widening_draw(&mut self, bound: u64) -> (u64, u64) {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        ((product >> 64) as u64, product as u64)
    }
}

/// Advances `SplitMix64` by one step and returns its output.
pub(super) fn split_mix_64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published test vector: state 1, 2, 3, 4 (also in `rand_xoshiro`'s tests).
    #[test]
    fn matches_the_reference_xoshiro256_plus_plus() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ];
        assert_eq!(expected.map(|_| rng.next_u64()), expected);
    }

    /// The published outputs of the reference implementation for seed 0.
    #[test]
    fn matches_the_reference_split_mix_64() {
        let mut counter = 0;
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(expected.map(|_| split_mix_64(&mut counter)), expected);
    }

    #[test]
    fn degenerate_bounds() {
        let mut rng = Rng::new(7);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
        assert!((0..100).all(|_| rng.below(u64::MAX) < u64::MAX));
        assert_eq!(rng.pick::<u8>(&[]), None);
        rng.shuffle::<u8>(&mut []);
    }

    #[test]
    fn a_shuffle_permutes_evenly() {
        let mut rng = Rng::new(7);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // Chi-squared with 23 degrees of freedom: scipy.stats.chi2.ppf(0.999, 23) = 49.728
        let chi_squared: f64 = counts.values().map(|&n| (f64::from(n) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi_squared < 49.728, "{counts:?}");
    }
}
