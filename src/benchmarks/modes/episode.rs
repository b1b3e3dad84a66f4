//! Episodes of text games.

use serde::Deserialize;

use super::super::read::{null_as_default, record};
use super::ModeRules;
use super::rooms;

/// An episode of a text game, for [`detect_modes`](super::detect_modes).
///
/// The `obs` of a step precedes its action.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModeEpisode {
    /// Id of the episode.
    pub id: String,
    /// The steps.
    pub trajectory: Vec<ModeStep>,
    /// The milestones of a walkthrough.
    #[serde(default, deserialize_with = "null_as_default")]
    pub milestones: Vec<ModeMilestone>,
    /// The score at the end.
    pub final_score: Option<f64>,
}

/// A step of a text game: observation and action.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModeStep {
    /// The step number.
    pub step: i64,
    /// The observation.
    #[serde(default, deserialize_with = "null_as_default")]
    pub obs: String,
    /// The action.
    pub action: Option<String>,
    /// The score after the step.
    pub cum_score: Option<f64>,
    /// How much the step changed the score.
    pub reward: Option<f64>,
}

/// A milestone in the walkthrough of a text game.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModeMilestone {
    /// The action that reaches it.
    pub action: String,
    /// The score after it.
    pub score_after: f64,
    /// The room in which the action is due.
    pub room: Option<String>,
    /// The observation after it.
    pub observation_after: Option<String>,
}

record!(ModeEpisode, "episode", id);

impl ModeEpisode {
    /// Checks that the episode has what these rules need: for [`ModeRules::Code`], at least one step, and an
    /// action in each step; for the others, nothing.
    ///
    /// # Errors
    /// A lower-case description of the missing part.
    pub fn check_for(&self, rules: ModeRules) -> Result<(), String> {
        if rules != ModeRules::Code {
            return Ok(());
        }
        if self.trajectory.is_empty() {
            return Err(format!("episode `{}` has no steps; the code's rules need at least one", self.id));
        }
        match self.trajectory.iter().find(|step| step.action.is_none()) {
            Some(step) => Err(format!(
                "step {} of episode `{}` has no action; the code's rules need one in each step",
                step.step, self.id
            )),
            None => Ok(()),
        }
    }

    /// Returns the room of each step: the one in its own heading, else that of the step before.
    pub(super) fn current_rooms(&self) -> Vec<Option<String>> {
        let mut current = None;
        let rooms = self.trajectory.iter().map(|step| {
            current = rooms::room(&step.obs).map(str::to_owned).or_else(|| current.take());
            current.clone()
        });
        rooms.collect()
    }

    /// Returns the room in each step's own heading, if any.
    pub(super) fn headed_rooms(&self) -> Vec<Option<String>> {
        self.trajectory.iter().map(|step| rooms::room(&step.obs).map(str::to_owned)).collect()
    }
}
