//! One event of a run: what a reader or an embedder hands in, and the validated [`Step`] that detectors see.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::action::{Action, Arguments, Digests};
use super::ids::SpanId;
use super::text::Text;
use super::usage::Usage;
use crate::names::named;

/// Who acts or speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

named! {
    Actor, "actor" { Agent => "agent", User => "user", System => "system", Environment => "environment" }
}

/// Whose actions a detector folds over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Actors {
    /// The agent's actions only.
    #[default]
    Agent,
    /// The user's actions only.
    User,
    /// The actions of everybody.
    All,
}

named! { Actors, "choice of actors" { Agent => "agent", User => "user", All => "all" } }

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
/// use wrongturn::{Action, trace::{Actor, StepInput}};
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
    pub(crate) time: Option<u64>,
    pub(crate) usage: Option<Usage>,
    pub(crate) span: Option<SpanId>,
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

    /// Begun at this time, in nanoseconds since 1970.
    #[must_use]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }

    /// Shown by this span of a tracing system.
    #[must_use]
    pub fn span(mut self, span: SpanId) -> Self {
        self.span = Some(span);
        self
    }

    /// Having taken this much.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

/// A validated step: indices strictly increase within its trace and progress is finite.
///
/// Only a [`Gate`](crate::trace::Gate) makes one, be it for a whole [`Trace`](crate::Trace) or online.
///
/// ```
/// use wrongturn::{Action, trace::{Actor, Actors, Gate, StepInput}};
///
/// let mut gate = Gate::new();
/// let step = gate.admit(StepInput::action(Actor::User, Action::new("look")).location("kitchen"))?;
/// assert_eq!((step.index(), step.turn(), step.location()), (0, 0, Some("kitchen")));
/// // What detectors fold over: the actions of those whom they are asked about.
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
    /// What detectors found out about the step, once for all of them.
    pub(super) facts: OnceLock<Arc<dyn Any + Send + Sync>>,
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

    /// When the step began, in nanoseconds since 1970. No detector reads it.
    #[must_use]
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// What the step took. No detector decides by it.
    #[must_use]
    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// The span of a tracing system that shows the step. No detector reads it.
    #[must_use]
    pub fn span(&self) -> Option<SpanId> {
        self.span
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

    /// About how many bytes its texts have.
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

    /// Returns what `find` finds out about the step; it is called once, however many detectors ask. All of them must ask
    /// for the same type: `None` for any other.
    pub(crate) fn facts<T: Any + Send + Sync>(&self, find: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.facts.get_or_init(|| Arc::new(find()))).downcast().ok()
    }
}
