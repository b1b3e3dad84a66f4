//! Renders a replication as a document.

use super::cell::{Cell, counted};
use super::document::{Detail, Document};
use super::regression::regression_table;
use super::replication_charts::{forest, forest_chart, pass_k_chart, success_by_recovery, summed_row};
use super::runs::pass_k_table;
use super::table::Table;
use crate::replicate::{
    Association, Better, ClusterBy, ClusteredInterval, Coefficient, Contrast, Group, GroupedReplication,
    NamedGroup, PairGroup, PassK, Relation, Replication, ReplicationAnalysis, RewardRegression,
    SummedReplication, pass_k_by_pair,
};
use crate::stats::{Interval, ratio};

const TITLE: &str = "Recovery from tool errors and reward";

/// The optional parts of the short report of a replication.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplicationView<'r> {
    /// Whether to include the table of pass^k.
    pub pass_k: bool,
    /// Whether to list the copies of runs that were left out.
    pub duplicates: bool,
    /// Tables by groups.
    pub grouped: Option<&'r GroupedReplication>,
    /// The regressions of the reward.
    pub regression: Option<&'r RewardRegression>,
}

/// Returns a replication as a document: the answer, the correlations that support it, models and warnings. The full
/// text adds every interval, test and pair.
#[must_use]
pub fn replication_document(analysis: &ReplicationAnalysis, view: &ReplicationView<'_>) -> Document {
    let mut document = Document::new(TITLE);
    document.lead(overview(&analysis.tables));
    document.lead(answer(analysis));
    document.section("Result");
    for warning in warnings(analysis) {
        document.warning(warning);
    }
    document.table(contrasts(analysis)).table(measures(analysis)).table(models(analysis));
    if let Some(grouped) = view.grouped {
        document.section("Groups").table(rules(grouped)).table(groups(grouped));
    }
    if let Some(regression) = view.regression {
        document.section("Regression").table(regression_table(regression));
    }
    document.detail(Detail::Full).section("Charts");
    document.chart(forest_chart(analysis, Relation::RecoveryWithErrors));
    document.chart(forest_chart(analysis, Relation::Recovery));
    document.chart(success_by_recovery(&analysis.runs));
    document.detail(if view.pass_k { Detail::Short } else { Detail::Full });
    pass_k_parts(&mut document, &pass_k_by_pair(&analysis.runs));
    document
        .detail(Detail::Full)
        .section("Intervals and tests")
        .table(intervals(analysis))
        .table(tests(analysis));
    document.table(clustering(analysis));
    document.section("Models and domains").table(by_model(&analysis.tables, FIGURES, 3, FIGURES_NOTE));
    document.table(by_pair(&analysis.tables, analysis.unknown.as_ref(), |pair| pair_cells(analysis, pair)));
    document.table(pooled(analysis)).table(signals(analysis)).paragraph(direction(&analysis.tables));
    document.detail(if view.duplicates { Detail::Short } else { Detail::Full });
    document.section("Runs recorded twice").table(duplicates(analysis));
    document
}

/// Returns a replication from sums as a document. `pass_k` includes the table of pass^k in the short text.
#[must_use]
pub fn summed_document(summed: &SummedReplication, pass_k: bool) -> Document {
    let mut document = Document::new(TITLE);
    document.lead(overview(&summed.tables));
    let group = &summed.tables.overall;
    if let (Some(recovery), Some(errors)) = (group.r_recovery_reward.r(), group.r_error_count_reward.r()) {
        document.lead(format!(
            "r with reward is {recovery:+.3} for the recovery rate and {errors:+.3} for the error count. An interval of \
             their difference needs the runs."
        ));
    }
    let different = summed.different_contents;
    let about = if different.exact { "" } else { "about " };
    document.section("Result").warning(format!(
        "there are more runs than are kept one by one. All of them count, with {about}{} different contents; which of \
         them were recorded twice is not known. Tests, ranks and tables by groups need the runs.",
        different.count
    ));
    if summed.out_of_range > 0 {
        let runs = counted(summed.out_of_range, "run");
        document
            .warning(format!("{runs} with a reward or a count beyond 2^20 are in no mean or correlation."));
    }
    if let Some(sentence) = without_calls_warning(&summed.tables) {
        document.warning(sentence);
    }
    let rows = summed.overall.iter().map(|one| (one.relation, &one.pearson, one.clustered.as_ref()));
    document.table(measure_table(summed.cluster, rows));
    document.table(by_model(&summed.tables, FIGURES, 3, FIGURES_NOTE));
    document.detail(Detail::Full);
    document.chart(forest(
        Relation::RecoveryWithErrors,
        summed.cluster,
        summed.pairs.iter().filter_map(summed_row).collect(),
    ));
    document.detail(if pass_k { Detail::Short } else { Detail::Full });
    pass_k_parts(&mut document, &summed.pass_k);
    document.detail(Detail::Full).section("Models and domains");
    document.table(by_pair(&summed.tables, summed.unknown.as_ref(), |pair| {
        let found = summed.pairs.iter().find(|one| is_pair(&one.model, &one.domain, pair))?;
        let association = &found.association;
        Some((association.pearson.clone(), association.clustered, None))
    }));
    document.paragraph(direction(&summed.tables));
    document
}

fn overview(tables: &Replication) -> String {
    let overall = &tables.overall;
    let mean = |mean: Option<f64>| {
        mean.map_or_else(|| "no reward".to_owned(), |mean| format!("mean reward {mean:.3}"))
    };
    let models = tables.by_model.len() as u64;
    let pairs = tables.by_model_domain.len() as u64;
    format!(
        "{} ({}, {} of model and domain), {} with a reward: {}. {} ({}) with failed tool calls: {}; {} of {} recovered.",
        counted(overall.sims, "run"),
        counted(models, "model"),
        counted(pairs, "pair"),
        overall.sims_with_reward,
        mean(overall.mean_reward),
        counted(overall.sims_with_errors, "run"),
        Cell::of(ratio(overall.sims_with_errors, overall.sims), Cell::Share).shown(),
        mean(overall.mean_reward_with_errors),
        overall.recovered,
        counted(overall.errors, "failed call"),
    )
}

fn answer(analysis: &ReplicationAnalysis) -> String {
    let question = "Does recovery predict reward better than the error count?";
    let Some(contrast) = analysis.contrasts.first() else { return question.to_owned() };
    let Some(difference) = contrast.difference else {
        return format!("{question} Not known: recovery rate, error count or reward do not vary.");
    };
    let mut answers: Vec<(Better, Vec<String>)> = Vec::new();
    for one in &contrast.clustered {
        let (answer, by) = (Better::of(one), format!("by {}", unit(one.by)));
        match answers.last_mut() {
            Some((last, units)) if *last == answer => units.push(by),
            _ => answers.push((answer, vec![by])),
        }
    }
    let answers: Vec<String> = answers
        .into_iter()
        .map(|(answer, units)| match answer {
            Better::First => format!("YES {}", units.join(" and ")),
            Better::Second => format!("NO {}: the error count does", units.join(" and ")),
            Better::Neither => format!("not settled {}", units.join(" or ")),
            Better::Unknown => format!("no interval {}", units.join(" or ")),
        })
        .collect();
    let interval = analysis_interval(contrast.clustered.first());
    let [r, against] = [&contrast.r, &contrast.r_against].map(|r| r.r().unwrap_or(f64::NAN));
    format!(
        "{question} {}. r with reward is {r:+.3} for the recovery rate and {against:+.3} for the error count, which should \
         lower it; {r:+.3} less {:+.3} is {difference:+.3}{interval}.",
        answers.join("; "),
        -against,
    )
}

fn analysis_interval(one: Option<&ClusteredInterval>) -> String {
    let shown = one.and_then(|one| Some((one.interval()?, one.by)));
    shown.map_or_else(String::new, |(interval, by)| {
        format!(", 95% CI {} clustered by {}", Cell::SignedInterval(interval, 3).shown(), unit(by))
    })
}

/// Returns the name of the resampled unit, in the singular.
pub(super) fn unit(by: ClusterBy) -> &'static str {
    match by {
        ClusterBy::ModelDomain => "model and domain",
        ClusterBy::None => "run",
        named => named.name(),
    }
}

fn warnings(analysis: &ReplicationAnalysis) -> Vec<String> {
    let mut warnings = Vec::new();
    let answers: Vec<Better> =
        analysis.contrasts.first().iter().flat_map(|one| &one.clustered).map(Better::of).collect();
    if answers.iter().any(|answer| Some(answer) != answers.first() && *answer != Better::Unknown) {
        warnings.push(
            "the answer depends on the clustering: by task, by file, or by model and domain.".to_owned(),
        );
    }
    if let Some(first) = analysis.duplicates.first() {
        let named = |id: &Option<String>, file: &str| {
            let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
            format!("{} of {file}", id.as_deref().unwrap_or("a run"))
        };
        let (were, are) = if analysis.duplicates.len() == 1 { ("was", "is") } else { ("were", "are") };
        warnings.push(format!(
            "{} {were} recorded twice and {are} counted once; the first is {}, like {}.",
            counted(analysis.duplicates.len() as u64, "run"),
            named(&first.id, &first.file),
            named(&first.of_id, &first.of_file),
        ));
    }
    if analysis.alone > 0 {
        let name = if analysis.alone == 1 { "names" } else { "name" };
        let runs = counted(analysis.alone, "run");
        warnings
            .push(format!("{runs} {name} no task and {name} no cluster; each is taken to be independent."));
    }
    if let Some(unknown) = &analysis.unknown {
        let name = if unknown.sims == 1 { "names" } else { "name" };
        warnings.push(format!(
            "{} {name} no model or no domain and are in no pair.",
            counted(unknown.sims, "run")
        ));
    }
    let clustered = analysis.associations.overall.first().and_then(|one| one.clustered.first());
    if let Some(one) = clustered.filter(|one| one.is_doubtful()) {
        let clusters = counted(one.bootstrap.clusters, "cluster");
        warnings.push(format!(
            "with {clusters} an interval is doubtful (fewer than 20), or there is none (fewer than 5)."
        ));
    }
    warnings.extend(without_calls_warning(&analysis.tables));
    let changes = analysis.changes.len() as u64;
    if changes > 0 {
        warnings.push(format!(
            "for {} it depends on the clustering whether the 95% CI excludes 0.",
            counted(changes, "correlation")
        ));
    }
    warnings
}

/// Returns the number of runs without a tool call, overall and by model.
pub(super) fn without_calls(tables: &Replication) -> Option<(String, String)> {
    let all = tables.overall.sims_without_calls;
    let of_models: Vec<(&str, u64)> = tables
        .by_model
        .iter()
        .filter_map(|one| Some((one.model.as_deref()?, one.group.sims_without_calls)))
        .filter(|(_, runs)| *runs > 0)
        .collect();
    let named: u64 = of_models.iter().map(|(_, runs)| runs).sum();
    let mut whose: Vec<String> = of_models.iter().map(|(model, runs)| format!("{model}: {runs}")).collect();
    if named < all {
        whose.push(format!("no model named: {}", all - named));
    }
    (all > 0).then(|| (counted(all, "run"), whose.join(", ")))
}

fn without_calls_warning(tables: &Replication) -> Option<String> {
    let (runs, whose) = without_calls(tables)?;
    Some(format!("{runs} without a tool call ({whose}): recovery rate 1 and no failed call."))
}

const CLUSTERED: &str = "clustered=95% CI ~ | clusters # | undefined_resamples=undefined #";

/// Returns the interval, the clusters, and the undefined resamples if there are any.
fn clustered_cells(one: Option<&ClusteredInterval>) -> [Cell; 3] {
    [
        ci(one.and_then(ClusteredInterval::interval)),
        Cell::of(one, |one| Cell::Count(one.bootstrap.clusters)),
        Cell::of(one.filter(|one| one.bootstrap.undefined > 0), |one| Cell::Count(one.bootstrap.undefined)),
    ]
}

fn contrasts(analysis: &ReplicationAnalysis) -> Table {
    let mut table = Table::new(
        "contrasts",
        "Which measure predicts reward better? Difference of r with reward",
        &[
            "comparison | clustered_by=clustered by | difference #",
            "clustered=95% CI ~ | clusters # | better | undefined_resamples=undefined #",
        ],
    )
    .grouped();
    for contrast in &analysis.contrasts {
        let Contrast { measure, against, runs, r, r_against, difference, clustered } = contrast;
        let name = |relation: &Relation| match relation {
            Relation::ErrorCount => "error count",
            Relation::GoalRecovery | Relation::GoalRecoveryWithErrors => "goals reached",
            _ => "recovery rate",
        };
        let [r, r_against] = [r, r_against].map(|r| signed(r).shown());
        let which = if measure.is_of_errors() { "runs with errors" } else { "runs" };
        let comparison =
            format!("{} ({r}) against {} ({r_against}), {runs} {which}", name(measure), name(against));
        for one in clustered {
            let mut row = vec![
                Cell::text(&comparison),
                Cell::text(unit(one.by)),
                Cell::of(*difference, |difference| Cell::Signed(difference, 3)),
            ];
            let [interval, clusters, undefined] = clustered_cells(Some(one));
            let better = match Better::of(one) {
                Better::First => Cell::text(name(measure)),
                Better::Second => Cell::text(name(against)),
                Better::Neither => Cell::text("not settled"),
                Better::Unknown => Cell::Missing,
            };
            row.extend([interval, clusters, better, undefined]);
            table.row(row);
        }
    }
    table.note(
        "Errors should lower the reward: their r enters with its sign reversed. An interval that excludes 0 settles the \
         comparison for runs that belong together in this way.",
    );
    let undefined =
        analysis.contrasts.iter().flat_map(|one| &one.clustered).any(|one| one.bootstrap.undefined > 0);
    let undefined = if undefined { "; undefined: resamples without a value, which are left out" } else { "" };
    table.note(format!(
        "95% CI: {} resamples of whole clusters, seed {}{undefined}.",
        analysis.resamples, analysis.seed
    ));
    table
}

fn measures(analysis: &ReplicationAnalysis) -> Table {
    let rows = analysis.associations.overall.iter();
    let rows = rows.map(|one| (one.relation, &one.pearson, one.clustered.first()));
    measure_table(analysis.cluster, rows)
}

fn measure_table<'r>(
    cluster: ClusterBy,
    rows: impl Iterator<Item = (Relation, &'r Coefficient, Option<&'r ClusteredInterval>)>,
) -> Table {
    let title = format!("Correlation with reward (95% CI, clustered by {})", unit(cluster));
    let mut table = Table::new("measures", title, &["relation=measure | n=runs # | r #", CLUSTERED]);
    for (relation, pearson, clustered) in rows {
        let mut row = vec![Cell::text(relation.to_string()), n(pearson), signed(pearson)];
        row.extend(clustered_cells(clustered));
        table.row(row);
        if let Err(why) = &pearson.0 {
            table.note(format!("{relation}: no correlation, as {why}."));
        }
    }
    table.note(
        "Recovery rate: share of a run's failed calls after which the same tool succeeded; 1 without failed calls. Goals \
         reached: share of what failed calls were to achieve that was achieved later.",
    );
    table
}

/// Returns the association of recovery in runs with errors.
fn with_errors(associations: &[Association]) -> Option<&Association> {
    associations.iter().find(|one| one.relation == Relation::RecoveryWithErrors)
}

fn models(analysis: &ReplicationAnalysis) -> Table {
    let title = format!(
        "By model: r of recovery rate and reward in runs with errors (95% CI, clustered by {})",
        unit(analysis.cluster)
    );
    let mut table = Table::new(
        "models",
        title,
        &[
            "model | runs # | mean_reward=reward # | runs_with_errors=with errors # | r #",
            "clustered=95% CI ~",
        ],
    );
    for (model, group) in analysis.associations.by_model.iter().zip(&analysis.tables.by_model) {
        let one = with_errors(&model.associations);
        let mut row = vec![
            Cell::text(&model.model),
            Cell::Count(group.group.sims),
            Cell::of(group.group.mean_reward, |mean| Cell::Real(mean, 3)),
            Cell::Count(group.group.sims_with_errors),
            Cell::of(one, |one| signed(&one.pearson)),
        ];
        row.push(ci(one.and_then(Association::interval)));
        table.row(row);
    }
    table
}

fn intervals(analysis: &ReplicationAnalysis) -> Table {
    let mut table = Table::new(
        "intervals",
        "95% intervals of r with reward",
        &["relation=measure | clustered_by=clustered by | r #", CLUSTERED, "bca=BCa ~"],
    )
    .grouped();
    for one in &analysis.associations.overall {
        let name = one.relation.to_string();
        let mut row = vec![Cell::text(&name), Cell::text("independent"), signed(&one.pearson)];
        row.extend([ci(fisher(&one.pearson)), n(&one.pearson), Cell::Missing, Cell::Missing]);
        table.row(row);
        for clustered in &one.clustered {
            let mut row = vec![Cell::text(&name), Cell::text(unit(clustered.by)), signed(&one.pearson)];
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

fn tests(analysis: &ReplicationAnalysis) -> Table {
    let mut table = Table::new(
        "tests",
        "Ranks, and tests within model and domain",
        &[
            "relation=measure | n=runs # | spearman=Spearman # | r_within=r within #",
            "p_permutation=p within # | q #",
        ],
    );
    for one in &analysis.associations.overall {
        let within = Cell::of(one.permutation.and(one.within.r()), |r| Cell::Signed(r, 3));
        table.row([
            Cell::text(one.relation.to_string()),
            n(&one.pearson),
            signed(&one.spearman),
            within,
            p(one),
            q(one),
        ]);
    }
    table.note(format!(
        "r within: among runs of one model and domain {}; p within tests it by permuting their rewards. q: p adjusted for \
         the tests of the table (Benjamini and Hochberg).",
        match analysis.cluster {
            ClusterBy::None => "",
            _ => "that are in one cluster, or each alone in theirs",
        }
    ));
    table
}

fn clustering(analysis: &ReplicationAnalysis) -> Table {
    let title = "Correlations whose significance depends on the clustering";
    let mut table = Table::new(
        "clustering",
        title,
        &["scope=runs of | relation=measure | r # | independent ~ | clustered ~ | clustered_by=by"],
    )
    .grouped();
    for change in &analysis.changes {
        table.row([
            Cell::text(&change.scope),
            Cell::text(change.relation.to_string()),
            Cell::Signed(change.r.r, 3),
            ci(change.r.ci95),
            ci(change.differing().and_then(ClusteredInterval::interval)),
            Cell::of(change.differing(), |one| {
                Cell::text(format!("{} ({})", unit(one.by), one.bootstrap.clusters))
            }),
        ]);
    }
    table.note("95% intervals, one of which excludes 0; in brackets the number of clusters.");
    table
}

const FIGURES: &str = concat!(
    "runs # | runs_with_errors=with errors # | mean_reward=reward # | r_recovery_reward=r (all) # | ",
    "r_recovery_reward_errors_only=r (errors) # | r_error_count_reward=r errors # | ",
    "r_tool_calls_reward=r calls #"
);

const FIGURES_NOTE: &str = "r (all), r (errors): recovery rate and reward, all runs and runs with errors. r errors, r calls: error count \
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
type PairCells<'r> = (Coefficient, Option<ClusteredInterval>, Option<&'r Association>);

fn pair_cells<'r>(analysis: &'r ReplicationAnalysis, pair: &PairGroup) -> Option<PairCells<'r>> {
    let pairs = &analysis.associations.by_model_domain;
    let found = pairs.iter().find(|one| is_pair(&one.model, &one.domain, pair))?;
    let one = with_errors(&found.associations)?;
    Some((one.pearson.clone(), one.clustered.first().copied(), Some(one)))
}

fn is_pair(model: &str, domain: &str, pair: &PairGroup) -> bool {
    (pair.model.as_deref(), pair.domain.as_deref()) == (Some(model), Some(domain))
}

fn by_pair<'r>(
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

fn pooled(analysis: &ReplicationAnalysis) -> Table {
    let mut table = Table::new(
        "pooled",
        "Within and over pairs of model and domain",
        &[
            "relation=measure | within=r in pairs # | within_ci95=95% CI ~ | pooled=pooled r #",
            "pooled_ci95=95% CI ~ | pairs # | tau2=τ² # | i2=I² # | q=Q # | q_p=p of Q #",
        ],
    );
    for (within, pooled) in analysis.within.iter().zip(&analysis.pooled) {
        let effects = pooled.effects;
        table.row([
            Cell::text(within.relation.to_string()),
            signed(&within.r),
            ci(within.clustered.interval()),
            Cell::of(effects, |effects| Cell::Signed(effects.r, 3)),
            ci(effects.map(|effects| effects.ci95)),
            Cell::of(effects, |effects| Cell::Count(effects.groups)),
            Cell::of(effects, |effects| Cell::Real(effects.tau2, 4)),
            Cell::of(effects, |effects| Cell::Share(effects.i2)),
            Cell::of(effects, |effects| Cell::Real(effects.q, 2)),
            Cell::of(effects, |effects| Cell::P(effects.q_p)),
        ]);
    }
    table.note(format!(
        "r in pairs: both measured from the means of their pair, clustered by {}. pooled r: random effects \
         (DerSimonian and Laird, interval of Hartung and Knapp). τ², I², Q: how far pairs differ, as if runs were independent.",
        unit(analysis.cluster)
    ));
    table
}

fn signals(analysis: &ReplicationAnalysis) -> Table {
    let title = "Recovery and reward by model and domain, those that differ most surely from 0 first";
    let mut table = Table::new(
        "signals",
        title,
        &["pair | relation=measure | n=runs # | r #", CLUSTERED, "p_permutation=p within # | q #"],
    )
    .grouped();
    for signal in &analysis.signals {
        let one = &signal.association;
        let mut row = vec![
            Cell::text(format!("{}/{}", signal.model, signal.domain)),
            Cell::text(one.relation.to_string()),
            n(&one.pearson),
            signed(&one.pearson),
        ];
        row.extend(clustered_cells(one.clustered.first()));
        row.extend([p(one), q(one)]);
        table.row(row);
    }
    table.note(format!(
        "Pairs with at least {} runs with errors. If q is not small, treat the pair as noise.",
        analysis.min_n
    ));
    table
}

fn direction(tables: &Replication) -> String {
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

fn duplicates(analysis: &ReplicationAnalysis) -> Table {
    let mut table = Table::new(
        "duplicates",
        "Runs recorded twice: the copies that are left out",
        &["file | id | of_file=copy of (file) | of_id=copy of (id)"],
    );
    for one in &analysis.duplicates {
        table.row([
            Cell::text(&one.file),
            Cell::name(one.id.as_deref()),
            Cell::text(&one.of_file),
            Cell::name(one.of_id.as_deref()),
        ]);
    }
    table
}

fn rules(grouped: &GroupedReplication) -> Table {
    let mut table = Table::new(
        "recovery_rules",
        "Recovery and reward, by tool and by program",
        &["relation=measure | n=runs # | r #", CLUSTERED, "p_permutation=p within #"],
    );
    for one in &grouped.overall {
        let mut row = vec![Cell::text(one.relation.to_string()), n(&one.pearson), signed(&one.pearson)];
        row.extend(clustered_cells(one.clustered.first()));
        row.push(p(one));
        table.row(row);
    }
    table.note("by program: a shell is one tool for each program that runs in it (`bash:pytest`).");
    table
}

fn groups(grouped: &GroupedReplication) -> Table {
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

/// Adds pass^k, with a chart for each model with several trials.
fn pass_k_parts(document: &mut Document, groups: &[PassK]) {
    document.section("pass^k").table(pass_k_table(groups));
    for groups in groups.chunk_by(|one, next| one.name() == next.name()) {
        if groups.iter().any(|group| group.pass.len() > 1) {
            document.chart(pass_k_chart(groups));
        }
    }
}

fn n(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.0.as_ref().ok(), |c| Cell::Count(c.n as u64))
}

fn signed(coefficient: &Coefficient) -> Cell {
    Cell::of(coefficient.r(), |r| Cell::Signed(r, 3))
}

fn fisher(coefficient: &Coefficient) -> Option<Interval> {
    coefficient.0.as_ref().ok().and_then(|correlation| correlation.ci95)
}

fn ci(interval: Option<Interval>) -> Cell {
    Cell::of(interval, |interval| Cell::SignedInterval(interval, 3))
}

fn p(association: &Association) -> Cell {
    Cell::of(association.permutation, |test| Cell::P(test.p))
}

fn q(association: &Association) -> Cell {
    Cell::of(association.q, Cell::P)
}
