//! How near a trace comes to a blind repeat.

use serde_json::Value;

use super::detector::Detector;
use super::explanation::{Bound, Change, Condition, Explanation, Near, SHOWN};
use super::feedback_blindness::{FeedbackBlindness, FeedbackBlindnessConfig};
use super::seen::{Gains, Seen, observation};
use crate::trace::{Digest, DigestMap, Status, Trace};

/// A refusal of a key.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    action: u64,
    step: u64,
    turn: u64,
    novel_successes: u64,
}

/// A refusal that follows one of the same key in an earlier turn.
#[derive(Debug)]
struct Pair {
    tool: Box<str>,
    place: (u64, u64),
    same_feedback: bool,
    /// Novel successes between the two.
    gap: u64,
    /// Actions from the one to the other.
    distance: u64,
}

impl Pair {
    fn near(&self, config: &FeedbackBlindnessConfig) -> Near {
        let mut conditions = vec![
            Condition::count("other feedback", u64::from(!self.same_feedback), Bound::AtMost, 0),
            Condition::count("gap", self.gap, Bound::AtMost, config.max_gap),
        ];
        if let Some(window) = config.window {
            conditions.push(Condition::count("distance", self.distance, Bound::AtMost, window));
        }
        Near::new("blind_repeat", conditions).tool(&self.tool).at(self.place)
    }
}

pub(super) fn explain(rule: &FeedbackBlindness, trace: &Trace, explanation: &mut Explanation) {
    let config = &rule.0.config;
    let (mut gains, mut seen) = (Gains::default(), Seen::default());
    let (mut actions, mut novel_successes, mut refusals) = (0, 0, 0);
    // By key with feedback: the latest refusal, and the latest of a turn before it. By key alone, the latest.
    let mut same: DigestMap<(Refusal, Option<Refusal>)> = DigestMap::default();
    let mut any: DigestMap<Refusal> = DigestMap::default();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut repeatable: Option<(u64, Box<str>)> = None;
    for step in trace {
        let Some((action, digests)) = step.digested(config.actors) else { continue };
        actions += 1;
        if let Some(passed) = rule.0.passed_over.reason(&step, action, &digests) {
            explanation.pass_over(passed);
            continue;
        }
        if gains.observe(&step) {
            seen.clear();
        }
        let novel = seen.observe(&step, &digests, ()).is_none();
        if !rule.0.is_negative(action) {
            novel_successes += u64::from(novel && action.status == Status::Ok);
            continue;
        }
        refusals += 1;
        let Some(key) = rule.0.key(&digests) else { continue };
        let now = Refusal { action: actions, step: step.index(), turn: step.turn(), novel_successes };
        let feedback = observation(&digests);
        // The published rule lets a success pass for a recovery, whatever it says.
        let counts = if config.same_feedback {
            feedback.is_some()
        } else {
            !(config.success_recovers && action.status == Status::Ok)
        };
        if counts {
            repeatable = Some((step.index(), action.name.into()));
        }
        let pair = |before: Refusal, same_feedback| Pair {
            tool: action.name.into(),
            place: (before.step, now.step),
            same_feedback,
            gap: now.novel_successes - before.novel_successes,
            distance: now.action - before.action,
        };
        let known = feedback.and_then(|feedback| earlier(&mut same, key.and(feedback), now));
        let other = any.insert(key, now).filter(|other| other.turn != now.turn);
        match (known, other) {
            (Some(before), _) => pairs.push(pair(before, true)),
            (None, Some(before)) => pairs.push(pair(before, false)),
            (None, None) => {}
        }
    }
    if config.same_feedback {
        same_feedback(config, pairs, explanation);
    }
    if explanation.fired() {
        return;
    }
    if let Some((step, tool)) = repeatable {
        if explanation.near.is_empty() {
            let conditions = vec![Condition::count("repeats", 0, Bound::AtLeast, 1)];
            explanation.near.push(Near::new("blind_repeat", conditions).tool(&tool).at((step, step)));
        }
        explanation.changes.insert(0, Change::Repeat { step, times: 1 });
    } else if explanation.near.is_empty() {
        explanation
            .near
            .push(Near::new("blind_repeat", vec![Condition::count("refusals", refusals, Bound::AtLeast, 2)]));
    }
    passed_over(rule, trace, explanation);
}

/// Keeps a refusal; gives the latest of the same kind in an earlier turn.
fn earlier(known: &mut DigestMap<(Refusal, Option<Refusal>)>, key: Digest, now: Refusal) -> Option<Refusal> {
    let Some((latest, earlier)) = known.get_mut(&key) else {
        known.insert(key, (now, None));
        return None;
    };
    if latest.turn != now.turn {
        *earlier = Some(*latest);
    }
    *latest = now;
    *earlier
}

/// What the default rule makes of the pairs.
fn same_feedback(config: &FeedbackBlindnessConfig, mut pairs: Vec<Pair>, explanation: &mut Explanation) {
    let within = |pair: &Pair| config.window.is_none_or(|window| pair.distance <= window);
    pairs.sort_by_key(|pair| (!pair.same_feedback, pair.gap, pair.distance, pair.place));
    explanation.near.extend(pairs.iter().take(SHOWN).map(|pair| pair.near(config)));
    let mut alike = pairs.iter().filter(|pair| pair.same_feedback);
    if explanation.fired() {
        // Below the smallest gap there is nothing left.
        let smallest = alike.filter(|pair| within(pair)).map(|pair| pair.gap).min();
        explanation.config(smallest.and_then(|gap| gap.checked_sub(1)).map(|gap| ("max_gap", gap.into())));
    } else if let Some(pair) = alike.next() {
        let gap = (pair.gap > config.max_gap).then(|| ("max_gap", pair.gap.into()));
        let window = (!within(pair)).then(|| ("window", Value::from(pair.distance)));
        explanation.config(gap.into_iter().chain(window));
    }
}

/// What was passed over is blind where it is not passed over.
fn passed_over(rule: &FeedbackBlindness, trace: &Trace, explanation: &mut Explanation) {
    let fires =
        |config| FeedbackBlindness::new(config).is_ok_and(|rule| rule.detect(trace).detected() == Some(true));
    let config = &rule.0.config;
    if explanation.transient > 0 && fires(FeedbackBlindnessConfig { transient: None, ..config.clone() }) {
        explanation.config([("transient", Value::Null)]);
    }
    if explanation.exempt > 0 && fires(FeedbackBlindnessConfig { exempt: Vec::new(), ..config.clone() }) {
        explanation.config([("exempt", Value::Array(Vec::new()))]);
    }
}
