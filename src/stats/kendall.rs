//! Kendall's rank correlation: how closely two rankings of the same items agree.
//!
//! Of all pairs of items, `C` are in the same order in both rankings and `D` in opposite orders. `X` pairs
//! are not tied in the first ranking, and `Y` pairs are not tied in the second.
//!
//! ```text
//! τ-b = (C - D) / sqrt(X Y)
//! ```
//!
//! References: Kendall, "A new measure of rank correlation", Biometrika 30 (1938); with ties: "The treatment
//! of ties in ranking problems", Biometrika 33 (1945).

use serde::Serialize;

use super::columns::check_finite;
use super::{StatsError, float};

/// The result of [`kendall()`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Kendall {
    /// τ-b, in [-1, 1]; `None` with fewer than two items or if all items of one ranking are tied.
    pub tau_b: Option<f64>,
    /// The number of pairs in the same order in both rankings.
    pub concordant: u64,
    /// The number of pairs in opposite orders.
    pub discordant: u64,
}

/// Computes Kendall's τ-b for items, each given as its values in the two rankings. Takes quadratic time, which
/// is fast enough for a few thousand items.
///
/// ```
/// use wrongturn::stats::kendall;
///
/// let found = kendall(&[(0.35, 0.27), (0.50, 0.40), (0.30, 0.30)])?;
/// assert_eq!((found.concordant, found.discordant), (2, 1));
/// assert!((found.tau_b.unwrap() - 1.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::NonFinite`] if a value is NaN or infinite.
pub fn kendall(things: &[(f64, f64)]) -> Result<Kendall, StatsError> {
    check_finite(things.iter().copied())?;
    let (mut concordant, mut discordant, mut apart_x, mut apart_y) = (0, 0, 0, 0);
    for (place, (x, y)) in things.iter().enumerate() {
        for (other_x, other_y) in things.iter().skip(place + 1) {
            let (in_x, in_y) = (x.partial_cmp(other_x), y.partial_cmp(other_y));
            let is_apart = |order: Option<std::cmp::Ordering>| order.is_some_and(std::cmp::Ordering::is_ne);
            apart_x += u64::from(is_apart(in_x));
            apart_y += u64::from(is_apart(in_y));
            if is_apart(in_x) && is_apart(in_y) {
                if in_x == in_y { concordant += 1 } else { discordant += 1 }
            }
        }
    }
    let scale = float(apart_x).sqrt() * float(apart_y).sqrt();
    let tau_b = (scale > 0.0).then(|| ((float(concordant) - float(discordant)) / scale).clamp(-1.0, 1.0));
    Ok(Kendall { tau_b, concordant, discordant })
}

#[cfg(test)]
mod tests {
    use super::super::{Side, assert_close};
    use super::*;

    /// 5 concordant and 3 discordant pairs; in each ranking, 9 of the 10 pairs are not tied.
    #[test]
    fn ties_are_counted() {
        let found = kendall(&[(1.0, 3.0), (2.0, 1.0), (2.0, 2.0), (4.0, 2.0), (5.0, 5.0)]).unwrap();
        assert_close(found.tau_b.unwrap(), 2.0 / 9.0, 1e-15);
        assert_eq!((found.concordant, found.discordant), (5, 3));
        assert_eq!(kendall(&[(-0.0, 1.0), (0.0, 2.0)]).unwrap().tau_b, None, "zeros are equal");
    }

    #[test]
    fn ends() {
        assert_eq!(kendall(&[]).unwrap().tau_b, None);
        assert_eq!(kendall(&[(1.0, 1.0)]).unwrap().tau_b, None);
        assert_eq!(kendall(&[(1.0, 1.0), (1.0, 2.0)]).unwrap().tau_b, None);
        assert_eq!(kendall(&[(1.0, 4.0), (2.0, 3.0), (3.0, 2.0)]).unwrap().tau_b, Some(-1.0));
        let error = kendall(&[(1.0, 1.0), (1.0, f64::NAN)]).unwrap_err();
        assert_eq!(error, StatsError::NonFinite { side: Side::Y, index: 1 });
    }
}
