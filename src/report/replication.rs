//! The replication with what can be inferred from it, as text: its tables are in `replication_tables.rs`.

use super::cell::{Cell, counted, figure};
pub(super) use super::replication_tables::replication_tables;
use super::table::TEXT_WIDTH;
use super::wrap::wrapped;
use crate::replicate::{Inference, Replication, held_against};
use crate::stats::ratio;

/// How many signals the text shows.
const STRONGEST: usize = 10;

/// The figures of all runs, as a paragraph.
pub(super) fn overall(tables: &Replication) -> String {
    let overall = &tables.overall;
    let mut text = format!(
        "Overall\n  {}, {} with a reward (mean {})\n  {} with tool errors ({}; mean reward {})\n  {}, {}, \
         {} recovered\n",
        counted(overall.sims, "run"),
        overall.sims_with_reward,
        figure(overall.mean_reward, 4),
        overall.sims_with_errors,
        Cell::of(ratio(overall.sims_with_errors, overall.sims), Cell::Share).shown(),
        figure(overall.mean_reward_with_errors, 4),
        counted(overall.tool_calls, "tool call"),
        counted(overall.errors, "error"),
        overall.recovered,
    );
    if let Some(sentence) = without_calls(tables) {
        paragraph(&mut text, &sentence);
    }
    text
}

/// Holds r of recovery rate against that of error count on the same runs, where sums alone are known: without an interval.
pub(super) fn strengths(tables: &Replication) -> Option<String> {
    let recovery = tables.overall.r_recovery_reward.0.as_ref().ok()?;
    let errors =
        tables.overall.r_error_count_reward.0.as_ref().ok().filter(|errors| errors.n == recovery.n)?;
    let held = held_against(recovery.r, errors.r, recovery.r + errors.r);
    Some(format!("On the same {}, {held}", counted(recovery.n as u64, "run")))
}

/// Says how many runs have no action that counts, and whose they are.
pub(super) fn without_calls(tables: &Replication) -> Option<String> {
    let all = tables.overall.sims_without_calls;
    let of_models: Vec<(&str, u64)> = tables
        .by_model
        .iter()
        .filter_map(|one| Some((one.model.as_deref()?, one.group.sims_without_calls)))
        .filter(|(_, runs)| *runs > 0)
        .collect();
    let named: u64 = of_models.iter().map(|(_, runs)| runs).sum();
    let mut whose: Vec<String> = of_models.iter().map(|(model, runs)| format!("{model}: {runs}")).collect();
    if named < all {
        whose.push(format!("no model named: {}", all - named));
    }
    let enters = if all == 1 { "enters" } else { "enter" };
    let runs = counted(all, "run");
    let whose = whose.join(", ");
    (all > 0).then(|| {
        format!("{runs} without an action that counts ({whose}) {enters} with recovery 1 and no error")
    })
}

/// The replication with its intervals and tests as text that fits 80 columns, the result first.
#[must_use]
pub fn render_inference(inference: &Inference) -> String {
    let mut text = overall(&inference.tables);
    if let Some(first) = inference.duplicates.first() {
        let named = |id: &Option<String>, file: &str| {
            let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
            format!("{} of {file}", id.as_deref().unwrap_or("a run"))
        };
        paragraph(
            &mut text,
            &format!(
                "Left out, as they repeat the messages of another run: {}; the first is {}, like {}",
                inference.duplicates.len(),
                named(&first.id, &first.file),
                named(&first.of_id, &first.of_file),
            ),
        );
    }
    text.push('\n');
    for contrast in &inference.contrasts {
        paragraph(&mut text, &format!("{contrast}."));
    }
    for change in inference.changes.iter().filter(|change| change.scope == "all runs") {
        text.push('\n');
        paragraph(&mut text, &change.to_string());
    }
    let elsewhere = inference.changes.iter().filter(|change| change.scope != "all runs").count() as u64;
    if elsewhere > 0 {
        text.push('\n');
        paragraph(
            &mut text,
            &format!(
                "Clustering changes the verdict on {} of single models or pairs; a table below has them",
                counted(elsewhere, "more correlation"),
            ),
        );
    }
    for mut table in replication_tables(inference) {
        if table.name() == "verdicts" && elsewhere == 0 {
            continue;
        }
        if table.name() == "signals" {
            table.keep_first(STRONGEST);
        }
        if !table.is_empty() {
            text += &format!("\n{}", table.text(TEXT_WIDTH));
        }
    }
    text + &direction(&inference.tables)
}

pub(super) fn paragraph(text: &mut String, sentence: &str) {
    for line in wrapped(sentence, TEXT_WIDTH - 2) {
        *text += &format!("  {line}\n");
    }
}

pub(super) fn direction(tables: &Replication) -> String {
    let direction = &tables.direction;
    format!(
        "\nDirection, over {} pairs of model and domain\n  recovery positive in {} of {} (with errors: {} of {})\n  \
         error count negative in {} of {}, of those where r is defined\n",
        direction.pairs,
        direction.recovery_positive.count,
        direction.recovery_positive.defined,
        direction.recovery_errors_only_positive.count,
        direction.recovery_errors_only_positive.defined,
        direction.error_count_negative.count,
        direction.error_count_negative.defined,
    )
}
