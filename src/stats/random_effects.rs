//! Random effects: pools the correlations of several groups.
//!
//! For k groups, with `z(i) = artanh(r(i))`, `v(i) = 1/(n(i) - 3)`, `w = 1/v` and z̄w the mean of z weighted
//! by w,
//!
//! ```text
//! Q = Σ w (z - z̄w)²,  τ² = max(0, (Q - (k - 1)) / (Σw - Σw²/Σw)),  I² = max(0, 1 - (k - 1)/Q)
//! u = 1/(v + τ²),  μ = Σ u z / Σ u
//! H = Σ u (z - μ)² / (k - 1),  interval: μ ± t(k - 1) sqrt(max(1, H) / Σ u),  and back by tanh
//! ```
//!
//! τ² is the variance of the true correlations between groups, on the scale of z; I² is its share of the
//! observed variance. Without the lower bound of 1 on H, groups that happen to be close together would give
//! an interval narrower than τ² alone implies.
//!
//! References: Fisher 1921 (z); DerSimonian & Laird, "Meta-analysis in clinical trials", Control. Clin.
//! Trials 7 (1986) (τ²); Hartung & Knapp, Stat. Med. 20 (2001), and Knapp & Hartung, Stat. Med. 22 (2003)
//! (interval and max(1, H)); Higgins & Thompson, Stat. Med. 21 (2002) (I²). Oracle:
//! `statsmodels.stats.meta_analysis.combine_effects(z, v, method_re="dl", use_t=True)`, the wider of its rows
//! "random effect" and "random effect wls" (scaled standard error).

use serde::Serialize;

use super::distributions::{chi_squared_tail, t_quantile};
use super::interval::Interval;
use super::{StatsError, float};

/// The result of [`random_effects()`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RandomEffects {
    /// The pooled correlation.
    pub r: f64,
    /// The 95% interval of `r` (Hartung and Knapp, never narrower than with τ² alone).
    pub ci95: Interval,
    /// The number of groups pooled.
    pub groups: u64,
    /// The number of groups excluded because r is not in (-1, 1) or n is at most 3.
    pub left_out: u64,
    /// Cochran's Q.
    pub q: f64,
    /// The p-value of Q under the null hypothesis that all groups have the same correlation.
    pub q_p: f64,
    /// I², the share of the observed variance that is between groups.
    pub i2: f64,
    /// τ², the variance of Fisher's z between groups.
    pub tau2: f64,
}

/// Pools the correlations of several groups, each given as `(r, n)` with n observations.
///
/// ```
/// use wrongturn::stats::random_effects;
///
/// let pooled = random_effects(&[(0.5, 40), (0.3, 60), (0.4, 50)])?;
/// assert_eq!(pooled.groups, 3);
/// assert!(pooled.ci95.low > 0.0 && pooled.i2 < 0.1, "all groups are alike");
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::TooFew`] if fewer than two groups have `|r| < 1` and `n > 3`.
pub fn random_effects(groups: &[(f64, usize)]) -> Result<RandomEffects, StatsError> {
    let effects: Vec<(f64, f64)> = groups
        .iter()
        .filter(|(r, n)| r.abs() < 1.0 && *n > 3)
        .map(|(r, n)| (r.atanh(), 1.0 / (float(*n as u64) - 3.0)))
        .collect();
    let k = effects.len();
    if k < 2 {
        return Err(StatsError::TooFew { n: k, needed: 2 });
    }
    let dof = float(k as u64) - 1.0;
    let weighted = |added: f64| {
        let weight: f64 = effects.iter().map(|(_, v)| 1.0 / (v + added)).sum();
        let mean = effects.iter().map(|(z, v)| z / (v + added)).sum::<f64>() / weight;
        let spread: f64 = effects.iter().map(|(z, v)| (z - mean).powi(2) / (v + added)).sum();
        (weight, mean, spread)
    };
    let (weight, _, q) = weighted(0.0);
    let squares: f64 = effects.iter().map(|(_, v)| 1.0 / (v * v)).sum();
    let tau2 = ((q - dof) / (weight - squares / weight)).max(0.0);
    let (weight, mean, spread) = weighted(tau2);
    let half_width = t_quantile(0.95, dof) * ((spread / dof).max(1.0) / weight).sqrt();
    Ok(RandomEffects {
        r: mean.tanh(),
        ci95: Interval { low: (mean - half_width).tanh(), high: (mean + half_width).tanh() },
        groups: k as u64,
        left_out: (groups.len() - k) as u64,
        q,
        q_p: chi_squared_tail(q, dof),
        i2: if q > 0.0 { (1.0 - dof / q).max(0.0) } else { 0.0 },
        tau2,
    })
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    const GROUPS: [(f64, usize); 7] =
        [(0.52, 16), (0.34, 150), (0.30, 88), (0.23, 222), (0.19, 117), (-0.05, 40), (0.11, 60)];

    /// `combine_effects(arctanh(r), 1/(n - 3), method_re="dl", use_t=True)`: `tau2`, `q`, `i2`,
    /// `mean_effect_re`, its `conf_int` from `sd_eff_w_re_hksj`; `chi2.sf(q, k - 1)`. statsmodels 0.15.0.
    #[test]
    fn agrees_with_statsmodels() {
        let pooled = random_effects(&GROUPS).unwrap();
        assert_close(pooled.tau2, 0.003996515355339229, 1e-12);
        assert_close(pooled.q, 8.12318446569678, 1e-9);
        assert_close(pooled.i2, 0.26137341515051526, 1e-12);
        assert_close(pooled.q_p, 0.22921673734626083, 1e-9);
        assert_close(pooled.r.atanh(), 0.23854619674901273, 1e-12);
        assert_close(pooled.ci95.low.atanh(), 0.11666952648158144, 1e-9);
        assert_close(pooled.ci95.high.atanh(), 0.360422867016444, 1e-9);
        assert_eq!((pooled.groups, pooled.left_out), (7, 0));

        let two = random_effects(&[(0.5, 20), (-0.2, 30)]).unwrap();
        assert_close(two.tau2, 0.2348508187122608, 1e-12);
        assert_close(two.r.atanh(), 0.15880184082751336, 1e-12);
        assert_close(two.ci95.low.atanh(), -4.615430730293589, 1e-6);
        assert_close(two.q_p, 0.015142242374175791, 1e-9);
    }

    /// statsmodels leaves τ² negative here. The expected values, computed in numpy, cut it off at 0, as published:
    /// `mu = sum(w*z)/sum(w); mu ± t.ppf(.975, 2)*sqrt(1/sum(w))`, because H is far below 1.
    #[test]
    fn groups_that_agree_have_no_variance_between_them() {
        let pooled = random_effects(&[(0.1, 50), (0.11, 60), (0.12, 70)]).unwrap();
        assert_eq!((pooled.tau2, pooled.i2), (0.0, 0.0));
        assert_close(pooled.r.atanh(), 0.11163838857755462, 1e-12);
        assert_close(pooled.q, 0.011443622122428167, 1e-12);
        assert_close(pooled.ci95.low.atanh(), -0.21739368928430855, 1e-9);
        assert_close(pooled.ci95.high.atanh(), 0.44067046643941776, 1e-9);
    }

    #[test]
    fn what_has_no_variance_is_left_out() {
        let mut groups = GROUPS.to_vec();
        groups.extend([(1.0, 9), (-1.0, 5), (0.9, 3), (f64::NAN, 50)]);
        let pooled = random_effects(&groups).unwrap();
        assert_eq!((pooled.groups, pooled.left_out), (7, 4));
        assert_close(pooled.r, random_effects(&GROUPS).unwrap().r, 0.0);
        assert_eq!(random_effects(&[(0.5, 20), (1.0, 20)]), Err(StatsError::TooFew { n: 1, needed: 2 }));
    }
}
