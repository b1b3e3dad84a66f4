//! Renders a replication as the tables of the published note.

use super::cell::{Cell, counted, figure, name};
use super::replication_answer::without_calls;
use super::replication_tables::{by_model, figures};
use super::runs::pass_k_table;
use super::table::{TEXT_WIDTH, Table};
use super::wrap::wrapped;
use crate::replicate::{Coefficient, PairGroup, PassK, Replication};
use crate::stats::Correlation;

const STRONGEST: usize = 10;

/// Renders a replication as text of at most 80 columns, with the tables of the note that [`Replication`] names: every
/// run counts, and signals are ranked by |r|. The table of pass^k comes last, if it is given.
#[must_use]
pub fn render_replication(replication: &Replication, pass_k: Option<&[PassK]>) -> String {
    let mut text = overall(replication);
    for table in [
        measures(replication),
        by_model(replication, FIGURES, 4, FIGURES_NOTE),
        by_pair(replication),
        strongest(replication),
    ] {
        if !table.is_empty() {
            text += &format!("\n{}", table.text(TEXT_WIDTH));
        }
    }
    text += &direction(replication);
    if let Some(groups) = pass_k {
        text += &format!("\n{}", pass_k_table(groups).text(TEXT_WIDTH));
    }
    text
}

fn overall(tables: &Replication) -> String {
    let overall = &tables.overall;
    let mut text = format!(
        "Overall\n  {}, {} with a reward (mean {})\n  {} with tool errors ({}; mean reward {})\n  {}, {}, \
         {} recovered\n",
        counted(overall.sims, "run"),
        overall.sims_with_reward,
        figure(overall.mean_reward, 4),
        overall.sims_with_errors,
        Cell::ratio(overall.sims_with_errors, overall.sims).shown(),
        figure(overall.mean_reward_with_errors, 4),
        counted(overall.tool_calls, "tool call"),
        counted(overall.errors, "error"),
        overall.recovered,
    );
    if let Some((runs, whose)) = without_calls(tables) {
        let enter = if runs == "1 run" { "enters" } else { "enter" };
        let sentence =
            format!("{runs} without an action that counts ({whose}) {enter} with recovery 1 and no error");
        for line in wrapped(&sentence, TEXT_WIDTH - 2) {
            text += &format!("  {line}\n");
        }
    }
    text
}

fn direction(tables: &Replication) -> String {
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

const FIGURES: &str = concat!(
    "runs=n # | runs_with_errors=errors # | mean_reward=reward # | r_recovery_reward=rec # | ",
    "r_recovery_reward_errors_only=rec|err # | r_error_count_reward=err# # | ",
    "r_tool_calls_reward=calls #"
);

const FIGURES_NOTE: &str = "errors: runs with tool errors. r with reward of: rec, recovery rate (all runs); rec|err, \
                            recovery rate (runs with errors); err#, error count; calls, call count.";

/// The columns of a correlation: r, Fisher's interval, p and n.
const CORRELATION: &str = "r # | r_ci95=95% interval ~ | p # | n #";

fn correlation(found: Option<&Correlation>) -> [Cell; 4] {
    [
        Cell::of(found, |c| Cell::Signed(c.r, 4)),
        Cell::of(found.and_then(|c| c.ci95), |interval| Cell::SignedInterval(interval, 4)),
        Cell::of(found, |c| Cell::P(c.p)),
        Cell::of(found, |c| Cell::Count(c.n as u64)),
    ]
}

fn measures(replication: &Replication) -> Table {
    let overall = &replication.overall;
    let rows = [
        ("recovery rate, all runs", &overall.r_recovery_reward),
        ("recovery rate, runs with errors", &overall.r_recovery_reward_errors_only),
        ("error count", &overall.r_error_count_reward),
        ("call count", &overall.r_tool_calls_reward),
    ];
    let mut table = Table::of("measures", "Correlation with reward", rows)
        .column("relation=", |(label, _)| Cell::text(*label))
        .columns(CORRELATION, |(_, Coefficient(found))| correlation(found.as_ref().ok()))
        .table();
    for (label, Coefficient(found)) in rows {
        if let Err(why) = found {
            table.note(format!("{label}: no correlation, as {why}."));
        }
    }
    table
}

fn by_pair(replication: &Replication) -> Table {
    Table::of("by_model_domain", "By model and domain", &replication.by_model_domain)
        .column("model", |pair| Cell::name(pair.model.as_deref()))
        .column("domain", |pair| Cell::name(pair.domain.as_deref()))
        .columns(FIGURES, |pair| figures(&pair.group, 4))
        .grouped()
}

/// Returns the correlations of recovery with reward by pair of model and domain that have the largest |r|.
fn strongest(replication: &Replication) -> Table {
    let mut signals: Vec<(&PairGroup, &str, &Correlation)> = Vec::new();
    for pair in &replication.by_model_domain {
        for (scope, Coefficient(found)) in [
            ("all", &pair.group.r_recovery_reward),
            ("errors only", &pair.group.r_recovery_reward_errors_only),
        ] {
            signals.extend(found.as_ref().ok().map(|found| (pair, scope, found)));
        }
    }
    signals.sort_by(|a, b| b.2.r.abs().total_cmp(&a.2.r.abs()));
    let pair = |pair: &PairGroup| [pair.model.as_deref(), pair.domain.as_deref()].map(name).join("/");
    let title = "Strongest signals of recovery, by model and domain";
    Table::of("signals", title, signals.into_iter().take(STRONGEST))
        .column("pair", |(of, ..)| Cell::text(pair(of)))
        .column("runs", |(_, scope, _)| Cell::text(*scope))
        .columns(CORRELATION, |(.., found)| correlation(Some(found)))
        .grouped()
}
