//! Section 3.3.

use wrongturn::{Evidence, FeedbackBlindnessConfig, FeedbackBlindnessEvidence, FeedbackKey, Report};

use super::Expected;
use super::novelty::{is_novel, is_poll, segments};
use super::run::{Done, Run, incomparable};
use super::transient::is_passed_over;

pub(crate) fn feedback_blindness(run: &Run, config: &FeedbackBlindnessConfig) -> Expected {
    let actions = run.actions(config.actors);
    if config.key == FeedbackKey::Call && incomparable(&actions) {
        return Expected::NotApplicable;
    }
    let same = |one: &Done<'_>, other: &Done<'_>| match config.key {
        FeedbackKey::Call => one.call.name == other.call.name && one.same_arguments(other),
        FeedbackKey::Name => one.call.name == other.call.name,
    };
    let transient = |action: &Done<'_>| is_passed_over(config.transient.as_ref(), action);
    let exempt = |action: &Done<'_>| is_poll(action, &config.exempt);
    let negative = |action: &Done<'_>| {
        if action.call.left_out.1 && !action.is_error() {
            return false;
        }
        let said = action.call.observation.as_deref().unwrap_or_default().to_lowercase();
        let refused = !action.call.left_out.1
            && config.patterns.iter().any(|pattern| said.contains(&pattern.to_lowercase()));
        !transient(action) && !exempt(action) && (action.is_error() || refused)
    };
    let window = config.window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(usize::MAX));
    // The steps of novel actions that succeeded; what is passed over is not there.
    let mut seen = actions.clone();
    seen.retain(|action| !transient(action) && !exempt(action));
    let novel: Vec<u64> = segments(&seen)
        .iter()
        .flat_map(|segment| {
            let succeeded =
                |&at: &usize| is_novel(segment, at) && segment[at].is_ok() && !negative(&segment[at]);
            (0..segment.len()).filter(succeeded).map(|at| segment[at].step()).collect::<Vec<_>>()
        })
        .collect();
    let novel_between = |before: &Done<'_>, now: &Done<'_>| {
        novel.iter().filter(|&&step| before.step() < step && step < now.step()).count() as u64
    };
    // The refusal that an action is blind to: the latest with the same feedback, or else the earliest.
    let refusal = |at: usize| {
        let now = &actions[at];
        if transient(now) || exempt(now) {
            return None;
        }
        let mut refused = (at.saturating_sub(window)..at)
            .map(|i| &actions[i])
            .filter(|before| same(before, now) && negative(before));
        if !config.same_feedback {
            return refused.next().filter(|_| !(config.success_recovers && now.is_ok()));
        }
        refused.rfind(|before| {
            negative(now)
                && before.same_observation(now)
                && before.turn() != now.turn()
                && novel_between(before, now) <= config.max_gap
        })
    };
    let mut findings = Vec::new();
    for (at, now) in actions.iter().enumerate() {
        let Some(before) = refusal(at) else { continue };
        let told = (0..at).any(|i| same(&actions[i], now) && refusal(i).is_some());
        if told && config.report == Report::First {
            continue;
        }
        let said = before.call.observation.as_ref().filter(|_| !before.call.left_out.1);
        let observation = said.map(|text| text.chars().take(200).collect());
        let evidence = FeedbackBlindnessEvidence { first_attempt: before.step(), observation };
        findings.push((now.step(), now.step(), Evidence::FeedbackBlindness(evidence)));
    }
    Expected::of(findings)
}
