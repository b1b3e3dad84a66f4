//! A run in memory, and the builder that validates it.

use serde_json::Value;

use super::action::{Action, Status};
use super::record::Record;
use super::route::{ReferenceRoute, RouteStatus};
use super::sink::{LabelledFailure, Metadata, RunSummary, StepSink, StepValidator, Unpaired};
use super::step::{Actor, Step, StepInput};
use crate::error::Result;

/// One recorded run: ordered steps, metadata, an optional reward and an optional reference route.
///
/// ```
/// use wrongturn::{Action, Status, Trace, trace::{Actor, StepInput}};
///
/// let mut builder = Trace::builder();
/// builder.push(StepInput::message(Actor::User, "where is my order?"))?;
/// builder.push(StepInput::action(
///     Actor::Agent,
///     Action::new("get_order").answered(Status::Ok, "{\"status\": \"shipped\"}"),
/// ))?;
/// let trace = builder.reward(1.0).build()?;
/// assert_eq!(trace.steps().count(), 2);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    steps: Vec<Record>,
    pub(super) routing: RouteStatus,
    pub(super) ending: RunSummary,
}

/// An empty trace without metadata.
impl Default for Trace {
    fn default() -> Self {
        Self { steps: Vec::new(), routing: RouteStatus::from(None), ending: RunSummary::default() }
    }
}

impl Trace {
    /// Returns a builder.
    #[must_use]
    pub fn builder() -> TraceBuilder {
        TraceBuilder::default()
    }

    /// Returns the steps in source order.
    #[must_use]
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = Step<'_>> + ExactSizeIterator + Clone {
        self.steps.iter().map(Record::view)
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if the trace has no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the metadata, the reward, the counts of unpaired calls and answers, and the labelled failures.
    #[must_use]
    pub fn ending(&self) -> &RunSummary {
        &self.ending
    }

    /// Returns the metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.ending.metadata
    }

    /// Returns the reward, if recorded. It is finite.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        self.ending.reward
    }

    /// Returns the reference route, or why there is none.
    #[must_use]
    pub fn routing(&self) -> &RouteStatus {
        &self.routing
    }

    /// Returns the counts of unpaired calls and answers.
    #[must_use]
    pub fn unpaired(&self) -> Unpaired {
        self.ending.unpaired
    }

    /// Returns the failures that the source labels.
    #[must_use]
    pub fn failures(&self) -> &[LabelledFailure] {
        &self.ending.failures
    }

    /// Feeds the whole trace to a sink, as the run at this 0-based `position` in a file.
    pub fn replay(&self, position: u64, sink: &mut dyn StepSink) {
        sink.begin(position, &self.routing);
        for step in self.steps() {
            sink.step(&step);
        }
        sink.end(self.ending.clone());
    }

    /// Replaces the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.ending.metadata = metadata;
        self
    }
}

/// Builds a [`Trace`], step by step.
///
/// ```
/// use serde_json::json;
/// use wrongturn::{Metadata, Status, Trace, trace::{Actor, StepInput}};
///
/// let mut metadata = Metadata::default();
/// metadata.id = Some("run 7".to_owned());
/// let mut builder = Trace::builder();
/// builder.push(StepInput::message(Actor::User, "where is it?").at(4))?;
/// builder.call("look", &json!({"at": "door"}), Status::Ok, "a wall")?;
/// // A step whose index does not increase is rejected; the earlier steps are kept.
/// assert!(builder.push(StepInput::message(Actor::Agent, "gone").at(2)).is_err());
/// let trace = builder.metadata(metadata).reward(0.5).build()?;
/// assert_eq!(trace.steps().map(|step| step.index()).collect::<Vec<_>>(), [4, 5]);
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TraceBuilder {
    gate: StepValidator,
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
    /// See [`StepValidator::admit`]. On error, the step is not added.
    pub fn push(&mut self, step: StepInput<'_>) -> Result<()> {
        let step = self.gate.admit(step)?;
        self.steps.push(Record::keep(&step));
        Ok(())
    }

    /// Appends an action of the agent, with [`Provenance::Flag`](crate::trace::Provenance::Flag).
    ///
    /// # Errors
    /// See [`TraceBuilder::push`].
    pub fn call(&mut self, name: &str, arguments: &Value, status: Status, observation: &str) -> Result<()> {
        let action = Action::new(name).arguments(arguments).answered(status, observation);
        self.push(StepInput::action(Actor::Agent, action))
    }

    /// Sets the reference route.
    #[must_use]
    pub fn route(mut self, route: ReferenceRoute) -> Self {
        self.route = Some(route);
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Sets the reward, which must be finite.
    #[must_use]
    pub fn reward(mut self, reward: f64) -> Self {
        self.reward = Some(reward);
        self
    }

    /// Sets the counts of unpaired calls and answers.
    #[must_use]
    pub fn unpaired(mut self, unpaired: Unpaired) -> Self {
        self.unpaired = unpaired;
        self
    }

    /// Sets the labelled failures.
    #[must_use]
    pub fn failures(mut self, failures: Vec<LabelledFailure>) -> Self {
        self.failures = failures;
        self
    }

    /// Builds the trace.
    ///
    /// # Errors
    /// [`ErrorKind::Trace`](crate::ErrorKind::Trace) if the reward is not finite.
    pub fn build(self) -> Result<Trace> {
        let ending = RunSummary::new(self.metadata, self.reward)?;
        let ending = ending.with_unpaired(self.unpaired).with_failures(self.failures);
        Ok(Trace { steps: self.steps, routing: self.route.into(), ending })
    }
}

/// A sink that keeps every run of a file as a [`Trace`].
#[derive(Debug, Default)]
pub struct TraceCollector {
    /// The complete runs, in order.
    pub traces: Vec<Trace>,
    steps: Vec<Record>,
    routing: Option<RouteStatus>,
}

impl StepSink for TraceCollector {
    fn begin(&mut self, _position: u64, routing: &RouteStatus) {
        self.steps.clear();
        self.routing = Some(routing.clone());
    }

    fn step(&mut self, step: &Step<'_>) {
        self.steps.push(Record::keep(step));
    }

    fn end(&mut self, ending: RunSummary) {
        let routing = self.routing.take().unwrap_or_else(|| None.into());
        self.traces.push(Trace { steps: std::mem::take(&mut self.steps), routing, ending });
    }

    fn abandon(&mut self) {
        self.steps.clear();
    }
}

const _: () = {
    const fn thread_safe<T: Send + Sync>() {}
    thread_safe::<Trace>();
};
