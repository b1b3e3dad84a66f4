//! Tests against scipy 1.17.1. Columns come from `gen_x` and `gen_y`, in Python
//! `X = lambda n, o=0: [o + (37*i % 101)/7 for i in range(n)]` and
//! `Y = lambda n, o=0: [o + (53*i*i % 97)/11 + (37*i % 101)/40 for i in range(n)]`.

#![expect(clippy::unreadable_literal, reason = "copied from scipy's output")]
#![expect(clippy::float_cmp, reason = "some results must be exact")]

use proptest::prelude::*;

use super::super::{ClusterStatistic, assert_close};
use super::*;

pub(in crate::stats) fn gen_x(n: u32, offset: f64) -> Vec<f64> {
    (0..n).map(|i| offset + f64::from(37 * i % 101) / 7.0).collect()
}

pub(in crate::stats) fn gen_y(n: u32, offset: f64) -> Vec<f64> {
    let term = |i: u32| f64::from(53 * (i * i % 97) % 97) / 11.0;
    (0..n).map(|i| offset + term(i) + f64::from(37 * i % 101) / 40.0).collect()
}

/// Checks `pearson` against `pearsonr(x, y)` and its `confidence_interval()`.
#[track_caller]
fn agrees(x: &[f64], y: &[f64], r: f64, p: f64, ci95: Option<(f64, f64)>) {
    let actual = pearson(x, y).unwrap();
    assert_close(actual.r, r, 1e-12);
    assert_close(actual.p, p, 1e-9);
    assert_eq!(actual.n, x.len());
    assert_eq!(actual.ci95.is_some(), ci95.is_some());
    if let (Some(actual), Some((low, high))) = (actual.ci95, ci95) {
        assert_close(actual.low, low, 1e-12);
        assert_close(actual.high, high, 1e-12);
    }
}

/// Returns the accumulator over shards of the given size, merged from last to first.
fn sharded(x: &[f64], y: &[f64], size: usize) -> PearsonAccumulator {
    let mut whole = PearsonAccumulator::new();
    for (x, y) in x.chunks(size).zip(y.chunks(size)).rev() {
        let mut shard = PearsonAccumulator::new();
        for (&x, &y) in x.iter().zip(y) {
            shard.push(x, y).unwrap();
        }
        whole.merge(&shard);
    }
    whole
}

#[test]
fn small_samples() {
    // pearsonr([1, 2, 3, 4, 5], [2, 1, 4, 3, 7])
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let interval = Some((-0.2129343655851342, 0.9880137261479831));
    agrees(&x, &[2.0, 1.0, 4.0, 3.0, 7.0], 0.8241633836921339, 0.08613863131395952, interval);
    // pearsonr([1, 2, 4], [3, -1, 2]); scipy reports the interval as (-1, 1)
    agrees(&[1.0, 2.0, 4.0], &[3.0, -1.0, 2.0], -0.05241424183609591, 0.9666167600124101, None);
}

#[test]
fn large_samples() {
    // pearsonr(X(50), Y(50))
    let interval = Some((0.18558033368192922, 0.6408036901981792));
    let (r, p) = (0.44114055629815796, 0.0013429169980130862);
    agrees(&gen_x(50, 0.0), &gen_y(50, 0.0), r, p, interval);
    // pearsonr(X(10000), Y(10000))
    let interval = Some((0.23716505701311172, 0.2738055770834175));
    let (r, p) = (0.2555770892552213, 6.89817633402323e-149);
    agrees(&gen_x(10_000, 0.0), &gen_y(10_000, 0.0), r, p, interval);
}

#[test]
fn common_offsets() {
    // pearsonr(X(50, 1e9), Y(50, 1e9))
    let interval = Some((0.18558033807979002, 0.6408036928826008));
    let (r, p) = (0.4411405599665114, 0.0013429168590256546);
    agrees(&gen_x(50, 1e9), &gen_y(50, 1e9), r, p, interval);
    // pearsonr(X(10000, 1e9), Y(10000, 1e9))
    let interval = Some((0.23716505720562572, 0.27380557727211247));
    let (r, p) = (0.25557708944588464, 6.898172733278132e-149);
    agrees(&gen_x(10_000, 1e9), &gen_y(10_000, 1e9), r, p, interval);
}

#[test]
fn collinear_columns_are_exactly_one() {
    // pearsonr([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    agrees(&x, &[2.0, 4.0, 6.0, 8.0, 10.0], 1.0, 0.0, Some((1.0, 1.0)));
    // pearsonr([1, 2, 3, 4], [-1, -2, -3, -4])
    agrees(&x[..4], &[-1.0, -2.0, -3.0, -4.0], -1.0, 0.0, Some((-1.0, -1.0)));
    // With three pairs, scipy's r is two floats below 1, and its p is therefore 1.3e-8.
    let exact = pearson(&[1.0, 2.0, 4.0], &[3.0, 6.0, 12.0]).unwrap();
    assert_eq!(exact, Correlation { r: 1.0, n: 3, p: 0.0, ci95: None });
}

#[test]
fn extreme_scales() {
    // pearsonr([a*1e100 for a in X(50)], [b*1e-100 for b in Y(50)])
    let x: Vec<f64> = gen_x(50, 0.0).iter().map(|a| a * 1e100).collect();
    let y: Vec<f64> = gen_y(50, 0.0).iter().map(|b| b * 1e-100).collect();
    let interval = Some((0.18558033368192922, 0.6408036901981792));
    agrees(&x, &y, 0.44114055629815796, 0.0013429169980130862, interval);

    // Scaling to either end of the range changes nothing.
    let (plain, other) = ([1.0, 2.0, 4.0], [3.0, -1.0, 2.0]);
    let expected = pearson(&plain, &other).unwrap();
    for extreme in [2.0_f64.powi(1021), 2.0_f64.powi(-1022), f64::from_bits(1)] {
        let scaled = plain.map(|value| value * extreme);
        assert_eq!(pearson(&scaled, &other), Ok(expected));
        assert_eq!(pearson(&other, &scaled), Ok(expected));
        assert_eq!(pearson(&scaled, &scaled).unwrap().r, 1.0);
    }
    let ends = [-f64::MAX, f64::MAX, 0.0];
    assert_eq!(pearson(&ends, &ends.map(|value| -value)).unwrap().r, -1.0);
}

#[test]
fn refusals() {
    let plain = [1.0, 2.0, 4.0];
    assert_eq!(pearson(&plain, &[1.0]), Err(StatsError::LengthMismatch { x: 3, y: 1 }));
    for n in 0..3 {
        let error = StatsError::TooFew { n, needed: 3 };
        assert_eq!(pearson(&plain[..n], &plain[..n]), Err(error.clone()));
        assert_eq!(sharded(&plain[..n], &plain[..n], 1).correlation(), Err(error));
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let column = [1.0, 2.0, bad];
        assert_eq!(pearson(&column, &plain), Err(StatsError::NonFinite { side: Side::X, index: 2 }));
        assert_eq!(pearson(&plain, &column), Err(StatsError::NonFinite { side: Side::Y, index: 2 }));
    }
    // The computed mean of three values of 0.1 is not 0.1, so a computed variance would not be 0.
    let constant = [0.1; 3];
    assert_eq!(pearson(&constant, &plain), Err(StatsError::ZeroVariance { side: Side::X }));
    assert_eq!(pearson(&plain, &constant), Err(StatsError::ZeroVariance { side: Side::Y }));
    assert_eq!(pearson(&constant, &constant), Err(StatsError::ZeroVariance { side: Side::X }));
    assert_eq!(pearson(&[0.0, -0.0, 0.0], &plain), Err(StatsError::ZeroVariance { side: Side::X }));
}

#[test]
fn a_refused_pair_is_not_added() {
    let mut pairs = PearsonAccumulator::new();
    pairs.push(1.0, 2.0).unwrap();
    let before = pairs.clone();
    assert_eq!(pairs.push(1.0, f64::NAN), Err(StatsError::NonFinite { side: Side::Y, index: 1 }));
    assert_eq!(pairs.push(2e6, 0.0), Err(StatsError::OutOfRange { side: Side::X, index: 1 }));
    assert_eq!(pairs, before);
    pairs.merge(&PearsonAccumulator::new());
    assert_eq!(pairs, before);
    assert_eq!(pairs.count(), 1);
}

proptest! {
    #[test]
    fn any_partition_has_the_same_bits_and_agrees_with_the_columns(
        pairs in proptest::collection::vec((0..9_u8, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64]), 3..80),
        offset in prop::sample::select(vec![0.0, 1e3, -1e5]),
        size in 1..80_usize,
    ) {
        let x: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0) / 3.0 + offset).collect();
        let y: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
        let merged = sharded(&x, &y, size);
        prop_assert_eq!(&merged, &sharded(&x, &y, 1));
        match (pearson(&x, &y), merged.correlation()) {
            (Ok(batch), Ok(merged)) => prop_assert!((batch.r - merged.r).abs() < 1e-10),
            (batch, merged) => prop_assert_eq!(batch.is_ok(), merged.is_ok()),
        }
        let clusters: Vec<usize> = (0..x.len()).map(|place| place / 3).collect();
        let parts: Vec<_> = x.chunks(3).zip(y.chunks(3)).map(|(x, y)| sharded(x, y, 3)).collect();
        let of_sums = PearsonAccumulator::clustered(&parts).estimate();
        let of_pairs = ClusteredPearson::new(&x, &y, &clusters).unwrap().estimate();
        prop_assert_eq!(of_sums.is_some(), of_pairs.is_some());
        if let Some((one, other)) = of_sums.zip(of_pairs) {
            prop_assert!((one - other).abs() < 1e-6, "{one} {other}");
        }
    }
}
