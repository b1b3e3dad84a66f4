//! The replication as a page.

use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::page::HtmlReport;
use crate::replicate::{
    ClusteredInterval, Inference, PassK, Relation, Replication, SimulationRow, SummedReplication,
};
use crate::report::cell::{Cell, counted};
use crate::report::replication::{replication_tables, strengths, without_calls};
use crate::report::runs::pass_k_table;
use crate::report::summed::{summed_tables, too_many};
use crate::stats::{Interval, mean, wilson};

/// A page with its title and what of the runs every page says.
fn head(tables: &Replication) -> HtmlReport {
    let overall = &tables.overall;
    let mut report = HtmlReport::new("Recovery from tool errors and reward");
    report.lead(format!(
        "{}, {} with a reward, {} with tool errors.",
        counted(overall.sims, "run"),
        overall.sims_with_reward,
        overall.sims_with_errors
    ));
    if let Some(sentence) = without_calls(tables) {
        report.lead(format!("{sentence}."));
    }
    report
}

/// The replication as one HTML file.
#[must_use]
pub fn replication_html(rows: &[SimulationRow], inference: &Inference, pass_k: &[PassK]) -> String {
    let mut report = head(&inference.tables);
    if !inference.duplicates.is_empty() {
        let (repeat, are) = match inference.duplicates.len() {
            1 => ("repeats", "is"),
            _ => ("repeat", "are"),
        };
        let runs = counted(inference.duplicates.len() as u64, "more run");
        report.lead(format!("{runs} {repeat} the messages of another run and {are} left out."));
    }
    report.section("Result");
    for contrast in &inference.contrasts {
        report.paragraph(format!("{contrast}."));
    }
    for change in &inference.changes {
        if change.scope == "all runs" {
            report.warning(change.to_string());
        }
    }
    report.chart(forest_chart(inference, Relation::RecoveryWithErrors));
    report.chart(forest_chart(inference, Relation::Recovery));
    report.chart(reward_by_recovery(rows));
    if !pass_k.is_empty() {
        report.section("pass^k");
        for groups in pass_k.chunk_by(|one, next| one.model == next.model) {
            // Of one trial the table says all.
            if groups.iter().any(|group| group.pass.len() > 1) {
                report.chart(pass_k_chart(groups));
            }
        }
        report.table(pass_k_table(pass_k));
    }
    report.section("Tables");
    for table in replication_tables(inference) {
        report.table(table);
    }
    report.render()
}

/// The replication of more runs than are kept one by one, as one HTML file.
#[must_use]
pub fn summed_html(summed: &SummedReplication) -> String {
    let mut report = head(&summed.tables);
    report.lead(too_many(summed));
    report.section("Result");
    if let Some(sentence) = strengths(&summed.tables) {
        report.paragraph(format!("{sentence}."));
    }
    report.chart(Chart::Intervals(IntervalChart {
        title: format!("Correlation with reward: {}", Relation::RecoveryWithErrors),
        caption: format!("r with its 95% interval over clusters (by {}).", summed.cluster),
        rows: summed
            .pairs
            .iter()
            .filter_map(|pair| {
                let r = pair.association.pearson.0.as_ref().ok()?;
                let interval = pair.association.clustered.as_ref().and_then(ClusteredInterval::interval);
                Some(IntervalRow {
                    label: format!("{} / {}", pair.model, pair.domain),
                    note: format!("n = {}, {}", r.n, shown(r.r, interval)),
                    estimate: Some(r.r),
                    interval,
                    other: r.ci95,
                    baseline: None,
                    pooled: false,
                })
            })
            .collect(),
        range: Some((-1.0, 1.0)),
        reference: Some(0.0),
    }));
    if !summed.pass_k.is_empty() {
        report.section("pass^k").table(pass_k_table(&summed.pass_k));
    }
    report.section("Tables");
    for table in summed_tables(summed) {
        report.table(table);
    }
    report.render()
}

/// The forest plot of a relation: r by model and domain with intervals over clusters, and the pooled diamond.
#[must_use]
pub fn forest_chart(inference: &Inference, relation: Relation) -> Chart {
    let row =
        |label: String, r: f64, n: usize, over: Option<Interval>, other: Option<Interval>| IntervalRow {
            label,
            note: format!("n = {n}, {}", shown(r, over)),
            estimate: Some(r),
            interval: over,
            other,
            baseline: None,
            pooled: false,
        };
    let mut rows: Vec<IntervalRow> = inference
        .associations
        .by_model_domain
        .iter()
        .filter_map(|pair| {
            let one = pair.associations.iter().find(|one| one.relation == relation)?;
            let r = one.pearson.0.as_ref().ok()?;
            Some(row(format!("{} / {}", pair.model, pair.domain), r.r, r.n, one.interval(), r.ci95))
        })
        .collect();
    let pooled = inference.pooled.iter().find(|one| one.relation == relation).and_then(|one| one.effects);
    if let Some(effects) = pooled {
        rows.push(IntervalRow {
            label: "Pooled, random effects".to_owned(),
            note: format!("{} pairs, {}", effects.groups, shown(effects.r, Some(effects.ci95))),
            estimate: Some(effects.r),
            interval: Some(effects.ci95),
            other: None,
            baseline: None,
            pooled: true,
        });
    }
    if let Some(one) = inference.associations.overall.iter().find(|one| one.relation == relation)
        && let Ok(r) = &one.pearson.0
    {
        let over = one.clustered.first().and_then(ClusteredInterval::interval);
        rows.push(row("All runs".to_owned(), r.r, r.n, over, r.ci95));
    }
    Chart::Intervals(IntervalChart {
        title: format!("Correlation with reward: {relation}"),
        caption: format!(
            "r with its 95% interval over clusters (by {}), where there are enough of them; dotted below it, Fisher's \
             interval, which takes runs for independent. The diamond pools the pairs of model and domain.",
            inference.cluster
        ),
        rows,
        range: Some((-1.0, 1.0)),
        reference: Some(0.0),
    })
}

fn shown(value: f64, interval: Option<Interval>) -> String {
    let interval = interval.map(|interval| format!(" {}", Cell::SignedInterval(interval, 2).shown()));
    format!("{value:+.2}{}", interval.unwrap_or_default())
}

/// Success by recovery rate, in bins.
fn reward_by_recovery(rows: &[SimulationRow]) -> Chart {
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
        let interval = wilson(successes, n, 0.95).ok()?;
        let mean = mean(inside.iter().filter_map(|row| row.reward))?;
        Some(IntervalRow {
            label: (*label).to_owned(),
            note: format!("n = {n}, mean reward {mean:.2}"),
            estimate: Some(share(successes, n)),
            interval: Some(interval),
            other: None,
            baseline: None,
            pooled: false,
        })
    });
    Chart::Intervals(IntervalChart {
        title: "Success by recovery".to_owned(),
        caption: "Share of runs with a reward within 1e-6 of 1, with Wilson intervals, which take runs for independent."
            .to_owned(),
        rows: bins.collect(),
        range: Some((0.0, 1.0)),
        reference: None,
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn pass_k_chart(groups: &[PassK]) -> Chart {
    let most = groups.iter().map(|group| group.pass.len()).max().unwrap_or(0).min(16);
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "–".to_owned());
    Chart::Lines(LineChart {
        title: format!("pass^k of {}", groups.first().map_or_else(String::new, |group| name(&group.model))),
        caption: "The chance that k independent trials of a task all succeed; the figure beside a name is that of the \
                  largest k."
            .to_owned(),
        places: (1..=most).map(|k| format!("k={k}")).collect(),
        lines: groups
            .iter()
            .filter(|group| !group.pass.is_empty())
            .map(|group| Line {
                label: name(&group.domain),
                values: group.pass.iter().map(|value| Some(*value)).collect(),
            })
            .collect(),
    })
}
