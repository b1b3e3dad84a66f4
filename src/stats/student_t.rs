//! The two-sided p-value of a correlation coefficient.
//!
//! If the true correlation is 0, `t = r * sqrt(v / (1 - r²))` follows Student's t with `v = n - 2`
//! degrees of freedom (Fisher 1915), so with `x = 1 - r²`, `y = r²` and `a = v / 2`
//!
//! ```text
//! p = P(|T| >= |t|) = I_x(a, 1/2) = 1 - I_y(1/2, a)
//! ```
//!
//! where `I` is the regularized incomplete beta function. Both forms share the factor
//! `s = |r| * x^a * Γ(a + 1/2) / (Γ(a) * Γ(1/2))`; the first is a continued fraction that converges
//! fast in the tail (`t² >= 2`), the second a series of positive terms that converges fast in the
//! middle, each within about 100 terms at any number of degrees of freedom.
//!
//! References: NIST Digital Library of Mathematical Functions, 8.17.8 (series) and 5.11(iii) (ratio
//! of gamma functions); Didonato & Morris, "Algorithm 708", ACM TOMS 18 (1992), equation 9
//! (continued fraction). Oracle: the exact distribution of r that `scipy.stats.pearsonr` uses.
//!
//! Errors: none. A p-value below the smallest float is 0.

use std::f64::consts::PI;

/// More than either expansion needs for 16 digits.
const MAX_TERMS: u32 = 500;

/// The probability that a sample from uncorrelated normal columns has a coefficient at least as far
/// from 0 as `r`, which lies in [-1, 1], at `dof >= 1` degrees of freedom.
pub(super) fn two_sided_p(r: f64, dof: f64) -> f64 {
    let y = r * r;
    let x = (1.0 - r) * (1.0 + r);
    if x <= 0.0 {
        return 0.0;
    }
    let half_dof = dof / 2.0;
    let ln_x = if y < 0.5 { (-y).ln_1p() } else { x.ln() };
    let scale = r.abs() * (half_dof * ln_x).exp() * gamma_ratio(half_dof) / PI.sqrt();
    let p = if dof * y < 2.0 * x {
        1.0 - 2.0 * scale * central_series(half_dof, y)
    } else {
        scale / tail_fraction(half_dof, x, y)
    };
    p.clamp(0.0, 1.0)
}

/// `Γ(a + 1/2) / Γ(a)` for `a >= 1/2`: the recurrence up to 20, from there the expansion in even
/// powers of `w = a - 1/4`.
fn gamma_ratio(a: f64) -> f64 {
    let mut shifted = a;
    let mut factor = 1.0;
    while shifted < 20.0 {
        factor *= shifted / (shifted + 0.5);
        shifted += 1.0;
    }
    let w = shifted - 0.25;
    let u = 1.0 / (w * w);
    let tail = 631.0 / 524_288.0 - u * 174_317.0 / 134_217_728.0;
    let series = 1.0 + u * (1.0 / 64.0 + u * (-19.0 / 8192.0 + u * tail));
    factor * w.sqrt() * series
}

/// The hypergeometric series `F(a + 1/2, 1; 3/2; y)`.
fn central_series(a: f64, y: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for m in (0..MAX_TERMS).map(f64::from) {
        term *= y * (a + 0.5 + m) / (1.5 + m);
        sum += term;
        if term < sum * (f64::EPSILON / 4.0) {
            break;
        }
    }
    sum
}

/// The continued fraction of Algorithm 708 with `b = 1/2`, by Lentz's method.
fn tail_fraction(a: f64, x: f64, y: f64) -> f64 {
    let lambda_1 = (a + 0.5) * y + 0.5;
    let mut value = a / (a + 1.0) * lambda_1;
    let mut upper = value;
    let mut lower = 0.0;
    for m in (1..=MAX_TERMS).map(f64::from) {
        let odd = a + 2.0 * m - 1.0;
        let shrink = m * (0.5 - m) * x / odd;
        let alpha = (a + m - 1.0) * (a + m - 0.5) / odd * shrink * x;
        let beta = m + shrink + (a + m) / (odd + 2.0) * (lambda_1 + m * (1.0 + y));
        lower = 1.0 / (beta + alpha * lower);
        upper = beta + alpha / upper;
        let step = upper * lower;
        value *= step;
        if (step - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
mod tests {
    use proptest::prelude::*;

    use super::super::assert_close;
    use super::*;

    /// `(n, r, p)` with `p` from
    /// `2 * scipy.stats.beta.sf(abs(r), n/2 - 1, n/2 - 1, loc=-1, scale=2)`, scipy 1.17.1, the
    /// expression by which `pearsonr` computes its p-value.
    const SCIPY: [(f64, f64, f64); 33] = [
        (3.0, 1e-9, 0.9999999993633801),
        (3.0, 0.01, 0.9936336961682538),
        (3.0, 0.3, 0.8060266319586434),
        (3.0, 0.75, 0.46010691232523176),
        (3.0, 0.999, 0.028472874812477744),
        (3.0, 0.999999999999, 9.003563345901841e-07),
        (4.0, 1e-9, 0.9999999989999999),
        (4.0, 0.3, 0.7),
        (4.0, 0.999999999999, 1.000088900582341e-12),
        (5.0, 1e-9, 0.9999999987267604),
        (5.0, 0.3, 0.6238376647810728),
        (5.0, 0.75, 0.1442936128143875),
        (5.0, 0.999999999999, 1.2005818357232447e-18),
        (10.0, 0.0001, 0.9997812500021875),
        (10.0, 0.3, 0.39969146874999995),
        (10.0, 0.75, 0.012477874755859375),
        (10.0, 0.999, 4.369752187185576e-12),
        (30.0, 0.3, 0.1072459480579543),
        (30.0, 0.75, 1.8300624544331087e-06),
        (30.0, 0.999999999999, 2.451572162436547e-165),
        (100.0, 0.01, 0.9213405732475624),
        (100.0, 0.3, 0.0024257334625830294),
        (100.0, 0.999, 4.420504874719765e-134),
        (1000.0, 1e-9, 0.99999997480023),
        (1000.0, 0.01, 0.752123840974831),
        (1000.0, 0.75, 2.370927239143664e-181),
        (10832.0, 1e-9, 0.9999999169682291),
        (10832.0, 0.0001, 0.9916969734426753),
        (10832.0, 0.01, 0.29802647735249665),
        (10832.0, 0.3, 4.1326585277768086e-224),
        (1000000.0, 1e-9, 0.9999992021163705),
        (1000000.0, 0.0001, 0.9203444244856693),
        (1000000.0, 0.01, 1.5203198039925916e-23),
    ];

    #[test]
    fn agrees_with_scipy() {
        for (n, r, p) in SCIPY {
            let relative = if r < 0.9999 { p * 1e-11 } else { 1e-9 };
            assert_close(two_sided_p(r, n - 2.0), p, relative.min(1e-9));
            assert_close(two_sided_p(-r, n - 2.0), p, relative.min(1e-9));
        }
    }

    /// Close to 1 scipy itself loses digits, as it rounds `(1 + r)/2`. Here
    /// `mpmath.betainc(mpf(n - 2)/2, mpf(1)/2, 0, 1 - mpf(r)**2, regularized=True)`, 60 digits.
    #[test]
    fn keeps_its_digits_in_the_far_tail() {
        let mpmath = [
            (3.0, 0.999999999999, 9.003063578293236e-07),
            (3.0, 0.9999999999999999, 9.486373847239932e-09),
            (4.0, 0.999999999999, 9.999778782798785e-13),
            (5.0, 0.999999999999, 1.2003819220051227e-18),
            (30.0, 0.999999999999, 2.447764740682117e-165),
            (10.0, 0.999, 4.369752187187515e-12),
            (100.0, 0.999, 4.420504874743802e-134),
            (1000.0, 0.3, 3.037483380351122e-22),
            (10832.0, 0.3, 4.132658527777629e-224),
        ];
        for (n, r, p) in mpmath {
            assert_close(two_sided_p(r, n - 2.0), p, p * 2e-13);
        }
    }

    /// Closed forms: `1 - 2/π asin(r)` at one degree of freedom, `1 - r` at two.
    #[test]
    fn agrees_with_the_closed_forms() {
        for r in (0..1000).map(|i| f64::from(i) / 1000.0) {
            let angle = 2.0 / PI * (1.0 - r).sqrt().atan2((1.0 + r).sqrt());
            assert_close(two_sided_p(r, 1.0), 2.0 * angle, 4e-15);
            assert_close(two_sided_p(r, 2.0), 1.0 - r, 4e-15);
        }
    }

    #[test]
    fn ends_of_the_range() {
        for dof in [1.0, 2.0, 1e3, 1e18] {
            assert_close(two_sided_p(1.0, dof), 0.0, 0.0);
            assert_close(two_sided_p(-1.0, dof), 0.0, 0.0);
            assert_close(two_sided_p(0.0, dof), 1.0, 0.0);
        }
    }

    proptest! {
        #[test]
        fn both_expansions_meet(dof in 1_u32..10_000_000) {
            let dof = f64::from(dof);
            let r = (2.0 / (dof + 2.0)).sqrt();
            let below = two_sided_p(r * (1.0 - 1e-14), dof);
            let above = two_sided_p(r * (1.0 + 1e-14), dof);
            prop_assert!((below - above).abs() < 1e-13, "{} {}", below, above);
        }

        #[test]
        fn is_a_probability_that_falls_with_distance(
            r in 0.0..1.0_f64, nearer in 0.0..1.0_f64, dof in 1_u32..100_000,
        ) {
            let p = two_sided_p(r, dof.into());
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!(two_sided_p(r * nearer, dof.into()) >= p - 1e-14);
        }
    }
}
