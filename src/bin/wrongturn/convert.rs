//! `wrongturn convert`: writes runs of any format in the native form, one JSON object per line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::arguments::Reading;
use crate::common::findings::counted;
use crate::common::output::Output;
use crate::common::{self, Failure};
use clap::Parser;
use wrongturn::scan::{ScanEvent, path_text};
use wrongturn::trace::Unpaired;

/// Writes recorded runs of any format in the native form, one JSON object per line.
#[derive(Parser)]
#[command(after_help = common::notes(
    "runs of any format; directories are searched.",
    "the runs, one JSON object per line, on standard output or in a file that is not an input.",
    "wrongturn convert golden/tau2 --out traces.jsonl",
))]
pub(crate) struct Arguments {
    /// Files or directories; `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Write one JSON object per run to this file
    #[arg(long, value_name = "OUT.jsonl", default_value = "-", hide_default_value = true)]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    common::output::protect(&arguments.paths)?;
    let mut out = Output::create(&arguments.out)?;
    let (mut path, mut notes) = (Arc::from(Path::new("")), Vec::new());
    let inputs = arguments.reading.read(&arguments.paths, |event| {
        match event {
            ScanEvent::Begin(begun) => path = begun,
            ScanEvent::Record(trace) => {
                let mut metadata = trace.metadata().clone();
                metadata.source.get_or_insert_with(|| path_text(path.as_os_str()).into_owned());
                out.write_all(common::json_line(&trace.with_metadata(metadata))?.as_bytes())?;
                if out.is_closed() {
                    return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
                }
            }
            ScanEvent::End(summary) => {
                let counts = summary.counts;
                let mut note = |what: String| notes.push(format!("note: {}: {what}", path.display()));
                for (reason, count) in &counts.passed_over {
                    note(format!("skipped {reason}: {count}"));
                }
                let Unpaired { calls, messages, .. } = counts.unpaired;
                for (count, what, which) in
                    [(calls, "call", "without an answer"), (messages, "answer", "without a call")]
                {
                    if count > 0 {
                        note(format!("{} {which}", counted(count, what)));
                    }
                }
                // With `--join`, runs come after all files, so no file has any yet.
                if counts.runs == 0 && counts.errors == 0 && !arguments.reading.join {
                    note("no runs".to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    inputs.keep_files_if_nothing_read();
    out.finish()?;
    for line in &notes {
        common::note(line);
    }
    inputs.finish()
}
