//! [`StepValidator`] validates steps, and a [`StepSink`] receives them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::action::{Digests, Status};
use super::route::RouteStatus;
use super::step::{Event, Step, StepInput};
use crate::error::{Error, Result};

/// Metadata of a run. Every field is optional, because sources differ in what they record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Metadata {
    /// The id that the source gives the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// For a sub-agent's run, the id of the trace that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The model that drove the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The domain, environment or game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<Arc<str>>,
    /// The task within the domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The number that the source gives this trial of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<u64>,
    /// The file or system of origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why the run ended, in the source's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination: Option<String>,
    /// Further metadata, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Counts of unpaired calls and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unpaired {
    /// Calls without an answer.
    pub calls: u64,
    /// Answers without a call.
    pub messages: u64,
}

impl Unpaired {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.messages = self.messages.saturating_add(other.messages);
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A failure that the source labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledFailure {
    /// The failure mode, in the source's words.
    pub mode: String,
    /// First and last step of the failure, if labelled.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// True if the source marks it as a cause of the outcome.
    #[serde(default)]
    pub core: bool,
    /// The reason, in the source's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<String>,
}

/// Facts about a run that are known at its end.
///
/// ```
/// use wrongturn::{Metadata, trace::{RunSummary, Unpaired}};
///
/// let mut metadata = Metadata::default();
/// metadata.id = Some("run 7".to_owned());
/// let ending = RunSummary::new(metadata, Some(0.5))?.with_unpaired(Unpaired { calls: 1, messages: 0 });
/// assert_eq!((ending.reward(), ending.unpaired().calls), (Some(0.5), 1));
/// assert!(RunSummary::new(Metadata::default(), Some(f64::NAN)).is_err());
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunSummary {
    pub(crate) metadata: Metadata,
    pub(crate) reward: Option<f64>,
    pub(crate) unpaired: Unpaired,
    pub(crate) failures: Vec<LabelledFailure>,
}

impl RunSummary {
    /// Makes a summary without unpaired counts or failures.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the reward is not finite.
    pub fn new(metadata: Metadata, reward: Option<f64>) -> Result<Self> {
        let mut ending = Self { metadata, ..Self::default() };
        ending.set_reward(reward)?;
        Ok(ending)
    }

    /// Fills in the id, task, model, agent, termination and reward from another summary where they are missing.
    pub(crate) fn fill(&mut self, other: &Self) {
        let (own, from) = (&mut self.metadata, &other.metadata);
        own.id = own.id.take().or_else(|| from.id.clone());
        own.task = own.task.take().or_else(|| from.task.clone());
        own.model = own.model.take().or_else(|| from.model.clone());
        own.agent = own.agent.take().or_else(|| from.agent.clone());
        own.termination = own.termination.take().or_else(|| from.termination.clone());
        self.reward = self.reward.or(other.reward);
    }

    /// Replaces the reward.
    ///
    /// # Errors
    /// If the new reward is not finite.
    pub(crate) fn set_reward(&mut self, reward: Option<f64>) -> Result<()> {
        if let Some(reward) = reward.filter(|reward| !reward.is_finite()) {
            return Err(Error::trace(format!("the reward is {reward}, which is not finite")));
        }
        self.reward = reward;
        Ok(())
    }

    /// Sets the counts of unpaired calls and answers.
    #[must_use]
    pub fn with_unpaired(self, unpaired: Unpaired) -> Self {
        Self { unpaired, ..self }
    }

    /// Sets the labelled failures.
    #[must_use]
    pub fn with_failures(self, failures: Vec<LabelledFailure>) -> Self {
        Self { failures, ..self }
    }

    /// Returns the metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the reward, if recorded. It is finite.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        self.reward
    }

    /// Returns the counts of unpaired calls and answers.
    #[must_use]
    pub fn unpaired(&self) -> Unpaired {
        self.unpaired
    }

    /// Returns the failures that the source labels.
    #[must_use]
    pub fn failures(&self) -> &[LabelledFailure] {
        &self.failures
    }
}

/// Facts about the source of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunSource<'s> {
    pub(crate) format: Option<&'static str>,
    pub(crate) places: Option<&'s dyn Places>,
}

impl RunSource<'_> {
    /// Returns the name of the format, if the steps were read from an input.
    #[must_use]
    pub fn format(&self) -> Option<&'static str> {
        self.format
    }
}

/// Finds the places of steps in the input that they borrow from.
pub(crate) trait Places: std::fmt::Debug {
    /// Returns the place of the first of these memory addresses that lies in the input.
    fn place(&self, addresses: [usize; 3]) -> Option<SourcePlace>;
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SourcePlace {
    /// The 1-based line.
    pub line: u64,
    /// The JSON pointer of the element in its document. For a run in a list, the pointer is relative to the
    /// run until the position of the run is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The key of the list of runs, until the pointer is complete. Empty if the document itself is the list.
    #[serde(skip)]
    pub(crate) list: Option<&'static str>,
}

impl SourcePlace {
    /// Completes the pointer with the position of the run in its list.
    #[cfg(feature = "scan")]
    pub(crate) fn settle(&mut self, position: u64) {
        if let Some(list) = self.list.take() {
            let list = if list.is_empty() { String::new() } else { format!("/{list}") };
            self.pointer = Some(format!("{list}/{position}{}", self.pointer.as_deref().unwrap_or_default()));
        }
    }
}

/// Receives the validated steps of the runs of one file, without building a [`Trace`](crate::Trace).
///
/// ```
/// use wrongturn::{ReadOptions, Status, Step, read::read_slice, trace::{RunSummary, Event, RouteStatus, StepSink}};
///
/// /// Counts the failed actions of each run.
/// #[derive(Default)]
/// struct Failures {
///     of_run: u64,
///     of_runs: Vec<u64>,
/// }
///
/// impl StepSink for Failures {
///     fn begin(&mut self, _position: u64, _routing: &RouteStatus) {
///         self.of_run = 0;
///     }
///
///     fn step(&mut self, step: &Step<'_>) {
///         if let Event::Action(action) = step.event() {
///             self.of_run += u64::from(action.status == Status::Error);
///         }
///     }
///
///     fn end(&mut self, _ending: RunSummary) {
///         self.of_runs.push(self.of_run);
///     }
///
///     fn abandon(&mut self) {}
/// }
///
/// let run = br#"{"version": 1, "steps": [{"name": "look", "status": "error"}, {"name": "look", "status": "ok"}]}"#;
/// let mut failures = Failures::default();
/// let reading = read_slice(run, &ReadOptions::default(), &mut failures);
/// assert_eq!((reading.counts.runs, failures.of_runs), (1, vec![1]));
/// ```
pub trait StepSink {
    /// Begins the run at this 0-based position of its file.
    fn begin(&mut self, position: u64, routing: &RouteStatus);

    /// Receives the next step of the run. Actions arrive in call order, each with its answer.
    fn step(&mut self, step: &Step<'_>);

    /// Completes the run.
    fn end(&mut self, ending: RunSummary);

    /// Completes the run, with facts about its source. By default, calls [`StepSink::end`] without them.
    fn end_of(&mut self, ending: RunSummary, source: &RunSource<'_>) {
        let _ = source;
        self.end(ending);
    }

    /// Discards the run, which could not be read, with all its steps since [`StepSink::begin`].
    fn abandon(&mut self);

    /// Receives an error in the input. An error that is returned goes into the
    /// [`ReadSummary`](crate::read::ReadSummary); to handle an error, return `None`. By default, returns the error.
    fn error(&mut self, error: Error) -> Option<Error> {
        Some(error)
    }
}

/// Validates the steps of one run, in order.
///
/// ```
/// use wrongturn::{Action, trace::{Actor, StepValidator, StepInput}};
///
/// let mut gate = StepValidator::new();
/// let step = gate.admit(StepInput::action(Actor::Agent, Action::new("look")))?;
/// assert_eq!(step.index(), 0);
/// assert!(gate.admit(StepInput::message(Actor::User, "hi").at(0)).is_err());
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct StepValidator {
    next_index: u64,
    next_turn: u64,
    full: bool,
}

impl StepValidator {
    /// Makes a validator for a new run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Validates one step. An action with a known status loses its
    /// [`UnknownReason`](crate::trace::UnknownReason).
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the index does not exceed that of the previous step,
    /// or if the progress is not finite. The validator is then unchanged, and the run can go on without the step.
    #[inline]
    pub fn admit<'a>(&mut self, input: StepInput<'a>) -> Result<Step<'a>> {
        let StepInput { index, turn, actor, location, progress, time, usage, span, mut event } = input;
        let index = index.unwrap_or(self.next_index);
        if index < self.next_index || self.full {
            return Err(Error::trace(format!(
                "step {index} does not come after step {}",
                if self.full { u64::MAX } else { self.next_index.saturating_sub(1) }
            )));
        }
        if let Some(progress) = progress.filter(|progress| !progress.is_finite()) {
            return Err(Error::trace(format!(
                "the progress of step {index} is {progress}, which is not finite"
            )));
        }
        let turn = turn.unwrap_or(self.next_turn);
        self.next_turn = turn.saturating_add(1);
        self.full = index == u64::MAX;
        self.next_index = index.saturating_add(1);
        let digests = match &mut event {
            Event::Action(action) => {
                if action.status != Status::Unknown {
                    action.reason = None;
                }
                Some(Digests::of(action))
            }
            Event::Message(_) => None,
        };
        Ok(Step {
            index,
            turn,
            actor,
            location,
            progress,
            time,
            usage,
            span,
            event,
            digests,
            facts: OnceLock::new(),
        })
    }
}
