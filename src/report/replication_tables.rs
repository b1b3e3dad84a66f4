//! The tables of the replication with what can be inferred from it.

use super::cell::Cell;
use super::table::{Kind, Table};
use crate::replicate::{
    Association, ClusterBy, ClusteredInterval, Coefficient, Group, Inference, Relation, Replication, Signal,
};
use crate::stats::{Correlation, Interval};

/// What every table with a column of all runs says.
pub(super) const ALL_RUNS: &str = "All runs: those without errors enter with a recovery rate of 1.";

/// The tables of a replication: measures, intervals, models, pairs, within and pooled, signals, changed verdicts.
#[must_use]
pub fn replication_tables(inference: &Inference) -> Vec<Table> {
    vec![
        measures(inference),
        intervals(inference),
        by_model(&inference.tables),
        by_pair(&inference.tables, inference.unknown.as_ref()),
        pair_intervals(inference),
        pooled(inference),
        signals(inference),
        verdicts(inference),
    ]
}

fn measures(inference: &Inference) -> Table {
    let mut table = Table::new(
        "measures",
        "Correlation with reward, all runs",
        &[
            ("relation", "", Kind::Text),
            ("n", "n", Kind::Number),
            ("r", "r", Kind::Number),
            ("spearman", "Spearman", Kind::Number),
            ("success", "success", Kind::Number),
            ("p_permutation", "p within", Kind::Number),
            ("q", "q", Kind::Number),
        ],
    );
    for one in &inference.associations.overall {
        let mut row = vec![Cell::text(one.relation.to_string()), n(&one.pearson), r(&one.pearson)];
        row.extend([r(&one.spearman), r(&one.success), p(one), q(one)]);
        table.row(row);
        if let Err(why) = &one.pearson.0 {
            table.note(format!("{}: no correlation, as {why}", one.relation));
        }
        if let Some(sentence) = one.turned() {
            table.note(sentence);
        }
    }
    table.note(ALL_RUNS);
    let within = |one: &Association| one.permutation.and(one.within.r()).map(|r| format!("{r:+.3}"));
    let overall = &inference.associations.overall;
    let compared: Vec<String> =
        overall.iter().map(|one| within(one).unwrap_or_else(|| "–".to_owned())).collect();
    table.note(format!(
        "p and q are not of r in their row, but of r among the runs that are compared: {}.",
        compared.join(", ")
    ));
    table.note(format!(
        "success: point-biserial, reward within 1e-6 of 1. p within: rewards permuted within model and domain, {}; q: \
         adjusted for the tests of the table (Benjamini and Hochberg).",
        match inference.cluster {
            ClusterBy::None => "among all runs",
            _ => "among runs of one cluster or among runs alone in theirs",
        },
    ));
    table
}

fn intervals(inference: &Inference) -> Table {
    let mut columns = vec![("relation", "", Kind::Text), ("independent", "if independent", Kind::Interval)];
    let kinds: Vec<ClusterBy> = inference
        .associations
        .overall
        .first()
        .map(|one| one.clustered.iter().map(|clustered| clustered.by).collect())
        .unwrap_or_default();
    for by in &kinds {
        columns.push(match by {
            ClusterBy::Task => ("by_task", "by task", Kind::Interval),
            ClusterBy::File => ("by_file", "by file", Kind::Interval),
            ClusterBy::ModelDomain => ("by_model_domain", "by model-domain", Kind::Interval),
            ClusterBy::None => ("by_run", "by run", Kind::Interval),
        });
    }
    let chosen = inference.cluster.name();
    columns.push(("percentile", "percentile", Kind::Interval));
    columns.push(("bca", "BCa", Kind::Interval));
    let mut table = Table::new("intervals", "95% intervals of r, all runs", &columns);
    for one in &inference.associations.overall {
        let mut row = vec![Cell::text(one.relation.to_string()), ci(fisher(&one.pearson))];
        row.extend(one.clustered.iter().map(|clustered| ci(clustered.interval())));
        let sure = one.clustered.first().filter(|clustered| clustered.interval().is_some());
        let plain = sure.map(|clustered| clustered.bootstrap);
        row.push(ci(plain.and_then(|bootstrap| bootstrap.percentile)));
        row.push(ci(plain.and_then(|bootstrap| bootstrap.bca)));
        table.row(row);
    }
    table.note(format!(
        "if independent: Fisher's, which assumes that no run has to do with another. by …: bootstrap of clusters, \
         percentiles widened for their number. percentile, BCa: the plain and the bias-corrected, accelerated interval by \
         {chosen}.",
    ));
    if let Some(one) = inference.associations.overall.first() {
        let mut counts: Vec<String> = one.clustered.iter().map(how_many).collect();
        if let Some(first) = counts.first_mut().filter(|_| inference.alone > 0) {
            *first += &format!(" (of which {} are a run each that names none)", inference.alone);
        }
        if !counts.is_empty() {
            table.note(format!(
                "Clusters: {}; {} resamples, seed {}.",
                counts.join(", "),
                inference.resamples,
                inference.seed
            ));
        }
        if one.clustered.iter().any(ClusteredInterval::is_doubtful) {
            table.note(
                "With fewer than 20 clusters an interval is doubtful; with fewer than 5, or where what varies lies in so few \
                 of them that a resample misses it, there is none.",
            );
        }
    }
    table
}

fn how_many(clustered: &ClusteredInterval) -> String {
    let ClusteredInterval { by, bootstrap } = clustered;
    let undefined = match bootstrap.undefined {
        0 => String::new(),
        undefined => format!(" ({undefined} resamples undefined)"),
    };
    format!("{} {}{undefined}", bootstrap.clusters, by.plural())
}

pub(super) const FIGURES: [(&str, &str, Kind); 7] = [
    ("runs", "n", Kind::Number),
    ("runs_with_errors", "errors", Kind::Number),
    ("mean_reward", "reward", Kind::Number),
    ("r_recovery_reward", "rec", Kind::Number),
    ("r_recovery_reward_errors_only", "rec|err", Kind::Number),
    ("r_error_count_reward", "err#", Kind::Number),
    ("r_tool_calls_reward", "calls", Kind::Number),
];

fn figures(group: &Group) -> [Cell; 7] {
    [
        Cell::Count(group.sims),
        Cell::Count(group.sims_with_errors),
        Cell::of(group.mean_reward, |mean| Cell::Real(mean, 3)),
        r3(&group.r_recovery_reward),
        r3(&group.r_recovery_reward_errors_only),
        r3(&group.r_error_count_reward),
        r3(&group.r_tool_calls_reward),
    ]
}

pub(super) const FIGURES_NOTE: &str = "errors: runs with tool errors. r with reward of: rec, recovery rate (all runs); rec|err, \
                            recovery rate (runs with errors); err#, error count; calls, call count.";

pub(super) fn by_model(tables: &Replication) -> Table {
    let mut columns = vec![("model", "model", Kind::Text)];
    columns.extend(FIGURES);
    let mut table = Table::new("by_model", "By model", &columns);
    for model in &tables.by_model {
        let mut row = vec![Cell::text(model.model.as_deref().unwrap_or_default())];
        row.extend(figures(&model.group));
        table.row(row);
    }
    table.note(FIGURES_NOTE);
    table
}

pub(super) fn by_pair(tables: &Replication, unknown: Option<&Group>) -> Table {
    let mut columns = vec![("model", "model", Kind::Text), ("domain", "domain", Kind::Text)];
    columns.extend(FIGURES);
    let mut table = Table::new("by_model_domain", "By model and domain", &columns).grouped();
    for pair in &tables.by_model_domain {
        let mut row = vec![
            Cell::text(pair.model.as_deref().unwrap_or_default()),
            Cell::text(pair.domain.as_deref().unwrap_or_default()),
        ];
        row.extend(figures(&pair.group));
        table.row(row);
    }
    if let Some(unknown) = unknown {
        let mut row = vec![Cell::text("model or domain not named, no pair"), Cell::text("–")];
        row.extend(figures(unknown));
        table.row(row);
    }
    table
}

fn pair_intervals(inference: &Inference) -> Table {
    let mut table = Table::new(
        "pair_intervals",
        "Recovery rate and reward by model and domain, runs with errors",
        &[
            ("model", "model", Kind::Text),
            ("domain", "domain", Kind::Text),
            ("n", "n", Kind::Number),
            ("r", "r", Kind::Number),
            ("independent", "if independent", Kind::Interval),
            ("clustered", "over clusters", Kind::Interval),
            ("clusters", "k", Kind::Number),
            ("p_permutation", "p within", Kind::Number),
            ("q", "q", Kind::Number),
        ],
    )
    .grouped();
    for pair in &inference.associations.by_model_domain {
        let found = pair.associations.iter().find(|one| one.relation == Relation::RecoveryWithErrors);
        let Some(one) = found else { continue };
        table.row([
            Cell::text(&pair.model),
            Cell::text(&pair.domain),
            n(&one.pearson),
            r3(&one.pearson),
            ci(fisher(&one.pearson)),
            ci(one.interval()),
            Cell::of(one.clustered.first(), |clustered| Cell::Count(clustered.bootstrap.clusters)),
            p(one),
            q(one),
        ]);
    }
    table.note(format!(
        "over clusters: by {}, none with fewer than 5 or where a resample has nothing that varies. k: clusters. q: over all \
         tests by model and domain.",
        inference.cluster
    ));
    table
}

fn pooled(inference: &Inference) -> Table {
    let mut table = Table::new(
        "pooled",
        "Over pairs of model and domain",
        &[
            ("relation", "", Kind::Text),
            ("r_within", "within", Kind::Number),
            ("within_clustered", "over clusters", Kind::Interval),
            ("r_pooled", "pooled", Kind::Number),
            ("pooled", "95%", Kind::Interval),
            ("pairs", "pairs", Kind::Number),
            ("q", "Q", Kind::Number),
            ("q_p", "p of Q", Kind::Number),
            ("i2", "I²", Kind::Number),
            ("tau2", "τ²", Kind::Number),
        ],
    );
    for (within, pooled) in inference.within.iter().zip(&inference.pooled) {
        let effects = pooled.effects;
        table.row([
            Cell::text(within.relation.to_string()),
            r3(&within.r),
            ci(within.clustered.interval()),
            Cell::of(effects, |effects| Cell::Signed(effects.r, 3)),
            ci(effects.map(|effects| effects.ci95)),
            Cell::of(effects, |effects| Cell::Count(effects.groups)),
            Cell::of(effects, |effects| Cell::Real(effects.q, 1)),
            Cell::of(effects, |effects| Cell::P(effects.q_p)),
            Cell::of(effects, |effects| Cell::Share(effects.i2)),
            Cell::of(effects, |effects| Cell::Real(effects.tau2, 4)),
        ]);
    }
    table.note(
        "within: both measured from the means of their pair. pooled: random effects on Fisher's z (DerSimonian and \
         Laird; interval of Hartung and Knapp). Q, I², τ²: how much pairs differ. They and the pooled interval take the \
         runs of a pair for independent: where several share a task, Q is too large and its p too small.",
    );
    table
}

fn signals(inference: &Inference) -> Table {
    let mut table = Table::new(
        "signals",
        "Recovery and reward by model and domain, the surest first",
        &[
            ("pair", "pair", Kind::Text),
            ("relation", "runs", Kind::Text),
            ("n", "n", Kind::Number),
            ("r", "r", Kind::Number),
            ("clustered", "over clusters", Kind::Interval),
            ("at_least", "|r| from", Kind::Number),
            ("p_permutation", "p within", Kind::Number),
            ("q", "q", Kind::Number),
        ],
    )
    .grouped();
    for Signal { model, domain, at_least, association, .. } in &inference.signals {
        let runs = if association.relation == Relation::Recovery { "all" } else { "with errors" };
        table.row([
            Cell::text(format!("{model}/{domain}")),
            Cell::text(runs),
            n(&association.pearson),
            r3(&association.pearson),
            ci(association.interval()),
            Cell::Real(*at_least, 3),
            p(association),
            q(association),
        ]);
    }
    table.note(format!(
        "Pairs with at least {} runs with errors. |r| from: how far from 0 the interval over clusters begins; 0 where it \
         holds 0, or there is none. Where q is not small, a pair is no finding.",
        inference.min_n
    ));
    table
}

fn verdicts(inference: &Inference) -> Table {
    let mut table = Table::new(
        "verdicts",
        "Correlations on which clustering changes the verdict",
        &[
            ("scope", "", Kind::Text),
            ("relation", "", Kind::Text),
            ("r", "r", Kind::Number),
            ("independent", "if independent", Kind::Interval),
            ("clustered", "over clusters", Kind::Interval),
            ("by", "of", Kind::Text),
        ],
    );
    for change in &inference.changes {
        table.row([
            Cell::text(&change.scope),
            Cell::text(change.relation.to_string()),
            Cell::Signed(change.r.r, 4),
            ci(change.r.ci95),
            ci(change.differing().and_then(ClusteredInterval::interval)),
            Cell::of(change.differing(), |one| {
                Cell::text(format!("{} {}", one.bootstrap.clusters, one.by.plural()))
            }),
        ]);
    }
    table
}

pub(super) fn n(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.0.as_ref().ok(), |c| Cell::Count(c.n as u64))
}

pub(super) fn r(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.r(), |r| Cell::Signed(r, 4))
}

fn r3(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.r(), |r| Cell::Signed(r, 3))
}

pub(super) fn fisher(coefficient: &Coefficient) -> Option<Interval> {
    coefficient.0.as_ref().ok().and_then(|correlation: &Correlation| correlation.ci95)
}

pub(super) fn ci(interval: Option<Interval>) -> Cell {
    Cell::of(interval, |interval| Cell::SignedInterval(interval, 3))
}

fn p(association: &Association) -> Cell {
    Cell::of(association.permutation, |test| Cell::P(test.p))
}

fn q(association: &Association) -> Cell {
    Cell::of(association.q, Cell::P)
}
