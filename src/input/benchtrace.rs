//! `BenchTrace` episodes: `{version, game, n_episodes?, episodes: […]}`, a bare list, or one episode.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::value::RawValue;

use super::container::{Layout, RunContext};
use super::wire::{Ident, Object, RawText, Str};
use crate::error::Result;
use crate::trace::{
    Action, Actor, Ending, Gate, LabelledFailure, Metadata, Milestone, Provenance, ReferenceRoute, Routing,
    Status, StepInput, StepSink, Text,
};

/// What the `obs` of an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    /// What the agent saw before its action: the feedback of an action is the `obs` of the next entry.
    Before,
    /// What came of the action: the first entry has none.
    After,
}

/// The `BenchTrace` layout.
#[derive(Debug, Clone, Default)]
pub(super) struct BenchTrace {
    /// `None`: as the first entry of each episode tells.
    alignment: Option<Alignment>,
    game: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Episode<'a> {
    #[serde(default, borrow)]
    id: Option<Ident<'a>>,
    #[serde(default, borrow)]
    game: Option<Str<'a>>,
    #[serde(default, borrow)]
    model: Option<Str<'a>>,
    #[serde(default, borrow)]
    task_type: Option<&'a RawValue>,
    #[serde(borrow)]
    snapshot: Object<Snapshot<'a>>,
    #[serde(default, borrow)]
    failure_instances: Option<Object<Failures<'a>>>,
    #[serde(default, borrow)]
    milestones: Option<Vec<Object<WireMilestone<'a>>>>,
}

#[derive(Deserialize)]
struct Snapshot<'a> {
    #[serde(default)]
    final_score: Option<f64>,
    #[serde(default)]
    max_score: Option<f64>,
    #[serde(borrow)]
    trajectory: Vec<Object<Entry<'a>>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(default)]
    step: Option<u64>,
    #[serde(default, borrow)]
    obs: Option<RawText<'a>>,
    #[serde(default, borrow)]
    action: Option<Str<'a>>,
    #[serde(default, borrow)]
    location: Option<Str<'a>>,
    #[serde(default)]
    reward: Option<f64>,
    #[serde(default)]
    cum_score: Option<f64>,
    #[serde(default)]
    progress: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Failures<'a> {
    #[serde(default, borrow)]
    core_failure: Option<Vec<Object<Failure<'a>>>>,
    #[serde(default, borrow)]
    marginal_failure: Option<Vec<Object<Failure<'a>>>>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(rename = "type", borrow)]
    mode: Str<'a>,
    #[serde(rename = "where", default)]
    range: Option<(u64, u64)>,
    #[serde(default, borrow)]
    diagnosis: Option<Str<'a>>,
}

#[derive(Deserialize)]
struct WireMilestone<'a> {
    walkthrough_step: u64,
    score_after: f64,
    #[serde(default, borrow)]
    action: Option<Str<'a>>,
}

impl Layout for BenchTrace {
    const RUNS: &'static str = "episodes";
    const RUN_KEYS: &'static [&'static str] = &["snapshot", "failure_instances", "milestones"];
    const NAME: &'static str = "BenchTrace file";
    type Scratch<'de> = ();

    fn header_value<'de, D: Deserializer<'de>>(&mut self, key: &str, value: D) -> Result<bool, D::Error> {
        if key == "game" {
            self.game = Option::deserialize(value)?;
            return Ok(true);
        }
        IgnoredAny::deserialize(value)?;
        Ok(false)
    }

    fn run<'de, D: Deserializer<'de>>(
        &mut self,
        run: D,
        (): &mut (),
        context: &mut RunContext,
        sink: &mut dyn StepSink,
    ) -> Result<(), D::Error> {
        let Object(episode) = Object::<Episode<'_>>::deserialize(run)?;
        let position = context.position();
        context.typed(self.feed(&episode, position, sink))
    }

    fn domain(&self) -> Option<&Arc<str>> {
        self.game.as_ref()
    }
}

impl BenchTrace {
    pub(super) fn with_alignment(alignment: Option<Alignment>) -> Self {
        Self { alignment, game: None }
    }

    fn feed(&self, episode: &Episode<'_>, position: u64, sink: &mut dyn StepSink) -> Result<()> {
        sink.begin(position, &episode.routing()?);
        let entries = &episode.snapshot.0.trajectory;
        let alignment = self.alignment.unwrap_or(match entries.first() {
            Some(first) if first.0.action().is_none() => Alignment::After,
            _ => Alignment::Before,
        });
        let mut gate = Gate::new();
        let mut sum = 0.0;
        let following = entries.iter().skip(1).map(Some).chain([None]);
        for (Object(entry), next) in entries.iter().zip(following) {
            let feedback = match alignment {
                Alignment::Before => next.and_then(|next| next.0.obs),
                Alignment::After => entry.obs,
            };
            let headed = entry.obs.filter(|_| entry.location.is_none()).and_then(|obs| room(&obs.0.to_str()));
            let mut step = entry.input(feedback.map(|feedback| feedback.0));
            step.location = entry.location.as_ref().map(|location| &*location.0).or(headed.as_deref());
            sum += entry.reward.unwrap_or(0.0);
            step.progress = entry.cum_score.or(entry.progress).or(entry.reward.map(|_| sum));
            if let Some(number) = entry.step {
                step = step.at(number).turn(number);
            }
            sink.step(&gate.admit(step)?);
        }
        sink.end(self.ending(episode)?);
        Ok(())
    }

    fn ending(&self, episode: &Episode<'_>) -> Result<Ending> {
        let shared = |text: &Option<Str<'_>>| text.as_ref().map(|text| Arc::from(&*text.0));
        let mut metadata = Metadata {
            id: episode.id.as_ref().map(|id| id.0.clone().into_owned()),
            model: shared(&episode.model),
            domain: shared(&episode.game).or_else(|| self.game.clone()),
            ..Metadata::default()
        };
        metadata.task = episode.task_type.and_then(|task| serde_json::from_str(task.get()).ok());
        let Snapshot { final_score, max_score, .. } = episode.snapshot.0;
        let reward = final_score.zip(max_score.filter(|max| *max != 0.0)).map(|(score, max)| score / max);
        let mut ending = Ending::new(metadata, reward)?;
        if let Some(failures) = &episode.failure_instances {
            let groups = [(&failures.0.core_failure, true), (&failures.0.marginal_failure, false)];
            ending.failures = groups
                .into_iter()
                .flat_map(|(group, core)| group.iter().flatten().map(move |failure| (&failure.0, core)))
                .map(|(failure, core)| LabelledFailure {
                    mode: failure.mode.0.clone().into_owned(),
                    range: failure.range,
                    core,
                    diagnosis: failure.diagnosis.as_ref().map(|text| text.0.clone().into_owned()),
                })
                .collect();
        }
        Ok(ending)
    }
}

impl Episode<'_> {
    fn routing(&self) -> Result<Routing> {
        let Some(milestones) = &self.milestones else {
            return Ok(Routing::Unknown("the episode has no milestones".into()));
        };
        let milestones = milestones.iter().map(|Object(wire)| {
            let milestone = Milestone::score(wire.walkthrough_step, wire.score_after);
            match &wire.action {
                Some(action) => milestone.label(action.0.clone()),
                None => milestone,
            }
        });
        ReferenceRoute::new(milestones.collect()).map(|route| Some(route).into())
    }
}

impl Entry<'_> {
    fn action(&self) -> Option<&str> {
        self.action.as_ref().map(|action| &*action.0).filter(|action| !action.trim().is_empty())
    }

    fn input<'s>(&'s self, feedback: Option<Text<'s>>) -> StepInput<'s> {
        let Some(name) = self.action() else {
            let seen = self.obs.map_or_else(|| Text::from(""), |obs| obs.0);
            return StepInput::message(Actor::Environment, seen);
        };
        let status = if feedback.is_some() { Status::Ok } else { Status::Unknown };
        let mut action = Action::new(name).provenance(Provenance::None);
        (action.observation, action.status) = (feedback.into(), status);
        StepInput::action(Actor::Agent, action)
    }
}

/// The room that an observation is headed with: `** Room **`, `<<Room>>`, or a title-cased line of its own.
fn room(observation: &str) -> Option<String> {
    observation.lines().map(str::trim).find_map(|line| {
        let framed = |open: &str, close: &str| line.strip_prefix(open)?.strip_suffix(close).map(str::trim);
        let name =
            framed("**", "**").or_else(|| framed("<<", ">>")).or_else(|| is_title(line).then_some(line))?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// Whether a line reads like the name of a room: a few words, capitals in front, no punctuation behind.
fn is_title(line: &str) -> bool {
    const SMALL: [&str; 12] = ["of", "the", "in", "on", "at", "to", "a", "an", "and", "with", "from", "by"];
    let words: Vec<&str> = line.split_whitespace().collect();
    let capital = |word: &str| word.trim_start_matches('(').starts_with(char::is_uppercase);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '\'' | '(' | ')' | ',');
    (1..=7).contains(&words.len())
        && line.chars().all(plain)
        && !line.ends_with(',')
        && words.first().is_some_and(|first| capital(first))
        && words
            .iter()
            .all(|word| capital(word) || SMALL.contains(word) || word.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::room;

    #[test]
    fn rooms_are_found_by_their_headers() {
        for (observation, expected) in [
            ("** Kitchen **\nA table.", Some("Kitchen")),
            ("You walk.\n<<Boiler Room>>\nHot.", Some("Boiler Room")),
            ("West of House\nYou are standing in an open field.", Some("West of House")),
            ("This room is called the hallway.", None),
            ("Taken.", None),
            ("You can't go that way", None),
            ("", None),
            ("** **", None),
        ] {
            assert_eq!(room(observation).as_deref(), expected, "{observation}");
        }
    }
}
