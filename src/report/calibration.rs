//! The tables of a calibration.

use super::cell::Cell;
use super::gate::thresholds;
use super::table::{Kind, TEXT_WIDTH, Table};
use super::wrap::wrapped;
use crate::calibrate::{CalibrationReport, DetectorReport, Figures, Sweep};

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

/// The tables of a calibration: figures, entries still needed, figures by difficulty and domain, intervals and
/// localization.
#[must_use]
pub fn calibration_tables(report: &CalibrationReport) -> Vec<Table> {
    vec![figures(report), needs(report), by_difficulty(report), by_domain(report), intervals(report)]
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
            ("always_fires", "always", Kind::Number),
            ("precision", "precision", Kind::Number),
            ("recall", "recall", Kind::Number),
            ("tier", "tier", Kind::Text),
            ("pass_k", "pass^k", Kind::Number),
            ("never_fires", "never", Kind::Number),
        ],
    );
    for detector in &report.detectors {
        let figures = &detector.figures;
        table.row([
            Cell::text(&detector.detector),
            Cell::Count(figures.n),
            real(figures.f1),
            Cell::of(figures.f1_ci95.interval, |interval| Cell::Interval(interval, 4)),
            real(detector.baselines.always_fire_f1),
            real(figures.precision),
            real(figures.recall),
            Cell::text(tier(detector)),
            Cell::of(detector.pass_k.pass, |pass| Cell::Count(pass.into())),
            real(detector.baselines.never_fire_f1),
        ]);
    }
    table.note(
        "always, never: the F1 of a detector that fires on every entry, or on none. unproven: the interval of F1 does not \
         lie above that of always firing. pass^k: 1 where every trial on perturbed traces clears the gate that the set as \
         it stands clears; none where that clears none.",
    );
    table
}

/// What is lacking for the next tier, and for the proof over always firing.
fn needs(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "needs",
        "What it still takes",
        &[
            ("detector", "detector", Kind::Text),
            ("next_tier", "next tier", Kind::Text),
            ("entries", "entries more", Kind::Number),
            ("figures", "F1 and precision", Kind::Text),
            ("entries_to_prove", "to prove", Kind::Number),
        ],
    );
    for detector in &report.detectors {
        let needs = &detector.needs;
        let figures = if needs.figures_suffice { "would do" } else { "too low" };
        table.row([
            Cell::text(&detector.detector),
            Cell::of(needs.next_tier, |tier| Cell::text(tier.name())),
            Cell::of(needs.next_tier, |_| Cell::Count(needs.entries)),
            Cell::of(needs.next_tier.filter(|_| detector.figures.n > 0), |_| Cell::text(figures)),
            Cell::of(needs.entries_to_prove, Cell::Count),
        ]);
    }
    for gate in &report.gates {
        table.note(format!("{}.", thresholds(gate)));
    }
    table.note(
        "To prove: how many more entries show with a chance of 80% that F1 exceeds that of always firing, if the \
         rates stay as they are (normal approximation).",
    );
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
    let mut table = grouped("by_difficulty", "By difficulty", "difficulty");
    for detector in &report.detectors {
        for (difficulty, figures) in &detector.by_difficulty {
            group(&mut table, &detector.detector, difficulty.name(), figures);
        }
    }
    table
}

fn by_domain(report: &CalibrationReport) -> Table {
    let mut table = grouped("by_domain", "By domain", "domain");
    for detector in &report.detectors {
        for (domain, figures) in &detector.by_domain {
            group(&mut table, &detector.detector, if domain.is_empty() { "(none)" } else { domain }, figures);
        }
    }
    table
}

fn grouped(name: &'static str, title: &str, group: &'static str) -> Table {
    let columns = [
        ("detector", "detector", Kind::Text),
        (group, group, Kind::Text),
        ("n", "n", Kind::Number),
        ("tp", "tp", Kind::Number),
        ("fp", "fp", Kind::Number),
        ("fn", "fn", Kind::Number),
        ("tn", "tn", Kind::Number),
        ("f1", "F1", Kind::Number),
        ("precision", "precision", Kind::Number),
        ("recall", "recall", Kind::Number),
    ];
    Table::new(name, title, &columns).grouped()
}

fn group(table: &mut Table, detector: &str, group: &str, figures: &Figures) {
    let confusion = &figures.confusion;
    table.row([
        Cell::text(detector),
        Cell::text(group),
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
    table.note(
        "undefined resamples: those of the interval of F1 in which it is undefined, which are left out. with a place: \
         entries that say where the failure is. similarity, localization recall: how far the places that are found, and \
         those that are labelled, overlap with the best of the others (Jaccard index of their steps).",
    );
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

/// The sweeps of detectors as text that fits 80 columns.
#[must_use]
pub fn render_sweeps(sweeps: &[Sweep]) -> String {
    sweeps.iter().flat_map(|sweep| ["\n".to_owned(), sweep_table(sweep).text(TEXT_WIDTH)]).collect()
}

/// The figures of a detector over the values of its main parameter, as a table.
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
