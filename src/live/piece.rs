//! Calls, answers and messages as an assembler keeps them.

use serde::{Deserialize, Serialize};

use crate::trace::{
    Action, Actor, Arguments, Content, Digest, Event, Provenance, SpanId, Status, StepInput, Text,
    UnknownReason, Usage,
};

/// The answer to a call that was added before.
///
/// ```
/// use wrongturn::{Status, TraceAssembler, default_detectors, live::{AssemblerOptions, Reply}};
///
/// let mut traces = TraceAssembler::new(default_detectors(), AssemblerOptions::default())?;
/// let reply = Reply::new("call-1", Status::Error, "Error: no such order");
/// traces.answer(20, "support-17", &reply.error_type("not_found").time(17));
/// assert_eq!(traces.waiting(), 1, "until its call comes");
/// # Ok::<(), wrongturn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reply<'a> {
    call_id: &'a str,
    observation: Content<Text<'a>>,
    status: Status,
    provenance: Provenance,
    reason: Option<UnknownReason>,
    error_type: Option<&'a str>,
    time: Option<u64>,
}

impl<'a> Reply<'a> {
    /// Creates an answer to the call of this id, with a status from a structured flag.
    pub fn new(call_id: &'a str, status: Status, observation: impl Into<Text<'a>>) -> Self {
        Self { observation: Content::Present(observation.into()), ..Self::unrecorded(call_id, status) }
    }

    /// Like [`Reply::new`], for an observation that the source left out.
    #[must_use]
    pub fn unrecorded(call_id: &'a str, status: Status) -> Self {
        Self {
            call_id,
            observation: Content::NotRecorded,
            status,
            provenance: Provenance::Flag,
            reason: None,
            error_type: None,
            time: None,
        }
    }

    /// Sets the source of the status.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Sets the status to unknown, for this reason.
    #[must_use]
    pub fn unknown(mut self, reason: UnknownReason) -> Self {
        (self.status, self.reason) = (Status::Unknown, Some(reason));
        self
    }

    /// Sets the structured error type.
    #[must_use]
    pub fn error_type(mut self, error_type: &'a str) -> Self {
        self.error_type = Some(error_type);
        self
    }

    pub(super) fn recorded_time(&self) -> Option<u64> {
        self.time
    }

    /// Sets the time, in nanoseconds since 1970.
    #[must_use]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }
}

/// A piece of a trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece {
    /// A message, or an action that is complete.
    Step(Box<Kept>),
    /// A call that is answered by another piece.
    Call(Box<Kept>),
    Answer(Box<KeptReply>),
}

impl Piece {
    /// Returns an estimate of its bytes.
    pub(super) fn bytes(&self) -> usize {
        // Includes its entries in the lists that hold it.
        192 + match self {
            Self::Step(kept) | Self::Call(kept) => kept.bytes(),
            Self::Answer(reply) => reply.bytes(),
        }
    }

    pub(super) fn is_step(&self) -> bool {
        !matches!(self, Self::Answer(_))
    }

    /// Returns the id that pairs call and answer.
    pub(super) fn id(&self) -> Digest {
        let id = match self {
            Self::Step(kept) | Self::Call(kept) => kept.call_id(),
            Self::Answer(reply) => reply.call_id.as_deref(),
        };
        Digest::of_text(id.unwrap_or_default())
    }

    /// Returns the turn of a step, if set.
    pub(super) fn turn(&self) -> Option<u64> {
        match self {
            Self::Step(kept) | Self::Call(kept) => kept.turn,
            Self::Answer(_) => None,
        }
    }

    /// Returns the step of this piece, for a call with this answer; `None` if the piece is an answer.
    pub(super) fn input<'p>(&'p self, answer: Option<&'p Self>) -> Option<StepInput<'p>> {
        match (self, answer) {
            (Self::Answer(_), _) => None,
            (Self::Step(kept), _) => Some(kept.input(None)),
            (Self::Call(kept), Some(Self::Answer(reply))) => Some(kept.input(Some(reply))),
            (Self::Call(kept), _) => {
                let mut input = kept.input(None);
                if let Event::Action(action) = &mut input.event {
                    action.reason = Some(UnknownReason::Unanswered);
                }
                Some(input)
            }
        }
    }
}

/// A step as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<SpanId>,
    body: Body,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    Message(Box<str>),
    Action {
        name: Box<str>,
        #[serde(default, skip_serializing_if = "Content::is_absent")]
        arguments: Content<KeptArguments>,
        answer: KeptReply,
    },
}

/// The text of arguments or, if it was not kept, their digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptArguments {
    Json(Box<str>),
    Digest(Digest),
}

/// An answer as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptReply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call_id: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Content::is_absent")]
    observation: Content<Box<str>>,
    status: Status,
    provenance: Provenance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<UnknownReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_type: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
}

impl KeptReply {
    pub(super) fn of(reply: &Reply<'_>) -> Self {
        Self {
            call_id: Some(reply.call_id.into()),
            observation: reply.observation.map(|text| text.to_str().into()),
            status: reply.status,
            provenance: reply.provenance,
            reason: reply.reason,
            error_type: reply.error_type.map(Into::into),
            time: reply.time,
        }
    }

    fn bytes(&self) -> usize {
        let text = |text: &Option<Box<str>>| text.as_deref().map_or(0, str::len);
        let observation = self.observation.as_ref().present().map_or(0, |text| text.len());
        size_of::<Self>() + text(&self.call_id) + text(&self.error_type) + observation
    }

    fn put_into<'p>(&'p self, action: &mut Action<'p>) {
        action.observation = self.observation.as_ref().map(|text| Text::from(&**text));
        action.status = self.status;
        action.provenance = self.provenance;
        action.reason = self.reason;
        action.error_type = self.error_type.as_deref();
    }
}

impl KeptArguments {
    fn of(arguments: &Arguments<'_>) -> Self {
        match arguments.json() {
            Some(json) => Self::Json(json.into()),
            None => Self::Digest(arguments.digest()),
        }
    }

    fn arguments(&self) -> Arguments<'_> {
        match self {
            Self::Json(json) => Arguments::from_json(json),
            Self::Digest(digest) => Arguments::from_digest(*digest),
        }
    }
}

impl Kept {
    pub(super) fn of(step: &StepInput<'_>) -> Self {
        let body = match &step.event {
            Event::Message(text) => Body::Message(text.to_str().into()),
            Event::Action(action) => Body::Action {
                name: action.name.into(),
                arguments: action.arguments.as_ref().map(KeptArguments::of),
                answer: KeptReply {
                    call_id: action.call_id.map(Into::into),
                    observation: action.observation.map(|text| text.to_str().into()),
                    status: action.status,
                    provenance: action.provenance,
                    reason: action.reason,
                    error_type: action.error_type.map(Into::into),
                    time: None,
                },
            },
        };
        Self {
            turn: step.turn,
            actor: step.actor,
            location: step.location.map(Into::into),
            progress: step.progress,
            time: step.time,
            usage: step.usage,
            span: step.span,
            body,
        }
    }

    /// Returns the id that pairs an answer with the call.
    pub(super) fn call_id(&self) -> Option<&str> {
        match &self.body {
            Body::Action { answer, .. } => answer.call_id.as_deref(),
            Body::Message(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.location.as_deref().map_or(0, str::len)
            + match &self.body {
                Body::Message(text) => text.len(),
                Body::Action { name, arguments, answer } => {
                    let arguments = match arguments {
                        Content::Present(KeptArguments::Json(json)) => json.len(),
                        _ => 0,
                    };
                    name.len() + arguments + answer.bytes()
                }
            }
    }

    /// Returns the step with its answer. Its duration is the time between the two if both have one.
    fn input<'p>(&'p self, reply: Option<&'p KeptReply>) -> StepInput<'p> {
        let mut usage = self.usage;
        let mut input = match &self.body {
            Body::Message(text) => StepInput::message(self.actor, &**text),
            Body::Action { name, arguments, answer } => {
                let mut action = Action::new(name);
                action.arguments = arguments.as_ref().map(KeptArguments::arguments);
                action.call_id = answer.call_id.as_deref();
                reply.unwrap_or(answer).put_into(&mut action);
                StepInput::action(self.actor, action)
            }
        };
        let times = reply.and_then(|reply| reply.time).zip(self.time);
        if let Some(duration) = times.and_then(|(end, start)| end.checked_sub(start)) {
            usage.get_or_insert_default().duration_ns.get_or_insert(duration);
        }
        input.location = self.location.as_deref();
        input.progress = self.progress;
        input.time = self.time;
        input.usage = usage;
        input.span = self.span;
        input
    }
}
