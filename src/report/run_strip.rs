//! Run strips: the steps of a run in a row, with the findings under them.

use std::fmt::Write as _;

use super::html::{scrolled_table, text_class};
use super::markup::Markup;
use crate::merge::{RunStrip, StripFinding, StripStep, WORST_RUNS as RUNS};
use crate::trace::{Actor, Status, first_chars};

/// Number of bytes after which no further step of a run is drawn. Keeps a page with 50 runs below 5 MB.
const RUN_BYTES: usize = 68_000;

/// Number of bytes after which no further finding of a run is listed.
const FINDING_BYTES: usize = 10_000;

/// Maximum number of findings drawn under the boxes of one run.
const LANES: usize = 6;

const STEP_CHARS: usize = 1_200;

/// Maximum number of findings per run in the table of runs, and of characters per message there.
const SUMMARIES: usize = 4;
const SUMMARY_CHARS: usize = 160;
/// Maximum number of characters shown of a message or of evidence elsewhere.
const TEXT_CHARS: usize = 600;

impl RunStrip {
    fn covered(&self) -> usize {
        let mut ranges: Vec<(u64, u64)> =
            self.findings.iter().map(|finding| (finding.first, finding.last)).collect();
        ranges.sort_unstable();
        let mut ranges = ranges.into_iter().peekable();
        // The furthest end of the findings that have begun.
        let mut end = None;
        let is_inside = |step: &&StripStep| {
            while let Some((_, last)) = ranges.next_if(|(first, _)| *first <= step.index) {
                end = end.max(Some(last));
            }
            Some(step.index) <= end
        };
        self.steps.iter().filter(is_inside).count()
    }
}

impl StripFinding {
    fn holds(&self, index: u64) -> bool {
        self.first <= index && index <= self.last
    }
}

/// Adds a table that links to the worst runs, then the strip of each. Runs with the most steps inside findings
/// come first, then those with the most findings, as `check` prints them.
pub(super) fn strips(markup: &mut Markup, runs: &[RunStrip]) {
    let mut order: Vec<&RunStrip> = runs.iter().collect();
    order.sort_by_cached_key(|run| std::cmp::Reverse((run.covered(), run.findings.len())));
    let more = order.len().saturating_sub(RUNS);
    order.truncate(RUNS);
    left_out(markup, more, "runs");
    let headings = [("run and findings", false), ("steps", true), ("inside findings", true)];
    let titles = ("Flagged runs", "Flagged runs, the worst first");
    scrolled_table(markup, titles, &[("id", "runs")], headings.into_iter(), |rows| {
        for (number, run) in order.iter().enumerate() {
            rows.element("tr", &[], |row| summary_row(row, number, run));
        }
    });
    markup.leaf("p", &[("class", "note")], LEGEND);
    for (number, run) in order.iter().enumerate() {
        markup.line();
        article(markup, number, run);
    }
}

const LEGEND: &str = "Each box is a step. A message shows who speaks: the agent (A), the user (U), the system (S) or the \
                      environment (E). A call shows + (succeeded), × on a filled box (failed) or ? (outcome not known). \
                      Round boxes are the user's. \
                      A bar under boxes is a finding, with its number where it begins. Open a box to read the step.";

fn summary_row(row: &mut Markup, number: usize, run: &RunStrip) {
    let title = cut(&run.title, 200);
    row.element("th", &[("scope", "row"), ("class", text_class(&title))], |cell| {
        cell.leaf("a", &[("href", &format!("#run-{number}"))], &title);
        // Keeps the first finding of each detector: findings of one detector are adjacent.
        let mut findings: Vec<&StripFinding> = run.findings.iter().collect();
        findings.dedup_by_key(|finding| &finding.detector);
        for finding in findings.iter().take(SUMMARIES) {
            cell.element("div", &[], |line| {
                line.leaf("strong", &[], &cut(&finding.detector, 80));
                let message = first_chars(&finding.message, SUMMARY_CHARS);
                let more = if message.len() < finding.message.len() { "…" } else { "" };
                line.text(&format!(": {message}{more}"));
            });
        }
    });
    row.leaf("td", &[("class", "number")], &run.steps.len().to_string());
    row.leaf("td", &[("class", "number")], &run.covered().to_string());
}

fn article(markup: &mut Markup, number: usize, run: &RunStrip) {
    let id = format!("run-{number}");
    markup.element("article", &[("id", &id), ("aria-label", &cut(&run.title, 200))], |article| {
        article.leaf("h3", &[], &cut(&run.title, 200));
        // Longer runs get shorter quotes, so more of their steps are drawn.
        let chars = (RUN_BYTES / 2 / run.steps.len().max(1)).clamp(120, STEP_CHARS);
        let steps = [("class", "strip")];
        let drawn = listed(article, &steps, RUN_BYTES, &run.steps, |list, step| {
            list.element("li", &[("class", &classes(step))], |item| {
                box_of(item, run, step, chars);
                lanes_of(item, run, step);
            });
        });
        left_out(article, run.steps.len() - drawn, "steps");
        let drawn = listed(article, &[], FINDING_BYTES, &run.findings, |list, finding| {
            list.element("li", &[], |item| {
                item.leaf("strong", &[], &cut(&finding.detector, 80));
                let message = cut(&finding.message, TEXT_CHARS);
                let StripFinding { first, last, confidence, .. } = finding;
                item.text(&format!(", steps {first}–{last}, {confidence}: {message}"));
                item.element("details", &[], |details| {
                    details.leaf("summary", &[], "evidence");
                    details.leaf("pre", &[], &cut(&finding.evidence, TEXT_CHARS));
                });
            });
        });
        left_out(article, run.findings.len() - drawn, "findings");
        article.element("p", &[("class", "note")], |back| {
            back.leaf("a", &[("href", "#runs")], "All flagged runs");
        });
    });
}

/// Adds a list that gets no further item after this many bytes. Returns the number of items drawn.
fn listed<T>(
    markup: &mut Markup,
    attributes: &[(&'static str, &str)],
    bytes: usize,
    items: &[T],
    draw: impl Fn(&mut Markup, &T),
) -> usize {
    let mut drawn = 0;
    markup.element("ol", attributes, |list| {
        let start = list.len();
        while let Some(item) = items.get(drawn).filter(|_| list.len() - start < bytes) {
            draw(list, item);
            drawn += 1;
        }
    });
    drawn
}

fn left_out(markup: &mut Markup, count: usize, what: &str) {
    if count > 0 {
        markup.leaf("p", &[("class", "note")], &format!("Further {what}, not drawn: {count}."));
    }
}

fn actor(step: &StripStep) -> (&'static str, &'static str, &'static str) {
    match step.actor {
        Actor::Agent => ("A", "agent", "agent"),
        Actor::User => ("U", "user", "user"),
        Actor::System => ("S", "system", "other"),
        Actor::Environment => ("E", "environment", "other"),
    }
}

/// Returns the sign, description and class of a call's outcome, or `None` for a message.
fn outcome(step: &StripStep) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match step.status.as_ref()? {
        Status::Ok => ("+", ", succeeded", " ok"),
        Status::Error => ("×", ", failed", " error"),
        Status::Unknown => ("?", ", outcome not known", " unknown"),
    })
}

fn classes(step: &StripStep) -> String {
    let (_, _, actor) = actor(step);
    let outcome = outcome(step).map(|(_, _, class)| class);
    // Calls of the system and the environment are marked only if they failed.
    let outcome = outcome.filter(|class| actor != "other" || *class == " error");
    format!("{actor}{}", outcome.unwrap_or_default())
}

fn box_of(item: &mut Markup, run: &RunStrip, step: &StripStep, chars: usize) {
    let (letter, who, _) = actor(step);
    let (sign, status, _) = outcome(step).unwrap_or((letter, "", ""));
    let what = cut(step.tool.as_deref().unwrap_or("message"), 80);
    let mut name = format!("step {}: {who}, {what}{status}", step.index);
    let begun: Vec<String> = lanes(run)
        .filter(|(_, finding)| finding.first == step.index)
        .map(|(place, _)| (place + 1).to_string())
        .collect();
    if !begun.is_empty() {
        let _ = write!(name, ", finding {} begins", begun.join(", "));
    }
    item.element("details", &[], |details| {
        details.leaf("summary", &[("aria-label", &name)], sign);
        details.leaf("div", &[("class", "note")], &name);
        details.leaf("pre", &[], &cut(&step.raw, chars));
    });
}

/// Returns the findings that are drawn under the boxes, with the indices of their lanes.
fn lanes(run: &RunStrip) -> impl Iterator<Item = (usize, &StripFinding)> {
    run.findings.iter().enumerate().take(LANES)
}

/// Adds a bar in the lane of each finding that contains the step, with the finding's number at its first
/// step.
fn lanes_of(item: &mut Markup, run: &RunStrip, step: &StripStep) {
    const CLASSES: [&str; 3] = ["lane0", "lane1", "lane2"];
    item.element("div", &[("class", "lanes"), ("aria-hidden", "true")], |under| {
        for (place, finding) in lanes(run) {
            let class = CLASSES.get(place % CLASSES.len()).copied().filter(|_| finding.holds(step.index));
            let number = if finding.first == step.index { (place + 1).to_string() } else { String::new() };
            under.leaf("i", class.map(|class| ("class", class)).as_slice(), &number);
        }
    });
}

/// Cuts a text to `limit` characters, followed by the number of characters that were cut.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (head, rest) = text.split_at_checked(end).unwrap_or((text, ""));
            format!("{head} … ({} more characters)", rest.chars().count())
        }
    }
}
