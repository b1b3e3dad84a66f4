//! Tables without statistical tests: pass^k, and one row per run.

use super::cell::Cell;
use super::table::Table;
use crate::replicate::{DefaultMeasures, PassK, SimulationRow};

/// Returns pass^k by model and domain as a table, for k up to 8.
pub(super) fn pass_k_table(groups: &[PassK]) -> Table {
    let most = groups.iter().map(|group| group.pass.len()).max().unwrap_or(0).min(8);
    let mut table = Table::of("pass_k", "pass^k, by model and domain", groups)
        .column("model", |group| Cell::text(group.name()))
        .column("domain", |group| Cell::name(group.domain.as_deref()))
        .column("tasks #", |group| Cell::Count(group.tasks))
        .column("runs #", |group| Cell::Count(group.runs))
        .column("infrastructure_errors=infra #", |group| Cell::Count(group.infrastructure_errors))
        .column("without_task=no task #", |group| Cell::Count(group.without_task));
    for k in 1..=most {
        let pass = |group: &&PassK| Cell::real(group.pass.get(k - 1).copied(), 4);
        table = table.column(&format!("pass_{k}=pass^{k} #"), pass);
    }
    table
        .grouped()
        .noted("infra, no task: runs omitted because they ended in an infrastructure error or name no task.")
}

/// Returns a table with one row for each run of a replication.
///
/// The table has columns for the agent and the measures of the default rule if any run has these measures.
#[must_use]
pub fn simulation_table(rows: &[SimulationRow]) -> Table {
    let mut table = Table::of("runs", "Runs", rows)
        .column("file", |row| Cell::text(&row.file))
        .column("id", |row| Cell::name(row.id.as_deref()))
        .column("model", |row| Cell::name(row.model.as_deref()))
        .column("domain", |row| Cell::name(row.domain.as_deref()))
        .column("task", |row| Cell::name(row.task.as_deref()))
        .column("trial #", |row| Cell::of(row.trial, Cell::Count))
        .column("reward #", |row| Cell::real(row.reward, 4))
        .column("tool_calls=calls #", |row| Cell::Count(row.tool_calls))
        .column("errors #", |row| Cell::Count(row.errors))
        .column("recovered #", |row| Cell::Count(row.recovered))
        .column("recovery_rate=recovery rate #", |row| Cell::Real(row.recovery_rate, 4))
        .column("detected", |row| Cell::text(row.detected.to_string()))
        .column("duplicate_of=duplicate of", |row| Cell::name(row.duplicate_of.as_deref()));
    if rows.iter().any(|row| row.default_rule.is_some()) {
        let count = |count: fn(DefaultMeasures) -> u64| {
            move |row: &&SimulationRow| Cell::of(row.default_rule, |found| Cell::Count(count(found)))
        };
        let share = |share: fn(DefaultMeasures) -> f64| {
            move |row: &&SimulationRow| Cell::of(row.default_rule, |found| Cell::Real(share(found), 4))
        };
        table = table
            .column("agent", |row| Cell::name(row.agent.as_deref()))
            .column("recovered_by_program=recovered by program #", count(|found| found.recovered))
            .column("recovery_rate_by_program=recovery rate by program #", share(|found| found.recovery_rate))
            .column("goals #", count(|found| found.goals))
            .column("reached #", count(|found| found.reached))
            .column("goal_recovery=goal recovery #", share(|found| found.goal_recovery));
    }
    table.table()
}
