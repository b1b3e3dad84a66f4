//! Renders a comparison of two agents.

use super::cell::{Cell, ci};
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart};
use super::document::{Detail, Document};
use super::table::Table;
use crate::compare::{ComparedSide, Comparison, DetectionRate};
use crate::stats::{Interval, MeanDifference};

/// Returns the comparison of two agents as a document: the result, differences, detectors and tasks. The full text adds
/// pass^k, fingerprints and the runs left out.
#[must_use]
pub fn comparison_document(comparison: &Comparison) -> Document {
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    let mut document = Document::new(format!("{second} against {first}"));
    document.lead(verdict(comparison));
    document.section("Differences").table(differences(comparison));
    document.chart(difference_chart(comparison));
    document.section("Detectors").table(detectors(comparison)).chart(rates(comparison));
    document.section("Tasks").table(outcomes(comparison));
    document.detail(Detail::Full).table(tasks(comparison)).table(pass_k(comparison));
    document.chart(pass_k_chart(comparison));
    document.section("Behaviour").table(fingerprints(comparison));
    document.section("Runs").table(sides(comparison));
    document
}

/// Returns the result in a sentence.
fn verdict(comparison: &Comparison) -> String {
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    let Some(success) = &comparison.success else {
        return format!("{first} and {second} have no task in common that both tried.");
    };
    let Some(interval) = interval(success) else {
        return format!("{first} and {second} share too few tasks to tell them apart.");
    };
    let word = if interval.low > 0.0 {
        "succeeds more often than"
    } else if interval.high < 0.0 {
        "succeeds less often than"
    } else {
        "cannot be told from"
    };
    format!(
        "{second} {word} {first}: success {} against {}, difference {} {} over {} tasks.",
        Cell::Share(success.second).shown(),
        Cell::Share(success.first).shown(),
        Cell::Signed(success.difference, 3).shown(),
        Cell::SignedInterval(interval, 3).shown(),
        comparison.tasks,
    )
}

fn interval(difference: &MeanDifference) -> Option<Interval> {
    difference.bootstrap.widened.or(difference.ci95)
}

fn differences(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "differences",
        format!("{} (second) against {} (first), by task", comparison.second.label, comparison.first.label),
        &[
            "measure=mean of | first # | second # | difference # | clustered=95% CI ~ | tasks #",
            "robust=robust 95% CI ~ +",
        ],
    );
    let outcomes = [("success", &comparison.success), ("reward", &comparison.reward)];
    let outcomes = outcomes.into_iter().filter_map(|(name, found)| Some((name.to_owned(), found.as_ref()?)));
    let measures = comparison.measures.iter().map(|one| (measure_name(one.measure), &one.difference));
    for (name, found) in outcomes.chain(measures) {
        let decimals = if found.first.abs().max(found.second.abs()) < 10.0 { 3 } else { 1 };
        let ci = |interval| Cell::of(interval, |interval| Cell::SignedInterval(interval, decimals));
        table.row([
            Cell::text(name),
            Cell::Real(found.first, decimals),
            Cell::Real(found.second, decimals),
            Cell::Signed(found.difference, decimals),
            ci(interval(found)),
            Cell::Count(found.bootstrap.clusters),
            ci(found.ci95),
        ]);
    }
    table.note(format!(
        "95% CI: {} resamples of whole tasks, widened for their number, seed {}. Recovery rate: share of a run's failed \
         calls after which the same tool succeeded, in runs with failed calls. Seconds and tokens: runs that record them.",
        comparison.resamples, comparison.seed
    ));
    table
}

fn measure_name(measure: &str) -> String {
    match measure {
        "recovery_rate" => "recovery rate".to_owned(),
        "errors" => "failed calls".to_owned(),
        other => other.replace('_', " "),
    }
}

fn sides(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "sides",
        "Sides",
        &[
            "side= | label= | runs # | counted # | successes # | infrastructure_errors=infra #",
            "without_task=no task # | of_other_tasks=other #",
        ],
    );
    for (name, side) in [("first", &comparison.first), ("second", &comparison.second)] {
        let ComparedSide { label, runs, counted, successes, .. } = side;
        table.row([
            Cell::text(name),
            Cell::text(label),
            Cell::Count(*runs),
            Cell::Count(*counted),
            Cell::Count(*successes),
            Cell::Count(side.infrastructure_errors),
            Cell::Count(side.without_task),
            Cell::Count(side.of_other_tasks),
        ]);
    }
    table.note(
        "Left out: infra, runs that ended in an infrastructure error; no task; other, tasks that the other side did \
         not try.",
    );
    table
}

fn outcomes(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "outcomes",
        "Runs paired by task and trial",
        &["both=both succeed # | first_only=only first # | second_only=only second # | neither # | p #"],
    );
    if comparison.tasks == 0 {
        return table;
    }
    let paired = comparison.paired;
    table.row([
        Cell::Count(paired.both),
        Cell::Count(paired.first_only),
        Cell::Count(paired.second_only),
        Cell::Count(paired.neither),
        Cell::of(paired.p, Cell::P),
    ]);
    table.note("p: McNemar's exact test, which takes pairs of one task for independent.");
    table
}

fn pass_k(comparison: &Comparison) -> Table {
    let mut table = Table::new("pass_k", "pass^k over the shared tasks", &["k # | first # | second #"]);
    for (k, (first, second)) in (1..).zip(&comparison.pass_k) {
        table.row([Cell::Count(k), Cell::Real(*first, 4), Cell::Real(*second, 4)]);
    }
    table
}

fn detectors(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "detectors",
        "Share of runs in which a detector fires",
        &[
            "detector | first # | first_ci95=95% CI ~ + | second # | second_ci95=95% CI ~ + | difference #",
            "difference_ci95=95% CI, by task ~",
        ],
    );
    let rate = |rate: &DetectionRate| Cell::of(rate.rate(), Cell::Share);
    let wilson = |rate: &DetectionRate| Cell::of(rate.ci95, |interval| Cell::Interval(interval, 2));
    for one in &comparison.detectors {
        let difference = one.difference.as_ref();
        table.row([
            Cell::text(&one.detector),
            rate(&one.first),
            wilson(&one.first),
            rate(&one.second),
            wilson(&one.second),
            Cell::of(difference, |difference| Cell::Signed(difference.difference, 3)),
            ci(difference.and_then(interval)),
        ]);
    }
    table.note(
        "95% CI, by task: paired, from resampled tasks. It is not adjusted for the number of detectors: of twenty that do \
         not differ, one would exclude 0 by chance.",
    );
    table
}

fn fingerprints(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "fingerprints",
        "Distance of the fingerprints (Jensen–Shannon)",
        &["distance # | by_chance=by chance, 95% ~ | p #"],
    );
    if let Some(found) = &comparison.fingerprints {
        table.row([Cell::Real(found.distance, 4), Cell::Interval(found.by_chance, 4), Cell::P(found.p)]);
        table.note(
            "How often one kind of event follows another, such as a message of the agent or a call of one tool. 0: equal, \
             1: nothing in common. by chance: runs change sides within their task.",
        );
    }
    table
}

fn tasks(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "tasks",
        "Tasks in which success rates differ",
        &[
            "domain | task | first_successes=first # | first_runs=of # | second_successes=second #",
            "second_runs=of # | flipped",
        ],
    );
    for task in &comparison.differing {
        table.row([
            Cell::name(task.domain.as_deref()),
            Cell::text(&task.task),
            Cell::Count(task.first.0),
            Cell::Count(task.first.1),
            Cell::Count(task.second.0),
            Cell::Count(task.second.1),
            Cell::text(if !task.flipped {
                ""
            } else if task.second.0 * task.first.1 > task.first.0 * task.second.1 {
                "gained"
            } else {
                "lost"
            }),
        ]);
    }
    if comparison.differing.iter().any(|task| task.flipped) {
        table.note("flipped: more than half of the runs succeed on one side, and not on the other.");
    }
    table
}

fn difference_chart(comparison: &Comparison) -> Chart {
    let row = |label: &str, found: &MeanDifference| {
        let interval = interval(found);
        let shown = interval.map(|interval| format!(" {}", Cell::SignedInterval(interval, 2).shown()));
        IntervalRow {
            label: label.to_owned(),
            note: format!("{:+.2}{}", found.difference, shown.unwrap_or_default()),
            estimate: Some(found.difference),
            interval,
            other: found.ci95,
            ..IntervalRow::default()
        }
    };
    let mut rows = Vec::new();
    rows.extend(comparison.success.iter().map(|found| row("success rate", found)));
    rows.extend(comparison.reward.iter().map(|found| row("mean reward", found)));
    let recovery = comparison.measures.iter().find(|one| one.measure == "recovery_rate");
    rows.extend(recovery.iter().map(|one| row("recovery rate", &one.difference)));
    for detector in &comparison.detectors {
        rows.extend(
            detector.difference.iter().map(|found| row(&format!("{} fires", detector.detector), found)),
        );
    }
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    Chart::Intervals(IntervalChart {
        title: format!("{second} less {first}"),
        caption: "Differences of rates and means, paired by task.".to_owned(),
        axis: format!("difference ({second} less {first})"),
        interval: "difference with 95% CI, clustered by task".to_owned(),
        other: "95% CI by cluster-robust standard error".to_owned(),
        rows,
        reference: Some(0.0),
        ..IntervalChart::default()
    })
}

fn rates(comparison: &Comparison) -> Chart {
    let row = |name: &str, label: &str, rate: &DetectionRate| IntervalRow {
        label: format!("{name}: {label}"),
        note: format!("{} of {}", rate.detected, rate.applicable),
        estimate: rate.rate(),
        interval: rate.ci95,
        ..IntervalRow::default()
    };
    let rows = comparison.detectors.iter().flat_map(|one| {
        [
            row(&one.detector, &comparison.first.label, &one.first),
            row(&one.detector, &comparison.second.label, &one.second),
        ]
    });
    Chart::Intervals(IntervalChart {
        title: "Runs in which a detector fires".to_owned(),
        caption: "Shares of the runs to which a detector applies.".to_owned(),
        axis: "share of runs".to_owned(),
        interval: "share with 95% CI, as if runs were independent (Wilson)".to_owned(),
        rows: rows.collect(),
        range: Some((0.0, 1.0)),
        ..IntervalChart::default()
    })
}

fn pass_k_chart(comparison: &Comparison) -> Chart {
    let most = comparison.pass_k.len().min(16);
    let side = |label: &str, which: fn(&(f64, f64)) -> f64| Line {
        label: label.to_owned(),
        values: comparison.pass_k.iter().take(most).map(|pair| Some(which(pair))).collect(),
    };
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    let lines = [side(first, |pair| pair.0), side(second, |pair| pair.1)];
    Chart::Lines(LineChart {
        title: "pass^k".to_owned(),
        caption: "The chance that k independent trials of a task all succeed, over the shared tasks."
            .to_owned(),
        axis: "trials k".to_owned(),
        measure: "pass^k".to_owned(),
        places: (1..=most).map(|k| k.to_string()).collect(),
        lines: lines.into_iter().filter(|_| most > 1).collect(),
    })
}
