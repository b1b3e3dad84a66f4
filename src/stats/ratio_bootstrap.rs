//! Bootstrap confidence interval for a ratio of sums, resampling whole clusters.
//!
//! ```text
//! resample: n of the n clusters, drawn with replacement; statistic: Σ parts / Σ wholes;
//! interval: its 0.025 and 0.975 quantiles
//! ```
//!
//! References: Efron 1979; Field & Welsh, "Bootstrapping clustered data", JRSS B 69 (2007); draws: Steele,
//! Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

use super::interval::Interval;
use super::quantile::without_tails;
use super::rng::split_mix_64;

/// Returns an endless iterator over resamples: the sums of `pairs.len()` pairs drawn with replacement. A draw is the
/// high half of 64 random bits times the number of pairs; its bias is below that number/2^64.
pub(crate) fn resampled_sums(pairs: &[(f64, f64)], seed: u64) -> impl Iterator<Item = (f64, f64)> {
    let mut counter = seed;
    std::iter::repeat_with(move || {
        let drawn = (0..pairs.len()).filter_map(|_| {
            let product = u128::from(split_mix_64(&mut counter)) * pairs.len() as u128;
            pairs.get(usize::try_from(product >> 64).ok()?)
        });
        drawn.fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1))
    })
}

/// Returns the 95% interval of Σ parts / Σ wholes, for clusters given as `(part, whole)`.
///
/// Resamples whose wholes do not sum to a positive number are dropped. Returns `None` if no resample remains.
pub(crate) fn ratio_bootstrap(clusters: &[(f64, f64)], resamples: u32, seed: u64) -> Option<Interval> {
    let sums = (0..resamples).zip(resampled_sums(clusters, seed)).map(|(_, sums)| sums);
    let defined = sums.filter(|(_, wholes)| *wholes > 0.0);
    without_tails(defined.map(|(parts, wholes)| parts / wholes).collect(), 0.025)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_nothing_has_no_interval() {
        assert_eq!(ratio_bootstrap(&[], 50, 1), None);
        assert_eq!(ratio_bootstrap(&[(1.0, 0.0)], 50, 1), None);
        assert_eq!(ratio_bootstrap(&[(1.0, 2.0)], 50, 1), Some(Interval { low: 0.5, high: 0.5 }));
    }
}
