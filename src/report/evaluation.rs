//! Tables and charts of BenchTrace's evaluations.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, interval, real};
use super::chart::{Bar, BarChart, Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::table::Table;
use crate::benchmarks::{
    Agreement, AgreementScore, CallReport, DatasetGroup, Evolution, EvolutionGroup, EvolutionIntervals,
    EvolutionSetting, Figure, FigureIntervals, FrameworkGroup, FunnelCounts, GroupComparison, ModeReport,
    ModeVerdict, Proximity, Reflection, ReflectionGroup, Relation,
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

/// Returns failure avoidance as tables: by framework, task and model; by class, mode, task, proximity, distance and
/// framework; intervals; the grid of proximity and distance; and exclusions by reason.
#[must_use]
pub fn evolution_tables(
    evolution: &Evolution,
    intervals: &EvolutionIntervals,
    settings: &BTreeMap<EvolutionSetting, EvolutionGroup>,
) -> Vec<Table> {
    vec![
        by_setting(settings),
        groups(evolution),
        evolution_intervals(evolution, intervals),
        grid(evolution),
        excluded(evolution),
    ]
}

fn by_setting(settings: &BTreeMap<EvolutionSetting, EvolutionGroup>) -> Table {
    let mut table = Table::new(
        "settings",
        "By framework, task and model",
        &["framework | task | model | cases # | included=incl. # | score # | far=FAR # | frc=FRC #"],
    )
    .grouped();
    for (EvolutionSetting { framework, task, model, .. }, group) in settings {
        table.row([
            Cell::name(framework.as_deref()),
            Cell::text(task),
            Cell::name(model.as_deref()),
            Cell::Count(group.cases),
            Cell::Count(group.included),
            real(group.score),
            real(group.far),
            real(group.frc),
        ]);
    }
    table
}

fn groups(evolution: &Evolution) -> Table {
    let mut table = Table::new(
        "evolution",
        "Failures avoided (FAR), and how often they came back (FRC)",
        &["by | group | cases # | included=incl. # | far=FAR # | frc=FRC # | score #"],
    );
    let mut row = |by: &str, name: String, group: &EvolutionGroup| {
        table.row([
            Cell::text(by),
            Cell::Text(name),
            Cell::Count(group.cases),
            Cell::Count(group.included),
            real(group.far),
            real(group.frc),
            real(group.score),
        ]);
    };
    row("all", String::new(), &evolution.all);
    for (by, groups) in [
        ("class", &evolution.by_class),
        ("mode", &evolution.by_mode),
        ("task", &evolution.by_task),
        ("subtask", &evolution.by_subtask),
    ] {
        for (name, group) in groups {
            row(by, name.clone(), group);
        }
    }
    for (name, group) in &evolution.by_proximity {
        row("proximity", name.to_string(), group);
    }
    for (name, group) in &evolution.by_distance {
        row("distance", name.to_string(), group);
    }
    for (name, framework) in &evolution.by_framework {
        row("framework", name.clone(), &framework.all);
    }
    table
}

fn evolution_intervals(evolution: &Evolution, intervals: &EvolutionIntervals) -> Table {
    let mut table = Table::new(
        "intervals",
        "All cases, with intervals",
        &["figure | method | value # | ci95=95% interval ~"],
    );
    let EvolutionGroup { far, frc, .. } = evolution.all;
    for (figure, method, value, found) in [
        ("FAR", "Wilson", far, intervals.far_wilson),
        ("FAR", "bootstrap of signals", far, intervals.far),
        ("FRC", "bootstrap of signals", frc, intervals.frc),
    ] {
        table.row([Cell::text(figure), Cell::text(method), real(value), interval(found)]);
    }
    table
}

/// Returns FAR by proximity and distance for each framework, and the means over the cells.
fn grid(evolution: &Evolution) -> Table {
    let distances = distances(evolution);
    let mut columns = vec!["framework | proximity".to_owned()];
    columns.extend(distances.iter().map(|distance| format!("d{distance}=D{distance} #")));
    columns.push("mean # | mean_d1_d5=mean of D1 and D5 #".to_owned());
    let mut table =
        Table::new("grid", "FAR by proximity of the signal (T) and distance (D)", &columns).grouped();
    for (name, framework) in &evolution.by_framework {
        let proximities: BTreeSet<u8> = framework.cells.keys().map(|cell| cell.proximity).collect();
        for proximity in proximities {
            let mut row = vec![Cell::text(name), Cell::text(format!("T{proximity}"))];
            row.extend(distances.iter().map(|distance| real(far(framework, proximity, *distance))));
            table.row(row);
        }
        let mut row = vec![Cell::text(name), Cell::text("all cells")];
        row.extend(distances.iter().map(|_| Cell::Missing));
        row.extend([real(framework.cell_mean), real(framework.cell_mean_d1_d5)]);
        table.row(row);
    }
    table
}

fn distances(evolution: &Evolution) -> BTreeSet<u64> {
    let cells = evolution.by_framework.values().flat_map(|framework| framework.cells.keys());
    cells.map(|cell| cell.distance).collect()
}

fn far(framework: &FrameworkGroup, proximity: u8, distance: u64) -> Option<f64> {
    let cells = framework.cells.iter();
    let mut cells = cells.filter(|(cell, _)| (cell.proximity, cell.distance) == (proximity, distance));
    cells.next().and_then(|(_, group)| group.far)
}

/// Returns a chart of FAR over the distance of the signal, with a line for each framework and proximity.
#[must_use]
pub fn distance_chart(evolution: &Evolution) -> Chart {
    let distances = distances(evolution);
    let lines = evolution.by_framework.iter().flat_map(|(name, framework)| {
        let proximities: BTreeSet<u8> = framework.cells.keys().map(|cell| cell.proximity).collect();
        proximities
            .into_iter()
            .map(|proximity| Line {
                label: format!("{name}, T{proximity}"),
                values: distances.iter().map(|distance| far(framework, proximity, *distance)).collect(),
            })
            .collect::<Vec<_>>()
    });
    Chart::Lines(LineChart {
        title: "Failures avoided by distance".to_owned(),
        caption: "FAR over the number of snapshots between signal and test, by proximity of the signal (T)."
            .to_owned(),
        axis: "distance of the signal".to_owned(),
        measure: "FAR".to_owned(),
        lines: lines.collect(),
        places: distances.iter().map(|distance| format!("D{distance}")).collect(),
    })
}

fn excluded(evolution: &Evolution) -> Table {
    let mut table = Table::new("excluded", "Cases without an answer", &["reason | cases #"]);
    for (reason, cases) in &evolution.all.excluded {
        table.row([Cell::text(reason.name()), Cell::Count(*cases)]);
    }
    table
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

/// Returns failure avoidance by class of failure and by framework, as a chart.
#[must_use]
pub fn evolution_chart(evolution: &Evolution) -> Chart {
    let bar = |label: String, group: &EvolutionGroup| {
        let share = group.far?;
        Some(Bar { label, share, note: format!("{} of {}", Cell::Share(share).shown(), group.included) })
    };
    let all = bar("all".to_owned(), &evolution.all);
    let classes = evolution.by_class.iter().filter_map(|(class, group)| bar(class.clone(), group));
    let frameworks = evolution
        .by_framework
        .iter()
        .filter_map(|(name, framework)| bar(format!("framework {name}"), &framework.all));
    Chart::Bars(BarChart {
        title: "Failures avoided".to_owned(),
        axis: "failures avoided (FAR)".to_owned(),
        caption: "Share of the included cases in which the failure was avoided (FAR).".to_owned(),
        bars: all.into_iter().chain(classes).chain(frameworks).collect(),
    })
}
