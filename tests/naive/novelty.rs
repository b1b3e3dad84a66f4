//! What several rules ask: which actions are the same, which are new, which are polls.

use serde_json::{Value, json};
use wrongturn::PollingCall;

use super::run::Done;

pub(super) fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// The key of section 3.2. Arguments that were not recorded make a key of their own.
pub(super) fn same_key(left: &Done<'_>, right: &Done<'_>) -> bool {
    left.event.location == right.event.location
        && folded(left.call.name) == folded(right.call.name)
        && left.same_arguments(right)
}

/// Whether the key of an action met its observation before, in the segment that the slice is.
pub(super) fn is_novel(segment: &[Done<'_>], at: usize) -> bool {
    !segment[..at].iter().any(|a| same_key(a, &segment[at]) && a.same_observation(&segment[at]))
}

/// Whether an action is one of these polling calls, by what their JSON says. Where the arguments were not recorded, the
/// name decides.
pub(super) fn is_poll(action: &Done<'_>, calls: &[PollingCall]) -> bool {
    calls.iter().any(|call| {
        let call = serde_json::to_value(call).unwrap_or_default();
        let named = |name: &Value| name.as_str().is_some_and(|name| folded(name) == folded(action.call.name));
        if call.is_string() {
            return named(&call);
        }
        let argument = call["argument"].as_str().unwrap_or_default();
        let given = action.arguments.get(argument).cloned().unwrap_or(json!(null));
        let values = call["values"].as_array().cloned().unwrap_or_default();
        named(&call["tool"]) && (action.call.left_out.0 || values.contains(&given))
    })
}

/// Stretches between gains of progress; the previous action's progress is the latest known one.
pub(super) fn segments<'a>(actions: &[Done<'a>]) -> Vec<Vec<Done<'a>>> {
    let known_before = |at: usize| actions[..at].iter().rev().find_map(|action| action.event.progress);
    let gains = |at: usize| match (known_before(at), actions[at].event.progress) {
        (Some(before), Some(now)) => now > before,
        _ => false,
    };
    let mut bounds = vec![0];
    bounds.extend((1..actions.len()).filter(|&at| gains(at)));
    bounds.push(actions.len());
    bounds.windows(2).map(|pair| actions[pair[0]..pair[1]].to_vec()).collect()
}
