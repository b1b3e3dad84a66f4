//! Tables without inference: pass^k, and one row per run.

use super::cell::Cell;
use super::table::Table;
use crate::replicate::{PassK, SimulationRow};

/// Returns pass^k by model and domain, as a table.
#[must_use]
pub fn pass_k_table(groups: &[PassK]) -> Table {
    let most = groups.iter().map(|group| group.pass.len()).max().unwrap_or(0).min(8);
    let mut columns = vec![
        "model | domain | tasks # | runs # | infrastructure_errors=infra # | without_task=no task #"
            .to_owned(),
    ];
    columns.extend((1..=most).map(|k| format!("pass_{k}=pass^{k} #")));
    let mut table = Table::new("pass_k", "pass^k, by model and domain", &columns).grouped();
    for group in groups {
        let mut row = vec![
            Cell::text(group.name()),
            Cell::name(group.domain.as_deref()),
            Cell::Count(group.tasks),
            Cell::Count(group.runs),
            Cell::Count(group.infrastructure_errors),
            Cell::Count(group.without_task),
        ];
        row.extend((0..most).map(|k| Cell::of(group.pass.get(k), |pass| Cell::Real(*pass, 4))));
        table.row(row);
    }
    table.note("infra, no task: runs left out, as they ended in an infrastructure error or name no task.");
    table
}

/// Returns a table with one row for each run of a replication.
///
/// The table has columns for the agent and the measures of the default rule if any run has these measures.
#[must_use]
pub fn simulation_table(rows: &[SimulationRow]) -> Table {
    let by_default_rule = rows.iter().any(|row| row.default_rule.is_some());
    let mut columns = vec![
        "file | id | model | domain | task | trial # | reward # | tool_calls=calls # | errors # | recovered #",
        "recovery_rate=recovery rate # | detected | duplicate_of=duplicate of",
    ];
    if by_default_rule {
        columns.extend([
            "agent | recovered_by_program=recovered by program #",
            "recovery_rate_by_program=recovery rate by program # | goals # | reached #",
            "goal_recovery=goal recovery #",
        ]);
    }
    let mut table = Table::new("runs", "Runs", &columns);
    for row in rows {
        let text = |text: Option<&str>| Cell::of(text, Cell::text);
        let mut cells = vec![
            Cell::text(&row.file),
            text(row.id.as_deref()),
            text(row.model.as_deref()),
            text(row.domain.as_deref()),
            text(row.task.as_deref()),
            Cell::of(row.trial, Cell::Count),
            Cell::of(row.reward, |reward| Cell::Real(reward, 4)),
            Cell::Count(row.tool_calls),
            Cell::Count(row.errors),
            Cell::Count(row.recovered),
            Cell::Real(row.recovery_rate, 4),
            Cell::text(row.detected.to_string()),
            text(row.duplicate_of.as_deref()),
        ];
        if by_default_rule {
            cells.extend([
                text(row.agent.as_deref()),
                Cell::of(row.default_rule, |found| Cell::Count(found.recovered)),
                Cell::of(row.default_rule, |found| Cell::Real(found.recovery_rate, 4)),
                Cell::of(row.default_rule, |found| Cell::Count(found.goals)),
                Cell::of(row.default_rule, |found| Cell::Count(found.reached)),
                Cell::of(row.default_rule, |found| Cell::Real(found.goal_recovery, 4)),
            ]);
        }
        table.row(cells);
    }
    table
}
