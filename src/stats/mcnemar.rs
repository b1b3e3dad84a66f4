//! McNemar's exact test: do two paired yes/no answers have the same rate?
//!
//! Of the pairs that differ, `b` have a yes only in the first answer and `c` only in the second. If both are
//! equally likely, b is binomial with `n = b + c` trials and chance 1/2, so
//!
//! ```text
//! p = min(1, 2 P(X <= min(b, c)))
//! ```
//!
//! Reference: McNemar, "Note on the sampling error of the difference between correlated proportions or
//! percentages", Psychometrika 12 (1947). Oracle:
//! `statsmodels.stats.contingency_tables.mcnemar(table, exact=True)`.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Returns the two-sided p-value of McNemar's exact test, for `first_only` pairs with a yes only in the first
/// answer and `second_only` pairs with a yes only in the second.
///
/// ```
/// use wrongturn::stats::mcnemar;
///
/// // Of the tasks that only one agent solved, the first solved one and the second nine.
/// assert!((mcnemar(1, 9) - 22.0 / 1024.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn mcnemar(first_only: u64, second_only: u64) -> f64 {
    if first_only.abs_diff(second_only) <= 1 {
        return 1.0;
    }
    let least = first_only.min(second_only);
    let tail = Binomial::new(0.5, first_only.saturating_add(second_only)).map_or(1.0, |b| b.cdf(least));
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// `mcnemar([[5, b], [c, 5]], exact=True).pvalue`, statsmodels 0.15.0
    #[test]
    fn agrees_with_statsmodels() {
        let statsmodels = [
            (3, 9, 0.14599609375),
            (7, 7, 1.0),
            (40, 63, 0.02968221463162665),
            // By exact arithmetic.
            (20, 0, 1.9073486328125e-06),
            (3000, 2800, 0.008969436001193416),
        ];
        for (b, c, p) in statsmodels {
            assert_close(mcnemar(b, c), p, 1e-12);
            assert_close(mcnemar(c, b), p, 1e-12);
        }
        assert_close(mcnemar(0, 0), 1.0, 0.0);
        assert!(mcnemar(0, u64::MAX) == 0.0);
    }
}
