//! `malformed_call`, as its page says it.

use serde_json::Value;
use wrongturn::{Evidence, MalformedCallConfig, MalformedCallEvidence, MalformedReason};

use super::Expected;
use super::run::{Done, Run};

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
pub(crate) fn malformed_call(run: &Run, config: &MalformedCallConfig) -> Expected {
    let actions = run.actions(config.actors);
    let evidence = |action: &Done<'_>| {
        let reason = reason(action, config)?;
        let tool = action.call.name.trim().to_owned();
        let evidence = Evidence::MalformedCall(MalformedCallEvidence { reason, tool });
        Some((action.step(), action.step(), evidence))
    };
    let findings: Vec<_> = actions.iter().filter_map(evidence).collect();
    let untold = |action: &Done<'_>| action.call.left_out == (true, true);
    if findings.is_empty() && !actions.is_empty() && actions.iter().all(untold) {
        return Expected::NotApplicable;
    }
    let score = if actions.is_empty() { 1.0 } else { 1.0 - findings.len() as f64 / actions.len() as f64 };
    let detected = findings.len() as u64 >= config.min_calls;
    Expected::Judged { detected, score: Some(score), findings: if detected { findings } else { Vec::new() } }
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
