//! Benjamini and Hochberg's adjustment of p-values for the number of tests.
//!
//! ```text
//! q(i) = min over j >= i of p(j) * m / j,   p(1) <= … <= p(m)
//! ```
//!
//! Among the tests with q <= 0.05, the expected share of false discoveries is at most 5%, provided that the
//! tests are independent or positively dependent.
//!
//! Reference: Benjamini & Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995). Oracle:
//! `statsmodels.stats.multitest.multipletests(p, method="fdr_bh")`.

use super::{Side, StatsError, float};

/// Adjusts p-values for the number of tests by Benjamini and Hochberg's method, keeping the order of the values.
///
/// ```
/// use wrongturn::stats::benjamini_hochberg;
///
/// let q = benjamini_hochberg(&[0.01, 0.5, 0.03])?;
/// assert_eq!(q, [0.03, 0.5, 0.045]);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::NonFinite`] (with side `X`), and [`StatsError::InvalidArgument`] for a value outside [0, 1].
pub fn benjamini_hochberg(p_values: &[f64]) -> Result<Vec<f64>, StatsError> {
    for (index, p) in p_values.iter().enumerate() {
        if !p.is_finite() {
            return Err(StatsError::NonFinite { side: Side::X, index });
        }
        if !(0.0..=1.0).contains(p) {
            return Err(StatsError::InvalidArgument { name: "a p-value", why: "must lie in [0, 1]" });
        }
    }
    let tests = float(p_values.len() as u64);
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut least = 1.0_f64;
    for (rank, (_, p)) in order.iter_mut().enumerate().rev() {
        least = least.min(*p * tests / float(rank as u64 + 1));
        *p = least;
    }
    order.sort_unstable_by_key(|(place, _)| *place);
    Ok(order.into_iter().map(|(_, q)| q).collect())
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// `multipletests([0.01, 0.04, 0.03, 0.002, 0.9, 0.5, 0.04, 0.2], method="fdr_bh")[1]`,
    /// statsmodels 0.15.0
    #[test]
    fn agrees_with_statsmodels() {
        let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.002, 0.9, 0.5, 0.04, 0.2]).unwrap();
        let statsmodels = [0.04, 0.064, 0.064, 0.016, 0.9, 0.5714285714285714, 0.064, 0.26666666666666666];
        assert_eq!(adjusted.len(), statsmodels.len());
        for (q, expected) in adjusted.iter().zip(statsmodels) {
            assert_close(*q, expected, 1e-15);
        }
    }

    #[test]
    fn ends() {
        assert_eq!(benjamini_hochberg(&[]), Ok(vec![]));
        assert_eq!(benjamini_hochberg(&[0.3]), Ok(vec![0.3]));
        assert_eq!(benjamini_hochberg(&[1.0, 0.0]), Ok(vec![1.0, 0.0]));
        assert!(benjamini_hochberg(&[0.3, 1.5]).is_err());
        assert_eq!(
            benjamini_hochberg(&[0.3, f64::NAN]),
            Err(StatsError::NonFinite { side: Side::X, index: 1 })
        );
    }
}
