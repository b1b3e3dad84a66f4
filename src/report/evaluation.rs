//! Tables and charts of BenchTrace's reflection, agreement, relations and rules.

use std::collections::BTreeMap;

use super::cell::{Cell, interval, real};
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::table::Table;
use crate::benchmarks::{
    Agreement, AgreementScore, CallReport, DatasetGroup, Figure, FigureIntervals, FunnelCounts,
    GroupComparison, ModeReport, ModeVerdict, Proximity, Reflection, ReflectionGroup, Relation,
};
use crate::stats::{Interval, ratio};

pub(super) fn count(count: usize) -> Cell {
    Cell::Count(count as u64)
}

/// Returns the scores of a reflection as tables: figures by task, overall intervals, funnels by task, and statistics of
/// the annotated episodes.
#[must_use]
pub fn reflection_tables(
    reflection: &Reflection,
    intervals: &FigureIntervals,
    dataset: &BTreeMap<String, DatasetGroup>,
) -> Vec<Table> {
    let mut tables = vec![by_task(reflection), figures_of_all(reflection, intervals), funnels(reflection)];
    tables.extend(dataset_tables(dataset));
    tables
}

/// Returns the annotated episodes by task, and their failures by mode.
fn dataset_tables(dataset: &BTreeMap<String, DatasetGroup>) -> [Table; 2] {
    let mut tasks = Table::new(
        "dataset",
        "Annotated episodes",
        &[
            "task | episodes # | with_failures=failing # | share # | failures # | per_episode=per episode #",
            "modes # | steps_per_failure=steps #",
        ],
    );
    let mut modes =
        Table::new("modes", "Annotated failures by mode", &["task | mode | failures # | share #"]).grouped();
    for (task, group) in dataset {
        let failures = group.failures();
        tasks.row([
            Cell::text(task),
            Cell::Count(group.episodes),
            Cell::Count(group.with_failures),
            Cell::of(ratio(group.with_failures, group.episodes), Cell::Share),
            Cell::Count(failures),
            Cell::of(ratio(failures, group.episodes), |mean| Cell::Real(mean, 2)),
            count(group.modes.len()),
            Cell::of(ratio(group.failing_steps, failures), |mean| Cell::Real(mean, 1)),
        ]);
        for (mode, times) in &group.modes {
            let share = Cell::of(ratio(*times, failures), Cell::Share);
            modes.row([Cell::text(task), Cell::text(mode), Cell::Count(*times), share]);
        }
    }
    tasks.note("failing: episodes with a failure. steps: mean number of steps of a failure.");
    [tasks, modes]
}

/// Returns the groups by task, and that of all episodes.
fn groups_of(reflection: &Reflection) -> impl Iterator<Item = (&str, &ReflectionGroup)> {
    let tasks = reflection.tasks.iter().map(|(task, group)| (task.as_str(), group));
    tasks.chain([("all", &reflection.all)])
}

fn by_task(reflection: &Reflection) -> Table {
    let mut table = Table::new(
        "reflection",
        "Reflection by task",
        &[
            "task | episodes=n # | detection_accuracy=detect # | similarity=simil # | recall #",
            "mode_accuracy=mode # | token_f1=token F1 # | judge #",
        ],
    );
    for (name, group) in groups_of(reflection) {
        let mut cells = vec![Cell::text(name), Cell::Count(group.episodes)];
        cells.extend(Figure::VARIANTS.iter().map(|figure| real(group.figure(*figure))));
        table.row(cells);
    }
    for (name, averages) in
        [("weighted by episodes", &reflection.episode_weighted), ("mean of tasks", &reflection.macro_average)]
    {
        let mut cells = vec![Cell::text(name), Cell::Missing];
        cells.extend(averages.values().map(|figure| real(*figure)));
        table.row(cells);
    }
    let all = &reflection.all;
    table.note(format!(
        "{} of {} detections and {} of {} diagnoses are unanswered, {} of {} failures are judged, and {} of {} \
         episodes with failures have no ranges.",
        all.unanswered_detection,
        all.episodes,
        all.unanswered_items,
        all.items,
        all.judged_items,
        all.items,
        all.episodes_without_ranges,
        all.localized_episodes,
    ));
    table.note(format!(
        "Episodes without a prediction: {}. Predictions for unknown episodes: {}.",
        all.without_prediction,
        reflection.unknown_predictions.len(),
    ));
    table
}

fn figures_of_all(reflection: &Reflection, intervals: &FigureIntervals) -> Table {
    let mut table = Table::new(
        "figures",
        "All tasks, with intervals by bootstrap of episodes",
        &["figure | value # | ci95=95% interval ~"],
    );
    for figure in Figure::VARIANTS {
        let found = intervals.get(figure).copied().flatten();
        table.row([Cell::text(figure.name()), real(reflection.all.figure(*figure)), interval(found)]);
    }
    table
}

fn funnels(reflection: &Reflection) -> Table {
    let mut table = Table::new(
        "funnel",
        "Where episodes end",
        &["funnel | task | detection # | localization # | diagnosis # | pass # | pass_rate=pass rate #"],
    )
    .grouped();
    for funnel in reflection.all.funnel.keys() {
        for (task, group) in groups_of(reflection) {
            let Some(counts) = group.funnel.get(funnel) else { continue };
            table.row([
                Cell::text(funnel),
                Cell::text(task),
                Cell::Count(counts.detection),
                Cell::Count(counts.localization),
                Cell::Count(counts.diagnosis),
                Cell::Count(counts.pass),
                real(counts.pass_rate),
            ]);
        }
    }
    table
}

/// Returns a chart of the share of episodes that pass each stage of the paper's funnel, by task.
#[must_use]
pub fn funnel_chart(reflection: &Reflection) -> Chart {
    let line = |(task, group): (&str, &ReflectionGroup)| {
        let FunnelCounts { detection, localization, diagnosis, pass, .. } = group.funnel.get("figure2")?;
        let all = detection + localization + diagnosis + pass;
        let passed = [all, all - detection, diagnosis + pass, *pass];
        Some(Line { label: task.to_owned(), values: passed.map(|passed| ratio(passed, all)).into() })
    };
    Chart::Lines(LineChart {
        title: "Funnel of reflection".to_owned(),
        caption: "Share of episodes that pass each stage: best Jaccard index of at least 0.6, every failure judged 1."
            .to_owned(),
        axis: "stage".to_owned(),
        measure: "share of episodes".to_owned(),
        places: ["all", "detected", "localized", "diagnosed"].map(str::to_owned).into(),
        lines: groups_of(reflection).filter_map(line).collect(),
    })
}

/// Returns a table of how close signals are to the failures under test.
#[must_use]
pub fn proximity_tables(found: &[Proximity]) -> Vec<Table> {
    let mut table =
        Table::new("proximity", "Signals and the failures under test", &["pair | why=why not | proximity #"]);
    for pair in found {
        let why = pair.why.map_or_else(String::new, |why| why.to_string());
        let proximity = Cell::of(pair.proximity, |proximity| Cell::Count(proximity.into()));
        table.row([Cell::text(&pair.id), Cell::Text(why), proximity]);
    }
    vec![table]
}

/// Returns the agreement of two annotators as a table.
#[must_use]
pub fn agreement_tables(agreement: &Agreement) -> Vec<Table> {
    let mut table = Table::new(
        "agreement",
        "Agreement of two annotators",
        &["failures | a=of a # | b=of b # | matched # | f1=F1 # | mode_kappa=kappa of modes #"],
    );
    for (name, score) in [("core", &agreement.core), ("all", &agreement.all)] {
        let AgreementScore { matched, a, b, f1, mode_kappa } = score;
        let [a, b, matched] = [a, b, matched].map(|count| Cell::Count(*count));
        table.row([Cell::text(name), a, b, matched, real(*f1), real(*mode_kappa)]);
    }
    table.note(format!(
        "{} episodes; tiers agree (Jaccard) {}; core sets (Jaccard) {}.",
        agreement.episodes.len(),
        real(agreement.tier_jaccard).shown(),
        real(agreement.core_set_jaccard).shown(),
    ));
    vec![table]
}

/// Returns the comparison of avoidance after right and wrong reflection as a table.
#[must_use]
pub fn relation_tables(relations: &BTreeMap<String, Relation>) -> Vec<Table> {
    let mut table = Table::new(
        "relations",
        "Avoidance after right and wrong reflection",
        &[
            "class | level | n_correct=n right # | far_correct=FAR # | n_wrong=n wrong #",
            "far_wrong=FAR # | p # | phi # | stars",
        ],
    )
    .grouped();
    for (class, relation) in relations {
        let levels = &relation.cumulative;
        for (level, group) in [
            ("detection", &levels.detection),
            ("localization", &levels.localization),
            ("diagnosis", &levels.diagnosis),
        ] {
            let GroupComparison { n_correct, n_wrong, far_correct, far_wrong, p, stars, phi, .. } = group;
            table.row([
                Cell::text(class),
                Cell::text(level),
                Cell::Count(*n_correct),
                real(*far_correct),
                Cell::Count(*n_wrong),
                real(*far_wrong),
                Cell::of(*p, Cell::P),
                real(*phi),
                Cell::text(stars.unwrap_or_default()),
            ]);
        }
    }
    vec![table]
}

/// Returns tables of how many episodes each failure mode judges and finds.
#[must_use]
pub fn mode_tables(reports: &[ModeReport]) -> Vec<Table> {
    let of = |mode: for<'r> fn(&'r ModeReport) -> Option<&'r ModeVerdict>| {
        reports.iter().filter_map(mode).collect()
    };
    let modes = [
        ("system/format", of(|report| Some(&report.format))),
        ("strategy/unexplored_direction", of(|report| report.unexplored_direction.as_ref())),
        ("operation/perception_error", of(|report| report.perception_error.as_ref())),
        ("operation/decision_error", of(|report| report.decision_error.as_ref())),
    ];
    verdict_tables("mode", &modes)
}

/// Returns tables of how many runs each rule on calls judges and finds.
#[must_use]
pub fn call_tables(reports: &[CallReport]) -> Vec<Table> {
    let malformed = reports.iter().map(|report| &report.malformed_call).collect();
    let expected = reports.iter().map(|report| &report.expected_action).collect();
    verdict_tables("rule", &[("malformed_call", malformed), ("expected_action", expected)])
}

fn verdict_tables(what: &'static str, rules: &[(&str, Vec<&ModeVerdict>)]) -> Vec<Table> {
    let mut table = Table::new("verdicts", "Failures by rule", &[what, "judged # | detected # | findings #"]);
    let mut silent = Table::new("not_applicable", "Not applicable", &[what, "reason | count #"]);
    for (name, verdicts) in rules {
        let (mut judged, mut detected, mut findings) = (0, 0, 0);
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for verdict in verdicts {
            match verdict {
                ModeVerdict::Judged { detected: fired, findings: found } => {
                    judged += 1;
                    detected += u64::from(*fired);
                    findings += found.len();
                }
                ModeVerdict::NotApplicable { reason } => *reasons.entry(reason).or_default() += 1,
            }
        }
        table.row([Cell::text(*name), Cell::Count(judged), Cell::Count(detected), count(findings)]);
        for (reason, times) in reasons {
            silent.row([Cell::text(*name), Cell::text(reason), Cell::Count(times)]);
        }
    }
    vec![table, silent]
}

pub(super) fn interval_row(
    label: String,
    note: String,
    estimate: Option<f64>,
    interval: Option<Interval>,
) -> IntervalRow {
    IntervalRow { label, note, estimate, interval, ..IntervalRow::default() }
}

/// Returns the scores of a reflection over all tasks, with their intervals, as a chart.
#[must_use]
pub fn reflection_chart(reflection: &Reflection, intervals: &FigureIntervals) -> Chart {
    let rows = Figure::VARIANTS.iter().map(|figure| {
        let value = reflection.all.figure(*figure);
        let shown = Cell::of(value, |value| Cell::Real(value, 2)).shown();
        interval_row(figure.name().replace('_', " "), shown, value, intervals.get(figure).copied().flatten())
    });
    Chart::Intervals(IntervalChart {
        title: "Reflection over all tasks".to_owned(),
        caption: "Each figure over all tasks.".to_owned(),
        axis: "score".to_owned(),
        interval: "score with 95% CI from resampled episodes".to_owned(),
        rows: rows.collect(),
        range: Some((0.0, 1.0)),
        ..IntervalChart::default()
    })
}
