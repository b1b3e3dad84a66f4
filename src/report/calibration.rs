//! The tables of a calibration.

use super::cell::{Cell, counted, interval, real};
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::document::{Detail, Document};
use super::gate::thresholds;
use super::table::Table;
use crate::calibrate::{CalibrationReport, DetectorReport, Figures, Sweep, SweepPoint};

/// Returns a calibration as a document: the figures of each detector. The full text adds the shortfall from the next
/// tier, figures by difficulty and domain, intervals, and flipped and wrong verdicts.
#[must_use]
pub fn calibration_document(report: &CalibrationReport, sweeps: &[Sweep]) -> Document {
    let mut document = Document::new("Detectors on labelled runs");
    let tested = || report.detectors.iter().filter(|detector| detector.figures.n > 0);
    document.lead(format!(
        "F1 on labelled runs exceeds that of always firing, by its 95% CI: {} of {}.",
        tested().filter(|detector| !detector.unproven).count(),
        counted(tested().count() as u64, "tested detector"),
    ));
    document.section("F1").chart(f1_chart(report)).table(figures(report)).table(needs(report));
    document.detail(Detail::Full).section("Groups and intervals");
    let difficulties = by_group("by_difficulty", "difficulty", report, |detector| {
        detector.by_difficulty.iter().map(|(difficulty, figures)| (difficulty.name(), figures)).collect()
    });
    let domains = by_group("by_domain", "domain", report, |detector| {
        let groups = detector.by_domain.iter();
        groups.map(|(name, figures)| (if name.is_empty() { "(none)" } else { name }, figures)).collect()
    });
    document.table(difficulties).table(domains).table(intervals(report));
    document.section("Verdicts").table(flips(report));
    for paragraph in report.detectors.iter().flat_map(wrong) {
        document.paragraph(paragraph);
    }
    document.detail(Detail::Short).section("Sweeps");
    for sweep in sweeps {
        document.chart(sweep_chart(sweep)).table(sweep_table(sweep));
    }
    document
}

fn f1_chart(report: &CalibrationReport) -> Chart {
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
        baseline: detector.baselines.always_fire_f1,
        ..IntervalRow::default()
    });
    Chart::Intervals(IntervalChart {
        title: "F1 against always firing".to_owned(),
        caption: "F1 of each detector on labelled runs.".to_owned(),
        axis: "F1".to_owned(),
        interval: "F1 with 95% CI (bootstrap)".to_owned(),
        baseline: "F1 of a detector that always fires".to_owned(),
        rows: rows.collect(),
        range: Some((0.0, 1.0)),
        ..IntervalChart::default()
    })
}

fn sweep_chart(sweep: &Sweep) -> Chart {
    let line = |label: &str, value: fn(&SweepPoint) -> Option<f64>| Line {
        label: label.to_owned(),
        values: sweep.points.iter().map(value).collect(),
    };
    let place =
        |point: &SweepPoint| if point.value.is_null() { "∞".to_owned() } else { point.value.to_string() };
    Chart::Lines(LineChart {
        title: format!("{} over {}", sweep.detector, sweep.parameter),
        caption: "F1, precision and recall, with their values at the last place.".to_owned(),
        axis: sweep.parameter.to_owned(),
        measure: "F1, precision, recall".to_owned(),
        places: sweep.points.iter().map(place).collect(),
        lines: vec![
            line("F1", |point| point.f1),
            line("precision", |point| point.precision),
            line("recall", |point| point.recall),
        ],
    })
}

fn figures(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "calibration",
        "Detectors on labelled runs",
        &[
            "detector | n # | f1=F1 # | f1_ci95=95% CI ~ | always_fires=F1 always # | precision #",
            "recall # | tier | pass_k=pass^k # | never_fires=F1 never # +",
        ],
    );
    for detector in &report.detectors {
        let figures = &detector.figures;
        table.row([
            Cell::text(&detector.detector),
            Cell::Count(figures.n),
            real(figures.f1),
            interval(figures.f1_ci95.interval),
            real(detector.baselines.always_fire_f1),
            real(figures.precision),
            real(figures.recall),
            Cell::text(tier(detector)),
            Cell::of(detector.pass_k.pass, |pass| Cell::Count(pass.into())),
            real(detector.baselines.never_fire_f1),
        ]);
    }
    table.note(
        "F1 always, F1 never: F1 of a detector that flags every run, or none. tier: the highest whose thresholds are \
         met. unproven: the 95% CI of F1 (bootstrap) includes that of always firing. pass^k: 1 if the tier also holds on \
         each of k perturbed copies of the set (tools renamed, messages added), else 0.",
    );
    table
}

/// Returns the entries missing for the next tier, and for a proof against always firing.
fn needs(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "needs",
        "To reach the next tier",
        &[
            "detector | next_tier=next tier | entries=more runs # | figures=F1 and precision",
            "entries_to_prove=to prove #",
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
        "to prove: labelled runs to add for a power of 80% to show that F1 exceeds that of always firing, at the \
         present rates (normal approximation).",
    );
    table
}

fn tier(detector: &DetectorReport) -> String {
    let mark = if detector.unproven { " (unproven)" } else { "" };
    format!("{}{mark}", detector.tier.name())
}

/// Returns the figures of each detector by `what`: by difficulty, or by domain.
fn by_group<'r>(
    name: &'static str,
    what: &str,
    report: &'r CalibrationReport,
    groups: fn(&'r DetectorReport) -> Vec<(&'r str, &'r Figures)>,
) -> Table {
    let columns = format!("{what} | n # | tp # | fp # | fn # | tn # | f1=F1 # | precision # | recall #");
    let mut table = Table::new(name, format!("By {what}"), &["detector", &columns]).grouped();
    for detector in &report.detectors {
        for (group, figures) in groups(detector) {
            let confusion = &figures.confusion;
            table.row([
                Cell::text(&detector.detector),
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
    }
    table
}

fn intervals(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "intervals",
        "Intervals (Wilson) and localization (Jaccard)",
        &[
            "detector | precision_ci95=precision, 95% ~ | recall_ci95=recall, 95% ~",
            "undefined_resamples=undefined resamples # | with_a_place=with a place # | similarity #",
            "localization_recall=localization recall #",
        ],
    );
    for detector in &report.detectors {
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

fn flips(report: &CalibrationReport) -> Table {
    let mut table = Table::new(
        "flips",
        "Verdicts that change on perturbed runs",
        &["detector | entry | trial # | from | to | perturbations"],
    )
    .grouped();
    for detector in &report.detectors {
        for flip in &detector.pass_k.flips {
            let names: Vec<&str> =
                flip.perturbations.iter().map(|perturbation| perturbation.name()).collect();
            table.row([
                Cell::text(&detector.detector),
                Cell::text(&flip.entry),
                Cell::Count(flip.trial.into()),
                Cell::text(fired(flip.from)),
                Cell::text(fired(flip.to)),
                Cell::text(names.join(", ")),
            ]);
        }
    }
    table
}

/// Returns a paragraph for each wrong verdict of a detector.
fn wrong(detector: &DetectorReport) -> impl Iterator<Item = String> {
    detector.wrong.iter().map(|wrong| {
        format!(
            "{} should have {} {} ({}). Label: {} Detector: {}",
            detector.detector,
            fired(wrong.label),
            wrong.entry,
            wrong.difficulty.name(),
            wrong.reason,
            wrong.saw
        )
    })
}

fn fired(detected: bool) -> &'static str {
    if detected { "detected" } else { "passed" }
}

/// Returns the figures of a detector over the values of its main parameter, as a table.
fn sweep_table(sweep: &Sweep) -> Table {
    let mut table = Table::new(
        "sweep",
        format!("{} over {}", sweep.detector, sweep.parameter),
        &[format!("value={} #", sweep.parameter), "f1=F1 # | precision # | recall #".to_owned()],
    );
    for point in &sweep.points {
        let value = if point.value.is_null() { "no limit".to_owned() } else { point.value.to_string() };
        table.row([Cell::text(value), real(point.f1), real(point.precision), real(point.recall)]);
    }
    table
}
