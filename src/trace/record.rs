//! A step as a trace stores it.

use std::sync::OnceLock;

use super::action::{Action, Arguments, Digests, Provenance, Status, UnknownReason};
use super::content::Content;
use super::digest::Digest;
use super::ids::SpanId;
use super::step::{Actor, Event, Step};
use super::usage::Usage;

/// A stored step: small, for fast iteration over long traces.
#[derive(Debug, Clone)]
pub(super) struct Record {
    index: u64,
    turn: u64,
    /// NaN if unknown.
    progress: f64,
    rare: Option<Box<Rare>>,
    actor: Actor,
    body: Body,
}

/// Fields that few sources record.
#[derive(Debug, Clone, PartialEq, Default)]
struct Rare {
    location: Option<Box<str>>,
    error_type: Option<Box<str>>,
    time: Option<u64>,
    usage: Option<Usage>,
    span: Option<SpanId>,
}

#[derive(Debug, Clone, PartialEq)]
enum Body {
    Message(Box<str>),
    Action(ActionRecord),
}

#[derive(Debug, Clone)]
struct ActionRecord {
    name: Box<str>,
    /// The text as the source spells it, if it was kept.
    arguments: Option<Box<str>>,
    call_id: Option<Box<str>>,
    observation: Option<Box<str>>,
    status: Status,
    provenance: Provenance,
    reason: Option<UnknownReason>,
    has_arguments_recorded: bool,
    has_observation_recorded: bool,
    name_digest: Digest,
    /// The digest of the folded name, if it differs.
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

/// Compares arguments by their digests, so equality ignores how they are spelled.
impl PartialEq for ActionRecord {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.call_id, &self.observation) == (&other.name, &other.call_id, &other.observation)
            && (self.status, self.provenance, self.reason, self.digests())
                == (other.status, other.provenance, other.reason, other.digests())
    }
}

impl Record {
    pub(super) fn keep(step: &Step<'_>) -> Self {
        let mut rare = Rare { location: step.location.map(Into::into), ..Rare::default() };
        (rare.time, rare.usage, rare.span) = (step.time, step.usage, step.span);
        let body = match (&step.event, step.digests) {
            (Event::Action(action), digests) => {
                rare.error_type = action.error_type.map(Into::into);
                Body::Action(ActionRecord::keep(action, digests.unwrap_or_else(|| Digests::of(action))))
            }
            (Event::Message(text), _) => Body::Message(text.to_str().into()),
        };
        Self {
            index: step.index,
            turn: step.turn,
            progress: step.progress.unwrap_or(f64::NAN),
            rare: (rare != Rare::default()).then(|| Box::new(rare)),
            actor: step.actor,
            body,
        }
    }

    fn progress(&self) -> Option<f64> {
        (!self.progress.is_nan()).then_some(self.progress)
    }

    pub(super) fn view(&self) -> Step<'_> {
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
            time: rare.and_then(|rare| rare.time),
            usage: rare.and_then(|rare| rare.usage),
            span: rare.and_then(|rare| rare.span),
            event,
            digests,
            facts: OnceLock::new(),
        }
    }
}

impl ActionRecord {
    fn keep(action: &Action<'_>, digests: Digests) -> Self {
        let observation: Option<Box<str>> = action.observation.present().map(|text| text.to_str().into());
        Self {
            name: action.name.into(),
            arguments: action.arguments.as_ref().present().and_then(|a| a.json().map(Box::from)),
            call_id: action.call_id.map(Into::into),
            status: action.status,
            provenance: action.provenance,
            reason: action.reason,
            has_arguments_recorded: digests.arguments.is_some(),
            has_observation_recorded: action.observation.is_recorded(),
            name_digest: digests.name,
            folded_name_digest: (digests.folded_name != digests.name).then(|| Box::new(digests.folded_name)),
            arguments_digest: digests.arguments.unwrap_or(Digest::NONE),
            // Decoding may have replaced invalid bytes, so the digest is computed again.
            observation_digest: observation.as_deref().map_or(Digest::NONE, Digest::of_decoded),
            observation,
        }
    }

    fn digests(&self) -> Digests {
        Digests::new(
            self.name_digest,
            self.folded_name_digest.as_deref().copied().unwrap_or(self.name_digest),
            self.has_arguments_recorded.then_some(self.arguments_digest),
            self.observed().map(|_| self.observation_digest),
        )
    }

    fn observed(&self) -> Content<&str> {
        if self.has_observation_recorded { self.observation.as_deref().into() } else { Content::NotRecorded }
    }

    fn arguments(&self) -> Content<Arguments<'_>> {
        let digest = self.arguments_digest;
        match &self.arguments {
            _ if !self.has_arguments_recorded => Content::NotRecorded,
            Some(json) => Content::Present(Arguments::from_parts(json, digest)),
            None if digest == Digest::of_no_arguments() => Content::Absent,
            None => Content::Present(Arguments::from_digest(digest)),
        }
    }

    fn view(&self) -> Action<'_> {
        Action {
            name: &self.name,
            arguments: self.arguments(),
            call_id: self.call_id.as_deref(),
            observation: self.observed().map(Into::into),
            status: self.status,
            provenance: self.provenance,
            reason: self.reason,
            error_type: None,
        }
    }
}
