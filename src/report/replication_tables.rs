//! The tables of the full text of a replication.

use super::cell::{Cell, ci};
use super::replication::{CLUSTERED, association_row, clustered_cells, n, signed, unit, with_errors};
use super::table::Table;
use crate::replicate::{
    Association, ClusterBy, ClusteredInterval, Coefficient, Group, GroupedReplication, NamedGroup, PairGroup,
    Replication, ReplicationAnalysis,
};
use crate::stats::{Interval, ratio};

pub(super) fn intervals(analysis: &ReplicationAnalysis) -> Table {
    let mut table = Table::new(
        "intervals",
        "95% intervals of r with reward",
        &["relation=measure | clustered_by=clustered by | r #", CLUSTERED, "bca=BCa ~"],
    )
    .grouped();
    for one in &analysis.associations.overall {
        let name = one.relation.label();
        let mut row = vec![Cell::text(name), Cell::text("independent"), signed(&one.pearson)];
        row.extend([ci(fisher(&one.pearson)), n(&one.pearson), Cell::Missing, Cell::Missing]);
        table.row(row);
        for clustered in &one.clustered {
            let mut row = vec![Cell::text(name), Cell::text(unit(clustered.by)), signed(&one.pearson)];
            row.extend(clustered_cells(Some(clustered)));
            row.push(ci(clustered.interval().and(clustered.bootstrap.bca)));
            table.row(row);
        }
    }
    table.note(
        "independent: Fisher's interval, which takes runs for independent. The others are percentile intervals, widened \
         for the number of clusters; BCa: bias-corrected and accelerated. With fewer than 20 clusters they are doubtful; \
         with fewer than 5, or if 1% of the resamples are undefined, there is none.",
    );
    table
}

pub(super) fn tests(analysis: &ReplicationAnalysis) -> Table {
    Table::of(
        "tests",
        "Ranks, and tests within model and domain",
        &analysis.associations.overall,
        &[
            ("relation=measure", |one| Cell::text(one.relation.label())),
            ("n=runs #", |one| n(&one.pearson)),
            ("spearman=Spearman #", |one| signed(&one.spearman)),
            ("r_within=r within #", |one| {
                Cell::of(one.permutation.and(one.within.r()), |r| Cell::Signed(r, 3))
            }),
            ("p_permutation=p within #", |one| p(one)),
            ("q #", |one| q(one)),
        ],
    )
    .noted(format!(
        "r within: among runs of one model and domain {}; p within tests it by permuting their rewards. q: p adjusted for \
         the tests of the table (Benjamini and Hochberg).",
        match analysis.cluster {
            ClusterBy::None => "",
            _ => "that are in one cluster, or each alone in theirs",
        }
    ))
}

pub(super) fn clustering(analysis: &ReplicationAnalysis) -> Table {
    Table::of(
        "clustering",
        "Correlations whose significance depends on the clustering",
        &analysis.changes,
        &[
            ("scope=runs of", |change| Cell::text(&change.scope)),
            ("relation=measure", |change| Cell::text(change.relation.label())),
            ("r #", |change| Cell::Signed(change.r.r, 3)),
            ("independent ~", |change| ci(change.r.ci95)),
            ("clustered ~", |change| ci(change.differing().and_then(ClusteredInterval::interval))),
            ("clustered_by=by", |change| {
                let by = |one: &ClusteredInterval| format!("{} ({})", unit(one.by), one.bootstrap.clusters);
                Cell::of(change.differing(), |one| Cell::text(by(one)))
            }),
        ],
    )
    .grouped()
    .noted("95% intervals, one of which excludes 0; in brackets the number of clusters.")
}

pub(super) const FIGURES: &str = concat!(
    "runs # | runs_with_errors=with errors # | mean_reward=reward # | r_recovery_reward=r (all) # | ",
    "r_recovery_reward_errors_only=r (errors) # | r_error_count_reward=r errors # | ",
    "r_tool_calls_reward=r calls #"
);

pub(super) const FIGURES_NOTE: &str = "r (all), r (errors): recovery rate and reward, all runs and runs with errors. r errors, r calls: error count \
                            and call count with reward.";

/// Returns the cells of a group with this many decimals.
pub(super) fn figures(group: &Group, decimals: usize) -> [Cell; 7] {
    let r = |coefficient: &Coefficient| Cell::of(coefficient.r(), |r| Cell::Signed(r, decimals));
    [
        Cell::Count(group.sims),
        Cell::Count(group.sims_with_errors),
        Cell::of(group.mean_reward, |mean| Cell::Real(mean, decimals)),
        r(&group.r_recovery_reward),
        r(&group.r_recovery_reward_errors_only),
        r(&group.r_error_count_reward),
        r(&group.r_tool_calls_reward),
    ]
}

/// Returns the figures of each model under these headings.
pub(super) fn by_model(tables: &Replication, headings: &str, decimals: usize, note: &str) -> Table {
    let mut table = Table::new("by_model", "By model", &["model", headings]);
    for model in &tables.by_model {
        let mut row = vec![Cell::name(model.model.as_deref())];
        row.extend(figures(&model.group, decimals));
        table.row(row);
    }
    table.note(note);
    table
}

/// The cells of a pair: r of recovery in runs with errors, its interval and its tests.
pub(super) type PairCells<'r> = (Coefficient, Option<ClusteredInterval>, Option<&'r Association>);

pub(super) fn pair_cells<'r>(analysis: &'r ReplicationAnalysis, pair: &PairGroup) -> Option<PairCells<'r>> {
    let pairs = &analysis.associations.by_model_domain;
    let found = pairs.iter().find(|one| is_pair(&one.model, &one.domain, pair))?;
    let one = with_errors(&found.associations)?;
    Some((one.pearson.clone(), one.clustered.first().copied(), Some(one)))
}

pub(super) fn is_pair(model: &str, domain: &str, pair: &PairGroup) -> bool {
    (pair.model.as_deref(), pair.domain.as_deref()) == (Some(model), Some(domain))
}

pub(super) fn by_pair<'r>(
    tables: &Replication,
    unknown: Option<&Group>,
    cells: impl Fn(&PairGroup) -> Option<PairCells<'r>>,
) -> Table {
    let mut table = Table::new(
        "by_model_domain",
        "By model and domain",
        &["model | domain", FIGURES, "independent ~", CLUSTERED, "p_permutation=p within # | q #"],
    )
    .grouped();
    for pair in &tables.by_model_domain {
        let mut row = vec![Cell::name(pair.model.as_deref()), Cell::name(pair.domain.as_deref())];
        row.extend(figures(&pair.group, 3));
        let found = cells(pair);
        row.push(ci(found.as_ref().and_then(|(pearson, ..)| fisher(pearson))));
        row.extend(clustered_cells(found.as_ref().and_then(|(_, clustered, _)| clustered.as_ref())));
        let tested = found.and_then(|(.., tested)| tested);
        row.extend([Cell::of(tested, p), Cell::of(tested, q)]);
        table.row(row);
    }
    if let Some(unknown) = unknown {
        let mut row = vec![Cell::Missing, Cell::Missing];
        row.extend(figures(unknown, 3));
        table.row(row);
        table.note("–: runs that name no model or no domain.");
    }
    table.note(FIGURES_NOTE);
    table.note(
        "Intervals (independent; clustered, 95% CI) and tests are of r (errors). q: over all tests by pair.",
    );
    table
}

pub(super) fn pooled(analysis: &ReplicationAnalysis) -> Table {
    let rows = analysis.within.iter().zip(&analysis.pooled).map(|(within, pooled)| (within, pooled.effects));
    Table::of(
        "pooled",
        "Within and over pairs of model and domain",
        rows,
        &[
            ("relation=measure", |(within, _)| Cell::text(within.relation.label())),
            ("within=r in pairs #", |(within, _)| signed(&within.r)),
            ("within_ci95=95% CI ~", |(within, _)| ci(within.clustered.interval())),
            ("pooled=pooled r #", |(_, found)| Cell::of(*found, |found| Cell::Signed(found.r, 3))),
            ("pooled_ci95=95% CI ~", |(_, found)| ci(found.map(|found| found.ci95))),
            ("pairs #", |(_, found)| Cell::of(*found, |found| Cell::Count(found.groups))),
            ("tau2=τ² #", |(_, found)| Cell::of(*found, |found| Cell::Real(found.tau2, 4))),
            ("i2=I² #", |(_, found)| Cell::of(*found, |found| Cell::Share(found.i2))),
            ("q=Q #", |(_, found)| Cell::of(*found, |found| Cell::Real(found.q, 2))),
            ("q_p=p of Q #", |(_, found)| Cell::of(*found, |found| Cell::P(found.q_p))),
        ],
    )
    .noted(format!(
        "r in pairs: both measured from the means of their pair, clustered by {}. pooled r: random effects \
         (DerSimonian and Laird, interval of Hartung and Knapp). τ², I², Q: how far pairs differ, as if runs were independent.",
        unit(analysis.cluster)
    ))
}

pub(super) fn signals(analysis: &ReplicationAnalysis) -> Table {
    let title = "Recovery and reward by model and domain, those that differ most surely from 0 first";
    let mut table = Table::new(
        "signals",
        title,
        &["pair | relation=measure | n=runs # | r #", CLUSTERED, "p_permutation=p within # | q #"],
    )
    .grouped();
    for signal in &analysis.signals {
        let one = &signal.association;
        let mut row = vec![Cell::text(format!("{}/{}", signal.model, signal.domain))];
        row.extend(association_row(one.relation, &one.pearson, one.clustered.first()));
        row.extend([p(one), q(one)]);
        table.row(row);
    }
    table.note(format!(
        "Pairs with at least {} runs with errors. If q is not small, treat the pair as noise.",
        analysis.min_n
    ));
    table
}

pub(super) fn direction(tables: &Replication) -> String {
    let direction = &tables.direction;
    format!(
        "Direction, among the pairs in which r is defined: recovery rate positive in {} of {} (runs with errors: {} of {}), \
         error count negative in {} of {}.",
        direction.recovery_positive.count,
        direction.recovery_positive.defined,
        direction.recovery_errors_only_positive.count,
        direction.recovery_errors_only_positive.defined,
        direction.error_count_negative.count,
        direction.error_count_negative.defined,
    )
}

pub(super) fn duplicates(analysis: &ReplicationAnalysis) -> Table {
    Table::of(
        "duplicates",
        "Runs recorded twice: the copies that are left out",
        &analysis.duplicates,
        &[
            ("file", |one| Cell::text(&one.file)),
            ("id", |one| Cell::name(one.id.as_deref())),
            ("of_file=copy of (file)", |one| Cell::text(&one.of_file)),
            ("of_id=copy of (id)", |one| Cell::name(one.of_id.as_deref())),
        ],
    )
}

pub(super) fn rules(grouped: &GroupedReplication) -> Table {
    let mut table = Table::new(
        "recovery_rules",
        "Recovery and reward, by tool and by program",
        &["relation=measure | n=runs # | r #", CLUSTERED, "p_permutation=p within #"],
    );
    for one in &grouped.overall {
        let mut row = association_row(one.relation, &one.pearson, one.clustered.first());
        row.push(p(one));
        table.row(row);
    }
    table.note("by program: a shell is one tool for each program that runs in it (`bash:pytest`).");
    table
}

pub(super) fn groups(grouped: &GroupedReplication) -> Table {
    let mut columns: Vec<_> = grouped.by.iter().map(|by| by.name()).collect();
    columns.extend([
        "runs # | runs_with_errors=with errors # | recovered # | recovered_by_program=by program #",
        "mean_reward=reward # | r_recovery_reward_errors_only=r (errors) #",
        "r_recovery_by_program_reward_errors_only=by program #",
    ]);
    let names: Vec<&str> = grouped.by.iter().map(|by| by.name()).collect();
    let mut table = Table::new("groups", format!("By {}", names.join(", ")), &columns);
    if names.len() > 1 {
        table = table.grouped();
    }
    let share = |part, whole| Cell::of(ratio(part, whole), Cell::Share);
    for NamedGroup { names, group, recovered_by_program, r_recovery_by_program_reward_errors_only, .. } in
        &grouped.groups
    {
        let mut row: Vec<Cell> = names.iter().map(|name| Cell::name(name.as_deref())).collect();
        row.extend([
            Cell::Count(group.sims),
            Cell::Count(group.sims_with_errors),
            share(group.recovered, group.errors),
            share(*recovered_by_program, group.errors),
            Cell::of(group.mean_reward, |mean| Cell::Real(mean, 3)),
            signed(&group.r_recovery_reward_errors_only),
            signed(r_recovery_by_program_reward_errors_only),
        ]);
        table.row(row);
    }
    table.note(
        "recovered: share of the errors. r (errors): recovery rate and reward, runs with errors. Both by tool, as \
         published, and by program.",
    );
    table
}

fn fisher(coefficient: &Coefficient) -> Option<Interval> {
    coefficient.0.as_ref().ok().and_then(|correlation| correlation.ci95)
}

fn p(association: &Association) -> Cell {
    Cell::of(association.permutation, |test| Cell::P(test.p))
}

fn q(association: &Association) -> Cell {
    Cell::of(association.q, Cell::P)
}
