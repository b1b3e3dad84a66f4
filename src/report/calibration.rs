//! The tables of a calibration.

use super::table::{Cell, Kind, TEXT_WIDTH, Table, wrapped};
use crate::calibration::{CalibrationReport, DetectorReport, Sweep};

/// A calibration as text that fits 80 columns: figures, figures by difficulty, flipped verdicts, wrong verdicts.
#[must_use]
pub fn render_calibration(report: &CalibrationReport) -> String {
    let tables: Vec<String> = calibration_tables(report).iter().map(|table| table.text(TEXT_WIDTH)).collect();
    let mut text = tables.join("\n");
    for detector in &report.detectors {
        text += &details(detector);
    }
    text
}

/// The tables of a calibration: figures, figures by difficulty, intervals and localization.
#[must_use]
pub fn calibration_tables(report: &CalibrationReport) -> Vec<Table> {
    vec![figures(report), by_difficulty(report), intervals(report)]
}

fn figures(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "calibration",
        "Detectors on labelled traces",
        &[
            ("detector", "detector", Kind::Text),
            ("n", "n", Kind::Number),
            ("f1", "F1", Kind::Number),
            ("f1_ci95", "95% interval", Kind::Interval),
            ("precision", "precision", Kind::Number),
            ("recall", "recall", Kind::Number),
            ("tier", "tier", Kind::Text),
            ("pass_k", "pass^k", Kind::Number),
            ("always_fires", "always fires", Kind::Number),
            ("never_fires", "never fires", Kind::Number),
        ],
    );
    for detector in &report.detectors {
        let figures = &detector.figures;
        table.row([
            Cell::text(&detector.detector),
            Cell::Count(figures.n),
            real(figures.f1),
            Cell::of(figures.f1_ci95.interval, |interval| Cell::Interval(interval, 4)),
            real(figures.precision),
            real(figures.recall),
            Cell::text(tier(detector)),
            Cell::of(detector.pass_k.pass, |pass| Cell::Count(pass.into())),
            real(detector.baselines.always_fire_f1),
            real(detector.baselines.never_fire_f1),
        ]);
    }
    table
}

fn real(value: Option<f64>) -> Cell {
    Cell::of(value, |value| Cell::Real(value, 4))
}

fn tier(detector: &DetectorReport) -> String {
    let mark = if detector.unproven { " (unproven)" } else { "" };
    format!("{}{mark}", detector.tier.name())
}

fn by_difficulty(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "by_difficulty",
        "By difficulty",
        &[
            ("detector", "detector", Kind::Text),
            ("difficulty", "difficulty", Kind::Text),
            ("n", "n", Kind::Number),
            ("tp", "tp", Kind::Number),
            ("fp", "fp", Kind::Number),
            ("fn", "fn", Kind::Number),
            ("tn", "tn", Kind::Number),
            ("f1", "F1", Kind::Number),
            ("precision", "precision", Kind::Number),
            ("recall", "recall", Kind::Number),
        ],
    )
    .grouped();
    for detector in &report.detectors {
        for (difficulty, figures) in &detector.by_difficulty {
            let confusion = &figures.confusion;
            table.row([
                Cell::text(&detector.detector),
                Cell::text(format!("{difficulty:?}").to_lowercase()),
                Cell::Count(figures.n),
                Cell::Count(confusion.tp),
                Cell::Count(confusion.fp),
                Cell::Count(confusion.fn_),
                Cell::Count(confusion.tn),
                real(figures.f1),
                real(figures.precision),
                real(figures.recall),
            ]);
        }
    }
    table
}

fn intervals(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "intervals",
        "Intervals (Wilson) and localization (Jaccard)",
        &[
            ("detector", "detector", Kind::Text),
            ("precision_ci95", "precision, 95%", Kind::Interval),
            ("recall_ci95", "recall, 95%", Kind::Interval),
            ("undefined_resamples", "undefined resamples", Kind::Number),
            ("with_a_place", "with a place", Kind::Number),
            ("similarity", "similarity", Kind::Number),
            ("localization_recall", "localization recall", Kind::Number),
        ],
    );
    for detector in &report.detectors {
        let interval = |interval| Cell::of(interval, |interval| Cell::Interval(interval, 4));
        table.row([
            Cell::text(&detector.detector),
            interval(detector.figures.precision_ci95),
            interval(detector.figures.recall_ci95),
            Cell::Count(detector.figures.f1_ci95.undefined as u64),
            Cell::Count(detector.localization.entries),
            real(detector.localization.similarity),
            real(detector.localization.recall),
        ]);
    }
    table
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
        text += &format!("  {} ({:?}, should be {})\n", wrong.entry, wrong.difficulty, fired(wrong.label));
        for (who, sentence) in [("label:    ", &wrong.reason), ("detector: ", &wrong.saw)] {
            for (number, line) in wrapped(sentence, TEXT_WIDTH - 14).iter().enumerate() {
                text += &format!("    {}{line}\n", if number == 0 { who } else { "          " });
            }
        }
    }
    text
}

fn fired(detected: bool) -> &'static str {
    if detected { "detected" } else { "passed" }
}

/// Sweeps as text.
#[must_use]
pub fn render_sweeps(sweeps: &[Sweep]) -> String {
    sweeps.iter().flat_map(|sweep| ["\n".to_owned(), sweep_table(sweep).text(TEXT_WIDTH)]).collect()
}

/// The figures of a detector over the values of its main parameter.
#[must_use]
pub fn sweep_table(sweep: &Sweep) -> Table {
    let mut table = Table::new(
        "sweep",
        format!("{} over {}", sweep.detector, sweep.parameter),
        &[
            ("value", sweep.parameter, Kind::Number),
            ("f1", "F1", Kind::Number),
            ("precision", "precision", Kind::Number),
            ("recall", "recall", Kind::Number),
        ],
    );
    for point in &sweep.points {
        let value = if point.value.is_null() { "no limit".to_owned() } else { point.value.to_string() };
        table.row([Cell::text(value), real(point.f1), real(point.precision), real(point.recall)]);
    }
    table
}
