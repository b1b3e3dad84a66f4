//! Benchmarks reading and scanning of generated tau2 results, against the floor: parsing and ignoring every
//! value.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;
use serde::de::IgnoredAny;
use wrongturn::{Scanner, default_detectors, scan::ScanOptions};

/// Enough files to keep two threads busy.
const FILES: u64 = 8;
const RUNS: u64 = 60;

fn scan(criterion: &mut Criterion) {
    let files: Vec<Vec<u8>> = (0..FILES).map(|seed| generate::tau2_file(seed, RUNS)).collect();
    let bytes = files.iter().map(|file| file.len() as u64).sum();
    let mut group = criterion.benchmark_group("tau2");
    group.throughput(Throughput::Bytes(bytes)).sample_size(20);
    group.bench_function("parse_floor", |bencher| {
        bencher.iter(|| {
            for file in &files {
                let mut parser = serde_json::Deserializer::from_slice(file);
                black_box(IgnoredAny::deserialize(&mut parser)).ok();
            }
        });
    });
    let Ok(scanner) = Scanner::new(default_detectors(), ScanOptions::default()) else { return };
    group.bench_function("scan_in_memory", |bencher| {
        bencher.iter(|| {
            for file in &files {
                black_box(scanner.scan_slice(Path::new("bench.json"), file));
            }
        });
    });

    let folder = std::env::temp_dir().join(format!("wrongturn-bench-{}", std::process::id()));
    if std::fs::create_dir_all(&folder).is_ok() {
        for (number, file) in files.iter().enumerate() {
            std::fs::write(folder.join(format!("{number}.json")), file).ok();
        }
        for threads in [1, 2] {
            let options = ScanOptions { threads: Some(threads), ..ScanOptions::default() };
            let Ok(scanner) = Scanner::new(default_detectors(), options) else { return };
            group.bench_function(format!("scan_files/{threads}"), |bencher| {
                bencher.iter(|| black_box(scanner.collect(std::slice::from_ref(&folder))));
            });
        }
        std::fs::remove_dir_all(&folder).ok();
    }
    group.finish();
}

/// Benchmarks lines of an unknown format, on which every signature is tried.
fn recognise(criterion: &mut Criterion) {
    let line = |number| {
        format!("{{\"user_id\":\"u{number}\",\"name\":\"Ann\",\"reviews\":{number},\"useful\":3}}\n")
    };
    let lines: String = (0..2000).map(line).collect();
    let Ok(scanner) = Scanner::new(default_detectors(), ScanOptions::default()) else { return };
    let mut group = criterion.benchmark_group("recognition");
    group.throughput(Throughput::Bytes(lines.len() as u64)).sample_size(20);
    group.bench_function("foreign_lines", |bencher| {
        bencher.iter(|| black_box(scanner.scan_slice(Path::new("bench.jsonl"), lines.as_bytes())));
    });
    group.finish();
}

criterion_group!(benches, scan, recognise);
criterion_main!(benches);
