//! Collects errors and counts while inputs are read, and reports them on stderr after the results.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use wrongturn::{
    ErrorKind, Scanner, Trace,
    calibrate::run_of,
    merge::{FileReport, Files},
    read::Format,
    scan::{Progress, ScanEvent, TraceRecord, path_text},
};

use super::findings::counted;
use super::terminal::is_quiet;
use super::{Failure, MOST_ERRORS, UNREAD, Unread, note, output};

/// Maximum number of error messages kept for a file; further errors are only counted.
const ERRORS_KEPT: usize = 10;

const ENDINGS: usize = 4;

/// The files that were read, with errors and counts.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(crate) files: Files,
    /// The files of further scans, kept apart because a scan may read the same files again.
    further: Vec<Files>,
    /// The errors of the file that is being read.
    errors: Vec<String>,
    foreign: u64,
    /// Directories, each with the number of skipped files by extension.
    not_read: Vec<(PathBuf, BTreeMap<String, u64>)>,
}

impl Inputs {
    /// Records an event about a file, and ignores events about runs.
    pub(crate) fn take<T>(&mut self, event: &ScanEvent<T>) {
        match event {
            ScanEvent::Error(error) => {
                self.foreign += u64::from(error.kind() == ErrorKind::Format);
                if self.errors.len() < ERRORS_KEPT {
                    self.errors.push(error.to_string());
                }
            }
            ScanEvent::End(summary) => {
                let errors = std::mem::take(&mut self.errors);
                let report = FileReport::of(summary, &errors, std::mem::take(&mut self.foreign));
                self.files.add(&summary.path, summary.is_reachable, &report);
            }
            ScanEvent::NotRead { directory, endings, .. } => {
                self.not_read.push((directory.to_path_buf(), endings.clone()));
            }
            _ => {}
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.further.push(other.files);
        self.not_read.extend(other.not_read);
    }

    fn files(&self) -> impl Iterator<Item = &Files> {
        iter::once(&self.files).chain(&self.further)
    }

    /// Returns 0 if there are files and each was read without errors, otherwise [`UNREAD`].
    pub(crate) fn status(&self) -> u8 {
        let is_whole = self.files().all(|files| matches!(files.read_counts(), [_, 0, 0]));
        if is_whole && !self.is_nothing_read() { 0 } else { UNREAD }
    }

    /// Returns true if no file could be read, or if the files hold no run and some of their parts were skipped.
    pub(crate) fn is_nothing_read(&self) -> bool {
        self.is_unread() || self.is_all_skipped()
    }

    fn is_unread(&self) -> bool {
        self.files().all(|files| matches!(files.read_counts(), [0, 0, _]))
    }

    fn is_all_skipped(&self) -> bool {
        let listed = self.files().filter_map(Files::listed).flatten().map(|(_, report)| &report.counts);
        let mut counts = listed.chain(self.files().filter_map(Files::sums).map(|sums| &sums.counts));
        let mut is_skipped = false;
        let has_no_run = counts.all(|counts| {
            is_skipped |= !counts.passed_over.is_empty();
            counts.runs == 0
        });
        has_no_run && is_skipped
    }

    /// Returns the error if [`Inputs::is_nothing_read`].
    pub(crate) fn nothing_read(&self) -> Failure {
        let is_unread = self.is_unread();
        if is_unread {
            Unread::nothing_read()
        } else {
            Unread("no run was found in the inputs".into()).into()
        }
    }

    pub(crate) fn keep_files_if_nothing_read(&self) {
        if self.is_nothing_read() {
            output::keep_existing();
        }
    }

    /// Reports errors and skipped files on stderr.
    pub(crate) fn report(&self) {
        self.report_errors();
        self.tell_skipped();
    }

    /// Reports on stderr the first files with lines that are not JSON.
    pub(crate) fn tell_damaged(&self) {
        let listed = self.files.listed().into_iter().flatten();
        let damaged = listed.filter_map(|(path, report)| {
            Some((path, *report.counts.passed_over.get("lines that are not JSON")?))
        });
        for (path, lines) in damaged.take(MOST_ERRORS) {
            note(&format!("note: {}: {} skipped (not JSON)", path.display(), counted(lines, "line")));
        }
    }

    /// Reports on stderr the files that were skipped because of their extensions.
    pub(crate) fn tell_skipped(&self) {
        for (directory, endings) in &self.not_read {
            let files: u64 = endings.values().sum();
            note(&format!(
                "note: {}: {} ignored by extension ({}); name a file to read it",
                directory.display(),
                counted(files, "file"),
                most_frequent(endings)
            ));
        }
    }

    /// Like [`Inputs::report`], but returns the exit status, or an error if nothing could be read.
    pub(crate) fn finish(&self) -> Result<u8, Failure> {
        self.report();
        if self.is_nothing_read() { Err(self.nothing_read()) } else { Ok(self.status()) }
    }

    /// Prints the first errors of each file, up to [`MOST_ERRORS`] in total, and the number of further ones.
    fn report_errors(&self) {
        let (mut is_hinted, mut left, mut unreported) = (false, MOST_ERRORS, 0);
        for (path, errors, first) in self.files().flat_map(Files::faults) {
            let told = first.len().min(left);
            for error in first.iter().take(told) {
                let is_foreign = error.contains("unknown input format: ");
                let needs_hint = is_foreign && !std::mem::replace(&mut is_hinted, true);
                note(&format!(
                    "error: {error}{}",
                    if needs_hint { " (see `wrongturn formats`)" } else { "" }
                ));
            }
            left -= told;
            match errors.saturating_sub(told as u64) {
                0 => {}
                more if left > 0 => note(&format!("error: {}: {more} more", path.display())),
                more => unreported += more,
            }
        }
        report_more_errors(unreported);
    }
}

/// Makes the inputs of merged states, whose files earlier processes have read.
impl From<Files> for Inputs {
    fn from(files: Files) -> Self {
        Self { files, ..Self::default() }
    }
}

/// Lists the most frequent extensions, each with its number of files.
fn most_frequent(endings: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<(&String, &u64)> = endings.iter().collect();
    sorted.sort_by_key(|(ending, files)| (Reverse(**files), *ending));
    let mut named: Vec<String> = sorted
        .iter()
        .take(ENDINGS)
        .map(|(ending, files)| match ending.as_str() {
            "" => format!("{files} without one"),
            ending => format!("{files} .{ending}"),
        })
        .collect();
    let rest: u64 = sorted.iter().skip(ENDINGS).map(|(_, files)| **files).sum();
    if rest > 0 {
        named.push(format!("{rest} more"));
    }
    named.join(", ")
}

/// Scans, with a progress bar if stderr is a terminal. `map` runs on the reading threads. If `each` fails, the
/// scan continues without calling it, and returns that failure at the end.
pub(crate) fn scan<T: Send>(
    scanner: &Scanner,
    paths: &[PathBuf],
    map: impl Fn(TraceRecord) -> T + Sync,
    mut each: impl FnMut(T) -> Result<(), Failure> + Send,
) -> Result<Inputs, Failure> {
    let bar = if is_quiet() { ProgressBar::hidden() } else { ProgressBar::new(0) };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}") {
        bar.set_style(style);
    }
    let progress = |now: Progress| {
        bar.set_length(now.bytes_total);
        bar.set_position(now.bytes);
        bar.set_message(format!("{} runs", now.traces));
    };
    let mut inputs = Inputs::default();
    let mut failure: Option<String> = None;
    scanner.scan_map(paths, progress, map, |event| match event {
        ScanEvent::Record(record) => {
            if failure.is_none() {
                failure = each(record).err().map(|error| error.to_string());
            }
        }
        other => inputs.take(&other),
    })?;
    bar.finish_and_clear();
    match failure {
        Some(failure) => Err(failure.into()),
        None => Ok(inputs),
    }
}

fn report_more_errors(count: u64) {
    if count > 0 {
        note(&format!("error: {}", counted(count, "more error")));
    }
}

/// The errors of inputs that a command reads without a scan.
#[derive(Default)]
pub(crate) struct Faults(Vec<String>);

impl Faults {
    pub(crate) fn of(&mut self, path: &Path, errors: Vec<wrongturn::Error>) {
        self.0.extend(errors.into_iter().map(|error| error.in_file(path).to_string()));
    }

    pub(crate) fn push(&mut self, fault: String) {
        self.0.push(fault);
    }

    /// Runs a command, then reports its faults on stderr. The exit status is [`UNREAD`] if there are any.
    pub(crate) fn reported_after(run: impl FnOnce(&mut Self) -> Result<(), Failure>) -> Result<u8, Failure> {
        let mut faults = Self::default();
        let done = run(&mut faults);
        for fault in faults.0.iter().take(MOST_ERRORS) {
            note(&format!("error: {fault}"));
        }
        report_more_errors(faults.0.len().saturating_sub(MOST_ERRORS) as u64);
        done.map(|()| if faults.0.is_empty() { 0 } else { UNREAD })
    }
}

/// Finds a run in a file by its id, its position, or the name that `check` prints for a run without an id.
pub(crate) fn find_run<'r>(runs: &'r [Trace], file: &Path, name: &str) -> wrongturn::Result<&'r Trace> {
    run_of(runs, name).or_else(|error| {
        let stem = path_text(file.file_stem().unwrap_or_default());
        let position = name.strip_prefix(&*stem).filter(|rest| rest.starts_with('#'));
        position.and_then(|position| run_of(runs, position).ok()).ok_or(error)
    })
}

/// Returns the value by which a run is grouped: `model`, `agent`, `domain`, `task`, `format`, or the label
/// with this name.
pub(crate) fn group_name<'r>(record: &'r TraceRecord, by: &str) -> Option<&'r str> {
    let metadata = &record.metadata;
    match by {
        "model" => metadata.model.as_deref(),
        "agent" => metadata.agent.as_deref(),
        "domain" => metadata.domain.as_deref(),
        "task" => metadata.task.as_deref(),
        "format" => record.format.map(Format::name),
        label => metadata.labels.get(label).map(String::as_str),
    }
}
