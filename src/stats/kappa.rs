//! Cohen's kappa: how far two readers agree beyond chance.
//!
//! With `p(i, j)` the share of items that the first reader calls i and the second j,
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
//!
//! Errors: a table that is not square, no items. Kappa is undefined if both readers put all items into the same
//! category, since chance agreement is then 1.

use std::collections::BTreeMap;

use serde::Serialize;

use super::distributions::normal_quantile;
use super::interval::Interval;
use super::{StatsError, float};

/// The agreement of two readers beyond chance: [`cohens_kappa`], [`kappa_of_labels`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Kappa {
    /// The coefficient: 1 is full agreement, 0 is agreement by chance.
    pub kappa: f64,
    /// The number of items.
    pub n: u64,
    /// Its standard deviation.
    pub sd: f64,
    /// The 95% interval, as published: its upper end can exceed 1.
    pub ci95: Interval,
    /// The share of items on which the readers agree.
    pub agreement: f64,
}

/// Cohen's kappa of a square table of counts.
///
/// Rows are the first reader's categories, columns the second's. Returns `None` if both readers put all items into the
/// same category.
///
/// ```
/// use wrongturn::stats::cohens_kappa;
///
/// // 20 and 15 items that both call yes or both call no, 5 and 10 on which they differ.
/// let kappa = cohens_kappa(&[&[20, 5], &[10, 15]])?.unwrap();
/// assert!((kappa.kappa - 0.4).abs() < 1e-12);
/// # Ok::<(), wrongturn::stats::StatsError>(())
/// ```
///
/// # Errors
///
/// [`StatsError::InvalidArgument`] for a table that is not square, [`StatsError::TooFew`] without items.
pub fn cohens_kappa(table: &[&[u64]]) -> Result<Option<Kappa>, StatsError> {
    if table.iter().any(|row| row.len() != table.len()) {
        return Err(StatsError::InvalidArgument { name: "table", why: "must be square" });
    }
    let n = table.iter().copied().flatten().fold(0_u64, |sum, count| sum.saturating_add(*count));
    if n == 0 {
        return Err(StatsError::TooFew { n: 0, needed: 1 });
    }
    let cells = table.iter().enumerate().flat_map(|(i, row)| {
        row.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(j, count)| ((i, j), *count))
    });
    Ok(of_cells(&cells.collect()))
}

/// Returns Cohen's kappa for pairs of labels, one label from each reader.
///
/// Same as [`cohens_kappa`] for the table of labels. Returns `None` for an empty input, or if both readers give all
/// items the same label.
///
/// ```
/// use wrongturn::stats::kappa_of_labels;
///
/// let kappa = kappa_of_labels([("x", "x"), ("x", "x"), ("x", "y"), ("y", "y")]).unwrap();
/// assert_eq!((kappa.kappa, kappa.n), (0.5, 4));
/// ```
#[must_use]
pub fn kappa_of_labels<L: Ord>(pairs: impl IntoIterator<Item = (L, L)>) -> Option<Kappa> {
    let mut labels: BTreeMap<L, usize> = BTreeMap::new();
    let mut cells: Cells = BTreeMap::new();
    for (first, second) in pairs {
        let [first, second] = [first, second].map(|label| {
            let next = labels.len();
            *labels.entry(label).or_insert(next)
        });
        *cells.entry((first, second)).or_default() += 1;
    }
    of_cells(&cells)
}

/// The number of items for each pair of categories. Empty cells are left out.
type Cells = BTreeMap<(usize, usize), u64>;

fn of_cells(cells: &Cells) -> Option<Kappa> {
    let (mut rows, mut columns) = (BTreeMap::new(), BTreeMap::new());
    let mut n = 0_u64;
    for ((i, j), count) in cells {
        for (margin, category) in [(&mut rows, i), (&mut columns, j)] {
            let sum: &mut u64 = margin.entry(*category).or_default();
            *sum = sum.saturating_add(*count);
        }
        n = n.saturating_add(*count);
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
    for ((i, j), count) in cells {
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
            let found = cohens_kappa(table).unwrap().unwrap();
            let found = [found.kappa, found.sd, found.ci95.low, found.ci95.high];
            for (found, expected) in found.into_iter().zip(expected) {
                assert_close(found, expected, 1e-12);
            }
        }
    }

    #[test]
    fn labels_are_a_table() {
        let labels = ["loop", "blind", "format"];
        let table: [&[u64]; 3] = [&[10, 2, 1], &[3, 12, 4], &[0, 5, 9]];
        let pairs = table.iter().zip(labels).flat_map(|(row, first)| {
            let of_row = row.iter().zip(labels);
            of_row.flat_map(move |(count, second)| (0..*count).map(move |_| (first, second)))
        });
        let (found, expected) = (kappa_of_labels(pairs).unwrap(), cohens_kappa(&table).unwrap().unwrap());
        assert_eq!((found.n, found.agreement), (expected.n, expected.agreement));
        assert_close(found.kappa, expected.kappa, 1e-15);
        assert_close(found.sd, expected.sd, 1e-15);
        assert_close(kappa_of_labels([("x", "y")]).unwrap().kappa, 0.0, 0.0);
        assert_eq!(kappa_of_labels([("x", "x")]), None);
        assert_eq!(kappa_of_labels::<&str>([]), None);
    }

    #[test]
    fn ends() {
        assert_eq!(cohens_kappa(&[&[5, 0], &[0, 0]]), Ok(None));
        assert_eq!(cohens_kappa(&[]), Err(StatsError::TooFew { n: 0, needed: 1 }));
        assert_eq!(cohens_kappa(&[&[0, 0], &[0, 0]]), Err(StatsError::TooFew { n: 0, needed: 1 }));
        assert!(cohens_kappa(&[&[1, 2]]).is_err());
        let perfect = cohens_kappa(&[&[5, 0], &[0, 5]]).unwrap().unwrap();
        assert_eq!((perfect.kappa, perfect.sd, perfect.agreement), (1.0, 0.0, 1.0));
    }
}
