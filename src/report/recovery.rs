//! The tables of Recovery-Bench.

use super::cell::Cell;
use super::evaluation::{count, interval, real};
use super::table::{Kind, Table};
use crate::benchmarks::{Comparison, Inheritance, Inherited, Replay, Results, Selection};

/// A comparison of recovery with fresh starts as tables: rates and tests, intervals, what was left out, means.
#[must_use]
pub fn recovery_tables(comparison: &Comparison) -> Vec<Table> {
    vec![rates(comparison), intervals(comparison), left_out(comparison), means(comparison)]
}

fn rates(comparison: &Comparison) -> Table {
    let columns = [
        ("context", "context", Kind::Text),
        ("model", "model", Kind::Text),
        ("tasks", "tasks", Kind::Number),
        ("fresh", "fresh", Kind::Number),
        ("recovery", "recovery", Kind::Number),
        ("difference", "diff.", Kind::Number),
        ("relative_drop", "drop", Kind::Number),
        ("p", "p", Kind::Number),
        ("rank_fresh", "rank", Kind::Number),
        ("rank_recovery", "then", Kind::Number),
    ];
    let mut table = Table::new("recovery", "Recovery against a fresh start", &columns).grouped();
    for (context, compared) in &comparison.contexts {
        for (name, model) in &compared.models {
            let Some(paired) = &model.paired else { continue };
            let ranks = compared.ranks.get(name);
            table.row([
                Cell::text(context),
                Cell::text(name),
                count(model.tasks),
                real(Some(paired.fresh.rate)),
                real(Some(paired.recovery.rate)),
                Cell::Signed(paired.difference.value, 4),
                real(paired.relative_drop.value),
                Cell::of(paired.mcnemar.p, Cell::P),
                Cell::of(ranks, |ranks| count(ranks.fresh)),
                Cell::of(ranks, |ranks| count(ranks.recovery)),
            ]);
        }
    }
    table.note(
        "p is of the exact McNemar test; ranks are among the models of the context, fresh and in recovery.",
    );
    table
}

fn intervals(comparison: &Comparison) -> Table {
    let columns = [
        ("context", "context", Kind::Text),
        ("model", "model", Kind::Text),
        ("difference_ci95", "difference", Kind::Interval),
        ("relative_drop_ci95", "relative drop", Kind::Interval),
    ];
    let title = "95% intervals by bootstrap of tasks";
    let mut table = Table::new("intervals", title, &columns).grouped();
    for (context, compared) in &comparison.contexts {
        for (name, model) in &compared.models {
            let Some(paired) = &model.paired else { continue };
            table.row([
                Cell::text(context),
                Cell::text(name),
                Cell::of(paired.difference.bootstrap95, |found| Cell::SignedInterval(found, 4)),
                interval(paired.relative_drop.bootstrap95),
            ]);
        }
    }
    table.note(
        "Percentiles of resampled tasks, as the evaluation defines them: of fewer than 20 tasks they are too narrow, and \
         the exact p is to be believed. Neither is adjusted for the number of rows.",
    );
    table
}

fn left_out(comparison: &Comparison) -> Table {
    let columns = [
        ("context", "context", Kind::Text),
        ("model", "model", Kind::Text),
        ("why", "why", Kind::Text),
        ("fresh_only", "only fresh", Kind::Number),
        ("recovery_only", "only in recovery", Kind::Number),
    ];
    let mut table = Table::new("left_out", "Tasks left out, tried on one side only", &columns).grouped();
    for (context, compared) in &comparison.contexts {
        for (name, model) in &compared.models {
            if model.paired.is_some() && model.fresh_only.is_empty() && model.recovery_only.is_empty() {
                continue;
            }
            table.row([
                Cell::text(context),
                Cell::text(name),
                Cell::text(model.not_applicable.unwrap_or_default()),
                count(model.fresh_only.len()),
                count(model.recovery_only.len()),
            ]);
        }
    }
    table
}

fn means(comparison: &Comparison) -> Table {
    let columns = [
        ("context", "context", Kind::Text),
        ("mean_fresh", "fresh", Kind::Number),
        ("mean_recovery", "recovery", Kind::Number),
        ("relative_drop_of_means", "drop of means", Kind::Number),
        ("mean_of_relative_drops", "mean of drops", Kind::Number),
        ("kendall_tau_b", "tau-b", Kind::Number),
        ("discordant_pairs", "changes", Kind::Number),
    ];
    let mut table = Table::new("means", "Means over models, and their order", &columns);
    for (context, compared) in &comparison.contexts {
        table.row([
            Cell::text(context),
            real(compared.mean_fresh),
            real(compared.mean_recovery),
            real(compared.relative_drop_of_means),
            real(compared.mean_of_relative_drops),
            real(compared.kendall_tau_b),
            Cell::Count(compared.discordant_pairs),
        ]);
    }
    table.note(
        "Kendall's tau-b is of fresh against recovery rates; changes are pairs of models that change places.",
    );
    table
}

/// What result files hold, as a table.
#[must_use]
pub fn result_tables(files: &[(String, Results)]) -> Vec<Table> {
    let columns = [
        ("file", "file", Kind::Text),
        ("skipped", "skipped", Kind::Text),
        ("trials", "trials", Kind::Number),
        ("resolved", "resolved", Kind::Number),
        ("unscored", "unscored", Kind::Number),
    ];
    let mut table = Table::new("results", "Trials in result files", &columns);
    for (file, results) in files {
        let counts = match results {
            Results::Trials { trials, .. } => [
                count(trials.len()),
                count(trials.iter().filter(|trial| trial.resolved).count()),
                count(trials.iter().filter(|trial| !trial.scored).count()),
            ],
            Results::Skipped { .. } => [Cell::Missing, Cell::Missing, Cell::Missing],
        };
        let skipped = match results {
            Results::Skipped { why } => why.name(),
            Results::Trials { .. } => "",
        };
        let [trials, resolved, unscored] = counts;
        table.row([Cell::text(file), Cell::text(skipped), trials, resolved, unscored]);
    }
    vec![table]
}

/// A selection as tables: what became of the trials, and those that were kept.
#[must_use]
pub fn selection_tables(selection: &Selection) -> Vec<Table> {
    let columns = [("trials", "trials", Kind::Text), ("count", "count", Kind::Number)];
    let mut table = Table::new("selection", "Selection of failed trials", &columns);
    table.row([Cell::text("kept"), count(selection.kept.len())]);
    for (why, trials) in &selection.left_out {
        table.row([Cell::Text(format!("left out: {why}")), Cell::Count(*trials)]);
    }
    if !selection.kept.is_empty() {
        table.note(format!("Kept: {}.", selection.kept.join(", ")));
    }
    vec![table]
}

/// Lists of commands as a table, one row per command.
#[must_use]
pub fn replay_tables(files: &[(String, Replay)]) -> Vec<Table> {
    let columns = [
        ("file", "file", Kind::Text),
        ("keystrokes", "keystrokes", Kind::Text),
        ("note", "note", Kind::Text),
        ("step", "step", Kind::Number),
        ("timeout_s", "wait (s)", Kind::Number),
    ];
    let mut table = Table::new("commands", "Commands to type again", &columns).grouped();
    for (file, replay) in files {
        for command in &replay.commands {
            table.row([
                Cell::text(file),
                Cell::Text(format!("{:?}", command.keystrokes)),
                Cell::text(if command.interrupted { "interrupted" } else { "" }),
                Cell::Text(command.step.to_string()),
                Cell::Text(command.timeout_s.to_string()),
            ]);
        }
        let (commands, interactions) = (replay.commands.len(), replay.interactions);
        table.note(format!("{file}: {commands} commands, {interactions} interactions."));
    }
    vec![table]
}

/// Inherited errors as tables: the rates, and the pairs that repeat an error.
#[must_use]
pub fn inheritance_tables(inheritance: &Inheritance) -> Vec<Table> {
    let columns = [("what", "of the last failing actions", Kind::Text), ("rate", "share", Kind::Number)];
    let mut rates = Table::new("inheritance", "Errors that recovery runs inherit", &columns);
    for (what, rate) in [
        ("repeated", inheritance.same_action_rate),
        ("repeated with the same observation", inheritance.same_observation_rate),
        ("so at least twice", inheritance.looped_rate),
    ] {
        rates.row([Cell::text(what), real(rate)]);
    }
    let (applicable, pairs) = (inheritance.applicable, inheritance.pairs.len());
    rates.note(format!("{applicable} of {pairs} pairs have a failing action."));
    let columns = [
        ("pair", "pair", Kind::Text),
        ("last_failing_step", "failing step", Kind::Number),
        ("first_position", "first repeat", Kind::Number),
        ("repeats", "repeats", Kind::Number),
        ("repeats_same_observation", "same answer", Kind::Number),
    ];
    let mut table = Table::new("inherited", "Pairs that repeat the error", &columns);
    for pair in &inheritance.pairs {
        if let Inherited::Judged {
            last_failing_step,
            first_position: Some(first),
            repeats,
            repeats_same_observation,
            ..
        } = pair.answer
        {
            table.row([
                Cell::text(&pair.id),
                Cell::Text(last_failing_step.to_string()),
                Cell::Text(first.to_string()),
                Cell::Text(repeats.to_string()),
                Cell::Text(repeats_same_observation.to_string()),
            ]);
        }
    }
    vec![rates, table]
}
