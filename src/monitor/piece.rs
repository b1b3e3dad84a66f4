//! Calls, answers and messages that wait: they own what they hold.

use std::borrow::Cow;

use crate::trace::{
    Action, Actor, Arguments, Content, Event, Provenance, SpanId, Status, StepInput, Text, UnknownReason,
    Usage,
};

/// The answer to a call that was handed in before.
///
/// ```
/// use wrongturn::{AssemblerOptions, Reply, Status, TraceAssembler, default_detectors};
///
/// let mut traces = TraceAssembler::new(default_detectors(), AssemblerOptions::default())?;
/// let reply = Reply::new("call-1", Status::Error, "Error: no such order");
/// traces.answer(20, "support-17", &reply.error_type("not_found").time(17));
/// assert_eq!(traces.held(), 1, "until its call comes");
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
    /// An answer to the call of this id, with the status that a structured flag gave.
    pub fn new(call_id: &'a str, status: Status, observation: impl Into<Text<'a>>) -> Self {
        Self { observation: Content::Present(observation.into()), ..Self::unrecorded(call_id, status) }
    }

    /// The same, with an observation that the source left out.
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

    /// With this source of the status.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Nobody knows how the call ended, for this reason.
    #[must_use]
    pub fn unknown(mut self, reason: UnknownReason) -> Self {
        (self.status, self.reason) = (Status::Unknown, Some(reason));
        self
    }

    /// With this structured error type.
    #[must_use]
    pub fn error_type(mut self, error_type: &'a str) -> Self {
        self.error_type = Some(error_type);
        self
    }

    pub(super) fn recorded_time(&self) -> Option<u64> {
        self.time
    }

    /// Given at this time, in nanoseconds since 1970.
    #[must_use]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }
}

/// Something of a trace that waits for its turn.
#[derive(Debug)]
pub(super) enum Piece {
    /// A message, or an action that is complete.
    Step(Box<Kept>),
    /// A call that waits for its answer.
    Call(Box<Kept>),
    Answer(Box<KeptReply>),
}

impl Piece {
    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        // With its places in the lists that it is held in.
        128 + match self {
            Self::Step(kept) | Self::Call(kept) => kept.bytes(),
            Self::Answer(reply) => reply.bytes(),
        }
    }
}

/// A step that is kept until it may go on.
#[derive(Debug)]
pub(super) struct Kept {
    turn: Option<u64>,
    actor: Actor,
    location: Option<Box<str>>,
    progress: Option<f64>,
    time: Option<u64>,
    usage: Option<Usage>,
    span: Option<SpanId>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Message(Box<str>),
    Action { name: Box<str>, arguments: Content<Arguments<'static>>, answer: KeptReply },
}

/// An answer that is kept.
#[derive(Debug)]
pub(super) struct KeptReply {
    pub(super) call_id: Option<Box<str>>,
    observation: Content<Box<str>>,
    status: Status,
    provenance: Provenance,
    reason: Option<UnknownReason>,
    error_type: Option<Box<str>>,
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
}

impl Kept {
    pub(super) fn of(step: &StepInput<'_>) -> Self {
        let body = match &step.event {
            Event::Message(text) => Body::Message(text.to_str().into()),
            Event::Action(action) => Body::Action {
                name: action.name.into(),
                arguments: action.arguments.as_ref().map(owned),
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

    /// The id by which an answer finds the call.
    pub(super) fn call_id(&self) -> Option<&str> {
        match &self.body {
            Body::Action { answer, .. } => answer.call_id.as_deref(),
            Body::Message(_) => None,
        }
    }

    /// Puts the answer of a call in its place, and its duration where both have times.
    pub(super) fn answer(&mut self, reply: KeptReply) {
        if let Some(duration) = reply.time.zip(self.time).and_then(|(end, start)| end.checked_sub(start)) {
            self.usage.get_or_insert_default().duration_ns.get_or_insert(duration);
        }
        if let Body::Action { answer, .. } = &mut self.body {
            let call_id = answer.call_id.take();
            *answer = KeptReply { call_id, ..reply };
        }
    }

    /// Says that no answer came.
    pub(super) fn give_up(&mut self) {
        if let Body::Action { answer, .. } = &mut self.body {
            answer.reason = Some(UnknownReason::Unanswered);
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.location.as_deref().map_or(0, str::len)
            + match &self.body {
                Body::Message(text) => text.len(),
                Body::Action { name, arguments, answer } => {
                    let arguments = arguments.as_ref().present().and_then(Arguments::json);
                    name.len() + arguments.map_or(0, str::len) + answer.bytes()
                }
            }
    }

    /// The step, as it is handed on.
    pub(super) fn input(&self) -> StepInput<'_> {
        let mut input = match &self.body {
            Body::Message(text) => StepInput::message(self.actor, &**text),
            Body::Action { name, arguments, answer } => {
                let mut action = Action::new(name);
                action.arguments = arguments.as_ref().map(Arguments::borrowed);
                action.call_id = answer.call_id.as_deref();
                action.observation = answer.observation.as_ref().map(|text| Text::from(&**text));
                action.status = answer.status;
                action.provenance = answer.provenance;
                action.reason = answer.reason;
                action.error_type = answer.error_type.as_deref();
                StepInput::action(self.actor, action)
            }
        };
        input.turn = self.turn;
        input.location = self.location.as_deref();
        input.progress = self.progress;
        input.time = self.time;
        input.usage = self.usage;
        input.span = self.span;
        input
    }
}

fn owned(arguments: &Arguments<'_>) -> Arguments<'static> {
    match arguments.json() {
        Some(json) => Arguments::with_digest(Cow::Owned(json.to_owned()), arguments.digest()),
        None => Arguments::from_digest(arguments.digest()),
    }
}
