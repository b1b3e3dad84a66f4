//! The tables and charts of Recovery-Bench.

use super::cell::{Cell, interval, real};
use super::chart::{Chart, IntervalChart, IntervalRow, Plot};
use super::document::Document;
use super::evaluation::count;
use super::table::Table;
use crate::benchmarks::{
    Comparison, ContextComparison, Inheritance, Inherited, ModelComparison, PairedComparison, Replay,
    Results, Selection, Transcript, Trial,
};

/// Returns a comparison of recovery with fresh starts as a document: rates and tests, intervals, replies,
/// tasks left out, and means.
#[must_use]
pub fn recovery_document(comparison: &Comparison) -> Document {
    let tables = [
        rates(comparison),
        intervals(comparison),
        replies(comparison),
        left_out(comparison),
        means(comparison),
    ];
    Document::of("Recovery against a fresh start", charts(comparison), tables)
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

fn charts(comparison: &Comparison) -> [Chart; 2] {
    let rates = paired(comparison).flat_map(|(context, _, name, _, found)| {
        // The fresh rate covers only tasks that were also tried in the context.
        let fresh = format!("fresh, where {context} was tried");
        [(fresh, &found.fresh), (context.to_owned(), &found.recovery)].map(|(side, arm)| {
            let note = Cell::Share(arm.rate).shown();
            IntervalRow::new(format!("{name}: {side}"), note, Some(arm.rate), arm.bootstrap95)
        })
    });
    let differences = paired(comparison).map(|(context, _, name, _, found)| {
        let value = found.difference.value;
        let note = Cell::Signed(value, 2).shown();
        IntervalRow::new(format!("{name}: {context}"), note, Some(value), found.difference.bootstrap95)
    });
    let rates =
        IntervalChart::shares("share of trials resolved", "share with 95% CI from resampled tasks", rates);
    let differences = IntervalChart::differences(
        "difference (recovery less fresh)",
        "difference with 95% CI from resampled tasks",
        differences,
    );
    let caption = "Mean share of trials resolved over the tasks tried on both sides.";
    [
        Chart::new("Tasks resolved", caption, Plot::Intervals(rates)),
        Chart::new("Recovery less fresh", "Differences of the two rates.", Plot::Intervals(differences)),
    ]
}

fn rates(comparison: &Comparison) -> Table {
    Table::of("recovery", "Recovery against a fresh start", paired(comparison))
        .column("context", |(context, ..)| Cell::text(*context))
        .column("model", |(_, _, name, ..)| Cell::text(*name))
        .column("tasks #", |(_, _, _, model, _)| count(model.tasks))
        .column("fresh #", |(.., one)| real(Some(one.fresh.rate)))
        .column("recovery #", |(.., one)| real(Some(one.recovery.rate)))
        .column("difference=diff. #", |(.., one)| Cell::Signed(one.difference.value, 4))
        .column("relative_drop=drop #", |(.., one)| real(one.relative_drop.value))
        .column("p #", |(.., one)| Cell::of(one.mcnemar.p, Cell::P))
        .column("rank_fresh=rank #", |(_, compared, name, ..)| {
            Cell::of(compared.ranks.get(*name), |ranks| count(ranks.fresh))
        })
        .column("rank_recovery=then #", |(_, compared, name, ..)| {
            Cell::of(compared.ranks.get(*name), |ranks| count(ranks.recovery))
        })
        .grouped()
        .noted(
            "p is of the exact McNemar test; ranks are among the models of the context, fresh and \
             in recovery.",
        )
}

fn intervals(comparison: &Comparison) -> Table {
    Table::of("intervals", "95% intervals by bootstrap of tasks", paired(comparison))
        .column("context", |(context, ..)| Cell::text(*context))
        .column("model", |(_, _, name, ..)| Cell::text(*name))
        .column("difference_ci95=difference ~", |(.., one)| {
            Cell::of(one.difference.bootstrap95, |found| Cell::SignedInterval(found, 4))
        })
        .column("relative_drop_ci95=relative drop ~", |(.., one)| interval(one.relative_drop.bootstrap95))
        .grouped()
        .noted(
            "Percentiles of resampled tasks, as the evaluation defines them: with fewer than 20 \
             tasks they are too narrow; rely on the exact p instead. Neither is adjusted \
             for the number of rows.",
        )
}

fn replies(comparison: &Comparison) -> Table {
    fn mean(mean: Option<f64>) -> Cell {
        Cell::real(mean, 1)
    }
    Table::of("replies", "Mean replies of the model, and premature successes", paired(comparison))
        .column("context", |(context, ..)| Cell::text(*context))
        .column("model", |(_, _, name, ..)| Cell::text(*name))
        .column("replies_fresh=fresh #", |(.., one)| mean(one.fresh.mean_interactions))
        .column("replies_recovery=recovery #", |(.., one)| mean(one.recovery.mean_interactions))
        .column("replies_fresh_resolved=fresh, resolved #", |(.., one)| {
            mean(one.fresh.mean_interactions_resolved)
        })
        .column("replies_recovery_resolved=recovery, resolved #", |(.., one)| {
            mean(one.recovery.mean_interactions_resolved)
        })
        .column("premature_fresh=premature, fresh #", |(.., one)| Cell::of(one.fresh.premature, Cell::Count))
        .column("premature_recovery=premature, recovery #", |(.., one)| {
            Cell::of(one.recovery.premature, Cell::Count)
        })
        .grouped()
        .noted("Premature: the agent declared the task done, and it was not resolved.")
}

fn left_out(comparison: &Comparison) -> Table {
    let models = comparison.contexts.iter().flat_map(|(context, compared)| {
        compared.models.iter().map(move |(name, model)| (context, name, model))
    });
    let is_left_out = |(_, _, model): &(&String, &String, &ModelComparison)| {
        model.paired.is_none() || !model.fresh_only.is_empty() || !model.recovery_only.is_empty()
    };
    Table::of("left_out", "Tasks left out, tried on one side only", models.filter(is_left_out))
        .column("context", |(context, ..)| Cell::text(*context))
        .column("model", |(_, name, _)| Cell::text(*name))
        .column("why", |(.., model)| Cell::text(model.not_applicable.unwrap_or_default()))
        .column("fresh_only=only fresh #", |(.., model)| count(model.fresh_only.len()))
        .column("recovery_only=only in recovery #", |(.., model)| count(model.recovery_only.len()))
        .grouped()
}

fn means(comparison: &Comparison) -> Table {
    Table::of("means", "Means over models, and their order", &comparison.contexts)
        .column("context", |(context, _)| Cell::text(*context))
        .column("mean_fresh=fresh #", |(_, one)| real(one.mean_fresh))
        .column("mean_recovery=recovery #", |(_, one)| real(one.mean_recovery))
        .column("relative_drop_of_means=drop of means #", |(_, one)| real(one.relative_drop_of_means))
        .column("mean_of_relative_drops=mean of drops #", |(_, one)| real(one.mean_of_relative_drops))
        .column("kendall_tau_b=tau-b #", |(_, one)| real(one.kendall_tau_b))
        .column("discordant_pairs=changes #", |(_, one)| Cell::Count(one.discordant_pairs))
        .noted(
            "Kendall's tau-b is of fresh against recovery rates; changes are pairs of models that \
             swap ranks.",
        )
}

/// Returns the numbers of trials in result files as a document.
#[must_use]
pub fn result_document(files: &[(String, Results)]) -> Document {
    fn trials(results: &Results, counts: fn(&Trial) -> bool) -> Cell {
        match results {
            Results::Trials { trials, .. } => count(trials.iter().filter(|trial| counts(trial)).count()),
            Results::Skipped { .. } => Cell::Missing,
        }
    }
    let table = Table::of("results", "Trials in result files", files)
        .column("file", |(file, _)| Cell::text(file))
        .column("skipped", |(_, results)| match results {
            Results::Skipped { why } => Cell::text(why.name()),
            Results::Trials { .. } => Cell::text(""),
        })
        .column("trials #", |(_, results)| trials(results, |_| true))
        .column("resolved #", |(_, results)| trials(results, |trial| trial.resolved))
        .column("unscored #", |(_, results)| trials(results, |trial| !trial.scored))
        .table();
    Document::of("Results of trials", [], [table])
}

/// Returns a selection as a document: how many trials were kept or left out and why, and the names of those
/// kept.
#[must_use]
pub fn selection_document(selection: &Selection) -> Document {
    let left_out = selection.left_out.iter();
    let left_out = left_out.map(|(why, trials)| (format!("left out: {why}"), *trials));
    let rows = std::iter::once(("kept".to_owned(), selection.kept.len() as u64)).chain(left_out);
    let mut table = Table::of("selection", "Selection of failed trials", rows)
        .column("trials", |(what, _)| Cell::text(what))
        .column("count #", |(_, trials)| Cell::Count(*trials))
        .table();
    if !selection.kept.is_empty() {
        table.note(format!("Kept: {}.", selection.kept.join(", ")));
    }
    Document::of("Failed trials", [], [table])
}

/// Returns lists of commands as a document, one row per command.
#[must_use]
pub fn replay_document(files: &[(String, Replay)]) -> Document {
    let commands = files.iter().flat_map(|(file, replay)| replay.commands.iter().map(move |one| (file, one)));
    let mut table = Table::of("commands", "Commands to replay", commands)
        .column("file", |(file, _)| Cell::text(*file))
        .column("keystrokes", |(_, one)| Cell::Text(format!("{:?}", one.keystrokes)))
        .column("note", |(_, one)| Cell::text(if one.interrupted { "interrupted" } else { "" }))
        .column("step #", |(_, one)| Cell::Text(one.step.to_string()))
        .column("timeout_s=wait (s) #", |(_, one)| Cell::Text(one.timeout_s.to_string()))
        .grouped();
    for (file, Replay { commands, interactions, .. }) in files {
        table.note(format!("{file}: {} commands, {interactions} interactions.", commands.len()));
    }
    Document::of("Commands to replay", [], [table])
}

/// Returns the sizes of transcripts as a document.
#[must_use]
pub fn transcript_document(files: &[(String, Transcript)]) -> Document {
    let table = Table::of("transcripts", "Transcripts of failed trials", files)
        .column("file", |(file, _)| Cell::text(file))
        .column("messages #", |(_, found)| Cell::Count(found.messages))
        .column("bytes #", |(_, found)| count(found.text.len()))
        .column("prompt_bytes=prompt, bytes #", |(_, found)| Cell::Count(found.prompt_bytes))
        .table();
    let note =
        "prompt: with the introduction of the public code, which takes prompts of at most 64,000 bytes.";
    Document::of("Transcripts", [], [table.noted(note)])
}

/// Returns inherited errors as a document: rates, and pairs that repeat an error.
#[must_use]
pub fn inheritance_document(inheritance: &Inheritance) -> Document {
    let (applicable, pairs) = (inheritance.applicable, inheritance.pairs.len());
    let rates = Table::of(
        "inheritance",
        "Errors that recovery runs inherit",
        [
            ("repeated", inheritance.same_action_rate),
            ("repeated with the same observation", inheritance.same_observation_rate),
            ("repeated at least twice", inheritance.looped_rate),
        ],
    )
    .column("what=of the last failing actions", |(what, _)| Cell::text(*what))
    .column("rate=share #", |(_, rate)| real(*rate))
    .noted(format!("{applicable} of {pairs} pairs have a failing action."));
    let repeated = inheritance.pairs.iter().filter_map(|pair| match pair.answer {
        Inherited::Judged {
            last_failing_step,
            first_position: Some(first),
            repeats,
            repeats_same_observation,
            ..
        } => Some((&pair.id, last_failing_step, first, repeats, repeats_same_observation)),
        _ => None,
    });
    let table = Table::of("inherited", "Pairs that repeat the error", repeated)
        .column("pair", |(id, ..)| Cell::text(*id))
        .column("last_failing_step=failing step #", |(_, step, ..)| Cell::Text(step.to_string()))
        .column("first_position=first repeat #", |(_, _, first, ..)| Cell::Text(first.to_string()))
        .column("repeats #", |(.., repeats, _)| Cell::Text(repeats.to_string()))
        .column("repeats_same_observation=same answer #", |(.., same)| Cell::Text(same.to_string()))
        .table();
    Document::of("Inherited errors", [], [rates, table])
}
