//! Tables and charts of BenchTrace's reflection, proximity, agreement, relations and rules.

use std::collections::BTreeMap;

use super::cell::{self, Cell, interval, real};
use super::chart::{Chart, IntervalChart, IntervalRow, Line, LineChart, Plot};
use super::document::Document;
use super::table::Table;
use crate::benchmarks::{
    Agreement, CallReport, DatasetGroup, Figure, FigureIntervals, FunnelCounts, ModeReport, ModeVerdict,
    Proximity, Reflection, ReflectionGroup, Relation,
};
use crate::stats::ratio;

pub(super) fn count(count: usize) -> Cell {
    Cell::Count(count as u64)
}

/// Returns the scores of a reflection as a document: figures by task, overall intervals, funnels by task, and
/// statistics of the annotated episodes.
#[must_use]
pub fn reflection_document(
    reflection: &Reflection,
    intervals: &FigureIntervals,
    dataset: &BTreeMap<String, DatasetGroup>,
) -> Document {
    let charts = [reflection_chart(reflection, intervals), funnel_chart(reflection)];
    let tables = [by_task(reflection), figures_of_all(reflection, intervals), funnels(reflection)];
    Document::of("Reflection on failures", charts, tables.into_iter().chain(dataset_tables(dataset)))
}

/// Returns the annotated episodes by task, and their failures by mode.
fn dataset_tables(dataset: &BTreeMap<String, DatasetGroup>) -> [Table; 2] {
    fn mean(sum: u64, of: u64, decimals: usize) -> Cell {
        Cell::real(ratio(sum, of), decimals)
    }
    let tasks = Table::of("dataset", "Annotated episodes", dataset)
        .column("task", |(task, _)| Cell::text(*task))
        .column("episodes #", |(_, group)| Cell::Count(group.episodes))
        .column("with_failures=failing #", |(_, group)| Cell::Count(group.with_failures))
        .column("share #", |(_, group)| Cell::ratio(group.with_failures, group.episodes))
        .column("failures #", |(_, group)| Cell::Count(group.failures()))
        .column("per_episode=per episode #", |(_, group)| mean(group.failures(), group.episodes, 2))
        .column("modes #", |(_, group)| count(group.modes.len()))
        .column("steps_per_failure=steps #", |(_, group)| mean(group.failing_steps, group.failures(), 1))
        .table();
    let modes = dataset
        .iter()
        .flat_map(|(task, group)| group.modes.iter().map(move |(mode, times)| (task, group, mode, *times)));
    let modes = Table::of("modes", "Annotated failures by mode", modes)
        .column("task", |(task, ..)| Cell::text(*task))
        .column("mode", |(_, _, mode, _)| Cell::text(*mode))
        .column("failures #", |(.., times)| Cell::Count(*times))
        .column("share #", |(_, group, _, times)| Cell::ratio(*times, group.failures()))
        .table();
    let note = "failing: episodes with a failure. steps: mean number of steps of a failure.";
    [tasks.noted(note), modes.grouped()]
}

/// Returns the group of each task, then that of all episodes.
fn groups_of(reflection: &Reflection) -> impl Iterator<Item = (&str, &ReflectionGroup)> {
    let tasks = reflection.tasks.iter().map(|(task, group)| (task.as_str(), group));
    tasks.chain([("all", &reflection.all)])
}

fn by_task(reflection: &Reflection) -> Table {
    let groups = groups_of(reflection).map(|(name, group)| {
        let figure = |figure: Figure| group.figure(figure);
        (name, Cell::Count(group.episodes), Figure::VARIANTS.iter().copied().map(figure).collect())
    });
    let means = [
        ("weighted by episodes", &reflection.episode_weighted),
        ("mean of tasks", &reflection.macro_average),
    ];
    let means = means.map(|(name, averages)| (name, Cell::Missing, averages.values().copied().collect()));
    let rows: Vec<(&str, Cell, Vec<Option<f64>>)> = groups.chain(means).collect();
    let figures = "detection_accuracy=detect # | similarity=simil # | recall # | mode_accuracy=mode # | token_f1=token F1 # | judge #";
    let mut table = Table::of("reflection", "Reflection by task", rows)
        .column("task", |(name, ..)| Cell::text(*name))
        .column("episodes=n #", |(_, episodes, _)| episodes.clone())
        .columns(figures, |(.., figures)| {
            std::array::from_fn::<_, 6, _>(|place| real(figures.get(place).copied().flatten()))
        })
        .table();
    let all = &reflection.all;
    table.note(format!(
        "{} of {} detections and {} of {} diagnoses are unanswered, {} of {} failures are judged, and {} of {} \
         episodes with failures have no ranges.",
        all.unanswered_detection,
        all.episodes,
        all.unanswered_items,
        all.items,
        all.judged_items,
        all.items,
        all.episodes_without_ranges,
        all.localized_episodes,
    ));
    table.note(format!(
        "Episodes without a prediction: {}. Predictions for unknown episodes: {}.",
        all.without_prediction,
        reflection.unknown_predictions.len(),
    ));
    table
}

fn figures_of_all(reflection: &Reflection, intervals: &FigureIntervals) -> Table {
    let figures = Figure::VARIANTS.iter().map(|figure| {
        let found = intervals.get(figure).copied().flatten();
        (figure.name(), reflection.all.figure(*figure), found)
    });
    Table::of("figures", "All tasks, with intervals by bootstrap of episodes", figures)
        .column("figure", |(name, ..)| Cell::text(*name))
        .column("value #", |(_, value, _)| real(*value))
        .column("ci95=95% interval ~", |(.., found)| interval(*found))
        .table()
}

fn funnels(reflection: &Reflection) -> Table {
    let funnels = reflection.all.funnel.keys().flat_map(|funnel| {
        groups_of(reflection).filter_map(move |(task, group)| Some((funnel, task, group.funnel.get(funnel)?)))
    });
    Table::of("funnel", "Where episodes end", funnels)
        .column("funnel", |(funnel, ..)| Cell::text(*funnel))
        .column("task", |(_, task, _)| Cell::text(*task))
        .column("detection #", |(.., counts)| Cell::Count(counts.detection))
        .column("localization #", |(.., counts)| Cell::Count(counts.localization))
        .column("diagnosis #", |(.., counts)| Cell::Count(counts.diagnosis))
        .column("pass #", |(.., counts)| Cell::Count(counts.pass))
        .column("pass_rate=pass rate #", |(.., counts)| real(counts.pass_rate))
        .grouped()
}

/// Returns a chart of the share of episodes that pass each stage of the published funnel, by task.
fn funnel_chart(reflection: &Reflection) -> Chart {
    let line = |(task, group): (&str, &ReflectionGroup)| {
        let FunnelCounts { detection, localization, diagnosis, pass, .. } = group.funnel.get("figure2")?;
        let all = detection + localization + diagnosis + pass;
        let passed = [all, all - detection, diagnosis + pass, *pass];
        Some(Line { label: task.to_owned(), values: passed.map(|passed| ratio(passed, all)).into() })
    };
    let caption =
        "Share of episodes that pass each stage: best Jaccard index of at least 0.6, every failure judged 1.";
    let stages = ["all", "detected", "localized", "diagnosed"].map(str::to_owned);
    let lines = groups_of(reflection).filter_map(line);
    let lines = LineChart::new("stage", "share of episodes", stages, lines);
    Chart::new("Funnel of reflection", caption, Plot::Lines(lines))
}

/// Returns the proximity of signals to the failures under test as a document.
#[must_use]
pub fn proximity_document(found: &[Proximity]) -> Document {
    let table = Table::of("proximity", "Signals and the failures under test", found)
        .column("pair", |pair| Cell::text(&pair.id))
        .column("why=reason", |pair| Cell::Text(pair.why.map_or_else(String::new, |why| why.to_string())))
        .column("proximity #", |pair| Cell::of(pair.proximity, |proximity| Cell::Count(proximity.into())))
        .table();
    Document::of("Proximity of signals", [], [table])
}

/// Returns the agreement between two annotators as a document.
#[must_use]
pub fn agreement_document(agreement: &Agreement) -> Document {
    let table = Table::of(
        "agreement",
        "Agreement of two annotators",
        [("core", &agreement.core), ("all", &agreement.all)],
    )
    .column("failures", |(name, _)| Cell::text(*name))
    .column("a=of a #", |(_, score)| Cell::Count(score.a))
    .column("b=of b #", |(_, score)| Cell::Count(score.b))
    .column("matched #", |(_, score)| Cell::Count(score.matched))
    .column("f1=F1 #", |(_, score)| real(score.f1))
    .column("mode_kappa=kappa of modes #", |(_, score)| real(score.mode_kappa))
    .table();
    let table = table.noted(format!(
        "{} episodes; tiers agree (Jaccard) {}; core sets (Jaccard) {}.",
        agreement.episodes.len(),
        real(agreement.tier_jaccard).shown(),
        real(agreement.core_set_jaccard).shown(),
    ));
    Document::of("Agreement of two annotators", [], [table])
}

/// Returns the rates of failure avoidance after right and after wrong reflection as a document.
#[must_use]
pub fn relation_document(relations: &BTreeMap<String, Relation>) -> Document {
    let levels = relations.iter().flat_map(|(class, Relation { cumulative, .. })| {
        let levels = [
            ("detection", &cumulative.detection),
            ("localization", &cumulative.localization),
            ("diagnosis", &cumulative.diagnosis),
        ];
        levels.map(|(level, group)| (class, level, group))
    });
    let table = Table::of("relations", "Avoidance after right and wrong reflection", levels)
        .column("class", |(class, ..)| Cell::text(*class))
        .column("level", |(_, level, _)| Cell::text(*level))
        .column("n_correct=n right #", |(.., group)| Cell::Count(group.n_correct))
        .column("far_correct=FAR #", |(.., group)| real(group.far_correct))
        .column("n_wrong=n wrong #", |(.., group)| Cell::Count(group.n_wrong))
        .column("far_wrong=FAR #", |(.., group)| real(group.far_wrong))
        .column("p #", |(.., group)| Cell::of(group.p, Cell::P))
        .column("phi #", |(.., group)| real(group.phi))
        .column("stars", |(.., group)| Cell::text(group.stars.unwrap_or_default()))
        .table();
    Document::of("Reflection and avoidance", [], [table.grouped()])
}

/// Returns a document with the number of episodes that the rule of each failure mode judged, and in how many it found
/// failures.
#[must_use]
pub fn mode_document(reports: &[ModeReport]) -> Document {
    let of = |mode: for<'r> fn(&'r ModeReport) -> Option<&'r ModeVerdict>| {
        reports.iter().filter_map(mode).collect()
    };
    let modes = [
        ("system/format", of(|report| Some(&report.format))),
        ("strategy/unexplored_direction", of(|report| report.unexplored_direction.as_ref())),
        ("operation/perception_error", of(|report| report.perception_error.as_ref())),
        ("operation/decision_error", of(|report| report.decision_error.as_ref())),
    ];
    Document::of("Rule-based failures of text games", [], verdict_tables("mode", &modes))
}

/// Returns a document with the number of runs that each rule on calls judged, and in how many it found failures.
#[must_use]
pub fn call_document(reports: &[CallReport]) -> Document {
    let malformed = reports.iter().map(|report| &report.malformed_call).collect();
    let expected = reports.iter().map(|report| &report.expected_action).collect();
    let tables = verdict_tables("rule", &[("malformed_call", malformed), ("expected_action", expected)]);
    Document::of("Malformed calls and missed actions", [], tables)
}

fn verdict_tables(what: &'static str, rules: &[(&str, Vec<&ModeVerdict>)]) -> [Table; 2] {
    let mut table = Table::new("verdicts", "Failures by rule", &[what, "judged # | detected # | findings #"]);
    let mut silent = Table::new("not_applicable", "Not applicable", &[what, "reason | count #"]);
    for (name, verdicts) in rules {
        let (mut judged, mut detected, mut findings) = (0, 0, 0);
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for verdict in verdicts {
            match verdict {
                ModeVerdict::Judged { detected: fired, findings: found } => {
                    judged += 1;
                    detected += u64::from(*fired);
                    findings += found.len();
                }
                ModeVerdict::NotApplicable { reason } => *reasons.entry(reason).or_default() += 1,
            }
        }
        table.row([Cell::text(*name), Cell::Count(judged), Cell::Count(detected), count(findings)]);
        for (reason, times) in reasons {
            silent.row([Cell::text(*name), Cell::text(reason), Cell::Count(times)]);
        }
    }
    [table, silent]
}

fn reflection_chart(reflection: &Reflection, intervals: &FigureIntervals) -> Chart {
    let rows = Figure::VARIANTS.iter().map(|figure| {
        let value = reflection.all.figure(*figure);
        let interval = intervals.get(figure).copied().flatten();
        IntervalRow::new(figure.name().replace('_', " "), cell::figure(value, 2), value, interval)
    });
    let rows = IntervalChart::shares("score", "score with 95% CI from resampled episodes", rows);
    Chart::new("Reflection over all tasks", "Each figure over all tasks.", Plot::Intervals(rows))
}
