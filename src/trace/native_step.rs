//! A step in the native JSON form.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::action::{Action, Arguments, Provenance, Status, UnknownReason};
use super::content::Content;
use super::digest::Digest;
use super::ids::SpanId;
use super::step::{Actor, Actors, Event, Step, StepInput};
use super::text::Text;
use super::usage::Usage;
use crate::error::{Error, Result};
use crate::json::is_deeper;
use crate::objects::in_order;

/// Content of an action that `not_recorded` can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    Arguments,
    Observation,
}

/// A step in the native form, which live traces use for their steps too.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub(crate) struct WireStep {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments_json: Option<String>,
    /// The digest of arguments whose text was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<UnknownReason>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_recorded: Vec<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<SpanId>,
}

impl WireStep {
    fn has_action_fields(&self) -> bool {
        self.arguments.is_some()
            || self.arguments_json.is_some()
            || self.arguments_digest.is_some()
            || self.call_id.is_some()
            || self.observation.is_some()
            || self.status.is_some()
            || self.provenance.is_some()
            || self.reason.is_some()
            || !self.not_recorded.is_empty()
            || self.error_type.is_some()
    }

    fn content<T>(&self, part: Part, given: Option<T>) -> Result<Content<T>> {
        match given {
            Some(_) if self.not_recorded.contains(&part) => {
                Err(Error::trace(format!("`{part:?}` is given, but `not_recorded` lists it").to_lowercase()))
            }
            None if self.not_recorded.contains(&part) => Ok(Content::NotRecorded),
            given => Ok(given.into()),
        }
    }

    fn arguments(&self) -> Result<Option<Arguments<'_>>> {
        match (&self.arguments, &self.arguments_json, self.arguments_digest) {
            (Some(_), Some(_), _) => {
                Err(Error::trace("expected `arguments` or `arguments_json`, found both"))
            }
            (Some(value), None, _) => Ok(Some(Arguments::from_value(value))),
            (None, Some(json), _) => Ok(Some(Arguments::from_json(json))),
            (None, None, digest) => Ok(digest.map(Arguments::from_digest)),
        }
    }

    /// Copies the answer of this step to an action.
    ///
    /// # Errors
    /// If the step has an observation that it lists as not recorded.
    pub(crate) fn answer<'w>(&'w self, action: &mut Action<'w>) -> Result<()> {
        action.observation = self.content(Part::Observation, self.observation.as_deref())?.map(Into::into);
        action.status = self.status.unwrap_or_default();
        action.provenance = self.provenance.unwrap_or_default();
        action.reason = self.reason;
        action.error_type = self.error_type.as_deref();
        Ok(())
    }

    /// Sets the observation, the status and the provenance.
    pub(crate) fn set_answer(
        &mut self,
        observation: &Content<Text<'_>>,
        status: Status,
        provenance: Provenance,
    ) {
        self.observation = observation.as_ref().present().map(|text| text.to_str().into());
        if !observation.is_recorded() {
            self.not_recorded.push(Part::Observation);
        }
        (self.status, self.provenance) = (Some(status), Some(provenance));
    }

    pub(crate) fn input(&self) -> Result<StepInput<'_>> {
        let mut input = match (&self.text, &self.name) {
            (Some(text), None) => {
                let actor = self.actor.ok_or_else(|| Error::trace("a message must have an `actor`"))?;
                if self.has_action_fields() {
                    return Err(Error::trace("a message must not have fields of an action"));
                }
                StepInput::message(actor, text.as_str())
            }
            (None, Some(name)) => {
                let mut action = Action::new(name);
                action.arguments = self.content(Part::Arguments, self.arguments()?)?;
                action.call_id = self.call_id.as_deref();
                self.answer(&mut action)?;
                StepInput::action(self.actor.unwrap_or(Actor::Agent), action)
            }
            _ => {
                return Err(Error::trace("a step must have either `text` (a message) or `name` (an action)"));
            }
        };
        input.index = self.step;
        input.turn = self.turn;
        input.location = self.location.as_deref();
        input.progress = self.progress;
        input.time = self.time;
        input.usage = self.usage;
        input.span = self.span;
        Ok(input)
    }

    /// Estimates the size of a step in bytes. `arguments` does not count: a step made from a [`StepInput`] has none.
    pub(crate) fn bytes(&self) -> usize {
        let Self { text, name, arguments_json, call_id, observation, error_type, location, .. } = self;
        let texts = [text, name, arguments_json, call_id, observation, error_type, location];
        size_of::<Self>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

impl From<&StepInput<'_>> for WireStep {
    /// Keeps the arguments as text, or as a digest if they have no text.
    fn from(step: &StepInput<'_>) -> Self {
        let mut wire = Self {
            step: step.index,
            turn: step.turn,
            actor: Some(step.actor),
            location: step.location.map(Into::into),
            progress: step.progress,
            time: step.time,
            usage: step.usage,
            span: step.span,
            ..Self::default()
        };
        match &step.event {
            Event::Message(text) => wire.text = Some(text.to_str().into()),
            Event::Action(action) => {
                wire.name = Some(action.name.to_owned());
                match &action.arguments {
                    Content::NotRecorded => wire.not_recorded.push(Part::Arguments),
                    Content::Present(given) => match given.json() {
                        Some(json) => wire.arguments_json = Some(json.to_owned()),
                        None => wire.arguments_digest = Some(given.digest()),
                    },
                    Content::Absent => {}
                }
                wire.call_id = action.call_id.map(Into::into);
                wire.set_answer(&action.observation, action.status, action.provenance);
                (wire.reason, wire.error_type) = (action.reason, action.error_type.map(Into::into));
            }
        }
        wire
    }
}

impl From<Step<'_>> for WireStep {
    fn from(step: Step<'_>) -> Self {
        let mut wire = Self::from(&step.input());
        let arguments = step.digested(Actors::All).and_then(|(_, digests)| digests.arguments);
        if let Some((json, digest)) = wire.arguments_json.take().zip(arguments) {
            // Arguments that are not valid JSON count as a string.
            let value: Value = serde_json::from_str(&json).unwrap_or_else(|_| Value::String(json.clone()));
            let is_same = !is_deep(&json) && Arguments::from_value(&value).digest() == digest;
            wire.arguments_json = (!is_same).then_some(json);
            wire.arguments = is_same.then(|| in_order(value));
        }
        wire
    }
}

/// Returns true if arguments are nested so deeply that they are written as text, which can be read back at any depth.
fn is_deep(json: &str) -> bool {
    json.trim_start().starts_with(['{', '[']) && is_deeper(json.trim_start().as_bytes(), 100)
}
