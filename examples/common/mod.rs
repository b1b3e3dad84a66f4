//! What the command-line examples share: exit statuses, progress, output that is whole or not there, the report of
//! what could not be read.

#![allow(dead_code, reason = "no example uses all of it")]

#[cfg(feature = "html")]
pub(crate) mod parts;
#[cfg(feature = "html")]
pub(crate) mod records;
#[cfg(feature = "html")]
pub(crate) mod replicated;
pub(crate) mod tables;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tracelint::{ErrorKind, FileReport, FileSums, Files, Progress, ScanEvent, Scanner, TraceRecord};

/// Any failure that ends the program: wrong usage, or output that cannot be written.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// Exit statuses of examples that read runs.
pub(crate) const STATUS: &str = "Exit status: 0 when every input was read; 2 when some was not, which is told on standard \
                                 error with its place; 1 for wrong usage, or when nothing could be read.";

/// What stands under the options of every help: what goes in, what comes out, how it ends, and a line to try.
pub(crate) fn notes(inputs: &str, outputs: &str, status: &str, example: &str) -> String {
    format!("Inputs: {inputs}\n\nOutputs: {outputs}\n\n{status}\n\nExample: {example}")
}

/// Parses the command line, with help for 80 columns; wrong usage ends with exit status 1.
pub(crate) fn parse<A: clap::Parser>() -> Result<A, ExitCode> {
    let matches = A::command().max_term_width(80).try_get_matches();
    matches.and_then(|matches| A::from_arg_matches(&matches)).map_err(|error| {
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(1) } else { ExitCode::SUCCESS }
    })
}

/// Ends with the exit status of `run`; a failure is told on stderr and ends with 1. Where nobody reads the output any
/// more there is nobody to tell.
pub(crate) fn finish(run: Result<u8, Failure>) -> ExitCode {
    match run {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_closed_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(1)
        }
    }
}

fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let own = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let json = error.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
    own.or(json) == Some(io::ErrorKind::BrokenPipe)
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The width of the terminal, or what suits a file.
pub(crate) fn width() -> usize {
    console::Term::stdout().size_checked().map_or(120, |(_, columns)| usize::from(columns))
}

/// What became of one input, for a summary in JSON.
#[derive(Debug, Serialize)]
struct Input {
    file: String,
    format: Option<&'static str>,
    runs_read: u64,
    runs_skipped: u64,
    runs_without_actions: u64,
    passed_over: tracelint::PassedOver,
    /// The first of them.
    errors: Vec<String>,
}

/// The inputs for a summary in JSON: each by itself, or sums where there are too many.
pub(crate) fn inputs(files: &Files) -> impl Serialize {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Inputs<'f> {
        Listed(Vec<Input>),
        Summed(Option<&'f FileSums>),
    }
    let Some(listed) = files.listed() else { return Inputs::Summed(files.sums()) };
    let input = |(path, report): (&Path, &'_ FileReport)| Input {
        file: path.display().to_string(),
        format: report.format().map(tracelint::Format::name),
        runs_read: report.runs,
        runs_skipped: report.runs_lost,
        runs_without_actions: report.runs_without_actions,
        passed_over: report.passed_over.clone(),
        errors: report.first_errors().map(str::to_owned).collect(),
    };
    Inputs::Listed(listed.into_iter().map(input).collect())
}

/// How many errors of a file are told.
const TOLD: usize = 10;

/// The exit status: 0 when every file was read, 2 when some were not, 1 when nothing could be read.
pub(crate) fn status<'f>(files: impl IntoIterator<Item = &'f Files>) -> u8 {
    let sum = |[whole, some, none]: [u64; 3], files: &Files| {
        let [more_whole, more_some, more_none] = files.read_how_far();
        [whole.saturating_add(more_whole), some.saturating_add(more_some), none.saturating_add(more_none)]
    };
    match files.into_iter().fold([0; 3], sum) {
        [whole, 0, 0] if whole > 0 => 0,
        [0, 0, _] => 1,
        _ => 2,
    }
}

/// Scans with a progress bar on stderr where that is a terminal. The first errors of each file go to stderr as they
/// come, the others as a count. `map` is done by the threads that read; a failure of `each` is the first thing that
/// is given back.
pub(crate) fn scan<T: Send>(
    scanner: &Scanner,
    paths: &[PathBuf],
    map: impl Fn(TraceRecord) -> T + Sync,
    mut each: impl FnMut(T) -> Result<(), Failure> + Send,
) -> Result<Files, Failure> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}") {
        bar.set_style(style);
    }
    let mut files = Files::default();
    let progress = |now: Progress| {
        bar.set_length(now.bytes_total);
        bar.set_position(now.bytes);
        bar.set_message(format!("{} runs", now.traces));
    };
    let mut failure: Option<String> = None;
    let mut closed = false;
    let mut errors = Vec::new();
    let (mut foreign, mut told_formats) = (0, false);
    scanner.scan_map(paths, progress, map, |event| match event {
        ScanEvent::Record(record) => {
            if failure.is_none()
                && !closed
                && let Err(error) = each(record)
            {
                closed = is_closed_pipe(&*error);
                failure = (!closed).then(|| error.to_string());
            }
        }
        ScanEvent::Error(error) => {
            foreign += u64::from(error.kind() == ErrorKind::Format);
            let is_told = errors.len() < TOLD;
            if is_told {
                let mut told = error.to_string();
                // What each format would have wanted is told once.
                if error.kind() == ErrorKind::Format && std::mem::replace(&mut told_formats, true) {
                    told.truncate(told.find("; ").unwrap_or(told.len()));
                }
                bar.suspend(|| {
                    let _ = writeln!(io::stderr(), "error: {told}");
                });
                errors.push(error.to_string());
            }
        }
        ScanEvent::End(summary) => {
            let told = errors.len() as u64;
            if summary.errors > told {
                let more = summary.errors - told;
                bar.suspend(|| {
                    let _ = writeln!(io::stderr(), "error: {}: {more} more", summary.path.display());
                });
            }
            let report = FileReport::of(&summary, &std::mem::take(&mut errors), std::mem::take(&mut foreign));
            files.add(&summary.path, summary.is_reachable, &report);
        }
        ScanEvent::NotRead { directory, files } => bar.suspend(|| tell_not_read(&directory, files)),
        _ => {}
    })?;
    bar.finish_and_clear();
    if closed {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
    }
    match failure {
        Some(failure) => Err(failure.into()),
        None => Ok(files),
    }
}

/// Says on stderr that files of a directory were not read.
pub(crate) fn tell_not_read(directory: &Path, files: u64) {
    let what = if files == 1 { "file is" } else { "files are" };
    let _ = writeln!(
        io::stderr(),
        "note: {}: {files} {what} not read, by name; name a file itself to read it",
        directory.display()
    );
}

/// A file that is there whole or not at all: it is written beside its place, and takes it when it is complete.
pub(crate) struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Begins a file. It must not be one of the inputs, nor lie in one.
    pub(crate) fn create(path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let place = |error: io::Error| format!("{}: {error}", path.display());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let real = fs::canonicalize(&folder).map_err(place)?;
        let name = path.file_name().ok_or_else(|| format!("{}: not the name of a file", path.display()))?;
        let target = fs::canonicalize(path).unwrap_or_else(|_| real.join(name));
        for input in inputs {
            if let Ok(input_place) = fs::canonicalize(input)
                && target.starts_with(&input_place)
            {
                let how = if target == input_place { "is" } else { "lies in" };
                return Err(
                    format!("{}: the output {how} the input {}", path.display(), input.display()).into()
                );
            }
        }
        // Devices and pipes take what they are given at once.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path).map_err(place)?;
            return Ok(Self {
                path: path.to_path_buf(),
                temporary: PathBuf::new(),
                file: Some(BufWriter::new(file)),
            });
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = folder.join(hidden);
        let file = File::create(&temporary).map_err(place)?;
        Ok(Self { path: path.to_path_buf(), temporary, file: Some(BufWriter::with_capacity(1 << 17, file)) })
    }

    /// Puts the file in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.file = None;
        if !self.temporary.as_os_str().is_empty() {
            fs::rename(&self.temporary, &self.path)
                .map_err(|error| format!("{}: {error}", self.path.display()))?;
            self.temporary = PathBuf::new();
        }
        Ok(())
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_mut().map_or(Ok(0), |file| file.write(bytes));
        written.map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| self.named(&error))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes a value as indented JSON.
pub(crate) fn write_json(path: &Path, inputs: &[PathBuf], value: &impl Serialize) -> Result<(), Failure> {
    let mut out = Output::create(path, inputs)?;
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.finish()
}

/// A value as a line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(value).map_err(|error| error.to_string())?;
    line.push(b'\n');
    Ok(line)
}

/// Tells errors of a file on stderr: the exit status that they ask for.
pub(crate) fn told(path: &Path, errors: &[tracelint::Error]) -> u8 {
    for error in errors {
        let _ = writeln!(io::stderr(), "error: {}: {error}", path.display());
    }
    if errors.is_empty() { 0 } else { 2 }
}
