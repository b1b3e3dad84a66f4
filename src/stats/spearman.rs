//! Spearman's rank correlation: Pearson's coefficient of the ranks.
//!
//! ```text
//! ρ = r(rank(x), rank(y)),  ties share the mean of their ranks
//! p from Student's t with n - 2 degrees of freedom
//! ci95 = tanh(artanh(ρ) ± 1.96 * sqrt((1 + ρ²/2)/(n - 3)))
//! ```
//!
//! References: Spearman, "The proof and measurement of association between two things", Am. J. Psychol.
//! 15 (1904); interval: Bonett & Wright, "Sample size requirements for estimating Pearson, Kendall and
//! Spearman correlations", Psychometrika 65 (2000). Oracle: `scipy.stats.spearmanr`.

use super::columns::{check_finite, check_lengths, pairs};
use super::distributions::normal_quantile;
use super::interval::Interval;
use super::pearson::MIN_PAIRS;
use super::{Correlation, StatsError, float, pearson};

/// Returns Spearman's rank correlation of `x` with `y`. Its interval is that of Bonett and Wright (2000).
///
/// ```
/// use wrongturn::stats::spearman;
///
/// // Any strictly increasing relation has a rank correlation of 1.
/// assert_eq!(spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 4.0, 9.0, 16.0])?.r, 1.0);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`], [`StatsError::TooFew`] for fewer than three pairs,
/// [`StatsError::NonFinite`] and [`StatsError::ZeroVariance`], checked in this order.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Correlation, StatsError> {
    check_lengths(x, y, [])?;
    // As in `pearson`, too few pairs are reported before values that are not finite.
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

/// Returns the ranks of the values, from 1. Equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    // Adding 0 turns -0.0 into 0.0, which ties the two zeros.
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
    use super::super::assert_close;
    use super::super::pearson::tests::{gen_x, gen_y};
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
    /// `tanh(arctanh(s) ± norm.ppf(.975) * sqrt((1 + s*s/2)/(n - 3)))`. Columns as in Pearson's tests.
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
    }

    /// `scipy.stats.rankdata([3, 1, 3, 2, 3, 1])`
    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0, 3.0, 1.0]), [5.0, 1.5, 5.0, 3.0, 5.0, 1.5]);
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }
}
