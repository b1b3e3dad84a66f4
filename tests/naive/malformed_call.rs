//! A naive statement of `malformed_call`, as its page describes it.

use serde_json::Value;
use wrongturn::{
    detect::{Evidence, MalformedCallConfig, MalformedCallEvidence, MalformedReason},
    trace::Actor,
};

use super::Expected;
use super::run::{Done, Event, Run};

/// The only refusal of a format in drawn runs.
pub(crate) const REFUSAL: &str =
    "No tool calls found in the response. Every response MUST include at least one tool call.";

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
pub(crate) fn malformed_call(run: &Run, config: &MalformedCallConfig) -> Expected {
    let actions = run.actions(config.actors);
    let (mut findings, mut row, mut refused) = (Vec::new(), 0, 0);
    for (position, event) in run.events.iter().enumerate() {
        if let Some(first) = is_refusal(run, position).filter(|_| config.actors.include(Actor::Agent)) {
            (row, refused) = (row + 1, refused + 1);
            let evidence = MalformedCallEvidence {
                reason: MalformedReason::NoCall,
                tool: String::new(),
                turns: Some(row),
            };
            let first = if row > 1 { findings.pop().map_or(first, |(first, _, _)| first) } else { first };
            findings.push((first, event.index, Evidence::MalformedCall(evidence)));
        } else if event.call.is_some() || event.actor != Actor::Agent {
            row = 0;
        }
        let Some(action) = actions.iter().find(|action| std::ptr::eq(action.event, event)) else { continue };
        let Some(reason) = reason(action, config) else { continue };
        let tool = action.call.name.trim().to_owned();
        let evidence = MalformedCallEvidence { reason, tool, turns: None };
        findings.push((event.index, event.index, Evidence::MalformedCall(evidence)));
    }
    let untold = |action: &Done<'_>| action.call.left_out == (true, true);
    if findings.is_empty() && !actions.is_empty() && actions.iter().all(untold) {
        return Expected::NotApplicable;
    }
    let calls = actions.len() + refused;
    let malformed = refused + actions.iter().filter(|action| reason(action, config).is_some()).count();
    let score = if calls == 0 { 1.0 } else { 1.0 - malformed as f64 / calls as f64 };
    let detected = malformed as u64 >= config.min_calls;
    Expected::Judged { detected, score: Some(score), findings: if detected { findings } else { Vec::new() } }
}

/// Returns the step of the turn that an event refuses, if it is a refusal.
fn is_refusal(run: &Run, position: usize) -> Option<u64> {
    let (before, event) = (&run.events[..position], &run.events[position]);
    if event.call.is_some() || event.actor == Actor::Agent || event.text != REFUSAL {
        return None;
    }
    let acted = before.iter().rfind(|event| event.actor == Actor::Agent && event.call.is_some());
    let is_turn = |event: &&Event| {
        event.actor == Actor::Agent
            && event.call.is_none()
            && acted.is_none_or(|action| action.turn != event.turn)
    };
    match before.last().filter(is_turn) {
        Some(turn) => Some(turn.index),
        None if event.actor == Actor::System => None,
        None => before.iter().any(|event| event.actor != Actor::System).then_some(event.index),
    }
}

fn reason(action: &Done<'_>, config: &MalformedCallConfig) -> Option<MalformedReason> {
    if action.call.name.trim().is_empty() {
        return Some(MalformedReason::EmptyName);
    }
    let arguments =
        action.call.arguments.as_deref().filter(|_| config.objects_only && !action.call.left_out.0);
    match arguments.map(serde_json::from_str::<Value>) {
        None | Some(Ok(Value::Null | Value::Object(_))) => {}
        Some(Err(_)) => return Some(MalformedReason::ArgumentsNotJson),
        Some(Ok(Value::String(text))) if serde_json::from_str::<Value>(&text).is_err() => {
            return Some(MalformedReason::ArgumentsNotJson);
        }
        Some(Ok(_)) => return Some(MalformedReason::ArgumentsNotAnObject),
    }
    let answer =
        action.call.observation.as_deref().filter(|_| !action.call.left_out.1 && action.is_error())?;
    let head = answer.chars().take(300).collect::<String>().to_lowercase();
    let rejected = config.rejections.iter().any(|rejection| head.contains(&rejection.to_lowercase()));
    rejected.then_some(MalformedReason::RejectedBeforeRunning)
}
