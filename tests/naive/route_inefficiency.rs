//! A naive statement of `route_inefficiency` from one milestone to the next: for scores, and for expected
//! actions with `routes: pairs`.

use wrongturn::{
    detect::{Evidence, MilestoneEvidence, PairEvidence, RouteInefficiencyConfig, RouteInefficiencyEvidence},
    trace::{Actor, Actors, Milestone, ReferenceAction, ReferenceRoute, Target},
};

use super::Expected;
use super::run::{Done, Run, arguments, incomparable, same_json};

/// A milestone, and where it was reached: a step for scores, an action's number from 1 on for expected actions.
struct Passed {
    reference: u64,
    reached: Option<u64>,
    evidence: MilestoneEvidence,
}

pub(crate) fn route_inefficiency(run: &Run, config: &RouteInefficiencyConfig) -> Expected {
    let milestones = run.route.as_ref().map_or(&[][..], ReferenceRoute::milestones);
    let findings = match milestones.first().map(|milestone| &milestone.target) {
        None => None,
        Some(Target::Score(_)) => Some(scored_detours(run, milestones, config)),
        Some(Target::Action(_)) => expected_detours(run, milestones, config),
    };
    findings.map_or(Expected::NotApplicable, Expected::of)
}

fn scored_detours(
    run: &Run,
    milestones: &[Milestone],
    config: &RouteInefficiencyConfig,
) -> Vec<(u64, u64, Evidence)> {
    let passed: Vec<Passed> = milestones
        .iter()
        .filter_map(|milestone| match &milestone.target {
            Target::Score(score) => Some((milestone, *score)),
            Target::Action(_) => None,
        })
        .map(|(milestone, score)| Passed {
            reference: milestone.reference_step,
            reached: run.events.iter().find(|e| e.progress.is_some_and(|p| p >= score)).map(|e| e.index),
            evidence: MilestoneEvidence {
                reference_step: milestone.reference_step,
                action: milestone.label.clone(),
                score: Some(score),
            },
        })
        .collect();
    detours(&passed, run.events.last().map_or(0, |event| event.index), config)
}

fn expected_detours(
    run: &Run,
    milestones: &[Milestone],
    config: &RouteInefficiencyConfig,
) -> Option<Vec<(u64, u64, Evidence)>> {
    let kept: Vec<(&Milestone, &ReferenceAction)> = milestones
        .iter()
        .filter_map(|milestone| match &milestone.target {
            Target::Action(expected) => Some((milestone, expected)),
            Target::Score(_) => None,
        })
        .filter(|(_, expected)| config.actors.include(expected.actor()))
        .collect();
    if kept.is_empty() {
        return None;
    }
    let named = |actor: Actor| kept.iter().any(|(_, expected)| expected.actor() == actor);
    let actions: Vec<Done<'_>> =
        run.actions(Actors::All).into_iter().filter(|a| named(a.event.actor)).collect();
    if incomparable(&actions) {
        return None;
    }
    let mut passed = Vec::new();
    if config.from_start {
        let evidence = MilestoneEvidence { reference_step: 0, action: Some("start".to_owned()), score: None };
        passed.push(Passed { reference: 0, reached: Some(0), evidence });
    }
    for (position, (milestone, expected)) in kept.iter().enumerate() {
        let reached = actions.iter().position(|action| fulfils(action, expected)).map(|at| at as u64 + 1);
        // If milestones are dropped, the others are renumbered.
        let reference =
            if kept.len() == milestones.len() { milestone.reference_step } else { position as u64 + 1 };
        let named = milestone.label.clone().or_else(|| Some(expected.name().to_owned()));
        let evidence = MilestoneEvidence { reference_step: reference, action: named, score: None };
        passed.push(Passed { reference, reached, evidence });
    }
    // The start has the step of the first action.
    let step = |number: u64| {
        let at = usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        actions.get(at).map_or(0, Done::step)
    };
    let numbered = detours(&passed, actions.len() as u64, config);
    Some(numbered.into_iter().map(|(first, last, evidence)| (step(first), step(last), evidence)).collect())
}

fn fulfils(action: &Done<'_>, expected: &ReferenceAction) -> bool {
    let wanted = arguments(Some(expected.arguments()).filter(|json| *json != "null"));
    let given = &action.arguments;
    let same_member = |name: &String| match (wanted.get(name), given.get(name)) {
        (Some(wanted), Some(given)) => same_json(wanted, given),
        (None, None) => true,
        _ => false,
    };
    if action.call.left_out.0 && expected.compare().is_none_or(|names| !names.is_empty()) {
        return false;
    }
    action.event.actor == expected.actor()
        && action.call.name == expected.name()
        && match expected.compare() {
            None => same_json(&wanted, given),
            Some(names) => names.iter().all(same_member),
        }
}

#[expect(clippy::cast_precision_loss, reason = "runs are short")]
fn detours(passed: &[Passed], last: u64, config: &RouteInefficiencyConfig) -> Vec<(u64, u64, Evidence)> {
    let mut findings = Vec::new();
    for (a, b) in passed.iter().zip(passed.iter().skip(1)) {
        let Some(start) = a.reached else { continue };
        let distance = b.reference - a.reference;
        let end = b.reached.unwrap_or(last);
        if distance == 0 || end <= start {
            continue;
        }
        let steps = end - start;
        if steps as f64 > config.ratio * distance as f64 && steps >= distance + config.min_extra {
            let evidence = PairEvidence {
                steps,
                reference_steps: distance,
                ratio: steps as f64 / distance as f64,
                reached: b.reached.is_some(),
                from: a.evidence.clone(),
                to: b.evidence.clone(),
            };
            findings.push((
                start,
                end,
                Evidence::RouteInefficiency(RouteInefficiencyEvidence::Pair(evidence)),
            ));
        }
    }
    findings
}
