//! How near a trace comes to unrecovered tool errors, or to their recovery.

use super::explanation::{Bound, Change, Condition, Explanation, Near, SHOWN};
use super::tool_error_recovery::{ToolErrorRecovery, full_name, recovery_rate};
use crate::trace::{Digest, DigestMap, Status, Trace};

/// The errors of one tool that wait for a success.
#[derive(Debug, Default)]
struct Tool {
    name: Box<str>,
    open: Vec<u64>,
}

pub(super) fn explain(rule: &ToolErrorRecovery, trace: &Trace, explanation: &mut Explanation) {
    let threshold = rule.config.threshold;
    let mut ids: DigestMap<usize> = DigestMap::default();
    let mut tools: Vec<Tool> = Vec::new();
    let (mut errors, mut recovered) = (0_u64, 0_u64);
    for step in trace {
        let Some((action, digests)) = step.digested(rule.config.actors) else { continue };
        let command = rule.subtools.command(digests.name);
        let program = command.and_then(|command| rule.subtools.program(command, action));
        let id = program.as_ref().map_or(digests.name, |program| digests.name.and(Digest::of_text(program)));
        let next = tools.len();
        let place = *ids.entry(id).or_insert(next);
        if place == next {
            tools.push(Tool { name: full_name(action, program.as_deref()), open: Vec::new() });
        }
        let Some(tool) = tools.get_mut(place) else { continue };
        match action.status {
            Status::Unknown => {}
            Status::Error => {
                errors += 1;
                tool.open.push(step.index());
            }
            Status::Ok => {
                recovered += tool.open.len() as u64;
                tool.open.clear();
            }
        }
    }
    let rate = recovery_rate(recovered, errors);
    let conditions = vec![
        Condition::count("errors", errors, Bound::AtLeast, 1),
        Condition::measure("recovery_rate", rate, Bound::Below, threshold),
    ];
    explanation.near.push(Near::new("unrecovered_errors", conditions));
    tools.retain(|tool| !tool.open.is_empty());
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.open.len()));
    for tool in tools.iter().take(SHOWN) {
        let open = Condition::count("unrecovered", tool.open.len() as u64, Bound::AtLeast, 1);
        let place = tool.open.first().zip(tool.open.last()).map_or((0, 0), |(first, last)| (*first, *last));
        explanation.near.push(Near::new("unrecovered_tool", vec![open]).tool(&tool.name).at(place));
    }
    let last_open = tools.iter().filter_map(|tool| tool.open.last()).max();
    if explanation.fired() {
        let mut steps = Vec::new();
        for tool in &tools {
            if recovery_rate(recovered, errors) >= threshold {
                break;
            }
            recovered += tool.open.len() as u64;
            steps.extend(tool.open.last());
        }
        explanation.changes.push(Change::Succeed { steps });
        explanation.config((rate > 0.0).then(|| ("threshold", rate.into())));
        return;
    }
    // The same failure again, so often that the rate falls below the threshold.
    if let Some(step) = last_open {
        let mut times = least_errors(recovered, threshold).saturating_sub(errors).max(1);
        while recovery_rate(recovered, errors + times) >= threshold {
            times += 1;
        }
        explanation.changes.push(Change::Repeat { step: *step, times });
        let above = recovery_rate(2 * recovered + 1, 2 * errors);
        explanation.config((above <= 1.0).then(|| ("threshold", above.into())));
    }
}

/// About so many errors bring the rate down to the threshold.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "saturates"
)]
fn least_errors(recovered: u64, threshold: f64) -> u64 {
    (recovered as f64 / threshold) as u64
}
