//! A permutation test of association within strata.
//!
//! If y is independent of x within a stratum, every order of its y values is equally likely. The statistic is
//! the co-moment within strata:
//!
//! ```text
//! T = Σ over strata Σ (x - x̄s)(y - ȳs),  p = share of the arrangements with |T*| >= |T|
//! ```
//!
//! If there are at most 10,000 arrangements, all are counted. Otherwise `B` are drawn and
//! `p = (1 + hits)/(1 + B)`. The added 1 keeps p above 0 and the test valid.
//!
//! References: Fisher, "The design of experiments" (1935), section 21; Phipson & Smyth, "Permutation
//! p-values should never be zero", Stat. Appl. Genet. Mol. Biol. 9 (2010). Oracle:
//! `scipy.stats.permutation_test((y,), T, permutation_type="pairings")`.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;

use super::columns::{check_finite, check_lengths, deviations, pairs, scaled};
use super::rng::Rng;
use super::{Resampling, StatsError, float};

/// Maximum number of arrangements that are all counted. If there are more, a sample is drawn.
const MOST_COUNTED: u64 = 10_000;

/// Differences below this share of the largest possible statistic are rounding error.
const ROUNDING: f64 = 1e-12;

/// The result of [`permutation_test()`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PermutationTest {
    /// The two-sided p-value.
    pub p: f64,
    /// The number of arrangements counted or drawn.
    pub arrangements: u64,
    /// True if all arrangements were counted, false if a sample was drawn.
    pub exact: bool,
}

/// Tests whether `x` and `y` are associated within strata. `stratum[i]` identifies the stratum of pair i.
///
/// Returns `None` if no stratum varies in both columns.
///
/// ```
/// use wrongturn::stats::{Resampling, permutation_test};
///
/// let (x, y) = ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]);
/// let test = permutation_test(&x, &y, &[0; 4], &Resampling::default())?.unwrap();
/// // Of the 24 orders of y, only this one and its reverse are this extreme.
/// assert_eq!((test.p, test.arrangements, test.exact), (2.0 / 24.0, 24, true));
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], [`StatsError::NonFinite`], and [`StatsError::InvalidArgument`] if a
/// value in `options` is out of range. The confidence level is checked but not used.
pub fn permutation_test(
    x: &[f64],
    y: &[f64],
    stratum: &[usize],
    options: &Resampling,
) -> Result<Option<PermutationTest>, StatsError> {
    let Resampling { resamples, seed, .. } = options.checked()?;
    check_lengths(x, y, [stratum])?;
    check_finite(pairs(x, y))?;
    let strata = strata(x, y, stratum);
    if strata.is_empty() {
        return Ok(None);
    }
    let orders = strata.iter().fold(1_u64, |orders, stratum| orders.saturating_mul(stratum.orders()));
    let bar = bar(&strata);
    let test =
        if orders <= MOST_COUNTED { counted(&strata, bar) } else { drawn(&strata, bar, resamples, seed) };
    Ok(Some(test))
}

/// Returns the strata in which both columns vary.
fn strata(x: &[f64], y: &[f64], stratum: &[usize]) -> Vec<Stratum> {
    let mut strata: BTreeMap<usize, Stratum> = BTreeMap::new();
    for ((x, y), number) in scaled(x).into_iter().zip(scaled(y)).zip(stratum) {
        let stratum = strata.entry(*number).or_default();
        stratum.x.push(x);
        stratum.y.push(y);
    }
    strata.into_values().filter_map(Stratum::centred).collect()
}

/// Returns the magnitude from which a statistic counts as at least as extreme as the observed one.
fn bar(strata: &[Stratum]) -> f64 {
    let observed: f64 = strata.iter().map(|stratum| stratum.comoment(&stratum.y)).sum();
    let most: f64 = strata.iter().map(Stratum::most).sum();
    observed.abs() - ROUNDING * most
}

/// Returns the test over all arrangements.
fn counted(strata: &[Stratum], bar: f64) -> PermutationTest {
    let sums = strata.iter().fold(vec![0.0], |sums, stratum| {
        let values = stratum.all_comoments();
        sums.iter().flat_map(|sum| values.iter().map(move |value| sum + value)).collect()
    });
    let hits = sums.iter().filter(|sum| sum.abs() >= bar).count() as u64;
    let arrangements = sums.len() as u64;
    PermutationTest { p: float(hits) / float(arrangements), arrangements, exact: true }
}

/// Returns the test over randomly drawn arrangements.
fn drawn(strata: &[Stratum], bar: f64, resamples: usize, seed: u64) -> PermutationTest {
    let is_hit = |number: &usize| {
        let mut rng = Rng::stream(seed, *number as u64);
        let mut order = Vec::new();
        let total: f64 = strata
            .iter()
            .map(|stratum| {
                order.clone_from(&stratum.y);
                rng.shuffle(&mut order);
                stratum.comoment(&order)
            })
            .sum();
        total.abs() >= bar
    };
    let arrangements = resamples as u64;
    let hits = (0..resamples).into_par_iter().with_min_len(16).filter(is_hit).count() as u64;
    PermutationTest { p: float(hits + 1) / float(arrangements + 1), arrangements, exact: false }
}

/// The pairs of one stratum.
#[derive(Debug, Default)]
struct Stratum {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Stratum {
    /// Returns the stratum with both columns centred on their means, or `None` if a column does not vary.
    fn centred(mut self) -> Option<Self> {
        for column in [&mut self.x, &mut self.y] {
            // Adding 0 turns -0 into 0, which keeps ties equal.
            *column = deviations(column).into_iter().map(|value| value + 0.0).collect();
        }
        let varies = |column: &[f64]| column.iter().any(|value| value.abs() > 0.0);
        (varies(&self.x) && varies(&self.y)).then_some(self)
    }

    fn comoment(&self, y: &[f64]) -> f64 {
        self.x.iter().zip(y).map(|(x, y)| x * y).sum()
    }

    /// Returns an upper bound on the magnitude of the co-moment.
    fn most(&self) -> f64 {
        let squares = |column: &[f64]| column.iter().map(|value| value * value).sum::<f64>();
        (squares(&self.x) * squares(&self.y)).sqrt()
    }

    /// Returns the number of distinct orders of y, or [`u64::MAX`] if its computation overflows.
    fn orders(&self) -> u64 {
        let mut sorted = self.y.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (mut orders, mut placed) = (1_u64, 0_u64);
        for ties in sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
            for taken in 1..=ties.len() as u64 {
                placed += 1;
                // Each quotient is whole: the orders of the earlier ties times a binomial coefficient.
                orders = match orders.checked_mul(placed) {
                    Some(product) => product / taken,
                    None => return u64::MAX,
                };
            }
        }
        orders
    }

    /// Returns the co-moments of all distinct orders of y.
    fn all_comoments(&self) -> Vec<f64> {
        let mut order = self.y.clone();
        order.sort_unstable_by(f64::total_cmp);
        let mut values = vec![self.comoment(&order)];
        while next_order(&mut order) {
            values.push(self.comoment(&order));
        }
        values
    }
}

/// Rearranges the items into the lexicographically next order. Returns false, and changes nothing, after the
/// last.
fn next_order(items: &mut [f64]) -> bool {
    let rises = |pair: &[f64]| matches!(pair, [a, b] if a < b);
    let Some(pivot) = items.windows(2).rposition(rises) else { return false };
    let (head, tail) = items.split_at_mut(pivot + 1);
    if let Some(low) = head.last_mut()
        && let Some(high) = tail.iter_mut().rev().find(|item| **item > *low)
    {
        std::mem::swap(low, high);
    }
    tail.reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::super::assert_close;
    use super::super::pearson::tests::{gen_x, gen_y};
    use super::*;

    const X: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[track_caller]
    fn exact(y: [f64; 6], strata: [usize; 6], p: f64, arrangements: u64) {
        let found = permutation_test(&X, &y, &strata, &Resampling::default()).unwrap().unwrap();
        assert_close(found.p, p, 1e-12);
        assert_eq!((found.arrangements, found.exact), (arrangements, true));
    }

    /// `permutation_test((y,), lambda y: abs(dot(x - x.mean(), y - y.mean())), permutation_type="pairings",
    /// n_resamples=inf, alternative="greater")`, scipy 1.17.1; for strata, `itertools.permutations` within each.
    #[test]
    fn small_samples_agree_with_scipy() {
        exact([2.0, 1.0, 4.0, 3.0, 7.0, 5.0], [0; 6], 0.075, 720);
        exact([0.0, 1.0, 0.0, 1.0, 1.0, 1.0], [0; 6], 0.266_666_666_666_666_66, 15);
        exact([0.0, 1.0, 2.0, 3.0, 5.0, 4.0], [0, 0, 0, 9, 9, 9], 10.0 / 36.0, 36);
    }

    #[test]
    fn large_samples_are_drawn() {
        let (x, y) = (gen_x(50, 0.0), gen_y(50, 0.0));
        let options = Resampling { resamples: 20_000, ..Resampling::default() };
        let found = permutation_test(&x, &y, &[0; 50], &options).unwrap().unwrap();
        assert!(!found.exact && found.arrangements == 20_000);
        // scipy.stats.pearsonr gives 0.00134; the tolerance is four standard errors.
        assert_close(found.p, 0.00134, 0.0011);
        // Without an association, p is large.
        let zigzag: Vec<f64> = (0..50_u32).map(|i| f64::from(i % 2)).collect();
        let still = permutation_test(&x, &zigzag, &[0; 50], &Resampling::default()).unwrap().unwrap();
        assert!(still.p > 0.2, "{still:?}");
    }

    #[test]
    fn nothing_to_rearrange() {
        let usual = Resampling::default();
        let run = |x: &[f64], y: &[f64], strata: &[usize]| permutation_test(x, y, strata, &usual);
        assert_eq!(run(&X, &X, &[0, 1, 2, 3, 4, 5]), Ok(None));
        assert_eq!(run(&[1.0; 6], &X, &[0; 6]), Ok(None));
        assert_eq!(run(&[], &[], &[]), Ok(None));
        assert!(run(&X, &X, &[0]).is_err());
        assert!(run(&[f64::NAN; 6], &X, &[0; 6]).is_err());
        // A stratum in which x is constant adds no arrangements.
        let (x, y) = ([1.0, 2.0, 5.0, 5.0], [1.0, 3.0, 0.0, 9.0]);
        assert_eq!(run(&x, &y, &[0, 0, 1, 1]).unwrap().unwrap().arrangements, 2);
    }

    #[test]
    fn counts_of_orders() {
        let orders = |y: &[f64]| Stratum { x: Vec::new(), y: y.to_vec() }.orders();
        assert_eq!(orders(&[1.0, 1.0, 2.0, 2.0]), 6);
        assert_eq!(orders(&[1.0, 2.0, 3.0]), 6);
        assert_eq!(orders(&[]), 1);
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(orders(&many), u64::MAX);
        let stratum = Stratum { x: vec![0.0; 4], y: vec![2.0, 1.0, 2.0, 1.0] };
        assert_eq!(stratum.all_comoments().len(), 6);
    }
}
