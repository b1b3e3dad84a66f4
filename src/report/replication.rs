//! Renders a replication as a document.

use super::cell::{Cell, counted};
use super::document::{Detail, Document};
use super::regression::regression_table;
use super::replication_charts::{forest, forest_chart, pass_k_chart, success_by_recovery, summed_row};
use super::replication_tables::{
    FIGURES, FIGURES_NOTE, by_model, by_pair, clustering, contrasts, direction, duplicates, groups,
    intervals, is_pair, measures, models, pair_cells, pooled, rules, signals, tests,
};
use super::runs::pass_k_table;
use crate::replicate::{
    Better, ClusterBy, ClusteredInterval, GroupedReplication, PassK, Relation, Replication,
    ReplicationAnalysis, RewardRegression, SummedReplication, pass_k_by_pair,
};

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
    let overall = analysis.associations.overall.iter();
    let overall = overall.map(|one| (one.relation, &one.pearson, one.clustered.first()));
    document.table(contrasts(analysis)).table(measures(analysis.cluster, overall)).table(models(analysis));
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
    document.table(measures(summed.cluster, rows));
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
        Cell::ratio(overall.sims_with_errors, overall.sims).shown(),
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
    let said = |answer, by: String| match answer {
        Better::First => format!("YES {by}"),
        Better::Second => format!("NO {by}: the error count does"),
        Better::Neither => format!("not settled {by}"),
        Better::Unknown => format!("no interval {by}"),
    };
    let answers = answers.into_iter().map(|(answer, units)| {
        let settled = matches!(answer, Better::First | Better::Second);
        said(answer, units.join(if settled { " and " } else { " or " }))
    });
    let interval = analysis_interval(contrast.clustered.first());
    let [r, against] = [&contrast.r, &contrast.r_against].map(|r| r.r().unwrap_or(f64::NAN));
    let within = contrast.within.as_ref().and_then(|within| Some((within.difference?, &within.clustered)));
    let within = within.map_or_else(String::new, |(difference, one)| {
        let interval = one.interval().map_or_else(String::new, |interval| {
            format!(", 95% CI {}", Cell::SignedInterval(interval, 3).shown())
        });
        let answer = said(Better::of(one), format!("by {}", unit(one.by)));
        format!(" Within model and domain the difference is {difference:+.3}{interval}: {answer}.")
    });
    format!(
        "{question} {}. r with reward is {r:+.3} for the recovery rate and {against:+.3} for the error count, whose sign \
         should be negative; the difference in strength is {difference:+.3}{interval}.{within}",
        answers.collect::<Vec<_>>().join("; "),
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
    let first = analysis.contrasts.first();
    let difference = first.and_then(|one| Some((one.difference?, one.within.as_ref()?.difference?)));
    if let Some((pooled, within)) = difference
        && pooled * within < 0.0
    {
        let sign = format!("{pooled:+.3} pooled, {within:+.3} within model and domain");
        warnings.push(format!(
            "the difference changes its sign: {sign}. The pooled one comes from differences between models or domains."
        ));
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
        let (has, runs) = (if analysis.alone == 1 { "has" } else { "have" }, counted(analysis.alone, "run"));
        let unit = unit(analysis.cluster);
        warnings.push(format!("{runs} {has} no {unit}; each counts as a cluster of its own."));
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
            "whether the 95% CI excludes 0 depends on the clustering for {} (--full).",
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

/// Adds pass^k, with a chart for each model with several trials.
fn pass_k_parts(document: &mut Document, groups: &[PassK]) {
    document.section("pass^k").table(pass_k_table(groups));
    for groups in groups.chunk_by(|one, next| one.name() == next.name()) {
        if groups.iter().any(|group| group.pass.len() > 1) {
            document.chart(pass_k_chart(groups));
        }
    }
}
