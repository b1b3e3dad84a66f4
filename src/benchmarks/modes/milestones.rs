//! `operation/perception_error` and `operation/decision_error`: missing and mistaken actions in the room of a
//! milestone that was never reached.

use serde_json::json;

use super::super::Definition;
use super::super::text::{first_word, norm};
use super::rooms::{direction_of_action, room};
use super::{ModeEpisode, ModeFinding, ModeMilestone, ModeStep, ModeVerdict};

const PERCEPTION: &str = "operation/perception_error";
const DECISION: &str = "operation/decision_error";

/// Returns the verdicts on perception errors and decision errors, in this order.
pub(super) fn verdicts(episode: &ModeEpisode, definition: Definition) -> (ModeVerdict, ModeVerdict) {
    if let Some(reason) = missing(episode, definition) {
        return (ModeVerdict::not_applicable(reason), ModeVerdict::not_applicable(reason));
    }
    let findings = findings(episode, definition);
    let (perception, decision) = findings.into_iter().partition(|finding| finding.mode == PERCEPTION);
    (ModeVerdict::of(perception), ModeVerdict::of(decision))
}

fn missing(episode: &ModeEpisode, definition: Definition) -> Option<&'static str> {
    let steps = &episode.trajectory;
    if episode.milestones.is_empty() {
        return Some("no milestones");
    }
    if steps.is_empty() {
        return Some("no steps");
    }
    if definition == Definition::Code {
        let scored = steps.iter().all(|step| step.cum_score.is_some() && step.reward.is_some());
        return (!scored).then_some("no per-step score and reward");
    }
    if episode.final_score.is_none() && steps.iter().all(|step| step.cum_score.is_none()) {
        return Some("no progress and no final score");
    }
    if episode.milestones.iter().all(|milestone| milestone.room.is_none()) {
        return Some("milestones have no rooms");
    }
    steps.iter().all(|step| room(&step.obs).is_none()).then_some("no room headings")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The same action, or the same direction.
    Exact,
    /// Another action with the same verb.
    Variant,
    None,
}

struct Wanted {
    action: String,
    direction: Option<&'static str>,
}

impl Wanted {
    fn of(milestone: &ModeMilestone) -> Self {
        let action = norm(Some(&milestone.action));
        Self { direction: direction_of_action(&action), action }
    }

    fn is_exact(&self, action: &str) -> bool {
        norm(Some(action)) == self.action
            || (self.direction.is_some() && direction_of_action(action) == self.direction)
    }

    /// Compares an action with that of the milestone. Under [`Definition::Code`], every action that begins
    /// with the letters of the verb is a variant, and a missing action counts as empty.
    fn attempt(&self, action: Option<&str>, definition: Definition) -> Attempt {
        let paper = definition == Definition::Paper;
        let Some(action) = action.or((!paper).then_some("")) else { return Attempt::None };
        if self.is_exact(action) {
            return Attempt::Exact;
        }
        let same_verb = first_word(&self.action).is_some_and(|verb| {
            if paper {
                first_word(&norm(Some(action))) == Some(verb)
            } else {
                action.to_lowercase().starts_with(verb)
            }
        });
        if same_verb && self.direction.is_none() { Attempt::Variant } else { Attempt::None }
    }
}

fn finding(
    mode: &'static str,
    step: &ModeStep,
    kind: Option<&str>,
    room: &str,
    milestone: &ModeMilestone,
) -> ModeFinding {
    let mut evidence = json!({"room": room, "action": milestone.action, "score": milestone.score_after});
    if let (Some(kind), Some(facts)) = (kind, evidence.as_object_mut()) {
        facts.insert("kind".to_owned(), kind.into());
    }
    ModeFinding { mode, range: [step.step, step.step], evidence }
}

fn findings(episode: &ModeEpisode, definition: Definition) -> Vec<ModeFinding> {
    let paper = definition == Definition::Paper;
    let steps = &episode.trajectory;
    let rooms = if paper { episode.current_rooms() } else { episode.headed_rooms() };
    let rooms: Vec<Option<String>> =
        rooms.into_iter().map(|room| room.map(|room| room.to_lowercase())).collect();
    // Whether each step failed to raise the score or, under `Definition::Code`, had a reward of 0.
    let scores_before = std::iter::once(Some(0.0)).chain(steps.iter().map(|step| step.cum_score));
    let gains = steps.iter().zip(scores_before).map(|(step, before)| step.cum_score.zip(before));
    let in_vain: Vec<bool> = if paper {
        gains.map(|gain| !gain.is_some_and(|(now, before)| now > before)).collect()
    } else {
        steps.iter().map(|step| step.reward == Some(0.0)).collect()
    };
    let scores: Vec<f64> = steps.iter().filter_map(|step| step.cum_score).collect();
    let reached = |milestone: &ModeMilestone| {
        let reaches = |score: f64| score >= milestone.score_after;
        match definition {
            Definition::Code => steps.last().and_then(|step| step.cum_score).is_some_and(reaches),
            Definition::Paper if scores.is_empty() => episode.final_score.is_some_and(reaches),
            Definition::Paper => scores.iter().copied().any(reaches),
        }
    };
    let mut findings = Vec::new();
    for milestone in episode.milestones.iter().filter(|milestone| !reached(milestone)) {
        let answer = milestone.observation_after.as_deref();
        let room = if paper { milestone.room.as_deref() } else { answer.and_then(room) };
        let Some(room) = room else { continue };
        let (wanted, here) = (Wanted::of(milestone), room.to_lowercase());
        let in_room: Vec<(&ModeStep, Attempt, bool)> = steps
            .iter()
            .zip(&rooms)
            .zip(&in_vain)
            .filter(|((_, current), _)| current.as_ref() == Some(&here))
            .map(|((step, _), vain)| (step, wanted.attempt(step.action.as_deref(), definition), *vain))
            .collect();
        let tried = |kind| in_room.iter().any(|(_, attempt, _)| *attempt == kind);
        let in_vain = |kind| in_room.iter().find(|(_, attempt, vain)| *attempt == kind && *vain);
        let variant = in_vain(Attempt::Variant).filter(|_| !paper || !tried(Attempt::Exact));
        if let Some((step, ..)) = in_vain(Attempt::Exact) {
            findings.push(finding(DECISION, step, Some("timing"), room, milestone));
        } else if let Some((step, ..)) = variant {
            findings.push(finding(DECISION, step, Some("object"), room, milestone));
        }
        let seen = tried(Attempt::Exact) || paper && tried(Attempt::Variant);
        let there = if paper { in_room.first() } else { in_room.last() };
        if let Some((step, ..)) = there.filter(|_| !seen) {
            findings.push(finding(PERCEPTION, step, None, room, milestone));
        }
    }
    findings
}
