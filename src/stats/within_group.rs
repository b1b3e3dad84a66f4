//! Within-group correlation: the correlation that remains after each group is centred on its own means.
//!
//! ```text
//! r = C / sqrt(Mx * My)   with C, Mx, My summed over groups, each around the group's own means
//! p from Student's t with n - g - 1 degrees of freedom; ci95 = tanh(artanh(r) ± 1.96/sqrt(n - g - 2))
//! ```
//!
//! It is the partial correlation given the group. Its p-value is that of x in the regression of y on x and an
//! intercept per group. Groups of one contribute nothing and count neither in n nor in g.
//!
//! Reference: Fisher, "The distribution of the partial correlation coefficient", Metron 3 (1924).
//! Oracle: `numpy.corrcoef` of the group-centred columns, `statsmodels.api.OLS(y, [x, dummies])`.

use std::collections::BTreeMap;

use super::columns::{check_finite, check_lengths, deviations, pairs, scaled};
use super::{Correlation, StatsError, float, pearson};

/// Returns the correlation of `x` with `y` within groups. `group[i]` identifies the group of pair i.
/// Groups of one pair are ignored.
///
/// ```
/// use wrongturn::stats::{pearson, within_group};
///
/// // Two models: the one with the higher x has the lower y, yet y rises with x within each.
/// let x = [1.0, 2.0, 3.0, 11.0, 12.0, 13.0];
/// let y = [21.0, 22.0, 23.0, 1.0, 2.0, 3.0];
/// assert!(pearson(&x, &y)?.r < -0.9);
/// assert_eq!(within_group(&x, &y, &[0, 0, 0, 1, 1, 1])?.r, 1.0);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::LengthMismatch`] if the lengths differ, [`StatsError::NonFinite`] if a value is not finite,
/// [`StatsError::TooFew`] if no degree of freedom is left, and [`StatsError::ZeroVariance`] if a column is constant in
/// every group.
pub fn within_group(x: &[f64], y: &[f64], group: &[usize]) -> Result<Correlation, StatsError> {
    check_lengths(x, y, [group])?;
    check_finite(pairs(x, y))?;
    let mut groups: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for ((x, y), group) in scaled(x).into_iter().zip(scaled(y)).zip(group) {
        groups.entry(*group).or_default().push((x, y));
    }
    groups.retain(|_, pairs| pairs.len() > 1);
    let n: usize = groups.values().map(Vec::len).sum();
    let needed = groups.len() + 2;
    if n < needed || groups.is_empty() {
        return Err(StatsError::TooFew { n, needed: needed.max(3) });
    }
    let (x, y): (Vec<f64>, Vec<f64>) = groups.values().flat_map(|pairs| centred(pairs)).unzip();
    let r = pearson(&x, &y)?.r;
    let dof = float(n as u64) - float(groups.len() as u64) - 1.0;
    Ok(Correlation::of(r, n, dof))
}

/// Centres the pairs on their means.
fn centred(pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    deviations(&x).into_iter().zip(deviations(&y)).collect()
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::assert_close;
    use super::super::pearson::tests::{gen_x, gen_y};
    use super::*;

    /// `g = [i % 4 for i in range(60)]`, `x = X(60) + 3*g`, `y = Y(60) - 2*g`; `numpy.corrcoef` of the
    /// centred columns, `OLS(y, [x, dummies]).fit().pvalues[0]`, statsmodels 0.15.0.
    #[test]
    fn agrees_with_statsmodels() {
        let group: Vec<usize> = (0..60).map(|i| i % 4).collect();
        let shift = |column: Vec<f64>, by: f64| -> Vec<f64> {
            column.iter().zip(0_u32..).map(|(value, i)| value + by * f64::from(i % 4)).collect()
        };
        let (x, y) = (shift(gen_x(60, 0.0), 3.0), shift(gen_y(60, 0.0), -2.0));
        let within = within_group(&x, &y, &group).unwrap();
        assert_close(within.r, 0.37505450146072833, 1e-12);
        assert_close(within.p, 0.004045303822252762, 1e-9);
        assert_close(within.ci95.unwrap().low, 0.12688715535723014, 1e-9);
        assert_close(within.ci95.unwrap().high, 0.5790347835500451, 1e-9);
        // Over all pairs the sign is reversed.
        assert_close(pearson(&x, &y).unwrap().r, -0.19863959127254216, 1e-12);
    }

    #[test]
    fn one_group_is_pearsons_r_and_groups_of_one_do_not_count() {
        let (x, y) = (gen_x(50, 1e9), gen_y(50, 0.0));
        let plain = pearson(&x, &y).unwrap();
        let within = within_group(&x, &y, &[7; 50]).unwrap();
        assert_close(within.r, plain.r, 1e-15);
        assert_close(within.p, plain.p, 1e-12);
        let (mut x, mut y, mut group) = (x, y, vec![7; 50]);
        x.push(1e12);
        y.push(-1e12);
        group.push(1);
        assert_eq!(within_group(&x, &y, &group), Ok(within));
    }
}
