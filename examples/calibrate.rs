//! Measures a detector on labelled runs: `cargo run --example calibrate [GOLDEN…]`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use wrongturn::{
    calibrate::{CalibrationOptions, GoldenSet, calibrate},
    default_detectors,
    report::{Detail, calibration_document},
};

fn main() {
    let mut paths: Vec<_> = std::env::args_os().skip(1).map(Into::into).collect();
    if paths.is_empty() {
        paths.push(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/loop.jsonl").into());
    }
    let detectors: Vec<_> =
        default_detectors().into_iter().filter(|detector| detector.id() == "loop").collect();
    match GoldenSet::load(&paths, &["loop"]) {
        Ok(golden) => {
            let report = calibrate(&golden, &detectors, &CalibrationOptions::default());
            print!("{}", calibration_document(&report, &[]).text(Detail::Short));
        }
        // The errors of all golden entries, each with its file and line.
        Err(errors) => errors.iter().for_each(|error| eprintln!("error: {error}")),
    }
}
