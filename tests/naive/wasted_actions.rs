//! Section 3.5.

use std::cmp::Reverse;

use wrongturn::{Evidence, WastedActionsConfig, WastedActionsEvidence, WastedTool};

use super::Expected;
use super::novelty::{is_poll, same_key};
use super::run::{Done, Run, incomparable};
use super::transient::is_passed_over;

/// The wasted actions of a run: its actions, and which of them.
pub(super) fn wasted<'a>(run: &'a Run, config: &WastedActionsConfig) -> (Vec<Done<'a>>, Vec<Done<'a>>) {
    let actions = run.actions(config.actors);
    let mut seen = actions.clone();
    seen.retain(|action| {
        !is_poll(action, &config.exempt) && !is_passed_over(config.transient.as_ref(), action)
    });
    // Known: of an earlier turn than the one that asks again.
    let known = |at: usize| {
        let now = &seen[at];
        let first = seen[..at].iter().find(|before| same_key(before, now) && before.same_observation(now));
        first.is_some_and(|before| before.turn() != now.turn())
    };
    let wasted = (0..seen.len()).filter(|&at| seen[at].is_error() || known(at)).map(|at| seen[at].clone());
    let wasted = wasted.collect();
    (actions, wasted)
}

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
pub(super) fn is_too_much(wasted: usize, actions: usize, config: &WastedActionsConfig) -> bool {
    wasted as u64 >= config.min_wasted && wasted as f64 >= config.min_share * actions as f64
}

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
pub(crate) fn wasted_actions(run: &Run, config: &WastedActionsConfig) -> Expected {
    let (actions, wasted) = wasted(run, config);
    if incomparable(&actions) {
        return Expected::NotApplicable;
    }
    let count = |of: &dyn Fn(&Done<'_>) -> bool| wasted.iter().filter(|action| of(action)).count() as u64;
    let mut by_tool: Vec<WastedTool> = Vec::new();
    for action in &wasted {
        let name = action.call.name;
        if !by_tool.iter().any(|tool| tool.tool == name) {
            by_tool.push(WastedTool {
                tool: name.to_owned(),
                failed: count(&|other| other.call.name == name && other.is_error()),
                repeated: count(&|other| other.call.name == name && !other.is_error()),
            });
        }
    }
    by_tool.sort_by_key(|tool| Reverse(tool.failed + tool.repeated));
    by_tool.truncate(10);
    let evidence = WastedActionsEvidence {
        failed: count(&|action| action.is_error()),
        repeated: count(&|action| !action.is_error()),
        actions: actions.len() as u64,
        by_tool,
    };
    let detected = is_too_much(wasted.len(), actions.len(), config);
    let findings = match (wasted.first(), wasted.last()) {
        (Some(first), Some(last)) if detected => {
            vec![(first.step(), last.step(), Evidence::WastedActions(evidence))]
        }
        _ => Vec::new(),
    };
    let score = if actions.is_empty() { 1.0 } else { 1.0 - wasted.len() as f64 / actions.len() as f64 };
    Expected::Judged { detected, score: Some(score), findings }
}
