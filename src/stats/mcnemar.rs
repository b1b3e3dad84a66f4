//! McNemar's exact test: do two paired yes/no answers have the same rate?
//!
//! Of the pairs that differ, `b` say yes only first and `c` only second. If neither is likelier, b is
//! binomial with `n = b + c` trials and chance 1/2, so
//!
//! ```text
//! p = min(1, 2 P(X <= min(b, c)))
//! ```
//!
//! The tail is summed from its largest term down, each term in its ratio to that one.
//!
//! Reference: McNemar, "Note on the sampling error of the difference between correlated proportions or
//! percentages", Psychometrika 12 (1947). Oracle:
//! `statsmodels.stats.contingency_tables.mcnemar(table, exact=True)`.
//!
//! Errors: none. Without pairs that differ p is 1.

use std::f64::consts::LN_2;

use statrs::function::gamma::ln_gamma;

use super::float;

/// The p-value of McNemar's exact test, two-sided: `first_only` pairs say yes only first, `second_only` only second.
///
/// ```
/// use wrongturn::stats::mcnemar;
///
/// // Of the tasks that only one agent solved, the first solved one and the second nine.
/// assert!((mcnemar(1, 9) - 22.0 / 1024.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn mcnemar(first_only: u64, second_only: u64) -> f64 {
    let least = first_only.min(second_only);
    let total = first_only.saturating_add(second_only);
    if least == first_only.max(second_only) {
        return 1.0;
    }
    let n = float(total);
    let k = float(least);
    // ln of C(n, k) / 2^n; small tables by products, which are exact.
    let top = if total <= 1000 {
        let mut chance = 1.0;
        let mut halvings = 0_u64;
        for i in 0..least {
            chance *= float(total - i) / float(i + 1);
            while chance > 1.0 && halvings < total {
                chance /= 2.0;
                halvings += 1;
            }
        }
        chance.ln() - float(total - halvings) * LN_2
    } else {
        ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0) - n * LN_2
    };
    let (mut term, mut sum) = (1.0, 1.0);
    let mut i = k;
    while i > 0.0 && term > sum * (f64::EPSILON / 4.0) {
        term *= i / (n - i + 1.0);
        sum += term;
        i -= 1.0;
    }
    (2.0 * top.exp() * sum).min(1.0)
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use proptest::prelude::*;

    use super::super::assert_close;
    use super::*;

    /// `mcnemar([[5, b], [c, 5]], exact=True).pvalue`, statsmodels 0.15.0
    #[test]
    fn agrees_with_statsmodels() {
        let statsmodels = [
            (3, 9, 0.14599609375),
            (0, 5, 0.0625),
            (7, 7, 1.0),
            (1, 2, 1.0),
            (40, 63, 0.02968221463162665),
            (500, 600, 0.0028195449914364284),
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

    proptest! {
        #[test]
        fn is_a_probability(b in 0..3000_u64, c in 0..3000_u64) {
            prop_assert!((0.0..=1.0).contains(&mcnemar(b, c)));
            prop_assert!(mcnemar(b, c + b + 1) >= mcnemar(b, c + b + 2) - 1e-12);
        }
    }
}
