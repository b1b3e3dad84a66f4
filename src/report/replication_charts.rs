//! The charts of a replication.

use super::cell::Cell;
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart, Plot};
use super::replication_answer::unit;
use crate::replicate::{
    ClusterBy, ClusteredInterval, Coefficient, PassK, Relation, ReplicationAnalysis, SimulationRow,
    SummedPair,
};
use crate::stats::{Interval, mean, ratio, wilson};

/// Returns the forest plot of a relation: r by model and domain, pooled over them, and over all runs.
#[must_use]
pub fn forest_chart(analysis: &ReplicationAnalysis, relation: Relation) -> Chart {
    let pairs = analysis.associations.by_model_domain.iter();
    let mut rows: Vec<IntervalRow> = pairs
        .filter_map(|pair| {
            let one = pair.associations.iter().find(|one| one.relation == relation)?;
            forest_row(format!("{} / {}", pair.model, pair.domain), &one.pearson, one.clustered.first())
        })
        .collect();
    let pooled = analysis.pooled.iter().find(|one| one.relation == relation).and_then(|one| one.effects);
    rows.extend(pooled.map(|effects| {
        let note = format!("{} pairs, {}", effects.groups, with_interval(effects.r, Some(effects.ci95)));
        let row = IntervalRow::new("Pooled", note, Some(effects.r), Some(effects.ci95));
        IntervalRow { pooled: true, ..row }
    }));
    let overall = analysis.associations.overall.iter().find(|one| one.relation == relation);
    rows.extend(
        overall.and_then(|one| forest_row("All runs".to_owned(), &one.pearson, one.clustered.first())),
    );
    forest(relation, analysis.cluster, rows)
}

pub(super) fn summed_row(pair: &SummedPair) -> Option<IntervalRow> {
    let one = &pair.association;
    forest_row(format!("{} / {}", pair.model, pair.domain), &one.pearson, one.clustered.as_ref())
}

fn forest_row(label: String, pearson: &Coefficient, over: Option<&ClusteredInterval>) -> Option<IntervalRow> {
    let r = pearson.0.as_ref().ok()?;
    let interval = over.and_then(ClusteredInterval::interval);
    let note = format!("n = {}, {}", r.n, with_interval(r.r, interval));
    Some(IntervalRow { other: r.ci95, ..IntervalRow::new(label, note, Some(r.r), interval) })
}

pub(super) fn forest(relation: Relation, cluster: ClusterBy, rows: Vec<IntervalRow>) -> Chart {
    let interval = format!("r with 95% CI, clustered by {}", unit(cluster));
    let rows = IntervalChart {
        other: "95% CI if runs were independent (Fisher)".to_owned(),
        range: Some((-1.0, 1.0)),
        ..IntervalChart::differences("r with reward", interval, rows)
    };
    let caption = "r by model and domain, with an interval where there are enough clusters.";
    Chart::new(format!("Correlation with reward: {}", relation.label()), caption, Plot::Intervals(rows))
}

fn with_interval(value: f64, interval: Option<Interval>) -> String {
    let interval = interval.map(|interval| format!(" {}", Cell::SignedInterval(interval, 2).shown()));
    format!("{value:+.2}{}", interval.unwrap_or_default())
}

pub(super) fn success_by_recovery(rows: &[SimulationRow]) -> Chart {
    type Bin = (&'static str, fn(&SimulationRow) -> bool);
    const BINS: [Bin; 6] = [
        ("no error", |row| row.errors == 0),
        ("errors, none recovered", |row| row.errors > 0 && row.recovered == 0),
        ("recovered up to half", |row| row.recovered > 0 && row.recovery_rate <= 0.5),
        ("recovered more than half", |row| {
            row.errors > 0 && row.recovery_rate > 0.5 && row.recovered < row.errors
        }),
        ("all recovered, one error", |row| row.errors == 1 && row.recovered == 1),
        ("all recovered, several errors", |row| row.errors > 1 && row.recovered == row.errors),
    ];
    let bins = BINS.iter().filter_map(|(label, holds)| {
        let inside: Vec<&SimulationRow> =
            rows.iter().filter(|row| row.reward.is_some() && holds(row)).collect();
        let successes = inside.iter().filter(|row| row.succeeded()).count() as u64;
        let n = inside.len() as u64;
        let mean = mean(inside.iter().filter_map(|row| row.reward))?;
        let note = format!("n = {n}, mean reward {mean:.2}");
        let interval = wilson(successes, n, 0.95).ok()?;
        Some(IntervalRow::new(*label, note, ratio(successes, n), Some(interval)))
    });
    let caption = "Share of runs with a reward within 1e-6 of 1.";
    Chart::shares("Success by recovery", caption, "share of runs that succeed", bins)
}

pub(super) fn pass_k_chart(groups: &[PassK]) -> Chart {
    let most = groups.iter().map(|group| group.pass.len()).max().unwrap_or(0).min(16);
    let line = |group: &PassK| Line {
        label: group.domain.clone().unwrap_or_else(|| "no domain".to_owned()),
        values: group.pass.iter().map(|value| Some(*value)).collect(),
    };
    let caption =
        "The chance that k independent trials of a task all succeed, with its value at the largest k.";
    let lines = groups.iter().filter(|group| !group.pass.is_empty()).map(line);
    let lines = LineChart::new("trials k", "pass^k", (1..=most).map(|k| k.to_string()), lines);
    Chart::new(format!("pass^k of {}", groups.first().map_or("", PassK::name)), caption, Plot::Lines(lines))
}
