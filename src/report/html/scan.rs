//! A scan as a page.

use super::chart::{Chart, IntervalChart};
use super::cost::{FailureCost, cost_charts};
use super::page::HtmlReport;
use crate::partial::{RunStrip, ScanSummary};

/// A scan as one HTML file: detector rates by model, what failures cost, and the flagged runs.
#[must_use]
pub fn scan_html(summary: &ScanSummary, costs: &[FailureCost], flagged: Vec<RunStrip>) -> String {
    let mut report = HtmlReport::new("What the detectors found");
    report.lead(format!(
        "{} of {} runs are flagged by at least one detector.",
        summary.flagged(),
        summary.runs()
    ));
    if let Some(sentence) = summary.repeats().sentence() {
        report.paragraph(sentence);
    }
    report.section("Detectors").chart(Chart::Intervals(IntervalChart {
        title: "Runs in which a detector fires, by model".to_owned(),
        caption: "Shares of the runs to which the detector applies, with Wilson intervals.".to_owned(),
        rows: summary.interval_rows(),
        range: Some((0.0, 1.0)),
        reference: None,
    }));
    for table in summary.tables() {
        report.table(table);
    }
    let charts = cost_charts(costs);
    if !charts.is_empty() {
        report.section("Costs");
    }
    for chart in charts {
        report.chart(chart);
    }
    if !flagged.is_empty() {
        let more = summary.flagged().saturating_sub(flagged.len() as u64);
        report.section("Flagged runs");
        if more > 0 {
            report.paragraph(format!("The worst {} are drawn, {more} more are not.", flagged.len()));
        }
        report.strips(flagged);
    }
    report.render()
}
