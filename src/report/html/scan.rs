//! A scan as a page.

use super::chart::{Chart, IntervalChart, IntervalRow};
use super::cost::{FailureCost, cost_charts};
use super::page::HtmlReport;
use crate::merge::{Counts, Files, RunStrip, ScanSummary};
use crate::report::files::{unread, unread_table};
use crate::report::scan::OfModel;
use crate::report::table::Table;

/// How many models a chart shows.
const DRAWN: usize = 15;

/// A scan as one HTML file: what could not be read, detector rates by model, what failures cost, and the flagged runs.
#[must_use]
pub fn scan_html(
    summary: &ScanSummary,
    costs: &[FailureCost],
    flagged: Vec<RunStrip>,
    files: &Files,
) -> String {
    let mut report = HtmlReport::new("What the detectors found");
    report.lead(format!(
        "{} of {} runs are flagged by at least one detector.",
        summary.flagged(),
        summary.runs()
    ));
    let unread = unread(files);
    if unread > 0 {
        let files = if unread == 1 { "1 file" } else { &format!("{unread} files") };
        report.warning(format!("{files} could not be read whole: see the end of this page."));
    }
    if let Some(sentence) = summary.repeats().sentence() {
        report.paragraph(sentence);
    }
    report.section("Detectors");
    let (of_costs, tables): (Vec<Table>, Vec<Table>) =
        summary.tables().into_iter().partition(|table| table.name() == "costs");
    let mut tables = tables.into_iter();
    if let Some(totals) = tables.next() {
        report.table(totals);
    }
    for chart in charts(summary) {
        report.chart(chart);
    }
    for table in tables {
        report.table(table);
    }
    let charts = cost_charts(costs);
    if !charts.is_empty() || !of_costs.is_empty() {
        report.section("Costs");
    }
    for chart in charts {
        report.chart(chart);
    }
    for table in of_costs {
        report.table(table);
    }
    if !flagged.is_empty() {
        let more = summary.flagged().saturating_sub(flagged.len() as u64);
        report.section("Flagged runs");
        if more > 0 {
            report.paragraph(format!("The worst {} are drawn, {more} more are not.", flagged.len()));
        }
        report.strips(flagged);
    }
    if unread > 0 {
        report.section("Not read").table(unread_table(files));
    }
    report.render()
}

/// A chart of all detectors, or one for each where there are several models.
fn charts(summary: &ScanSummary) -> Vec<Chart> {
    let detectors = summary.by_detector();
    let single = detectors.values().all(|models| models.len() < 2);
    if single {
        let rows = detectors.iter().flat_map(|(detector, models)| {
            models.iter().filter_map(|(_, counts)| row((*detector).to_owned(), *counts))
        });
        return vec![chart("Runs in which a detector fires".to_owned(), CAPTION.to_owned(), rows.collect())];
    }
    let of_detector = |(detector, models): (&&str, &Vec<OfModel<'_>>)| {
        let named = |model: Option<&str>| model.unwrap_or("model not named").to_owned();
        let mut rows: Vec<IntervalRow> =
            models.iter().filter_map(|(model, counts)| row(named(*model), *counts)).collect();
        let all = rows.len();
        rows.truncate(DRAWN);
        let caption = if all > DRAWN {
            format!(
                "{CAPTION} The first {DRAWN} of {all} models, by the lower ends of these; the table has all."
            )
        } else {
            CAPTION.to_owned()
        };
        chart(format!("{detector}: runs in which it fires"), caption, rows)
    };
    detectors.iter().map(of_detector).collect()
}

const CAPTION: &str = "Shares of the runs to which the detector applies, with Wilson intervals.";

fn row(label: String, counts: Counts) -> Option<IntervalRow> {
    (counts.applicable > 0).then(|| IntervalRow {
        label,
        note: format!("{} of {}", counts.detected, counts.applicable),
        estimate: counts.share(),
        interval: counts.interval(),
        other: None,
        baseline: None,
        pooled: false,
    })
}

fn chart(title: String, caption: String, rows: Vec<IntervalRow>) -> Chart {
    Chart::Intervals(IntervalChart { title, caption, rows, range: Some((0.0, 1.0)), reference: None })
}
