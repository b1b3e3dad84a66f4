//! Tables without inference: pass^k, and one row per run.

use super::cell::Cell;
use super::table::{CellOf, Table};
use crate::replicate::{PassK, SimulationRow};

/// Returns pass^k by model and domain, as a table.
pub(super) fn pass_k_table(groups: &[PassK]) -> Table {
    let most = groups.iter().map(|group| group.pass.len()).max().unwrap_or(0).min(8);
    let mut columns = vec![
        "model | domain | tasks # | runs # | infrastructure_errors=infra # | without_task=no task #"
            .to_owned(),
    ];
    columns.extend((1..=most).map(|k| format!("pass_{k}=pass^{k} #")));
    let row = |group: &PassK| {
        let counts = [group.tasks, group.runs, group.infrastructure_errors, group.without_task];
        let names = [Cell::text(group.name()), Cell::name(group.domain.as_deref())];
        let pass = (0..most).map(|k| Cell::of(group.pass.get(k), |pass| Cell::Real(*pass, 4)));
        names.into_iter().chain(counts.map(Cell::Count)).chain(pass).collect()
    };
    Table::of_rows("pass_k", "pass^k, by model and domain", &columns, groups.iter().map(row))
        .grouped()
        .noted("infra, no task: runs left out, as they ended in an infrastructure error or name no task.")
}

/// Returns a table with one row for each run of a replication.
///
/// The table has columns for the agent and the measures of the default rule if any run has these measures.
#[must_use]
pub fn simulation_table(rows: &[SimulationRow]) -> Table {
    fn text(text: Option<&str>) -> Cell {
        Cell::of(text, Cell::text)
    }
    let mut columns: Vec<CellOf<'_, &SimulationRow>> = vec![
        ("file", |row| Cell::text(&row.file)),
        ("id", |row| text(row.id.as_deref())),
        ("model", |row| text(row.model.as_deref())),
        ("domain", |row| text(row.domain.as_deref())),
        ("task", |row| text(row.task.as_deref())),
        ("trial #", |row| Cell::of(row.trial, Cell::Count)),
        ("reward #", |row| Cell::of(row.reward, |reward| Cell::Real(reward, 4))),
        ("tool_calls=calls #", |row| Cell::Count(row.tool_calls)),
        ("errors #", |row| Cell::Count(row.errors)),
        ("recovered #", |row| Cell::Count(row.recovered)),
        ("recovery_rate=recovery rate #", |row| Cell::Real(row.recovery_rate, 4)),
        ("detected", |row| Cell::text(row.detected.to_string())),
        ("duplicate_of=duplicate of", |row| text(row.duplicate_of.as_deref())),
    ];
    let of_default_rule: [CellOf<'_, &SimulationRow>; 6] = [
        ("agent", |row| text(row.agent.as_deref())),
        ("recovered_by_program=recovered by program #", |row| {
            Cell::of(row.default_rule, |found| Cell::Count(found.recovered))
        }),
        ("recovery_rate_by_program=recovery rate by program #", |row| {
            Cell::of(row.default_rule, |found| Cell::Real(found.recovery_rate, 4))
        }),
        ("goals #", |row| Cell::of(row.default_rule, |found| Cell::Count(found.goals))),
        ("reached #", |row| Cell::of(row.default_rule, |found| Cell::Count(found.reached))),
        ("goal_recovery=goal recovery #", |row| {
            Cell::of(row.default_rule, |found| Cell::Real(found.goal_recovery, 4))
        }),
    ];
    if rows.iter().any(|row| row.default_rule.is_some()) {
        columns.extend(of_default_rule);
    }
    Table::of("runs", "Runs", rows, &columns)
}
