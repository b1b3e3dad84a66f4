//! Charts of the evaluations of benchmarks.

use super::chart::{Bar, BarChart, Chart, IntervalChart, IntervalRow};
use crate::benchmarks::{
    Comparison, Evolution, EvolutionGroup, Figure, FigureIntervals, PairedComparison, Reflection,
};
use crate::report::cell::Cell;
use crate::stats::Interval;

fn row(label: String, note: String, estimate: Option<f64>, interval: Option<Interval>) -> IntervalRow {
    IntervalRow { label, note, estimate, interval, other: None, baseline: None, pooled: false }
}

/// The scores of a reflection over all tasks, with their intervals, as a chart.
#[must_use]
pub fn reflection_chart(reflection: &Reflection, intervals: &FigureIntervals) -> Chart {
    let rows = Figure::VARIANTS.iter().map(|figure| {
        let value = reflection.all.figure(*figure);
        let shown = Cell::of(value, |value| Cell::Real(value, 2)).shown();
        row(figure.name().replace('_', " "), shown, value, intervals.get(figure).copied().flatten())
    });
    Chart::Intervals(IntervalChart {
        title: "Reflection over all tasks".to_owned(),
        caption: "Each figure with its 95% interval from resampled episodes.".to_owned(),
        rows: rows.collect(),
        range: Some((0.0, 1.0)),
        reference: None,
    })
}

/// Failure avoidance by class of failure and by framework, as a chart.
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
        caption: "Share of the included cases in which the failure was avoided (FAR).".to_owned(),
        bars: all.into_iter().chain(classes).chain(frameworks).collect(),
    })
}

/// Recovery against fresh starts as charts: the rates of both sides, and their differences.
#[must_use]
pub fn recovery_charts(comparison: &Comparison) -> Vec<Chart> {
    let paired = || {
        comparison.contexts.iter().flat_map(|(context, compared)| {
            let models = compared.models.iter();
            models.filter_map(move |(name, model)| Some((context, name, model.paired.as_ref()?)))
        })
    };
    let rates = paired().flat_map(|(context, name, found): (_, _, &PairedComparison)| {
        // The tasks of a fresh start are those that were tried in the context, too.
        let fresh = format!("fresh, where {context} was tried");
        [(fresh, &found.fresh), (context.clone(), &found.recovery)].map(|(side, arm)| {
            let note = Cell::Share(arm.rate).shown();
            row(format!("{name}: {side}"), note, Some(arm.rate), arm.bootstrap95)
        })
    });
    let differences = paired().map(|(context, name, found)| {
        let value = found.difference.value;
        let note = Cell::Signed(value, 2).shown();
        row(format!("{name}: {context}"), note, Some(value), found.difference.bootstrap95)
    });
    vec![
        Chart::Intervals(IntervalChart {
            title: "Tasks resolved".to_owned(),
            caption:
                "Mean share of trials resolved over the tasks tried on both sides, with 95% intervals from \
                      resampled tasks."
                    .to_owned(),
            rows: rates.collect(),
            range: Some((0.0, 1.0)),
            reference: None,
        }),
        Chart::Intervals(IntervalChart {
            title: "Recovery less fresh".to_owned(),
            caption: "Differences of the two rates, with 95% intervals from resampled tasks.".to_owned(),
            rows: differences.collect(),
            range: None,
            reference: Some(0.0),
        }),
    ]
}
