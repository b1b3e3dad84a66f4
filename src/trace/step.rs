//! Events of a run: the input that readers and embedders supply, and the validated [`Step`] that detectors see.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::action::{Action, Arguments, Digests};
use super::ids::SpanId;
use super::text::Text;
use super::usage::Usage;
use crate::names::named;

named! {
    /// The actor of a step.
    #[derive(PartialOrd, Ord)]
    pub enum Actor: "actor" {
        /// The agent under study.
        Agent = "agent",
        /// The user, real or simulated. Users can call tools too.
        User = "user",
        /// Instructions from outside the conversation.
        System = "system",
        /// Events in the environment, and answers without a call.
        Environment = "environment",
    }
}

named! {
    /// The actors whose actions a detector considers.
    #[derive(Default)]
    pub enum Actors: "choice of actors" {
        /// The agent only.
        #[default]
        Agent = "agent",
        /// The user only.
        User = "user",
        /// All actors.
        All = "all",
    }
}

impl Actors {
    /// Returns true if `actor` is included.
    #[must_use]
    pub fn include(self, actor: Actor) -> bool {
        match self {
            Self::Agent => actor == Actor::Agent,
            Self::User => actor == Actor::User,
            Self::All => true,
        }
    }
}

/// The event of a step.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// A message.
    Message(Text<'a>),
    /// An action with its observation.
    Action(Action<'a>),
}

/// A step before validation.
#[derive(Debug, Clone)]
pub struct StepInput<'a> {
    pub(crate) index: Option<u64>,
    pub(crate) turn: Option<u64>,
    pub(crate) actor: Actor,
    pub(crate) location: Option<&'a str>,
    pub(crate) progress: Option<f64>,
    pub(crate) time: Option<u64>,
    pub(crate) usage: Option<Usage>,
    pub(crate) span: Option<SpanId>,
    pub(crate) event: Event<'a>,
}

impl<'a> StepInput<'a> {
    /// Creates a step with a message.
    #[must_use]
    pub fn message(actor: Actor, text: impl Into<Text<'a>>) -> Self {
        Self::new(actor, Event::Message(text.into()))
    }

    /// Creates a step with an action.
    #[must_use]
    pub fn action(actor: Actor, action: Action<'a>) -> Self {
        Self::new(actor, Event::Action(action))
    }

    fn new(actor: Actor, event: Event<'a>) -> Self {
        Self {
            index: None,
            turn: None,
            actor,
            location: None,
            progress: None,
            time: None,
            usage: None,
            span: None,
            event,
        }
    }

    /// Sets the step index. By default, the first step has index 0, and each later step has the next index.
    #[must_use]
    pub fn at(mut self, index: u64) -> Self {
        self.index = Some(index);
        self
    }

    /// Sets the turn, the index of the message that issued the step. By default, each step has a turn of its
    /// own.
    #[must_use]
    pub fn turn(mut self, turn: u64) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Sets the location of the agent, such as a room.
    #[must_use]
    pub fn location(mut self, location: &'a str) -> Self {
        self.location = Some(location);
        self
    }

    /// Sets the cumulative score after the step.
    #[must_use]
    pub fn progress(mut self, progress: f64) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Sets the start time, in nanoseconds since 1970.
    #[must_use]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }

    /// Sets the span of the step.
    #[must_use]
    pub fn span(mut self, span: SpanId) -> Self {
        self.span = Some(span);
        self
    }

    /// Sets the cost of the step.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

/// A validated step: indexes strictly increase within its trace and progress is finite.
///
/// Steps come from a [`StepValidator`](crate::trace::StepValidator), live or when a [`Trace`](crate::Trace)
/// is built.
///
/// ```
/// use wrongturn::{Action, trace::{Actor, Actors, StepValidator, StepInput}};
///
/// let mut gate = StepValidator::new();
/// let step = gate.admit(StepInput::action(Actor::User, Action::new("look")).location("kitchen"))?;
/// assert_eq!((step.index(), step.turn(), step.location()), (0, 0, Some("kitchen")));
/// // Detectors see the actions of the chosen actors.
/// assert!(step.action_of(Actors::Agent).is_none());
/// assert_eq!(step.action_of(Actors::All).map(|action| action.name), Some("look"));
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Step<'a> {
    pub(super) index: u64,
    pub(super) turn: u64,
    pub(super) actor: Actor,
    pub(super) location: Option<&'a str>,
    pub(super) progress: Option<f64>,
    pub(super) time: Option<u64>,
    pub(super) usage: Option<Usage>,
    pub(super) span: Option<SpanId>,
    pub(super) event: Event<'a>,
    pub(super) digests: Option<Digests>,
    /// Facts that detectors compute once and share.
    pub(super) facts: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl<'a> Step<'a> {
    /// Returns the index of the step.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the index of the message that issued the step.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns the actor.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.actor
    }

    /// Returns the location of the agent, if recorded.
    #[must_use]
    pub fn location(&self) -> Option<&'a str> {
        self.location
    }

    /// Returns the cumulative score after the step, if recorded. It is finite.
    #[must_use]
    pub fn progress(&self) -> Option<f64> {
        self.progress
    }

    /// Returns the start time in nanoseconds since 1970, if recorded. Detectors do not read it.
    #[must_use]
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// Returns the cost of the step, if recorded. Verdicts do not depend on it.
    #[must_use]
    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// Returns the span of the step, if recorded. Detectors do not read it.
    #[must_use]
    pub fn span(&self) -> Option<SpanId> {
        self.span
    }

    /// Returns the event.
    #[must_use]
    pub fn event(&self) -> &Event<'a> {
        &self.event
    }

    /// Converts the step to an input with the same index and turn.
    pub(crate) fn input(&self) -> StepInput<'a> {
        StepInput {
            index: Some(self.index),
            turn: Some(self.turn),
            actor: self.actor,
            location: self.location,
            progress: self.progress,
            time: self.time,
            usage: self.usage,
            span: self.span,
            event: self.event.clone(),
        }
    }

    /// Returns the action, if one of the chosen actors took it.
    #[must_use]
    pub fn action_of(&self, actors: Actors) -> Option<&Action<'a>> {
        match &self.event {
            Event::Action(action) if actors.include(self.actor) => Some(action),
            _ => None,
        }
    }

    /// Returns the action and its digests, if one of the chosen actors took it.
    #[must_use]
    pub fn digested(&self, actors: Actors) -> Option<(&Action<'a>, Digests)> {
        self.action_of(actors).zip(self.digests)
    }

    /// Returns the memory addresses of the name, arguments and answer of an action, or of the text of a message; 0
    /// stands for none.
    #[cfg(feature = "scan")]
    pub(crate) fn addresses(&self) -> [usize; 3] {
        let of = |bytes: Option<&[u8]>| bytes.map_or(0, |bytes| bytes.as_ptr().addr());
        match &self.event {
            Event::Message(text) => [of(Some(text.spelling())), 0, 0],
            Event::Action(action) => {
                let arguments = action.arguments.as_ref().present().and_then(Arguments::json);
                let answer = action.observation.present().map(|text| text.spelling());
                [of(Some(action.name.as_bytes())), of(arguments.map(str::as_bytes)), of(answer)]
            }
        }
    }

    /// Estimates the size of the step with its texts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match &self.event {
                Event::Message(text) => text.len(),
                Event::Action(action) => {
                    let arguments = action.arguments.as_ref().present().and_then(Arguments::json);
                    let observation = action.observation.present().map_or(0, |text| text.len());
                    action.name.len() + arguments.map_or(0, str::len) + observation
                }
            }
    }

    /// Returns facts about the step, computed by `find` on the first call and cached. Later calls do not run
    /// `find`, and return `None` if the cached facts have another type.
    pub(crate) fn facts<T: Any + Send + Sync>(&self, find: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.facts.get_or_init(|| Arc::new(find()))).downcast().ok()
    }
}
