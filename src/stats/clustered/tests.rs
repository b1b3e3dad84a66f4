use proptest::prelude::*;

use super::super::{Side, assert_close, pearson, within_group};
use super::*;

fn each(n: usize) -> Vec<usize> {
    (0..n).collect()
}

#[test]
fn what_cannot_be_summed_is_refused() {
    let nan = [1.0, f64::NAN, 2.0];
    let plain = [1.0, 2.0, 4.0];
    let error = StatsError::NonFinite { side: Side::Y, index: 1 };
    assert_eq!(ClusteredPearson::new(&plain, &nan, &each(3)).unwrap_err(), error);
    assert_eq!(ClusteredWithin::new(&plain, &nan, &[0; 3], &each(3)).unwrap_err(), error);
    let mismatch = StatsError::LengthMismatch { x: 3, y: 2 };
    assert_eq!(ClusteredPearson::new(&plain, &plain, &each(2)).unwrap_err(), mismatch);
    assert_eq!(ClusteredWithin::new(&plain, &plain, &[0; 2], &each(3)).unwrap_err(), mismatch);
    // A huge cluster number does not make a huge table.
    let statistic = ClusteredPearson::new(&plain, &plain, &[usize::MAX; 3]).unwrap();
    assert_eq!(statistic.estimate(), None);
}

#[test]
fn the_ends_of_the_range() {
    let huge = [1e308, -1e308, 1.7e308, 0.0];
    let statistic = ClusteredPearson::new(&huge, &[1.0, 2.0, 1.0, 5.0], &each(4)).unwrap();
    let r = pearson(&huge, &[1.0, 2.0, 1.0, 5.0]).unwrap().r;
    assert_close(statistic.estimate().unwrap(), r, 1e-12);
}

proptest! {
    #[test]
    fn estimates_are_those_of_the_plain_formulas(
        rows in proptest::collection::vec((-4..4_i8, -4..4_i8, 0..3_usize, 0..6_usize), 5..60),
        offset in prop::sample::select(vec![0.0, 1e6]),
    ) {
        let x: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 4.0 + offset).collect();
        let y: Vec<f64> = rows.iter().map(|row| f64::from(row.1)).collect();
        let group: Vec<usize> = rows.iter().map(|row| row.2).collect();
        let cluster: Vec<usize> = rows.iter().map(|row| row.3 % rows.len()).collect();
        let same = |found: Option<f64>, expected: Result<super::super::Correlation, StatsError>| {
            match (found, expected) {
                (Some(found), Ok(expected)) => (found - expected.r).abs() < 1e-9,
                // Only `within_group` drops groups of one, which may leave too few pairs.
                (None, Err(_)) | (Some(_), Err(StatsError::TooFew { .. })) => true,
                _ => false,
            }
        };
        let found = ClusteredPearson::new(&x, &y, &cluster).unwrap().estimate();
        prop_assert!(same(found, pearson(&x, &y)));
        let found = ClusteredWithin::new(&x, &y, &group, &cluster).unwrap().estimate();
        prop_assert!(same(found, within_group(&x, &y, &group)), "{:?}", found);
    }
}
