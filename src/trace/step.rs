//! One event of a run: what a reader or an embedder hands in, and the validated [`Step`] that detectors see.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::{self, Digest};
use super::text::Text;

/// Who acts or speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// The agent under study.
    Agent,
    /// The user, real or simulated. Users can call tools too.
    User,
    /// Instructions from outside the conversation.
    System,
    /// What the world says without having been asked, and answers that no call belongs to.
    Environment,
}

/// Whose actions a detector folds over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actors {
    /// The agent's actions only.
    #[default]
    Agent,
    /// The user's actions only.
    User,
    /// The actions of everybody.
    All,
}

impl Actors {
    /// Whether the actions of `actor` are among the chosen ones.
    #[must_use]
    pub fn include(self, actor: Actor) -> bool {
        match self {
            Self::Agent => actor == Actor::Agent,
            Self::User => actor == Actor::User,
            Self::All => true,
        }
    }
}

/// How an action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was answered, and the answer is no error.
    Ok,
    /// It was answered with an error.
    Error,
    /// It was never answered.
    #[default]
    Unknown,
}

/// What told the status, from the most to the least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// A structured error flag.
    Flag,
    /// The exit code of a command.
    ExitCode,
    /// A structured error type, or the status of a span.
    ErrorType,
    /// A rule on the text of the observation.
    Text,
    /// Nothing told it.
    #[default]
    None,
}

/// The arguments of a call: their digest, and their JSON text for whoever looks inside.
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    /// `None`: the reader was told not to keep it.
    json: Option<Cow<'a, str>>,
    digest: Digest,
}

impl<'a> Arguments<'a> {
    /// Arguments from a JSON value, kept in canonical form. Null is the same as none, and as an empty object.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let canonical = digest::canonical_value(value);
        Self { digest: Digest::of_arguments(value), json: Some(Cow::Owned(canonical)) }
    }

    /// Arguments from a JSON text. A text that is no sound JSON stands for itself.
    #[must_use]
    pub fn from_json(json: &'a str) -> Self {
        let digest = if json == "null" { Digest::of_no_arguments() } else { Digest::of_json(json) };
        Self::from_parts(json, digest)
    }

    pub(crate) fn from_parts(json: &'a str, digest: Digest) -> Self {
        Self { json: Some(Cow::Borrowed(json)), digest }
    }

    pub(crate) fn from_digest(digest: Digest) -> Self {
        Self { json: None, digest }
    }

    /// The digest of the canonical form.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The arguments as JSON text, spelled as in the source. `None`: the text was not kept, see
    /// [`ReadOptions::argument_texts`](crate::ReadOptions::argument_texts).
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// The arguments as canonical JSON text, where the text was kept.
    #[must_use]
    pub fn canonical(&self) -> Option<String> {
        self.json().map(digest::canonical_text)
    }

    /// The digest of one argument; `None` where it was not given, or the text was not kept.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Digest> {
        digest::member(self.json()?, name)
    }
}

/// One action with its observation: a tool call and its answer, or a command and what it printed.
///
/// ```
/// use tracelint::{Action, Status};
///
/// let arguments = serde_json::json!({"order_id": "#W1"});
/// let action = Action::new("get_order").arguments(&arguments).answered(Status::Error, "Error: not found");
/// assert_eq!(action.status, Status::Error);
/// ```
#[derive(Debug, Clone)]
pub struct Action<'a> {
    /// Name of the tool, or the whole text of a command.
    pub name: &'a str,
    /// Arguments, where there are any.
    pub arguments: Option<Arguments<'a>>,
    /// The source's id of the call. Ids may repeat within a run.
    pub call_id: Option<&'a str>,
    /// What came back.
    pub observation: Option<Text<'a>>,
    /// How the action ended.
    pub status: Status,
    /// What told the status.
    pub provenance: Provenance,
    /// The structured type of an error, such as `timeout`.
    pub error_type: Option<&'a str>,
}

impl<'a> Action<'a> {
    /// An action that was not answered (yet).
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            arguments: None,
            call_id: None,
            observation: None,
            status: Status::Unknown,
            provenance: Provenance::None,
            error_type: None,
        }
    }

    /// With these arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: &Value) -> Self {
        self.arguments = Some(Arguments::from_value(arguments));
        self
    }

    /// With this call id.
    #[must_use]
    pub fn call_id(mut self, id: &'a str) -> Self {
        self.call_id = Some(id);
        self
    }

    /// With this answer, whose status a structured flag told.
    #[must_use]
    pub fn answered(mut self, status: Status, observation: &'a str) -> Self {
        self.observation = Some(observation.into());
        self.status = status;
        self.provenance = Provenance::Flag;
        self
    }

    /// With this source of the status.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// With this structured error type.
    #[must_use]
    pub fn error_type(mut self, error_type: &'a str) -> Self {
        self.error_type = Some(error_type);
        self
    }
}

/// What happens in a step.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// Somebody says something.
    Message(Text<'a>),
    /// Somebody does something.
    Action(Action<'a>),
}

/// A step as it is handed in, before validation.
///
/// ```
/// use tracelint::{Action, Actor, StepInput};
///
/// let step = StepInput::action(Actor::Agent, Action::new("look")).at(7).location("kitchen").progress(3.0);
/// # let _ = step;
/// ```
#[derive(Debug, Clone)]
pub struct StepInput<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) turn: Option<u64>,
    pub(crate) actor: Actor,
    pub(crate) location: Option<&'a str>,
    pub(crate) progress: Option<f64>,
    pub(crate) event: Event<'a>,
}

impl<'a> StepInput<'a> {
    /// A message.
    #[must_use]
    pub fn message(actor: Actor, text: impl Into<Text<'a>>) -> Self {
        Self::new(actor, Event::Message(text.into()))
    }

    /// An action.
    #[must_use]
    pub fn action(actor: Actor, action: Action<'a>) -> Self {
        Self::new(actor, Event::Action(action))
    }

    fn new(actor: Actor, event: Event<'a>) -> Self {
        Self { index: None, turn: None, actor, location: None, progress: None, event }
    }

    /// With this step index; without one, a step has the index after that of the step before (first: 0).
    #[must_use]
    pub fn at(mut self, index: u64) -> Self {
        self.index = Some(index);
        self
    }

    /// With this turn, the index of the message that issued it; without one, a step has a turn of its own.
    #[must_use]
    pub fn turn(mut self, turn: u64) -> Self {
        self.turn = Some(turn);
        self
    }

    /// At this place.
    #[must_use]
    pub fn location(mut self, location: &'a str) -> Self {
        self.location = Some(location);
        self
    }

    /// With this cumulative score after the step.
    #[must_use]
    pub fn progress(mut self, progress: f64) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// The digests by which detectors compare actions, computed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Digests {
    /// Of the name as it is.
    pub name: Digest,
    /// Of the name trimmed and lower-cased.
    pub folded_name: Digest,
    /// Of the canonical arguments; where there are none, of an empty object.
    pub arguments: Digest,
    /// Of the observation.
    pub observation: Option<Digest>,
}

impl Digests {
    pub(crate) fn of(action: &Action<'_>) -> Self {
        let name = Digest::of_text(action.name);
        let folded = fold_name(action.name);
        Self {
            name,
            folded_name: if folded == action.name { name } else { Digest::of_text(&folded) },
            arguments: action.arguments.as_ref().map_or_else(Digest::of_no_arguments, Arguments::digest),
            observation: action.observation.map(|text| text.digest()),
        }
    }
}

/// A name trimmed and lower-cased.
pub(crate) fn fold_name(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let trimmed = name.trim();
    if trimmed.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.to_lowercase())
    }
}

/// A validated step: indices strictly increase within its trace and progress is finite.
///
/// Only a [`Gate`](crate::Gate) makes one, be it for a whole [`Trace`](crate::Trace) or online.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    pub(super) index: u64,
    pub(super) turn: u64,
    pub(super) actor: Actor,
    pub(super) location: Option<&'a str>,
    pub(super) progress: Option<f64>,
    pub(super) event: Event<'a>,
    pub(super) digests: Option<Digests>,
}

impl<'a> Step<'a> {
    /// The source's index of the step.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The index of the message that issued the step.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Who acts or speaks.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.actor
    }

    /// Where it happens.
    #[must_use]
    pub fn location(&self) -> Option<&'a str> {
        self.location
    }

    /// The cumulative score after the step; finite.
    #[must_use]
    pub fn progress(&self) -> Option<f64> {
        self.progress
    }

    /// What happens.
    #[must_use]
    pub fn event(&self) -> &Event<'a> {
        &self.event
    }

    /// The action, where the step is one of the chosen actors' actions.
    #[must_use]
    pub fn action_of(&self, actors: Actors) -> Option<&Action<'a>> {
        match &self.event {
            Event::Action(action) if actors.include(self.actor) => Some(action),
            _ => None,
        }
    }

    /// The action and its digests, where the step is one of the chosen actors' actions.
    #[must_use]
    pub fn digested(&self, actors: Actors) -> Option<(&Action<'a>, Digests)> {
        self.action_of(actors).zip(self.digests)
    }
}
