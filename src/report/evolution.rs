//! Tables and charts of BenchTrace's evolution.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, interval, real};
use super::chart::{Bar, BarChart, Chart, Line, LineChart};
use super::table::Table;
use crate::benchmarks::{Evolution, EvolutionGroup, EvolutionIntervals, EvolutionSetting, FrameworkGroup};

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
