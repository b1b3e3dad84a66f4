//! What the command-line examples share: exit statuses, progress, the report of what could not be read.

#![allow(dead_code, reason = "no example uses all of it")]

pub(crate) mod tables;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tracelint::{FileScan, Progress, Result, Scanner};

/// Any failure that ends the program: wrong usage, or output that cannot be written.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Parses the command line; wrong usage ends with exit status 1.
pub(crate) fn parse<A: clap::Parser>() -> std::result::Result<A, ExitCode> {
    A::try_parse().map_err(|error| {
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS }
    })
}

/// Ends with the exit status of `run`; a failure is told on stderr and ends with 1.
pub(crate) fn finish(run: std::result::Result<u8, Failure>) -> ExitCode {
    match run {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

/// What became of one input, for the reader and for the summary.
#[derive(Debug, Serialize)]
pub(crate) struct Input {
    pub(crate) file: String,
    pub(crate) format: Option<&'static str>,
    pub(crate) runs_read: usize,
    pub(crate) runs_skipped: usize,
    pub(crate) errors: Vec<String>,
}

impl Input {
    fn of(file: &FileScan) -> Self {
        Self {
            file: file.path.display().to_string(),
            format: file.format.map(tracelint::Format::name),
            runs_read: file.traces.len(),
            runs_skipped: file.errors.iter().filter(|error| error.run().is_some()).count(),
            errors: file.errors.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The exit status: 0 when every file was read, 2 when some were not, 1 when nothing could be read.
pub(crate) fn status(inputs: &[Input]) -> u8 {
    let read = |input: &Input| input.errors.is_empty();
    if inputs.iter().all(read) {
        u8::from(inputs.is_empty())
    } else {
        let some = inputs.iter().any(|input| read(input) || input.runs_read > 0);
        if some { 2 } else { 1 }
    }
}

/// Scans with a progress bar on stderr where that is a terminal. Errors go to stderr as they come.
pub(crate) fn scan(
    scanner: &Scanner,
    paths: &[PathBuf],
    mut each: impl FnMut(FileScan) + Send,
) -> Result<Vec<Input>> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}") {
        bar.set_style(style);
    }
    let mut inputs = Vec::new();
    let progress = |now: Progress| {
        bar.set_length(now.bytes_total);
        bar.set_position(now.bytes);
        bar.set_message(format!("{} runs", now.traces));
    };
    scanner.scan(paths, progress, |file| {
        for error in &file.errors {
            bar.suspend(|| eprintln!("error: {error}"));
        }
        inputs.push(Input::of(&file));
        each(file);
    })?;
    bar.finish_and_clear();
    Ok(inputs)
}

/// A file that is written line by line.
pub(crate) fn create(path: &Path) -> std::result::Result<BufWriter<File>, Failure> {
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(BufWriter::new(file))
}

/// Writes a value as indented JSON.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> std::result::Result<(), Failure> {
    let mut out = create(path)?;
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
