//! Two proportions: do two groups succeed equally often?
//!
//! With `a` successes of `n1`, `c` of `n2`, and the pooled proportion `p = (a + c)/(n1 + n2)`,
//!
//! ```text
//! z = (a/n1 - c/n2) / sqrt(p (1 - p) (1/n1 + 1/n2)),  two-sided p-value erfc(|z| / sqrt 2)
//! φ = (a d - b c) / sqrt((a + b)(c + d)(a + c)(b + d)),  b and d the failures
//! ```
//!
//! φ is Pearson's r of group and success, and z = φ sqrt(n1 + n2).
//!
//! References: Pearson, "On the theory of contingency", Drapers' Company Research Memoirs 1 (1904); Agresti,
//! "An introduction to categorical data analysis", section 2.2.
//! `statsmodels.stats.proportion.proportions_ztest` agrees.

use serde::Serialize;

use super::distributions::normal_two_sided_p;
use super::float;

/// The result of [`two_proportions()`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TwoProportions {
    /// The z statistic; positive if the first group succeeds more often.
    pub z: f64,
    /// The two-sided p-value under the null hypothesis of equal proportions.
    pub p: f64,
    /// φ, the correlation of group and success, with the sign of `z`.
    pub phi: f64,
}

/// Compares the success rates of two groups, each given as `(successes, failures)`.
///
/// Returns `None` if a group is empty or the pooled rate is 0 or 1.
///
/// ```
/// use wrongturn::stats::two_proportions;
///
/// let found = two_proportions((258, 745 - 258), (1016, 2565 - 1016)).unwrap();
/// assert!(found.z < -2.4 && found.p < 0.014);
/// assert_eq!(two_proportions((0, 0), (1, 2)), None);
/// ```
#[must_use]
#[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
pub fn two_proportions(first: (u64, u64), second: (u64, u64)) -> Option<TwoProportions> {
    let [a, b, c, d] = [first.0, first.1, second.0, second.1].map(float);
    let (n1, n2, won, lost) = (a + b, c + d, a + c, b + d);
    if [n1, n2, won, lost].contains(&0.0) {
        return None;
    }
    let margins = n1.sqrt() * n2.sqrt() * won.sqrt() * lost.sqrt();
    let phi = (a * d - b * c) / margins;
    // The formula for z above loses all digits if the rates differ by less than the rounding error, so φ is used.
    let z = phi * (n1 + n2).sqrt();
    Some(TwoProportions { z, p: normal_two_sided_p(z), phi })
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from the output of a program")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// Counts from a published table; z and p computed in Python with `math.erfc`.
    #[test]
    fn agrees_with_other_programs() {
        for (first, second, z, p) in [
            ((1272, 2030), (2, 6), 0.7850879621372309, 0.4324019971523976),
            ((258, 487), (1016, 1549), -2.4588235700853294, 0.013939310136858315),
            ((176, 187), (1098, 1849), 4.147943104579715, 3.354757392887012e-5),
        ] {
            let found = two_proportions(first, second).unwrap();
            assert_close(found.z, z, 1e-12);
            assert_close(found.p / p, 1.0, 1e-11);
        }
    }

    #[test]
    fn large_counts_are_compared() {
        let found = two_proportions((1 << 60, 0), (1 << 60, 1)).unwrap();
        assert_close(found.z, 1.0, 1e-9);
        assert_close(found.p, 0.317_310_507_862_914, 1e-9);
    }

    #[test]
    fn proportions_of_nothing_are_not_compared() {
        for (first, second) in [((0, 0), (1, 1)), ((1, 1), (0, 0)), ((0, 3), (0, 4)), ((3, 0), (4, 0))] {
            assert_eq!(two_proportions(first, second), None);
        }
    }
}
