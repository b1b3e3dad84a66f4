//! Quantiles and tails of the normal, t and chi-squared distributions.
//!
//! ```text
//! Φ(x) = erfc(-x/√2) / 2        Φ⁻¹(q) = -√2 erfc⁻¹(2q)
//! t(c, v) = √v r/√(1 - r²)      where r is the coefficient with P(|R| >= r) = 1 - c
//! P(X² >= q) = Γ(k/2, q/2) / Γ(k/2)
//! ```
//!
//! The quantile of t is found by bisection of the p-value of a [coefficient](super::student_t), to the
//! last bits.
//!
//! Reference: NIST Digital Library of Mathematical Functions, 7.17, 8.17, 8.2. Oracle: `scipy.stats.norm`,
//! `t`, `chi2`.
//!
//! Errors: none; callers check their arguments.

use std::f64::consts::SQRT_2;

use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::gamma_ur;

use super::student_t::two_sided_p;

/// `P(Z <= x)`.
pub(super) fn normal_cdf(x: f64) -> f64 {
    erfc(-x / SQRT_2) / 2.0
}

/// The `q` quantile, `q` in [0, 1]; infinite at its ends.
pub(super) fn normal_quantile(q: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * q)
}

/// The `t` with `P(|T| <= t) = confidence`, at `dof >= 1` degrees of freedom.
pub(super) fn t_quantile(confidence: f64, dof: f64) -> f64 {
    let wanted = 1.0 - confidence;
    let p = |t: f64| two_sided_p(t / (dof + t * t).sqrt(), dof);
    let (mut low, mut high) = (0.0, 1.0);
    while p(high) > wanted && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return high;
        }
        if p(middle) > wanted { low = middle } else { high = middle }
    }
}

/// `P(X² >= q)` at `dof >= 1` degrees of freedom.
pub(super) fn chi_squared_tail(q: f64, dof: f64) -> f64 {
    // An infinite value has no series.
    if q <= 0.0 {
        1.0
    } else if q.is_finite() {
        gamma_ur(dof / 2.0, q / 2.0)
    } else {
        0.0
    }
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// `scipy.stats.t.ppf(0.975, v)`, `t.ppf(0.995, v)`, scipy 1.17.1
    #[test]
    fn t_quantiles_agree_with_scipy() {
        let scipy = [
            (1.0, 12.706204736174694, 63.656741162871526),
            (2.0, 4.302652729749462, 9.924843200918287),
            (3.0, 3.1824463052837078, 5.840909309733355),
            (5.0, 2.5705818356363146, 4.032142983555228),
            (10.0, 2.228138851986274, 3.16927267261695),
            (30.0, 2.0422724563012378, 2.7499956535672254),
            (100.0, 1.9839715185235518, 2.6258905214380173),
            (1000.0, 1.9623390808264083, 2.580754698065951),
        ];
        for (dof, t_95, t_99) in scipy {
            assert_close(t_quantile(0.95, dof), t_95, 1e-9);
            assert_close(t_quantile(0.99, dof), t_99, 1e-9);
        }
        for confidence in [0.0, 1e-300, 1.0 - f64::EPSILON / 2.0] {
            assert!(t_quantile(confidence, 1.0).is_finite());
        }
    }

    /// `scipy.stats.chi2.sf(q, k)`, scipy 1.17.1
    #[test]
    fn chi_squared_tails_agree_with_scipy() {
        let scipy = [
            (1.0, 3.84, 0.05004352124870519),
            (2.0, 0.5, 0.7788007830714049),
            (5.0, 11.07, 0.050009618622405425),
            (13.0, 40.2, 0.00012835227455986335),
            (13.0, 3.0, 0.9979343173695479),
        ];
        for (dof, q, p) in scipy {
            assert_close(chi_squared_tail(q, dof), p, 1e-12);
        }
        assert_close(chi_squared_tail(0.0, 3.0), 1.0, 0.0);
        assert_close(chi_squared_tail(f64::INFINITY, 3.0), 0.0, 0.0);
    }

    /// `scipy.special.ndtr(x)`, `ndtri`
    #[test]
    fn the_normal_distribution_agrees_with_scipy() {
        let scipy =
            [(-3.0, 0.0013498980316300933), (0.0, 0.5), (0.5, 0.6914624612740131), (2.0, 0.9772498680518208)];
        for (x, p) in scipy {
            assert_close(normal_cdf(x), p, 1e-11);
            assert_close(normal_quantile(p), x, 1e-9);
        }
        assert_close(normal_quantile(0.975), 1.959963984540054, 1e-14);
        assert!(normal_quantile(0.0) == f64::NEG_INFINITY && normal_quantile(1.0) == f64::INFINITY);
    }
}
