//! Writes whatever can be read in the native form, one JSON object per line.
//!
//! `cargo run --release --example convert -- --help`

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tracelint::{Alignment, Format, ReadOptions, ScanEvent, Trace, read_files, read_joined};

/// Writes recorded runs of any format in the native form, one JSON object per line.
///
/// Exit status: 0 when every file was read, 2 when some were not, 1 for wrong usage or when nothing could be read.
/// Example: convert --out traces.jsonl results/
#[derive(Parser)]
struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Format of the input; default: as its content says
    #[arg(long)]
    format: Option<Format>,
    /// What `obs` is in BenchTrace episodes (before, after); default: as each episode's first entry tells
    #[arg(long)]
    alignment: Option<Alignment>,
    /// All files are one source: the spans and log records of a trace meet wherever they lie. Files of other formats
    /// are read by themselves
    #[arg(long)]
    join: bool,
    /// Write to this file; default: standard output
    #[arg(long, value_name = "TRACES.jsonl")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    match common::parse() {
        Ok(arguments) => common::finish(run(&arguments)),
        Err(status) => status,
    }
}

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let read =
        ReadOptions { format: arguments.format, alignment: arguments.alignment, ..ReadOptions::default() };
    let mut out = match &arguments.out {
        Some(path) => Target::File(common::Output::create(path, &arguments.paths)?),
        None => Target::Standard(std::io::BufWriter::new(std::io::stdout().lock())),
    };
    let (mut files, mut traces, mut faults) = (0_u64, 0_u64, 0_u64);
    let mut path = Arc::from(PathBuf::new());
    let each = |event: ScanEvent<Trace>| -> Result<(), common::Failure> {
        match event {
            ScanEvent::Begin(begun) => path = begun,
            ScanEvent::Record(trace) => {
                traces += 1;
                let mut metadata = trace.metadata().clone();
                metadata.source.get_or_insert_with(|| path.display().to_string());
                out.write_all(&common::json_line(&trace.with_metadata(metadata))?)?;
            }
            ScanEvent::Error(error) => {
                faults += 1;
                writeln!(std::io::stderr(), "error: {error}")?;
            }
            ScanEvent::End(summary) => {
                files += 1;
                for (reason, count) in &summary.passed_over {
                    writeln!(std::io::stderr(), "{}: passed over: {count} {reason}", path.display())?;
                }
            }
            ScanEvent::NotRead { directory, files } => common::tell_not_read(&directory, files),
            _ => {}
        }
        Ok(())
    };
    if arguments.join {
        read_joined(&arguments.paths, &read, each)?;
    } else {
        read_files(&arguments.paths, &read, each)?;
    }
    match out {
        Target::File(file) => file.finish()?,
        Target::Standard(mut out) => out.flush()?,
    }
    if files == 0 || (faults > 0 && traces == 0) {
        return Err("nothing could be read".into());
    }
    Ok(if faults > 0 { 2 } else { 0 })
}

/// Where the traces go.
enum Target {
    File(common::Output),
    Standard(std::io::BufWriter<std::io::StdoutLock<'static>>),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(out) => out.flush(),
        }
    }
}
