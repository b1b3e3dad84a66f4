//! Renders a replication as a document.

use super::cell::counted;
use super::document::{Detail, Document};
use super::regression::regression_table;
use super::replication_answer::{answer, figures_of_answer, overview, warnings, without_calls_warning};
use super::replication_charts::{forest, forest_chart, pass_k_chart, success_by_recovery, summed_row};
use super::replication_tables::{
    FIGURES, FIGURES_NOTE, by_model, by_pair, clustering, contrasts, direction, duplicates, groups,
    intervals, is_pair, measures, models, pair_cells, pooled, rules, signals, tests,
};
use super::runs::pass_k_table;
use crate::replicate::{
    GroupedReplication, PassK, Relation, ReplicationAnalysis, RewardRegression, SummedReplication,
    pass_k_by_pair,
};

const TITLE: &str = "Recovery from tool errors and reward";

/// The optional parts of the short report of a replication.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplicationView<'r> {
    /// Whether to include the table of pass^k.
    pub pass_k: bool,
    /// Whether to list the copies of runs, which do not count.
    pub duplicates: bool,
    /// Tables by groups.
    pub grouped: Option<&'r GroupedReplication>,
    /// The regressions of the reward.
    pub regression: Option<&'r RewardRegression>,
}

/// Returns a replication as a document: the answer, the correlations that support it, models and warnings.
/// The full text adds every interval, test and pair.
#[must_use]
pub fn replication_document(analysis: &ReplicationAnalysis, view: &ReplicationView<'_>) -> Document {
    let mut document = Document::new(TITLE);
    document.lead(overview(&analysis.tables));
    document.lead(answer(analysis));
    if let Some(figures) = figures_of_answer(analysis) {
        document.lead(figures);
    }
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

/// Returns a replication from sums as a document. With `pass_k`, the short text includes pass^k.
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
        "there are more runs than are kept individually. All of them count, with {about}{} different contents; which of \
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

/// Adds pass^k, with a chart for each model with several trials.
fn pass_k_parts(document: &mut Document, groups: &[PassK]) {
    document.section("pass^k").table(pass_k_table(groups));
    for groups in groups.chunk_by(|one, next| one.name() == next.name()) {
        if groups.iter().any(|group| group.pass.len() > 1) {
            document.chart(pass_k_chart(groups));
        }
    }
}
