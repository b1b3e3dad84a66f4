//! Spearman's rank correlation and the point-biserial correlation: Pearson's coefficient of ranks, and
//! of a yes/no column.
//!
//! ```text
//! ρ = r(rank(x), rank(y)),  ties share the mean of their ranks
//! p from Student's t with n - 2 degrees of freedom
//! ci95 = tanh(artanh(ρ) ± 1.96 * sqrt((1 + ρ²/2)/(n - 3)))
//! ```
//!
//! References: Spearman, "The proof and measurement of association between two things", Am. J. Psychol.
//! 15 (1904); interval: Bonett & Wright, "Sample size requirements for estimating Pearson, Kendall and
//! Spearman correlations", Psychometrika 65 (2000); Tate, "Correlation between a discrete and a
//! continuous variable", Ann. Math. Stat. 25 (1954). Oracles: `scipy.stats.spearmanr` and
//! `pointbiserialr`.
//!
//! Errors: those of [`pearson`](fn@super::pearson).

use super::columns::{check_finite, check_lengths, pairs};
use super::distributions::normal_quantile;
use super::interval::Interval;
use super::pearson::MIN_PAIRS;
use super::{Correlation, StatsError, float, pearson};

/// Spearman's rank correlation of `x` with `y`.
///
/// ```
/// use wrongturn::stats::spearman;
///
/// // Any rising curve is a perfect order.
/// assert_eq!(spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 4.0, 9.0, 16.0])?.r, 1.0);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], [`StatsError::TooFew`] for fewer than three pairs,
/// [`StatsError::NonFinite`] and [`StatsError::ZeroVariance`], in this order.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    check_lengths(x, y, [])?;
    // With too few pairs to rank, that is the error, as it is Pearson's.
    if x.len() >= MIN_PAIRS {
        check_finite(pairs(x, y))?;
    }
    let mut correlation = pearson(&ranks(x), &ranks(y))?;
    let (rho, n) = (correlation.r, float(correlation.n as u64));
    correlation.ci95 = (n > 3.0).then(|| {
        let half_width = normal_quantile(0.975) * ((1.0 + rho * rho / 2.0) / (n - 3.0)).sqrt();
        Interval { low: (rho.atanh() - half_width).tanh(), high: (rho.atanh() + half_width).tanh() }
    });
    Ok(correlation)
}

/// The point-biserial correlation of a yes/no column with `y`: Pearson's, with 1 for yes and 0 for no.
///
/// ```
/// use wrongturn::stats::point_biserial;
///
/// let correlation = point_biserial(&[true, true, false, false], &[1.0, 0.8, 0.1, 0.3])?;
/// assert!(correlation.r > 0.9);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// Those of [`pearson`](fn@pearson).
pub fn point_biserial(yes: &[bool], y: &[f64]) -> Result<Correlation, StatsError> {
    let x: Vec<f64> = yes.iter().map(|yes| f64::from(u8::from(*yes))).collect();
    pearson(&x, y)
}

/// The ranks of the values, from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    // Adding 0 makes the two zeros one.
    let mut order: Vec<(f64, usize)> = values.iter().map(|value| value + 0.0).zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranked = Vec::with_capacity(values.len());
    let mut before = 0.0;
    for ties in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let size = float(ties.len() as u64);
        ranked.extend(ties.iter().map(|(_, place)| (*place, before + f64::midpoint(size, 1.0))));
        before += size;
    }
    ranked.sort_unstable_by_key(|(place, _)| *place);
    ranked.into_iter().map(|(_, rank)| rank).collect()
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use proptest::prelude::*;

    use super::super::pearson::tests::{gen_x, gen_y};
    use super::super::{Side, assert_close};
    use super::*;

    #[track_caller]
    fn agrees(actual: Result<Correlation, StatsError>, r: f64, p: f64, ci95: (f64, f64)) {
        let actual = actual.unwrap();
        let interval = actual.ci95.unwrap();
        for (actual, expected) in
            [(actual.r, r), (actual.p, p), (interval.low, ci95.0), (interval.high, ci95.1)]
        {
            assert_close(actual, expected, 1e-9);
        }
    }

    /// `scipy.stats.spearmanr(x, y)`, scipy 1.17.1; the interval
    /// `tanh(arctanh(s) ± norm.ppf(.975) * sqrt((1 + s*s/2)/(n - 3)))`. Columns as in the tests of Pearson's r.
    #[test]
    fn agrees_with_scipy() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 7.0]);
        agrees(spearman(&x, &y), 0.8, 0.10408803866182788, (-0.4571243888052966, 0.9908429478778042));
        let x = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let y = [3.0, 0.0, 1.0, 2.0, 0.0, 3.0, 1.0, 0.0, 0.0, 2.0];
        let interval = (-0.9455102573365977, -0.11474688640450864);
        agrees(spearman(&x, &y), -0.7404360971988654, 0.014317492180057722, interval);
        let interval = (0.16431518689548816, 0.6433818394662819);
        let (r, p) = (0.43404561824729887, 0.001637039283110927);
        agrees(spearman(&gen_x(50, 0.0), &gen_y(50, 0.0)), r, p, interval);
        let y: Vec<f64> = (0..1000_u32).map(|i| f64::from(29 * i % 89)).collect();
        let interval = (-0.06425005158189871, 0.059735637978769504);
        agrees(spearman(&gen_x(1000, 0.0), &y), -0.0022659150131035034, 0.9429480974337294, interval);
    }

    /// `scipy.stats.pointbiserialr([7*i % 3 == 0 for i in range(60)], Y(60))`
    #[test]
    fn point_biserial_agrees_with_scipy() {
        let yes: Vec<bool> = (0..60).map(|i| 7 * i % 3 == 0).collect();
        let correlation = point_biserial(&yes, &gen_y(60, 0.0)).unwrap();
        assert_close(correlation.r, -0.07935958708708271, 1e-12);
        assert_close(correlation.p, 0.5466834198455891, 1e-9);
    }

    /// `scipy.stats.rankdata([3, 1, 3, 2, 3, 1])`
    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0, 3.0, 1.0]), [5.0, 1.5, 5.0, 3.0, 5.0, 1.5]);
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn refusals() {
        let plain = [1.0, 2.0, 4.0];
        assert_eq!(spearman(&plain, &[1.0]), Err(StatsError::LengthMismatch { x: 3, y: 1 }));
        assert_eq!(spearman(&plain[..2], &plain[..2]), Err(StatsError::TooFew { n: 2, needed: 3 }));
        let nan = [1.0, f64::NAN, 2.0];
        assert_eq!(spearman(&plain, &nan), Err(StatsError::NonFinite { side: Side::Y, index: 1 }));
        assert_eq!(spearman(&nan, &plain), Err(StatsError::NonFinite { side: Side::X, index: 1 }));
        assert_eq!(spearman(&plain, &[2.0; 3]), Err(StatsError::ZeroVariance { side: Side::Y }));
        assert_eq!(point_biserial(&[true; 3], &plain), Err(StatsError::ZeroVariance { side: Side::X }));
    }

    proptest! {
        #[test]
        fn any_rising_map_leaves_it_unchanged(
            pairs in proptest::collection::vec((-5..5_i8, -5..5_i8), 3..40),
        ) {
            let (x, y): (Vec<f64>, Vec<f64>) =
                pairs.into_iter().map(|(x, y)| (f64::from(x), f64::from(y))).unzip();
            let cubed: Vec<f64> = x.iter().map(|x| x * x * x).collect();
            prop_assert_eq!(spearman(&cubed, &y), spearman(&x, &y));
        }
    }
}
