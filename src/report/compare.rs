//! Renders a comparison of two agents.

use super::cell::{Cell, counted};
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart, Plot};
use super::document::{Detail, Document};
use super::table::Table;
use crate::compare::{ComparedSide, Comparison, DetectionRate, PairedOutcomes};
use crate::stats::{Interval, MeanDifference};

/// Returns the comparison of two agents as a document: the result, differences, detectors and paired runs.
/// The full text adds the tasks that differ, pass^k, fingerprints and the runs of each side.
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

fn verdict(comparison: &Comparison) -> String {
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    let Some(success) = &comparison.success else {
        return why_unshared(comparison);
    };
    let said = match interval(success) {
        Some(interval) if interval.low > 0.0 => "The second succeeds more often",
        Some(interval) if interval.high < 0.0 => "The second succeeds less often",
        Some(_) => "Inconclusive",
        None if success.bootstrap.widened.is_none() => "Too few shared tasks (below 5) for an interval",
        None => "Both succeed equally often in every task",
    };
    let [of_first, of_second] = [success.first, success.second].map(|mean| Cell::Share(mean).shown());
    let difference = interval(success).map_or_else(String::new, |interval| {
        let (difference, interval) = (Cell::Points(success.difference), Cell::PointsInterval(interval));
        format!(", difference {} (95% CI {})", difference.shown(), interval.shown())
    });
    let over = counted(comparison.tasks, "shared task");
    let runs = (comparison.second.counted, comparison.first.counted);
    format!(
        "{said}: {second} (second) {of_second} of {} runs, {first} (first) {of_first} of {}{difference}, over {over}.",
        runs.0, runs.1
    )
}

/// Returns why a comparison has no shared task, in a sentence.
#[must_use]
pub fn why_unshared(comparison: &Comparison) -> String {
    let side = |side: &ComparedSide| {
        let counts = [
            (side.without_task, "without a task"),
            (side.of_other_tasks, "of other tasks"),
            (side.infrastructure_errors, "ended by an infrastructure error"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> =
            counts.map(|(count, what)| format!("{} {what}", counted(count, "run"))).collect();
        if counts.is_empty() { "no run".to_owned() } else { counts.join(", ") }
    };
    let (first, second) = (side(&comparison.first), side(&comparison.second));
    format!("no task is in both: the first has {first}; the second {second}.")
}

/// Returns the interval of a difference. `None` if it is not known, or if no task differs: all resamples are then
/// equal.
fn interval(difference: &MeanDifference) -> Option<Interval> {
    let varies = |interval: &Interval| interval.low < interval.high || difference.difference.abs() > 0.0;
    difference.bootstrap.widened.filter(varies)
}

fn differences(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "differences",
        "Second against first: means over the runs of shared tasks",
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
        let is_share = matches!(name.as_str(), "success" | "recovery rate");
        let mean = |mean| if is_share { Cell::Share(mean) } else { Cell::Real(mean, decimals) };
        let change = |by| if is_share { Cell::Points(by) } else { Cell::Signed(by, decimals) };
        let ci = |interval| {
            Cell::of(interval, |interval| {
                if is_share {
                    Cell::PointsInterval(interval)
                } else {
                    Cell::SignedInterval(interval, decimals)
                }
            })
        };
        table.row([
            Cell::text(name),
            mean(found.first),
            mean(found.second),
            change(found.difference),
            ci(interval(found)),
            Cell::Count(found.bootstrap.clusters),
            ci(found.ci95),
        ]);
    }
    let has = |names: &[&str]| comparison.measures.iter().any(|one| names.contains(&one.measure));
    let mut note = format!(
        "success: the reward is 1. pp: percentage points. tasks: those with runs of both sides that have the value. 95% \
         CI: {} resamples of whole tasks, widened for the number of tasks, seed {}; – for fewer than 5 tasks, or if none \
         differs.",
        comparison.resamples, comparison.seed
    );
    if has(&["recovery_rate"]) {
        note += " Recovery rate: share of a run's failed calls after which the same tool succeeded, in runs with failed calls.";
    }
    if has(&["seconds", "tokens"]) {
        note += " Seconds and tokens: runs that record them.";
    }
    table.note(note);
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
    Table::of("sides", "Sides", [("first", &comparison.first), ("second", &comparison.second)])
        .column("side=", |(name, _)| Cell::text(*name))
        .column("label=", |(_, side)| Cell::text(&side.label))
        .column("runs #", |(_, side)| Cell::Count(side.runs))
        .column("counted #", |(_, side)| Cell::Count(side.counted))
        .column("successes #", |(_, side)| Cell::Count(side.successes))
        .column("infrastructure_errors=infra #", |(_, side)| Cell::Count(side.infrastructure_errors))
        .column("without_task=no task #", |(_, side)| Cell::Count(side.without_task))
        .column("of_other_tasks=other #", |(_, side)| Cell::Count(side.of_other_tasks))
        .noted(
            "Left out: infra, runs that ended in an infrastructure error; no task; other, tasks \
             that the other side did not try.",
        )
}

fn outcomes(comparison: &Comparison) -> Table {
    let PairedOutcomes { both, first_only, second_only, neither, .. } = comparison.paired;
    let pairs = both + first_only + second_only + neither;
    Table::of(
        "outcomes",
        "Runs paired by task and trial",
        (comparison.tasks > 0).then_some(comparison.paired),
    )
    .column("both=both succeed #", |paired| Cell::Count(paired.both))
    .column("first_only=only first #", |paired| Cell::Count(paired.first_only))
    .column("second_only=only second #", |paired| Cell::Count(paired.second_only))
    .column("neither #", |paired| Cell::Count(paired.neither))
    .column("p # +", |paired| {
        Cell::of(paired.p.filter(|_| paired.first_only + paired.second_only > 0), Cell::P)
    })
    .noted(format!(
        "{} and {} runs are unpaired. p (--full): McNemar's exact test, which treats pairs of one task as independent.",
        comparison.first.counted.saturating_sub(pairs),
        comparison.second.counted.saturating_sub(pairs),
    ))
}

fn pass_k(comparison: &Comparison) -> Table {
    Table::of("pass_k", "pass^k over the shared tasks", (1..).zip(&comparison.pass_k))
        .column("k #", |(k, _)| Cell::Count(*k))
        .column("first #", |(_, (first, _))| Cell::Real(*first, 4))
        .column("second #", |(_, (_, second))| Cell::Real(*second, 4))
        .table()
}

fn detectors(comparison: &Comparison) -> Table {
    fn rate(rate: &DetectionRate) -> Cell {
        Cell::of(rate.rate(), Cell::Share)
    }
    fn wilson(rate: &DetectionRate) -> Cell {
        Cell::of(rate.ci95, Cell::ShareInterval)
    }
    Table::of("detectors", "Share of runs that a detector flags (lower is better)", &comparison.detectors)
        .column("detector", |one| Cell::text(&one.detector))
        .column("first #", |one| rate(&one.first))
        .column("first_ci95=95% CI ~ +", |one| wilson(&one.first))
        .column("second #", |one| rate(&one.second))
        .column("second_ci95=95% CI ~ +", |one| wilson(&one.second))
        .column("difference #", |one| {
            Cell::of(one.difference.as_ref(), |found| Cell::Points(found.difference))
        })
        .column("difference_ci95=95% CI ~", |one| {
            Cell::of(one.difference.as_ref().and_then(interval), Cell::PointsInterval)
        })
        .column("tasks #", |one| {
            Cell::of(one.difference.as_ref(), |found| Cell::Count(found.bootstrap.clusters))
        })
        .noted(format!(
            "Of the runs to which the detector applies, in tasks that have such runs on both sides. 95% CI: as above, not \
             adjusted for {}.",
            counted(comparison.detectors.len() as u64, "detector")
        ))
}

fn fingerprints(comparison: &Comparison) -> Table {
    let mut table =
        Table::of("fingerprints", "Distance of the fingerprints (Jensen–Shannon)", &comparison.fingerprints)
            .column("distance #", |found| Cell::Real(found.distance, 4))
            .column("by_chance=by chance, 95% ~", |found| Cell::Interval(found.by_chance, 4))
            .column("p #", |found| Cell::P(found.p))
            .table();
    if !table.is_empty() {
        table.note(
            "How often one kind of event follows another, such as a message of the agent or a call of one tool. 0: equal, \
             1: nothing in common. by chance: runs change sides within their task.",
        );
    }
    table
}

fn tasks(comparison: &Comparison) -> Table {
    let mut table = Table::of("tasks", "Tasks in which success rates differ", &comparison.differing)
        .column("domain", |task| Cell::name(task.domain.as_deref()))
        .column("task", |task| Cell::text(&task.task))
        .column("first_successes=first #", |task| Cell::Count(task.first.0))
        .column("first_runs=of #", |task| Cell::Count(task.first.1))
        .column("second_successes=second #", |task| Cell::Count(task.second.0))
        .column("second_runs=of #", |task| Cell::Count(task.second.1))
        .column("flipped", |task| {
            let gained = task.second.0 * task.first.1 > task.first.0 * task.second.1;
            Cell::text(match (task.flipped, gained) {
                (false, _) => "",
                (true, true) => "gained",
                (true, false) => "lost",
            })
        })
        .table();
    if comparison.differing.iter().any(|task| task.flipped) {
        table.note("flipped: more than half of the runs succeed on one side, and not on the other.");
    }
    table
}

fn difference_chart(comparison: &Comparison) -> Chart {
    let row = |label: &str, found: &MeanDifference| {
        let interval = interval(found);
        let shown = interval.map(|interval| format!(" {}", Cell::SignedInterval(interval, 2).shown()));
        let note = format!("{:+.2}{}", found.difference, shown.unwrap_or_default());
        IntervalRow { other: found.ci95, ..IntervalRow::new(label, note, Some(found.difference), interval) }
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
    let axis = format!("difference ({second} less {first})");
    let other = "95% CI by cluster-robust standard error".to_owned();
    let rows = IntervalChart::differences(axis, "difference with 95% CI, clustered by task", rows);
    let caption = "Differences of rates and means, paired by task.";
    Chart::new(format!("{second} less {first}"), caption, Plot::Intervals(IntervalChart { other, ..rows }))
}

fn rates(comparison: &Comparison) -> Chart {
    let row = |name: &str, label: &str, rate: &DetectionRate| {
        let note = format!("{} of {}", rate.detected, rate.applicable);
        IntervalRow::new(format!("{name}: {label}"), note, rate.rate(), rate.ci95)
    };
    let rows = comparison.detectors.iter().flat_map(|one| {
        [
            row(&one.detector, &comparison.first.label, &one.first),
            row(&one.detector, &comparison.second.label, &one.second),
        ]
    });
    let caption = "Shares of the runs to which a detector applies.";
    Chart::shares("Runs in which a detector fires", caption, "share of runs", rows)
}

fn pass_k_chart(comparison: &Comparison) -> Chart {
    let most = comparison.pass_k.len().min(16);
    let side = |label: &str, which: fn(&(f64, f64)) -> f64| Line {
        label: label.to_owned(),
        values: comparison.pass_k.iter().take(most).map(|pair| Some(which(pair))).collect(),
    };
    let (first, second) = (&comparison.first.label, &comparison.second.label);
    let lines = [side(first, |pair| pair.0), side(second, |pair| pair.1)];
    let (places, lines) = ((1..=most).map(|k| k.to_string()), lines.into_iter().filter(|_| most > 1));
    let caption = "The chance that k independent trials of a task all succeed, over the shared tasks.";
    Chart::new("pass^k", caption, Plot::Lines(LineChart::new("trials k", "pass^k", places, lines)))
}
