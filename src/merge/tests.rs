//! Merges more files than the program's tests create.

use std::path::Path;

use super::*;
use crate::detect::default_detectors;
use crate::scan::{ScanOptions, Scanner};

fn report(text: &str) -> FileReport {
    let scanner = Scanner::new(default_detectors(), ScanOptions::default()).unwrap();
    let file = scanner.scan_slice(Path::new("x"), text.as_bytes());
    let errors: Vec<String> = file.errors.iter().map(ToString::to_string).collect();
    FileReport::of(&file.summary, &errors, 0)
}

#[test]
fn many_files_are_summed_up_and_the_first_faults_are_named() {
    let (good, bad) = (report(r#"{"simulations": [{"id": "a", "messages": []}]}"#), report("{"));
    let files = |numbers: &mut dyn Iterator<Item = u32>| {
        let mut files = Files::default();
        for number in numbers {
            let report = if number % 500 == 7 { &bad } else { &good };
            files.add(Path::new(&format!("{number:06}.json")), true, report);
        }
        files
    };
    let most = 120_000;
    let whole = files(&mut (0..most));
    assert!(whole.listed().is_none());
    let sums = whole.sums().unwrap();
    assert_eq!(sums.parts, [119_760, 0, 240]);
    assert_eq!(sums.counts.runs, 119_760);
    assert_eq!(sums.faults().count(), 100);
    assert_eq!(sums.faults().next().unwrap().0, Path::new("000007.json"));
    // Each half is short enough to be listed; the whole is not.
    let mut merged = files(&mut (0..most / 2).rev());
    let other = files(&mut (most / 2..most));
    assert!(merged.listed().is_some() && other.listed().is_some());
    merged.merge(&other).unwrap();
    assert_eq!(merged, whole);
    // One part is already too long to be listed.
    let mut merged = files(&mut (0..1000));
    merged.merge(&files(&mut (1000..most).rev())).unwrap();
    assert_eq!(merged, whole);
    let json = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Files>(&json).unwrap(), whole);
    assert!(crate::report::render_files(&whole).starts_with("120000 files, 119760 runs\n"));
}
