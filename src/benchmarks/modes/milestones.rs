//! `operation/perception_error` and `operation/decision_error`: actions in the room of a milestone that was never
//! reached.

use serde_json::json;

use super::super::Definition;
use super::super::text::{first_word, norm};
use super::rooms::{direction_of_action, room};
use super::{ModeEpisode, ModeFinding, ModeMilestone, ModeStep, ModeVerdict};

const PERCEPTION: &str = "operation/perception_error";
const DECISION: &str = "operation/decision_error";

/// Returns the verdicts of both modes, in this order.
pub(super) fn verdicts(episode: &ModeEpisode, definition: Definition) -> (ModeVerdict, ModeVerdict) {
    if let Some(reason) = missing(episode, definition) {
        return (ModeVerdict::not_applicable(reason), ModeVerdict::not_applicable(reason));
    }
    let mut findings = Vec::new();
    match definition {
        Definition::Paper => paper(episode, &mut findings),
        Definition::Code => code(episode, &mut findings),
    }
    let (perception, decision) = findings.into_iter().partition(|finding| finding.mode == PERCEPTION);
    (ModeVerdict::of(perception), ModeVerdict::of(decision))
}

/// Returns the first input that is missing.
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

/// The relation of an action to that of a milestone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The same action, or the same direction.
    Exact,
    /// Another action of the same verb.
    Variant,
    None,
}

/// The parsed action of a milestone.
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

    fn attempt(&self, action: Option<&str>) -> Attempt {
        let Some(action) = action else { return Attempt::None };
        if self.is_exact(action) {
            return Attempt::Exact;
        }
        let verb = first_word(&self.action);
        let same_verb = verb.is_some() && first_word(&norm(Some(action))) == verb;
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

fn paper(episode: &ModeEpisode, findings: &mut Vec<ModeFinding>) {
    let steps = &episode.trajectory;
    let rooms: Vec<Option<String>> =
        episode.current_rooms().into_iter().map(|room| room.map(|room| room.to_lowercase())).collect();
    let scoreless: Vec<bool> = steps
        .iter()
        .zip(std::iter::once(Some(0.0)).chain(steps.iter().map(|step| step.cum_score)))
        .map(|(step, before)| !step.cum_score.zip(before).is_some_and(|(now, before)| now > before))
        .collect();
    let scores = || steps.iter().filter_map(|step| step.cum_score);
    let reached = |milestone: &ModeMilestone| {
        let per_step = scores().next().is_some();
        let reaches = |score: f64| score >= milestone.score_after;
        if per_step { scores().any(reaches) } else { episode.final_score.is_some_and(reaches) }
    };
    for milestone in episode.milestones.iter().filter(|milestone| !reached(milestone)) {
        let Some(room) = &milestone.room else { continue };
        let (wanted, here) = (Wanted::of(milestone), room.to_lowercase());
        let in_room: Vec<(&ModeStep, Attempt, bool)> = steps
            .iter()
            .zip(&rooms)
            .zip(&scoreless)
            .filter(|((_, current), _)| current.as_ref() == Some(&here))
            .map(|((step, _), scoreless)| (step, wanted.attempt(step.action.as_deref()), *scoreless))
            .collect();
        let Some((first, ..)) = in_room.first() else { continue };
        let any = |kind| in_room.iter().any(|(_, attempt, _)| *attempt == kind);
        let in_vain = |kind| {
            in_room.iter().find(|(_, attempt, vain)| *attempt == kind && *vain).map(|(step, ..)| *step)
        };
        if let Some(step) = in_vain(Attempt::Exact) {
            findings.push(finding(DECISION, step, Some("timing"), room, milestone));
        } else if let (false, Some(step)) = (any(Attempt::Exact), in_vain(Attempt::Variant)) {
            findings.push(finding(DECISION, step, Some("object"), room, milestone));
        } else if !any(Attempt::Exact) && !any(Attempt::Variant) {
            findings.push(finding(PERCEPTION, first, None, room, milestone));
        }
    }
}

fn code(episode: &ModeEpisode, findings: &mut Vec<ModeFinding>) {
    let steps = &episode.trajectory;
    let rooms = episode.headed_rooms();
    let end = steps.last().and_then(|step| step.cum_score);
    let reached = |milestone: &&ModeMilestone| end.is_some_and(|score| milestone.score_after <= score);
    for milestone in episode.milestones.iter().filter(|milestone| !reached(milestone)) {
        let Some(room) = milestone.observation_after.as_deref().and_then(room) else { continue };
        let (wanted, here) = (Wanted::of(milestone), room.to_lowercase());
        let is_here = |headed: &str| headed.to_lowercase() == here;
        let in_room: Vec<(&ModeStep, &str)> = steps
            .iter()
            .zip(&rooms)
            .filter(|(_, headed)| headed.as_deref().is_some_and(is_here))
            .map(|(step, _)| (step, step.action.as_deref().unwrap_or_default()))
            .collect();
        let exact = |action: &str| wanted.is_exact(action);
        if let Some((last, _)) = in_room.last()
            && !in_room.iter().any(|(_, action)| exact(action))
        {
            findings.push(finding(PERCEPTION, last, None, room, milestone));
        }
        let vain = |step: &ModeStep| step.reward == Some(0.0);
        let timing = in_room.iter().find(|(step, action)| exact(action) && vain(step));
        let object = || {
            let verb = first_word(&wanted.action).filter(|_| wanted.direction.is_none())?;
            in_room.iter().find(|(step, action)| {
                !exact(action) && action.to_lowercase().starts_with(verb) && vain(step)
            })
        };
        if let Some((step, _)) = timing {
            findings.push(finding(DECISION, step, Some("timing"), room, milestone));
        } else if let Some((step, _)) = object() {
            findings.push(finding(DECISION, step, Some("object"), room, milestone));
        }
    }
}
