//! A calibration as a page.

use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::page::HtmlReport;
use crate::calibrate::{CalibrationReport, Sweep};
use crate::report::calibration::{calibration_tables, sweep_table};

/// A calibration as one HTML file: F1 against always firing, tables, sweeps.
#[must_use]
pub fn calibration_html(report: &CalibrationReport, sweeps: &[Sweep]) -> String {
    let mut page = HtmlReport::new("How good the detectors are");
    let unproven = report.detectors.iter().filter(|detector| detector.unproven).count();
    page.lead(format!(
        "{} detectors on labelled traces; of {unproven} it is not proven that they do better than always firing.",
        report.detectors.len()
    ));
    let rows = report.detectors.iter().map(|detector| IntervalRow {
        label: detector.detector.clone(),
        note: format!(
            "F1 {}, n = {}, {}",
            detector.figures.f1.map_or_else(|| "undefined".to_owned(), |f1| format!("{f1:.2}")),
            detector.figures.n,
            detector.tier.name()
        ),
        estimate: detector.figures.f1,
        interval: detector.figures.f1_ci95.interval,
        other: None,
        baseline: detector.baselines.always_fire_f1,
        pooled: false,
    });
    page.section("F1").chart(Chart::Intervals(IntervalChart {
        title: "F1 against always firing".to_owned(),
        caption:
            "F1 with its 95% bootstrap interval; the thick tick is the F1 of a detector that always fires."
                .to_owned(),
        rows: rows.collect(),
        range: Some((0.0, 1.0)),
        reference: None,
    }));
    for table in calibration_tables(report) {
        page.table(table);
    }
    if !sweeps.is_empty() {
        page.section("Sweeps");
    }
    for sweep in sweeps {
        let line = |label: &str, value: fn(&crate::calibrate::SweepPoint) -> Option<f64>| Line {
            label: label.to_owned(),
            values: sweep.points.iter().map(value).collect(),
        };
        page.chart(Chart::Lines(LineChart {
            title: format!("{} over {}", sweep.detector, sweep.parameter),
            caption: "F1, precision and recall; the figure beside a name is that of the last value."
                .to_owned(),
            places: sweep
                .points
                .iter()
                .map(|point| if point.value.is_null() { "∞".to_owned() } else { point.value.to_string() })
                .collect(),
            lines: vec![
                line("F1", |point| point.f1),
                line("precision", |point| point.precision),
                line("recall", |point| point.recall),
            ],
        }));
        page.table(sweep_table(sweep));
    }
    page.render()
}
