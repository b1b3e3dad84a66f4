//! Writes the traces of files as native JSON lines.
use std::io::Write;
use std::process::ExitCode;
use tracelint::{ReadOptions, read_traces};

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let mut failed = false;
    for path in std::env::args_os().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else {
            failed = true;
            continue;
        };
        let (traces, reading) = read_traces(&bytes, &ReadOptions::default());
        failed |= traces.is_empty();
        for error in &reading.errors {
            eprintln!("{error}");
        }
        if std::env::var_os("SHOW").is_some() {
            eprintln!("{:?} {:?}", reading.format, reading.passed_over);
        }
        for trace in traces {
            if serde_json::to_writer(&mut out, &trace).is_err() || writeln!(out).is_err() {
                return ExitCode::from(1);
            }
        }
    }
    ExitCode::from(u8::from(failed))
}
