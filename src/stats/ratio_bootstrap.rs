//! The bootstrap of a ratio of sums over clusters, which are drawn whole.
//!
//! ```text
//! Σ parts / Σ wholes over as many clusters as there are, drawn with replacement; quantiles 0.025 and 0.975
//! ```
//!
//! References: Efron 1979; Field & Welsh, "Bootstrapping clustered data", JRSS B 69 (2007); draws: Steele, Lea & Flood,
//! "Fast splittable pseudorandom number generators", OOPSLA 2014.
//!
//! Errors: none. Resamples whose wholes are 0 are left out; without any other, the interval is undefined.

use super::bootstrap::without_tails;
use super::interval::Interval;
use super::rng::SplitMix;

/// Returns the 95% interval of Σ parts / Σ wholes.
pub(crate) fn ratio_bootstrap(clusters: &[(f64, f64)], resamples: u32, seed: u64) -> Option<Interval> {
    let mut draws = SplitMix::new(seed);
    let mut values = Vec::new();
    for _ in 0..resamples {
        let (mut parts, mut wholes) = (0.0, 0.0);
        for _ in clusters {
            if let Some((part, whole)) = draws.pick(clusters) {
                parts += part;
                wholes += whole;
            }
        }
        if wholes > 0.0 {
            values.push(parts / wholes);
        }
    }
    without_tails(values, 0.025)
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
