//! Cohen's kappa: how far two raters agree beyond chance.
//!
//! With `p(i, j)` the share of items that the first rater labels i and the second j,
//!
//! ```text
//! κ = (po - pe)/(1 - pe),  po = Σ p(i, i),  pe = Σ p(i, +) p(+, i)
//! n (1 - pe)⁴ var = Σ p(i, i) ((1 - pe) - (p(i, +) + p(+, i))(1 - po))²
//!                 + (1 - po)² Σ over i ≠ j of p(i, j) (p(+, i) + p(j, +))² - (po pe - 2 pe + po)²
//! ci95 = κ ± 1.96 sd
//! ```
//!
//! References: Cohen, "A coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20 (1960);
//! standard deviation: Fleiss, Cohen & Everitt, Psychol. Bull. 72 (1969). Oracle:
//! `statsmodels.stats.inter_rater.cohens_kappa`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::distributions::normal_quantile;
use super::float;
use super::interval::Interval;

/// The result of [`cohens_kappa`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Kappa {
    /// The coefficient: 1 for full agreement, 0 for agreement at chance level, negative for less.
    pub kappa: f64,
    /// The number of items.
    pub n: u64,
    /// The standard deviation of `kappa`.
    pub sd: f64,
    /// The 95% interval of `kappa`, not clipped: its upper end can exceed 1.
    pub ci95: Interval,
    /// The share of items on which the raters agree.
    pub agreement: f64,
}

/// Returns Cohen's kappa for pairs of labels, one label from each rater.
///
/// Returns `None` for an empty input, or if only one label occurs.
///
/// ```
/// use wrongturn::stats::cohens_kappa;
///
/// let kappa = cohens_kappa([("x", "x"), ("x", "x"), ("x", "y"), ("y", "y")]).unwrap();
/// assert_eq!((kappa.kappa, kappa.n), (0.5, 4));
/// ```
#[must_use]
pub fn cohens_kappa<L: Ord>(pairs: impl IntoIterator<Item = (L, L)>) -> Option<Kappa> {
    let mut labels: BTreeMap<L, usize> = BTreeMap::new();
    let [mut rows, mut columns] = [const { BTreeMap::<usize, u64>::new() }; 2];
    let mut cells: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    let mut n = 0;
    for (first, second) in pairs {
        let [i, j] = [first, second].map(|label| {
            let next = labels.len();
            *labels.entry(label).or_insert(next)
        });
        for sum in [rows.entry(i).or_default(), columns.entry(j).or_default(), &mut n] {
            *sum += 1;
        }
        *cells.entry((i, j)).or_default() += 1;
    }
    let share = |count: u64| float(count) / float(n);
    let row = |category: usize| rows.get(&category).map_or(0.0, |count| share(*count));
    let column = |category: usize| columns.get(&category).map_or(0.0, |count| share(*count));
    let agreement: f64 = cells.iter().filter(|((i, j), _)| i == j).map(|(_, count)| share(*count)).sum();
    let by_chance: f64 = rows.keys().map(|category| row(*category) * column(*category)).sum();
    let rest = 1.0 - by_chance;
    if n == 0 || rest <= 0.0 {
        return None;
    }
    let kappa = (agreement - by_chance) / rest;
    let (mut on, mut off) = (0.0, 0.0);
    for ((i, j), count) in &cells {
        let p = share(*count);
        if i == j {
            on += p * (rest - (row(*i) + column(*i)) * (1.0 - agreement)).powi(2);
        } else {
            off += p * (column(*i) + row(*j)).powi(2);
        }
    }
    let excess = (agreement * by_chance - 2.0 * by_chance + agreement).powi(2);
    let variance = (on + (1.0 - agreement).powi(2) * off - excess) / (rest.powi(4) * float(n));
    let sd = variance.max(0.0).sqrt();
    let half_width = normal_quantile(0.975) * sd;
    let ci95 = Interval { low: kappa - half_width, high: kappa + half_width };
    Some(Kappa { kappa, n, sd, ci95, agreement })
}

#[cfg(test)]
#[expect(clippy::unreadable_literal, reason = "copied from statsmodels' output")]
mod tests {
    use super::super::assert_close;
    use super::*;

    /// Returns the pairs of labels of a table, with the first rater's labels as rows and the second's as
    /// columns.
    fn pairs(table: &[&[u64]]) -> Vec<(usize, usize)> {
        let of_row = |(i, row): (usize, &&[u64])| {
            let cells = row.iter().enumerate();
            cells.flat_map(|(j, count)| (0..*count).map(move |_| (i, j))).collect::<Vec<_>>()
        };
        table.iter().enumerate().flat_map(of_row).collect()
    }

    /// `cohens_kappa(table)`: `kappa`, `std_kappa`, `kappa_low`, `kappa_upp`, statsmodels 0.15.0
    #[test]
    fn agrees_with_statsmodels() {
        let tables: [(&[&[u64]], [f64; 4]); 4] = [
            (
                &[&[20, 5], &[10, 15]],
                [0.3999999999999999, 0.12699606293110033, 0.151092290476661, 0.6489077095233389],
            ),
            (
                &[&[45, 15], &[25, 15]],
                [0.13043478260869554, 0.0986615376234396, -0.06293827779258965, 0.3238078430099807],
            ),
            (
                &[&[30, 2], &[1, 67]],
                [0.9304911955514364, 0.039501794395577924, 0.8530691012113976, 1.0079132898914753],
            ),
            (
                &[&[10, 2, 1], &[3, 12, 4], &[0, 5, 9]],
                [0.5035971223021584, 0.10696803562194902, 0.2939436249861407, 0.713250619618176],
            ),
        ];
        for (table, expected) in tables {
            let found = cohens_kappa(pairs(table)).unwrap();
            let found = [found.kappa, found.sd, found.ci95.low, found.ci95.high];
            for (found, expected) in found.into_iter().zip(expected) {
                assert_close(found, expected, 1e-12);
            }
        }
    }

    #[test]
    fn ends() {
        assert_close(cohens_kappa([("x", "y")]).unwrap().kappa, 0.0, 0.0);
        assert_eq!(cohens_kappa([("x", "x")]), None);
        assert_eq!(cohens_kappa::<&str>([]), None);
        let perfect = cohens_kappa(pairs(&[&[5, 0], &[0, 5]])).unwrap();
        assert_eq!((perfect.kappa, perfect.sd, perfect.agreement), (1.0, 0.0, 1.0));
    }
}
