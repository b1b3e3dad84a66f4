//! The tables of Recovery-Bench.

use super::cell::figure;
use super::evaluation::{interval, p_value, short, wrapped};
use super::wide::Wide;
use crate::evaluation::{Comparison, Inheritance, Inherited, Replay, Selection};

/// A comparison of recovery with fresh starts as tables, one per context.
#[must_use]
pub fn render_recovery(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (context, compared) in &comparison.contexts {
        let header = ["model", "tasks", "fresh", "recovery", "difference", "drop", "p", "ranks"];
        let mut table = Wide::new(1, header);
        let mut notes = Vec::new();
        for (name, model) in &compared.models {
            let Some(paired) = &model.paired else {
                notes.push(format!("  {}: {}", short(name, 16), model.not_applicable.unwrap_or_default()));
                continue;
            };
            let ranks = compared.ranks.get(name).map(|ranks| format!("{} {}", ranks.fresh, ranks.recovery));
            table.row([
                short(name, 16),
                model.tasks.to_string(),
                figure(Some(paired.fresh.rate), 4),
                figure(Some(paired.recovery.rate), 4),
                figure(Some(paired.difference.value), 4),
                figure(paired.relative_drop.value, 4),
                p_value(paired.mcnemar.p),
                ranks.unwrap_or_default(),
            ]);
            notes.push(format!(
                "  {}: difference {}, drop {}",
                short(name, 16),
                interval(paired.difference.bootstrap95),
                interval(paired.relative_drop.bootstrap95),
            ));
            if !model.fresh_only.is_empty() || !model.recovery_only.is_empty() {
                let (fresh, recovery) = (model.fresh_only.len(), model.recovery_only.len());
                notes.push(format!("    left out: {fresh} tasks only fresh, {recovery} only in recovery"));
            }
        }
        text += &format!("context {context}\n{}  95% intervals\n{}\n", table.render(), notes.join("\n"));
        text += &format!(
            "  means {} and {}: drop {} (mean of drops {})\n  Kendall's tau-b {}, {} discordant pairs\n\n",
            figure(compared.mean_fresh, 4),
            figure(compared.mean_recovery, 4),
            figure(compared.relative_drop_of_means, 4),
            figure(compared.mean_of_relative_drops, 4),
            figure(compared.kendall_tau_b, 4),
            compared.discordant_pairs,
        );
    }
    text
}

/// A selection as text.
#[must_use]
pub fn render_selection(selection: &Selection) -> String {
    let mut table = Wide::new(1, ["trials", "count"]);
    table.row(["kept".to_owned(), selection.kept.len().to_string()]);
    for (why, count) in &selection.left_out {
        table.row([format!("left out: {why}"), count.to_string()]);
    }
    let kept = if selection.kept.is_empty() { String::new() } else { wrapped("  kept: ", &selection.kept) };
    format!("{}\n{kept}", table.render())
}

/// A list of commands as text, one line per command.
#[must_use]
pub fn render_replay(replay: &Replay) -> String {
    let mut text = format!("  {} commands, {} interactions\n", replay.commands.len(), replay.interactions);
    for command in &replay.commands {
        let line: String = format!("{:?}", command.keystrokes).chars().take(52).collect();
        let mark = if command.interrupted { "  (interrupted)" } else { "" };
        let (step, wait) = (command.step, &command.timeout_s);
        text += &format!("  {step:>4}  {:>6} s  {line}{mark}\n", wait.to_string());
    }
    text
}

/// Inherited errors as text.
#[must_use]
pub fn render_inheritance(inheritance: &Inheritance) -> String {
    let mut text = format!(
        "  {} of {} pairs have a failing action\n  repeated: {}; with the same observation: {}; twice or more: {}\n",
        inheritance.applicable,
        inheritance.pairs.len(),
        figure(inheritance.same_action_rate, 4),
        figure(inheritance.same_observation_rate, 4),
        figure(inheritance.looped_rate, 4),
    );
    let mut table = Wide::new(1, ["pair", "failing step", "first repeat", "repeats", "same answer"]);
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
                short(&pair.id, 22),
                last_failing_step.to_string(),
                first.to_string(),
                repeats.to_string(),
                repeats_same_observation.to_string(),
            ]);
        }
    }
    text += &table.render();
    text
}
