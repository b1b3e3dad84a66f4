//! A comparison of two agents as a page.

use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::page::HtmlReport;
use crate::compare::{Comparison, DetectionRate};
use crate::report::cell::Cell;
use crate::report::comparison::{comparison_tables, interval, verdict};
use crate::stats::MeanDifference;

/// The comparison of two agents as one HTML file.
#[must_use]
pub fn comparison_html(comparison: &Comparison) -> String {
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    let mut report = HtmlReport::new(format!("{second} against {first}"));
    report.lead(verdict(comparison));
    report.section("Differences");
    let row = |label: &str, found: &MeanDifference| {
        let interval = interval(found);
        let shown = interval.map(|interval| format!(" {}", Cell::SignedInterval(interval, 2).shown()));
        IntervalRow {
            label: label.to_owned(),
            note: format!("{:+.2}{}", found.difference, shown.unwrap_or_default()),
            estimate: Some(found.difference),
            interval,
            other: found.ci95,
            baseline: None,
            pooled: false,
        }
    };
    let mut rows = Vec::new();
    rows.extend(comparison.success.iter().map(|found| row("success rate", found)));
    rows.extend(comparison.reward.iter().map(|found| row("mean reward", found)));
    for detector in &comparison.detectors {
        rows.extend(
            detector.difference.iter().map(|found| row(&format!("{} fires", detector.detector), found)),
        );
    }
    report.chart(Chart::Intervals(IntervalChart {
        title: format!("{second} less {first}"),
        caption: "Differences of rates and means, paired by task, with 95% intervals from resampled tasks; dotted below, \
                  the interval of the cluster-robust standard error."
            .to_owned(),
        rows,
        range: None,
        reference: Some(0.0),
    }));
    report.chart(rates(comparison));
    if !comparison.pass_k.is_empty() {
        let side = |label: &str, which: fn(&(f64, f64)) -> f64| Line {
            label: label.to_owned(),
            values: comparison.pass_k.iter().take(16).map(|pair| Some(which(pair))).collect(),
        };
        report.chart(Chart::Lines(LineChart {
            title: "pass^k".to_owned(),
            caption: "The chance that k independent trials of a task all succeed, over the shared tasks."
                .to_owned(),
            places: (1..=comparison.pass_k.len().min(16)).map(|k| format!("k={k}")).collect(),
            lines: vec![side(first, |pair| pair.0), side(second, |pair| pair.1)],
        }));
    }
    report.section("Tables");
    for table in comparison_tables(comparison) {
        report.table(table);
    }
    report.render()
}

fn rates(comparison: &Comparison) -> Chart {
    let row = |name: &str, label: &str, rate: &DetectionRate| IntervalRow {
        label: format!("{name}: {label}"),
        note: format!("{} of {}", rate.detected, rate.applicable),
        estimate: rate.rate(),
        interval: rate.ci95,
        other: None,
        baseline: None,
        pooled: false,
    };
    let rows = comparison.detectors.iter().flat_map(|one| {
        [
            row(&one.detector, &comparison.first.label, &one.first),
            row(&one.detector, &comparison.second.label, &one.second),
        ]
    });
    Chart::Intervals(IntervalChart {
        title: "Runs in which a detector fires".to_owned(),
        caption: "Shares with Wilson intervals, which take runs for independent.".to_owned(),
        rows: rows.collect(),
        range: Some((0.0, 1.0)),
        reference: None,
    })
}
