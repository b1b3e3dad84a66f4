//! Renders the files of a scan: how much was read, and how much was not.

use std::path::Path;

use super::cell::Cell;
use super::cell::counted;
use super::table::TEXT_WIDTH;
use super::table::Table;
use super::wrap::wrapped;
use crate::merge::{FileReport, FileSums, Files, total};
use crate::read::ReadCounts;
use crate::scan::path_text;

/// Maximum number of runs without an action that are named per file.
const NAMED: usize = 5;

/// Returns a line of at most 80 characters for each file, with the end of its path, followed by indented lines about
/// the parts that were not used. A last line counts files of unknown format, if any. Returns sums if no files are
/// listed.
#[must_use]
pub fn render_files(files: &Files) -> String {
    match (files.listed(), files.sums()) {
        (Some(listed), _) => {
            let lines = listed.iter().map(|(path, report)| line(&path_text(path.as_os_str()), report));
            let mut text: String = lines.collect();
            let foreign =
                listed.iter().filter(|(_, report)| report.foreign > 0 && report.counts.runs == 0).count();
            if foreign > 0 {
                text += &format!("of unknown format: {foreign} of {} files\n", listed.len());
            }
            text
        }
        (None, Some(sums)) => summed(sums),
        (None, None) => String::new(),
    }
}

fn line(path: &str, file: &FileReport) -> String {
    let counts = &file.counts;
    let format = match (file.format(), counts.runs, counts.errors) {
        (Some(format), ..) => format.name(),
        (None, 0, 0) => "no runs of its own",
        (None, 0, _) if file.foreign > 0 => match file.unread_format() {
            Some(name) => &format!("{name} (not read)"),
            None => "no known format",
        },
        (None, 0, _) => "not read",
        (None, ..) => "several formats",
    };
    let what = format!("{format}, {}", runs(counts));
    // The end of a path identifies the file, so the start is cut.
    let room = TEXT_WIDTH.saturating_sub(what.chars().count() + 2);
    let named = file.without_actions().take(NAMED).collect::<Vec<_>>().join(", ");
    let more = if counts.runs_without_actions > NAMED as u64 { ", …" } else { "" };
    format!("{}: {what}\n{}", end_of(path, room), left_over(counts, &format!(": {named}{more}")))
}

/// Returns the number of runs that were read, and of those that could not be read.
fn runs(counts: &ReadCounts) -> String {
    let mut text = counted(counts.runs, "run");
    if counts.runs_lost > 0 {
        text += &format!(", {} not readable", counts.runs_lost);
    }
    text
}

/// Returns lines about runs without an action, skipped parts, unread calls, and unpaired calls and answers.
fn left_over(counts: &ReadCounts, without_action: &str) -> String {
    let mut text = String::new();
    if counts.runs_without_actions > 0 {
        let line =
            format!("{} without an action{without_action}", counted(counts.runs_without_actions, "run"));
        text += &format!("  {}\n", wrapped(&line, TEXT_WIDTH - 4).join("\n    "));
    }
    for (reason, count) in &counts.passed_over {
        text += &format!("  skipped {reason}: {count}\n");
    }
    for (count, what, which) in [
        (counts.unread_calls, "call", "not read"),
        (counts.unpaired.calls, "call", "without an answer"),
        (counts.unpaired.messages, "answer", "without a call"),
    ] {
        if count > 0 {
            text += &format!("  {} {which}\n", counted(count, what));
        }
    }
    text
}

/// Returns the end of a path, in at most `width` characters.
fn end_of(path: &str, width: usize) -> String {
    let more = path.chars().count().saturating_sub(width);
    if more == 0 {
        path.to_owned()
    } else {
        format!("…{}", path.chars().skip(more + 1).collect::<String>())
    }
}

fn summed(sums: &FileSums) -> String {
    let mut text = format!("{}, {}\n", counted(total(sums.parts), "file"), runs(&sums.counts));
    for (format, count) in &sums.formats {
        let format = if format.is_empty() { "no format" } else { format };
        text += &format!("  {format}: {}\n", counted(*count, "file"));
    }
    let [_, some, none] = sums.parts;
    if some > 0 || none > 0 {
        text += &format!("  with errors: {some} files read in part, {none} not read\n");
    }
    text + &left_over(&sums.counts, "")
}

/// Maximum number of incompletely read files that a page lists.
const LISTED: usize = 200;

/// Returns the files that were not read in full, each with its first error.
pub(super) fn unread_table(files: &Files) -> Table {
    let mut table = Table::new(
        "unread",
        "Files that could not be read completely",
        &["file | runs=runs read # | errors # | reason=first error"],
    );
    let mut row = |path: &Path, runs: Option<u64>, errors: u64, first: Option<&str>| {
        let path = path_text(path.as_os_str());
        table.row([
            Cell::text(path.clone()),
            Cell::of(runs, Cell::Count),
            Cell::Count(errors),
            Cell::of(first, |error| Cell::text(reason(&path, error))),
        ]);
    };
    for (path, file) in files.listed().unwrap_or_default() {
        if file.counts.errors > 0 {
            row(path, Some(file.counts.runs), file.counts.errors, file.first_errors().next());
        }
    }
    for (path, errors, first) in files.sums().into_iter().flat_map(FileSums::faults) {
        row(path, None, errors, first);
    }
    table.rows.truncate(LISTED);
    let more = unread(files).saturating_sub(table.rows.len() as u64);
    if more > 0 {
        table.note(format!("{} more could not be read completely.", counted(more, "file")));
    }
    table
}

pub(super) fn unread(files: &Files) -> u64 {
    if let Some(listed) = files.listed() {
        listed.iter().filter(|(_, file)| file.counts.errors > 0).count() as u64
    } else {
        let [_, some, none] = files.read_counts();
        some.saturating_add(none)
    }
}

fn reason<'e>(path: &str, error: &'e str) -> &'e str {
    let rest = error.strip_prefix(path).and_then(|rest| rest.strip_prefix(':'));
    rest.map_or(error, str::trim_start)
}
