#![expect(clippy::unreadable_literal, reason = "copied from scipy's output")]

use proptest::prelude::*;

use super::super::pearson::tests::{gen_x, gen_y};
use super::super::{Resampling, Side, assert_close, cluster_bootstrap, pearson, within_group};
use super::*;

fn each(n: usize) -> Vec<usize> {
    (0..n).collect()
}

/// `scipy.stats.bootstrap((X(40), Y(40)), r, paired=True, n_resamples=100000, rng=1)`, `method="BCa"`
/// and `"percentile"`; the tolerance is four standard errors of a 2.5% quantile from 10,000.
#[test]
fn the_interval_of_r_agrees_with_scipy() {
    let statistic = ClusteredPearson::new(&gen_x(40, 0.0), &gen_y(40, 0.0), &each(40)).unwrap();
    let options = Resampling { resamples: 10_000, ..Resampling::default() };
    let found = cluster_bootstrap(&statistic, &options).unwrap();
    let (bca, percentile) = (found.bca.unwrap(), found.percentile.unwrap());
    assert_close(bca.low, 0.27659364512686113, 0.02);
    assert_close(bca.high, 0.7333707256045379, 0.012);
    assert_close(percentile.low, 0.2889409451574238, 0.02);
    assert_close(percentile.high, 0.7402276046882893, 0.012);
}

#[test]
fn copies_of_a_run_widen_nothing_where_they_are_one_cluster() {
    let (x, y) = (gen_x(40, 0.0), gen_y(40, 0.0));
    let width = |x: &[f64], y: &[f64], cluster: &[usize]| {
        let statistic = ClusteredPearson::new(x, y, cluster).unwrap();
        let interval = cluster_bootstrap(&statistic, &Resampling::default()).unwrap().percentile.unwrap();
        interval.high - interval.low
    };
    let (x4, y4): (Vec<f64>, Vec<f64>) = (x.repeat(4), y.repeat(4));
    let once = width(&x, &y, &each(40));
    assert_close(width(&x4, &y4, &each(40).repeat(4)), once, 1e-9);
    assert!(width(&x4, &y4, &each(160)) < 0.6 * once);
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
                // Where every group but one has one member, no degree of freedom may be left.
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
