//! A whole run in memory, and the builder that validates it.

use serde_json::Value;

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
    pub(super) steps: Vec<Record>,
    pub(super) routing: Routing,
    pub(super) ending: Ending,
}

/// A step as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) index: u64,
    pub(super) turn: u64,
    pub(super) actor: Actor,
    pub(super) location: Option<Box<str>>,
    pub(super) progress: Option<f64>,
    pub(super) body: Body,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    Message(Box<str>),
    Action(ActionRecord),
}

#[derive(Debug, Clone)]
pub(super) struct ActionRecord {
    pub(super) name: Box<str>,
    /// As the source spells them.
    pub(super) arguments: Option<Box<str>>,
    pub(super) call_id: Option<Box<str>>,
    pub(super) observation: Option<Box<str>>,
    pub(super) status: Status,
    pub(super) provenance: Provenance,
    pub(super) error_type: Option<Box<str>>,
    digests: Digests,
}

/// Equal whatever the spelling of the arguments.
impl PartialEq for ActionRecord {
    fn eq(&self, other: &Self) -> bool {
        let texts = |record: &Self| {
            [
                Some(&record.name),
                record.call_id.as_ref(),
                record.observation.as_ref(),
                record.error_type.as_ref(),
            ]
            .map(Option::<&Box<str>>::cloned)
        };
        texts(self) == texts(other)
            && (self.status, self.provenance, self.digests) == (other.status, other.provenance, other.digests)
    }
}

impl Record {
    fn keep(step: &Step<'_>) -> Self {
        let body = match (&step.event, step.digests) {
            (Event::Action(action), digests) => {
                let arguments = action.arguments.as_ref().and_then(|a| a.json().map(Box::from));
                let observation = action.observation.map(|text| Box::from(text.to_str()));
                Body::Action(ActionRecord {
                    name: action.name.into(),
                    arguments,
                    call_id: action.call_id.map(Into::into),
                    status: action.status,
                    provenance: action.provenance,
                    error_type: action.error_type.map(Into::into),
                    digests: Digests {
                        // The kept text is decoded, and is compared as such from now on.
                        observation: observation.as_deref().map(super::Digest::of_text),
                        ..digests.unwrap_or_else(|| Digests::of(action))
                    },
                    observation,
                })
            }
            (Event::Message(text), _) => Body::Message(text.to_str().into()),
        };
        Self {
            index: step.index,
            turn: step.turn,
            actor: step.actor,
            location: step.location.map(Into::into),
            progress: step.progress,
            body,
        }
    }

    fn view(&self) -> Step<'_> {
        let (event, digests) = match &self.body {
            Body::Message(text) => (Event::Message((&**text).into()), None),
            Body::Action(record) => (Event::Action(record.view()), Some(record.digests)),
        };
        Step {
            index: self.index,
            turn: self.turn,
            actor: self.actor,
            location: self.location.as_deref(),
            progress: self.progress,
            event,
            digests,
        }
    }
}

impl ActionRecord {
    fn view(&self) -> Action<'_> {
        Action {
            name: &self.name,
            arguments: self.arguments.as_deref().map(|a| Arguments::from_parts(a, self.digests.arguments)),
            call_id: self.call_id.as_deref(),
            observation: self.observation.as_deref().map(Into::into),
            status: self.status,
            provenance: self.provenance,
            error_type: self.error_type.as_deref(),
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

    fn describe(&mut self, model: Option<&str>, domain: Option<&str>) {
        for trace in &mut self.traces {
            trace.ending.metadata.describe(model, domain);
        }
    }
}

const _: () = {
    const fn thread_safe<T: Send + Sync>() {}
    thread_safe::<Trace>();
};
