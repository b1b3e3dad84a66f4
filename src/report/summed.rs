//! The replication of more runs than are kept one by one: text, and tables to take along.

use super::cell::Cell;
use super::replication::{direction, overall, paragraph, strengths};
use super::replication_tables::{ALL_RUNS, by_model, by_pair, ci, fisher, n, r};
use super::table::{Kind, TEXT_WIDTH, Table};
use crate::replicate::{ClusteredInterval, SummedAssociation, SummedReplication};

/// The limits of figures from sums.
pub(super) fn too_many(summed: &SummedReplication) -> String {
    let different = summed.different_contents;
    let about = if different.exact { "" } else { "about " };
    let excluded = match summed.out_of_range {
        0 => String::new(),
        count => {
            format!(". No mean or correlation includes {count} runs with a reward or a count beyond 2^20")
        }
    };
    format!(
        "These are more runs than are kept one by one: figures are of sums by model, domain and task. Every run \
         counts; their contents are {about}{} different ones. Ranks, permutation tests, signals and tables by groups \
         need the runs and are left out{excluded}",
        different.count
    )
}

/// The replication of more runs than are kept one by one, as text that fits 80 columns.
#[must_use]
pub fn render_summed(summed: &SummedReplication) -> String {
    let mut text = overall(&summed.tables);
    paragraph(&mut text, &too_many(summed));
    if let Some(sentence) = strengths(&summed.tables) {
        text.push('\n');
        paragraph(&mut text, &format!("{sentence}."));
    }
    for table in summed_tables(summed) {
        if !table.is_empty() {
            text += &format!("\n{}", table.text(TEXT_WIDTH));
        }
    }
    text + &direction(&summed.tables)
}

/// The tables of a replication from sums: measures over all runs, models, pairs, intervals by pair.
#[must_use]
pub fn summed_tables(summed: &SummedReplication) -> Vec<Table> {
    vec![
        measures(summed),
        by_model(&summed.tables),
        by_pair(&summed.tables, summed.unknown.as_ref()),
        pair_intervals(summed),
    ]
}

const COLUMNS: [(&str, &str, Kind); 4] = [
    ("n", "n", Kind::Number),
    ("r", "r", Kind::Number),
    ("independent", "if independent", Kind::Interval),
    ("clustered", "over clusters", Kind::Interval),
];

fn cells(one: &SummedAssociation) -> [Cell; 4] {
    let interval = one.clustered.as_ref().and_then(ClusteredInterval::interval);
    [n(&one.pearson), r(&one.pearson), ci(fisher(&one.pearson)), ci(interval)]
}

fn measures(summed: &SummedReplication) -> Table {
    let mut columns = vec![("relation", "", Kind::Text)];
    columns.extend(COLUMNS);
    let mut table = Table::new("measures", "Correlation with reward, all runs", &columns);
    for one in &summed.overall {
        let mut row = vec![Cell::text(one.relation.to_string())];
        row.extend(cells(one));
        table.row(row);
    }
    table.note(ALL_RUNS);
    table.note(format!("Clusters: {}.", summed.cluster.plural()));
    table
}

fn pair_intervals(summed: &SummedReplication) -> Table {
    let mut columns = vec![("model", "model", Kind::Text), ("domain", "domain", Kind::Text)];
    columns.extend(COLUMNS);
    let title = "Recovery rate and reward by model and domain, runs with errors";
    let mut table = Table::new("pair_intervals", title, &columns).grouped();
    for pair in &summed.pairs {
        let mut row = vec![Cell::text(pair.model.as_str()), Cell::text(pair.domain.as_str())];
        row.extend(cells(&pair.association));
        table.row(row);
    }
    table
}
