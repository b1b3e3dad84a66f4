//! The tables of `BenchTrace`'s evaluations.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::cell::figure;
use super::wide::Wide;
use crate::evaluation::{
    Agreement, AgreementScore, CallReport, Evolution, EvolutionGroup, EvolutionIntervals, Exclusion, Figure,
    FigureIntervals, GroupComparison, ModeReport, ModeVerdict, Reflection, ReflectionGroup, Relation,
};
use crate::stats::Interval;

/// A table is at most this wide.
const WIDTH: usize = 80;

/// A reflection as tables: the figures by task, with the intervals of all, and the funnels.
#[must_use]
pub fn render_reflection(reflection: &Reflection, intervals: &FigureIntervals) -> String {
    let header = ["task", "n", "detect", "simil", "recall", "mode", "token F1", "judge"];
    let mut table = Wide::new(1, header);
    let cell = |value| figure(value, 4);
    let mut row = |name: &str, episodes: String, figures: [Option<f64>; 6]| {
        let [detection, similarity, recall, mode, token_f1, judge] = figures.map(cell);
        table.row([short(name, 22), episodes, detection, similarity, recall, mode, token_f1, judge]);
    };
    let of = |group: &ReflectionGroup| Figure::ALL.map(|figure| group.figure(figure));
    for (task, group) in &reflection.tasks {
        row(task, group.episodes.to_string(), of(group));
    }
    row("all", reflection.all.episodes.to_string(), of(&reflection.all));
    for (end, side) in [("from", 0), ("to", 1)] {
        let end_of = |figure: &Figure| {
            intervals.get(figure).copied().flatten().map(|interval| {
                let ends: [f64; 2] = interval.into();
                if side == 0 { ends[0] } else { ends[1] }
            })
        };
        row(&format!("  95% {end}"), String::new(), Figure::ALL.map(|figure| end_of(&figure)));
    }
    for (name, averages) in
        [("weighted by episodes", &reflection.episode_weighted), ("mean of tasks", &reflection.macro_average)]
    {
        let figures = [
            averages.detection_accuracy,
            averages.similarity,
            averages.recall,
            averages.mode_accuracy,
            averages.token_f1,
            averages.judge,
        ];
        row(name, String::new(), figures);
    }
    let mut text = table.render();
    let mut table = Wide::new(1, ["ends at", "detection", "localization", "diagnosis", "pass", "pass rate"]);
    for (name, counts) in &reflection.all.funnel {
        table.row([
            short(name, 22),
            counts.detection.to_string(),
            counts.localization.to_string(),
            counts.diagnosis.to_string(),
            counts.pass.to_string(),
            figure(counts.pass_rate, 4),
        ]);
    }
    text += &format!("\n{}", table.render());
    let all = &reflection.all;
    let notes = [
        format!("{} of {} detections unanswered", all.unanswered_detection, all.episodes),
        format!("{} of {} diagnoses unanswered", all.unanswered_items, all.items),
        format!("{} of {} failures judged", all.judged_items, all.items),
        format!("no ranges in {} of {} episodes", all.episodes_without_ranges, all.localized_episodes),
        format!("episodes without a prediction: {}", all.without_prediction),
        format!("predictions for unknown episodes: {}", reflection.unknown_predictions.len()),
    ];
    text + "\n" + &wrapped("  ", &notes)
}

/// An evolution as tables: by class, mode, proximity, distance, framework; exclusions by reason.
#[must_use]
pub fn render_evolution(evolution: &Evolution, intervals: &EvolutionIntervals) -> String {
    let mut table = Wide::new(2, ["by", "group", "cases", "incl.", "FAR", "FRC", "score"]);
    let mut row = |by: &str, name: &str, group: &EvolutionGroup| {
        table.row([
            by.to_owned(),
            short(name, 29),
            group.cases.to_string(),
            group.included.to_string(),
            figure(group.far, 4),
            figure(group.frc, 4),
            figure(group.score, 4),
        ]);
    };
    row("", "all", &evolution.all);
    for (by, groups) in [
        ("class", &evolution.by_class),
        ("mode", &evolution.by_mode),
        ("task", &evolution.by_task),
        ("subtask", &evolution.by_subtask),
    ] {
        for (name, group) in groups {
            row(by, name, group);
        }
    }
    evolution
        .by_proximity
        .iter()
        .for_each(|(proximity, group)| row("proximity", &proximity.to_string(), group));
    evolution.by_distance.iter().for_each(|(distance, group)| row("distance", &distance.to_string(), group));
    evolution.by_framework.iter().for_each(|(name, framework)| row("framework", name, &framework.all));
    let mut text = table.render();
    text += &format!(
        "\n  95% intervals: FAR {} (Wilson)\n  by bootstrap over signals: FAR {}, FRC {}\n",
        interval(intervals.far_wilson),
        interval(intervals.far),
        interval(intervals.frc),
    );
    for (name, framework) in &evolution.by_framework {
        let mean = figure(framework.cell_mean, 4);
        let near = figure(framework.cell_mean_d1_d5, 4);
        text += &format!("  {}: mean over cells {mean}, of distance 1 and 5 {near}\n", short(name, 22));
    }
    text + &exclusions(&evolution.all.excluded)
}

fn exclusions(excluded: &BTreeMap<Exclusion, u64>) -> String {
    let reasons: Vec<String> = excluded.iter().map(|(why, count)| format!("{why} {count}")).collect();
    if reasons.is_empty() { String::new() } else { wrapped("  excluded: ", &reasons) }
}

/// An agreement as a table.
#[must_use]
pub fn render_agreement(agreement: &Agreement) -> String {
    let mut table = Wide::new(1, ["failures", "of a", "of b", "matched", "F1", "kappa of modes"]);
    for (name, score) in [("core", &agreement.core), ("all", &agreement.all)] {
        let AgreementScore { matched, a, b, f1, mode_kappa } = score;
        let [a, b, matched] = [a, b, matched].map(ToString::to_string);
        table.row([name.to_owned(), a, b, matched, figure(*f1, 4), figure(*mode_kappa, 4)]);
    }
    format!(
        "{}\n  {} episodes; tiers agree (Jaccard) {}; core sets (Jaccard) {}\n",
        table.render(),
        agreement.episodes.len(),
        figure(agreement.tier_jaccard, 4),
        figure(agreement.core_set_jaccard, 4),
    )
}

/// The comparison of avoidance after right and wrong reflection as a table.
#[must_use]
pub fn render_relations(relations: &BTreeMap<String, Relation>) -> String {
    let mut table = Wide::new(2, ["class", "level", "n right", "FAR", "n wrong", "FAR", "p", "phi"]);
    for (class, relation) in relations {
        let levels = &relation.cumulative;
        for (level, group) in [
            ("detection", &levels.detection),
            ("localization", &levels.localization),
            ("diagnosis", &levels.diagnosis),
        ] {
            let GroupComparison { n_correct, n_wrong, far_correct, far_wrong, p, stars, phi, .. } = group;
            let stars = stars.unwrap_or_default();
            table.row([
                short(class, 12),
                level.to_owned(),
                n_correct.to_string(),
                figure(*far_correct, 4),
                n_wrong.to_string(),
                figure(*far_wrong, 4),
                format!("{}{stars}", p_value(*p)),
                figure(*phi, 4),
            ]);
        }
    }
    table.render()
}

/// How many episodes each failure mode judges and finds, as a table.
#[must_use]
pub fn render_modes(reports: &[ModeReport]) -> String {
    let modes = [
        ("system/format", reports.iter().map(|report| Some(&report.format)).collect::<Vec<_>>()),
        (
            "strategy/unexplored_direction",
            reports.iter().map(|report| report.unexplored_direction.as_ref()).collect(),
        ),
        (
            "operation/perception_error",
            reports.iter().map(|report| report.perception_error.as_ref()).collect(),
        ),
        ("operation/decision_error", reports.iter().map(|report| report.decision_error.as_ref()).collect()),
    ];
    verdicts("mode", modes)
}

/// How many runs each rule on calls judges and finds, as a table.
#[must_use]
pub fn render_calls(reports: &[CallReport]) -> String {
    let malformed = reports.iter().map(|report| Some(&report.malformed_call)).collect();
    let expected = reports.iter().map(|report| Some(&report.expected_action)).collect();
    verdicts("rule", [("malformed_call", malformed), ("expected_action", expected)])
}

fn verdicts<const N: usize>(what: &str, rules: [(&str, Vec<Option<&ModeVerdict>>); N]) -> String {
    let mut table = Wide::new(1, [what, "judged", "detected", "findings"]);
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for (name, verdicts) in rules {
        let (mut judged, mut detected, mut findings) = (0, 0, 0);
        for verdict in verdicts.into_iter().flatten() {
            match verdict {
                ModeVerdict::Judged { detected: fired, findings: found } => {
                    judged += 1;
                    detected += usize::from(*fired);
                    findings += found.len();
                }
                ModeVerdict::NotApplicable { reason } => {
                    *reasons.entry(format!("{name}: {reason}")).or_default() += 1;
                }
            }
        }
        table.row([name.to_owned(), judged.to_string(), detected.to_string(), findings.to_string()]);
    }
    let mut text = table.render();
    if !reasons.is_empty() {
        text += "\n  not applicable\n";
    }
    for (reason, count) in reasons {
        text += &format!("    {reason}: {count}\n");
    }
    text
}

/// A name in a column of this width.
pub(super) fn short(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A probability; very small ones by their bound.
pub(super) fn p_value(p: Option<f64>) -> String {
    if p.is_some_and(|p| p < 0.0001) { "<0.0001".to_owned() } else { figure(p, 4) }
}

pub(super) fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(|| figure(None, 0), |i| format!("[{:.4}, {:.4}]", i.low, i.high))
}

/// Items with commas between, on lines that fit.
pub(super) fn wrapped(head: &str, items: &[impl Display]) -> String {
    let mut text = String::new();
    let mut line = head.to_owned();
    let mut fresh = true;
    for (place, item) in items.iter().enumerate() {
        let comma = if place + 1 < items.len() { "," } else { "" };
        let item = format!("{item}{comma}");
        if !fresh && line.chars().count() + item.chars().count() + 1 > WIDTH {
            text += &format!("{}\n", line.trim_end());
            line = " ".repeat(head.chars().count());
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line += &item;
        fresh = false;
    }
    text + &line + "\n"
}
