//! The sentences of a replication: its runs, its answer and its warnings.

use std::collections::BTreeMap;

use super::cell::{Cell, ci, counted};
use crate::replicate::{
    Better, ClusterBy, ClusteredInterval, Contrast, Relation, Replication, ReplicationAnalysis,
    SimulationRow, WithinContrast,
};

pub(super) fn overview(tables: &Replication) -> String {
    let overall = &tables.overall;
    let mean = |mean: Option<f64>| {
        mean.map_or_else(|| "no reward".to_owned(), |mean| format!("mean reward {mean:.3}"))
    };
    let (models, pairs) = (tables.by_model.len(), tables.by_model_domain.len());
    let others = overall.mean_reward_without_errors.map_or_else(String::new, |mean| {
        format!(", against {mean:.3} of the others, whose recovery rate is 1 by definition")
    });
    format!(
        "{} ({}, {}), {} with a reward: {}. {} ({}) with failed tool calls: {}{others}. {} of {} \
         recovered.",
        counted(overall.sims, "run"),
        counted(models as u64, "model"),
        if models == pairs {
            "each in one domain".to_owned()
        } else {
            format!("{pairs} pairs of model and domain")
        },
        overall.sims_with_reward,
        mean(overall.mean_reward),
        counted(overall.sims_with_errors, "run"),
        Cell::ratio(overall.sims_with_errors, overall.sims).shown(),
        mean(overall.mean_reward_with_errors),
        overall.recovered,
        counted(overall.errors, "failed call"),
    )
}

/// Returns the question of the replication and its answer, over all runs and over those with errors.
pub(super) fn answer(analysis: &ReplicationAnalysis) -> String {
    let question = "Does recovery predict reward better than the error count?";
    let Some(contrast) = against_errors(analysis, Relation::Recovery) else { return question.to_owned() };
    if contrast.difference.is_none() {
        return format!("{question} Not known: recovery rate, error count or reward do not vary.");
    }
    let mut text = format!("{question} {}.", verdict(contrast));
    let failing = against_errors(analysis, Relation::RecoveryWithErrors);
    if let Some(failing) = failing.filter(|one| one.difference.is_some()) {
        text += &format!(" In the {} with errors: {}.", counted(failing.runs, "run"), verdict(failing));
    }
    text
}

fn against_errors(analysis: &ReplicationAnalysis, measure: Relation) -> Option<&Contrast> {
    let wanted = (measure, Relation::ErrorCount);
    analysis.contrasts.iter().find(|one| (one.measure, one.against) == wanted)
}

/// Returns the figures that the answer rests on, over all runs. `None` without a difference.
pub(super) fn figures_of_answer(analysis: &ReplicationAnalysis) -> Option<String> {
    let contrast = against_errors(analysis, Relation::Recovery)?;
    let difference = contrast.difference?;
    let [r, against] = [&contrast.r, &contrast.r_against].map(|r| r.r().unwrap_or(f64::NAN));
    let of_within = |within: &WithinContrast| Some((within.difference?, within.r?, within.r_against?));
    let within = contrast.within.as_ref().and_then(|one| Some((of_within(one)?, &one.clustered)));
    let pooled = if within.is_some() { "All runs pooled" } else { "All runs" };
    let mut text = format!(
        "{pooled}: r with reward {r:+.3} for the recovery rate and {against:+.3} for the error count, difference in \
         strength {difference:+.3} (their sum, as errors should lower the reward){}.",
        intervals(", 95% CI ", &contrast.clustered),
    );
    if let Some(((difference, r, against), one)) = within {
        text += &format!(
            " Within model and domain: {r:+.3} and {against:+.3}, difference {difference:+.3}{}.",
            intervals(", 95% CI ", std::slice::from_ref(one)),
        );
    }
    Some(text)
}

/// Returns the answer that each interval gives, such as `YES if clustered by task; not settled if clustered by model
/// and domain, or within model and domain`.
fn verdict(contrast: &Contrast) -> String {
    let within = contrast.within.iter().map(|one| ("within model and domain".to_owned(), &one.clustered));
    let pooled = contrast.clustered.iter().map(|one| (format!("if clustered by {}", unit(one.by)), one));
    let mut answers: Vec<(Better, Vec<String>)> = Vec::new();
    for (by, one) in pooled.chain(within) {
        let answer = Better::of(one);
        match answers.iter_mut().find(|(other, _)| *other == answer) {
            Some((_, all)) => all.push(by),
            None => answers.push((answer, vec![by])),
        }
    }
    let said = answers.into_iter().map(|(answer, by)| {
        let settled = matches!(answer, Better::First | Better::Second);
        let by = by.join(if settled { ", and " } else { ", or " });
        match answer {
            Better::First => format!("YES {by}"),
            Better::Second => format!("NO {by}: the error count does"),
            Better::Neither => format!("not settled {by}"),
            Better::Unknown => format!("no interval {by}"),
        }
    });
    said.collect::<Vec<_>>().join("; ")
}

/// Returns `before` and the intervals with their clusters as the end of a sentence. Empty without an interval.
fn intervals(before: &str, clustered: &[ClusteredInterval]) -> String {
    let shown = clustered.iter().filter_map(|one| {
        let few = if one.is_doubtful() {
            format!(" ({})", counted(one.bootstrap.clusters, "cluster"))
        } else {
            String::new()
        };
        Some(format!("{} by {}{few}", Cell::SignedInterval(one.interval()?, 3).shown(), unit(one.by)))
    });
    let shown = shown.collect::<Vec<_>>().join(" and ");
    if shown.is_empty() { shown } else { format!("{before}{shown}") }
}

pub(super) fn unit(by: ClusterBy) -> &'static str {
    match by {
        ClusterBy::ModelDomain => "model and domain",
        ClusterBy::None => "run",
        named => named.name(),
    }
}

pub(super) fn warnings(analysis: &ReplicationAnalysis) -> Vec<String> {
    let mut warnings = Vec::new();
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
    warnings.extend(equal_rewards_warning(&analysis.runs));
    if let Some(change) = analysis.changes.first() {
        let differing =
            change.differing().map_or_else(String::new, |one| intervals(", ", std::slice::from_ref(one)));
        let which = match analysis.changes.as_slice() {
            [_] => format!("the correlation of {}, {}", change.relation.label(), change.scope),
            all => format!(
                "{} correlations (--full), such as {}, {}",
                all.len(),
                change.relation.label(),
                change.scope
            ),
        };
        warnings.push(format!(
            "whether 0 is in the 95% CI depends on the clustering for {which}: {} for independent runs{differing}.",
            ci(change.r.ci95).shown()
        ));
    }
    warnings
}

/// Returns the number of runs without a tool call, overall and by model. `None` if every run has one.
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

/// Returns the warning that runs without a call count as recovered.
pub(super) fn without_calls_warning(tables: &Replication) -> Option<String> {
    let (runs, whose) = without_calls(tables)?;
    Some(format!("{runs} without a tool call ({whose}): counted with recovery rate 1 and no failed call."))
}

/// Returns a warning about models whose rewards are all equal: their runs contribute only to differences between
/// models.
fn equal_rewards_warning(runs: &[SimulationRow]) -> Option<String> {
    let mut models: BTreeMap<&str, (u64, f64, f64)> = BTreeMap::new();
    for run in runs {
        if let (Some(model), Some(reward)) = (run.model.as_deref(), run.reward) {
            let (runs, low, high) = models.entry(model).or_insert((0, reward, reward));
            (*runs, *low, *high) = (*runs + 1, low.min(reward), high.max(reward));
        }
    }
    let equal = models.iter().filter(|(_, (runs, low, high))| *runs > 1 && low >= high);
    let equal: Vec<String> = equal
        .map(|(model, (runs, low, _))| format!("{model}: {} with {low}", counted(*runs, "run")))
        .collect();
    (!equal.is_empty() && models.len() > 1).then(|| {
        format!("models with equal rewards in all runs count only between models: {}.", equal.join(", "))
    })
}
