//! Benchmarks calibration on the bundled golden sets, and the bootstrap alone.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wrongturn::stats::{Outcome, f1_bootstrap};
use wrongturn::{
    calibrate::{CalibrationOptions, GoldenSet, calibrate},
    default_detectors,
    detect::ALL,
};

fn calibration(criterion: &mut Criterion) {
    let known: Vec<&str> = ALL.iter().map(|info| info.id).collect();
    let golden = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../golden"));
    let set = GoldenSet::load(&[golden], &known).unwrap_or_default();
    let mut group = criterion.benchmark_group("calibration");
    group.throughput(Throughput::Elements(set.entries().len() as u64)).sample_size(20);
    group.bench_function("bundled_sets", |bencher| {
        bencher.iter(|| black_box(calibrate(&set, &default_detectors(), &CalibrationOptions::default())));
    });
    group.finish();

    let outcomes: Vec<Outcome> =
        (0..1000).map(|i| Outcome { label: i % 2 == 0, predicted: i % 2 == 0 || i % 7 == 0 }).collect();
    let mut group = criterion.benchmark_group("bootstrap");
    group.throughput(Throughput::Elements(2000));
    group.bench_function("f1_1000_entries_2000_resamples", |bencher| {
        bencher.iter(|| black_box(f1_bootstrap(&outcomes, 2000, 0)));
    });
    group.finish();
}

criterion_group!(benches, calibration);
criterion_main!(benches);
