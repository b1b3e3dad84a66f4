//! Calls, answers and messages, as an assembler keeps them.

use serde::{Deserialize, Serialize};

use crate::trace::{Content, Digest, Event, Provenance, Status, StepInput, Text, UnknownReason, WireStep};

/// The answer to a call.
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
    pub(super) time: Option<u64>,
}

impl<'a> Reply<'a> {
    /// Creates an answer to the call with this id. Its provenance is [`Provenance::Flag`].
    #[must_use]
    pub fn new(call_id: &'a str, status: Status, observation: impl Into<Text<'a>>) -> Self {
        Self { observation: Content::Present(observation.into()), ..Self::unrecorded(call_id, status) }
    }

    /// Like [`Reply::new`], for an observation that the source did not record.
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

    /// Sets how the status was found ([`Provenance::Flag`] by default).
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

    /// Sets the time, in nanoseconds since 1970. By default, it is the time of arrival.
    #[must_use]
    pub fn time(mut self, time: u64) -> Self {
        self.time = Some(time);
        self
    }
}

impl From<&Reply<'_>> for WireStep {
    fn from(reply: &Reply<'_>) -> Self {
        let mut wire = Self::default();
        (wire.call_id, wire.time) = (Some(reply.call_id.into()), reply.time);
        wire.set_answer(&reply.observation, reply.status, reply.provenance);
        (wire.reason, wire.error_type) = (reply.reason, reply.error_type.map(Into::into));
        wire
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece {
    /// A message, or an action that is complete.
    Step(Box<WireStep>),
    /// A call that is answered by another piece.
    Call(Box<WireStep>),
    /// An answer, without the name of the tool.
    Answer(Box<WireStep>),
}

impl Piece {
    pub(super) fn kept(&self) -> &WireStep {
        match self {
            Self::Step(kept) | Self::Call(kept) | Self::Answer(kept) => kept,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        // The constant is the overhead of the collections that hold a piece.
        192 + self.kept().bytes()
    }

    pub(super) fn is_step(&self) -> bool {
        !matches!(self, Self::Answer(_))
    }

    /// Returns a digest of the id that pairs a call with its answer.
    pub(super) fn id(&self) -> Digest {
        Digest::of_text(self.kept().call_id.as_deref().unwrap_or_default())
    }

    /// Returns this piece as a step, or `None` if it is an answer. A call gets `answer` or, without one, is
    /// unanswered. A call without a duration gets the time until its answer, if both have a time.
    pub(super) fn input<'p>(&'p self, answer: Option<&'p Self>) -> Option<StepInput<'p>> {
        let (Self::Step(kept) | Self::Call(kept)) = self else { return None };
        let mut input = kept.input().ok()?;
        if let (Self::Call(_), Event::Action(action)) = (self, &mut input.event) {
            let Some(Self::Answer(reply)) = answer else {
                action.reason = Some(UnknownReason::Unanswered);
                return Some(input);
            };
            reply.answer(action).ok()?;
            let times = reply.time.zip(kept.time);
            if let Some(duration) = times.and_then(|(end, start)| end.checked_sub(start)) {
                input.usage.get_or_insert_default().duration_ns.get_or_insert(duration);
            }
        }
        Some(input)
    }
}
