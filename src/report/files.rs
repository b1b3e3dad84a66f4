//! What was read of the files of a scan, and what of it was not judged.

use super::cell::counted;
use crate::partial::{FileReport, FileSums, Files};

/// How many runs without an action are named of a file.
const NAMED: usize = 5;

/// The files of a scan as text, a line each; as sums where there are too many.
#[must_use]
pub fn render_files(files: &Files) -> String {
    match (files.listed(), files.sums()) {
        (Some(listed), _) => {
            let lines = listed.iter().map(|(path, report)| line(&path.to_string_lossy(), report));
            let mut text: String = lines.collect();
            let foreign = listed.iter().filter(|(_, report)| report.foreign > 0 && report.runs == 0).count();
            if foreign > 0 {
                text += &format!("of no known format: {foreign} of {} files\n", listed.len());
            }
            text
        }
        (None, Some(sums)) => summed(sums),
        (None, None) => String::new(),
    }
}

fn line(path: &str, file: &FileReport) -> String {
    let format = match (file.format(), file.runs, file.errors) {
        (Some(format), ..) => format.name(),
        (None, 0, 0) => "no runs of its own",
        (None, 0, _) if file.foreign > 0 => "no known format",
        (None, 0, _) => "not read",
        (None, ..) => "several formats",
    };
    let mut text = format!("{path}: {format}, {}", counted(file.runs, "run"));
    if file.runs_lost > 0 {
        text += &format!(", {} not readable", file.runs_lost);
    }
    text += "\n";
    if file.runs_without_actions > 0 {
        let named = file.without_actions().take(NAMED).collect::<Vec<_>>().join(", ");
        let more = if file.runs_without_actions > NAMED as u64 { ", …" } else { "" };
        text +=
            &format!("  {} without an action: {named}{more}\n", counted(file.runs_without_actions, "run"));
    }
    for (reason, count) in &file.passed_over {
        text += &format!("  passed over: {count} {reason}\n");
    }
    text
}

fn summed(sums: &FileSums) -> String {
    let [whole, some, none] = sums.parts;
    let all = whole.saturating_add(some).saturating_add(none);
    let mut text = format!("{}, {}", counted(all, "file"), counted(sums.runs, "run"));
    if sums.runs_lost > 0 {
        text += &format!(", {} not readable", sums.runs_lost);
    }
    text += "\n";
    for (format, count) in &sums.formats {
        let format = if format.is_empty() { "no format" } else { format };
        text += &format!("  {format}: {}\n", counted(*count, "file"));
    }
    if some > 0 || none > 0 {
        text += &format!("  with errors: {some} files read in part, {none} not read\n");
    }
    if sums.runs_without_actions > 0 {
        text += &format!("  {} without an action\n", counted(sums.runs_without_actions, "run"));
    }
    for (reason, count) in &sums.passed_over {
        text += &format!("  passed over: {count} {reason}\n");
    }
    text
}
