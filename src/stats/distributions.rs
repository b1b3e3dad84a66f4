//! Quantiles and tails of the normal, t and chi-squared distributions, computed with `statrs`.
//!
//! Errors of `statrs` 0.19 against scipy and mpmath, over the arguments used here:
//!
//! | function | largest error |
//! |---|---|
//! | p-value of a correlation, up to 10^5 degrees of freedom | 6e-10, relative 9e-10 |
//! | quantile of t | 6e-13 |
//! | normal tail | 1e-11, relative 2e-10 |
//! | normal quantile | 1e-14 |
//! | chi-squared tail | 1e-15 |
//!
//! Above 10^5 degrees of freedom, the continued fraction of the incomplete beta function loses digits (5e-9 at 10^6).
//! There, each tail of Student's t with `v` degrees of freedom is approximated by the normal tail plus one term of its
//! expansion, `φ(t) (t³ + t) / 4v` (off by 1e-10): NIST Digital Library of Mathematical Functions, 8.18; Fisher,
//! "Expansion of Student's integral in powers of 1/n", Metron 5 (1925).
//!
//! Callers must check their arguments, because some functions of `statrs` panic outside their domain. A
//! p-value below the smallest positive float is 0.

use std::f64::consts::PI;

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// Above this number of degrees of freedom, Student's t is expanded around the normal distribution.
const LARGE_DOF: f64 = 1e5;

/// `P(Z <= x)`.
pub(super) fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// `P(|Z| >= |z|)`, computed as the tail of z², which is more precise than [`normal_cdf`].
pub(super) fn normal_two_sided_p(z: f64) -> f64 {
    chi_squared_tail(z * z, 1.0)
}

/// Returns the `q` quantile of the standard normal distribution for `q` in [0, 1]; infinite for 0 and 1.
///
/// # Panics
///
/// If `q` lies outside [0, 1].
pub(super) fn normal_quantile(q: f64) -> f64 {
    Normal::standard().inverse_cdf(q)
}

/// Returns the `t` with `P(|T| <= t) = confidence`, at `dof >= 1` degrees of freedom; infinite if the
/// confidence rounds to 1.
pub(super) fn t_quantile(confidence: f64, dof: f64) -> f64 {
    StudentsT::new(0.0, 1.0, dof).map_or(f64::NAN, |t| t.inverse_cdf(f64::midpoint(1.0, confidence)))
}

/// Returns the probability that a sample from uncorrelated normal columns has a coefficient at least as far
/// from 0 as `r`, at `dof >= 1` degrees of freedom.
///
/// With `v` for `dof`, `t = r sqrt(v / (1 - r²))` follows Student's t (Fisher 1915), and `P(|T| >= |t|)` is the
/// regularized incomplete beta function at `1 - r²` with parameters `v/2` and `1/2`.
///
/// # Panics
///
/// If `r` is NaN, unless `dof` is large. An `r` outside [-1, 1] gives 0.
pub(super) fn two_sided_p(r: f64, dof: f64) -> f64 {
    let x = (1.0 - r) * (1.0 + r);
    if x <= 0.0 {
        return 0.0;
    }
    if dof <= LARGE_DOF {
        // For small r, `1 - r²` would lose the digits of `r²`.
        let y = r * r;
        let is_middle = dof * y < 2.0 * x;
        let p = if is_middle { 1.0 - beta_reg(0.5, dof / 2.0, y) } else { beta_reg(dof / 2.0, 0.5, x) };
        return p.clamp(0.0, 1.0);
    }
    let t = r.abs() * (dof / x).sqrt();
    let density = (-t * t / 2.0).exp() / (2.0 * PI).sqrt();
    (normal_two_sided_p(t) + density * (t.powi(3) + t) / (2.0 * dof)).clamp(0.0, 1.0)
}

/// `P(X² >= q)` at `dof >= 1` degrees of freedom.
pub(super) fn chi_squared_tail(q: f64, dof: f64) -> f64 {
    if q == f64::INFINITY { 0.0 } else { ChiSquared::new(dof).map_or(f64::NAN, |x| x.sf(q)) }
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
            (3.0, 3.1824463052837078, 5.840909309733355),
            (10.0, 2.228138851986274, 3.16927267261695),
            (1000.0, 1.9623390808264083, 2.580754698065951),
        ];
        for (dof, t_95, t_99) in scipy {
            assert_close(t_quantile(0.95, dof), t_95, 1e-9);
            assert_close(t_quantile(0.99, dof), t_99, 1e-9);
        }
        for confidence in [0.0, 1e-300, 1.0 - 1e-15] {
            assert!(t_quantile(confidence, 1.0).is_finite());
        }
    }

    /// `scipy.stats.chi2.sf(q, k)`, scipy 1.17.1
    #[test]
    fn chi_squared_tails_agree_with_scipy() {
        let scipy = [
            (1.0, 3.84, 0.05004352124870519),
            (5.0, 11.07, 0.050009618622405425),
            (13.0, 40.2, 0.00012835227455986335),
        ];
        for (dof, q, p) in scipy {
            assert_close(chi_squared_tail(q, dof), p, 1e-12);
        }
        assert_close(chi_squared_tail(0.0, 3.0), 1.0, 0.0);
        assert_close(chi_squared_tail(f64::INFINITY, 3.0), 0.0, 0.0);
        assert!(chi_squared_tail(f64::NAN, 3.0).is_nan());
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

    /// `(n, r, p)` with `p` from
    /// `2 * scipy.stats.beta.sf(abs(r), n/2 - 1, n/2 - 1, loc=-1, scale=2)`, scipy 1.17.1, the
    /// expression by which `pearsonr` computes its p-value.
    const SCIPY: [(f64, f64, f64); 17] = [
        (3.0, 1e-9, 0.9999999993633801),
        (3.0, 0.3, 0.8060266319586434),
        (3.0, 0.999, 0.028472874812477744),
        (3.0, 0.999999999999, 9.003563345901841e-07),
        (4.0, 0.3, 0.7),
        (5.0, 0.75, 0.1442936128143875),
        (10.0, 0.0001, 0.9997812500021875),
        (10.0, 0.999, 4.369752187185576e-12),
        (30.0, 0.3, 0.1072459480579543),
        (100.0, 0.3, 0.0024257334625830294),
        (1000.0, 0.01, 0.752123840974831),
        (1000.0, 0.75, 2.370927239143664e-181),
        (10832.0, 1e-9, 0.9999999169682291),
        (10832.0, 0.01, 0.29802647735249665),
        (10832.0, 0.3, 4.1326585277768086e-224),
        (1000000.0, 0.0001, 0.9203444244856693),
        (1000000.0, 0.01, 1.5203198039925916e-23),
    ];

    #[test]
    fn p_values_agree_with_scipy() {
        for (n, r, p) in SCIPY {
            let tolerance = if r < 0.9999 && n < 1e5 { p * 1e-9 } else { 1e-9 };
            assert_close(two_sided_p(r, n - 2.0), p, tolerance);
            assert_close(two_sided_p(-r, n - 2.0), p, tolerance);
        }
    }

    /// For `r` close to 1, scipy itself loses digits because it rounds `(1 + r)/2`. The expected values are
    /// `mpmath.betainc(mpf(n - 2)/2, mpf(1)/2, 0, 1 - mpf(r)**2, regularized=True)`, 60 digits.
    #[test]
    fn keeps_its_digits_in_the_far_tail() {
        let mpmath = [
            (3.0, 0.999999999999, 9.003063578293236e-07),
            (30.0, 0.999999999999, 2.447764740682117e-165),
            (1000.0, 0.3, 3.037483380351122e-22),
            (10832.0, 0.3, 4.132658527777629e-224),
        ];
        for (n, r, p) in mpmath {
            assert_close(two_sided_p(r, n - 2.0), p, p * 1e-9);
        }
    }
}
