//! The tables of a replication over groups of one's choice.

use super::cell::Cell;
use super::table::{Kind, TEXT_WIDTH, Table};
use crate::replicate::{Association, Coefficient, GroupedReplication, NamedGroup};
use crate::stats::ratio;

/// The tables of a grouped replication: recovery by both rules against the reward, and the groups.
#[must_use]
pub fn grouped_tables(grouped: &GroupedReplication) -> Vec<Table> {
    vec![rules(grouped), groups(grouped)]
}

/// A grouped replication as text that fits 80 columns.
#[must_use]
pub fn render_grouped(grouped: &GroupedReplication) -> String {
    let tables: Vec<String> = grouped_tables(grouped).iter().map(|table| table.text(TEXT_WIDTH)).collect();
    tables.join("\n")
}

fn rules(grouped: &GroupedReplication) -> Table {
    let mut table = Table::new(
        "recovery_rules",
        "Recovery and reward, by tool and by program, all runs",
        &[
            ("relation", "", Kind::Text),
            ("n", "n", Kind::Number),
            ("r", "r", Kind::Number),
            ("clustered", "over clusters", Kind::Interval),
            ("p_permutation", "p within", Kind::Number),
        ],
    );
    for one in &grouped.overall {
        table.row([
            Cell::text(one.relation.to_string()),
            Cell::of(one.pearson.0.as_ref().ok(), |found| Cell::Count(found.n as u64)),
            r(&one.pearson),
            Cell::of(Association::interval(one), |interval| Cell::SignedInterval(interval, 3)),
            Cell::of(one.permutation, |test| Cell::P(test.p)),
        ]);
        if let Err(why) = &one.pearson.0 {
            table.note(format!("{}: no correlation, as {why}", one.relation));
        }
    }
    table.note("by program: a shell is one tool for each program that runs in it (`bash:pytest`).");
    table
}

fn groups(grouped: &GroupedReplication) -> Table {
    let mut columns: Vec<_> = grouped.by.iter().map(|by| (by.name(), by.name(), Kind::Text)).collect();
    columns.extend([
        ("runs", "n", Kind::Number),
        ("runs_with_errors", "with errors", Kind::Number),
        ("recovered", "recovered", Kind::Number),
        ("recovered_by_program", "by program", Kind::Number),
        ("mean_reward", "reward", Kind::Number),
        ("r_recovery_reward_errors_only", "rec|err", Kind::Number),
        ("r_recovery_by_program_reward_errors_only", "by program", Kind::Number),
    ]);
    let names: Vec<&str> = grouped.by.iter().map(|by| by.name()).collect();
    let mut table = Table::new("groups", format!("By {}", names.join(", ")), &columns);
    if names.len() > 1 {
        table = table.grouped();
    }
    for NamedGroup { names, group, recovered_by_program, r_recovery_by_program_reward_errors_only, .. } in
        &grouped.groups
    {
        let mut row: Vec<Cell> =
            names.iter().map(|name| Cell::text(name.as_deref().unwrap_or("–"))).collect();
        row.extend([
            Cell::Count(group.sims),
            Cell::Count(group.sims_with_errors),
            share(group.recovered, group.errors),
            share(*recovered_by_program, group.errors),
            Cell::of(group.mean_reward, |mean| Cell::Real(mean, 3)),
            r(&group.r_recovery_reward_errors_only),
            r(r_recovery_by_program_reward_errors_only),
        ]);
        table.row(row);
    }
    table.note(
        "recovered: share of the errors. rec|err: r of recovery rate and reward, runs with errors. Both by tool, as \
         published, and by program.",
    );
    table
}

fn r(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.r(), |r| Cell::Signed(r, 3))
}

fn share(part: u64, whole: u64) -> Cell {
    Cell::of(ratio(part, whole), Cell::Share)
}
