//! BenchTrace episodes: `{version, game, n_episodes?, episodes: […]}`, a bare list, or one episode.

use std::sync::Arc;

use super::prelude::*;
use crate::error::Result;
use crate::json::JsonString;
use crate::names::named;
use crate::trace::{
    Action, LabelledFailure, Milestone, ReferenceRoute, RouteStatus, RunSummary, StepInput, StepValidator,
};

pub(super) const FORMAT: Definition = Definition {
    signature: &[
        Shape::Object(All(&[MayBeList("episodes"), Not(&OTHERS)])),
        Shape::Lines(All(&[MayBeList("episodes"), Not(&OTHERS)])),
        // Claude Code sessions have snapshots as well, in lines with a type.
        Shape::Each(All(&[Any(&[EPISODE, Has(&["failure_instances"])]), Not(&Is(Kind::String, &["type"]))])),
    ],
    reader: Reader::Records(RecordReader {
        what: "a BenchTrace file (an object or a list)",
        list: "episodes",
        run_keys: &["snapshot", "failure_instances", "milestones"],
        header_keys: &["game"],
        header,
        is_complete: |header| header.flat_domain.is_some(),
        run,
    }),
};

/// A list of episodes of another tool: none of the first has a key of BenchTrace.
const OTHERS: Mark = Every("episodes", &Not(&HasOne(&["snapshot", "failure_instances", "milestones"])));

/// An episode. Other tools have snapshots as well, so a snapshot alone must have a trajectory.
const EPISODE: Mark = All(&[
    Has(&["snapshot"]),
    Any(&[
        Has(&["id"]),
        Has(&["game"]),
        Has(&["model"]),
        Has(&["task_type"]),
        Has(&["milestones"]),
        In("snapshot", &Has(&["trajectory"])),
    ]),
]);

named! {
    /// The relation of `obs` to the action in the same entry.
    pub enum Alignment: "alignment" {
        /// `obs` precedes the action. The feedback of the action is the `obs` of the next entry.
        Before = "before",
        /// `obs` is the feedback of the action. This is the default if the first entry has no action.
        After = "after",
    }
}

/// Reads the default game, for episodes without one.
fn header(key: &[u8], json: &mut Json<'_>, _: &Runs<'_>, header: &mut Header) -> Read<()> {
    if key == b"game" {
        header.flat_domain = json.or_null(Json::string)?.map(Arc::from);
        return Ok(());
    }
    json.skip()
}

#[derive(Default)]
struct Episode<'a> {
    id: Option<Cow<'a, str>>,
    game: Option<Cow<'a, str>>,
    model: Option<Cow<'a, str>>,
    task: Option<Cow<'a, str>>,
    final_score: Option<f64>,
    max_score: Option<f64>,
    entries: Option<Vec<Entry<'a>>>,
    failures: Vec<LabelledFailure>,
    milestones: Option<Vec<Milestone>>,
}

#[derive(Default)]
struct Entry<'a> {
    step: Option<u64>,
    obs: Option<JsonString<'a>>,
    action: Option<Cow<'a, str>>,
    location: Option<Cow<'a, str>>,
    reward: Option<f64>,
    cum_score: Option<f64>,
    progress: Option<f64>,
}

fn run(json: &mut Json<'_>, header: &Header, _: &mut Assembler<'_>, runs: &mut Runs<'_>) -> Read<RunSummary> {
    let start = json.offset();
    let mut episode = Episode::default();
    let mut has_snapshot = false;
    json.object(fields!(key, value => {
        b"id" => episode.id = if value.null()? { None } else { Some(value.ident()?) },
        b"game" => episode.game = value.or_null(Json::string)?,
        b"model" => episode.model = value.or_null(Json::string)?,
        b"task_type" => episode.task = value.raw()?.string(),
        b"snapshot" => {
            has_snapshot = true;
            episode.snapshot(value)?;
        }
        b"failure_instances" => {
            episode.failures.clear();
            value.object_or_null(|key, group| match key {
                b"core_failure" => failures(group, true, &mut episode.failures),
                b"marginal_failure" => failures(group, false, &mut episode.failures),
                _ => group.skip(),
            })?;
            // Core failures come first, whatever the order in the file.
            episode.failures.sort_by_key(|failure| !failure.core);
        }
        b"milestones" => episode.milestones = value.or_null(|list| list.list_of(milestone))?,
    }))?;
    if !has_snapshot {
        return Err(json.missing("snapshot"));
    }
    let entries = episode.entries.take().ok_or_else(|| json.missing("trajectory"))?;
    let typed = |error: Error| Fault::other(start, error);
    runs.begin(&episode.routing().map_err(typed)?);
    feed(&entries, runs).map_err(typed)?;
    episode.ending(header).map_err(typed)
}

fn milestone(json: &mut Json<'_>) -> Read<Milestone> {
    let (mut step, mut score, mut action) = (None, None, None);
    json.object(fields!(key, value => {
        b"walkthrough_step" => step = Some(value.whole()?),
        b"score_after" => score = Some(value.float()?),
        b"action" => action = value.or_null(Json::string)?,
    }))?;
    let step = step.ok_or_else(|| json.missing("walkthrough_step"))?;
    let milestone = Milestone::score(step, score.ok_or_else(|| json.missing("score_after"))?);
    Ok(match action {
        Some(action) => milestone.label(action),
        None => milestone,
    })
}

fn failures(json: &mut Json<'_>, core: bool, into: &mut Vec<LabelledFailure>) -> Read<()> {
    json.list_or_null(|failure| {
        let (mut mode, mut range, mut diagnosis) = (None, None, None);
        failure.object(fields!(key, value => {
            b"type" => mode = Some(value.string()?.into_owned()),
            b"where" => {
                let at = value.offset();
                range = match value.or_null(|list| list.list_of(Json::whole))?.as_deref() {
                    Some(&[first, last]) => Some((first, last)),
                    None => None,
                    Some(_) => return Err(Fault::shape(at, "a range has a first and a last step")),
                };
            }
            b"diagnosis" => diagnosis = value.or_null(Json::string)?.map(Cow::into_owned),
        }))?;
        let mode = mode.ok_or_else(|| failure.missing("type"))?;
        into.push(LabelledFailure { mode, range, core, diagnosis });
        Ok(())
    })?;
    Ok(())
}

fn entry<'a>(json: &mut Json<'a>) -> Read<Entry<'a>> {
    let mut entry = Entry::default();
    json.object(fields!(key, value => {
        b"step" => entry.step = value.or_null(Json::whole)?,
        b"obs" => entry.obs = value.or_null(Json::text)?,
        b"action" => entry.action = value.or_null(Json::string)?,
        b"location" => entry.location = value.or_null(Json::string)?,
        b"reward" => entry.reward = value.or_null(Json::float)?,
        b"cum_score" => entry.cum_score = value.or_null(Json::float)?,
        b"progress" => entry.progress = value.or_null(Json::float)?,
    }))?;
    Ok(entry)
}

/// Emits a step for each entry. The alignment decides which `obs` is its feedback.
fn feed(entries: &[Entry<'_>], runs: &mut Runs<'_>) -> Result<()> {
    let alignment = runs.options.alignment.unwrap_or(match entries.first() {
        Some(first) if first.action().is_none() => Alignment::After,
        _ => Alignment::Before,
    });
    let mut gate = StepValidator::new();
    let mut sum = 0.0;
    let following = entries.iter().skip(1).map(Some).chain([None]);
    for (entry, next) in entries.iter().zip(following) {
        let feedback = match alignment {
            Alignment::Before => next.and_then(|next| next.obs),
            Alignment::After => entry.obs,
        };
        let headed = entry.obs.filter(|_| entry.location.is_none()).and_then(|obs| room(&obs.decode()));
        let mut step = entry.input(feedback.map(Text::from));
        step.location = entry.location.as_deref().or(headed.as_deref());
        sum += entry.reward.unwrap_or(0.0);
        step.progress = entry.cum_score.or(entry.progress).or(entry.reward.map(|_| sum));
        if let Some(number) = entry.step {
            step = step.at(number).turn(number);
        }
        runs.step(&gate.admit(step)?);
    }
    Ok(())
}

impl<'a> Episode<'a> {
    fn snapshot(&mut self, json: &mut Json<'a>) -> Read<()> {
        json.object(fields!(key, value => {
            b"final_score" => self.final_score = value.or_null(Json::float)?,
            b"max_score" => self.max_score = value.or_null(Json::float)?,
            b"trajectory" => self.entries = Some(value.list_of(entry)?),
        }))
    }

    fn ending(self, header: &Header) -> Result<RunSummary> {
        let metadata = Metadata {
            id: self.id.map(Cow::into_owned),
            model: self.model.map(Arc::from),
            domain: self.game.map(Arc::from).or_else(|| header.domain()),
            task: self.task.map(Cow::into_owned),
            ..Metadata::default()
        };
        let max = self.max_score.filter(|max| *max != 0.0);
        let reward = self.final_score.zip(max).map(|(score, max)| score / max);
        Ok(RunSummary::new(metadata, reward)?.with_failures(self.failures))
    }

    fn routing(&self) -> Result<RouteStatus> {
        match &self.milestones {
            None => Ok(RouteStatus::Unknown("the episode has no milestones".into())),
            Some(milestones) => ReferenceRoute::new(milestones.clone()).map(|route| Some(route).into()),
        }
    }
}

impl Entry<'_> {
    fn action(&self) -> Option<&str> {
        self.action.as_deref().filter(|action| !action.trim().is_empty())
    }

    fn input<'s>(&'s self, feedback: Option<Text<'s>>) -> StepInput<'s> {
        let Some(name) = self.action() else {
            let seen = self.obs.map_or_else(|| Text::from(""), Text::from);
            return StepInput::message(Actor::Environment, seen);
        };
        let status = if feedback.is_some() { Status::Ok } else { Status::Unknown };
        let mut action = Action::new(name).provenance(Provenance::None);
        (action.observation, action.status) = (Content::from(feedback), status);
        StepInput::action(Actor::Agent, action)
    }
}

/// Returns the room in the heading of an observation: `** Room **`, `<<Room>>`, or a title-cased line of its
/// own.
fn room(observation: &str) -> Option<String> {
    observation.lines().map(str::trim).find_map(|line| {
        let framed = |open: &str, close: &str| line.strip_prefix(open)?.strip_suffix(close).map(str::trim);
        let name =
            framed("**", "**").or_else(|| framed("<<", ">>")).or_else(|| is_title(line).then_some(line))?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// Returns true if a line looks like the name of a room: a few capitalized words without final punctuation.
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
