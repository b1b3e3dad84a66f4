//! A whole run in memory, and the builder that validates it.

use std::sync::Arc;

use serde_json::Value;

use super::digest::Digest;
use super::route::{ReferenceRoute, Routing};
use super::sink::{Ending, Gate, LabelledFailure, Metadata, StepSink, Unpaired};
use super::step::{Action, Actor, Arguments, Digests, Event, Provenance, Status, Step, StepInput};
use crate::error::Result;

/// One recorded run: ordered steps, metadata, an optional reward, an optional reference route.
///
/// ```
/// use tracelint::{Action, Actor, Status, StepInput, Trace};
///
/// let mut builder = Trace::builder();
/// builder.push(StepInput::message(Actor::User, "where is my order?"))?;
/// builder.push(StepInput::action(
///     Actor::Agent,
///     Action::new("get_order").answered(Status::Ok, "{\"status\": \"shipped\"}"),
/// ))?;
/// let trace = builder.reward(1.0).build()?;
/// assert_eq!(trace.steps().count(), 2);
/// # Ok::<(), tracelint::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    steps: Vec<Record>,
    pub(super) routing: Routing,
    pub(super) ending: Ending,
}

/// A step as it is kept: small, so that long traces are walked fast.
#[derive(Debug, Clone)]
struct Record {
    index: u64,
    turn: u64,
    /// Not a number where it is not known.
    progress: f64,
    rare: Option<Box<Rare>>,
    actor: Actor,
    body: Body,
}

/// What few sources tell of a step.
#[derive(Debug, Clone, PartialEq)]
struct Rare {
    location: Option<Box<str>>,
    error_type: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Body {
    Message(Box<str>),
    Action(ActionRecord),
}

#[derive(Debug, Clone)]
struct ActionRecord {
    name: Box<str>,
    /// As the source spells them.
    arguments: Option<Box<str>>,
    call_id: Option<Box<str>>,
    observation: Option<Box<str>>,
    status: Status,
    provenance: Provenance,
    name_digest: Digest,
    /// Of the folded name, where it differs.
    folded_name_digest: Option<Box<Digest>>,
    arguments_digest: Digest,
    observation_digest: Digest,
}

const _: () = assert!(size_of::<Record>() <= 168);

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let plain = |record: &Self| (record.index, record.turn, record.progress(), record.actor);
        plain(self) == plain(other) && self.rare == other.rare && self.body == other.body
    }
}

/// Equal whatever the spelling of the arguments.
impl PartialEq for ActionRecord {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.call_id, &self.observation) == (&other.name, &other.call_id, &other.observation)
            && (self.status, self.provenance, self.digests())
                == (other.status, other.provenance, other.digests())
    }
}

impl Record {
    fn keep(step: &Step<'_>) -> Self {
        let mut error_type = None;
        let body = match (&step.event, step.digests) {
            (Event::Action(action), digests) => {
                let digests = digests.unwrap_or_else(|| Digests::of(action));
                let observation = action.observation.map(|text| Box::from(text.to_str()));
                error_type = action.error_type.map(Into::into);
                Body::Action(ActionRecord {
                    name: action.name.into(),
                    arguments: action.arguments.as_ref().and_then(|a| a.json().map(Box::from)),
                    call_id: action.call_id.map(Into::into),
                    status: action.status,
                    provenance: action.provenance,
                    name_digest: digests.name,
                    folded_name_digest: (digests.folded_name != digests.name)
                        .then(|| Box::new(digests.folded_name)),
                    arguments_digest: digests.arguments,
                    // The kept text is decoded, and is compared as such from now on.
                    observation_digest: observation.as_deref().map_or(Digest::NONE, Digest::of_text),
                    observation,
                })
            }
            (Event::Message(text), _) => Body::Message(text.to_str().into()),
        };
        let location = step.location.map(Into::into);
        let is_rare = location.is_some() || error_type.is_some();
        Self {
            index: step.index,
            turn: step.turn,
            progress: step.progress.unwrap_or(f64::NAN),
            rare: is_rare.then(|| Box::new(Rare { location, error_type })),
            actor: step.actor,
            body,
        }
    }

    fn progress(&self) -> Option<f64> {
        (!self.progress.is_nan()).then_some(self.progress)
    }

    fn view(&self) -> Step<'_> {
        let rare = self.rare.as_deref();
        let (event, digests) = match &self.body {
            Body::Message(text) => (Event::Message((&**text).into()), None),
            Body::Action(record) => {
                let error_type = rare.and_then(|rare| rare.error_type.as_deref());
                let action = Action { error_type, ..record.view() };
                (Event::Action(action), Some(record.digests()))
            }
        };
        Step {
            index: self.index,
            turn: self.turn,
            actor: self.actor,
            location: rare.and_then(|rare| rare.location.as_deref()),
            progress: self.progress(),
            event,
            digests,
        }
    }
}

impl ActionRecord {
    fn digests(&self) -> Digests {
        Digests {
            name: self.name_digest,
            folded_name: self.folded_name_digest.as_deref().copied().unwrap_or(self.name_digest),
            arguments: self.arguments_digest,
            observation: self.observation.as_ref().map(|_| self.observation_digest),
        }
    }

    fn view(&self) -> Action<'_> {
        Action {
            name: &self.name,
            arguments: self.arguments.as_deref().map(|a| Arguments::from_parts(a, self.arguments_digest)),
            call_id: self.call_id.as_deref(),
            observation: self.observation.as_deref().map(Into::into),
            status: self.status,
            provenance: self.provenance,
            error_type: None,
        }
    }
}

impl Trace {
    /// A builder for a trace.
    #[must_use]
    pub fn builder() -> TraceBuilder {
        TraceBuilder::default()
    }

    /// The steps in source order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> + DoubleEndedIterator {
        self.steps.iter().map(Record::view)
    }

    /// What the trace is known by.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.ending.metadata
    }

    /// The reward of the run; finite.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        self.ending.reward
    }

    /// The reference route, or why there is none.
    #[must_use]
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// Calls and answers that found no partner.
    #[must_use]
    pub fn unpaired(&self) -> Unpaired {
        self.ending.unpaired
    }

    /// The failures that the source's own labels name.
    #[must_use]
    pub fn failures(&self) -> &[LabelledFailure] {
        &self.ending.failures
    }

    /// Feeds the whole trace to a sink, as the run at this position of a file.
    pub fn replay(&self, position: u64, sink: &mut dyn StepSink) {
        sink.begin(position, &self.routing);
        for step in self.steps() {
            sink.step(&step);
        }
        sink.end(self.ending.clone());
    }

    /// Sets what the trace is known by.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.ending.metadata = metadata;
        self
    }
}

/// Builds a [`Trace`], step by step.
#[derive(Debug, Clone, Default)]
pub struct TraceBuilder {
    gate: Gate,
    steps: Vec<Record>,
    route: Option<ReferenceRoute>,
    metadata: Metadata,
    reward: Option<f64>,
    unpaired: Unpaired,
    failures: Vec<LabelledFailure>,
}

impl TraceBuilder {
    /// Appends a step.
    ///
    /// # Errors
    /// As [`Gate::admit`]; the step is then not part of the trace.
    pub fn push(&mut self, step: StepInput<'_>) -> Result<()> {
        let step = self.gate.admit(step)?;
        self.steps.push(Record::keep(&step));
        Ok(())
    }

    /// Appends an action of the agent: the short form for tests and examples.
    ///
    /// # Errors
    /// As [`TraceBuilder::push`].
    pub fn call(&mut self, name: &str, arguments: &Value, status: Status, observation: &str) -> Result<()> {
        let action = Action::new(name).arguments(arguments).answered(status, observation);
        self.push(StepInput::action(Actor::Agent, action))
    }

    /// With this reference route.
    #[must_use]
    pub fn route(mut self, route: ReferenceRoute) -> Self {
        self.route = Some(route);
        self
    }

    /// With this metadata.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// With this reward.
    #[must_use]
    pub fn reward(mut self, reward: f64) -> Self {
        self.reward = Some(reward);
        self
    }

    /// With these counts of calls and answers without a partner.
    #[must_use]
    pub fn unpaired(mut self, unpaired: Unpaired) -> Self {
        self.unpaired = unpaired;
        self
    }

    /// With these labelled failures.
    #[must_use]
    pub fn failures(mut self, failures: Vec<LabelledFailure>) -> Self {
        self.failures = failures;
        self
    }

    /// The trace.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) where the reward is not finite.
    pub fn build(self) -> Result<Trace> {
        let ending = Ending::new(self.metadata, self.reward)?;
        Ok(Trace {
            steps: self.steps,
            routing: self.route.into(),
            ending: Ending { unpaired: self.unpaired, failures: self.failures, ..ending },
        })
    }
}

/// A sink that keeps every run of a file as a [`Trace`].
#[derive(Debug, Default)]
pub struct TraceCollector {
    /// The complete runs, in order.
    pub traces: Vec<Trace>,
    steps: Vec<Record>,
    routing: Option<Routing>,
}

impl StepSink for TraceCollector {
    fn begin(&mut self, _position: u64, routing: &Routing) {
        self.steps.clear();
        self.routing = Some(routing.clone());
    }

    fn step(&mut self, step: &Step<'_>) {
        self.steps.push(Record::keep(step));
    }

    fn end(&mut self, ending: Ending) {
        let routing = self.routing.take().unwrap_or_else(|| None.into());
        self.traces.push(Trace { steps: std::mem::take(&mut self.steps), routing, ending });
    }

    fn abandon(&mut self) {
        self.steps.clear();
    }

    fn rewind(&mut self) {
        self.traces.clear();
        self.steps.clear();
    }

    fn describe(&mut self, model: Option<&Arc<str>>, domain: Option<&Arc<str>>) {
        for trace in &mut self.traces {
            trace.ending.metadata.describe(model, domain);
        }
    }
}

const _: () = {
    const fn thread_safe<T: Send + Sync>() {}
    thread_safe::<Trace>();
};
