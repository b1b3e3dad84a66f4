//! A naive statement of `expected_action`, as its page describes it.

use serde_json::Value;
use wrongturn::{
    detect::{Evidence, ExpectedActionConfig, ExpectedActionEvidence, Miss},
    trace::{Actor, ReferenceAction, Target},
};

use super::Expected;
use super::run::{Done, Run, same_json};

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
pub(crate) fn expected_action(run: &Run, config: &ExpectedActionConfig) -> Expected {
    let Some(route) = &run.route else { return Expected::NotApplicable };
    let mut expected = Vec::new();
    for (place, milestone) in route.milestones().iter().enumerate() {
        match &milestone.target {
            Target::Score(_) => return Expected::NotApplicable,
            Target::Action(action) if config.actors.include(action.actor()) => expected.push((place, action)),
            Target::Action(_) => {}
        }
    }
    let actions = run.actions(config.actors);
    let (Some(first), Some(last)) = (actions.first(), actions.last()) else { return Expected::NotApplicable };
    if expected.is_empty() || super::run::incomparable(&actions) {
        return Expected::NotApplicable;
    }
    let mut findings = Vec::new();
    for (place, action) in &expected {
        let of_tool: Vec<_> =
            actions.iter().filter(|call| is_of(call, action.actor(), action.name())).collect();
        let (range, kind, differing) = match miss(action, &of_tool) {
            None => continue,
            Some(Missed::Never) => ((first.step(), last.step()), Miss::NeverCalled, Vec::new()),
            Some(Missed::Otherwise(step, differing)) => ((step, step), Miss::Arguments, differing),
            Some(Missed::InVain(step)) => ((step, step), Miss::Rejected, Vec::new()),
        };
        let evidence = ExpectedActionEvidence {
            kind,
            expected: *place as u64,
            name: action.name().to_owned(),
            differing,
        };
        findings.push((range.0, range.1, Evidence::ExpectedAction(evidence)));
    }
    findings.sort_by_key(|(first, last, _)| (*first, *last));
    let score = 1.0 - findings.len() as f64 / expected.len() as f64;
    let detected = findings.len() as u64 >= config.min_missed;
    Expected::Judged { detected, score: Some(score), findings: if detected { findings } else { Vec::new() } }
}

enum Missed {
    Never,
    Otherwise(u64, Vec<String>),
    InVain(u64),
}

fn is_of(call: &Done<'_>, actor: Actor, name: &str) -> bool {
    call.event.actor == actor && call.call.name == name
}

fn miss(action: &ReferenceAction, of_tool: &[&Done<'_>]) -> Option<Missed> {
    let wanted: Value = serde_json::from_str(action.arguments()).unwrap_or_default();
    let compared: Vec<String> = match (action.compare(), &wanted) {
        (Some(names), _) => names.to_vec(),
        (None, Value::Object(wanted)) => wanted.keys().cloned().collect(),
        (None, _) => Vec::new(),
    };
    if !compared.is_empty() && of_tool.iter().any(|call| call.call.left_out.0) {
        return None;
    }
    let differs = |call: &Done<'_>, name: &str| match (wanted.get(name), call.arguments.get(name)) {
        (Some(wanted), Some(given)) => !same_json(wanted, given),
        _ => true,
    };
    let good: Vec<_> =
        of_tool.iter().filter(|call| !compared.iter().any(|name| differs(call, name))).collect();
    if good.iter().any(|call| !call.is_error()) {
        return None;
    }
    Some(match (good.first(), of_tool.first()) {
        (Some(call), _) => Missed::InVain(call.step()),
        (None, Some(call)) => {
            let differing = compared.iter().filter(|name| differs(call, name));
            Missed::Otherwise(call.step(), differing.cloned().collect())
        }
        (None, None) => Missed::Never,
    })
}
