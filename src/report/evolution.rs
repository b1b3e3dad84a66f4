//! Tables and charts of BenchTrace's evolution: failures avoided (FAR), and how often they came back (FRC).

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, interval, real};
use super::chart::{Bar, BarChart, Chart, Line, LineChart, Plot};
use super::document::Document;
use super::table::Table;
use crate::benchmarks::{Evolution, EvolutionGroup, EvolutionIntervals, EvolutionSetting, FrameworkGroup};

/// Returns failure avoidance as a document: by framework, task and model; by class, mode, task, subtask,
/// proximity, distance and framework; intervals; the grid of proximity and distance; and exclusions by
/// reason.
#[must_use]
pub fn evolution_document(
    evolution: &Evolution,
    intervals: &EvolutionIntervals,
    settings: &BTreeMap<EvolutionSetting, EvolutionGroup>,
) -> Document {
    let tables = [
        by_setting(settings),
        groups(evolution),
        evolution_intervals(evolution, intervals),
        grid(evolution),
        excluded(evolution),
    ];
    let charts = [evolution_chart(evolution), distance_chart(evolution)];
    Document::of("Failures avoided after learning", charts, tables)
}

fn by_setting(settings: &BTreeMap<EvolutionSetting, EvolutionGroup>) -> Table {
    Table::of("settings", "By framework, task and model", settings)
        .column("framework", |(setting, _)| Cell::name(setting.framework.as_deref()))
        .column("task", |(setting, _)| Cell::text(&setting.task))
        .column("model", |(setting, _)| Cell::name(setting.model.as_deref()))
        .column("cases #", |(_, group)| Cell::Count(group.cases))
        .column("included=incl. #", |(_, group)| Cell::Count(group.included))
        .column("score #", |(_, group)| real(group.score))
        .column("far=FAR #", |(_, group)| real(group.far))
        .column("frc=FRC #", |(_, group)| real(group.frc))
        .grouped()
}

fn groups(evolution: &Evolution) -> Table {
    fn named<K: ToString>(groups: &BTreeMap<K, EvolutionGroup>) -> Vec<(String, &EvolutionGroup)> {
        groups.iter().map(|(name, group)| (name.to_string(), group)).collect()
    }
    let frameworks = evolution.by_framework.iter().map(|(name, framework)| (name.clone(), &framework.all));
    let groups = [
        ("all", vec![(String::new(), &evolution.all)]),
        ("class", named(&evolution.by_class)),
        ("mode", named(&evolution.by_mode)),
        ("task", named(&evolution.by_task)),
        ("subtask", named(&evolution.by_subtask)),
        ("proximity", named(&evolution.by_proximity)),
        ("distance", named(&evolution.by_distance)),
        ("framework", frameworks.collect()),
    ];
    Table::of(
        "evolution",
        "Failures avoided (FAR), and how often they came back (FRC)",
        groups.into_iter().flat_map(|(by, groups)| groups.into_iter().map(move |group| (by, group))),
    )
    .column("by", |(by, _)| Cell::text(*by))
    .column("group", |(_, (name, _))| Cell::text(name))
    .column("cases #", |(_, (_, group))| Cell::Count(group.cases))
    .column("included=incl. #", |(_, (_, group))| Cell::Count(group.included))
    .column("far=FAR #", |(_, (_, group))| real(group.far))
    .column("frc=FRC #", |(_, (_, group))| real(group.frc))
    .column("score #", |(_, (_, group))| real(group.score))
    .table()
}

fn evolution_intervals(evolution: &Evolution, intervals: &EvolutionIntervals) -> Table {
    let EvolutionGroup { far, frc, .. } = evolution.all;
    let figures = [
        ("FAR", "Wilson", far, intervals.far_wilson),
        ("FAR", "bootstrap of signals", far, intervals.far),
        ("FRC", "bootstrap of signals", frc, intervals.frc),
    ];
    Table::of("intervals", "All cases, with intervals", figures)
        .column("figure", |(figure, ..)| Cell::text(*figure))
        .column("method", |(_, method, ..)| Cell::text(*method))
        .column("value #", |(_, _, value, _)| real(*value))
        .column("ci95=95% interval ~", |(.., found)| interval(*found))
        .table()
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
        for (proximity, values) in by_proximity(framework, &distances) {
            let mut row = vec![Cell::text(name), Cell::text(format!("T{proximity}"))];
            row.extend(values.into_iter().map(real));
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

fn by_proximity(framework: &FrameworkGroup, distances: &BTreeSet<u64>) -> BTreeMap<u8, Vec<Option<f64>>> {
    let mut rows = BTreeMap::new();
    for (cell, group) in &framework.cells {
        let row = rows.entry(cell.proximity).or_insert_with(|| vec![None; distances.len()]);
        let places = distances.iter().zip(row).filter(|(distance, _)| **distance == cell.distance);
        places.for_each(|(_, far)| *far = group.far);
    }
    rows
}

fn distance_chart(evolution: &Evolution) -> Chart {
    let distances = distances(evolution);
    let lines = evolution.by_framework.iter().flat_map(|(name, framework)| {
        let lines = by_proximity(framework, &distances).into_iter();
        lines.map(move |(proximity, values)| Line { label: format!("{name}, T{proximity}"), values })
    });
    let places = distances.iter().map(|distance| format!("D{distance}"));
    let lines = LineChart::new("distance of the signal", "FAR", places, lines);
    let caption = "FAR over the number of snapshots between signal and test, by proximity of the signal (T).";
    Chart::new("Failures avoided by distance", caption, Plot::Lines(lines))
}

fn excluded(evolution: &Evolution) -> Table {
    Table::of("excluded", "Cases without an answer", &evolution.all.excluded)
        .column("reason", |(reason, _)| Cell::text(reason.name()))
        .column("cases #", |(_, cases)| Cell::Count(**cases))
        .table()
}

fn evolution_chart(evolution: &Evolution) -> Chart {
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
    let bars = all.into_iter().chain(classes).chain(frameworks).collect();
    let caption = "Share of the included cases in which the failure was avoided (FAR).";
    let bars = BarChart { axis: "failures avoided (FAR)".to_owned(), bars };
    Chart::new("Failures avoided", caption, Plot::Bars(bars))
}
