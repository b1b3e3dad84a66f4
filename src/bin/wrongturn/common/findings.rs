//! Renders the text of a check: the worst runs with their findings, then a paragraph about all runs.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

use console::Style;
use wrongturn::merge::{Files, FlaggedRun, ScanPart};
use wrongturn::scan::path_text;

use super::terminal::{cut, name, styled, wrapped};

const HEADING: Style = Style::new().bold();
const DETECTOR: Style = Style::new().yellow();
const QUIET: Style = Style::new().dim();

const FINDINGS_OF_A_RUN: usize = 4;

const LINES_OF_A_MESSAGE: usize = 3;

/// Renders the flagged runs and totals of a scan, in lines of at most `width` columns.
pub(crate) fn render(part: &ScanPart, runs: &[&FlaggedRun], width: usize) -> String {
    let listed = part.files.listed().unwrap_or_default();
    let alone: HashSet<&Path> =
        listed.into_iter().filter(|(_, report)| report.counts.runs == 1).map(|(path, _)| path).collect();
    let is_alone = |run: &FlaggedRun| alone.contains(&*run.file);
    let mut text: String = runs.iter().map(|run| render_run(run, is_alone(run), width)).collect();
    let shown = u64::try_from(runs.len()).unwrap_or(u64::MAX);
    let flagged = part.summary.flagged();
    if flagged > shown && shown > 0 {
        let line = format!(
            "… and {} (most steps in findings first; --output has all)\n\n",
            counted(flagged - shown, "more flagged run")
        );
        text += &styled(&line, &QUIET);
    }
    let [whole, some, _] = part.files.read_counts();
    // If nothing was read, an error is reported instead of totals.
    if whole + some == 0 { text } else { text + &totals(part, width) }
}

/// Renders the heading of a run, and its findings. Omits the id of a run that is `alone` in a file named after it.
fn render_run(run: &FlaggedRun, alone: bool, width: usize) -> String {
    let file = path_text(run.file.as_os_str());
    let stem = run.file.file_stem().unwrap_or_default().to_string_lossy();
    // A run without an id is named after its file and its position in it, such as `runs#3`.
    let position = run.run.strip_prefix(&*stem).filter(|rest| rest.starts_with('#'));
    let named = position.unwrap_or(&run.run);
    let is_named = alone && (position.is_some() || file.contains(named));
    let mut facts: Vec<String> = run.model.as_deref().map(name).into_iter().collect();
    facts.push(format!("{} steps", thousands(run.steps)));
    facts.extend(run.reward.map(|reward| format!("reward {reward}")));
    let command = show_command(&file, (!is_named).then_some(named));
    facts.extend((!is_named && command.is_none()).then(|| format!("run {}", name(named))));
    let facts = facts.join(", ");
    let fits = file.chars().count() + 2 + facts.chars().count() <= width;
    let separator = if fits { "  " } else { "\n  " };
    let facts = wrapped(&facts, width.saturating_sub(2), 2);
    let mut heading = format!("{}{separator}{}\n", styled(&file, &HEADING), styled(&facts, &QUIET));

    let mut findings: Vec<_> = run.findings.iter().collect();
    findings.sort_by_key(|finding| (finding.first, Reverse(finding.last)));
    let place =
        |first: u64, last: u64| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let places = findings.iter().map(|finding| place(finding.first, finding.last).len()).max().unwrap_or(0);
    let widest = findings.iter().map(|finding| finding.detector.len()).max().unwrap_or(0);
    let indent = places + widest + 6;
    for finding in findings.iter().take(FINDINGS_OF_A_RUN) {
        let room = width.saturating_sub(indent + 2).max(30);
        let message = super::terminal::printable(&finding.message).replace('\n', " ");
        let message = wrapped(&shortened(message, room), room, 0);
        let mut lines: Vec<String> = message.lines().map(|line| fitted(line, room)).collect();
        if lines.len() > LINES_OF_A_MESSAGE {
            lines.truncate(LINES_OF_A_MESSAGE);
            if let Some(last) = lines.last_mut() {
                *last = last.trim_end_matches('…').to_owned() + " …";
            }
        }
        let message = lines.join(&format!("\n{:indent$}", ""));
        let detector = styled(&format!("{:widest$}", finding.detector), &DETECTOR);
        heading += &format!("  {:places$}  {detector}  {message}\n", place(finding.first, finding.last));
    }
    let more = findings.len().saturating_sub(FINDINGS_OF_A_RUN) as u64;
    if more > 0 {
        heading += &styled(&format!("  … and {}\n", counted(more, "more finding")), &QUIET);
    }
    if let Some(command) = command {
        let fits = command[1].is_empty() || command.concat().chars().count() + 2 <= width;
        let command = command.join(if fits { "" } else { " \\\n   " });
        heading += &styled(&format!("  {command}\n"), &QUIET);
    }
    heading + "\n"
}

/// Returns the command that shows a run, in two parts, or `None` if it would be too long or read standard input again.
fn show_command(file: &str, run: Option<&str>) -> Option<[String; 2]> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%,".contains(letter);
    let quoted = |word: &str| {
        let is_safe = word.chars().all(is_plain);
        if is_safe { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    let is_short = run.is_none_or(|run| name(run) == run);
    let run = run.map_or(String::new(), |run| format!(" --run {}", quoted(run)));
    (file != "-" && is_short).then(|| [format!("wrongturn show {}", quoted(file)), run])
}

/// If a message is too long, shortens its first quoted call to make room for the rest, but keeps a line of the call.
fn shortened(message: String, room: usize) -> String {
    let excess = message.chars().count().saturating_sub(room * LINES_OF_A_MESSAGE);
    let mut parts = message.splitn(3, '`');
    match [parts.next(), parts.next(), parts.next()] {
        [Some(before), Some(call), Some(after)] if excess > 0 => {
            let length = call.chars().count();
            // Lines break between words, which leaves some columns unused, so cut a little more.
            let kept = length.saturating_sub(excess + 24).max(room);
            format!("{before}`{}`{after}", cut(call, kept))
        }
        _ => message,
    }
}

/// Cuts a line that is too long, but keeps the backtick that ends a quoted call.
fn fitted(line: &str, room: usize) -> String {
    let is_cut = line.chars().count() > room;
    if is_cut && line.ends_with('`') { cut(line, room - 1) + "`" } else { cut(line, room) }
}

/// Renders a paragraph with the flagged runs, in total and by detector, the steps inside findings, and the
/// inputs that were not read.
fn totals(part: &ScanPart, width: usize) -> String {
    let (runs, flagged) = (part.summary.runs(), part.summary.flagged());
    let mut text = format!("{} of {} flagged", thousands(flagged), counted(runs, "run"));
    let fired = fired(part.summary.detectors());
    text += &if fired.is_empty() { ".".to_owned() } else { format!(": {fired}.") };
    let (inside, all) = part.summary.steps();
    text += &match inside {
        0 => format!(" {} {}.", if runs == 1 { "It has" } else { "The runs have" }, counted(all, "step")),
        _ => format!(" Findings span {} of all steps.", percent(inside, all)),
    };
    if part.summary.has_other_models() {
        text += " There are more than 1,000 models; only the first by name are counted separately.";
    }
    let without = runs_without_actions(&part.files);
    if without > 0 {
        text += &format!(
            " {} no action.",
            if without == 1 { "1 run has".into() } else { format!("{} runs have", thousands(without)) }
        );
    }
    let [_, some, none] = part.files.read_counts();
    let unread = [(some, "read only in part"), (none, "not read")];
    let unread = unread.iter().filter(|(files, _)| *files > 0);
    let unread: Vec<_> = unread.map(|(files, how)| format!("{} {how}", counted(*files, "file"))).collect();
    if !unread.is_empty() {
        text += &format!(" {} (`wrongturn doctor` lists why).", unread.join(", "));
    }
    wrapped(&text, width, 0) + "\n"
}

/// Lists the detectors that fired, each with the number and share of the runs that it flags.
pub(crate) fn fired<'d>(detectors: impl IntoIterator<Item = (&'d str, (u64, u64))>) -> String {
    let mut detectors: Vec<_> = detectors.into_iter().collect();
    let most = &detectors.iter().map(|(_, (_, applicable))| *applicable).max().unwrap_or(0);
    detectors.retain(|(_, (flagged, _))| *flagged > 0);
    detectors.sort_by_key(|(name, (flagged, _))| (Reverse(*flagged), *name));
    let detector = |(name, (flagged, applicable)): &(&str, (u64, u64))| {
        let of = if applicable < most {
            format!(" of the {} it applies to", counted(*applicable, "run"))
        } else {
            String::new()
        };
        format!("{name} {}{of} ({})", thousands(*flagged), percent(*flagged, *applicable))
    };
    detectors.iter().map(detector).collect::<Vec<_>>().join(", ")
}

fn runs_without_actions(files: &Files) -> u64 {
    match (files.listed(), files.sums()) {
        (Some(listed), _) => listed.iter().map(|(_, report)| report.counts.runs_without_actions).sum(),
        (None, Some(sums)) => sums.counts.runs_without_actions,
        (None, None) => 0,
    }
}

pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// Formats a share as a whole percentage, or as `<1%` if it is smaller but not 0.
pub(crate) fn percent(part: u64, all: u64) -> String {
    let share = u128::from(part) * 100;
    let all = u128::from(all.max(1));
    if part > 0 && share < all { "<1%".to_owned() } else { format!("{}%", (share + all / 2) / all) }
}

/// Formats a count with commas between thousands.
fn thousands(count: u64) -> String {
    indicatif::HumanCount(count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares_are_written_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [(0, 0), (1, 300), (1, 8), (8, 8)].map(|(part, all)| percent(part, all)),
            ["0%", "<1%", "13%", "100%"]
        );
    }
}
