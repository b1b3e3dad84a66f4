//! Section 3.3.

use tracelint::{Evidence, FeedbackBlindnessConfig, FeedbackBlindnessEvidence, FeedbackKey, Report};

use super::Expected;
use super::run::{Done, Run, same_json};
use super::transient::is_passed_over;

pub(crate) fn feedback_blindness(run: &Run, config: &FeedbackBlindnessConfig) -> Expected {
    let actions = run.actions(config.actors);
    let same = |one: &Done<'_>, other: &Done<'_>| match config.key {
        FeedbackKey::Call => one.call.name == other.call.name && same_json(&one.arguments, &other.arguments),
        FeedbackKey::Name => one.call.name == other.call.name,
    };
    let transient = |action: &Done<'_>| is_passed_over(config.transient.as_ref(), action);
    let negative = |action: &Done<'_>| {
        let said = action.call.observation.as_deref().unwrap_or_default().to_lowercase();
        let refused = config.patterns.iter().any(|pattern| said.contains(&pattern.to_lowercase()));
        !transient(action) && (action.is_error() || refused)
    };
    let window = config.window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(usize::MAX));
    // The earliest refusal that an action is blind to.
    let refusal = |at: usize| {
        let now = &actions[at];
        if transient(now) || (config.success_recovers && now.is_ok()) {
            return None;
        }
        (at.saturating_sub(window)..at)
            .map(|i| &actions[i])
            .find(|before| same(before, now) && negative(before))
    };
    let mut findings = Vec::new();
    for (at, now) in actions.iter().enumerate() {
        let Some(before) = refusal(at) else { continue };
        let told = (0..at).any(|i| same(&actions[i], now) && refusal(i).is_some());
        if told && config.report == Report::First {
            continue;
        }
        let observation = before.call.observation.as_ref().map(|text| text.chars().take(200).collect());
        let evidence = FeedbackBlindnessEvidence { first_attempt: before.step(), observation };
        findings.push((now.step(), now.step(), Evidence::FeedbackBlindness(evidence)));
    }
    Expected::of(findings)
}
