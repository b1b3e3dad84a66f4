//! The native JSON form: wire structs, and what is checked on the way in.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::route::{ReferenceRoute, Routing};
use super::sink::{LabelledFailure, Metadata, Unpaired};
use super::step::{Action, Actor, Arguments, Event, Provenance, Status, Step, StepInput};
use super::trace::Trace;
use crate::error::{Error, Result};

/// The version of the native JSON form that this crate writes, and the only one it reads.
///
/// ```json
/// {"version": 1, "id": "…", "model": "…", "domain": "…", "task": "…", "trial": 0, "source": "…",
///  "termination": "…", "labels": {"key": "value"}, "reward": 1.0,
///  "unpaired": {"calls": 0, "messages": 0}, "failures": [{"mode": "strategy/loop", "where": [3, 9], "core": true}],
///  "route": {"kind": "scores", "milestones": [{"reference_step": 2, "score": 9.0}]},
///  "steps": [{"actor": "user", "text": "…"},
///            {"actor": "agent", "name": "get_order", "arguments": {}, "call_id": "…", "observation": "…",
///             "status": "error", "provenance": "flag", "error_type": "timeout",
///             "step": 4, "turn": 1, "location": "…", "progress": 3.0}]}
/// ```
///
/// `version` and `steps` are required; unknown fields are errors. A step has either `text` (a message) or
/// `name` (an action). Defaults: `actor` of an action is the agent, `status` is `unknown`, `step` is one more than
/// before, `turn` likewise. A route of `{"kind": "actions"}` has milestones
/// `{"reference_step", "actor", "name", "arguments", "compare"}`, with `compare` as in
/// [`ExpectedAction::new`](crate::ExpectedAction::new).
pub const NATIVE_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTrace {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    domain: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trial: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    termination: Option<String>,
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    labels: std::collections::BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reward: Option<f64>,
    #[serde(default, skip_serializing_if = "Unpaired::is_zero")]
    unpaired: Unpaired,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<LabelledFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    route: Option<ReferenceRoute>,
    steps: Vec<WireStep>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct WireStep {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
}

impl WireStep {
    fn has_action_fields(&self) -> bool {
        self.arguments.is_some()
            || self.call_id.is_some()
            || self.observation.is_some()
            || self.status.is_some()
            || self.provenance.is_some()
            || self.error_type.is_some()
    }

    fn input(&self) -> Result<StepInput<'_>> {
        let mut input = match (&self.text, &self.name) {
            (Some(text), None) => {
                let actor = self.actor.ok_or_else(|| Error::trace("a message names no actor"))?;
                if self.has_action_fields() {
                    return Err(Error::trace("a message has fields of an action"));
                }
                StepInput::message(actor, text.as_str())
            }
            (None, Some(name)) => StepInput::action(
                self.actor.unwrap_or(Actor::Agent),
                Action {
                    name,
                    arguments: self.arguments.as_ref().map(Arguments::from_value),
                    call_id: self.call_id.as_deref(),
                    observation: self.observation.as_deref().map(Into::into),
                    status: self.status.unwrap_or_default(),
                    provenance: self.provenance.unwrap_or_default(),
                    error_type: self.error_type.as_deref(),
                },
            ),
            _ => {
                return Err(Error::trace("a step must have either `text` (a message) or `name` (an action)"));
            }
        };
        input.index = self.step;
        input.turn = self.turn;
        input.location = self.location.as_deref();
        input.progress = self.progress;
        Ok(input)
    }
}

impl From<Step<'_>> for WireStep {
    fn from(step: Step<'_>) -> Self {
        let mut wire = Self {
            step: Some(step.index()),
            turn: Some(step.turn()),
            actor: Some(step.actor()),
            location: step.location().map(Into::into),
            progress: step.progress(),
            ..Self::default()
        };
        match step.event() {
            Event::Message(text) => wire.text = Some(text.to_str().into()),
            Event::Action(action) => {
                wire.name = Some(action.name.to_owned());
                // Arguments that are no sound JSON are kept as a text.
                wire.arguments = action.arguments.as_ref().and_then(Arguments::json).map(|json| {
                    serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.to_owned()))
                });
                wire.call_id = action.call_id.map(Into::into);
                wire.observation = action.observation.map(|text| text.to_str().into());
                wire.status = Some(action.status);
                wire.provenance = Some(action.provenance);
                wire.error_type = action.error_type.map(Into::into);
            }
        }
        wire
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Metadata { id, model, domain, task, trial, source, termination, labels } =
            self.metadata().clone();
        WireTrace {
            version: NATIVE_VERSION,
            id,
            model,
            domain,
            task,
            trial,
            source,
            termination,
            labels,
            reward: self.reward(),
            unpaired: self.unpaired(),
            failures: self.failures().to_vec(),
            route: match self.routing() {
                Routing::Known(route) => Some((**route).clone()),
                Routing::Unknown(_) => None,
            },
            steps: self.steps().map(Into::into).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireTrace::deserialize(deserializer)?;
        Self::try_from(wire).map_err(D::Error::custom)
    }
}

impl TryFrom<WireTrace> for Trace {
    type Error = Error;

    fn try_from(wire: WireTrace) -> Result<Self> {
        if wire.version != NATIVE_VERSION {
            return Err(Error::trace(format!(
                "native trace version {} is not {NATIVE_VERSION}, the one that is known",
                wire.version
            )));
        }
        let WireTrace { id, model, domain, task, trial, source, termination, labels, .. } = wire;
        let mut builder = Self::builder()
            .metadata(Metadata { id, model, domain, task, trial, source, termination, labels })
            .unpaired(wire.unpaired)
            .failures(wire.failures);
        if let Some(reward) = wire.reward {
            builder = builder.reward(reward);
        }
        if let Some(route) = wire.route {
            builder = builder.route(route);
        }
        for (position, step) in wire.steps.iter().enumerate() {
            let place = |error: Error| Error::trace(format!("steps[{position}]: {}", error.message()));
            builder.push(step.input().map_err(place)?).map_err(place)?;
        }
        builder.build()
    }
}
