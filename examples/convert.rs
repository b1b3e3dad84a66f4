//! Converts recorded runs to the native form: one JSON object per line, on standard output.
//!
//! `cargo run --release --example convert -- [--join] FILE...`
//!
//! With `--join` the spans and log records of all files are one source. Ends with 1 where nothing could be read, with
//! 2 where something could not.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::io::Write;
use std::process::ExitCode;

use tracelint::{ReadOptions, Reading, SpanJoin, TraceCollector, read_slice};

fn main() -> ExitCode {
    let (flags, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let join = flags.iter().any(|flag| flag == "--join");
    let options = ReadOptions::default();
    let mut collector = TraceCollector::default();
    let mut faults = 0;
    let mut inputs = Vec::new();
    for file in &files {
        match std::fs::read(file) {
            Ok(bytes) => inputs.push((file, bytes)),
            Err(error) => {
                eprintln!("{file}: {error}");
                faults += 1;
            }
        }
    }
    let mut tell = |file: &str, reading: &Reading| {
        for error in &reading.errors {
            eprintln!("{file}: {error}");
        }
        for (reason, count) in &reading.passed_over {
            eprintln!("{file}: {count} {reason}");
        }
        faults += reading.faults;
    };
    let mut joined = SpanJoin::new(options.clone());
    for (file, bytes) in &inputs {
        match if join { joined.add(bytes) } else { None } {
            Some(reading) => tell(file, &reading),
            None => tell(file, &read_slice(bytes, &options, &mut collector)),
        }
    }
    if join {
        tell("all files", &joined.finish(&mut collector));
    }
    let mut out = std::io::stdout().lock();
    for trace in &collector.traces {
        let written = serde_json::to_writer(&mut out, trace).map_err(std::io::Error::from);
        if written.and_then(|()| out.write_all(b"\n")).is_err() {
            return ExitCode::FAILURE;
        }
    }
    match (collector.traces.is_empty(), faults) {
        (true, _) => ExitCode::FAILURE,
        (false, 0) => ExitCode::SUCCESS,
        (false, _) => ExitCode::from(2),
    }
}
