//! The tables of a replication.

use super::cell::{Cell, ci};
use super::replication_answer::unit;
use super::table::Table;
use crate::replicate::{
    Association, Better, ClusterBy, ClusteredInterval, Coefficient, Contrast, Group, GroupedReplication,
    PairGroup, Relation, Replication, ReplicationAnalysis,
};
use crate::stats::Interval;

/// The columns of [`clustered_cells`]: the interval, the clusters, and the undefined resamples if there are
/// any.
const CLUSTERED: &str = "clustered=95% CI ~ | clusters # | undefined_resamples=undefined #";

fn clustered_cells(one: Option<&ClusteredInterval>) -> [Cell; 3] {
    [
        ci(one.and_then(ClusteredInterval::interval)),
        Cell::of(one, |one| Cell::Count(one.bootstrap.clusters)),
        Cell::of(one.filter(|one| one.bootstrap.undefined > 0), |one| Cell::Count(one.bootstrap.undefined)),
    ]
}

pub(super) fn contrasts(analysis: &ReplicationAnalysis) -> Table {
    fn name(relation: Relation) -> &'static str {
        match relation {
            Relation::ErrorCount => "error count",
            Relation::GoalRecovery | Relation::GoalRecoveryWithErrors => "goals reached",
            _ => "recovery rate",
        }
    }
    let rows = analysis.contrasts.iter().flat_map(|contrast| {
        let Contrast { measure, against: other, runs, r, r_against, difference, clustered, within } =
            contrast;
        let which = if measure.is_of_errors() { "runs with errors" } else { "runs" };
        let comparison = format!("{} against {}, {runs} {which}", name(*measure), name(*other));
        let pooled = clustered.iter().map(|one| (("pooled", r.r(), r_against.r()), *difference, one));
        let within = within
            .iter()
            .map(|found| (("within", found.r, found.r_against), found.difference, &found.clustered));
        pooled.chain(within).map(move |((of, r, against), difference, one)| {
            let [interval, clusters, _] = clustered_cells(Some(one));
            let better = match Better::of(one) {
                Better::First => Cell::text(name(*measure)),
                Better::Second => Cell::text(name(*other)),
                Better::Neither => Cell::text("not settled"),
                Better::Unknown => Cell::Missing,
            };
            let [comparison, of, by] = [comparison.as_str(), of, unit(one.by)].map(Cell::text);
            let [r, against, difference] = [r, against, difference].map(|value| Cell::signed(value, 3));
            [comparison, of, by, clusters, r, against, difference, interval, better]
        })
    });
    let title = "Which measure predicts reward better? Difference of r (Pearson) with reward";
    let all = analysis.contrasts.iter().flat_map(|one| &one.clustered);
    let undefined = all.map(|one| one.bootstrap.undefined).max().unwrap_or(0);
    let undefined = if undefined > 0 {
        format!(" Those in which r is undefined are left out (at most {undefined} of an interval).")
    } else {
        String::new()
    };
    let columns = "comparison | of=over | clustered_by=clustered by | clusters # +";
    Table::of("contrasts", title, rows)
        .columns(
            &format!("{columns} | r # | r_against=against # | difference # | clustered=95% CI ~ | better +"),
            Clone::clone,
        )
        .grouped()
        .noted(format!(
            "pooled: over all runs. within: measures and rewards minus the means of their model and domain. difference: r \
             less r against, the r of errors with its sign reversed, as they should lower the reward. 95% CI: {} \
             resamples of whole clusters, widened for the number of clusters (below 20 still too narrow), seed {}; not \
             adjusted for the number of comparisons.{undefined}",
            analysis.resamples, analysis.seed
        ))
}

/// Returns the correlations with reward, each with its interval.
pub(super) fn measures<'r>(
    cluster: ClusterBy,
    rows: impl Iterator<Item = (Relation, &'r Coefficient, Option<&'r ClusteredInterval>)>,
) -> Table {
    let title = format!("Correlation with reward (95% CI, clustered by {})", unit(cluster));
    let rows: Vec<_> = rows.collect();
    let mut table = Table::of("measures", title, &rows)
        .column("relation=measure", |(relation, ..)| Cell::text(relation.label()))
        .columns("n=runs # | r #", |(_, pearson, _)| [n(pearson), signed(pearson)])
        .columns(CLUSTERED, |(.., clustered)| clustered_cells(*clustered))
        .table();
    for (relation, Coefficient(found), _) in rows {
        if let Err(why) = found {
            table.note(format!("{}: no correlation, as {why}.", relation.label()));
        }
    }
    table.noted(
        "Recovery rate: share of a run's failed calls after which the same tool succeeded; 1 without failed calls. Goals \
         reached: share of what failed calls were to achieve that later calls achieved; 1 without failed calls. Both \
         come from calls and results alone, not from rewards or references.",
    )
}

/// Returns the association of recovery with reward in runs with errors.
fn with_errors(associations: &[Association]) -> Option<&Association> {
    associations.iter().find(|one| one.relation == Relation::RecoveryWithErrors)
}

/// Minimum number of runs with errors and a reward for the r of a model to be shown.
const FEWEST: usize = 10;

pub(super) fn models(analysis: &ReplicationAnalysis) -> Table {
    let title = format!(
        "By model: r of recovery rate and reward in runs with errors (95% CI, clustered by {})",
        unit(analysis.cluster)
    );
    let models = analysis.associations.by_model.iter().zip(&analysis.tables.by_model);
    let enough = |one: &&Association| one.pearson.0.as_ref().is_ok_and(|found| found.n >= FEWEST);
    Table::of(
        "models",
        title,
        models.map(|(model, found)| {
            (&model.model, &found.group, with_errors(&model.associations).filter(enough))
        }),
    )
    .column("model", |(model, ..)| Cell::text(*model))
    .column("runs #", |(_, group, _)| Cell::Count(group.sims))
    .column("mean_reward=reward (all) #", |(_, group, _)| Cell::real(group.mean_reward, 3))
    .column("runs_with_errors=with errors #", |(_, group, _)| Cell::Count(group.sims_with_errors))
    .column("r #", |(.., one)| Cell::of(*one, |one| signed(&one.pearson)))
    .column("clustered=95% CI ~", |(.., one)| ci(one.and_then(Association::interval)))
    .noted(format!(
        "r: only if at least {FEWEST} runs have errors and their rewards vary; its interval only if fewer than 1% of the \
         resamples have no value."
    ))
}

fn n(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.0.as_ref().ok(), |c| Cell::Count(c.n as u64))
}

fn signed(coefficient: &Coefficient) -> Cell {
    Cell::signed(coefficient.r(), 3)
}

pub(super) fn intervals(analysis: &ReplicationAnalysis) -> Table {
    let rows = analysis.associations.overall.iter().flat_map(|one| {
        let clustered = one.clustered.iter().map(move |clustered| (one, Some(clustered)));
        std::iter::once((one, None)).chain(clustered)
    });
    Table::of("intervals", "95% intervals of r with reward", rows)
        .column("relation=measure", |(one, _)| Cell::text(one.relation.label()))
        .column("clustered_by=clustered by", |(_, clustered)| {
            Cell::text(clustered.map_or("independent", |clustered| unit(clustered.by)))
        })
        .column("r #", |(one, _)| signed(&one.pearson))
        .columns(CLUSTERED, |(one, clustered)| match clustered {
            Some(clustered) => clustered_cells(Some(clustered)),
            None => [ci(fisher(&one.pearson)), n(&one.pearson), Cell::Missing],
        })
        .column("bca=BCa ~", |(_, clustered)| {
            ci(clustered.and_then(|clustered| clustered.interval().and(clustered.bootstrap.bca)))
        })
        .grouped()
        .noted(
            "independent: Fisher's interval, which treats runs as independent. The others are \
             percentile intervals, widened for the number of clusters; BCa: bias-corrected and \
             accelerated. With fewer than 20 clusters they are doubtful; with fewer than 5, or if \
             1% of the resamples are undefined, there is none.",
        )
}

pub(super) fn tests(analysis: &ReplicationAnalysis) -> Table {
    Table::of("tests", "Ranks, and tests within model and domain", &analysis.associations.overall)
        .column("relation=measure", |one| Cell::text(one.relation.label()))
        .column("n=runs #", |one| n(&one.pearson))
        .column("spearman=Spearman #", |one| signed(&one.spearman))
        .column("r_within=r within #", |one| {
            Cell::of(one.permutation.and(one.within.r()), |r| Cell::Signed(r, 3))
        })
        .column("p_permutation=p within #", |one| p(one))
        .column("q #", |one| q(one))
        .noted(format!(
            "r within: among runs of one model and domain {}; p within tests it by permuting \
             their rewards. q: p adjusted for the tests of the table (Benjamini and Hochberg).",
            match analysis.cluster {
                ClusterBy::None => "",
                _ => "that are in one cluster, or each alone in theirs",
            }
        ))
}

pub(super) fn clustering(analysis: &ReplicationAnalysis) -> Table {
    Table::of("clustering", "Correlations whose significance depends on the clustering", &analysis.changes)
        .column("scope=runs of", |change| Cell::text(&change.scope))
        .column("relation=measure", |change| Cell::text(change.relation.label()))
        .column("r #", |change| Cell::Signed(change.r.r, 3))
        .column("independent ~", |change| ci(change.r.ci95))
        .column("clustered ~", |change| ci(change.differing().and_then(ClusteredInterval::interval)))
        .column("clustered_by=by", |change| {
            let by = |one: &ClusteredInterval| format!("{} ({})", unit(one.by), one.bootstrap.clusters);
            Cell::of(change.differing(), |one| Cell::text(by(one)))
        })
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

pub(super) fn figures(group: &Group, decimals: usize) -> [Cell; 7] {
    let r = |coefficient: &Coefficient| Cell::signed(coefficient.r(), decimals);
    [
        Cell::Count(group.sims),
        Cell::Count(group.sims_with_errors),
        Cell::real(group.mean_reward, decimals),
        r(&group.r_recovery_reward),
        r(&group.r_recovery_reward_errors_only),
        r(&group.r_error_count_reward),
        r(&group.r_tool_calls_reward),
    ]
}

pub(super) fn by_model(tables: &Replication, headings: &str, decimals: usize, note: &str) -> Table {
    Table::of("by_model", "By model", &tables.by_model)
        .column("model", |model| Cell::name(model.model.as_deref()))
        .columns(headings, |model| figures(&model.group, decimals))
        .noted(note)
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
    let pairs = tables.by_model_domain.iter();
    let pairs = pairs.map(|pair| (pair.model.as_deref(), pair.domain.as_deref(), &pair.group, cells(pair)));
    let rows = pairs.chain(unknown.map(|unknown| (None, None, unknown, None)));
    let tested = |found: &Option<PairCells<'r>>| found.as_ref().and_then(|(.., tested)| *tested);
    let mut table = Table::of("by_model_domain", "By model and domain", rows)
        .column("model", |(model, ..)| Cell::name(*model))
        .column("domain", |(_, domain, ..)| Cell::name(*domain))
        .columns(FIGURES, |(_, _, group, _)| figures(group, 3))
        .column("independent ~", |(.., found)| ci(found.as_ref().and_then(|(pearson, ..)| fisher(pearson))))
        .columns(CLUSTERED, |(.., found)| {
            clustered_cells(found.as_ref().and_then(|(_, clustered, _)| clustered.as_ref()))
        })
        .column("p_permutation=p within #", |(.., found)| Cell::of(tested(found), p))
        .column("q #", |(.., found)| Cell::of(tested(found), q))
        .grouped();
    if unknown.is_some() {
        table.note("–: runs that name no model or no domain.");
    }
    table.noted(FIGURES_NOTE).noted(
        "Intervals (independent; clustered, 95% CI) and tests are of r (errors). q: over all tests by pair.",
    )
}

pub(super) fn pooled(analysis: &ReplicationAnalysis) -> Table {
    let rows = analysis.within.iter().zip(&analysis.pooled).map(|(within, pooled)| (within, pooled.effects));
    Table::of("pooled", "Within and over pairs of model and domain", rows)
        .column("relation=measure", |(within, _)| Cell::text(within.relation.label()))
        .column("within=r in pairs #", |(within, _)| signed(&within.r))
        .column("within_ci95=95% CI ~", |(within, _)| ci(within.clustered.interval()))
        .column("pooled=pooled r #", |(_, found)| Cell::of(*found, |found| Cell::Signed(found.r, 3)))
        .column("pooled_ci95=95% CI ~", |(_, found)| ci(found.map(|found| found.ci95)))
        .column("pairs #", |(_, found)| Cell::of(*found, |found| Cell::Count(found.groups)))
        .column("tau2=τ² #", |(_, found)| Cell::of(*found, |found| Cell::Real(found.tau2, 4)))
        .column("i2=I² #", |(_, found)| Cell::of(*found, |found| Cell::Share(found.i2)))
        .column("q=Q #", |(_, found)| Cell::of(*found, |found| Cell::Real(found.q, 2)))
        .column("q_p=p of Q #", |(_, found)| Cell::of(*found, |found| Cell::P(found.q_p)))
        .noted(format!(
            "r in pairs: both measured from the means of their pair, clustered by {}. pooled r: \
             random effects (DerSimonian and Laird, interval of Hartung and Knapp). τ², I², Q: \
             how far pairs differ, as if runs were independent.",
            unit(analysis.cluster)
        ))
}

pub(super) fn signals(analysis: &ReplicationAnalysis) -> Table {
    let title = "Recovery and reward by model and domain, those that differ most surely from 0 first";
    Table::of("signals", title, &analysis.signals)
        .column("pair", |signal| Cell::text(format!("{}/{}", signal.model, signal.domain)))
        .column("relation=measure", |signal| Cell::text(signal.association.relation.label()))
        .columns("n=runs # | r #", |signal| {
            [n(&signal.association.pearson), signed(&signal.association.pearson)]
        })
        .columns(CLUSTERED, |signal| clustered_cells(signal.association.clustered.first()))
        .column("p_permutation=p within #", |signal| p(&signal.association))
        .column("q #", |signal| q(&signal.association))
        .grouped()
        .noted(format!(
            "Pairs with at least {} runs with errors. If q is not small, treat the pair as noise.",
            analysis.min_n
        ))
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
    Table::of("duplicates", "Runs recorded twice: the copies that are left out", &analysis.duplicates)
        .column("file", |one| Cell::text(&one.file))
        .column("id", |one| Cell::name(one.id.as_deref()))
        .column("of_file=copy of (file)", |one| Cell::text(&one.of_file))
        .column("of_id=copy of (id)", |one| Cell::name(one.of_id.as_deref()))
        .table()
}

pub(super) fn rules(grouped: &GroupedReplication) -> Table {
    Table::of("recovery_rules", "Recovery and reward, by tool and by program", &grouped.overall)
        .column("relation=measure", |one| Cell::text(one.relation.label()))
        .columns("n=runs # | r #", |one| [n(&one.pearson), signed(&one.pearson)])
        .columns(CLUSTERED, |one| clustered_cells(one.clustered.first()))
        .column("p_permutation=p within #", |one| p(one))
        .noted("by program: a shell is one tool for each program that runs in it (`bash:pytest`).")
}

pub(super) fn groups(grouped: &GroupedReplication) -> Table {
    let names: Vec<&str> = grouped.by.iter().map(|by| by.name()).collect();
    let mut table = Table::of("groups", format!("By {}", names.join(", ")), &grouped.groups);
    for (place, name) in names.iter().enumerate() {
        table = table.column(name, |one| Cell::name(one.names.get(place).and_then(|name| name.as_deref())));
    }
    let table = table
        .column("runs #", |one| Cell::Count(one.group.sims))
        .column("runs_with_errors=with errors #", |one| Cell::Count(one.group.sims_with_errors))
        .column("recovered #", |one| Cell::ratio(one.group.recovered, one.group.errors))
        .column("recovered_by_program=by program #", |one| {
            Cell::ratio(one.recovered_by_program, one.group.errors)
        })
        .column("mean_reward=reward #", |one| Cell::real(one.group.mean_reward, 3))
        .column("r_recovery_reward_errors_only=r (errors) #", |one| {
            signed(&one.group.r_recovery_reward_errors_only)
        })
        .column("r_recovery_by_program_reward_errors_only=by program #", |one| {
            signed(&one.r_recovery_by_program_reward_errors_only)
        })
        .table();
    let table = if names.len() > 1 { table.grouped() } else { table };
    table.noted(
        "recovered: share of the errors. r (errors): recovery rate and reward, runs with errors. Both by tool, as \
         published, and by program.",
    )
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
