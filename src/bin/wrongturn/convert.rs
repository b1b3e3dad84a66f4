//! Writes whatever can be read in the native form, one JSON object per line.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common;
use crate::common::arguments::Reading;
use crate::common::inputs::Inputs;
use crate::common::output::Output;
use clap::Parser;
use wrongturn::{
    Trace,
    scan::{ScanEvent, read_files, read_joined},
};

/// Writes recorded runs of any format in the native form, one JSON object per line.
#[derive(Parser)]
#[command(after_help = common::notes(
    "runs of any format; directories are searched.",
    "the runs, one JSON object per line, on standard output or in a file, which replaces no input.",
    common::STATUS,
    "wrongturn convert golden/tau2 --out traces.jsonl",
))]
pub(crate) struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Write one JSON object per run to this file; default: standard output
    #[arg(long, value_name = "OUT.jsonl")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    let read = arguments.reading.options();
    let mut out = match &arguments.out {
        Some(path) => Target::File(Output::create(path, &arguments.paths)?),
        None => Target::Standard(std::io::BufWriter::new(std::io::stdout().lock())),
    };
    let (mut inputs, mut notes) = (Inputs::default(), String::new());
    let mut path = Arc::from(PathBuf::new());
    let each = |event: ScanEvent<Trace>| -> Result<(), common::Failure> {
        match event {
            ScanEvent::Begin(begun) => path = begun,
            ScanEvent::Record(trace) => {
                let mut metadata = trace.metadata().clone();
                metadata.source.get_or_insert_with(|| path.display().to_string());
                out.write_all(&common::json_line(&trace.with_metadata(metadata))?)?;
            }
            other => {
                if let ScanEvent::End(summary) = &other {
                    let name = path.display();
                    for (reason, count) in &summary.passed_over {
                        notes += &format!("note: {name}: passed over: {count} {reason}\n");
                    }
                    let wrongturn::trace::Unpaired { calls, messages, .. } = summary.unpaired;
                    if calls + messages > 0 {
                        notes += &format!(
                            "note: {name}: {calls} calls without an answer, {messages} answers without a call\n"
                        );
                    }
                    // The runs of spans are put together behind all files.
                    if summary.runs == 0 && summary.errors == 0 && !arguments.reading.join {
                        notes += &format!("note: {name}: no runs\n");
                    }
                }
                inputs.take(other);
            }
        }
        Ok(())
    };
    if arguments.reading.join {
        read_joined(&arguments.paths, &read, each)?;
    } else {
        read_files(&arguments.paths, &read, each)?;
    }
    match out {
        Target::File(file) => file.finish()?,
        Target::Standard(mut out) => out.flush()?,
    }
    let _ = std::io::stderr().write_all(notes.as_bytes());
    inputs.told()
}

/// Where the traces go.
enum Target {
    File(Output),
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
