//! Scans a folder of recorded runs of any format and prints the findings:
//! `cargo run --example check_folder [PATHS…]`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use wrongturn::{
    Scanner, default_detectors,
    scan::{ScanEvent, ScanOptions},
};

fn main() -> wrongturn::Result<()> {
    let mut paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() {
        paths.push(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/tau2").into());
    }
    let scanner = Scanner::new(default_detectors(), ScanOptions::default())?;
    let (mut runs, mut flagged) = (0, 0);
    // Events come in the order of the paths, whatever the number of threads.
    scanner.scan(
        &paths,
        |_| {},
        |event| match event {
            ScanEvent::Record(record) => {
                runs += 1;
                let mut findings =
                    record.verdicts.iter().flat_map(|(_, verdict)| verdict.findings()).peekable();
                flagged += u32::from(findings.peek().is_some());
                for finding in findings {
                    let (run, first, last) = (record.trace_id(), finding.first, finding.last);
                    println!("{run}, steps {first}-{last}: {}: {}", finding.detector, finding.message);
                }
            }
            // A run that cannot be read does not stop the scan.
            ScanEvent::Error(error) => eprintln!("error: {error}"),
            _ => {}
        },
    )?;
    println!("{flagged} of {runs} runs flagged");
    Ok(())
}
