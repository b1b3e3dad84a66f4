//! A naive statement of `feedback_blindness` with the `phrases` definition: any repeat of a refused command,
//! with any result.

use wrongturn::detect::{Evidence, FeedbackBlindnessConfig, FeedbackBlindnessEvidence};

use super::Expected;
use super::run::{Done, Run};

pub(crate) fn feedback_blindness(run: &Run, config: &FeedbackBlindnessConfig) -> Expected {
    let actions = run.actions(config.actors);
    let said = |action: &Done<'_>| action.call.observation.clone().filter(|_| !action.call.left_out.1);
    let negative = |action: &Done<'_>| {
        let said = said(action).unwrap_or_default().to_lowercase();
        action.is_error() || config.patterns.iter().any(|pattern| said.contains(&pattern.to_lowercase()))
    };
    let window = config.window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(usize::MAX));
    let mut findings = Vec::new();
    for (at, now) in actions.iter().enumerate() {
        let mut before = actions[at.saturating_sub(window)..at].iter();
        let Some(first) = before.find(|before| before.call.name == now.call.name && negative(before)) else {
            continue;
        };
        let observation = said(first).map(|text| text.chars().take(200).collect());
        let evidence = FeedbackBlindnessEvidence { first_attempt: first.step(), observation };
        findings.push((now.step(), now.step(), Evidence::FeedbackBlindness(evidence)));
    }
    Expected::of(findings)
}
