//! Runs in the form that the naive statements use.

use serde_json::{Map, Value};
use wrongturn::{
    Action, Status, Trace,
    trace::{Actor, Actors, Arguments, Content, ReferenceRoute, StepInput},
};

/// A call and its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    /// JSON text, in any spelling.
    pub(crate) arguments: Option<String>,
    pub(crate) observation: Option<String>,
    pub(crate) status: Status,
    pub(crate) error_type: Option<&'static str>,
    /// Whether the source omits the arguments, and whether it omits the observation.
    pub(crate) left_out: (bool, bool),
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// The number of indices that the source skips before it.
    pub(crate) skip: u64,
    /// Given by [`Run::new`].
    pub(crate) index: u64,
    /// Given by [`Run::new`].
    pub(crate) turn: u64,
    /// True if it is in the same turn as the event before.
    pub(crate) same_turn: bool,
    pub(crate) actor: Actor,
    pub(crate) location: Option<&'static str>,
    pub(crate) progress: Option<f64>,
    /// The call; `None` for a message.
    pub(crate) call: Option<Call>,
    /// The text of a message.
    pub(crate) text: &'static str,
}

/// Returns a failed action of the agent.
pub(crate) fn error(name: &'static str, arguments: Option<&str>, observation: &str) -> Event {
    let (arguments, observation) = (arguments.map(str::to_owned), Some(observation.to_owned()));
    let (status, error_type, left_out) = (Status::Error, None, (false, false));
    Event {
        skip: 0,
        index: 0,
        turn: 0,
        same_turn: false,
        actor: Actor::Agent,
        location: None,
        progress: None,
        call: Some(Call { name, arguments, observation, status, error_type, left_out }),
        text: "as I was saying",
    }
}

impl Event {
    pub(crate) fn input(&self) -> StepInput<'_> {
        let mut input = match &self.call {
            None => StepInput::message(self.actor, self.text),
            Some(call) => {
                let mut action = Action::new(call.name);
                action.arguments = call.arguments.as_deref().map(Arguments::from_json).into();
                action.observation = call.observation.as_deref().map(Into::into).into();
                if call.left_out.0 {
                    action.arguments = Content::NotRecorded;
                }
                if call.left_out.1 {
                    action.observation = Content::NotRecorded;
                }
                action.status = call.status;
                action.error_type = call.error_type;
                StepInput::action(self.actor, action)
            }
        };
        input = input.at(self.index).turn(self.turn);
        if let Some(location) = self.location {
            input = input.location(location);
        }
        if let Some(progress) = self.progress {
            input = input.progress(progress);
        }
        input
    }
}

/// A run: its events, and its reference route.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) events: Vec<Event>,
    pub(crate) route: Option<ReferenceRoute>,
}

impl Run {
    pub(crate) fn new(mut events: Vec<Event>, route: Option<ReferenceRoute>) -> Self {
        let (mut next, mut turn) = (0, 0);
        for (position, event) in events.iter_mut().enumerate() {
            event.index = next + event.skip;
            next = event.index + 1;
            turn += u64::from(position > 0 && !event.same_turn);
            event.turn = turn;
        }
        Self { events, route }
    }

    pub(crate) fn trace(&self) -> wrongturn::Result<Trace> {
        let mut builder = Trace::builder();
        for event in &self.events {
            builder.push(event.input())?;
        }
        match &self.route {
            Some(route) => builder.route(route.clone()).build(),
            None => builder.build(),
        }
    }

    /// Returns the run before the event at this position.
    pub(crate) fn before(&self, position: usize) -> Self {
        Self { events: self.events[..position].to_vec(), route: self.route.clone() }
    }

    pub(super) fn actions(&self, actors: Actors) -> Vec<Done<'_>> {
        self.events.iter().filter(|event| actors.include(event.actor)).filter_map(Done::of).collect()
    }
}

/// An action in its place.
#[derive(Debug, Clone)]
pub(super) struct Done<'a> {
    pub(super) event: &'a Event,
    pub(super) call: &'a Call,
    pub(super) arguments: Value,
}

impl<'a> Done<'a> {
    fn of(event: &'a Event) -> Option<Self> {
        let call = event.call.as_ref()?;
        Some(Self { event, call, arguments: arguments(call.arguments.as_deref()) })
    }

    pub(super) fn step(&self) -> u64 {
        self.event.index
    }

    /// Returns true if both are the same action, or if their arguments are recorded and equal.
    pub(super) fn same_arguments(&self, other: &Self) -> bool {
        std::ptr::eq(self.event, other.event)
            || !self.call.left_out.0 && !other.call.left_out.0 && same_json(&self.arguments, &other.arguments)
    }

    pub(super) fn is_ok(&self) -> bool {
        self.call.status == Status::Ok
    }

    pub(super) fn is_error(&self) -> bool {
        self.call.status == Status::Error
    }
}

/// Returns true if there are actions, but none has its arguments recorded.
pub(super) fn incomparable(actions: &[Done<'_>]) -> bool {
    !actions.is_empty() && actions.iter().all(|action| action.call.left_out.0)
}

/// Parses arguments. Missing or invalid ones count as an empty object.
pub(super) fn arguments(json: Option<&str>) -> Value {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_else(|| Value::Object(Map::new()))
}

/// Compares JSON, with keys in any order and numbers by value.
pub(super) fn same_json(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same_json(value, other)))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_json(left, right))
        }
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}
