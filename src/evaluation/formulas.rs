//! The formulas that the evaluations need beside those of [`stats`](crate::stats).
//!
//! | formula | reference |
//! |---|---|
//! | percentile bootstrap of clusters | Efron 1979; Field and Welsh, "Bootstrapping clustered data", JRSS B 69 (2007) |
//! | `SplitMix64` | Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 |
//! | quantile by linear interpolation | Hyndman and Fan, "Sample quantiles", type 7 (1996) |
//! | exact test of paired proportions | McNemar 1947; the binomial tail, doubled |
//! | agreement beyond chance | Cohen, "A coefficient of agreement for nominal scales" (1960) |
//! | rank correlation with ties | Kendall, tau-b (1945) |
//! | two proportions | pooled z test; phi as Pearson's r of two binary columns |

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stats::Interval;

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "counts of records are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// A quotient of counts; undefined over nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

/// The mean of some values, summed in their order; undefined over nothing.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / float(count))
}

/// Draws with replacement, the same for the same seed on every platform and in every version.
#[derive(Debug)]
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// One of the numbers below `bound`: the high half of the product with 64 random bits.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let product = u128::from(z ^ (z >> 31)) * bound as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }
}

/// The quantiles 0.025 and 0.975 of some values, by linear interpolation; undefined over nothing.
pub(super) fn central_95(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&values, 0.025)?, high: quantile(&values, 0.975)? })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place in a list"
)]
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * q;
    let below = place.floor();
    let low = *sorted.get(below as usize)?;
    let high = *sorted.get(place.ceil() as usize)?;
    Some(low + (high - low) * (place - below))
}

/// The 95% interval of Σ parts / Σ wholes over clusters that are drawn whole; resamples whose wholes are 0 are left
/// out.
pub(super) fn bootstrap_ratio(clusters: &[(f64, f64)], resamples: u32, seed: u64) -> Option<Interval> {
    let mut draws = Draws::new(seed);
    let mut values = Vec::new();
    for _ in 0..resamples {
        let (mut parts, mut wholes) = (0.0, 0.0);
        for _ in clusters {
            if let Some((part, whole)) = clusters.get(draws.below(clusters.len())) {
                parts += part;
                wholes += whole;
            }
        }
        if wholes > 0.0 {
            values.push(parts / wholes);
        }
    }
    central_95(values)
}

/// Cohen's kappa of paired labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kappa {
    /// There are no pairs.
    NoPairs,
    /// Both sides give one label only: agreement by chance is certain.
    OneLabel,
    /// The coefficient.
    Value(f64),
}

pub(super) fn cohen_kappa<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Kappa {
    let mut margins: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let (mut n, mut equal) = (0, 0);
    for (left, right) in pairs {
        n += 1;
        equal += u64::from(left == right);
        margins.entry(left).or_default().0 += 1;
        margins.entry(right).or_default().1 += 1;
    }
    if n == 0 {
        return Kappa::NoPairs;
    }
    if margins.len() == 1 {
        return Kappa::OneLabel;
    }
    let observed = float(equal) / float(n);
    let expected: f64 =
        margins.values().map(|(left, right)| (float(*left) / float(n)) * (float(*right) / float(n))).sum();
    Kappa::Value((observed - expected) / (1.0 - expected))
}

/// Kendall's tau-b and the number of discordant pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kendall {
    /// Undefined with fewer than two values or where one side is all tied.
    pub(super) tau_b: Option<f64>,
    pub(super) discordant: u64,
}

pub(super) fn kendall(values: &[(f64, f64)]) -> Kendall {
    let (mut concordant, mut discordant, mut apart_x, mut apart_y) = (0, 0, 0, 0);
    for (place, (x, y)) in values.iter().enumerate() {
        for (other_x, other_y) in values.iter().skip(place + 1) {
            let (in_x, in_y) = (x.total_cmp(other_x), y.total_cmp(other_y));
            apart_x += u64::from(in_x.is_ne());
            apart_y += u64::from(in_y.is_ne());
            if in_x.is_ne() && in_y.is_ne() {
                if in_x == in_y { concordant += 1 } else { discordant += 1 }
            }
        }
    }
    let scale = float(apart_x).sqrt() * float(apart_y).sqrt();
    let tau_b = (scale > 0.0).then(|| (float(concordant) - float(discordant)) / scale);
    Kendall { tau_b, discordant }
}

/// Two groups' shares of successes, compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct TwoProportions {
    /// Undefined where a group is empty or all or nobody succeeded.
    pub(super) z: Option<f64>,
    /// Two-sided.
    pub(super) p: Option<f64>,
    /// Undefined where a margin is 0.
    pub(super) phi: Option<f64>,
}

/// Compares `a` of `n1` successes with `c` of `n2`.
pub(super) fn two_proportions(a: u64, n1: u64, c: u64, n2: u64) -> TwoProportions {
    let (failed1, failed2) = (n1 - a, n2 - c);
    let (successes, failures) = (a + c, failed1 + failed2);
    let sound = n1 > 0 && n2 > 0 && successes > 0 && failures > 0;
    if !sound {
        return TwoProportions { z: None, p: None, phi: None };
    }
    let pooled = float(successes) / float(n1 + n2);
    let error = (pooled * (1.0 - pooled) * (1.0 / float(n1) + 1.0 / float(n2))).sqrt();
    let z = (float(a) / float(n1) - float(c) / float(n2)) / error;
    let margins = float(n1).sqrt() * float(n2).sqrt() * float(successes).sqrt() * float(failures).sqrt();
    let phi = (float(a) * float(failed2) - float(failed1) * float(c)) / margins;
    TwoProportions { z: Some(z), p: Some(libm::erfc(z.abs() / std::f64::consts::SQRT_2)), phi: Some(phi) }
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from the output of programs")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn close(actual: f64, expected: f64, tolerance: f64) {
        assert!(
            (actual - expected).abs() <= tolerance,
            "{actual:?} is not within {tolerance:e} of {expected:?}"
        );
    }

    /// The first outputs for the seed 1234567.
    #[test]
    fn draws_are_those_of_split_mix_64() {
        let mut draws = Draws::new(1234567);
        let published = [6457827717110365317_u64, 3203168211198807973, 9817491932198370423];
        for bits in published {
            assert_eq!(draws.below(1 << 32), usize::try_from(bits >> 32).unwrap());
        }
        assert_eq!(Draws::new(9).below(0), 0);
    }

    #[test]
    fn quantiles_interpolate() {
        let values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let Interval { low, high } = central_95(values).unwrap();
        close(low, 2.5, 1e-12);
        close(high, 97.5, 1e-12);
        assert_eq!(central_95(vec![4.0]), Some(Interval { low: 4.0, high: 4.0 }));
        assert_eq!(central_95(Vec::new()), None);
    }

    /// The sum in Python's `fractions.Fraction`.
    #[test]
    fn kappa_takes_chance_away() {
        // observed 3/4; by chance (3/4)(2/4) + (1/4)(2/4) = 1/2.
        let pairs = [("x", "x"), ("x", "x"), ("x", "y"), ("y", "y")];
        assert_eq!(cohen_kappa(pairs), Kappa::Value(0.5));
        assert_eq!(cohen_kappa([("x", "x")]), Kappa::OneLabel);
        assert_eq!(cohen_kappa([]), Kappa::NoPairs);
        assert_eq!(cohen_kappa([("x", "y")]), Kappa::Value(0.0));
    }

    /// 5 concordant and 3 discordant pairs, 9 apart on either side.
    #[test]
    fn tau_counts_ties() {
        let found = kendall(&[(1.0, 3.0), (2.0, 1.0), (2.0, 2.0), (4.0, 2.0), (5.0, 5.0)]);
        close(found.tau_b.unwrap(), 2.0 / 9.0, 1e-15);
        assert_eq!(found.discordant, 3);
        assert_eq!(kendall(&[(1.0, 1.0)]).tau_b, None);
        assert_eq!(kendall(&[(1.0, 1.0), (1.0, 2.0)]).tau_b, None);
    }

    #[test]
    fn proportions_of_nothing_are_not_compared() {
        let nothing = TwoProportions { z: None, p: None, phi: None };
        for (a, n1, c, n2) in [(0, 0, 1, 2), (1, 2, 0, 0), (0, 3, 0, 4), (3, 3, 4, 4), (0, 0, 0, 0)] {
            assert_eq!(two_proportions(a, n1, c, n2), nothing);
        }
    }

    proptest! {
        #[test]
        fn z_is_phi_times_the_root_of_n(a in 0..40_u64, b in 0..40_u64, c in 0..40_u64, d in 0..40_u64) {
            let found = two_proportions(a, a + b, c, c + d);
            if let (Some(z), Some(phi)) = (found.z, found.phi) {
                prop_assert!((z - phi * float(a + b + c + d).sqrt()).abs() < 1e-9);
            }
        }

        #[test]
        fn seeds_reproduce(clusters in proptest::collection::vec((0.0..9.0_f64, 1.0..9.0_f64), 1..20), seed: u64) {
            let first = bootstrap_ratio(&clusters, 50, seed);
            prop_assert_eq!(first, bootstrap_ratio(&clusters, 50, seed));
            let Interval { low, high } = first.unwrap();
            prop_assert!(low <= high);
        }
    }
}
