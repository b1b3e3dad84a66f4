//! Benchmarks each detector alone on traces of 10^3 to 10^6 steps, with a repeating cycle or with distinct
//! keys. The cost of a step must not grow with the trace; on distinct keys, it may grow like that of an
//! insertion into a map.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use wrongturn::{Trace, default_detectors};

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A hasher like that of the maps that the detectors use, whose keys are hashes already.
#[derive(Default)]
struct TakeHalf(u64);

impl Hasher for TakeHalf {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _bytes: &[u8]) {}
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[derive(PartialEq, Eq)]
struct Key(u64, u64);

impl std::hash::Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

fn detectors(criterion: &mut Criterion) {
    for (shape, make) in [("cycle", generate::cycle as fn(u64) -> Trace), ("distinct", generate::distinct)] {
        for size in SIZES {
            let trace = make(size);
            let mut group = criterion.benchmark_group(shape);
            group.throughput(Throughput::Elements(size)).sample_size(10);
            for detector in default_detectors() {
                group.bench_with_input(BenchmarkId::new(detector.id(), size), &trace, |bencher, trace| {
                    bencher.iter(|| black_box(detector.detect(trace)));
                });
            }
            group.finish();
        }
    }
    let mut group = criterion.benchmark_group("map_insertion");
    for size in SIZES {
        group.throughput(Throughput::Elements(size)).sample_size(10);
        group.bench_with_input(BenchmarkId::from_parameter(size), &size, |bencher, &size| {
            bencher.iter(|| {
                let mut map: HashMap<Key, u32, BuildHasherDefault<TakeHalf>> = HashMap::default();
                let mut state = generate::Random(1);
                for _ in 0..size {
                    map.insert(Key(state.draw(), state.draw()), 0);
                }
                black_box(map.len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, detectors);
criterion_main!(benches);
