//! The note's tables as the note has them, at their full width.

use super::cell::{counted, figure, name};
use super::wide::Wide;
use crate::replication::{Coefficient, Group, PairGroup, PassK, Replication, SignCount};
use crate::stats::{Correlation, float};

/// How many pairs the table of the strongest signals shows.
const STRONGEST: usize = 10;

/// The tables of a replication as the note has them: wide, every run counted, the strongest signals by |r|.
#[must_use]
pub fn render_replication(replication: &Replication) -> String {
    let overall = &replication.overall;
    let mut text = format!(
        "Overall\n  {}, {} with a reward (mean {}), {} with tool errors ({}; mean reward {})\n  {}, {}, \
         {} recovered\n\n",
        counted(overall.sims, "run"),
        overall.sims_with_reward,
        figure(overall.mean_reward, 4),
        overall.sims_with_errors,
        percent(overall.sims_with_errors, overall.sims),
        figure(overall.mean_reward_with_errors, 4),
        counted(overall.tool_calls, "tool call"),
        counted(overall.errors, "error"),
        overall.recovered,
    );
    let mut table = Wide::new(1, ["correlation with reward", "r", "95% interval", "p", "n"]);
    for (label, coefficient) in [
        ("recovery rate, all runs", &overall.r_recovery_reward),
        ("recovery rate, runs with errors", &overall.r_recovery_reward_errors_only),
        ("error count", &overall.r_error_count_reward),
        ("call count", &overall.r_tool_calls_reward),
    ] {
        match &coefficient.0 {
            Ok(c) => table.row([label.to_owned(), signed(c.r), interval(c), p_value(c.p), c.n.to_string()]),
            Err(why) => table.row([format!("{label}: {why}"), dash(), dash(), dash(), dash()]),
        }
    }
    text += &table.render();
    text += "\nBy model\n";
    let mut table = Wide::new(1, GROUP_COLUMNS);
    for model in &replication.by_model {
        table.row(group_row(name(model.model.as_deref()), &model.group));
    }
    text += &table.render();
    text += "\nBy model and domain\n";
    let mut table = Wide::new(1, GROUP_COLUMNS);
    for pair in &replication.by_model_domain {
        table.row(group_row(pair_name(pair), &pair.group));
    }
    text += &table.render();
    text += &strongest(&replication.by_model_domain);
    let direction = &replication.direction;
    let of = |sign: SignCount| format!("{} of {}", sign.count, sign.defined);
    text += &format!(
        "\nDirection, over {} pairs of model and domain\n  recovery positive in {} (runs with errors: {}), \
         error count negative in {}, of those where r is defined\n",
        direction.pairs,
        of(direction.recovery_positive),
        of(direction.recovery_errors_only_positive),
        of(direction.error_count_negative),
    );
    text
}

const GROUP_COLUMNS: [&str; 8] = [
    "",
    "n",
    "with errors",
    "mean reward",
    "r(rec, rew)",
    "r(rec, rew) errors only",
    "r(err#, rew)",
    "r(calls, rew)",
];

fn group_row(label: String, group: &Group) -> [String; 8] {
    let r = |coefficient: &Coefficient| coefficient.r().map_or_else(dash, signed);
    [
        label,
        group.sims.to_string(),
        group.sims_with_errors.to_string(),
        figure(group.mean_reward, 4),
        r(&group.r_recovery_reward),
        r(&group.r_recovery_reward_errors_only),
        r(&group.r_error_count_reward),
        r(&group.r_tool_calls_reward),
    ]
}

/// The pairs whose recovery correlates most with reward.
fn strongest(pairs: &[PairGroup]) -> String {
    let mut signals: Vec<(&PairGroup, &str, &Correlation)> = Vec::new();
    for pair in pairs {
        for (scope, coefficient) in [
            ("all", &pair.group.r_recovery_reward),
            ("errors only", &pair.group.r_recovery_reward_errors_only),
        ] {
            if let Ok(correlation) = &coefficient.0 {
                signals.push((pair, scope, correlation));
            }
        }
    }
    signals.sort_by(|a, b| b.2.r.abs().total_cmp(&a.2.r.abs()));
    if signals.is_empty() {
        return String::new();
    }
    let mut table = Wide::new(2, ["", "runs", "r(rec, rew)", "95% interval", "p", "n"]);
    for (pair, scope, correlation) in signals.into_iter().take(STRONGEST) {
        table.row([
            pair_name(pair),
            scope.to_owned(),
            signed(correlation.r),
            interval(correlation),
            p_value(correlation.p),
            correlation.n.to_string(),
        ]);
    }
    format!("\nStrongest signals of recovery, by model and domain\n{}", table.render())
}

/// pass^k by model and domain, as text as wide as it is.
#[must_use]
pub fn render_pass_k(groups: &[PassK]) -> String {
    let mut text = String::from("\npass^k, by model and domain\n");
    let mut table = Wide::new(1, ["", "tasks", "runs", "pass^1, pass^2, …", "left out"]);
    for group in groups {
        let pass: Vec<String> = group.pass.iter().map(|pass| format!("{pass:.4}")).collect();
        let left_out =
            format!("{} infrastructure, {} no task", group.infrastructure_errors, group.without_task);
        table.row([
            format!("{}/{}", name(group.model.as_deref()), name(group.domain.as_deref())),
            group.tasks.to_string(),
            group.runs.to_string(),
            if pass.is_empty() { dash() } else { pass.join(" ") },
            left_out,
        ]);
    }
    text += &table.render();
    text
}

fn pair_name(pair: &PairGroup) -> String {
    format!("{}/{}", name(pair.model.as_deref()), name(pair.domain.as_deref()))
}

fn dash() -> String {
    figure(None, 0)
}

fn signed(r: f64) -> String {
    format!("{r:+.4}")
}

fn interval(correlation: &Correlation) -> String {
    correlation.ci95.map_or_else(dash, |ci| format!("[{:+.4}, {:+.4}]", ci.low, ci.high))
}

fn p_value(p: f64) -> String {
    if p < 1e-4 { format!("{p:.1e}") } else { format!("{p:.4}") }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { dash() } else { format!("{:.1}%", 100.0 * float(part) / float(whole)) }
}
