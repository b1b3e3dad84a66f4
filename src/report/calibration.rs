//! The tables of a calibration.

use super::table::{Table, figure};
use crate::calibration::{CalibrationReport, DetectorReport, Figures, Sweep};
use crate::stats::Interval;

/// A calibration as tables: figures, figures by difficulty, flipped verdicts, wrong verdicts.
#[must_use]
pub fn render_calibration(report: &CalibrationReport) -> String {
    let mut table = Table::new(
        1,
        [
            "detector",
            "n",
            "F1",
            "95% interval",
            "precision",
            "recall",
            "tier",
            "pass^k",
            "always fires",
            "never fires",
        ],
    );
    for detector in &report.detectors {
        let figures = &detector.figures;
        table.row([
            detector.detector.clone(),
            figures.n.to_string(),
            figure(figures.f1, 4),
            interval(figures.f1_ci95.interval),
            figure(figures.precision, 4),
            figure(figures.recall, 4),
            tier(detector),
            detector.pass_k.pass.map_or_else(|| figure(None, 0), |pass| pass.to_string()),
            figure(detector.baselines.always_fire_f1, 4),
            figure(detector.baselines.never_fire_f1, 4),
        ]);
    }
    let mut text = format!("{}\n", table.render());
    text += &by_difficulty(report);
    text += &intervals(report);
    for detector in &report.detectors {
        text += &details(detector);
    }
    text
}

fn tier(detector: &DetectorReport) -> String {
    let mark = if detector.unproven { " (unproven)" } else { "" };
    format!("{}{mark}", detector.tier.name())
}

fn by_difficulty(report: &CalibrationReport) -> String {
    let mut table =
        Table::new(2, ["detector", "difficulty", "n", "tp", "fp", "fn", "tn", "F1", "precision", "recall"]);
    for detector in &report.detectors {
        for (difficulty, figures) in &detector.by_difficulty {
            let Figures { confusion, .. } = figures;
            table.row([
                detector.detector.clone(),
                format!("{difficulty:?}").to_lowercase(),
                figures.n.to_string(),
                confusion.tp.to_string(),
                confusion.fp.to_string(),
                confusion.fn_.to_string(),
                confusion.tn.to_string(),
                figure(figures.f1, 4),
                figure(figures.precision, 4),
                figure(figures.recall, 4),
            ]);
        }
    }
    format!("By difficulty\n{}\n", table.render())
}

fn intervals(report: &CalibrationReport) -> String {
    let mut table = Table::new(
        1,
        [
            "detector",
            "precision, 95%",
            "recall, 95%",
            "undefined resamples",
            "with a place",
            "similarity",
            "localization recall",
        ],
    );
    for detector in &report.detectors {
        table.row([
            detector.detector.clone(),
            interval(detector.figures.precision_ci95),
            interval(detector.figures.recall_ci95),
            detector.figures.f1_ci95.undefined.to_string(),
            detector.localization.entries.to_string(),
            figure(detector.localization.similarity, 4),
            figure(detector.localization.recall, 4),
        ]);
    }
    format!("Intervals (Wilson) and localization (Jaccard)\n{}", table.render())
}

fn details(detector: &DetectorReport) -> String {
    let mut text = String::new();
    for flip in &detector.pass_k.flips {
        let names: Vec<&str> = flip.perturbations.iter().map(|perturbation| perturbation.name()).collect();
        text += &format!(
            "\n{}: {} turned from {} to {} in trial {} under {}\n",
            detector.detector,
            flip.entry,
            fired(flip.from),
            fired(flip.to),
            flip.trial,
            names.join(", "),
        );
    }
    if !detector.wrong.is_empty() {
        text += &format!("\n{}: {} wrong\n", detector.detector, detector.wrong.len());
    }
    for wrong in &detector.wrong {
        text += &format!(
            "  {} ({:?}, should be {})\n    label:    {}\n    detector: {}\n",
            wrong.entry,
            wrong.difficulty,
            fired(wrong.label),
            wrong.reason,
            wrong.saw,
        );
    }
    text
}

fn fired(detected: bool) -> &'static str {
    if detected { "detected" } else { "passed" }
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(|| figure(None, 0), |i| format!("[{:.4}, {:.4}]", i.low, i.high))
}

/// Sweeps as tables.
#[must_use]
pub fn render_sweeps(sweeps: &[Sweep]) -> String {
    let mut text = String::new();
    for sweep in sweeps {
        let mut table = Table::new(0, [sweep.parameter, "F1", "precision", "recall"]);
        for point in &sweep.points {
            let value = if point.value.is_null() { "no limit".to_owned() } else { point.value.to_string() };
            table.row([value, figure(point.f1, 4), figure(point.precision, 4), figure(point.recall, 4)]);
        }
        text += &format!("\n{} over {}\n{}", sweep.detector, sweep.parameter, table.render());
    }
    text
}
