//! Renders a calibration as a document.

use super::cell::{Cell, counted};
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart, Plot};
use super::document::{Detail, Document};
use super::draw::shown;
use super::gate::thresholds;
use super::table::Table;
use crate::calibrate::{CalibrationReport, DetectorReport, Figures, Sweep, SweepPoint};
use crate::stats::{Confusion, Interval};

/// Returns a calibration as a document: the figures of each detector, what it lacks for the next tier, and
/// sweeps. The full text adds figures by difficulty and domain, intervals, and flipped and wrong verdicts.
#[must_use]
pub fn calibration_document(report: &CalibrationReport, sweeps: &[Sweep]) -> Document {
    let mut document = Document::new("Detectors on labelled runs");
    let tested = || report.detectors.iter().filter(|detector| detector.figures.n > 0);
    document.lead(format!(
        "On labelled runs, the 95% CI of F1 lies above the F1 of flagging every run for {} of {}.",
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

/// Creates a cell with two decimals, already more than some fifty entries support.
fn real(value: Option<f64>) -> Cell {
    Cell::real(value, 2)
}

fn interval(interval: Option<Interval>) -> Cell {
    Cell::of(interval, |interval| Cell::Interval(interval, 2))
}

fn f1_chart(report: &CalibrationReport) -> Chart {
    let rows =
        report.detectors.iter().map(|DetectorReport { detector, figures, tier, baselines, .. }| {
            let note = format!("F1 {}, n = {}, {}", shown(figures.f1), figures.n, tier.name());
            let row = IntervalRow::new(detector, note, figures.f1, figures.f1_ci95.interval);
            IntervalRow { baseline: baselines.always_fire_f1, ..row }
        });
    let rows = IntervalChart {
        baseline: "F1 of a detector that always fires".to_owned(),
        ..IntervalChart::shares("F1", "F1 with 95% CI (bootstrap)", rows)
    };
    Chart::new("F1 against always firing", "F1 of each detector on labelled runs.", Plot::Intervals(rows))
}

fn sweep_chart(sweep: &Sweep) -> Chart {
    let line = |label: &str, value: fn(&SweepPoint) -> Option<f64>| Line {
        label: label.to_owned(),
        values: sweep.points.iter().map(value).collect(),
    };
    let place =
        |point: &SweepPoint| if point.value.is_null() { "∞".to_owned() } else { point.value.to_string() };
    let lines = [
        line("F1", |point| point.f1),
        line("precision", |point| point.precision),
        line("recall", |point| point.recall),
    ];
    let places = sweep.points.iter().map(place);
    let lines = LineChart::new(sweep.parameter, "F1, precision, recall", places, lines);
    let caption = "F1, precision and recall; the legend shows the last value of each.";
    Chart::new(format!("{} over {}", sweep.detector, sweep.parameter), caption, Plot::Lines(lines))
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn figures(report: &CalibrationReport) -> Table {
    let k = report.detectors.iter().map(|one| one.pass_k.k).max().unwrap_or(0);
    Table::of("calibration", "Detectors on labelled runs", &report.detectors)
        .column("detector", |one| Cell::text(&one.detector))
        .column("n #", |one| Cell::Count(one.figures.n))
        .column("f1=F1 #", |one| real(one.figures.f1))
        .column("f1_ci95=95% CI ~", |one| interval(one.figures.f1_ci95.interval))
        .column("always_fires=F1 always #", |one| real(one.baselines.always_fire_f1))
        .column("precision #", |one| real(one.figures.precision))
        .column("recall #", |one| real(one.figures.recall))
        .column("above_always=above", |one| {
            let is_tested = one.figures.n > 0;
            Cell::of(is_tested.then_some(one.unproven), |unproven| Cell::text(yes(!unproven)))
        })
        .column("tier", |one| Cell::text(one.tier.name()))
        .column("pass_k=pass^k", |one| Cell::of(one.pass_k.pass, |pass| Cell::text(yes(pass > 0))))
        .column("false_alarms=false alarms #", |one| {
            let Confusion { fp, tn, .. } = one.figures.confusion;
            Cell::ratio(fp, fp.saturating_add(tn))
        })
        .column("positive #", |one| {
            let Confusion { tp, fn_, .. } = one.figures.confusion;
            Cell::ratio(tp.saturating_add(fn_), one.figures.n)
        })
        .column("never_fires=F1 never # +", |one| real(one.baselines.never_fire_f1))
        .noted(format!(
            "n: labelled runs. F1 always: F1 of a detector that flags every run. above: whether the 95% CI of F1 \
             (bootstrap of runs) lies above that. tier: the highest whose thresholds F1, precision and n meet. pass^k: \
             whether the tier also holds on each of {k} perturbed copies of the set (tools renamed, messages added). \
             false alarms: share of the runs labelled as clean that are flagged. positive: share labelled as failures; \
             where failures are rarer, precision and F1 are lower."
        ))
}

/// Returns the entries missing for the next tier, and for a proof that F1 exceeds that of flagging every run.
fn needs(report: &CalibrationReport) -> Table {
    let needy = report.detectors.iter().filter(|one| {
        one.needs.next_tier.is_some() || one.needs.entries_to_prove.is_none_or(|entries| entries > 0)
    });
    let mut table = Table::of("needs", "Missing for the next tier, and for an F1 above always firing", needy)
        .column("detector", |one| Cell::text(&one.detector))
        .column("next_tier=next tier", |one| Cell::of(one.needs.next_tier, |tier| Cell::text(tier.name())))
        .column("entries=more runs #", |one| {
            Cell::of(one.needs.next_tier, |_| Cell::Count(one.needs.entries))
        })
        .column("figures=F1 and precision", |one| {
            let figures = if one.needs.figures_suffice { "high enough" } else { "too low" };
            Cell::of(one.needs.next_tier.filter(|_| one.figures.n > 0), |_| Cell::text(figures))
        })
        .column("entries_to_prove=to prove #", |one| match one.needs.entries_to_prove {
            Some(entries) => Cell::Count(entries),
            None => Cell::text("never"),
        })
        .table();
    for gate in &report.gates {
        table.note(format!("{}.", thresholds(gate)));
    }
    table.noted(
        "to prove: labelled runs to add for a power of 80% to show that F1 exceeds that of always firing, at the \
         present rates (normal approximation); never if it does not exceed it.",
    )
}

/// Returns the figures of each detector by `what`: by difficulty, or by domain.
fn by_group<'r>(
    name: &'static str,
    what: &str,
    report: &'r CalibrationReport,
    groups: fn(&'r DetectorReport) -> Vec<(&'r str, &'r Figures)>,
) -> Table {
    let groups =
        report.detectors.iter().flat_map(|one| groups(one).into_iter().map(move |group| (one, group)));
    Table::of(name, format!("By {what}"), groups)
        .column("detector", |(one, _)| Cell::text(&one.detector))
        .column(what, |(_, (group, _))| Cell::text(*group))
        .column("n #", |(_, (_, figures))| Cell::Count(figures.n))
        .column("tp #", |(_, (_, figures))| Cell::Count(figures.confusion.tp))
        .column("fp #", |(_, (_, figures))| Cell::Count(figures.confusion.fp))
        .column("fn #", |(_, (_, figures))| Cell::Count(figures.confusion.fn_))
        .column("tn #", |(_, (_, figures))| Cell::Count(figures.confusion.tn))
        .column("f1=F1 #", |(_, (_, figures))| real(figures.f1))
        .column("precision #", |(_, (_, figures))| real(figures.precision))
        .column("recall #", |(_, (_, figures))| real(figures.recall))
        .grouped()
}

fn intervals(report: &CalibrationReport) -> Table {
    Table::of("intervals", "Intervals (Wilson) and localization (Jaccard)", &report.detectors)
        .column("detector", |one| Cell::text(&one.detector))
        .column("precision_ci95=precision, 95% ~", |one| interval(one.figures.precision_ci95))
        .column("recall_ci95=recall, 95% ~", |one| interval(one.figures.recall_ci95))
        .column("undefined_resamples=undefined resamples #", |one| {
            Cell::Count(one.figures.f1_ci95.undefined as u64)
        })
        .column("with_a_place=with a place #", |one| Cell::Count(one.localization.entries))
        .column("similarity #", |one| real(one.localization.similarity))
        .column("localization_recall=localization recall #", |one| real(one.localization.recall))
        .noted(
            "undefined resamples: those of the interval of F1 in which it is undefined, which are \
             left out. with a place: entries that say where the failure is. similarity, \
             localization recall: how far the places that are found, and those that are labelled, \
             overlap with the best of the others (Jaccard index of their steps).",
        )
}

fn flips(report: &CalibrationReport) -> Table {
    let flips = report.detectors.iter().flat_map(|one| one.pass_k.flips.iter().map(move |flip| (one, flip)));
    Table::of("flips", "Verdicts that change on perturbed runs", flips)
        .column("detector", |(one, _)| Cell::text(&one.detector))
        .column("entry", |(_, flip)| Cell::text(&flip.entry))
        .column("trial #", |(_, flip)| Cell::Count(flip.trial.into()))
        .column("from", |(_, flip)| Cell::text(fired(flip.from)))
        .column("to", |(_, flip)| Cell::text(fired(flip.to)))
        .column("perturbations", |(_, flip)| {
            Cell::text(flip.perturbations.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "))
        })
        .grouped()
}

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

fn sweep_table(sweep: &Sweep) -> Table {
    let value = format!("value={} #", sweep.parameter);
    Table::of("sweep", format!("{} over {}", sweep.detector, sweep.parameter), &sweep.points)
        .column(&value, |point| {
            Cell::text(if point.value.is_null() { "no limit".to_owned() } else { point.value.to_string() })
        })
        .column("f1=F1 #", |point| real(point.f1))
        .column("precision #", |point| real(point.precision))
        .column("recall #", |point| real(point.recall))
        .table()
}
