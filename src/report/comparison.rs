//! A comparison of two agents: text, and tables to take along.

use super::cell::Cell;
use super::table::{Kind, TEXT_WIDTH, Table};
use super::wrap::wrapped;
use crate::compare::{ComparedSide, Comparison, DetectionRate};
use crate::stats::{Interval, MeanDifference};

/// How many differing tasks the text shows.
const TASKS: usize = 20;

/// The comparison of two agents as text that fits 80 columns, the result first.
#[must_use]
pub fn render_comparison(comparison: &Comparison) -> String {
    let mut text = String::new();
    for line in wrapped(&verdict(comparison), TEXT_WIDTH) {
        text += &format!("{line}\n");
    }
    for mut table in comparison_tables(comparison) {
        let rows = table.rows().len();
        if table.name() == "tasks" && rows > TASKS {
            table.keep_first(TASKS);
            table.note(format!("{} more tasks differ.", rows - TASKS));
        }
        if !table.is_empty() {
            text += &format!("\n{}", table.text(TEXT_WIDTH));
        }
    }
    text
}

/// The result in a sentence.
pub(super) fn verdict(comparison: &Comparison) -> String {
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

/// The comparison of two agents as tables: sides, outcomes, success, pass^k, detectors, fingerprints, tasks.
#[must_use]
pub fn comparison_tables(comparison: &Comparison) -> Vec<Table> {
    vec![
        differences(comparison),
        sides(comparison),
        outcomes(comparison),
        pass_k(comparison),
        detectors(comparison),
        fingerprints(comparison),
        tasks(comparison),
    ]
}

pub(super) fn interval(difference: &MeanDifference) -> Option<Interval> {
    difference.bootstrap.widened.or(difference.ci95)
}

fn ci(interval: Option<Interval>) -> Cell {
    Cell::of(interval, |interval| Cell::SignedInterval(interval, 3))
}

fn differences(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "differences",
        "Success and reward, second less first",
        &[
            ("measure", "", Kind::Text),
            ("first", "first", Kind::Number),
            ("second", "second", Kind::Number),
            ("difference", "diff", Kind::Number),
            ("clustered", "by task", Kind::Interval),
            ("robust", "robust", Kind::Interval),
            ("tasks", "tasks", Kind::Number),
        ],
    );
    for (name, difference) in [("success rate", &comparison.success), ("mean reward", &comparison.reward)] {
        let Some(found) = difference else { continue };
        table.row([
            Cell::text(name),
            Cell::Real(found.first, 3),
            Cell::Real(found.second, 3),
            Cell::Signed(found.difference, 3),
            ci(interval(found)),
            ci(found.ci95),
            Cell::Count(found.bootstrap.clusters),
        ]);
    }
    table.note(format!(
        "by task: bootstrap of tasks, percentiles widened for their number, {} resamples, seed {}. robust: cluster-robust \
         standard error with Student's t.",
        comparison.resamples, comparison.seed
    ));
    table
}

fn sides(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "sides",
        "Sides",
        &[
            ("side", "", Kind::Text),
            ("label", "", Kind::Text),
            ("runs", "runs", Kind::Number),
            ("counted", "counted", Kind::Number),
            ("successes", "successes", Kind::Number),
            ("infrastructure_errors", "infra", Kind::Number),
            ("without_task", "no task", Kind::Number),
            ("of_other_tasks", "other", Kind::Number),
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
        &[
            ("both", "both succeed", Kind::Number),
            ("first_only", "only first", Kind::Number),
            ("second_only", "only second", Kind::Number),
            ("neither", "neither", Kind::Number),
            ("p", "p", Kind::Number),
        ],
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
    let mut table = Table::new(
        "pass_k",
        "pass^k over the shared tasks",
        &[("k", "k", Kind::Number), ("first", "first", Kind::Number), ("second", "second", Kind::Number)],
    );
    for (k, (first, second)) in (1..).zip(&comparison.pass_k) {
        table.row([Cell::Count(k), Cell::Real(*first, 4), Cell::Real(*second, 4)]);
    }
    table
}

fn detectors(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "detectors",
        "Runs in which a detector fires",
        &[
            ("detector", "detector", Kind::Text),
            ("first", "first", Kind::Number),
            ("first_ci95", "95%", Kind::Interval),
            ("second", "second", Kind::Number),
            ("second_ci95", "95%", Kind::Interval),
            ("difference", "diff", Kind::Number),
            ("difference_ci95", "by task", Kind::Interval),
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
        "95%: Wilson, as if runs were independent. by task: paired, bootstrap of tasks; each for its detector alone: of \
         twenty detectors that do not differ, one would exclude 0 by chance.",
    );
    table
}

fn fingerprints(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "fingerprints",
        "Distance of the fingerprints (Jensen–Shannon)",
        &[
            ("distance", "distance", Kind::Number),
            ("by_chance", "by chance, 95%", Kind::Interval),
            ("p", "p", Kind::Number),
        ],
    );
    if let Some(found) = &comparison.fingerprints {
        table.row([Cell::Real(found.distance, 4), Cell::Interval(found.by_chance, 4), Cell::P(found.p)]);
        table.note(
            "A fingerprint is how often one kind of event follows another, such as a message of the agent or a call of \
             one tool; 0: alike, 1: nothing in common. by chance: runs change sides within their task.",
        );
    }
    table
}

fn tasks(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "tasks",
        "Tasks in which success rates differ",
        &[
            ("domain", "domain", Kind::Text),
            ("task", "task", Kind::Text),
            ("first_successes", "first", Kind::Number),
            ("first_runs", "of", Kind::Number),
            ("second_successes", "second", Kind::Number),
            ("second_runs", "of", Kind::Number),
            ("flipped", "flipped", Kind::Text),
        ],
    );
    for task in &comparison.differing {
        table.row([
            Cell::text(task.domain.as_deref().unwrap_or("–")),
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
