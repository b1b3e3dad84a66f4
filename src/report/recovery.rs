//! The tables of Recovery-Bench.

use super::cell::{Cell, interval, real};
use super::chart::{Chart, IntervalChart};
use super::evaluation::{count, interval_row};
use super::table::Table;
use crate::benchmarks::{
    Comparison, ContextComparison, Inheritance, Inherited, ModelComparison, PairedComparison, Replay,
    Results, Selection, Transcript,
};

/// Returns a comparison of recovery with fresh starts as tables: rates and tests, intervals, trials left out, and
/// means.
#[must_use]
pub fn recovery_tables(comparison: &Comparison) -> Vec<Table> {
    vec![
        rates(comparison),
        intervals(comparison),
        replies(comparison),
        left_out(comparison),
        means(comparison),
    ]
}

/// Returns the models with trials on both sides, with their context.
fn paired(
    comparison: &Comparison,
) -> impl Iterator<Item = (&str, &ContextComparison, &str, &ModelComparison, &PairedComparison)> {
    comparison.contexts.iter().flat_map(|(context, compared)| {
        compared.models.iter().filter_map(move |(name, model)| {
            Some((context.as_str(), compared, name.as_str(), model, model.paired.as_ref()?))
        })
    })
}

/// Returns recovery compared with fresh starts as charts: the rates of both sides, and their differences.
#[must_use]
pub fn recovery_charts(comparison: &Comparison) -> Vec<Chart> {
    let rates = paired(comparison).flat_map(|(context, _, name, _, found)| {
        // Fresh starts count for tasks that were also tried in the context.
        let fresh = format!("fresh, where {context} was tried");
        [(fresh, &found.fresh), (context.to_owned(), &found.recovery)].map(|(side, arm)| {
            let note = Cell::Share(arm.rate).shown();
            interval_row(format!("{name}: {side}"), note, Some(arm.rate), arm.bootstrap95)
        })
    });
    let differences = paired(comparison).map(|(context, _, name, _, found)| {
        let value = found.difference.value;
        let note = Cell::Signed(value, 2).shown();
        interval_row(format!("{name}: {context}"), note, Some(value), found.difference.bootstrap95)
    });
    vec![
        Chart::Intervals(IntervalChart {
            title: "Tasks resolved".to_owned(),
            caption: "Mean share of trials resolved over the tasks tried on both sides.".to_owned(),
            rows: rates.collect(),
            axis: "share of trials resolved".to_owned(),
            interval: "share with 95% CI from resampled tasks".to_owned(),
            range: Some((0.0, 1.0)),
            ..IntervalChart::default()
        }),
        Chart::Intervals(IntervalChart {
            title: "Recovery less fresh".to_owned(),
            caption: "Differences of the two rates.".to_owned(),
            rows: differences.collect(),
            axis: "difference (recovery less fresh)".to_owned(),
            interval: "difference with 95% CI from resampled tasks".to_owned(),
            reference: Some(0.0),
            ..IntervalChart::default()
        }),
    ]
}

fn rates(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "recovery",
        "Recovery against a fresh start",
        &[
            "context | model | tasks # | fresh # | recovery # | difference=diff. # | relative_drop=drop #",
            "p # | rank_fresh=rank # | rank_recovery=then #",
        ],
    )
    .grouped();
    for (context, compared, name, model, paired) in paired(comparison) {
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
    table.note(
        "p is of the exact McNemar test; ranks are among the models of the context, fresh and in recovery.",
    );
    table
}

fn intervals(comparison: &Comparison) -> Table {
    let title = "95% intervals by bootstrap of tasks";
    let mut table = Table::new(
        "intervals",
        title,
        &["context | model | difference_ci95=difference ~ | relative_drop_ci95=relative drop ~"],
    )
    .grouped();
    for (context, _, name, _, paired) in paired(comparison) {
        table.row([
            Cell::text(context),
            Cell::text(name),
            Cell::of(paired.difference.bootstrap95, |found| Cell::SignedInterval(found, 4)),
            interval(paired.relative_drop.bootstrap95),
        ]);
    }
    table.note(
        "Percentiles of resampled tasks, as the evaluation defines them: of fewer than 20 tasks they are too narrow, and \
         the exact p is to be believed. Neither is adjusted for the number of rows.",
    );
    table
}

fn replies(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "replies",
        "Mean replies of the model, and premature successes",
        &[
            "context | model | replies_fresh=fresh # | replies_recovery=recovery #",
            "replies_fresh_resolved=fresh, resolved # | replies_recovery_resolved=recovery, resolved #",
            "premature_fresh=premature, fresh # | premature_recovery=premature, recovery #",
        ],
    )
    .grouped();
    for (context, _, name, _, PairedComparison { fresh, recovery, .. }) in paired(comparison) {
        let mean = |mean: Option<f64>| Cell::of(mean, |mean| Cell::Real(mean, 1));
        table.row([
            Cell::text(context),
            Cell::text(name),
            mean(fresh.mean_interactions),
            mean(recovery.mean_interactions),
            mean(fresh.mean_interactions_resolved),
            mean(recovery.mean_interactions_resolved),
            Cell::of(fresh.premature, Cell::Count),
            Cell::of(recovery.premature, Cell::Count),
        ]);
    }
    table.note("Premature: the agent declared the task done, and it was not resolved.");
    table
}

fn left_out(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "left_out",
        "Tasks left out, tried on one side only",
        &["context | model | why | fresh_only=only fresh # | recovery_only=only in recovery #"],
    )
    .grouped();
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
    let mut table = Table::new(
        "means",
        "Means over models, and their order",
        &[
            "context | mean_fresh=fresh # | mean_recovery=recovery #",
            "relative_drop_of_means=drop of means # | mean_of_relative_drops=mean of drops #",
            "kendall_tau_b=tau-b # | discordant_pairs=changes #",
        ],
    );
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

/// Returns a table of the contents of result files.
#[must_use]
pub fn result_tables(files: &[(String, Results)]) -> Vec<Table> {
    let mut table = Table::new(
        "results",
        "Trials in result files",
        &["file | skipped | trials # | resolved # | unscored #"],
    );
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

/// Returns a selection as tables: the outcome of each trial, and the trials kept.
#[must_use]
pub fn selection_tables(selection: &Selection) -> Vec<Table> {
    let mut table = Table::new("selection", "Selection of failed trials", &["trials | count #"]);
    table.row([Cell::text("kept"), count(selection.kept.len())]);
    for (why, trials) in &selection.left_out {
        table.row([Cell::Text(format!("left out: {why}")), Cell::Count(*trials)]);
    }
    if !selection.kept.is_empty() {
        table.note(format!("Kept: {}.", selection.kept.join(", ")));
    }
    vec![table]
}

/// Returns lists of commands as a table, one row per command.
#[must_use]
pub fn replay_tables(files: &[(String, Replay)]) -> Vec<Table> {
    let mut table = Table::new(
        "commands",
        "Commands to type again",
        &["file | keystrokes | note | step # | timeout_s=wait (s) #"],
    )
    .grouped();
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

/// Returns the sizes of transcripts as a table.
#[must_use]
pub fn transcript_tables(files: &[(String, Transcript)]) -> Vec<Table> {
    let mut table = Table::new(
        "transcripts",
        "Transcripts of failed trials",
        &["file | messages # | bytes # | prompt_bytes=prompt, bytes #"],
    );
    for (file, found) in files {
        let bytes = Cell::Count(found.text.len() as u64);
        table.row([Cell::text(file), Cell::Count(found.messages), bytes, Cell::Count(found.prompt_bytes)]);
    }
    table.note(
        "prompt: with the introduction of the public code, which takes prompts of at most 64,000 bytes.",
    );
    vec![table]
}

/// Returns inherited errors as tables: rates, and pairs that repeat an error.
#[must_use]
pub fn inheritance_tables(inheritance: &Inheritance) -> Vec<Table> {
    let mut rates = Table::new(
        "inheritance",
        "Errors that recovery runs inherit",
        &["what=of the last failing actions | rate=share #"],
    );
    for (what, rate) in [
        ("repeated", inheritance.same_action_rate),
        ("repeated with the same observation", inheritance.same_observation_rate),
        ("so at least twice", inheritance.looped_rate),
    ] {
        rates.row([Cell::text(what), real(rate)]);
    }
    let (applicable, pairs) = (inheritance.applicable, inheritance.pairs.len());
    rates.note(format!("{applicable} of {pairs} pairs have a failing action."));
    let mut table = Table::new(
        "inherited",
        "Pairs that repeat the error",
        &[
            "pair | last_failing_step=failing step # | first_position=first repeat # | repeats #",
            "repeats_same_observation=same answer #",
        ],
    );
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
