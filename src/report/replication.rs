//! The replication with what can be inferred from it: text, and tables to take along.

use super::cell::{Cell, counted, figure};
use super::table::{Kind, TEXT_WIDTH, Table};
use super::wrap::wrapped;
use crate::replication::{
    Association, ClusterBy, ClusteredInterval, Coefficient, Group, Inference, Relation, Replication, Signal,
};
use crate::stats::{Correlation, Interval};

/// How many signals the text shows.
const STRONGEST: usize = 10;

/// What every table with a column of all runs says.
pub(super) const ALL_RUNS: &str = "All runs: those without errors enter with a recovery rate of 1.";

/// The figures of all runs, as a paragraph.
pub(super) fn overall(tables: &Replication) -> String {
    let overall = &tables.overall;
    let mut text = format!(
        "Overall\n  {}, {} with a reward (mean {})\n  {} with tool errors ({}; mean reward {})\n  {}, {}, \
         {} recovered\n",
        counted(overall.sims, "run"),
        overall.sims_with_reward,
        figure(overall.mean_reward, 4),
        overall.sims_with_errors,
        Cell::of(share(overall.sims_with_errors, overall.sims), Cell::Share).shown(),
        figure(overall.mean_reward_with_errors, 4),
        counted(overall.tool_calls, "tool call"),
        counted(overall.errors, "error"),
        overall.recovered,
    );
    if let Some(sentence) = without_calls(tables) {
        paragraph(&mut text, &sentence);
    }
    text
}

/// Says how many runs have no action that counts, and whose they are.
pub(super) fn without_calls(tables: &Replication) -> Option<String> {
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
    let enters = if all == 1 { "enters" } else { "enter" };
    let runs = counted(all, "run");
    let whose = whose.join(", ");
    (all > 0).then(|| {
        format!("{runs} without an action that counts ({whose}) {enters} with recovery 1 and no error")
    })
}

/// The replication as text that fits 80 columns, the result first.
#[must_use]
pub fn render_inference(inference: &Inference) -> String {
    let mut text = overall(&inference.tables);
    if let Some(first) = inference.duplicates.first() {
        let named = |id: &Option<String>, file: &str| {
            let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
            format!("{} of {file}", id.as_deref().unwrap_or("a run"))
        };
        paragraph(
            &mut text,
            &format!(
                "Left out, as they repeat the messages of another run: {}; the first is {}, like {}",
                inference.duplicates.len(),
                named(&first.id, &first.file),
                named(&first.of_id, &first.of_file),
            ),
        );
    }
    text.push('\n');
    for contrast in &inference.contrasts {
        paragraph(&mut text, &format!("{contrast}."));
    }
    for change in inference.changes.iter().filter(|change| change.scope == "all runs") {
        text.push('\n');
        paragraph(&mut text, &change.to_string());
    }
    let elsewhere = inference.changes.iter().filter(|change| change.scope != "all runs").count() as u64;
    if elsewhere > 0 {
        text.push('\n');
        paragraph(
            &mut text,
            &format!(
                "Clustering changes the verdict on {} of single models or pairs; a table below has them",
                counted(elsewhere, "more correlation"),
            ),
        );
    }
    for mut table in replication_tables(inference) {
        if table.name() == "verdicts" && elsewhere == 0 {
            continue;
        }
        if table.name() == "signals" {
            table.keep_first(STRONGEST);
        }
        if !table.is_empty() {
            text += &format!("\n{}", table.text(TEXT_WIDTH));
        }
    }
    text + &direction(&inference.tables)
}

pub(super) fn paragraph(text: &mut String, sentence: &str) {
    for line in wrapped(sentence, TEXT_WIDTH - 2) {
        *text += &format!("  {line}\n");
    }
}

pub(super) fn direction(tables: &Replication) -> String {
    let direction = &tables.direction;
    format!(
        "\nDirection, over {} pairs of model and domain\n  recovery positive in {} of {} (with errors: {} of {})\n  \
         error count negative in {} of {}, of those where r is defined\n",
        direction.pairs,
        direction.recovery_positive.count,
        direction.recovery_positive.defined,
        direction.recovery_errors_only_positive.count,
        direction.recovery_errors_only_positive.defined,
        direction.error_count_negative.count,
        direction.error_count_negative.defined,
    )
}

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
        if let Some(sentence) = one.turned(inference.cluster) {
            table.note(sentence);
        }
    }
    table.note(ALL_RUNS);
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
        let plain = one.clustered.first().map(|clustered| clustered.bootstrap);
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
        let counts: Vec<String> = one.clustered.iter().map(how_many).collect();
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
        let mut row = vec![Cell::text(model.model.clone().unwrap_or_default())];
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
            Cell::text(pair.model.clone().unwrap_or_default()),
            Cell::text(pair.domain.clone().unwrap_or_default()),
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
         Laird; interval of Hartung and Knapp). Q, I², τ²: how much pairs differ.",
    );
    table
}

fn signals(inference: &Inference) -> Table {
    let mut table = Table::new(
        "signals",
        "Strongest signals of recovery, by model and domain",
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
        "Pairs with at least {} runs with errors, by where the interval over clusters begins.",
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
        ],
    );
    for change in &inference.changes {
        table.row([
            Cell::text(&change.scope),
            Cell::text(change.relation.to_string()),
            Cell::Signed(change.r.r, 4),
            ci(change.r.ci95),
            ci(change.clustered.first().and_then(ClusteredInterval::interval)),
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

#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
