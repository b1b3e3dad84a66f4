//! Tables of what was counted, without inference: pass^k, and one row per run.

use super::cell::Cell;
use super::table::{Kind, Table};
use crate::replicate::{PassK, SimulationRow};

/// pass^k by model and domain, as a table.
#[must_use]
pub fn pass_k_table(groups: &[PassK]) -> Table {
    const NAMES: [(&str, &str); 8] = [
        ("pass_1", "pass^1"),
        ("pass_2", "pass^2"),
        ("pass_3", "pass^3"),
        ("pass_4", "pass^4"),
        ("pass_5", "pass^5"),
        ("pass_6", "pass^6"),
        ("pass_7", "pass^7"),
        ("pass_8", "pass^8"),
    ];
    let most = groups.iter().map(|group| group.pass.len()).max().unwrap_or(0).min(NAMES.len());
    let mut columns = vec![
        ("model", "model", Kind::Text),
        ("domain", "domain", Kind::Text),
        ("tasks", "tasks", Kind::Number),
        ("runs", "runs", Kind::Number),
        ("infrastructure_errors", "infra", Kind::Number),
        ("without_task", "no task", Kind::Number),
    ];
    columns.extend(NAMES.iter().take(most).map(|(key, heading)| (*key, *heading, Kind::Number)));
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

/// The runs of a replication as a table, one row per run.
///
/// The agent and the measures of the default rule are columns if a run has those measures.
#[must_use]
pub fn simulation_table(rows: &[SimulationRow]) -> Table {
    let by_default_rule = rows.iter().any(|row| row.default_rule.is_some());
    let mut columns = vec![
        ("file", "file", Kind::Text),
        ("id", "id", Kind::Text),
        ("model", "model", Kind::Text),
        ("domain", "domain", Kind::Text),
        ("task", "task", Kind::Text),
        ("trial", "trial", Kind::Number),
        ("reward", "reward", Kind::Number),
        ("tool_calls", "calls", Kind::Number),
        ("errors", "errors", Kind::Number),
        ("recovered", "recovered", Kind::Number),
        ("recovery_rate", "recovery rate", Kind::Number),
        ("detected", "detected", Kind::Text),
        ("duplicate_of", "duplicate of", Kind::Text),
    ];
    if by_default_rule {
        columns.extend([
            ("agent", "agent", Kind::Text),
            ("recovered_by_program", "recovered by program", Kind::Number),
            ("recovery_rate_by_program", "recovery rate by program", Kind::Number),
            ("goals", "goals", Kind::Number),
            ("reached", "reached", Kind::Number),
            ("goal_recovery", "goal recovery", Kind::Number),
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
